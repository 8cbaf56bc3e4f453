"""
Snapshots of any size in the shape of a real account: the answers of EC2 as boto3 gives them, in full.

They hold what `sgaudit snapshot` would save of such an account, so the interfaces are those that
DescribeInstances embeds. Everything comes from a seed, so that two runs measure the same thing.

    python -m benchmarks.generate large > large.json
"""

from __future__ import annotations

import ipaddress
import json
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

Json = dict[str, Any]

OWNER = "111122223333"
REGION = "us-east-1"
VPC = "vpc-0a1b2c3d4e5f60718"
NETWORK = ipaddress.IPv4Network("10.0.0.0/16")
SUBNET_PREFIX = 22
RESERVED = 4
"""The first four addresses of a subnet belong to AWS (VPC user guide)."""
ZONES = ("a", "b", "c", "d")
TIMES = ("2026-11-30T08:12:44+00:00", "2026-11-30T08:12:45+00:00", "2026-11-30T08:12:46+00:00")
INSTANCES_PER_RESERVATION = 8
ANYWHERE = "0.0.0.0/0"


@dataclass(frozen=True, slots=True)
class Node:
    """One member of the cluster, before it is written out."""

    number: int
    subnet: int
    address: str
    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """One security group: its permissions in the shape of EC2."""

    ingress: Sequence[Json]
    egress: Sequence[Json] = field(default_factory=lambda: [permission("-1", cidrs=[ANYWHERE])])


def identifier(kind: str, number: int) -> str:
    """Make an id of the length that EC2 gives, without its regularity."""
    return f"{kind}-0{(number * 0x9E3779B97F4A7C15 + 0x1234567) % (1 << 64):016x}"


def group_name(number: int) -> str:
    return "train-cluster" if number == 0 else f"train-role-{number:02d}"


def permission(
    protocol: str, low: int = 0, high: int = 65535, *, cidrs: Sequence[str] = (), groups: Sequence[int] = ()
) -> Json:
    """Give one permission in EC2's shape: one protocol and range, with all its peers."""
    ports = {} if protocol == "-1" else {"FromPort": low, "ToPort": high}
    return {
        "IpProtocol": protocol,
        **ports,
        "UserIdGroupPairs": [{"UserId": OWNER, "GroupId": identifier("sg", number)} for number in groups],
        "IpRanges": [{"Description": "by the platform team", "CidrIp": cidr} for cidr in cidrs],
        "Ipv6Ranges": [],
        "PrefixListIds": [],
    }


def tags(**pairs: str) -> list[Json]:
    return [{"Key": key, "Value": value} for key, value in pairs.items()]


def subnet_block(number: int) -> ipaddress.IPv4Network:
    first = int(NETWORK.network_address) + number * (1 << (32 - SUBNET_PREFIX))
    return ipaddress.IPv4Network((first, SUBNET_PREFIX))


def zone(subnet: int) -> str:
    return REGION + ZONES[subnet % len(ZONES)]


def nodes(members: int, subnets: int, groups: Callable[[int], tuple[int, ...]]) -> list[Node]:
    """Spread members over the subnets in turn; `groups` is asked with the member's place in its subnet."""
    found = []
    for number in range(members):
        place, subnet = divmod(number, subnets)
        address = str(subnet_block(subnet)[place + RESERVED])
        found.append(Node(number, subnet, address, groups(place)))
    return found


def group_references(node: Node) -> list[Json]:
    return [{"GroupId": identifier("sg", group), "GroupName": group_name(group)} for group in node.groups]


def mac(node: Node) -> str:
    return "0a:" + ":".join(f"{(node.number * 2654435761 >> shift) & 255:02x}" for shift in (32, 24, 16, 8, 0))


def private_dns(node: Node) -> str:
    return f"ip-{node.address.replace('.', '-')}.ec2.internal"


def attachment(node: Node) -> Json:
    return {
        "AttachTime": TIMES[node.number % len(TIMES)],
        "AttachmentId": identifier("eni-attach", node.number),
        "DeleteOnTermination": True,
        "DeviceIndex": 0,
        "Status": "attached",
        "NetworkCardIndex": 0,
    }


