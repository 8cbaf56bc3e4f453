"""A fault put into sgaudit on purpose is found by the comparison: each of these tests would pass for a blind one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from sgaudit.model import GroupPeer, Peer, RouteTable
from sgaudit.reach.filters import Filters, client_traffic
from sgaudit.reach.network_acls import AclFilters, Decision
from sgaudit.reach.nodes import GroupSet
from sgaudit.reach.routes import Leads, RouteFilters
from sgaudit.reach.security_groups import GroupFilters
from sgaudit.reach.steps import Steps
from tests.networks import random_network
from tests.packets.compare import Trial, disagreements, observe, trial_of
from tests.packets.lab import Lab
from tests.packets.probes import Probe

SEEDS = range(40, 60)
Seen = dict[int, Mapping[Probe, bool]]


@pytest.fixture(scope="module")
def seen(lab: Lab) -> Seen:
    """What real packets did, by seed, whatever sgaudit says about them."""
    found: Seen = {}
    for seed in SEEDS:
        trial = trial_of(random_network(seed), seed)
        if trial is not None:
            found[seed] = observe(lab, trial)
    return found


def differing(seen: Seen) -> list[int]:
    """List the seeds whose matrices, made anew, disagree with what was seen."""
    return [seed for seed, observed in seen.items() if disagreements(Trial(random_network(seed), seed), observed)]


def test_no_fault(seen: Seen) -> None:
    """On these networks the two agree, so that what the other tests find is the fault that they put in."""
    assert differing(seen) == []
    assert sum(map(len, seen.values())) > 5000


def any_allow(_: AclFilters, first: Decision, second: Decision) -> Decision:
    return first[0] | second[0], first[1] | second[1]


def no_way_back(self: Filters, subnet: int, protocol: str, *, egress: bool) -> int:
    return self.nodes.addressed


def some_way_back(self: Filters, subnet: int, protocol: str, *, egress: bool) -> int:
    answer = client_traffic(protocol, self.client_ports)
    return self.subnet_steps(subnet, protocol, egress=egress).some(answer)


def everywhere(self: Filters, subnet: int) -> int:
    return self.nodes.everyone


def nowhere(self: Filters, subnet: int) -> int:
    return 0


def no_egress(original: Callable[..., Steps]) -> Callable[..., Steps]:
    def steps(self: GroupFilters, groups: GroupSet, protocol: str, *, egress: bool) -> Steps:
        return Steps.constant(self.nodes.addressed) if egress else original(self, groups, protocol, egress=egress)

    return steps


def any_address(original: Callable[..., int]) -> Callable[..., int]:
    def matched(self: GroupFilters, peer: Peer) -> int:
        return self.nodes.addressed if isinstance(peer, GroupPeer) else original(self, peer)

    return matched


def all_routes(self: RouteFilters, table: RouteTable, vpc_id: str, neighbours: int, undecided: int) -> Leads:
    return Leads(neighbours | undecided, 0, 0)


FAULTS = {
    "the order of an ACL's entries is ignored": (AclFilters, "_first_match", any_allow),
    "the way back is ignored": (Filters, "way_back", no_way_back),
    "one client port is enough for the way back": (Filters, "way_back", some_way_back),
    "ACLs part nobody": (Filters, "neighbours", everywhere),
    "ACLs part neighbours": (Filters, "neighbours", nowhere),
    "egress is ignored": (GroupFilters, "steps", no_egress(GroupFilters.steps)),
    "a group as peer matches any address": (GroupFilters, "matched", any_address(GroupFilters.matched)),
    "routes are ignored": (RouteFilters, "_judge", all_routes),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_found(seen: Seen, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """With the fault in place, the comparison reports disagreements on some of the networks."""
    owner, name, faulty = FAULTS[fault]
    monkeypatch.setattr(owner, name, faulty)

    assert differing(seen) != []
