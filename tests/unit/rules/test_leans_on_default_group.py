"""A cluster that works by the VPC's default group alone is found."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.rules.leans_on_default_group import RULE
from tests.builders import group, node, row, snapshot
from tests.unit.rules.scene import SELF, efa_node, found, resources

Raw = dict[str, Any]

BOTH = {"groups": ["sg-a", "sg-b"]}
TO_B = [row(groups=["sg-b"])]


def two(**more: Any) -> list[Raw]:
    return [node("a", "10.0.0.4", **more), node("b", "10.0.0.5", **more)]


def test_message() -> None:
    """The finding counts the pairs that would be lost."""
    (finding,) = found(RULE, snapshot(two(), [group(ingress=SELF, name="default")]))
    assert finding.message == (
        "2 pairs of members connect only because of default (sg-a), which every VPC has. Whatever is launched without "
        "a group gets it, and compliance checks demand that it is empty: the cluster stops when somebody obeys them."
    )
    assert (finding.severity, finding.resource.id, finding.pairs) == ("warning", "sg-a", 2)
    assert [(example.source, example.target) for example in finding.examples] == [("i-a", "i-b"), ("i-b", "i-a")]


@pytest.mark.parametrize(
    ("members", "groups", "expected"),
    [
        pytest.param(two(), [group(ingress=SELF)], [], id="a group of its own"),
        pytest.param(two(), [group(name="default")], [], id="a default group that admits nothing"),
        pytest.param(
            two(**BOTH),
            [group(ingress=SELF, name="default"), group("sg-b", ingress=TO_B)],
            [],
            id="another one suffices",
        ),
        pytest.param(
            two(**BOTH),
            [group(ingress=SELF, name="default"), group("sg-b", ingress=TO_B, egress=[])],
            [("sg-a", 2)],
            id="only its egress is needed",
        ),
        pytest.param(
            two(groups=["sg-b"]),
            [group(ingress=SELF, name="default"), group("sg-b", ingress=TO_B)],
            [],
            id="nobody carries it",
        ),
        pytest.param(
            [node("a", "10.0.0.4", **BOTH), node("b", "10.0.0.5", **BOTH), node("c", "10.0.0.6")],
            [group(ingress=SELF, name="default"), group("sg-b", ingress=TO_B)],
            [("sg-a", 4)],
            id="for some pairs",
        ),
    ],
)
def test_groups(members: list[Raw], groups: list[Raw], expected: list[tuple[str, int]]) -> None:
    """Only pairs that no other group opens count."""
    assert resources(RULE, snapshot(members, groups)) == expected


def test_efa() -> None:
    """Paths over EFA count too."""
    members = [efa_node("a", "10.0.0.4"), efa_node("b", "10.0.0.5")]
    document = snapshot(members, [group(ingress=SELF, egress=SELF, name="default")])
    assert resources(RULE, document, "efa") == [("sg-a", 2)]
