"""A plan, carried out on the raw snapshot and judged pair by pair, does what it says and nothing else."""

from __future__ import annotations

import ipaddress
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sgaudit.cli import main
from sgaudit.errors import EmptySelectionError, UsageError
from sgaudit.fix.plan import Plan, Strategy, from_json
from sgaudit.fix.planner import Options, plan
from sgaudit.model import Family
from sgaudit.policy.load import load
from sgaudit.policy.model import Protocol, Requirements
from sgaudit.policy.resolve import resolve
from sgaudit.ports import ALL, PortSet
from sgaudit.reach.verdict import Verdict
from sgaudit.rules.audit import Audit, audit
from sgaudit.rules.words import groups_label
from sgaudit.selection import Interfaces, Selection, TagFilter, select
from sgaudit.snapshot import parse
from tests.apply_raw import apply_raw
from tests.judge import BLOCKED, OPEN, PASS, Network, Pair, pieces
from tests.networks import random_network

QUICK, FULL, CHUNK = 50, 2000, 150
"""Seeds that every run goes through, those of the whole run, and how many of them make one test."""
POLICIES = (("pytorch-gloo",), ("tcp-full-mesh",), ("tcp-full-mesh",), ("all-traffic-mesh",), ("pytorch-gloo", "ray"))
STRATEGIES: tuple[Strategy | None, ...] = (None, *(item for item in Strategy if item is not Strategy.NONE))
PROTOCOLS = {Family.IPV4: ("tcp", "udp", "icmp"), Family.IPV6: ("tcp", "udp", "icmpv6")}
GROUP_RULES, ACL_RULES = {"mesh-path-blocked", "partial-ports"}, {"acl-blocks-path", "acl-blocks-return"}
RUN = Options(run="20260101t000000-abcdef", created="2026-01-01T00:00:00Z")

Raw = Mapping[str, Any]
Question = tuple[str, str, Family, str]
"""Ids of the source's and the target's interface, family and protocol."""
Difference = tuple[Any, ...]
ExtraKey = tuple[str, str, bool, bool, str]


def widened(document: dict[str, Any], seed: int) -> dict[str, Any]:
    """Make one instance in four of some networks a stranger, and some of those networks known as a whole."""
    if seed % 3 == 0:
        for number, reservation in enumerate(document["Reservations"]):
            if number % 4 == 3:
                reservation["Instances"][0]["Tags"] = [{"Key": "Name", "Value": "stranger"}]
    if seed % 2:
        document["WholeVpcs"] = [vpc["VpcId"] for vpc in document.get("Vpcs") or ()]
    return document


def network_of(seed: int) -> dict[str, Any]:
    return widened(random_network(seed), seed)


def selection_of(seed: int) -> Selection:
    return Selection(
        tags=(TagFilter("cluster", ("train",)),),
        include_stopped=bool(seed % 2),
        interfaces=Interfaces.ALL if seed % 5 == 0 else Interfaces.PRIMARY,
        family=Family.IPV6 if seed % 4 == 1 else Family.IPV4,
    )


def requirements_of(seed: int, members: Any) -> Requirements:
    found = resolve([load(name) for name in POLICIES[seed % len(POLICIES)]], members)
    if seed % 7 == 0 and len(members) > 2:
        # Some dial and others are dialled: groups then differ in what they lack.
        ids = sorted(member.instance.instance_id for member in members)
        parted = [
            replace(
                item, sources=frozenset(ids[::2]), targets=frozenset(ids[1:]), ports=item.ports - PortSet.single(22)
            )
            for item in found.between[:1]
        ]
        found = replace(found, between=(*found.between[1:], *parted))
    return found


def audited(document: Raw, seed: int) -> Audit:
    snapshot = parse(document)
    chosen = selection_of(seed)
    members = select(snapshot, chosen)
    return audit(snapshot, chosen, members, requirements_of(seed, members))


@dataclass
class Facts:
    """What the judge says of a document, each question asked once."""

    document: Raw
    open: dict[Question, PortSet] = field(default_factory=dict)

    @cached_property
    def network(self) -> Network:
        return Network(self.document)

    @cached_property
    def owners(self) -> dict[str, str]:
        return {name: raw["Attachment"]["InstanceId"] for name, raw in self.network.interfaces.items()}

    def pairs(self) -> Iterator[tuple[str, str]]:
        for one, other in permutations(self.network.interfaces, 2):
            if self.owners[one] != self.owners[other]:
                yield one, other

    def ports(self, question: Question) -> PortSet:
        if question not in self.open:
            source, target, family, protocol = question
            outcome = self.network.judge(source, target, protocol, str(family))
            self.open[question] = PortSet(outcome.open)
        return self.open[question]


