"""A stack as the snapshot document that AWS would answer with once the stack is made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sgaudit.iac.addresses import Addresses, known_groups
from sgaudit.iac.stack import Acl, Group, Stack, Table, everything
from sgaudit.iac.values import Entry, Peer, Raw, Reading, Row, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgaudit.iac.stack import Instance, Interface, Subnet, Vpc
    from sgaudit.iac.values import Id

ELSEWHERE = "the VPC of "
"""How the stand-in for a VPC that the file does not name begins."""
CUTS = "cuts a subnet whose addresses are not known yet"


def vpc_or_stand_in(vpc_id: Id, of: str) -> str:
    """Give a VPC's id; where the file does not tell it, a stand-in that is named after what lies in it."""
    return vpc_id if isinstance(vpc_id, str) and vpc_id else f"{ELSEWHERE}{of}"


def finish(stack: Stack) -> Reading:
    """Add what AWS makes by itself, and write everything down."""
    addresses = Addresses(stack)
    if addresses.count:
        stack.note(
            stack.file,
            f"{addresses.count} addresses are known only after the stack is made: the ones shown stand in for them",
        )
    _doubtful_acls(stack, addresses)
    lists: dict[str, list[Raw]] = {
        "Vpcs": [_vpc(vpc) for vpc in stack.vpcs.values()],
        "Subnets": [_subnet(subnet) for subnet in stack.subnets.values()],
        "SecurityGroups": [_group(group, addresses) for group in stack.groups.values()],
        "NetworkAcls": _acls(stack),
        "RouteTables": _tables(stack, addresses),
        "VpcPeeringConnections": list(stack.peerings.values()),
        "NetworkInterfaces": [_interface(interface, stack) for interface in stack.interfaces.values()],
    }
    reservations = [{"Instances": [_instance(instance, stack)]} for instance in stack.instances.values()]
    entries = {
        name: [{"Cidr": block} for block in blocks]
        for name, blocks in stack.prefix_lists.items()
        if blocks is not None and not any(map(addresses.doubtful, blocks))
    }
    document: Raw = {**lists, "Reservations": reservations, "PrefixListEntries": entries}
    if stack.region:
        document["Region"] = stack.region
    return Reading(document, _places(stack, document), stack.told())


IDS = {
    "Vpcs": "VpcId",
    "Subnets": "SubnetId",
    "SecurityGroups": "GroupId",
    "NetworkAcls": "NetworkAclId",
    "RouteTables": "RouteTableId",
    "VpcPeeringConnections": "VpcPeeringConnectionId",
    "NetworkInterfaces": "NetworkInterfaceId",
}


def _places(stack: Stack, document: Raw) -> dict[tuple[str, int], str]:
    places = {
        (key, index): stack.places.get(item[name], item[name])
        for key, name in IDS.items()
        for index, item in enumerate(document[key])
    }
    for index, instance_id in enumerate(stack.instances):
        places["Reservations", index] = stack.places.get(instance_id, instance_id)
    return places


def add_defaults(stack: Stack, vpc: Vpc) -> None:
    """Add a VPC's default group, default ACL and main table as AWS makes them (VPC user guide)."""
    vpc.ipv6 |= any(subnet.ipv6_block for subnet in stack.subnets.values() if subnet.vpc_id == vpc.vpc_id)
    group = Group(vpc.default_group, "default", vpc.vpc_id, "default VPC security group", {})
    group.rows[False, Row("-1", None, None, Peer.group(vpc.default_group))] = None
    group.rows |= dict.fromkeys(everything(egress=True, ipv6=vpc.ipv6))
    stack.groups[vpc.default_group] = group
    acl = Acl(vpc.default_acl, vpc.vpc_id, {})
    for egress in (False, True):
        blocks = [(100, "CidrBlock", "0.0.0.0/0"), *([(101, "Ipv6CidrBlock", "::/0")] if vpc.ipv6 else [])]
        for number, key, block in blocks:
            entry = Entry(number, egress, (("RuleAction", "allow"), ("Protocol", "-1"), (key, block)))
            acl.entries[entry.key] = entry
    stack.acls[vpc.default_acl] = acl
    stack.tables[vpc.main_table] = Table(vpc.main_table, vpc.vpc_id, {})