def interface(node: Node) -> Json:
    """Give an interface as DescribeInstances embeds it."""
    return {
        "Attachment": attachment(node),
        "Description": "",
        "Groups": group_references(node),
        "Ipv6Addresses": [],
        "MacAddress": mac(node),
        "NetworkInterfaceId": identifier("eni", node.number),
        "OwnerId": OWNER,
        "PrivateDnsName": private_dns(node),
        "PrivateIpAddress": node.address,
        "PrivateIpAddresses": [
            {"Primary": True, "PrivateDnsName": private_dns(node), "PrivateIpAddress": node.address}
        ],
        "SourceDestCheck": True,
        "Status": "in-use",
        "SubnetId": identifier("subnet", node.subnet),
        "VpcId": VPC,
        "InterfaceType": "efa",
        "Operator": {"Managed": False},
    }


def placement_and_state(node: Node) -> Json:
    return {
        "Placement": {
            "AvailabilityZoneId": f"use1-az{1 + node.subnet % len(ZONES)}",
            "GroupName": "",
            "Tenancy": "default",
            "AvailabilityZone": zone(node.subnet),
        },
        "Monitoring": {"State": "disabled"},
        "State": {"Code": 16, "Name": "running"},
        "StateTransitionReason": "",
        "LaunchTime": TIMES[node.number % len(TIMES)],
        "UsageOperation": "RunInstances",
        "UsageOperationUpdateTime": TIMES[node.number % len(TIMES)],
        "PlatformDetails": "Linux/UNIX",
        "AmiLaunchIndex": node.number % INSTANCES_PER_RESERVATION,
        "ProductCodes": [],
    }


def block_devices(node: Node) -> list[Json]:
    return [
        {
            "DeviceName": name,
            "Ebs": {
                "AttachTime": TIMES[node.number % len(TIMES)],
                "DeleteOnTermination": True,
                "Status": "attached",
                "VolumeId": identifier("vol", 2 * node.number + index),
                "EbsCardIndex": 0,
            },
        }
        for index, name in enumerate(("/dev/sda1", "/dev/sdf"))
    ]


def options() -> Json:
    """Give the option blocks that EC2 repeats for every instance."""
    return {
        "CpuOptions": {"CoreCount": 96, "ThreadsPerCore": 2},
        "CapacityReservationSpecification": {"CapacityReservationPreference": "open"},
        "HibernationOptions": {"Configured": False},
        "MetadataOptions": {
            "State": "applied",
            "HttpTokens": "required",
            "HttpPutResponseHopLimit": 2,
            "HttpEndpoint": "enabled",
            "HttpProtocolIpv6": "disabled",
            "InstanceMetadataTags": "disabled",
        },
        "EnclaveOptions": {"Enabled": False},
        "PrivateDnsNameOptions": {
            "HostnameType": "ip-name",
            "EnableResourceNameDnsARecord": False,
            "EnableResourceNameDnsAAAARecord": False,
        },
        "MaintenanceOptions": {"AutoRecovery": "default", "RebootMigration": "default"},
        "NetworkPerformanceOptions": {"BandwidthWeighting": "default"},
        "Operator": {"Managed": False},
    }


def instance(node: Node) -> Json:
    """Give an instance as DescribeInstances does."""
    return (
        {
            "InstanceId": identifier("i", node.number),
            "ImageId": "ami-0c7217cdde317cfec",
            "InstanceType": "p5.48xlarge",
            "KeyName": "train",
            "PrivateDnsName": private_dns(node),
            "PrivateIpAddress": node.address,
            "PublicDnsName": "",
            "SubnetId": identifier("subnet", node.subnet),
            "VpcId": VPC,
            "Architecture": "x86_64",
            "BlockDeviceMappings": block_devices(node),
            "ClientToken": f"{node.number * 2654435761 % (1 << 64):016x}-4f1e-9a77-{node.number:012x}",
            "EbsOptimized": True,
            "EnaSupport": True,
            "Hypervisor": "xen",
            "IamInstanceProfile": {
                "Arn": f"arn:aws:iam::{OWNER}:instance-profile/train-node",
                "Id": "AIPA3XFRBF23EXAMPLE01",
            },
            "NetworkInterfaces": [interface(node)],
            "RootDeviceName": "/dev/sda1",
            "RootDeviceType": "ebs",
            "SecurityGroups": group_references(node),
            "SourceDestCheck": True,
            "Tags": tags(
                Name=f"train-{node.number:05d}",
                cluster="train",
                team="research",
                CostCenter="4711",
                **{"aws:autoscaling:groupName": f"train-{zone(node.subnet)}"},
            ),
            "VirtualizationType": "hvm",
            "BootMode": "uefi-preferred",
            "CurrentInstanceBootMode": "uefi",
        }
        | placement_and_state(node)
        | options()
    )


