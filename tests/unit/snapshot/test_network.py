"""Subnets, VPCs, ACLs, routes, peering connections and prefix lists: one reading each, or an error."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.model import (
    AclEntry,
    Cidr,
    Family,
    NetworkAcl,
    PeeringSide,
    Route,
    RouteTable,
    RouteTarget,
    Subnet,
    Vpc,
    VpcPeeringConnection,
)
from sgaudit.ports import ALL, PortSet
from sgaudit.snapshot import parse
from tests.unit.snapshot.documents import OWNER, Raw, error_of, everything

ANYWHERE, ANYWHERE_6 = Cidr.parse("0.0.0.0/0"), Cidr.parse("::/0")


def test_a_whole_network() -> None:
    """Every field of every other thing is read."""
    snapshot = parse(everything())

    assert snapshot.network_acls == {
        "acl-1": NetworkAcl(
            acl_id="acl-1",
            vpc_id="vpc-1",
            is_default=True,
            entries=(
                AclEntry(90, True, True, "icmpv6", ALL, ANYWHERE_6),
                AclEntry(100, False, True, "tcp", PortSet.single(22), Cidr.parse("10.0.0.0/16")),
                AclEntry(32767, False, False, "-1", ALL, ANYWHERE),
            ),
            subnet_ids=("subnet-1",),
        )
    }
    assert snapshot.subnets == {
        "subnet-1": Subnet(
            "subnet-1", "vpc-1", "us-east-1a", (Cidr.parse("10.0.0.0/24"), Cidr.parse("2001:db8:1::/64"))
        )
    }
    assert snapshot.vpcs == {
        "vpc-1": Vpc(
            "vpc-1",
            (Cidr.parse("10.0.0.0/16"), Cidr.parse("100.64.0.0/16"), Cidr.parse("2001:db8:1::/56")),
            OWNER,
        )
    }
    assert snapshot.route_tables == {
        "rtb-1": RouteTable(
            route_table_id="rtb-1",
            vpc_id="vpc-1",
            is_main=True,
            subnet_ids=("subnet-1",),
            routes=(
                Route(Cidr.parse("10.0.0.0/16"), "", RouteTarget.LOCAL, "local", "active"),
                Route(None, "pl-1", RouteTarget.PEERING, "pcx-1", "blackhole"),
            ),
        )
    }
    assert snapshot.peerings == {
        "pcx-1": VpcPeeringConnection(
            "pcx-1",
            "active",
            PeeringSide("vpc-1", OWNER, "us-east-1", (Cidr.parse("10.0.0.0/16"), Cidr.parse("2001:db8:1::/56"))),
            PeeringSide("vpc-2", "444455556666", "us-east-1", ()),
        )
    }
    assert snapshot.prefix_lists == {"pl-1": (Cidr.parse("198.51.100.0/24"), Cidr.parse("2001:db8:9::/48"))}
    assert snapshot.prefix_list_sizes == {"pl-1": 20}


def test_the_least_of_each() -> None:
    """Each needs its id and VPC, and nothing else."""
    snapshot = parse(
        {
            "NetworkAcls": [{"NetworkAclId": "acl-1", "VpcId": "vpc-1"}],
            "Subnets": [{"SubnetId": "subnet-1", "VpcId": "vpc-1"}],
            "Vpcs": [{"VpcId": "vpc-1"}],
            "RouteTables": [{"RouteTableId": "rtb-1", "VpcId": "vpc-1"}],
            "VpcPeeringConnections": [{"VpcPeeringConnectionId": "pcx-1"}],
            "ManagedPrefixLists": [{"PrefixListId": "pl-1"}],
        }
    )

    assert snapshot.network_acls == {"acl-1": NetworkAcl("acl-1", "vpc-1", False, (), ())}
    assert snapshot.subnets == {"subnet-1": Subnet("subnet-1", "vpc-1", "", ())}
    assert snapshot.vpcs == {"vpc-1": Vpc("vpc-1", ())}
    assert snapshot.route_tables == {"rtb-1": RouteTable("rtb-1", "vpc-1", False, (), ())}
    nobody = PeeringSide("", "", "", ())
    assert snapshot.peerings == {"pcx-1": VpcPeeringConnection("pcx-1", "", nobody, nobody)}
    assert (snapshot.prefix_lists, snapshot.prefix_list_sizes) == ({}, {})


def entry(number: Any = 100, protocol: Any = "-1", **more: Any) -> Raw:
    """Give an ingress entry for everybody; a field of None is left out."""
    item = {
        "RuleNumber": number,
        "Egress": False,
        "RuleAction": "allow",
        "Protocol": protocol,
        "CidrBlock": None if "Ipv6CidrBlock" in more else "0.0.0.0/0",
        **more,
    }
    return {key: value for key, value in item.items() if value is not None}


def acl(*entries: Raw, **more: Any) -> Raw:
    """Give the ACL `acl-1` with these entries."""
    return {"NetworkAclId": "acl-1", "VpcId": "vpc-1", "Entries": list(entries), **more}


def entries_of(*entries: Raw) -> tuple[AclEntry, ...]:
    """Read the entries of one ACL."""
    acls = parse({"NetworkAcls": [acl(*entries)]}).network_acls
    assert acls is not None
    return acls["acl-1"].entries


ENTRIES: list[tuple[Raw, AclEntry]] = [
    (entry(), AclEntry(100, False, True, "-1", ALL, ANYWHERE)),
    (entry(RuleAction="deny", Egress=True), AclEntry(100, True, False, "-1", ALL, ANYWHERE)),
    (entry(CidrBlock="10.1.2.3/8"), AclEntry(100, False, True, "-1", ALL, Cidr.parse("10.0.0.0/8"))),
    (entry(Ipv6CidrBlock="::/0"), AclEntry(100, False, True, "-1", ALL, ANYWHERE_6)),
    (entry(CidrBlock="", Ipv6CidrBlock="::/0"), AclEntry(100, False, True, "-1", ALL, ANYWHERE_6)),
    (entry(1, PortRange={"From": 22, "To": 22}), AclEntry(1, False, True, "-1", ALL, ANYWHERE)),
    (entry(1, "47", PortRange={"From": 22, "To": 22}), AclEntry(1, False, True, "47", ALL, ANYWHERE)),
    (
        entry(1, "tcp", PortRange={"From": 1024, "To": 65535}),
        AclEntry(1, False, True, "tcp", PortSet.single(1024, 65535), ANYWHERE),
    ),
    (entry(1, 17, PortRange={"From": 0, "To": 65535}), AclEntry(1, False, True, "udp", ALL, ANYWHERE)),
    (entry(1, "1", IcmpTypeCode={"Type": -1, "Code": -1}), AclEntry(1, False, True, "icmp", ALL, ANYWHERE)),
    (
        entry(1, "1", IcmpTypeCode={"Type": 3, "Code": 4}),
        AclEntry(1, False, True, "icmp", PortSet.single(3 * 256 + 4), ANYWHERE),
    ),
    (entry(32768, Ipv6CidrBlock="::/0"), AclEntry(32768, False, True, "-1", ALL, ANYWHERE_6)),
]


@pytest.mark.parametrize(("raw", "expected"), ENTRIES)
def test_acl_entries(raw: Raw, expected: AclEntry) -> None:
    """An entry has one family, one protocol and its ports; what doesn't belong to the protocol means nothing."""
    assert entries_of(raw) == (expected,)


