"""
Small raw snapshots made by hand: each function gives one thing as EC2's Describe calls do, plain unless told otherwise.

The world is `vpc-1` (10.0.0.0/16) with `subnet-1` (10.0.0.0/24) and `subnet-2` (10.0.1.0/24),
`vpc-2` (10.2.0.0/16) with `subnet-3` (10.2.0.0/24) and `vpc-3`, which has the block of vpc-1, with `subnet-4`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Raw = dict[str, Any]

OWNER = "111122223333"
VPC_OF = {"subnet-1": "vpc-1", "subnet-2": "vpc-1", "subnet-3": "vpc-2", "subnet-4": "vpc-3"}
BLOCK_OF = {
    "vpc-1": "10.0.0.0/16",
    "vpc-2": "10.2.0.0/16",
    "vpc-3": "10.0.0.0/16",
    "subnet-1": "10.0.0.0/24",
    "subnet-2": "10.0.1.0/24",
    "subnet-3": "10.2.0.0/24",
    "subnet-4": "10.0.0.0/24",
}
ANYWHERE, ANYWHERE_6 = "0.0.0.0/0", "::/0"


def interface(
    name: str,
    address: str = "",
    *,
    groups: Sequence[str] | None = ("sg-a",),
    subnet: str = "subnet-1",
    device: int = 0,
    ipv6: Sequence[str] = (),
    of: str = "",
    **more: Any,
) -> Raw:
    """Give the interface `eni-NAME` of `i-NAME` (or of `i-OF`); `None` for groups leaves the key out."""
    raw: Raw = {
        "NetworkInterfaceId": f"eni-{name}",
        "VpcId": VPC_OF[subnet],
        "SubnetId": subnet,
        "InterfaceType": "interface",
        "Status": "in-use",
        "PrivateIpAddresses": [],
        "Ipv6Addresses": [{"Ipv6Address": item} for item in ipv6],
        "Attachment": {"DeviceIndex": device, "NetworkCardIndex": 0, "InstanceId": f"i-{of or name}"},
    }
    if address:
        raw["PrivateIpAddress"] = address
        raw["PrivateIpAddresses"] = [{"PrivateIpAddress": address, "Primary": True}]
    if groups is not None:
        raw["Groups"] = [{"GroupId": item, "GroupName": item} for item in groups]
    return {**raw, **more}


def instance(*interfaces: Raw, state: str = "running", **more: Any) -> Raw:
    """Give the instance to which the first interface belongs."""
    first = interfaces[0]
    return {
        "InstanceId": first["Attachment"]["InstanceId"],
        "State": {"Code": 16, "Name": state},
        "InstanceType": "p5.48xlarge",
        "VpcId": first["VpcId"],
        "SubnetId": first["SubnetId"],
        "Tags": [{"Key": "cluster", "Value": "train"}],
        "NetworkInterfaces": list(interfaces),
        **more,
    }


def node(name: str, address: str = "", **more: Any) -> Raw:
    """Give an instance with one interface."""
    return instance(interface(name, address, **more))


def row(
    protocol: str = "-1",
    low: int | None = None,
    high: int | None = None,
    *,
    cidr: Sequence[str] = (),
    cidr6: Sequence[str] = (),
    groups: Sequence[str | Raw] = (),
    lists: Sequence[str] = (),
) -> Raw:
    """Give a row of a security group; a group as peer is an id or a whole `UserIdGroupPairs` entry."""
    raw: Raw = {
        "IpProtocol": protocol,
        "IpRanges": [{"CidrIp": item} for item in cidr],
        "Ipv6Ranges": [{"CidrIpv6": item} for item in cidr6],
        "PrefixListIds": [{"PrefixListId": item} for item in lists],
        "UserIdGroupPairs": [{"UserId": OWNER, "GroupId": item} if isinstance(item, str) else item for item in groups],
    }
    if low is not None:
        raw["FromPort"], raw["ToPort"] = low, low if high is None else high
    return raw


EVERYTHING = row(cidr=[ANYWHERE], cidr6=[ANYWHERE_6])


def group(
    group_id: str = "sg-a",
    *,
    ingress: Sequence[Raw] = (),
    egress: Sequence[Raw] = (EVERYTHING,),
    vpc: str = "vpc-1",
    name: str = "",
) -> Raw:
    """Give a security group; like a new one it lets everything out."""
    return {
        "GroupId": group_id,
        "GroupName": name or group_id,
        "VpcId": vpc,
        "OwnerId": OWNER,
        "Description": "",
        "IpPermissions": list(ingress),
        "IpPermissionsEgress": list(egress),
    }


def entry(
    number: int,
    action: str,
    *,
    egress: bool,
    protocol: str = "-1",
    ports: tuple[int, int] | None = None,
    cidr: str = ANYWHERE,
    message: tuple[int, int] | None = None,
) -> Raw:
    """Give an entry of a network ACL."""
    key = "Ipv6CidrBlock" if ":" in cidr else "CidrBlock"
    raw: Raw = {"RuleNumber": number, "RuleAction": action, "Egress": egress, "Protocol": protocol, key: cidr}
    if ports is not None:
        raw["PortRange"] = {"From": ports[0], "To": ports[1]}
    if message is not None:
        raw["IcmpTypeCode"] = {"Type": message[0], "Code": message[1]}
    return raw


def allow_all(number: int = 100) -> list[Raw]:
    """Give the entries that let everything pass, both ways and of both families."""
    return [
        entry(number + (cidr == ANYWHERE_6), "allow", egress=egress, cidr=cidr)
        for egress in (False, True)
        for cidr in (ANYWHERE, ANYWHERE_6)
    ]


def acl(
    acl_id: str, entries: Sequence[Raw], *, subnets: Sequence[str] = (), vpc: str = "vpc-1", default: bool = False
) -> Raw:
    """Give a network ACL."""
    return {
        "NetworkAclId": acl_id,
        "VpcId": vpc,
        "IsDefault": default,
        "Entries": list(entries),
        "Associations": [{"NetworkAclId": acl_id, "SubnetId": item} for item in subnets],
    }


def route(destination: str, *, state: str = "active", **target: str) -> Raw:
    """Give a route to a block or a prefix list; the target is one key of EC2's answer."""
    key = "DestinationIpv6CidrBlock" if ":" in destination else "DestinationCidrBlock"
    if destination.startswith("pl-"):
        key = "DestinationPrefixListId"
    return {key: destination, "State": state, **target}


