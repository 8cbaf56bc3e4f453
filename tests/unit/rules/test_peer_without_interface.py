"""A group that permissions name and nobody carries is told, as far as all interfaces are known."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.rules.finding import Finding, Resource
from sgaudit.rules.peer_without_interface import RULE
from sgaudit.severity import Severity
from tests.builders import group, node, row, snapshot
from tests.unit.rules.scene import found

WHOLE = {"WholeVpcs": ["vpc-1"]}
MEMBERS = [node("a", "10.0.0.4"), node("b", "10.0.0.5")]
NAMES_B = group(ingress=[row("tcp", 22, groups=["sg-b"]), row("tcp", 80, groups=["sg-b"])])


def test_whole_finding() -> None:
    """One finding for a group, whoever names it and however often."""
    assert found(RULE, snapshot(MEMBERS, [NAMES_B, group("sg-b")], **WHOLE)) == [
        Finding(
            rule="peer-without-interface",
            severity=Severity.NOTE,
            title="sg-b is on no interface, and permissions name it",
            message="sg-a names sg-b as a peer, and no interface carries that group.",
            remedy="Put the group on the interfaces that were meant, or revoke the permissions that name it.",
            resource=Resource("security-group", "sg-b"),
            pairs=0,
            evidence={"named_by": ["sg-a"]},
        )
    ]


@pytest.mark.parametrize(
    ("groups", "more", "members"),
    [
        ([NAMES_B, group("sg-b")], {}, MEMBERS),
        ([NAMES_B, group("sg-b", vpc="vpc-2")], WHOLE, MEMBERS),
        ([NAMES_B], WHOLE, MEMBERS),
        ([NAMES_B, group("sg-b")], WHOLE, [*MEMBERS, node("c", "10.0.0.6", groups=("sg-b",))]),
        ([group(ingress=[row(groups=["sg-a"])])], WHOLE, MEMBERS),
    ],
    ids=["not all interfaces read", "other VPC not read", "a group that is gone", "somebody carries it", "itself"],
)
def test_silent(groups: list[Any], more: dict[str, Any], members: list[Any]) -> None:
    """Nothing is said where somebody carries the group, or might without being known."""
    assert found(RULE, snapshot(members, groups, **more)) == []
