"""Subnets, VPCs, network ACLs, route tables, peering connections and prefix lists."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

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
from sgaudit.ports import PortSet
from sgaudit.snapshot.fields import (
    FieldError,
    Object,
    Within,
    by_id,
    cidr,
    each,
    flag,
    inner,
    inner_text,
    missing,
    optional_cidr,
    printable,
    required,
    tags,
    text,
    whole,
    wrong,
)
from sgaudit.snapshot.protocols import ports, protocol

Document = Mapping[str, Any]
Owners = dict[tuple[str, str], tuple[str, tuple[str, int]]]
"""A subnet or VPC and a kind of thing, to the id and place of the one that it has."""

NOT_ASSOCIATED = frozenset({"associating", "disassociating", "disassociated", "failing", "failed"})
GONE = frozenset({"disassociated", "failed"})
LAST_RULE = 32768
"""The number of the entry that denies the rest of IPv6; that of IPv4 is one less."""


def subnets(document: Document) -> dict[str, Subnet] | None:
    """Read the subnets; None when they were not read."""
    if document.get("Subnets") is None:
        return None
    return by_id(each(document, "Subnets", _subnet), lambda subnet: subnet.subnet_id, "Subnets")


def _subnet(item: Object) -> Subnet:
    return Subnet(
        subnet_id=required(item, "SubnetId"),
        vpc_id=required(item, "VpcId"),
        availability_zone=text(item, "AvailabilityZone"),
        cidrs=_blocks(item),
        tags=tags(item),
    )


def vpcs(document: Document) -> dict[str, Vpc] | None:
    """Read the VPCs; None when they were not read."""
    if document.get("Vpcs") is None:
        return None
    return by_id(each(document, "Vpcs", _vpc), lambda vpc: vpc.vpc_id, "Vpcs")


def _vpc(item: Object) -> Vpc:
    return Vpc(vpc_id=required(item, "VpcId"), cidrs=_blocks(item), owner_id=text(item, "OwnerId"), tags=tags(item))


def _blocks(item: Object) -> tuple[Cidr, ...]:
    """Read the blocks that are in force, the primary one first."""
    blocks = [
        optional_cidr(item, "CidrBlock", Family.IPV4),
        *each(item, "CidrBlockAssociationSet", _ipv4_block),
        *each(item, "Ipv6CidrBlockAssociationSet", _ipv6_block),
    ]
    return tuple(dict.fromkeys(block for block in blocks if block is not None))


def _ipv4_block(item: Object) -> Cidr | None:
    return None if _unassociated(item, "CidrBlockState") else optional_cidr(item, "CidrBlock", Family.IPV4)


def _ipv6_block(item: Object) -> Cidr | None:
    if _unassociated(item, "Ipv6CidrBlockState"):
        return None
    return optional_cidr(item, "Ipv6CidrBlock", Family.IPV6)


def _unassociated(item: Object, key: str) -> bool:
    # The embedded AWS (moto) writes the state of a subnet's IPv6 block as text: it only knows associated ones.
    return not isinstance(item.get(key), str) and inner_text(item, key, "State") in NOT_ASSOCIATED


def network_acls(document: Document) -> dict[str, NetworkAcl] | None:
    """Read the network ACLs; None when they were not read."""
    if document.get("NetworkAcls") is None:
        return None
    acls = each(document, "NetworkAcls", _acl)
    table = by_id(acls, lambda acl: acl.acl_id, "NetworkAcls")
    owners: Owners = {}
    for index, acl in enumerate(acls):
        claims = [(subnet_id, "network ACL") for subnet_id in acl.subnet_ids]
        if acl.is_default:
            claims.append((acl.vpc_id, "default network ACL"))
        _claim(owners, claims, acl.acl_id, ("NetworkAcls", index))
    return table


def _claim(owners: Owners, claims: list[tuple[str, str]], owner: str, place: tuple[str, int]) -> None:
    """Note what guards or serves a subnet or a VPC: a second one for the same would make the first a guess."""
    for claim in claims:
        known, there = owners.setdefault(claim, (owner, place))
        if known != owner:
            what, kind = claim
            raise FieldError(f"{printable(what)} has another {kind} at", place[1], place[0], other=there)


def _acl(item: Object) -> NetworkAcl:
    entries = each(item, "Entries", _entry)
    numbers: set[tuple[int, bool, Family]] = set()
    for index, entry in enumerate(entries):
        key = (entry.number, entry.egress, entry.cidr.family)
        if key in numbers:
            direction = "egress" if entry.egress else "ingress"
            raise FieldError(
                f"another {entry.cidr.family} {direction} entry has the number {entry.number} already",
                "RuleNumber",
                index,
                "Entries",
            )
        numbers.add(key)
    return NetworkAcl(
        acl_id=required(item, "NetworkAclId"),
        vpc_id=required(item, "VpcId"),
        is_default=flag(item, "IsDefault"),
        entries=tuple(sorted(entries, key=lambda entry: (entry.number, entry.egress, entry.cidr.family))),
        subnet_ids=tuple(dict.fromkeys(each(item, "Associations", lambda one: required(one, "SubnetId")))),
        tags=tags(item),
    )


def _entry(item: Object) -> AclEntry:
    number = whole(item, "RuleNumber")
    if number is None:
        raise missing("RuleNumber")
    if not 1 <= number <= LAST_RULE:
        raise wrong(f"a rule number from 1 to {LAST_RULE}", number, "RuleNumber")
    action = required(item, "RuleAction")
    if action not in ("allow", "deny"):
        raise wrong("allow or deny", action, "RuleAction")
    if item.get("Egress") is None:
        raise missing("Egress")
    name = protocol(item, "Protocol")
    return AclEntry(
        number=number,
        egress=flag(item, "Egress"),
        allow=action == "allow",
        protocol=name,
        ports=_entry_ports(item, name),
        cidr=_entry_cidr(item),
    )


def _entry_ports(item: Object, name: str) -> PortSet:
    if name in ("tcp", "udp"):
        key, first, second = "PortRange", "From", "To"
    elif name in ("icmp", "icmpv6"):
        key, first, second = "IcmpTypeCode", "Type", "Code"
    else:
        return ports(name, None, None, ("", ""))
    if item.get(key) is None:
        raise missing(key, f"EC2 requires it for {name}")
    numbers = inner(item, key)
    with Within(key):
        return ports(name, whole(numbers, first), whole(numbers, second), (first, second))


def _entry_cidr(item: Object) -> Cidr:
    one = optional_cidr(item, "CidrBlock", Family.IPV4)
    other = optional_cidr(item, "Ipv6CidrBlock", Family.IPV6)
    if one is not None and other is not None:
        raise FieldError("an entry has either CidrBlock or Ipv6CidrBlock, not both", "Ipv6CidrBlock")
    found = one or other
    if found is None:
        raise missing("CidrBlock", "an entry has either CidrBlock or Ipv6CidrBlock")
    return found


def route_tables(document: Document) -> dict[str, RouteTable] | None:
    """Read the route tables; None when they were not read."""
    if document.get("RouteTables") is None:
        return None
    tables = each(document, "RouteTables", partial(_table, _customers_lists(document)))
    found = by_id(tables, lambda table: table.route_table_id, "RouteTables")
    owners: Owners = {}
    for index, table in enumerate(tables):
        claims = [(subnet_id, "route table") for subnet_id in table.subnet_ids]
        if table.is_main:
            claims.append((table.vpc_id, "main route table"))
        _claim(owners, claims, table.route_table_id, ("RouteTables", index))
    return found


def _customers_lists(document: Document) -> frozenset[str]:
    """
    Tell the prefix lists that are not AWS's own, as far as that is known.

    A gateway endpoint's list holds public addresses of an AWS service. Behind a list of a customer's own
    stands a Gateway Load Balancer endpoint.
    """
    owners = dict([*each(document, "ManagedPrefixLists", _owned), *each(document, "PrefixLists", _owned)])
    entries = document.get("PrefixListEntries")
    unowned = {name for name in entries if not owners.get(name)} if isinstance(entries, dict) else set()
    return frozenset(unowned | {name for name, owner in owners.items() if owner not in ("", AWS)})


def _owned(item: Object) -> tuple[str, str]:
    return required(item, "PrefixListId"), text(item, "OwnerId")


def _table(customers: frozenset[str], item: Object) -> RouteTable:
    associations = [one for one in each(item, "Associations", _association) if one is not None]
    return RouteTable(
        route_table_id=required(item, "RouteTableId"),
        vpc_id=required(item, "VpcId"),
        is_main=any(main for main, _ in associations),
        subnet_ids=tuple(dict.fromkeys(subnet_id for _, subnet_id in associations if subnet_id)),
        routes=tuple(each(item, "Routes", partial(_route, customers))),
        tags=tags(item),
    )


def _association(item: Object) -> tuple[bool, str] | None:
    if inner_text(item, "AssociationState", "State") in GONE:
        return None
    return flag(item, "Main"), text(item, "SubnetId")


def _route(customers: frozenset[str], item: Object) -> Route:
    prefix_list_id = text(item, "DestinationPrefixListId")
    one = optional_cidr(item, "DestinationCidrBlock", Family.IPV4)
    other = optional_cidr(item, "DestinationIpv6CidrBlock", Family.IPV6)
    given = [found for found in (one, other, prefix_list_id or None) if found is not None]
    if not given:
        raise missing("DestinationCidrBlock", "a route has a CIDR block or a prefix list as its destination")
    if len(given) > 1:
        raise FieldError("a route has exactly one destination", "DestinationCidrBlock")
    target, target_id = _target(item, to_service=bool(prefix_list_id) and prefix_list_id not in customers)
    return Route(one or other, prefix_list_id, target, target_id, text(item, "State", "active"))


AWS = "AWS"
"""The owner of the prefix lists of AWS's own services."""
TARGETS = (
    ("EgressOnlyInternetGatewayId", RouteTarget.INTERNET_GATEWAY),
    ("TransitGatewayId", RouteTarget.TRANSIT_GATEWAY),
    ("VpcPeeringConnectionId", RouteTarget.PEERING),
    # A route to an instance names its interface too: the interface is what the packet reaches.
    ("NetworkInterfaceId", RouteTarget.MIDDLEBOX),
    ("InstanceId", RouteTarget.MIDDLEBOX),
    ("NatGatewayId", RouteTarget.NAT_GATEWAY),
    ("CarrierGatewayId", RouteTarget.OTHER),
    ("LocalGatewayId", RouteTarget.OTHER),
    ("CoreNetworkArn", RouteTarget.OTHER),
    ("OdbNetworkArn", RouteTarget.OTHER),
)


