"""Permissions whose group or peering is gone are found."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.rules.finding import Example
from sgaudit.rules.stale_reference import RULE
from tests.builders import OWNER, group, node, row, snapshot
from tests.unit.rules.scene import SELF, found, resources, scan

Raw = dict[str, Any]

TWO = [node("a", "10.0.0.4"), node("b", "10.0.0.5")]
REFUSED = {"DescribeSecurityGroups": "UnauthorizedOperation"}


def peer(group_id: str, **more: str) -> Raw:
    return {"UserId": OWNER, "GroupId": group_id, **more}


def test_deleted_group() -> None:
    """The finding names the permission, and the pairs that nothing else admits."""
    (finding,) = found(RULE, snapshot(TWO, [group(ingress=[row("tcp", 0, 65535, groups=["sg-gone"])])]))
    assert finding.title == "sg-a refers to sg-gone, which is gone"
    assert finding.message == (
        "sg-a has 1 permission (all tcp ports from sg-gone) whose peer is sg-gone, but that group does not exist any "
        "more. A stale permission matches nothing and still counts against the quota. No other permission admits this "
        "traffic for 2 pairs that can't connect."
    )
    assert (finding.severity, finding.resource.id, finding.pairs) == ("warning", "sg-a", 2)
    assert [(example.source, example.target) for example in finding.examples] == [("i-a", "i-b"), ("i-b", "i-a")]
    assert all(isinstance(example, Example) for example in finding.examples)


def test_deleted_peering() -> None:
    """A reference over a peering that is not active is named with its status, whoever owns the group."""
    gone = peer("sg-far", UserId="444455556666", VpcPeeringConnectionId="pcx-1", PeeringStatus="deleted")
    (finding,) = found(RULE, snapshot(TWO, [group(ingress=[*SELF, row("tcp", 22, groups=[gone])])]))
    assert finding.message == (
        "sg-a has 1 permission (tcp 22 from sg-far) whose peer is sg-far, but the peering connection pcx-1 that leads "
        "to it is deleted. A stale permission matches nothing and still counts against the quota."
    )
    assert finding.pairs == 0


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        pytest.param("sg-a", [], id="itself"),
        pytest.param("sg-b", [], id="a group that was read"),
        pytest.param("sg-gone", [("sg-a", 0)], id="gone"),
        pytest.param(peer("sg-gone", VpcId="vpc-1"), [("sg-a", 0)], id="gone, of the same VPC"),
        pytest.param(peer("sg-gone", UserId=""), [("sg-a", 0)], id="gone, no owner given"),
        pytest.param(peer("sg-far", UserId="444455556666"), [], id="of another account"),
        pytest.param(peer("sg-far", VpcId="vpc-2"), [], id="of another VPC"),
        pytest.param(peer("sg-far", VpcPeeringConnectionId="pcx-1", PeeringStatus="active"), [], id="over a peering"),
        pytest.param(
            peer("sg-far", VpcPeeringConnectionId="pcx-1", PeeringStatus="expired"), [("sg-a", 0)], id="an expired one"
        ),
        pytest.param("sg-carried", [], id="an interface carries it"),
    ],
)
def test_references(reference: str | Raw, expected: list[tuple[str, int]]) -> None:
    """Only what would have been read, or what AWS itself calls stale, is found."""
    members = [*TWO, node("c", "10.0.0.6", groups=["sg-a", "sg-carried"])]
    groups = [group(ingress=[*SELF, row("tcp", 22, groups=[reference])]), group("sg-b")]
    assert resources(RULE, snapshot(members, groups)) == expected


def test_groups_not_wholly_read() -> None:
    """Where AWS refused to describe groups, one that is missing may well exist."""
    groups = [group(ingress=[row("tcp", 22, groups=["sg-gone"])])]
    assert found(RULE, snapshot(TWO, groups, Denied=REFUSED)) == []


def test_both_directions_are_one_finding() -> None:
    """All permissions of a group with one lost peer are one finding."""
    gone = [row("tcp", 22, groups=["sg-gone"])]
    (finding,) = found(RULE, snapshot(TWO, [group(ingress=[*SELF, *gone], egress=[*SELF, *gone])]))
    assert finding.evidence["permissions"] == ["tcp 22 from sg-gone", "tcp 22 to sg-gone"]


def test_not_an_error() -> None:
    """A stale permission alone does not fail a scan."""
    result = scan(snapshot(TWO, [group(ingress=[*SELF, row("tcp", 22, groups=["sg-gone"])])]))
    assert result.status == "pass"
