"""A document with everything in it that sgaudit reads, and short ways to make and to refuse one."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.errors import SnapshotError
from sgaudit.model import Interface
from sgaudit.snapshot import parse

Raw = dict[str, Any]

OWNER = "111122223333"


def error_of(document: Any) -> str:
    """Give the whole message with which a document is refused."""
    with pytest.raises(SnapshotError) as caught:
        parse(document, source="net.json")
    assert caught.value.hint
    assert caught.value.exit_code == 2
    return caught.value.message


def instance(*interfaces: Raw, **more: Any) -> Raw:
    """Give a document with the instance `i-1` and these interfaces within it."""
    item = {
        "InstanceId": "i-1",
        "State": {"Code": 16, "Name": "running"},
        "VpcId": "vpc-1",
        "SubnetId": "subnet-1",
        "Placement": {"AvailabilityZone": "eu-west-1b"},
        "NetworkInterfaces": list(interfaces),
        **more,
    }
    return {"Reservations": [{"OwnerId": OWNER, "Instances": [item]}]}


def eni(**more: Any) -> Raw:
    """Give the interface `eni-1`; a field of None is left out."""
    item = {"NetworkInterfaceId": "eni-1", "VpcId": "vpc-1", "SubnetId": "subnet-1", **more}
    return {key: value for key, value in item.items() if value is not None}


def only_interface(document: Raw) -> Interface:
    """Give the one interface of a document."""
    (found,) = parse(document).interfaces.values()
    return found


def group(*rows: Raw, egress: tuple[Raw, ...] = (), **more: Any) -> Raw:
    """Give a document with the group `sg-1` and these rows."""
    item = {
        "GroupId": "sg-1",
        "GroupName": "nodes",
        "VpcId": "vpc-1",
        "IpPermissions": list(rows),
        "IpPermissionsEgress": list(egress),
        **more,
    }
    return {"SecurityGroups": [item]}


def everything() -> Raw:
    """Give a document that has every key, and every kind of thing under it."""
    embedded = {
        "NetworkInterfaceId": "eni-1",
        "Attachment": {"DeviceIndex": 0, "NetworkCardIndex": 0, "Status": "attached"},
        "Association": {"PublicIp": "203.0.113.7"},
        "Groups": [{"GroupId": "sg-1", "GroupName": "nodes"}],
        "InterfaceType": "efa",
        "PrivateIpAddress": "10.0.0.11",
        "PrivateIpAddresses": [
            {"PrivateIpAddress": "10.0.0.12", "Primary": False},
            {"PrivateIpAddress": "10.0.0.11", "Primary": True},
        ],
        "Ipv6Addresses": [
            {"Ipv6Address": "2001:db8:1::12"},
            {"Ipv6Address": "2001:DB8:1:0::11", "IsPrimaryIpv6": True},
        ],
        "Ipv4Prefixes": [{"Ipv4Prefix": "10.0.0.32/28"}],
        "Ipv6Prefixes": [{"Ipv6Prefix": "2001:db8:1:0:1::/80"}],
        "ConnectionTrackingConfiguration": {"TcpEstablishedTimeout": 432000},
        "SourceDestCheck": True,
        "Status": "in-use",
        "SubnetId": "subnet-1",
        "VpcId": "vpc-1",
    }
    return {
        "AccountId": OWNER,
        "Region": "us-east-1",
        "CollectedAt": "2026-01-02T03:04:05+00:00",
        "Reservations": [
            {
                "OwnerId": OWNER,
                "Instances": [
                    {
                        "InstanceId": "i-1",
                        "InstanceType": "p5.48xlarge",
                        "State": {"Code": 16, "Name": "running"},
                        "Placement": {"AvailabilityZone": "us-east-1a"},
                        "VpcId": "vpc-1",
                        "SubnetId": "subnet-1",
                        "SecurityGroups": [{"GroupId": "sg-1", "GroupName": "nodes"}],
                        "NetworkInterfaces": [embedded],
                        "Tags": [{"Key": "cluster", "Value": "train"}, {"Key": "Name", "Value": "node-1"}],
                    },
                    {"InstanceId": "i-2", "State": {"Code": 48, "Name": "terminated"}},
                ],
            }
        ],
        "NetworkInterfaces": [
            {
                **embedded,
                "Attachment": {"DeviceIndex": 0, "InstanceId": "i-1"},
                "AvailabilityZone": "us-east-1a",
                "Description": "node 1",
                "OwnerId": OWNER,
                "RequesterManaged": False,
                "Operator": {"Managed": False},
                "TagSet": [{"Key": "role", "Value": "data"}],
            }
        ],
        "SecurityGroups": [
            {
                "GroupId": "sg-1",
                "GroupName": "nodes",
                "Description": "the nodes",
                "OwnerId": OWNER,
                "VpcId": "vpc-1",
                "Tags": [{"Key": "team", "Value": "ml"}],
                "IpPermissions": [
                    {
                        "IpProtocol": "tcp",
                        "FromPort": 22,
                        "ToPort": 22,
                        "IpRanges": [{"CidrIp": "10.0.0.9/16", "Description": "inside"}],
                        "Ipv6Ranges": [{"CidrIpv6": "2001:db8:1::/56"}],
                        "PrefixListIds": [{"PrefixListId": "pl-1", "Description": "offices"}],
                        "UserIdGroupPairs": [
                            {"GroupId": "sg-1", "UserId": OWNER},
                            {
                                "GroupId": "sg-9",
                                "UserId": "444455556666",
                                "VpcId": "vpc-2",
                                "VpcPeeringConnectionId": "pcx-1",
                                "PeeringStatus": "active",
                            },
                        ],
                    },
                    {"IpProtocol": "icmp", "FromPort": 3, "ToPort": 4, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]},
                ],
                "IpPermissionsEgress": [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}],
            }
        ],
        "SecurityGroupRules": [
            {
                "SecurityGroupRuleId": "sgr-1",
                "GroupId": "sg-1",
                "IsEgress": False,
                "IpProtocol": "tcp",
                "FromPort": 22,
                "ToPort": 22,
                "CidrIpv4": "10.0.0.0/16",
                "Description": "inside",
            },
            {
                "SecurityGroupRuleId": "sgr-2",
                "GroupId": "sg-1",
                "IsEgress": False,
                "IpProtocol": "tcp",
                "FromPort": 22,
                "ToPort": 22,
                "ReferencedGroupInfo": {"GroupId": "sg-9", "UserId": "444455556666"},
            },
            {
                "SecurityGroupRuleId": "sgr-3",
                "GroupId": "sg-1",
                "IsEgress": True,
                "IpProtocol": "-1",
                "FromPort": -1,
                "ToPort": -1,
                "CidrIpv4": "0.0.0.0/0",
            },
        ],
        "NetworkAcls": [
            {
                "NetworkAclId": "acl-1",
                "VpcId": "vpc-1",
                "IsDefault": True,
                "Associations": [{"NetworkAclAssociationId": "aclassoc-1", "SubnetId": "subnet-1"}],
                "Entries": [
                    {
                        "RuleNumber": 100,
                        "Egress": False,
                        "RuleAction": "allow",
                        "Protocol": "6",
                        "PortRange": {"From": 22, "To": 22},
                        "CidrBlock": "10.0.0.0/16",
                    },
                    {
                        "RuleNumber": 90,
                        "Egress": True,
                        "RuleAction": "allow",
                        "Protocol": "58",
                        "IcmpTypeCode": {"Type": -1, "Code": -1},
                        "Ipv6CidrBlock": "::/0",
                    },
                    {
                        "RuleNumber": 32767,
                        "Egress": False,
                        "RuleAction": "deny",
                        "Protocol": "-1",
                        "CidrBlock": "0.0.0.0/0",
                    },
                ],
            }
        ],
        "Subnets": [
            {
                "SubnetId": "subnet-1",
                "VpcId": "vpc-1",
                "AvailabilityZone": "us-east-1a",
                "CidrBlock": "10.0.0.0/24",
                "Ipv6CidrBlockAssociationSet": [
                    {"Ipv6CidrBlock": "2001:db8:1::/64", "Ipv6CidrBlockState": {"State": "associated"}}
                ],
            }
        ],
        "Vpcs": [
            {
                "VpcId": "vpc-1",
                "OwnerId": OWNER,
                "CidrBlock": "10.0.0.0/16",
                "CidrBlockAssociationSet": [
                    {"CidrBlock": "10.0.0.0/16", "CidrBlockState": {"State": "associated"}},
                    {"CidrBlock": "100.64.0.0/16", "CidrBlockState": {"State": "associated"}},
                ],
                "Ipv6CidrBlockAssociationSet": [
                    {"Ipv6CidrBlock": "2001:db8:1::/56", "Ipv6CidrBlockState": {"State": "associated"}}
                ],
            }
        ],
        "RouteTables": [
            {
                "RouteTableId": "rtb-1",
                "VpcId": "vpc-1",
                "Associations": [{"Main": True, "AssociationState": {"State": "associated"}}, {"SubnetId": "subnet-1"}],
                "Routes": [
                    {"DestinationCidrBlock": "10.0.0.0/16", "GatewayId": "local", "State": "active"},
                    {"DestinationPrefixListId": "pl-1", "VpcPeeringConnectionId": "pcx-1", "State": "blackhole"},
                ],
            }
        ],
        "VpcPeeringConnections": [
            {
                "VpcPeeringConnectionId": "pcx-1",
                "Status": {"Code": "active"},
                "RequesterVpcInfo": {
                    "VpcId": "vpc-1",
                    "OwnerId": OWNER,
                    "Region": "us-east-1",
                    "CidrBlock": "10.0.0.0/16",
                    "CidrBlockSet": [{"CidrBlock": "10.0.0.0/16"}],
                    "Ipv6CidrBlockSet": [{"Ipv6CidrBlock": "2001:db8:1::/56"}],
                },
                "AccepterVpcInfo": {"VpcId": "vpc-2", "OwnerId": "444455556666", "Region": "us-east-1"},
            }
        ],
        "ManagedPrefixLists": [{"PrefixListId": "pl-1", "MaxEntries": 20, "PrefixListName": "offices"}],
        "PrefixListEntries": {"pl-1": [{"Cidr": "198.51.100.0/24"}, {"Cidr": "2001:db8:9::/48"}]},
        "Denied": {"DescribeTransitGateways": "UnauthorizedOperation"},
        "PlacementGroups": [{"GroupName": "kept as it is"}],
    }


def acl_answer(acl_id: str, subnet_id: str) -> Raw:
    """Give a document with an ACL that guards a subnet."""
    return {
        "NetworkAcls": [
            {"NetworkAclId": acl_id, "VpcId": "vpc-1", "Entries": [], "Associations": [{"SubnetId": subnet_id}]}
        ]
    }