def test_acl_entries_are_sorted() -> None:
    """The order is that of the numbers, whatever the answer's; directions and families may share a number."""
    found = entries_of(
        entry(300),
        entry(32767, RuleAction="deny"),
        entry(200, Egress=True),
        entry(200, Ipv6CidrBlock="::/0"),
        entry(200),
        entry(20),
    )

    assert [(one.number, one.egress, one.cidr.family) for one in found] == [
        (20, False, Family.IPV4),
        (200, False, Family.IPV4),
        (200, False, Family.IPV6),
        (200, True, Family.IPV4),
        (300, False, Family.IPV4),
        (32767, False, Family.IPV4),
    ]


ENTRY_ERRORS: list[tuple[list[Any], str]] = [
    ([3], "Entries[0]: expected an object, got 3"),
    ([entry(None)], "Entries[0].RuleNumber: missing"),
    ([entry("100")], 'Entries[0].RuleNumber: expected a whole number, got "100"'),
    ([entry(0)], "Entries[0].RuleNumber: expected a rule number from 1 to 32768, got 0"),
    ([entry(40000)], "Entries[0].RuleNumber: expected a rule number from 1 to 32768, got 40000"),
    ([entry(RuleAction="permit")], 'Entries[0].RuleAction: expected allow or deny, got "permit"'),
    ([entry(RuleAction=None)], "Entries[0].RuleAction: missing"),
    ([entry(Egress=None)], "Entries[0].Egress: missing"),
    ([entry(Egress="false")], 'Entries[0].Egress: expected true or false, got "false"'),
    ([entry(protocol=None)], "Entries[0].Protocol: missing"),
    ([entry(protocol="6")], "Entries[0].PortRange: missing: EC2 requires it for tcp"),
    ([entry(protocol="1")], "Entries[0].IcmpTypeCode: missing: EC2 requires it for icmp"),
    ([entry(protocol="6", PortRange=22)], "Entries[0].PortRange: expected an object, got 22"),
    (
        [entry(protocol="6", PortRange={"From": 22})],
        "Entries[0].PortRange.To: missing: EC2 requires From and To for tcp",
    ),
    (
        [entry(protocol="6", PortRange={"From": 2, "To": 1})],
        "Entries[0].PortRange.To: expected a port not below From 2, got 1",
    ),
    (
        [entry(protocol="17", PortRange={"From": -1, "To": -1})],
        "Entries[0].PortRange.From: expected a port from 0 to 65535, got -1",
    ),
    ([entry(protocol="1", IcmpTypeCode={"Code": 4})], "Entries[0].IcmpTypeCode.Code: ICMP code 4 without a type"),
    ([entry(CidrBlock=None)], "Entries[0].CidrBlock: missing: an entry has either CidrBlock or Ipv6CidrBlock"),
    (
        [entry(CidrBlock="0.0.0.0/0", Ipv6CidrBlock="::/0")],
        "Entries[0].Ipv6CidrBlock: an entry has either CidrBlock or Ipv6CidrBlock, not both",
    ),
    (
        [entry(CidrBlock="banana")],
        'Entries[0].CidrBlock: expected an IPv4 CIDR block such as 10.0.0.0/8, got "banana"',
    ),
    (
        [entry(), entry(200), entry(RuleAction="deny")],
        "Entries[2].RuleNumber: another ipv4 ingress entry has the number 100 already",
    ),
    (
        [entry(7, Egress=True, Ipv6CidrBlock="::/0")] * 2,
        "Entries[1].RuleNumber: another ipv6 egress entry has the number 7 already",
    ),
]