def _tags(tags: dict[str, str]) -> list[Raw]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _vpc(vpc: Vpc) -> Raw:
    return {
        "VpcId": vpc.vpc_id,
        "CidrBlockAssociationSet": [{"CidrBlock": block} for block in vpc.blocks if ":" not in block],
        "Ipv6CidrBlockAssociationSet": [{"Ipv6CidrBlock": block} for block in vpc.blocks if ":" in block],
        "Tags": _tags(vpc.tags),
    }


def _subnet(subnet: Subnet) -> Raw:
    raw: Raw = {
        "SubnetId": subnet.subnet_id,
        "VpcId": subnet.vpc_id,
        "AvailabilityZone": subnet.zone,
        "Tags": _tags(subnet.tags),
    }
    if subnet.block:
        raw["CidrBlock"] = subnet.block
    if subnet.ipv6_block:
        raw["Ipv6CidrBlockAssociationSet"] = [{"Ipv6CidrBlock": subnet.ipv6_block}]
    return raw


def _group(group: Group, addresses: Addresses) -> Raw:
    rows: dict[bool, list[Raw]] = {False: [], True: []}
    for egress, row in group.rows:
        block = dict(row.peer.item).get("CidrIp") or dict(row.peer.item).get("CidrIpv6") or ""
        peer = Peer.unknown(f"{block} ({CUTS})") if addresses.doubtful(block) else row.peer
        rows[egress].append(replace(row, peer=peer).to_json())
    return {
        "GroupId": group.group_id,
        "GroupName": group.name,
        "VpcId": group.vpc_id,
        "Description": group.description,
        "IpPermissions": rows[False],
        "IpPermissionsEgress": rows[True],
        "Tags": _tags(group.tags),
    }


def _doubtful_acls(stack: Stack, addresses: Addresses) -> None:
    for acl in list(stack.acls.values()):
        blocks = [entry.cidr for entry in acl.entries.values() if addresses.doubtful(entry.cidr)]
        if blocks:
            place = stack.places.get(acl.acl_id, acl.acl_id)
            stack.spoil_acls(acl.acl_id, place, f"{blocks[0]} {CUTS}")


def _acls(stack: Stack) -> list[Raw]:
    """
    Write the ACLs with every subnet that each guards.

    Whatever names no subnet is the VPC's default. Where the ACL of a subnet is not known, no ACL of its VPC is
    written as the default one: the subnet would fall to it.
    """
    served, doubtful = _served(
        stack, stack.acl_of, stack.acls, {vpc.vpc_id: vpc.default_acl for vpc in stack.vpcs.values()}
    )
    defaults = {vpc.default_acl for vpc in stack.vpcs.values() if vpc.vpc_id not in doubtful}
    if stack.acls_doubtful:
        served, defaults = {}, set()
    return [
        {
            "NetworkAclId": acl.acl_id,
            "VpcId": acl.vpc_id,
            "IsDefault": acl.acl_id in defaults,
            "Entries": [entry.to_json() for entry in acl.entries.values()],
            "Associations": [{"SubnetId": subnet_id} for subnet_id in served.get(acl.acl_id, ())],
            "Tags": _tags(acl.tags),
        }
        for acl in stack.acls.values()
    ]