def table(table_id: str, routes: Sequence[Raw] = (), *, subnets: Sequence[str] = (), vpc: str = "vpc-1") -> Raw:
    """Give a route table: the main one of its VPC unless it names subnets. It always has the local route."""
    local = route(BLOCK_OF[vpc], GatewayId="local")
    return {
        "RouteTableId": table_id,
        "VpcId": vpc,
        "Associations": [{"Main": False, "SubnetId": item} for item in subnets] or [{"Main": True}],
        "Routes": [local, *routes],
    }


def peering(peering_id: str, one: str, other: str, *, status: str = "active") -> Raw:
    """Give a peering connection of two VPCs."""
    return {
        "VpcPeeringConnectionId": peering_id,
        "Status": {"Code": status},
        "RequesterVpcInfo": {"VpcId": one, "OwnerId": OWNER, "CidrBlock": BLOCK_OF[one]},
        "AccepterVpcInfo": {"VpcId": other, "OwnerId": OWNER, "CidrBlock": BLOCK_OF[other]},
    }


def snapshot(instances: Sequence[Raw], groups: Sequence[Raw], *, without: Sequence[str] = (), **more: Any) -> Raw:
    """
    Give a whole snapshot: open default ACLs and plain main route tables where the caller gives no other.

    What `acls` and `tables` give comes on top of those; a default ACL or a main table replaces its VPC's.
    """
    acls, tables = more.pop("acls", ()), more.pop("tables", ())
    replaced = {item["VpcId"] for item in acls if item["IsDefault"]}
    main = {item["VpcId"] for item in tables if item["Associations"][0]["Main"]}
    vpcs = [name for name in BLOCK_OF if name.startswith("vpc-")]
    document: Raw = {
        "AccountId": OWNER,
        "Region": "us-east-1",
        "Reservations": [{"OwnerId": OWNER, "Instances": list(instances)}],
        "NetworkInterfaces": [item for one in instances for item in one["NetworkInterfaces"]],
        "SecurityGroups": list(groups),
        "Vpcs": [{"VpcId": name, "CidrBlock": BLOCK_OF[name]} for name in vpcs],
        "Subnets": [
            {"SubnetId": name, "VpcId": vpc, "CidrBlock": BLOCK_OF[name], "AvailabilityZone": "us-east-1a"}
            for name, vpc in VPC_OF.items()
        ],
        "NetworkAcls": [
            *(acl(f"acl-{name}", allow_all(), vpc=name, default=True) for name in vpcs if name not in replaced),
            *acls,
        ],
        "RouteTables": [*(table(f"rtb-{name}", vpc=name) for name in vpcs if name not in main), *tables],
        "VpcPeeringConnections": [],
        "PrefixListEntries": {},
    }
    return {key: value for key, value in {**document, **more}.items() if key not in without}


def pair_of(source: Mapping[str, Any], target: Mapping[str, Any]) -> list[Raw]:
    """Give two nodes in two subnets of one VPC, `a` and `b`, with what the caller changes about each."""
    return [
        node("a", **{"address": "10.0.0.5", "subnet": "subnet-1", **source}),
        node("b", **{"address": "10.0.1.5", "subnet": "subnet-2", **target}),
    ]
