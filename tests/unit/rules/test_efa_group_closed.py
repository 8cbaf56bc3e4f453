"""Groups that don't admit EFA traffic are found, with the half that is missing."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.ports import ALL
from sgaudit.rules.efa_group_closed import RULE
from sgaudit.rules.finding import Example
from sgaudit.severity import Severity
from tests.builders import ANYWHERE, EVERYTHING, group, instance, interface, row, snapshot
from tests.unit.rules.scene import SELF, efa_node, found, resources, scan

Raw = dict[str, Any]

TWO = [efa_node("a", "10.0.0.4"), efa_node("b", "10.0.0.5")]
FOREIGN = {"UserId": "111122223333", "GroupId": "sg-a", "VpcPeeringConnectionId": "pcx-1", "PeeringStatus": "deleted"}


def test_default_egress() -> None:
    """Egress to 0.0.0.0/0 is named as what does not count, with the reason and the cure."""
    (finding,) = found(RULE, snapshot(TWO, [group(ingress=SELF, egress=[row(cidr=[ANYWHERE])])]), "efa")
    assert finding.severity is Severity.ERROR
    assert finding.title == "sg-a lets no EFA traffic out"
    assert finding.message == (
        "All 2 members behind sg-a: no egress permission for all protocols to itself; 2 pairs can't connect over EFA. "
        "The egress to 0.0.0.0/0 does not count: EFA addresses are neither IPv4 nor IPv6, so only a security group as "
        "peer admits them."
    )
    assert finding.remedy == "Add to sg-a an egress permission for all protocols whose peer is the group itself."
    assert (finding.resource.id, finding.pairs) == ("sg-a", 2)
    assert finding.examples == (Example("i-a", "i-b", ALL), Example("i-b", "i-a", ALL))
    assert finding.evidence == {
        "directions": ["egress"],
        "security_groups": ["sg-a"],
        "protocol": "efa",
        "peer_groups": ["sg-a"],
        "needs": ["efa-mesh"],
    }


def test_neither_half() -> None:
    """One finding tells of both halves where the same members are at the other end, and counts each pair once."""
    (finding,) = found(RULE, snapshot(TWO, [group(ingress=[row(cidr=["10.0.0.0/16"])], egress=[])]), "efa")
    assert finding.message == (
        "All 2 members behind sg-a: no ingress permission for all protocols from itself and no egress permission for "
        "all protocols to itself; 2 pairs can't connect over EFA. The ingress from 10.0.0.0/16 does not count: EFA "
        "addresses are neither IPv4 nor IPv6, so only a security group as peer admits them."
    )
    assert finding.remedy == (
        "Add to sg-a an ingress permission and an egress permission for all protocols whose peer is the group itself."
    )
    assert finding.pairs == 2


@pytest.mark.parametrize(
    ("ingress", "egress", "expected"),
    [
        pytest.param(SELF, SELF, [], id="open to itself"),
        pytest.param(SELF, [*SELF, EVERYTHING], [], id="0.0.0.0/0 beside itself"),
        pytest.param(SELF, [], [("sg-a", 2)], id="ingress only"),
        pytest.param([], SELF, [("sg-a", 2)], id="egress only"),
        pytest.param([EVERYTHING], [EVERYTHING], [("sg-a", 2)], id="CIDR only"),
        pytest.param(SELF, [row("tcp", 0, 65535, groups=["sg-a"])], [("sg-a", 2)], id="TCP is not EFA"),
        pytest.param(SELF, [row(groups=[FOREIGN])], [("sg-a", 2)], id="a stale reference"),
        pytest.param(SELF, [row(groups=["sg-x", "sg-y", "sg-a"])], [], id="the third of several groups"),
        pytest.param(SELF, [row(lists=["pl-1"])], [("sg-a", 2)], id="a prefix list"),
    ],
)
def test_one_group(ingress: list[Raw], egress: list[Raw], expected: list[tuple[str, int]]) -> None:
    """Only permissions for all protocols with a group as peer count, and both halves are needed."""
    assert resources(RULE, snapshot(TWO, [group(ingress=ingress, egress=egress)]), "efa") == expected


@pytest.mark.parametrize("kind", ["efa", "efa-only"])
def test_interfaces_that_are_not_judged(kind: str) -> None:
    """The EFA interface decides, not the primary one that is judged for IP."""
    members = [
        instance(
            interface(name, f"10.0.0.{number}", groups=["sg-b"]),
            interface(f"{name}-efa", of=name, device=1, InterfaceType=kind, groups=["sg-a"]),
        )
        for number, name in ((4, "a"), (5, "b"))
    ]
    groups = [group(ingress=SELF, egress=SELF), group("sg-b", egress=[])]
    assert resources(RULE, snapshot(members, groups), "efa") == []
    assert resources(RULE, snapshot(members, [group(egress=[]), groups[1]]), "efa") == [("sg-a", 2)]


@pytest.mark.parametrize(
    ("b", "expected"),
    [
        pytest.param(
            {"ingress": [row(groups=["sg-a"])], "egress": [row(groups=["sg-a"])]}, [], id="both name the other"
        ),
        pytest.param({"ingress": [row(groups=["sg-a"])]}, [("sg-b", 1)], id="b sends nothing to a"),
        pytest.param({"egress": [row(groups=["sg-a"])]}, [("sg-b", 1)], id="b lets nothing in from a"),
    ],
)
def test_two_groups(b: Raw, expected: list[tuple[str, int]]) -> None:
    """Two groups that name each other do as well as one; else the one that lacks the permission is found."""
    members = [efa_node("a", "10.0.0.4"), efa_node("b", "10.0.0.5", groups=["sg-b"])]
    a = group(ingress=[row(groups=["sg-b"])], egress=[row(groups=["sg-b"])])
    assert resources(RULE, snapshot(members, [a, group("sg-b", **{"egress": [], **b})]), "efa") == expected


def test_no_common_group() -> None:
    """Where no group would serve as peer for all, the cure is a common one."""
    members = [efa_node(name, f"10.0.0.{n}", groups=[f"sg-{name}"]) for n, name in enumerate("abc", 4)]
    groups = [group(f"sg-{name}", egress=[]) for name in "abc"]
    findings = found(RULE, snapshot(members, groups), "efa")
    assert [(item.resource.id, item.pairs, item.evidence["directions"]) for item in findings] == [
        ("sg-a", 4, ["ingress", "egress"]),
        ("sg-b", 4, ["ingress", "egress"]),
        ("sg-c", 4, ["ingress", "egress"]),
    ]
    assert {item.remedy for item in findings} == {
        (
            "Put one common group on the EFA interfaces of all these members, with an ingress and an egress permission "
            "for all protocols whose peer is the group itself."
        )
    }


def test_other_policies_ask_nothing() -> None:
    """Without a need for EFA nothing is found."""
    assert found(RULE, snapshot(TWO, [group(ingress=SELF, egress=[EVERYTHING])])) == []


def test_requirement_counts() -> None:
    """The need for EFA is one of the judged requirements, and its pairs are in the summary."""
    result = scan(snapshot(TWO, [group(ingress=SELF, egress=[EVERYTHING])]), "efa", "pytorch-gloo")
    assert [(str(item.requirement.protocol), item.verdicts.failing) for item in result.context.judged] == [
        ("efa", 2),
        ("tcp", 0),
        ("tcp", 0),
    ]
    assert {str(verdict): count for verdict, count in result.counts.items() if count} == {"partial": 2}