def _served(
    stack: Stack, chosen: dict[str, Any], known: dict[str, Any], defaults: dict[str, str]
) -> tuple[dict[str, list[str]], set[str]]:
    """Tell what serves each subnet, and the VPCs in which that is not known of some subnet."""
    served: dict[str, list[str]] = {}
    doubtful: set[str] = set()
    for subnet_id in dict.fromkeys((*stack.subnets, *chosen)):
        subnet = stack.subnets.get(subnet_id)
        owner = chosen.get(subnet_id, defaults.get(subnet.vpc_id, "") if subnet else "")
        if not isinstance(owner, Unknown) and owner in known:
            served.setdefault(owner, []).append(subnet_id)
        elif subnet is not None:
            doubtful.add(subnet.vpc_id)
    return served, doubtful


def _tables(stack: Stack, addresses: Addresses) -> list[Raw]:
    mains = {vpc.vpc_id: vpc.main_table for vpc in stack.vpcs.values() if vpc.main_known}
    served, doubtful = _served(stack, stack.table_of, stack.tables, mains)
    main = {table for vpc_id, table in mains.items() if vpc_id not in doubtful}
    if stack.tables_doubtful:
        served, main = {}, set()
    return [
        {
            "RouteTableId": table.table_id,
            "VpcId": table.vpc_id,
            "Associations": [
                *([{"Main": True}] if table.table_id in main else []),
                *({"Main": False, "SubnetId": subnet_id} for subnet_id in served.get(table.table_id, ())),
            ],
            "Routes": [*_local(stack, table), *(_route(route, addresses) for route in table.routes.values())],
            "Tags": _tags(table.tags),
        }
        for table in stack.tables.values()
    ]


def _local(stack: Stack, table: Table) -> Iterable[Raw]:
    vpc = stack.vpcs.get(table.vpc_id)
    for block in vpc.blocks if vpc else ():
        key = "DestinationIpv6CidrBlock" if ":" in block else "DestinationCidrBlock"
        if block not in table.routes:
            yield {key: block, "GatewayId": "local", "State": "active"}


def _route(route: Raw, addresses: Addresses) -> Raw:
    block = route.get("DestinationCidrBlock") or route.get("DestinationIpv6CidrBlock") or ""
    if not addresses.doubtful(block):
        return route
    rest = {key: value for key, value in route.items() if "CidrBlock" not in key}
    return {**rest, "DestinationPrefixListId": f"{block} ({CUTS})"}


def _interface(interface: Interface, stack: Stack) -> Raw:
    subnet = stack.subnets.get(interface.subnet_id)
    ipv4, ipv6 = interface.ipv4 or (), interface.ipv6 or ()
    raw: Raw = {
        "NetworkInterfaceId": interface.interface_id,
        "SubnetId": interface.subnet_id,
        "VpcId": subnet.vpc_id if subnet else f"{ELSEWHERE}{interface.subnet_id}",
        "InterfaceType": interface.kind,
        "PrivateIpAddresses": [{"PrivateIpAddress": one, "Primary": one == ipv4[0]} for one in ipv4],
        "Ipv6Addresses": [{"Ipv6Address": one} for one in ipv6],
    }
    groups = known_groups(interface)
    if groups is not None:
        raw["Groups"] = groups
    if interface.public_ip:
        raw["Association"] = {"PublicIp": interface.public_ip}
    if interface.instance_id:
        raw["Attachment"] = {
            "InstanceId": interface.instance_id,
            "DeviceIndex": interface.device_index,
            "NetworkCardIndex": interface.card_index,
        }
    return raw


def _instance(instance: Instance, stack: Stack) -> Raw:
    subnet = stack.subnets.get(instance.subnet_id)
    raw: Raw = {
        "InstanceId": instance.instance_id,
        "InstanceType": instance.instance_type,
        "State": {"Name": instance.state},
        "Tags": _tags(instance.tags),
    }
    if instance.subnet_id:
        raw["SubnetId"] = instance.subnet_id
        raw["VpcId"] = subnet.vpc_id if subnet else f"{ELSEWHERE}{instance.subnet_id}"
        raw["Placement"] = {"AvailabilityZone": subnet.zone if subnet else ""}
    return raw