def _target(item: Object, *, to_service: bool) -> tuple[RouteTarget, str]:
    gateway_id = text(item, "GatewayId")
    if gateway_id == "local":
        return RouteTarget.LOCAL, gateway_id
    if gateway_id.startswith("igw-"):
        return RouteTarget.INTERNET_GATEWAY, gateway_id
    if gateway_id.startswith("vpce-"):
        return (RouteTarget.GATEWAY_ENDPOINT if to_service else RouteTarget.MIDDLEBOX), gateway_id
    if gateway_id:
        return RouteTarget.OTHER, gateway_id
    for key, target in TARGETS:
        target_id = text(item, key)
        if target_id:
            return target, target_id
    return RouteTarget.OTHER, ""


def peerings(document: Document) -> dict[str, VpcPeeringConnection] | None:
    """Read the peering connections; None when they were not read."""
    if document.get("VpcPeeringConnections") is None:
        return None
    found = each(document, "VpcPeeringConnections", _peering)
    return by_id(found, lambda peering: peering.peering_id, "VpcPeeringConnections")


def _peering(item: Object) -> VpcPeeringConnection:
    return VpcPeeringConnection(
        peering_id=required(item, "VpcPeeringConnectionId"),
        status=inner_text(item, "Status", "Code"),
        requester=_side(item, "RequesterVpcInfo"),
        accepter=_side(item, "AccepterVpcInfo"),
    )


