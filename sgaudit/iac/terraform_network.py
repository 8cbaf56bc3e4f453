"""Terraform's VPCs, subnets, network ACLs, route tables and peering connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgaudit.iac.document import add_defaults, vpc_or_stand_in
from sgaudit.iac.references import (
    KINDS_OF_ACL,
    KINDS_OF_LIST,
    KINDS_OF_SUBNET,
    KINDS_OF_TABLE,
    KINDS_OF_VPC,
)
from sgaudit.iac.stack import Acl, Subnet, Table, Vpc
from sgaudit.iac.values import Entry, Id, Raw, Unknown, entry

if TYPE_CHECKING:
    from sgaudit.iac.plan import Block, Plan, Resource
    from sgaudit.iac.references import Resolver
    from sgaudit.iac.stack import Stack

ACLS = ("aws_network_acl", "aws_default_network_acl")
TABLES = ("aws_route_table", "aws_default_route_table")
DESTINATIONS = {
    "cidr_block": "DestinationCidrBlock",
    "destination_cidr_block": "DestinationCidrBlock",
    "ipv6_cidr_block": "DestinationIpv6CidrBlock",
    "destination_ipv6_cidr_block": "DestinationIpv6CidrBlock",
    "destination_prefix_list_id": "DestinationPrefixListId",
}
TARGETS = {
    "egress_only_gateway_id": "EgressOnlyInternetGatewayId",
    "nat_gateway_id": "NatGatewayId",
    "network_interface_id": "NetworkInterfaceId",
    "transit_gateway_id": "TransitGatewayId",
    "vpc_peering_connection_id": "VpcPeeringConnectionId",
    "carrier_gateway_id": "CarrierGatewayId",
    "local_gateway_id": "LocalGatewayId",
    "core_network_arn": "CoreNetworkArn",
}
GATEWAYS = {"aws_internet_gateway": "igw-", "aws_vpn_gateway": "vgw-"}
SOMEWHERE = "a destination that is known after apply"


def add_vpcs(plan: Plan, resolver: Resolver, stack: Stack) -> None:
    """Add VPCs and subnets, and what AWS makes with a VPC."""
    for one in plan.of_type("aws_vpc"):
        _vpc(one, resolver, stack)
    for one in plan.of_type("aws_vpc_ipv4_cidr_block_association"):
        vpc = stack.vpcs.get(str(resolver.one(one.block, "vpc_id", *KINDS_OF_VPC)))
        if vpc and one.block.text("cidr_block") not in ("", *vpc.blocks):
            vpc.blocks.append(one.block.text("cidr_block"))
    for one in plan.resources.values():
        if one.type == "aws_subnet":
            _subnet(one, resolver, stack)
    for vpc in stack.vpcs.values():
        add_defaults(stack, vpc)
    old = [vpc_id for vpc_id in stack.vpcs if not _created(plan, stack.places[vpc_id])]
    for vpc_id in old:
        stack.note(
            stack.places[vpc_id],
            "what this VPC came with (default group and ACL, main table) is taken as AWS makes it, "
            "unless there is a resource for it",
        )


def _created(plan: Plan, address: str) -> bool:
    return plan.resources[address].created


def _vpc(one: Resource, resolver: Resolver, stack: Stack) -> None:
    block = one.block
    vpc_id = str(resolver.id_of(one))
    texts = [block.text("cidr_block"), block.text("ipv6_cidr_block")]
    main = resolver.attribute(one, "main_route_table_id")
    stack.vpcs[vpc_id] = Vpc(
        vpc_id=vpc_id,
        blocks=[text for text in texts if text],
        tags=block.tags(),
        default_group=str(resolver.attribute(one, "default_security_group_id")),
        default_acl=str(resolver.attribute(one, "default_network_acl_id")),
        main_table=str(main),
        ipv6=block.get("assign_generated_ipv6_cidr_block") is True or bool(texts[1]),
    )
    stack.places[vpc_id] = one.address


def _subnet(one: Resource, resolver: Resolver, stack: Stack) -> None:
    block, subnet_id = one.block, resolver.id_of(one)
    if isinstance(subnet_id, Unknown):
        return
    vpc_id = resolver.one(block, "vpc_id", *KINDS_OF_VPC)
    if isinstance(vpc_id, Unknown) or not vpc_id:
        stack.note(one.address, "its VPC is not known")
        vpc_id = vpc_or_stand_in(vpc_id, subnet_id)
    stack.subnets.setdefault(
        subnet_id,
        Subnet(
            subnet_id=subnet_id,
            vpc_id=vpc_id,
            block=block.text("cidr_block") or None,
            ipv6_block=block.text("ipv6_cidr_block") or None,
            zone=block.text("availability_zone"),
            tags=block.tags(),
            ipv6_on_launch=block.get("assign_ipv6_address_on_creation") is True,
        ),
    )
    stack.places[subnet_id] = one.address


def add_filters(plan: Plan, resolver: Resolver, stack: Stack) -> None:
    """Add ACLs, route tables and peering connections, with what is associated with which subnet."""
    _add_acls(plan, resolver, stack)
    _add_tables(plan, resolver, stack)
    for one in plan.of_type("aws_route_table_association"):
        if one.block.configured("gateway_id"):
            continue
        subnet_id = resolver.one(one.block, "subnet_id", *KINDS_OF_SUBNET)
        stack.associate_table(subnet_id, resolver.one(one.block, "route_table_id", *KINDS_OF_TABLE), one.address)
    for one in plan.of_type("aws_main_route_table_association"):
        _main(one, resolver, stack)
    for one in plan.of_type("aws_vpc_peering_connection"):
        _peering(one, plan, resolver, stack)


def _formers(plan: Plan, kind: str) -> list[Block]:
    """Give what the resources of a type were that the plan changes or removes."""
    every = (*plan.removed, *plan.of_type(kind))
    return [one.former for one in every if one.type == kind and one.former is not None]


def _add_acls(plan: Plan, resolver: Resolver, stack: Stack) -> None:
    for one in plan.of_type(*ACLS):
        _acl(one, plan, resolver, stack)
    for former in _formers(plan, "aws_network_acl_rule"):
        _forget_entry(former, stack)
    for one in plan.of_type("aws_network_acl_rule"):
        acl_id = resolver.one(one.block, "network_acl_id", *KINDS_OF_ACL)
        _add_entry(acl_id, one.block, one.address, stack, egress=one.block.get("egress"))
    for one in plan.of_type("aws_network_acl_association"):
        subnet_id = resolver.one(one.block, "subnet_id", *KINDS_OF_SUBNET)
        stack.associate_acl(subnet_id, resolver.one(one.block, "network_acl_id", *KINDS_OF_ACL), one.address)


def _add_tables(plan: Plan, resolver: Resolver, stack: Stack) -> None:
    for one in plan.of_type(*TABLES):
        _table(one, resolver, stack)
    for former in _formers(plan, "aws_route"):
        table = stack.tables.get(former.text("route_table_id"))
        for key in DESTINATIONS if table else ():
            stack.tables[former.text("route_table_id")].routes.pop(former.text(key), None)
    for one in plan.of_type("aws_route"):
        table_id = resolver.one(one.block, "route_table_id", *KINDS_OF_TABLE)
        if isinstance(table_id, Unknown):
            stack.spoil_tables(table_id, one.address, "it is not known whose route this is")
        elif table_id in stack.tables:
            _add_route(stack.tables[table_id], one.block, resolver)


def _vpc_id(known: Acl | Table | None, block: Block, resolver: Resolver, of: str) -> str:
    """Tell the VPC of an ACL or a table; the default one of a VPC is known from that."""
    return known.vpc_id if known else vpc_or_stand_in(resolver.one(block, "vpc_id", *KINDS_OF_VPC), of)


def _acl(one: Resource, plan: Plan, resolver: Resolver, stack: Stack) -> None:
    block, acl_id = one.block, resolver.id_of(one)
    if isinstance(acl_id, Unknown):
        stack.spoil_acls(acl_id, one.address, "it may be this ACL")
        return
    vpc_id = _vpc_id(stack.acls.get(acl_id), block, resolver, acl_id)
    stack.acls[acl_id] = Acl(acl_id, vpc_id, block.tags())
    stack.places[acl_id] = one.address
    for name, egress in (("ingress", False), ("egress", True)):
        if block.left_open(name):
            continue
        blocks = block.blocks(name)
        if isinstance(blocks, Unknown):
            stack.spoil_acls(acl_id, one.address, f"{name} is not known")
            break
        for item in blocks:
            _add_entry(acl_id, item, one.address, stack, egress=egress)
    if block.configured("subnet_ids"):
        _associated(one, resolver, stack, acl_id)
    elif not block.is_unknown("subnet_ids"):
        gone = _former_subnets(plan, acl_id)
        for subnet_id in block.texts("subnet_ids"):  # type: ignore[union-attr]
            if subnet_id not in gone:
                stack.associate_acl(subnet_id, acl_id, one.address)


def _associated(one: Resource, resolver: Resolver, stack: Stack, acl_id: str) -> None:
    subnets = resolver.many(one.block, "subnet_ids", *KINDS_OF_SUBNET)
    if isinstance(subnets, Unknown):
        stack.associate_acl(subnets, acl_id, one.address)
    else:
        for subnet_id in subnets:
            stack.associate_acl(subnet_id, acl_id, one.address)


def _former_subnets(plan: Plan, acl_id: str) -> set[str]:
    former = _formers(plan, "aws_network_acl_association")
    return {one.text("subnet_id") for one in former if one.text("network_acl_id") == acl_id}


def _entry(block: Block, egress: Any) -> Entry | None:
    """Read an entry, of a block within an ACL or of a resource; None when something of it is not known."""
    number = block.number("rule_no") if "rule_no" in block.values else block.number("rule_number")
    action = block.get("action") if "action" in block.values else block.get("rule_action")
    names = ("protocol", "from_port", "to_port", "icmp_type", "icmp_code", "cidr_block", "ipv6_cidr_block")
    if isinstance(number, Unknown) or isinstance(action, Unknown) or any(map(block.is_unknown, names)):
        return None
    protocol = str(block.get("protocol")).lower()
    fields = entry(
        number,
        str(action).lower(),
        "-1" if protocol == "all" else protocol,
        {"CidrBlock": block.get("cidr_block"), "Ipv6CidrBlock": block.get("ipv6_cidr_block")},
        (block.number("from_port"), block.number("to_port")),
        (block.number("icmp_type"), block.number("icmp_code")),
    )
    return Entry(egress=egress is True, **fields)


def _add_entry(acl_id: Id, block: Block, place: str, stack: Stack, *, egress: Any) -> None:
    read = None if isinstance(egress, Unknown) else _entry(block, egress)
    if read is None or isinstance(acl_id, Unknown):
        stack.spoil_acls(acl_id, place, "an entry is not known")
    elif acl_id in stack.acls:
        stack.acls[acl_id].entries[read.key] = read


def _forget_entry(former: Block, stack: Stack) -> None:
    acl = stack.acls.get(former.text("network_acl_id"))
    read = _entry(former, former.get("egress"))
    if acl is not None and read is not None:
        acl.entries.pop(read.key, None)


def _table(one: Resource, resolver: Resolver, stack: Stack) -> None:
    block, table_id = one.block, resolver.id_of(one)
    if isinstance(table_id, Unknown):
        stack.spoil_tables(table_id, one.address, "it may be this table")
        return
    vpc_id = _vpc_id(stack.tables.get(table_id), block, resolver, table_id)
    table = stack.tables[table_id] = Table(table_id, vpc_id, block.tags())
    stack.places[table_id] = one.address
    if block.left_open("route"):
        return
    blocks = block.blocks("route")
    if isinstance(blocks, Unknown):
        stack.spoil_tables(table_id, one.address, "route is not known")
        return
    for item in blocks:
        _add_route(table, item, resolver)


def _add_route(table: Table, block: Block, resolver: Resolver) -> None:
    route: Raw = {"State": "active"}
    for name, key in DESTINATIONS.items():
        if name == "destination_prefix_list_id":
            value = resolver.one(block, name, *KINDS_OF_LIST)
            if value:
                route[key] = SOMEWHERE if isinstance(value, Unknown) else value
        elif block.is_unknown(name) and block.configured(name):
            route["DestinationPrefixListId"] = SOMEWHERE
        elif text := block.text(name):
            route[key] = text
    for name, key in TARGETS.items():
        target = resolver.one(block, name, *TARGET_KINDS[name]) if block.configured(name) else ""
        if isinstance(target, str) and target:
            route[key] = target
    gateway = _gateway(block, resolver)
    if gateway:
        route["GatewayId"] = gateway
    destination = next((str(route[key]) for key in dict.fromkeys(DESTINATIONS.values()) if key in route), "")
    if destination:
        table.routes[destination] = route


TARGET_KINDS: dict[str, tuple[str, ...]] = {
    "egress_only_gateway_id": ("aws_egress_only_internet_gateway",),
    "nat_gateway_id": ("aws_nat_gateway",),
    "network_interface_id": ("aws_network_interface", "aws_instance.primary_network_interface_id"),
    "transit_gateway_id": ("aws_ec2_transit_gateway", "aws_ec2_transit_gateway_vpc_attachment"),
    "vpc_peering_connection_id": ("aws_vpc_peering_connection",),
    "carrier_gateway_id": ("aws_ec2_carrier_gateway",),
    "local_gateway_id": (),
    "core_network_arn": (),
}


def _gateway(block: Block, resolver: Resolver) -> str:
    endpoint = resolver.one(block, "vpc_endpoint_id", "aws_vpc_endpoint") if block.configured("vpc_endpoint_id") else ""
    if isinstance(endpoint, str) and endpoint:
        return endpoint if endpoint.startswith("vpce-") else f"vpce-{endpoint}"
    gateway = resolver.one(block, "gateway_id", *GATEWAYS) if block.configured("gateway_id") else ""
    if isinstance(gateway, Unknown) or not gateway:
        return ""
    prefix = GATEWAYS.get(resolver.kinds.get(gateway, ""), "")
    return gateway if gateway.startswith(prefix) else f"{prefix}{gateway}"


def _main(one: Resource, resolver: Resolver, stack: Stack) -> None:
    vpc_id = resolver.one(one.block, "vpc_id", *KINDS_OF_VPC)
    table_id = resolver.one(one.block, "route_table_id", *KINDS_OF_TABLE)
    for vpc in stack.vpcs.values():
        if isinstance(vpc_id, Unknown):
            vpc.main_known = False
        elif vpc.vpc_id == vpc_id:
            vpc.main_known = not isinstance(table_id, Unknown)
            vpc.main_table = table_id if isinstance(table_id, str) else vpc.main_table


def _peering(one: Resource, plan: Plan, resolver: Resolver, stack: Stack) -> None:
    peering_id = resolver.id_of(one)
    sides = [resolver.one(one.block, name, *KINDS_OF_VPC) for name in ("vpc_id", "peer_vpc_id")]
    accepted = one.block.text("accept_status") == "active" or one.block.get("auto_accept") is True
    for other in plan.of_type("aws_vpc_peering_connection_accepter"):
        named = resolver.one(other.block, "vpc_peering_connection_id", "aws_vpc_peering_connection")
        accepted |= named == peering_id and other.block.get("auto_accept") is True
    if not accepted or any(isinstance(side, Unknown) or not side for side in sides):
        stack.note(one.address, "whether this connection is active is not known")
        return
    stack.peerings[str(peering_id)] = {
        "VpcPeeringConnectionId": str(peering_id),
        "Status": {"Code": "active"},
        "RequesterVpcInfo": {"VpcId": sides[0]},
        "AccepterVpcInfo": {"VpcId": sides[1]},
    }
    stack.places[str(peering_id)] = one.address
