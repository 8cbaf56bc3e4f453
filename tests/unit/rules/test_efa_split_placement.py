"""EFA members in several zones or VPCs are found."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.rules.efa_split_placement import RULE
from tests.builders import group, snapshot
from tests.unit.rules.scene import SELF, efa_node, found, resources

OPEN = [group(ingress=SELF, egress=SELF)]
ELSEWHERE = {"AvailabilityZone": "us-east-1b", "subnet": "subnet-2"}


def test_zones() -> None:
    """The finding counts the members of each zone and the pairs between them."""
    members = [efa_node("a", "10.0.0.4"), efa_node("b", "10.0.0.5"), efa_node("c", "10.0.1.5", **ELSEWHERE)]
    (finding,) = found(RULE, snapshot(members, OPEN), "efa")
    assert finding.title == "EFA members in 2 places: 2 in us-east-1a and 1 in us-east-1b"
    assert finding.message == (
        "Members that need EFA between them are in different availability zones: 2 in us-east-1a and 1 in us-east-1b. "
        "EFA traffic crosses neither availability zones nor VPCs, whatever the security groups say; 4 pairs can't "
        "connect over EFA."
    )
    assert (finding.severity, finding.resource.id) == ("error", "us-east-1b")
    assert finding.evidence == {
        "places": [
            {"vpc": "vpc-1", "availability_zone": "us-east-1a", "members": 2},
            {"vpc": "vpc-1", "availability_zone": "us-east-1b", "members": 1},
        ],
        "need": "efa-mesh",
    }


@pytest.mark.parametrize(
    ("b", "expected"),
    [
        pytest.param({"address": "10.0.0.5"}, [], id="one subnet"),
        pytest.param({"address": "10.0.1.5", "subnet": "subnet-2"}, [], id="two subnets of one zone"),
        pytest.param({"address": "10.0.1.5", **ELSEWHERE}, [("us-east-1b", 2)], id="two zones"),
        pytest.param({"address": "10.2.0.5", "subnet": "subnet-3"}, [("vpc-2", 2)], id="two VPCs"),
        pytest.param({"address": "10.0.1.5", "kind": "interface", **ELSEWHERE}, [], id="no EFA interface there"),
    ],
)
def test_places(b: dict[str, Any], expected: list[tuple[str, int]]) -> None:
    """Subnets don't matter, zones and VPCs do."""
    assert resources(RULE, snapshot([efa_node("a", "10.0.0.4"), efa_node("b", **b)], OPEN), "efa") == expected


def test_zone_not_read() -> None:
    """Members that may be in one zone are not said to be split."""
    members = [efa_node("a", "10.0.0.4"), efa_node("b", "10.0.1.5", subnet="subnet-2")]
    assert found(RULE, snapshot(members, OPEN, without=["Subnets"]), "efa") == []


def test_other_policies_ask_nothing() -> None:
    """Without a need for EFA nothing is found."""
    assert found(RULE, snapshot([efa_node("a", "10.0.0.4"), efa_node("b", "10.0.1.5", **ELSEWHERE)], OPEN)) == []
