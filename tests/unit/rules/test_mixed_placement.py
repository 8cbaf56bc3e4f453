"""Members that a policy wants in one place and that are in several are found."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.rules.mixed_placement import RULE
from tests.builders import group, node, snapshot
from tests.unit.rules.scene import SELF, efa_node, found

Raw = dict[str, Any]

OPEN = [group(ingress=SELF, egress=SELF)]
ELSEWHERE = {"AvailabilityZone": "us-east-1b", "subnet": "subnet-2"}


def test_message() -> None:
    """The finding names the policy, the places and the policy's reason."""
    (finding,) = found(RULE, snapshot([node("a", "10.0.0.4"), node("b", "10.0.1.5", **ELSEWHERE)], OPEN), "efa")
    assert finding.message == (
        "Policy efa wants its members in one availability zone, and they are in 2: 1 in us-east-1a and 1 in "
        "us-east-1b. EFA traffic can't cross availability zones."
    )
    assert (finding.severity, finding.resource.type, finding.resource.id) == (
        "error",
        "availability-zone",
        "us-east-1b",
    )


@pytest.mark.parametrize(
    ("b", "policy", "expected"),
    [
        pytest.param(node("b", "10.0.0.5"), "efa", [], id="one place"),
        pytest.param(node("b", "10.0.1.5", subnet="subnet-2"), "efa", [], id="two subnets"),
        pytest.param(node("b", "10.0.1.5", **ELSEWHERE), "efa", ["us-east-1b"], id="two zones"),
        pytest.param(node("b", "10.2.0.5", subnet="subnet-3"), "efa", ["vpc-2"], id="two VPCs"),
        pytest.param(node("b", "10.0.1.5", **ELSEWHERE), "pytorch-gloo", [], id="a policy without the constraint"),
        pytest.param(efa_node("b", "10.0.1.5", **ELSEWHERE), "efa", [], id="efa-split-placement says so"),
    ],
)
def test_places(b: Raw, policy: str, expected: list[str]) -> None:
    """Each constraint is judged by itself, and what cuts EFA is said once."""
    a = efa_node("a", "10.0.0.4")
    assert [item.resource.id for item in found(RULE, snapshot([a, b], OPEN), policy)] == expected


def test_zone_not_read() -> None:
    """A zone that was not read is in no count."""
    members = [node("a", "10.0.0.4"), node("b", "10.0.1.5", subnet="subnet-2")]
    assert found(RULE, snapshot(members, OPEN, without=["Subnets"]), "efa") == []