@pytest.mark.parametrize(("entries", "message"), ENTRY_ERRORS)
def test_errors_of_acl_entries(entries: list[Any], message: str) -> None:
    """An entry that can't be read is refused: leaving it out could open or close anything."""
    assert error_of({"NetworkAcls": [acl(*entries)]}) == f"net.json: NetworkAcls[0].{message}"


ROUTES: list[tuple[Raw, RouteTarget, str]] = [
    ({"GatewayId": "local"}, RouteTarget.LOCAL, "local"),
    ({"GatewayId": "igw-1"}, RouteTarget.INTERNET_GATEWAY, "igw-1"),
    ({"EgressOnlyInternetGatewayId": "eigw-1"}, RouteTarget.INTERNET_GATEWAY, "eigw-1"),
    ({"GatewayId": "vgw-1"}, RouteTarget.OTHER, "vgw-1"),
    ({"GatewayId": "vpce-1"}, RouteTarget.MIDDLEBOX, "vpce-1"),
    ({"NetworkInterfaceId": "eni-1"}, RouteTarget.MIDDLEBOX, "eni-1"),
    ({"InstanceId": "i-1", "NetworkInterfaceId": "eni-1"}, RouteTarget.MIDDLEBOX, "eni-1"),
    ({"InstanceId": "i-1"}, RouteTarget.MIDDLEBOX, "i-1"),
    ({"NatGatewayId": "nat-1"}, RouteTarget.NAT_GATEWAY, "nat-1"),
    ({"TransitGatewayId": "tgw-1"}, RouteTarget.TRANSIT_GATEWAY, "tgw-1"),
    ({"VpcPeeringConnectionId": "pcx-1"}, RouteTarget.PEERING, "pcx-1"),
    ({"CoreNetworkArn": "arn:x"}, RouteTarget.OTHER, "arn:x"),
    ({"LocalGatewayId": "lgw-1"}, RouteTarget.OTHER, "lgw-1"),
    ({"CarrierGatewayId": "cagw-1"}, RouteTarget.OTHER, "cagw-1"),
    ({"WarpGateId": "wg-1"}, RouteTarget.OTHER, ""),
    ({}, RouteTarget.OTHER, ""),
]