class Trial:
    """One plan for one network, and what it is held against."""

    def __init__(self, before: Facts, seed: int, judged: Audit, made: Plan) -> None:
        self.before, self.seed, self.judged, self.plan = before, seed, judged, made
        self.family = judged.selection.family
        self.document = made.to_json()
        self.after = Facts(apply_raw(before.document, self.document["operations"]))
        nodes = judged.context.matrix.node_set
        self.ours = {node.interface.interface_id for node in nodes if node.interface}
        self.members = set(nodes.by_instance)

    def apis(self) -> set[str]:
        return {operation.call.api for operation in self.plan.operations}

    def protocols(self, family: Family) -> tuple[str, ...]:
        """Leave out protocols that nothing in the plan can be about."""
        text = json.dumps([operation["params"] for operation in self.document["operations"]])
        if "-1" in text or "Icmp" in text:
            return PROTOCOLS[family]
        return tuple(name for name in ("tcp", "udp") if name in text or {"tcp": '"6"', "udp": '"17"'}[name] in text)

    def required(self, source: str, target: str, protocol: str) -> PortSet:
        found = PortSet()
        if source in self.ours and target in self.ours:
            owners = self.before.owners[source], self.before.owners[target]
            for item in self.judged.context.requirements.between:
                if owners[0] in item.sources and owners[1] in item.targets:
                    if item.protocol is Protocol.ALL:
                        found |= ALL
                    elif str(item.protocol) == protocol:
                        found |= item.ports
        return found

    def differences(self) -> Iterator[Difference]:
        yield from self.changes()
        yield from self.left_over()
        yield from self.promises()

    def changes(self) -> Iterator[Difference]:
        """Nothing is closed, and what is opened beyond the requirements is declared to the pair."""
        expected: dict[ExtraKey, list[PortSet]] = defaultdict(list)
        for family in Family:
            for protocol in self.protocols(family):
                for source, target in self.before.pairs():
                    question = (source, target, family, protocol)
                    was, now = self.before.ports(question), self.after.ports(question)
                    if was - now:
                        yield from self.closed(question, was - now)
                    more = now - was - self.required(source, target, protocol)
                    if more:
                        expected[self.key(question)].append(more)
                        yield from self.allowed(question, more)
        found = {
            (item.source, item.target, item.outside, item.protocol): (item.ports, item.pairs)
            for item in self.plan.extra
            if item.protocol in ("tcp", "udp", "icmp", "icmpv6") and item.pairs
        }
        wanted = {
            (source, target, here or there, protocol): said(parts)
            for (source, target, here, there, protocol), parts in expected.items()
        }
        if len({item[:4] for item in found}) < len(found):
            yield "two lines alike", self.plan.extra
        if found != wanted:
            both = found.keys() & wanted.keys()
            yield (
                "extra",
                {key: found[key] for key in found if key not in both or found[key] != wanted[key]},
                {key: wanted[key] for key in wanted if key not in both or found[key] != wanted[key]},
            )

    def closed(self, question: Question, gone: PortSet) -> Iterator[Difference]:
        yield "closed", question, str(gone)

    def allowed(self, question: Question, more: PortSet) -> Iterator[Difference]:
        outside = any(self.before.owners[end] not in self.members for end in question[:2])
        if outside and self.plan.strategy is Strategy.CLUSTER_GROUP and "CreateNetworkAclEntry" not in self.apis():
            yield "cluster-group lets others in", question, str(more)

    def key(self, question: Question) -> ExtraKey:
        source, target, family, protocol = question
        ends = [
            f"{'interfaces outside the cluster' if self.stranger(end) else 'members'} with "
            f"{groups_label(self.judged.snapshot, self.groups(end))}"
            f"{'' if family is self.family else ', over ' + ('IPv6' if family is Family.IPV6 else 'IPv4')}"
            for end in (source, target)
        ]
        return ends[0], ends[1], self.stranger(source), self.stranger(target), protocol

    def stranger(self, interface_id: str) -> bool:
        return self.before.owners[interface_id] not in self.members

    def groups(self, interface_id: str) -> tuple[str, ...] | None:
        network = self.before.network
        found = network.groups_of(network.interfaces[interface_id])
        return None if found is None else tuple(sorted(set(found)))

    def left_over(self) -> Iterator[Difference]:
        """Whatever a change of groups and ACLs can open is open, unless the plan says that it can't be done."""
        groups_given_up = any(it.rule in GROUP_RULES and "self: " in it.reason for it in self.plan.unfixable)
        acls_given_up = any(
            it.rule in ACL_RULES and ("no number is free" in it.reason or " entries (the " in it.reason)
            for it in self.plan.unfixable
        )
        if groups_given_up and self.plan.strategy is not Strategy.NONE:
            # A cause of which only a part is sure stays on the list; the sure part is held to all the same.
            groups_given_up = False
        for source, target in self.before.pairs():
            for protocol in PROTOCOLS[self.family]:
                asked = self.required(source, target, protocol)
                left = asked - self.after.ports((source, target, self.family, protocol)) if asked else PortSet()
                if not left:
                    continue
                ends = (self.before.network.interfaces[source], self.before.network.interfaces[target])
                pair = self.before.network.pair(source, target, protocol, str(self.family), (32768, 60999))
                for low, _ in pieces(pair.cuts() | {end for span in left.ranges for end in (span[0], span[1] + 1)}):
                    if low in left and curable(pair, ends, low, groups=groups_given_up, acls=acls_given_up):
                        yield "left closed", source, target, protocol, low

    def promises(self) -> Iterator[Difference]:
        """The counts are those of a scan afterwards, and then there is nothing left to do."""
        again = audited(self.after.document, self.seed)
        counts = {str(verdict): again.counts[verdict] for verdict in Verdict}
        if counts != dict(self.plan.after):
            yield "counts", counts, dict(self.plan.after)
        gained = self.plan.after["open"] - self.plan.before["open"]
        if gained != self.plan.required:
            yield "required", gained, self.plan.required
        rest = plan(again, RUN)
        if rest.operations:
            yield "second plan", [operation.reason for operation in rest.operations]
        if self.plan.strategy is Strategy.CIDR:
            yield from self.strange_addresses()
        yield from self.wider_than_needed()

    def wider_than_needed(self) -> Iterator[Difference]:
        """Permissions are for ports that some requirement names, and for no other one."""
        needed: dict[str, PortSet] = defaultdict(PortSet)
        for item in self.judged.context.requirements.between:
            needed[str(item.protocol)] |= item.ports
        for operation in self.document["operations"]:
            for row in operation["params"].get("IpPermissions", ()) if operation["api"].startswith("Auth") else ():
                name = "all" if row["IpProtocol"] == "-1" else row["IpProtocol"]
                ports = PortSet.single(row["FromPort"], row["ToPort"]) if name in ("tcp", "udp") else PortSet()
                if name not in needed or not ports <= needed[name]:
                    yield "wider than needed", row

    def strange_addresses(self) -> Iterator[Difference]:
        network = self.before.network
        known = {network.address(network.interfaces[name], str(self.family)) for name in self.ours}
        for operation in self.document["operations"]:
            for row in operation["params"].get("IpPermissions", ()):
                for item in (*row.get("IpRanges", ()), *row.get("Ipv6Ranges", ())):
                    block = ipaddress.ip_network(item.get("CidrIp") or item.get("CidrIpv6"))
                    if block.num_addresses > len(known) or {int(address) for address in block} - known:
                        yield "address of no member", str(block)