def _side(item: Object, key: str) -> PeeringSide:
    side = inner(item, key)
    with Within(key):
        blocks = [
            optional_cidr(side, "CidrBlock", Family.IPV4),
            *each(side, "CidrBlockSet", lambda one: cidr(one, "CidrBlock", Family.IPV4)),
            *each(side, "Ipv6CidrBlockSet", lambda one: cidr(one, "Ipv6CidrBlock", Family.IPV6)),
        ]
        return PeeringSide(
            vpc_id=text(side, "VpcId"),
            owner_id=text(side, "OwnerId"),
            region=text(side, "Region"),
            cidrs=tuple(dict.fromkeys(block for block in blocks if block is not None)),
        )


def prefix_lists(document: Document) -> dict[str, tuple[Cidr, ...]]:
    """Read the entries of prefix lists: those of `PrefixListEntries`, and what DescribePrefixLists gives."""
    found = dict(each(document, "PrefixLists", _listed))
    lists = {list_id: blocks for list_id, blocks in found.items() if blocks is not None}
    entries = document.get("PrefixListEntries")
    if entries is None:
        return lists
    if not isinstance(entries, dict):
        raise wrong("an object", entries, "PrefixListEntries")
    for list_id in entries:
        with Within("PrefixListEntries"):
            blocks = each(entries, list_id, lambda one: cidr(one, "Cidr"))
        if entries[list_id] is not None:
            lists[list_id] = tuple(dict.fromkeys(blocks))
    return lists


def _listed(item: Object) -> tuple[str, tuple[Cidr, ...] | None]:
    list_id = required(item, "PrefixListId")
    values = item.get("Cidrs")
    if values is None:
        return list_id, None
    if not isinstance(values, list):
        raise wrong("a list", values, "Cidrs")
    blocks: list[Cidr] = []
    for index, value in enumerate(values):
        try:
            blocks.append(cidr({"Cidrs": value}, "Cidrs"))
        except FieldError as fault:
            fault.steps.insert(0, index)
            raise
    return list_id, tuple(dict.fromkeys(blocks))


def prefix_list_sizes(document: Document) -> dict[str, int]:
    """Read `MaxEntries` of the lists that were described."""
    described = [*each(document, "ManagedPrefixLists", _sized), *each(document, "PrefixLists", _sized)]
    return {list_id: size for list_id, size in described if size is not None}


def _sized(item: Object) -> tuple[str, int | None]:
    return required(item, "PrefixListId"), whole(item, "MaxEntries")
