"""Permissions that let too many in are replaced by what the policy needs, one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from sgaudit.errors import UsageError
from sgaudit.fix import tighten
from sgaudit.fix.plan import Plan, Strategy
from sgaudit.fix.planner import Options
from sgaudit.policy.load import load
from sgaudit.policy.resolve import resolve
from sgaudit.rules.audit import Audit, audit
from sgaudit.selection import select
from sgaudit.snapshot import parse
from tests.builders import ANYWHERE, ANYWHERE_6, Raw, group, node, row, snapshot
from tests.unit.fix.scenes import CLUSTER, MESH, RUN, WHOLE, calls, stranger
from tests.unit.rules.outdoors import NODES, outdoors, public

ADD, TAKE = "AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress"
WORLD = row("tcp", 0, 65535, cidr=[ANYWHERE])
SELF = row("tcp", 0, 65535, groups=["sg-a"])
NO_SETTINGS: Mapping[str, str] = {}


def judged(document: Raw, policies: Sequence[str] = (MESH,), settings: Mapping[str, str] = NO_SETTINGS) -> Audit:
    found = parse(document)
    members = select(found, CLUSTER)
    needs = resolve([load(name) for name in policies], members, settings=settings)
    return audit(found, CLUSTER, members, needs)


def tightened(document: Raw, *policies: str, **settings: str) -> Plan:
    return tighten.plan(judged(document, policies or (MESH,), settings), RUN)


@pytest.mark.parametrize(
    ("ingress", "expected"),
    [
        ([WORLD], [(ADD, "sg-a", ["tcp 0-65535 sg-a"]), (TAKE, "sg-a", [f"tcp 0-65535 {ANYWHERE}"])]),
        ([SELF, WORLD], [(TAKE, "sg-a", [f"tcp 0-65535 {ANYWHERE}"])]),
        ([SELF, row("-1", cidr=["10.0.23.2/32", ANYWHERE])], [(TAKE, "sg-a", [f"-1 {ANYWHERE}"])]),
        ([SELF], []),
        ([SELF, row("udp", 53, cidr=[ANYWHERE])], []),
        (
            [row("tcp", 0, 29999, cidr=[ANYWHERE]), row("tcp", 30000, 65535, groups=["sg-a"])],
            [(ADD, "sg-a", ["tcp 0-29999 sg-a"]), (TAKE, "sg-a", [f"tcp 0-29999 {ANYWHERE}"])],
        ),
    ],
    ids=["replaced", "self-and-world", "one-of-two-sources", "nothing-flagged", "harmless", "part"],
)
def test_what_is_flagged_goes_and_what_is_needed_comes_first(
    ingress: list[Raw], expected: list[tuple[str, str, list[str]]]
) -> None:
    """Only missing ports are added, only flagged sources are taken, and adding comes before taking."""
    made = tightened(outdoors(*ingress, **WHOLE))

    assert expected == calls(made)
    assert made.before == made.after == {"open": 2, "partial": 0, "blocked": 0, "unknown": 0}
    assert (made.extra, made.unfixable) == ((), ())


def test_both_families_are_tightened_whichever_is_judged() -> None:
    """A cluster that is judged by IPv4 is open over IPv6 as well."""
    nodes = [public("a", "10.0.0.5", ipv6=["2001:db8::5"]), public("b", "10.0.0.6", ipv6=["2001:db8::6"])]
    wide = row("tcp", 0, 65535, cidr=[ANYWHERE], cidr6=[ANYWHERE_6])

    assert [(TAKE, "sg-a", [f"tcp 0-65535 {ANYWHERE}", f"tcp 0-65535 {ANYWHERE_6}"])] == calls(
        tightened(outdoors(SELF, wide, nodes=nodes, **WHOLE))
    )


def test_a_neighbour_of_a_flagged_row_stays() -> None:
    """SSH from everywhere goes; HTTPS from everywhere, of which no policy says anything, stays."""
    ports = [row("tcp", 29500, groups=["sg-a"]), row("tcp", 32768, 60999, groups=["sg-a"])]
    rows = [*ports, row("tcp", 22, cidr=[ANYWHERE]), row("tcp", 443, cidr=[ANYWHERE])]

    assert [(TAKE, "sg-a", [f"tcp 22-22 {ANYWHERE}"])] == calls(tightened(outdoors(*rows, **WHOLE), "pytorch-gloo"))


def test_two_findings_of_one_group_are_handled_in_one_run() -> None:
    """SSH and RDP are both taken, in one call."""
    rows = [
        row("tcp", 29500, groups=["sg-a"]),
        row("tcp", 32768, 60999, groups=["sg-a"]),
        row("tcp", 22, cidr=[ANYWHERE]),
        row("tcp", 3389, cidr=[ANYWHERE]),
    ]
    made = tightened(outdoors(*rows, **WHOLE), "pytorch-gloo")

    assert [(TAKE, "sg-a", [f"tcp 22-22 {ANYWHERE}", f"tcp 3389-3389 {ANYWHERE}"])] == calls(made)


def test_rules_are_revoked_by_their_ids_where_those_were_read() -> None:
    """A rule that was read with its id goes by it, whatever else looks like it; the undo has its properties."""
    world = row("tcp", 0, 65535, cidr=[ANYWHERE])
    world["IpRanges"][0]["Description"] = "for now"
    rule = {
        "SecurityGroupRuleId": "sgr-1",
        "GroupId": "sg-a",
        "IsEgress": False,
        "IpProtocol": "tcp",
        "FromPort": 0,
        "ToPort": 65535,
        "CidrIpv4": ANYWHERE,
        "Description": "for now",
    }
    (made,) = tightened(outdoors(SELF, world, SecurityGroupRules=[rule], **WHOLE)).operations

    assert made.call.params == {"GroupId": "sg-a", "SecurityGroupRuleIds": ["sgr-1"]}
    assert made.inverse is not None
    assert made.inverse.params == {
        "GroupId": "sg-a",
        "IpPermissions": [
            {
                "IpProtocol": "tcp",
                "FromPort": 0,
                "ToPort": 65535,
                "IpRanges": [{"CidrIp": ANYWHERE, "Description": "for now"}],
            }
        ],
    }


def test_taking_is_always_unsafe_and_says_what_it_closes() -> None:
    """The reason names the permission, from whom it closes, and which known interfaces lose what."""
    document = outdoors(SELF, WORLD, nodes=[*NODES, stranger("c", "10.0.0.7", groups=["sg-c"])], **WHOLE)
    document["SecurityGroups"].append(group("sg-c"))
    (made,) = tightened(document).operations

    assert (str(made.safety), made.unsafe_because) == ("unsafe", tighten.UNSAFE)
    assert made.reason == (
        "take 0.0.0.0/0 (all tcp ports) from sg-a: closes it to 0.0.0.0/0, but for what the policy names; "
        "of known interfaces interfaces outside the cluster with sg-c lose tcp all to members with sg-a (2 pairs)"
    )


def test_whom_the_policy_names_stays_let_in() -> None:
    """SSH was open to the world, and the policy lets an office in: the office keeps it by a permission of its own."""
    rows = [SELF, row("tcp", 22, cidr=[ANYWHERE])]
    made = tightened(outdoors(*rows, **WHOLE), "admin-ssh", "pytorch-gloo", admin="203.0.113.0/24")

    assert [(ADD, "sg-a", ["tcp 22-22 203.0.113.0/24"]), (TAKE, "sg-a", [f"tcp 22-22 {ANYWHERE}"])] == calls(made)


def test_a_full_group_is_left_as_it_is() -> None:
    """Adding comes first and there is no room for it: nothing is taken, and the numbers are said."""
    others = row("udp", 53, cidr=[f"10.0.{n}.0/24" for n in range(60)])
    rows = [WORLD, {**others, "IpRanges": others["IpRanges"][1:]}]
    full = tuple(f"sg-{n}" for n in "abcde")
    nodes = [node(name, address, groups=full) for name, address in (("a", "10.0.0.5"), ("b", "10.0.0.6"))]
    document = outdoors(*rows, nodes=nodes, groups=[group(name, ingress=[others]) for name in full[1:]], **WHOLE)
    made = tightened(document)

    assert made.operations == ()
    assert {
        "self: sg-a would have 61 ingress permissions of 60 (the default quota)",
        "peers: sg-a would have 61 ingress permissions of 60 (the default quota)",
    } <= {reason for item in made.unfixable for reason in item.reason.split("; ")}


def test_a_strategy_that_cannot_be_used_is_the_users_mistake() -> None:
    """Asked for what the members don't have, it says so."""
    nodes = [node("a", "10.0.0.5"), node("b", "10.0.0.6", groups=["sg-b"])]
    document = snapshot(nodes, [group(ingress=[WORLD]), group("sg-b", ingress=[WORLD])], **WHOLE)

    with pytest.raises(UsageError, match="--strategy self can't be used here"):
        tighten.plan(judged(document), Options(strategy=Strategy.SELF))


@pytest.mark.parametrize(
    ("more", "left"),
    [({"PrefixListEntries": {"pl-1": [{"Cidr": ANYWHERE}]}}, 0), ({}, 1)],
    ids=["read", "not-read"],
)
def test_a_list_that_was_not_read_is_not_taken(more: dict[str, Any], left: int) -> None:
    """What a permission admits must be known before it goes."""
    made = tightened(outdoors(SELF, row("tcp", 0, 65535, lists=["pl-1"]), **WHOLE, **more))

    assert 1 - left == len(made.operations)
    assert bool(left) is bool(made.unfixable)