def said(parts: list[PortSet]) -> tuple[str, int]:
    """Put together the ports of some pairs, and count the pairs at the port that opens most."""
    union = PortSet()
    for part in parts:
        union |= part
    starts = {low for part in parts for low, _ in part.ranges}
    return "all" if union == ALL else str(union), max(sum(start in part for part in parts) for start in starts)


def curable(pair: Pair, ends: tuple[Raw, Raw], port: int, *, groups: bool, acls: bool) -> bool:
    """
    Tell whether nothing but permissions and ACL entries, all of them known, keeps a port closed.

    Args:
        pair: as it was before.
        ends: its interfaces.
        port: one port.
        groups: missing permissions are given up.
        acls: missing entries are given up.
    """
    network = pair.network
    if pair.source_address is None or pair.target_address is None:
        return False
    for carried in (pair.source_groups, pair.target_groups):
        if carried is None or any(group not in network.groups for group in carried):
            return False
    admitted = [network.admitted(pair, port, egress=egress) for egress in (True, False)]
    if any(value not in (OPEN, BLOCKED) for value in admitted) or (groups and BLOCKED in admitted):
        return False
    return not pair.crosses or (roads_lead(pair, ends) and guarded(pair, port, given_up=acls))


def roads_lead(pair: Pair, ends: tuple[Raw, Raw]) -> bool:
    """Tell whether routes lead there and back."""
    network = pair.network
    assert pair.source_address is not None
    assert pair.target_address is not None
    source, target = ends
    there = network.hop(source, target, pair.target_address, pair.family)
    back = network.hop(target, source, pair.source_address, pair.family)
    return there == back == {PASS}


