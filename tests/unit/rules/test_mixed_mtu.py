"""Paths with a smaller MTU are found where a policy wants one for all."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.rules.mixed_mtu import RULE
from tests.builders import EVERYTHING, group, node, peering, route, snapshot, table
from tests.unit.rules.scene import found

Raw = dict[str, Any]

MEMBERS = [node("a", "10.0.0.4"), node("b", "10.2.0.5", subnet="subnet-3")]
GROUPS = [group(ingress=[EVERYTHING])]


def scene(**target: str) -> Raw:
    tables = [
        table("rtb-1", [route("10.2.0.0/16", **target)]),
        table("rtb-2", [route("10.0.0.0/16", **target)], vpc="vpc-2"),
    ]
    return snapshot(MEMBERS, GROUPS, tables=tables, VpcPeeringConnections=[peering("pcx-1", "vpc-1", "vpc-2")])


def test_transit_gateway() -> None:
    """A transit gateway carries less than a VPC does."""
    (finding,) = found(RULE, scene(TransitGatewayId="tgw-1"))
    assert finding.message == (
        "2 pairs of members are routed through tgw-1, which carries 8,500 bytes a packet; inside a VPC it is 9,001. "
        "The gateway drops larger packets without a word, and lowers the segment size of TCP alone."
    )
    assert (finding.severity, finding.resource.id, finding.pairs) == ("warning", "tgw-1", 2)


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(scene(VpcPeeringConnectionId="pcx-1"), id="a peering"),
        pytest.param(scene(NetworkInterfaceId="eni-appliance"), id="an appliance, of which nothing is known"),
        pytest.param(snapshot([MEMBERS[0], node("c", "10.0.1.4", subnet="subnet-2")], GROUPS), id="one VPC"),
    ],
)
def test_no_smaller_path(document: Raw) -> None:
    """Nothing is found where all paths carry as much, or where it can't be known."""
    assert found(RULE, document) == []
