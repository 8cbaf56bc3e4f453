"""Further groups on EFA interfaces that are not open to themselves are found."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.rules.efa_extra_group_closed import RULE
from tests.builders import EVERYTHING, group, node, row, snapshot
from tests.unit.rules.scene import SELF, efa_node, found

Raw = dict[str, Any]

OPEN = group(ingress=SELF, egress=SELF)
TO_B = [row(groups=["sg-b"])]


def scene(*groups: Raw, carried: tuple[str, ...] = ("sg-a", "sg-b")) -> Raw:
    members = [efa_node("a", "10.0.0.4", groups=carried), efa_node("b", "10.0.0.5", groups=carried)]
    return snapshot(members, groups)


def test_message() -> None:
    """The finding names the group and the half that it lacks."""
    (finding,) = found(RULE, scene(OPEN, group("sg-b", ingress=TO_B)), "efa")
    assert finding.message == (
        "sg-b is on the EFA interfaces of all 2 members and has no egress permission for all protocols to itself. "
        "Another group on them admits EFA traffic, but services such as SageMaker HyperPod demand it of each."
    )
    assert finding.remedy == (
        "Add to sg-b an egress permission for all protocols whose peer is the group itself, or take the group off the "
        "EFA interfaces."
    )
    assert (finding.severity, finding.resource.id) == ("warning", "sg-b")


@pytest.mark.parametrize(
    ("groups", "policy", "expected"),
    [
        pytest.param([OPEN, group("sg-b", ingress=TO_B, egress=TO_B)], "efa", [], id="both open"),
        pytest.param([OPEN, group("sg-b", egress=[])], "efa", [("sg-b", "warning")], id="one closed"),
        pytest.param(
            [OPEN, group("sg-b", egress=[])], "sagemaker-hyperpod", [("sg-b", "error")], id="a policy demands it"
        ),
        pytest.param(
            [OPEN, group("sg-b", ingress=TO_B, egress=[EVERYTHING])], "efa", [("sg-b", "warning")], id="0.0.0.0/0"
        ),
        pytest.param([group(), group("sg-b", egress=[])], "efa", [], id="none is open: efa-group-closed says so"),
        pytest.param([OPEN], "efa", [], id="not read"),
        pytest.param([OPEN, group("sg-b", egress=[])], "pytorch-gloo", [], id="no need for EFA"),
    ],
)
def test_groups(groups: list[Raw], policy: str, expected: list[tuple[str, str]]) -> None:
    """One open group makes up for the others, as a warning; a policy may demand more."""
    assert [(item.resource.id, item.severity) for item in found(RULE, scene(*groups), policy)] == expected


def test_pairs_of_groups_by_policy() -> None:
    """Groups that admit each other carry EFA, yet a policy that demands it of each by itself finds them."""
    a = group(ingress=TO_B, egress=TO_B)
    b = group("sg-b", ingress=SELF, egress=SELF)
    document = scene(a, b)
    assert found(RULE, document, "efa") == []
    assert [(item.resource.id, item.severity) for item in found(RULE, document, "sagemaker-hyperpod")] == [
        ("sg-a", "error"),
        ("sg-b", "error"),
    ]


def test_ordinary_interfaces_do_not_matter() -> None:
    """A group on interfaces of another type is none of EFA's business."""
    members = [efa_node("a", "10.0.0.4"), efa_node("b", "10.0.0.5"), node("c", "10.0.0.6", groups=["sg-a", "sg-b"])]
    assert found(RULE, snapshot(members, [OPEN, group("sg-b", egress=[])]), "efa") == []