def routes_of(*routes: Raw) -> tuple[Route, ...]:
    """Read the routes of one table."""
    tables = parse({"RouteTables": [{"RouteTableId": "rtb-1", "VpcId": "vpc-1", "Routes": list(routes)}]}).route_tables
    assert tables is not None
    return tables["rtb-1"].routes


@pytest.mark.parametrize(("raw", "target", "target_id"), ROUTES)
def test_route_targets(raw: Raw, target: RouteTarget, target_id: str) -> None:
    """The key and the form of the id tell where a route leads; what is new to sgaudit leads elsewhere."""
    assert routes_of({"DestinationCidrBlock": "10.0.0.7/16", **raw}) == (
        Route(Cidr.parse("10.0.0.0/16"), "", target, target_id, "active"),
    )


def test_route_destinations_and_states() -> None:
    """A destination is of either family or a prefix list; a state is kept; gateway endpoints have lists."""
    assert routes_of(
        {"DestinationIpv6CidrBlock": "::/0", "GatewayId": "igw-1", "State": "blackhole"},
        {"DestinationPrefixListId": "pl-1", "GatewayId": "vpce-1", "State": "filtered"},
    ) == (
        Route(ANYWHERE_6, "", RouteTarget.INTERNET_GATEWAY, "igw-1", "blackhole"),
        Route(None, "pl-1", RouteTarget.GATEWAY_ENDPOINT, "vpce-1", "filtered"),
    )


@pytest.mark.parametrize(
    ("more", "target"),
    [
        ({}, RouteTarget.GATEWAY_ENDPOINT),
        ({"ManagedPrefixLists": [{"PrefixListId": "pl-1", "OwnerId": "AWS"}]}, RouteTarget.GATEWAY_ENDPOINT),
        ({"ManagedPrefixLists": [{"PrefixListId": "pl-1", "OwnerId": "111122223333"}]}, RouteTarget.MIDDLEBOX),
        ({"PrefixListEntries": {"pl-1": [{"Cidr": "10.0.0.0/8"}]}}, RouteTarget.MIDDLEBOX),
        ({"PrefixListEntries": {"pl-2": []}}, RouteTarget.GATEWAY_ENDPOINT),
    ],
)
def test_an_endpoint_behind_a_list_of_ones_own_is_a_middlebox(more: Raw, target: RouteTarget) -> None:
    """A gateway endpoint's list is AWS's; behind another one stands a Gateway Load Balancer endpoint."""
    route = {"DestinationPrefixListId": "pl-1", "GatewayId": "vpce-1", "State": "active"}
    document = {"RouteTables": [{"RouteTableId": "rtb-1", "VpcId": "vpc-1", "Routes": [route]}], **more}
    tables = parse(document).route_tables or {}

    assert [found.target for found in tables["rtb-1"].routes] == [target]


@pytest.mark.parametrize(
    ("association", "is_main", "subnet_ids"),
    [
        ({"Main": True}, True, ()),
        ({"Main": False, "SubnetId": "subnet-1"}, False, ("subnet-1",)),
        ({"SubnetId": "subnet-1", "AssociationState": {"State": "associated"}}, False, ("subnet-1",)),
        ({"SubnetId": "subnet-1", "AssociationState": {"State": "shaky"}}, False, ("subnet-1",)),
        ({"SubnetId": "subnet-1", "AssociationState": {"State": "disassociated"}}, False, ()),
        ({"Main": True, "AssociationState": {"State": "failed"}}, False, ()),
        ({"GatewayId": "igw-1"}, False, ()),
    ],
)
def test_route_table_associations(association: Raw, is_main: bool, subnet_ids: tuple[str, ...]) -> None:
    """An association that is gone doesn't count, one with a gateway serves no subnet."""
    document = {"RouteTables": [{"RouteTableId": "rtb-1", "VpcId": "vpc-1", "Associations": [association]}]}

    assert parse(document).route_tables == {"rtb-1": RouteTable("rtb-1", "vpc-1", is_main, subnet_ids, ())}