def guarded(pair: Pair, port: int, *, given_up: bool) -> bool:
    """Tell whether both ACLs were read, and either let everything pass or can be changed."""
    if pair.source_acl is None or pair.target_acl is None:
        return False
    return not given_up or min(pair.forward(port), pair.returned()) == OPEN


def trials(seed: int, strategies: tuple[Strategy | None, ...]) -> Iterator[Trial]:
    """Make the plans for one network, those with the same operations once."""
    document = network_of(seed)
    try:
        judged = audited(document, seed)
    except EmptySelectionError:
        return
    before, seen = Facts(document), set()
    for strategy in strategies:
        options = replace(RUN, strategy=strategy)
        try:
            made = plan(judged, options)
        except UsageError:
            continue
        text = json.dumps([operation.call.params for operation in made.operations])
        assert plan(audited(document, seed), options).to_json() == made.to_json()
        assert from_json(made.to_json(), "plan") == made
        if text not in seen:
            seen.add(text)
            yield Trial(before, seed, judged, made)


def differences(seed: int, strategies: tuple[Strategy | None, ...] = STRATEGIES) -> Iterator[Difference]:
    for trial in trials(seed, strategies):
        for difference in trial.differences():
            yield seed, str(trial.plan.strategy), *difference


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, QUICK, 50))
def test_plans_keep_their_promises_on_some_networks(start: int) -> None:
    """The plan without a choice, and one strategy a seed, cure what can be cured and open what they say."""
    found = [
        difference
        for seed in range(start, start + 50)
        for difference in differences(seed, (None, STRATEGIES[1 + seed % (len(STRATEGIES) - 1)]))
    ]

    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("start", range(QUICK, FULL, CHUNK))
def test_plans_keep_their_promises_on_thousands_of_networks(start: int) -> None:
    """Every strategy cures what can be cured, closes nothing and opens what it says."""
    found = [difference for seed in range(start, start + CHUNK) for difference in differences(seed)]

    assert found == []


EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/snapshot.json"))


@pytest.mark.parametrize("more", [(), ("--tighten",)], ids=["fix", "tighten"])
@pytest.mark.parametrize("name", NAMES)
def test_plans_for_the_examples_can_be_carried_out(
    name: str, more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is made of real requests, and gives the verdicts that it says; then there is nothing left to do."""
    monkeypatch.chdir(EXAMPLES.parent)
    _, *arguments = json.loads((EXAMPLES / name / "expected.json").read_text(encoding="utf-8"))["command"]
    document = json.loads((EXAMPLES / name / "snapshot.json").read_text(encoding="utf-8"))
    place = arguments.index("--snapshot") + 1

    def run(command: str, given: Raw, *options: str) -> Any:
        rest = [*arguments[:place], "-", *arguments[place + 1 :]]
        result = CliRunner().invoke(main, [command, *rest, *options, "-f", "json"], input=json.dumps(given))
        assert result.exit_code in (0, 1, 4), result.stderr
        return json.loads(result.stdout)

    made = run("fix", document, *more, "--dry-run")
    changed = apply_raw(document, made["operations"])
    summary = run("scan", changed)["summary"]

    assert {verdict: summary[verdict] for verdict in made["after"]} == made["after"]
    assert run("fix", changed, *more, "--dry-run")["operations"] == []
