"""Routes that don't lead on are found, one finding for each route table and reason."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.ports import PortSet
from sgaudit.rules.finding import Example, Finding, Resource
from sgaudit.rules.no_route import RULE
from sgaudit.severity import Severity
from tests.builders import EVERYTHING, group, node, pair_of, peering, route, snapshot, table
from tests.unit.rules.scene import found

Raw = dict[str, Any]

NEEDED = PortSet.parse("29500,32768-60999")
WORLD = [
    group(ingress=[EVERYTHING]),
    group("sg-b", ingress=[EVERYTHING], vpc="vpc-2"),
    group("sg-c", ingress=[EVERYTHING], vpc="vpc-3"),
]
FAR = [node("a", "10.0.0.4"), node("b", "10.2.0.5", subnet="subnet-3", groups=("sg-b",))]
THERE = table("rtb-1", [route("10.2.0.0/16", VpcPeeringConnectionId="pcx-1")])
BACK = table("rtb-2", [route("10.0.0.0/16", VpcPeeringConnectionId="pcx-1")], vpc="vpc-2")


def peered(*tables: Raw, status: str = "active") -> Raw:
    """Give a member in each of two VPCs, which are peered."""
    connection = peering("pcx-1", "vpc-1", "vpc-2", status=status)
    return snapshot(FAR, WORLD, VpcPeeringConnections=[connection], tables=tables)


def diverted(*routes: Raw) -> Raw:
    """Give a member in each of two subnets of a VPC, of which the first has routes of its own."""
    return snapshot(pair_of({}, {}), WORLD, tables=[table("rtb-1", routes, subnets=["subnet-1"])])


def test_whole_finding() -> None:
    """A route on one side only is one finding about the other side's table, packets and answers together."""
    assert found(RULE, peered(THERE)) == [
        Finding(
            rule="no-route",
            severity=Severity.ERROR,
            title="packets and answers do not get from vpc-2 to i-a",
            message=(
                "Route table rtb-vpc-2 of vpc-2 takes no packets and no answers to i-a: for 10.0.0.4 it has no route; "
                "2 pairs can't connect."
            ),
            remedy="Add to rtb-vpc-2 a route to the CIDR block of vpc-1 over pcx-1.",
            resource=Resource("route-table", "rtb-vpc-2"),
            pairs=2,
            examples=(Example("i-b", "i-a", NEEDED),),
            evidence={
                "ways": ["packets", "answers"],
                "subnets": ["subnet-3"],
                "example_address": "10.0.0.4",
                "reason": "it has no route",
                "needs": ["gloo-mesh", "master-port"],
            },
            identity=("it has no route",),
        )
    ]


GONE = {"state": "blackhole", "NetworkInterfaceId": "eni-gone"}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param(peered(THERE, BACK), [], id="peered, routes both ways"),
        pytest.param(peered(), [("rtb-vpc-1", "it has no route"), ("rtb-vpc-2", "it has no route")], id="no routes"),
        pytest.param(
            snapshot(FAR, WORLD),
            [("rtb-vpc-1", "it has no route"), ("rtb-vpc-2", "it has no route")],
            id="not peered",
        ),
        pytest.param(
            peered(THERE, BACK, status="deleted"),
            [
                ("rtb-1", "its route 10.2.0.0/16 leads to pcx-1, which is deleted"),
                ("rtb-2", "its route 10.0.0.0/16 leads to pcx-1, which is deleted"),
            ],
            id="peering deleted",
        ),
        pytest.param(diverted(), [], id="the local route"),
        pytest.param(diverted(route("10.0.2.0/24", **GONE)), [], id="a blackhole for somebody else"),
        pytest.param(diverted(route("10.0.0.0/8", **GONE)), [], id="a wider blackhole than the local route"),
        pytest.param(
            diverted(route("10.0.1.0/24", **GONE)),
            [("rtb-1", "its route 10.0.1.0/24 to eni-gone is a blackhole")],
            id="a narrower blackhole",
        ),
        pytest.param(diverted(route("10.0.1.0/24", NatGatewayId="nat-1")), [], id="a middlebox is not sure to drop it"),
        pytest.param(diverted(route("10.0.1.0/24", TransitGatewayId="tgw-1")), [], id="a transit gateway neither"),
    ],
)
def test_tables(document: Raw, expected: list[tuple[str, str]]) -> None:
    """It finds the table that does not lead on, with the route that decides; what can't be known is another rule's."""
    assert sorted((item.resource.id, item.evidence["reason"]) for item in found(RULE, document)) == expected


def test_same_block_twice() -> None:
    """Between VPCs with the same block no route can help, and the finding says why."""
    members = [node("a", "10.0.0.4"), node("b", "10.0.0.5", subnet="subnet-4", groups=("sg-c",))]
    first, _ = sorted(found(RULE, snapshot(members, WORLD)), key=lambda item: item.resource.id)
    assert first.message == (
        "Route table rtb-vpc-1 of vpc-1 takes no packets and no answers to i-b: for 10.0.0.5 10.0.0.0/16 is its own "
        "VPC's block, so that packets never leave it; 2 pairs can't connect."
    )
    assert first.remedy == "Put all members in one VPC: vpc-1 and vpc-3 overlap, and such VPCs can't be peered."


@pytest.mark.parametrize(
    ("document", "remedies"),
    [
        pytest.param(
            snapshot(FAR, WORLD),
            [
                "Peer vpc-1 with vpc-2 and route both ways, or put all members in one VPC.",
                "Peer vpc-2 with vpc-1 and route both ways, or put all members in one VPC.",
            ],
            id="not peered",
        ),
        pytest.param(
            diverted(route("10.0.1.0/24", **GONE)),
            ["Remove the route from rtb-1 that takes this traffic elsewhere, or restore its target."],
            id="inside a VPC",
        ),
    ],
)
def test_remedies(document: Raw, remedies: list[str]) -> None:
    """The remedy fits what is there: a peering, a VPC of its own, or the local route."""
    assert [item.remedy for item in sorted(found(RULE, document), key=lambda item: item.resource.id)] == remedies


def test_unread_is_not_blocked() -> None:
    """Tables and peerings that were not read stop nothing for sure."""
    assert found(RULE, snapshot(pair_of({}, {}), WORLD, without=["RouteTables"])) == []
    unread = snapshot(FAR, WORLD, without=["VpcPeeringConnections"], tables=[THERE, BACK])
    assert found(RULE, unread) == []


def test_fingerprint_stays() -> None:
    """More members make no new finding, and many pairs are one."""
    crowd = [node(f"n{number}", f"10.0.0.{number}") for number in range(10, 20)]
    (before,) = found(RULE, peered(THERE))
    connection = peering("pcx-1", "vpc-1", "vpc-2")
    document = snapshot([*crowd, *FAR], WORLD, VpcPeeringConnections=[connection], tables=[THERE])
    (after,) = found(RULE, document)
    assert (after.fingerprint, after.pairs) == (before.fingerprint, 22)