@pytest.mark.parametrize(
    ("block", "counts"),
    [
        ({"Ipv6CidrBlockState": {"State": "associated"}}, True),
        ({"Ipv6CidrBlockState": {}}, True),
        ({}, True),
        ({"Ipv6CidrBlockState": "{'State': 'associated'}"}, True),
        ({"Ipv6CidrBlockState": {"State": "associating"}}, False),
        ({"Ipv6CidrBlockState": {"State": "disassociated"}}, False),
        ({"Ipv6CidrBlockState": {"State": "failed"}}, False),
    ],
)
@pytest.mark.parametrize(("key", "name"), [("Subnets", "SubnetId"), ("Vpcs", "VpcId")])
def test_blocks_count_while_they_are_associated(key: str, name: str, block: Raw, counts: bool) -> None:
    """A block that isn't in force is none; a state in an odd form hides nothing."""
    item = {
        "VpcId": "x",
        name: "x",
        "Ipv6CidrBlockAssociationSet": [{"Ipv6CidrBlock": "2001:db8::/64", **block}],
    }
    snapshot = parse({key: [item]})
    found = (snapshot.subnets or snapshot.vpcs or {})["x"]

    assert found.cidrs == ((Cidr.parse("2001:db8::/64"),) if counts else ())


def test_aws_prefix_lists() -> None:
    """DescribePrefixLists gives entries along; entries that were asked for by themselves count more."""
    snapshot = parse(
        {
            "PrefixLists": [
                {"PrefixListId": "pl-1", "Cidrs": ["198.51.100.9/24", "198.51.100.0/24"]},
                {"PrefixListId": "pl-2", "Cidrs": ["198.51.100.0/24"]},
                {"PrefixListId": "pl-3", "MaxEntries": 7},
            ],
            "PrefixListEntries": {"pl-2": [{"Cidr": "203.0.113.0/24", "Description": "x"}], "pl-4": []},
        }
    )

    assert snapshot.prefix_lists == {
        "pl-1": (Cidr.parse("198.51.100.0/24"),),
        "pl-2": (Cidr.parse("203.0.113.0/24"),),
        "pl-4": (),
    }
    assert snapshot.prefix_list_sizes == {"pl-3": 7}


def table(**more: Any) -> Raw:
    return {"RouteTables": [{"RouteTableId": "rtb-1", "VpcId": "vpc-1", **more}]}


def routes(**more: Any) -> Raw:
    return table(Routes=[more])


def lists(**more: Any) -> Raw:
    return {"PrefixListEntries": more}


