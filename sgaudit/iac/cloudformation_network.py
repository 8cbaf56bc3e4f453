"""CloudFormation's VPCs, subnets, security groups, network ACLs, route tables and peering connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.iac.document import add_defaults, vpc_or_stand_in
from sgaudit.iac.stack import Acl, Group, Subnet, Table, Vpc, everything
from sgaudit.iac.values import UNKNOWN, Entry, Id, Peer, Raw, Row, Unknown, entry

if TYPE_CHECKING:
    from sgaudit.iac.properties import Made, One, Properties
    from sgaudit.iac.stack import Stack

INGRESS, EGRESS = "AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress"
DESTINATIONS = ("DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId")
TARGETS = (
    "EgressOnlyInternetGatewayId",
    "NatGatewayId",
    "NetworkInterfaceId",
    "InstanceId",
    "TransitGatewayId",
    "VpcPeeringConnectionId",
    "CarrierGatewayId",
    "LocalGatewayId",
    "CoreNetworkArn",
)
GATEWAYS = {"AWS::EC2::InternetGateway": "igw-", "AWS::EC2::VPNGateway": "vgw-", "AWS::EC2::VPCEndpoint": "vpce-"}


def add(made: Made) -> None:
    """Add them all."""
    _vpcs(made)
    _lists(made)
    _groups(made)
    _acls(made)
    _tables(made)
    for one in made.sure("AWS::EC2::VPCPeeringConnection"):
        _peering(one, made.stack)


def _vpc_id(properties: Properties, name: str) -> str:
    return vpc_or_stand_in(properties.one("VpcId"), name)


def _vpcs(made: Made) -> None:
    stack = made.stack
    for one in made.sure("AWS::EC2::VPC"):
        block = one.properties.text("CidrBlock")
        stack.vpcs[one.name] = Vpc(
            vpc_id=one.name,
            blocks=[block] if block else [],
            tags=one.properties.tags(),
            default_group=f"{one.name}.DefaultSecurityGroup",
            default_acl=f"{one.name}.DefaultNetworkAcl",
            main_table=f"{one.name}.MainRouteTable",
        )
        stack.places[one.name] = one.place
    for one in made.sure("AWS::EC2::VPCCidrBlock"):
        vpc = stack.vpcs.get(str(one.properties.one("VpcId")))
        if vpc is not None:
            vpc.blocks += [text for text in (one.properties.text("CidrBlock"),) if text and text not in vpc.blocks]
            vpc.ipv6 |= one.properties.flag("AmazonProvidedIpv6CidrBlock") is True
    for one in made.sure("AWS::EC2::Subnet"):
        properties = one.properties
        stack.subnets[one.name] = Subnet(
            subnet_id=one.name,
            vpc_id=_vpc_id(properties, one.name),
            block=properties.text("CidrBlock") or None,
            ipv6_block=properties.text("Ipv6CidrBlock") or None,
            zone=properties.text("AvailabilityZone"),
            tags=properties.tags(),
            ipv6_on_launch=properties.flag("AssignIpv6AddressOnCreation") is True,
        )
        stack.places[one.name] = one.place
    for vpc in stack.vpcs.values():
        add_defaults(stack, vpc)


def _lists(made: Made) -> None:
    for one in made.sure("AWS::EC2::PrefixList"):
        items = one.properties.items("Entries")
        blocks = None if isinstance(items, Unknown) else [item.text("Cidr") for item in items]
        made.stack.prefix_lists[one.name] = blocks if blocks is None or all(blocks) else None


def _groups(made: Made) -> None:
    stack = made.stack
    separate = {str(one.properties.one("GroupId")) for one in made.of_type(EGRESS)}
    for one in made.sure("AWS::EC2::SecurityGroup"):
        properties = one.properties
        name = properties.text("GroupName") or one.name
        vpc_id = _vpc_id(properties, one.name)
        group = Group(one.name, name, vpc_id, properties.text("GroupDescription"), properties.tags())
        stack.groups[one.name] = group
        stack.places[one.name] = one.place
        for key, egress in (("SecurityGroupIngress", False), ("SecurityGroupEgress", True)):
            items = properties.items(key)
            rows = None if isinstance(items, Unknown) else _all_rows(items)
            if rows is None:
                stack.spoil_groups(one.name, one.place, f"{key} is not known")
                break
            group.rows |= dict.fromkeys((egress, row) for row in rows)
        if not any(egress for egress, _ in group.rows):
            # AWS documents that own rules keep the default one away, not whether separate resources do.
            lets_all = everything(egress=True, ipv6=True)
            doubtful = (True, Row("-1", None, None, Peer.unknown("AWS's default egress rule, which may be gone")))
            group.rows |= dict.fromkeys([doubtful] if one.name in separate else lets_all)
    for one in made.of_type(INGRESS, EGRESS):
        _separate(one, stack)


def _separate(one: One, stack: Stack) -> None:
    # A rule that names its group in another way may be anybody's.
    group_id: Id = one.properties.one("GroupId") or UNKNOWN
    rows = _rows(one.properties) if one.sure else None
    if rows is None:
        stack.spoil_groups(group_id, one.place, "the rule is not known")
    else:
        stack.add_rows(group_id, rows, one.place, egress=one.type == EGRESS)


def _all_rows(items: list[Properties]) -> list[Row] | None:
    found: list[Row] = []
    for item in items:
        rows = _rows(item)
        if rows is None:
            return None
        found += rows
    return found


def _rows(rule: Properties) -> list[Row] | None:
    """Read a rule; None when its protocol or ports are not known."""
    protocol, low, high = rule.get("IpProtocol"), rule.number("FromPort"), rule.number("ToPort")
    if isinstance(protocol, Unknown) or isinstance(low, Unknown) or isinstance(high, Unknown):
        return None
    peers: list[Peer] = []
    for name, kind in (("CidrIp", "IpRanges"), ("CidrIpv6", "Ipv6Ranges")):
        value = rule.one(name)
        if value:
            known = isinstance(value, str)
            peers.append(Peer.of(kind, **{name: str(value)}) if known else Peer.unknown(f"{name} is not known"))
    for name in ("SourcePrefixListId", "DestinationPrefixListId"):
        value = rule.one(name)
        if value:
            known = isinstance(value, str)
            peers.append(Peer.unknown(str(value) if known else "a prefix list that is not known"))
    for name in ("SourceSecurityGroupId", "DestinationSecurityGroupId"):
        value = rule.one(name)
        if value:
            peers.append(Peer.group(value))
    if rule.get("SourceSecurityGroupName") is not None:
        peers.append(Peer.unknown("a group by name"))
    return [Row(str(protocol).lower().replace("all", "-1"), low, high, peer) for peer in peers]


def _acls(made: Made) -> None:
    stack = made.stack
    for one in made.sure("AWS::EC2::NetworkAcl"):
        stack.acls[one.name] = Acl(one.name, _vpc_id(one.properties, one.name), one.properties.tags())
        stack.places[one.name] = one.place
    for one in made.of_type("AWS::EC2::NetworkAclEntry"):
        acl_id = one.properties.one("NetworkAclId")
        read = _entry(one.properties) if one.sure else None
        if read is None or isinstance(acl_id, Unknown):
            stack.spoil_acls(acl_id, one.place, "the entry is not known")
        elif acl_id in stack.acls:
            stack.acls[acl_id].entries[read.key] = read
    for one in made.of_type("AWS::EC2::SubnetNetworkAclAssociation"):
        stack.associate_acl(_perhaps(one, "SubnetId"), one.properties.one("NetworkAclId"), one.place)


def _perhaps(one: One, name: str) -> Id:
    """Give what a resource names; where it is not sure to be made, as one of several."""
    found = one.properties.one(name)
    return found if one.sure or isinstance(found, Unknown) else Unknown((found,))


def _entry(properties: Properties) -> Entry | None:
    number, egress = properties.number("RuleNumber"), properties.flag("Egress")
    ports, icmp = properties.inner("PortRange"), properties.inner("Icmp")
    if any(isinstance(item, Unknown) for item in (number, egress, ports, icmp)):
        return None
    names = ("Protocol", "RuleAction", "CidrBlock", "Ipv6CidrBlock", "PortRange", "Icmp")
    if any(isinstance(properties.get(name), Unknown) for name in names):
        return None
    pairs = [(part.number(low), part.number(high)) for part, low, high in _pairs(ports, icmp)]
    fields = entry(
        number,
        properties.text("RuleAction").lower(),
        properties.text("Protocol").lower(),
        {name: properties.text(name) for name in ("CidrBlock", "Ipv6CidrBlock")},
        pairs[0],
        pairs[1],
    )
    return Entry(egress=egress is True, **fields)


def _pairs(ports: Properties | Unknown, icmp: Properties | Unknown) -> list[tuple[Properties, str, str]]:
    words = ((ports, "From", "To"), (icmp, "Type", "Code"))
    return [(part, low, high) for part, low, high in words if not isinstance(part, Unknown)]


def _tables(made: Made) -> None:
    stack = made.stack
    for one in made.sure("AWS::EC2::RouteTable"):
        stack.tables[one.name] = Table(one.name, _vpc_id(one.properties, one.name), one.properties.tags())
        stack.places[one.name] = one.place
    for one in made.of_type("AWS::EC2::Route"):
        table_id = one.properties.one("RouteTableId")
        if isinstance(table_id, Unknown) or not one.sure:
            stack.spoil_tables(table_id, one.place, "the route is not known")
        elif table_id in stack.tables:
            _route(one, stack.tables[table_id], made)
    for one in made.of_type("AWS::EC2::SubnetRouteTableAssociation"):
        stack.associate_table(_perhaps(one, "SubnetId"), one.properties.one("RouteTableId"), one.place)


def _route(one: One, table: Table, made: Made) -> None:
    route: Raw = {"State": "active"}
    for name in DESTINATIONS:
        value = one.properties.one(name)
        if isinstance(value, Unknown):
            route["DestinationPrefixListId"] = "a destination that is not known"
        elif value:
            route[name] = value
    for name in TARGETS:
        value = one.properties.one(name)
        if isinstance(value, str) and value:
            route[name] = value
    for name in ("VpcEndpointId", "GatewayId"):
        value = one.properties.one(name)
        if isinstance(value, str) and value:
            kind = made.template.resources.get(value, {}).get("Type", "")
            prefix = GATEWAYS.get(str(kind), "")
            route["GatewayId"] = value if value.startswith(prefix) else f"{prefix}{value}"
    destination = next((str(route[name]) for name in DESTINATIONS if name in route), "")
    if destination:
        table.routes[destination] = route


def _peering(one: One, stack: Stack) -> None:
    properties = one.properties
    sides = [properties.one("VpcId"), properties.one("PeerVpcId")]
    foreign = properties.get("PeerOwnerId") is not None and properties.get("PeerRoleArn") is None
    if foreign or any(isinstance(side, Unknown) or not side for side in sides):
        stack.note(one.place, "whether this connection is active is not known")
        return
    # Within one account, or with a role of the other one, CloudFormation accepts it itself.
    stack.peerings[one.name] = {
        "VpcPeeringConnectionId": one.name,
        "Status": {"Code": "active"},
        "RequesterVpcInfo": {"VpcId": sides[0]},
        "AccepterVpcInfo": {"VpcId": sides[1]},
    }
    stack.places[one.name] = one.place