def reservations(members: Sequence[Node]) -> list[Json]:
    size = INSTANCES_PER_RESERVATION
    return [
        {
            "ReservationId": identifier("r", start // size),
            "OwnerId": OWNER,
            "RequesterId": "940372691376",
            "Groups": [],
            "Instances": [instance(node) for node in members[start : start + size]],
        }
        for start in range(0, len(members), size)
    ]


def security_group(number: int, group: Group) -> Json:
    return {
        "GroupId": identifier("sg", number),
        "IpPermissionsEgress": list(group.egress),
        "Tags": tags(Name=group_name(number), cluster="train"),
        "VpcId": VPC,
        "SecurityGroupArn": f"arn:aws:ec2:{REGION}:{OWNER}:security-group/{identifier('sg', number)}",
        "OwnerId": OWNER,
        "GroupName": group_name(number),
        "Description": f"{group_name(number)} of the training cluster",
        "IpPermissions": list(group.ingress),
    }


def subnet(number: int) -> Json:
    return {
        "AvailabilityZoneId": f"use1-az{1 + number % len(ZONES)}",
        "MapCustomerOwnedIpOnLaunch": False,
        "OwnerId": OWNER,
        "AssignIpv6AddressOnCreation": False,
        "Ipv6CidrBlockAssociationSet": [],
        "Tags": tags(Name=f"train-{number:02d}"),
        "SubnetArn": f"arn:aws:ec2:{REGION}:{OWNER}:subnet/{identifier('subnet', number)}",
        "EnableDns64": False,
        "Ipv6Native": False,
        "PrivateDnsNameOptionsOnLaunch": {
            "HostnameType": "ip-name",
            "EnableResourceNameDnsARecord": False,
            "EnableResourceNameDnsAAAARecord": False,
        },
        "BlockPublicAccessStates": {"InternetGatewayBlockMode": "off"},
        "SubnetId": identifier("subnet", number),
        "State": "available",
        "VpcId": VPC,
        "CidrBlock": str(subnet_block(number)),
        "AvailableIpAddressCount": 400,
        "AvailabilityZone": zone(number),
        "DefaultForAz": False,
        "MapPublicIpOnLaunch": False,
    }


def acl_entry(number: int, *, egress: bool, allow: bool, ports: tuple[int, int] | None = None) -> Json:
    """Give one entry of a network ACL; without ports it is about every protocol."""
    return {
        "CidrBlock": ANYWHERE,
        "Egress": egress,
        **({"PortRange": {"From": ports[0], "To": ports[1]}} if ports else {}),
        "Protocol": "6" if ports else "-1",
        "RuleAction": "allow" if allow else "deny",
        "RuleNumber": number,
    }


def open_entries() -> list[Json]:
    return [
        acl_entry(number, egress=egress, allow=number == 100) for egress in (True, False) for number in (100, 32767)
    ]


def careful_entries() -> list[Json]:
    """Give entries of someone who listed ports, in several ranges that leave no hole."""
    ranges = ((0, 1023), (1024, 32767), (32768, 60999), (61000, 65535))
    return [
        *(
            acl_entry(100 + 10 * place, egress=egress, allow=True, ports=ports)
            for egress in (True, False)
            for place, ports in enumerate(ranges)
        ),
        *(acl_entry(32767, egress=egress, allow=False) for egress in (True, False)),
    ]


def forgetful_entries() -> list[Json]:
    """Give entries that let everything out and forget the way back."""
    return [
        acl_entry(100, egress=True, allow=True),
        acl_entry(32767, egress=True, allow=False),
        acl_entry(100, egress=False, allow=True, ports=(0, 32767)),
        acl_entry(32767, egress=False, allow=False),
    ]


def network_acl(number: int, acls: int, subnets: int, entries: list[Json]) -> Json:
    acl_id = identifier("acl", number)
    return {
        "Associations": [
            {
                "NetworkAclAssociationId": identifier("aclassoc", other),
                "NetworkAclId": acl_id,
                "SubnetId": identifier("subnet", other),
            }
            for other in range(number, subnets, acls)
        ],
        "Entries": entries,
        "IsDefault": number == 0,
        "NetworkAclId": acl_id,
        "Tags": tags(Name=f"train-{number:02d}"),
        "VpcId": VPC,
        "OwnerId": OWNER,
    }


def vpc() -> Json:
    block = str(NETWORK)
    return {
        "OwnerId": OWNER,
        "InstanceTenancy": "default",
        "Ipv6CidrBlockAssociationSet": [],
        "CidrBlockAssociationSet": [
            {
                "AssociationId": "vpc-cidr-assoc-0f1e2d3c4b5a69788",
                "CidrBlock": block,
                "CidrBlockState": {"State": "associated"},
            }
        ],
        "IsDefault": False,
        "Tags": tags(Name="train"),
        "BlockPublicAccessStates": {"InternetGatewayBlockMode": "off"},
        "VpcId": VPC,
        "State": "available",
        "CidrBlock": block,
        "DhcpOptionsId": "dopt-0123456789abcdef0",
    }


def route_table() -> Json:
    table_id = identifier("rtb", 0)
    return {
        "Associations": [
            {
                "Main": True,
                "RouteTableAssociationId": identifier("rtbassoc", 0),
                "RouteTableId": table_id,
                "AssociationState": {"State": "associated"},
            }
        ],
        "PropagatingVgws": [],
        "RouteTableId": table_id,
        "Routes": [
            {
                "DestinationCidrBlock": str(NETWORK),
                "GatewayId": "local",
                "Origin": "CreateRouteTable",
                "State": "active",
            },
            {
                "DestinationCidrBlock": ANYWHERE,
                "NatGatewayId": identifier("nat", 0),
                "Origin": "CreateRoute",
                "State": "active",
            },
        ],
        "Tags": tags(Name="train-private"),
        "VpcId": VPC,
        "OwnerId": OWNER,
    }


def document(members: Sequence[Node], groups: Sequence[Group], subnets: int, acls: Sequence[list[Json]]) -> Json:
    """Write a whole snapshot."""
    return {
        "AccountId": OWNER,
        "Region": REGION,
        "CollectedAt": "2026-12-01T09:00:00+00:00",
        "Reservations": reservations(members),
        "SecurityGroups": [security_group(number, group) for number, group in enumerate(groups)],
        "NetworkAcls": [network_acl(number, len(acls), subnets, entries) for number, entries in enumerate(acls)],
        "Subnets": [subnet(number) for number in range(subnets)],
        "Vpcs": [vpc()],
        "RouteTables": [route_table()],
        "VpcPeeringConnections": [],
        "ManagedPrefixLists": [],
        "PrefixListEntries": {},
        "Denied": {},
    }


def cluster(members: int = 10_000, groups: int = 50, subnets: int = 20, acls: int = 10) -> Json:
    """
    Build the cluster of every day: mostly open, with the faults that real ones have.

    Every member has the cluster's own group (all traffic among itself) and one for its role, so the classes
    are as many whatever the size. Two roles lack the cluster's group, and one ACL forgets the way back.
    """
    roles = groups - 1

    def groups_of(place: int) -> tuple[int, ...]:
        role = 1 + place % roles
        return (role,) if role in (roles, roles - 1) else (0, role)

    def role(number: int) -> Group:
        return Group(
            ingress=[
                permission("tcp", 22, 22, cidrs=["10.0.0.0/22", "172.16.4.0/24"]),
                permission("tcp", 9100, 9100 + number, cidrs=[str(subnet_block(number % subnets))]),
                permission("tcp", 29500, 29500, groups=[number]),
                permission("icmp", 8, -1, cidrs=[str(NETWORK)]),
            ]
        )

    own = Group(ingress=[permission("-1", groups=[0]), permission("tcp", 22, 22, cidrs=["192.0.2.0/24"])])
    entries = [open_entries() if number % 3 else careful_entries() for number in range(acls - 1)]
    return document(
        nodes(members, subnets, groups_of),
        [own, *(role(number) for number in range(1, groups))],
        subnets,
        [*entries, forgetful_entries()],
    )


def all_different(members: int = 1_000, carried: int = 16, seed: int = 20261201) -> Json:
    """
    Build a cluster in which no two members are alike: each has its own address in a /32 permission.

    The permissions fill the groups that an interface may carry (16 groups of about 62 rows); one member in
    ten is let in on fewer ports than the others, each on a range of its own.
    """
    chooser = random.Random(seed)
    subnets = 4
    everyone = nodes(members, subnets, lambda _: tuple(range(carried)))
    rows: list[list[Json]] = [[] for _ in range(carried)]
    for node in everyone:
        narrow = chooser.random() < 0.1
        low, high = (chooser.randrange(1, 30000), chooser.randrange(40000, 65535)) if narrow else (0, 65535)
        rows[node.number % carried].append(permission("tcp", low, high, cidrs=[f"{node.address}/32"]))
    return document(
        everyone,
        [Group(ingress=part, egress=part) for part in rows],
        subnets,
        [open_entries() for _ in range(2)],
    )


def many_classes(members: int = 10_000, groups: int = 50, cidrs: int = 250, seed: int = 20261201) -> Json:
    """
    Build a cluster that CIDR permissions cut into thousands of classes.

    200 sets of groups, 250 random blocks of the VPC in ingress and again in egress, on random port ranges.
    """
    chooser = random.Random(seed)
    subnets = 20
    sets = [tuple(sorted(chooser.sample(range(groups), chooser.randint(1, 5)))) for _ in range(200)]

    def block() -> str:
        prefix = chooser.randint(18, 29)
        address = int(subnet_block(0).network_address) + chooser.randrange(subnets << (32 - SUBNET_PREFIX))
        return str(ipaddress.IPv4Network((address, prefix), strict=False))

    def row() -> Json:
        if chooser.random() < 0.5:
            return permission("tcp", cidrs=[block()])
        low = chooser.randrange(0, 50000)
        return permission("tcp", low, chooser.randrange(low, 65536), cidrs=[block()])

    rows = [row() for _ in range(cidrs)]
    ingress = [
        [*rows[number::groups], permission("tcp", groups=chooser.sample(range(groups), 3))] for number in range(groups)
    ]
    chooser.shuffle(rows)
    egress = [[*rows[number::groups], permission("tcp", cidrs=["10.0.0.0/17"])] for number in range(groups)]
    chosen = [chooser.choice(sets) for _ in range(-(-members // subnets))]
    return document(
        nodes(members, subnets, lambda place: chosen[place]),
        [Group(ingress=into, egress=out) for into, out in zip(ingress, egress, strict=True)],
        subnets,
        [open_entries() for _ in range(10)],
    )


KINDS: dict[str, Callable[[], Json]] = {
    "large": cluster,
    "quarter": partial(cluster, members=2_500),
    "all-different": all_different,
    "many-classes": many_classes,
    "pairs-100": partial(cluster, members=100),
    "pairs-300": partial(cluster, members=300),
    "pairs-1000": partial(cluster, members=1_000),
}
"""The snapshots that are measured, by name."""


def main() -> None:
    """Write one of the snapshots to standard output."""
    if len(sys.argv) != 2 or sys.argv[1] not in KINDS:
        sys.exit(f"usage: python -m benchmarks.generate {'|'.join(KINDS)}")
    sys.stdout.write(json.dumps(KINDS[sys.argv[1]]()))


if __name__ == "__main__":
    main()