CIDR_4 = "expected an IPv4 CIDR block such as 10.0.0.0/8"
ERRORS: list[tuple[Any, str]] = [
    ({"Subnets": 1}, "Subnets: expected a list, got 1"),
    ({"Subnets": [{"VpcId": "vpc-1"}]}, "Subnets[0].SubnetId: missing"),
    ({"Subnets": [{"SubnetId": "subnet-1"}]}, "Subnets[0].VpcId: missing"),
    (
        {"Subnets": [{"SubnetId": "subnet-1", "VpcId": "vpc-1", "CidrBlock": "10.0.0.0/24x"}]},
        f'Subnets[0].CidrBlock: {CIDR_4}, got "10.0.0.0/24x"',
    ),
    ({"Vpcs": [{}]}, "Vpcs[0].VpcId: missing"),
    (
        {"Vpcs": [{"VpcId": "vpc-1", "CidrBlockAssociationSet": [{"CidrBlockState": 1}]}]},
        "Vpcs[0].CidrBlockAssociationSet[0].CidrBlockState: expected an object, got 1",
    ),
    ({"NetworkAcls": {}}, "NetworkAcls: expected a list, got an object"),
    ({"NetworkAcls": [acl(NetworkAclId=None)]}, "NetworkAcls[0].NetworkAclId: missing"),
    ({"NetworkAcls": [acl(IsDefault="no")]}, 'NetworkAcls[0].IsDefault: expected true or false, got "no"'),
    ({"NetworkAcls": [acl(Associations=[{}])]}, "NetworkAcls[0].Associations[0].SubnetId: missing"),
    (
        {"NetworkAcls": [acl(), acl(IsDefault=True)]},
        "NetworkAcls[1]: acl-1 is described twice, and differently at net.json: NetworkAcls[0]",
    ),
    (
        {
            "NetworkAcls": [
                acl(Associations=[{"SubnetId": "subnet-1"}]),
                acl(NetworkAclId="acl-2", Associations=[{"SubnetId": "subnet-1"}]),
            ]
        },
        "NetworkAcls[1]: subnet-1 has another network ACL at net.json: NetworkAcls[0]",
    ),
    (
        {"NetworkAcls": [acl(IsDefault=True), acl(NetworkAclId="acl-2", IsDefault=True)]},
        "NetworkAcls[1]: vpc-1 has another default network ACL at net.json: NetworkAcls[0]",
    ),
    ({"RouteTables": [{"VpcId": "vpc-1"}]}, "RouteTables[0].RouteTableId: missing"),
    (table(Routes={}), "RouteTables[0].Routes: expected a list, got an object"),
    (table(Associations=[{"Main": 1}]), "RouteTables[0].Associations[0].Main: expected true or false, got 1"),
    (
        {
            "RouteTables": [
                *table(Associations=[{"Main": True}])["RouteTables"],
                *table(RouteTableId="rtb-2", Associations=[{"Main": True}])["RouteTables"],
            ]
        },
        "RouteTables[1]: vpc-1 has another main route table at net.json: RouteTables[0]",
    ),
    (
        routes(GatewayId="local"),
        (
            "RouteTables[0].Routes[0].DestinationCidrBlock: "
            "missing: a route has a CIDR block or a prefix list as its destination"
        ),
    ),
    (
        routes(DestinationCidrBlock="10.0.0.0/8", DestinationPrefixListId="pl-1"),
        "RouteTables[0].Routes[0].DestinationCidrBlock: a route has exactly one destination",
    ),
    (
        routes(DestinationCidrBlock="::/0"),
        f'RouteTables[0].Routes[0].DestinationCidrBlock: {CIDR_4}, got "::/0"',
    ),
    (
        routes(DestinationCidrBlock="10.0.0.0/8", GatewayId=1),
        "RouteTables[0].Routes[0].GatewayId: expected text, got 1",
    ),
    ({"VpcPeeringConnections": [{}]}, "VpcPeeringConnections[0].VpcPeeringConnectionId: missing"),
    (
        {"VpcPeeringConnections": [{"VpcPeeringConnectionId": "pcx-1", "Status": "active"}]},
        'VpcPeeringConnections[0].Status: expected an object, got "active"',
    ),
    (
        {"VpcPeeringConnections": [{"VpcPeeringConnectionId": "pcx-1", "RequesterVpcInfo": {"CidrBlockSet": [{}]}}]},
        "VpcPeeringConnections[0].RequesterVpcInfo.CidrBlockSet[0].CidrBlock: missing",
    ),
    ({"ManagedPrefixLists": [{"MaxEntries": 1}]}, "ManagedPrefixLists[0].PrefixListId: missing"),
    (
        {"ManagedPrefixLists": [{"PrefixListId": "pl-1", "MaxEntries": "1"}]},
        'ManagedPrefixLists[0].MaxEntries: expected a whole number, got "1"',
    ),
    (
        {"PrefixLists": [{"PrefixListId": "pl-1", "Cidrs": ["0.0.0.0/0", 5]}]},
        "PrefixLists[0].Cidrs[1]: expected text, got 5",
    ),
    ({"PrefixLists": [{"PrefixListId": "pl-1", "Cidrs": 5}]}, "PrefixLists[0].Cidrs: expected a list, got 5"),
    ({"PrefixListEntries": []}, "PrefixListEntries: expected an object, got a list"),
    (lists(pl=5), "PrefixListEntries.pl: expected a list, got 5"),
    (lists(pl=["10.0.0.0/8"]), 'PrefixListEntries.pl[0]: expected an object, got "10.0.0.0/8"'),
    (lists(pl=[{"Cidr": "10.0.0.0/8"}, {}]), "PrefixListEntries.pl[1].Cidr: missing"),
    (
        lists(pl=[{"Cidr": "office"}]),
        'PrefixListEntries.pl[0].Cidr: expected a CIDR block such as 10.0.0.0/8, got "office"',
    ),
    (
        {"PrefixListEntries": {"\x1b[2J": [{}]}},
        "PrefixListEntries.\\x1b[2J[0].Cidr: missing",
    ),
]


@pytest.mark.parametrize(("document", "message"), ERRORS)
def test_errors(document: Any, message: str) -> None:
    """What can't be read is refused with the file, the path and the value."""
    assert error_of(document) == f"net.json: {message}"
