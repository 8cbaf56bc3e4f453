"""A network in the embedded AWS, and the means to disturb how it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto import mock_aws

from sgaudit.aws.session import AwsOptions, connect
from tests.moto.faults import Faults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.aws.session import Connection

REGION = "us-east-1"
IMAGE = "ami-12c6146b"


@dataclass(frozen=True, slots=True)
class Topology:
    """
    Two peered VPCs with a cluster over both.

    VPC `near`: subnets `left` and `right`, the latter with a custom network ACL; `train-0` to `train-2`
    run, `train-3` is stopped, `web` belongs to another cluster and `bare` has no tag.
    VPC `far`: subnet `far`; `train-4`.
    """

    ids: dict[str, str]
    """Name to id, of everything."""

    def __getitem__(self, name: str) -> str:
        return self.ids[name]

    def names(self, ids: list[str]) -> set[str]:
        """Give names for ids; an id without one stays."""
        names = {value: name for name, value in self.ids.items()}
        return {names.get(item, item) for item in ids}


def _run(ec2: Any, subnet: str, groups: list[str], tags: dict[str, str]) -> str:
    tagged = [{"Key": key, "Value": value} for key, value in tags.items()]
    answer = ec2.run_instances(
        ImageId=IMAGE,
        MinCount=1,
        MaxCount=1,
        # Groups that are given beside the interface stay on it for ever in moto.
        NetworkInterfaces=[{"DeviceIndex": 0, "SubnetId": subnet, "Groups": groups}],
        TagSpecifications=[{"ResourceType": "instance", "Tags": tagged}] if tags else [],
    )
    return str(answer["Instances"][0]["InstanceId"])


def _vpcs(ec2: Any) -> dict[str, str]:
    near = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    far = ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    ids = {"near": near, "far-vpc": far}
    for name, vpc, block in (
        ("left", near, "10.0.1.0/24"),
        ("right", near, "10.0.2.0/24"),
        ("unused", near, "10.0.3.0/24"),
        ("far", far, "10.9.1.0/24"),
    ):
        ids[name] = ec2.create_subnet(VpcId=vpc, CidrBlock=block)["Subnet"]["SubnetId"]
    peering = ec2.create_vpc_peering_connection(VpcId=near, PeerVpcId=far)["VpcPeeringConnection"]
    ids["peering"] = peering["VpcPeeringConnectionId"]
    ec2.accept_vpc_peering_connection(VpcPeeringConnectionId=ids["peering"])
    acl = ec2.create_network_acl(VpcId=near)["NetworkAcl"]["NetworkAclId"]
    associated = ec2.describe_network_acls(Filters=[{"Name": "association.subnet-id", "Values": [ids["right"]]}])
    association = next(
        item["NetworkAclAssociationId"]
        for item in associated["NetworkAcls"][0]["Associations"]
        if item["SubnetId"] == ids["right"]
    )
    ec2.replace_network_acl_association(AssociationId=association, NetworkAclId=acl)
    return ids | {"acl": acl}


def _groups(ec2: Any, ids: dict[str, str]) -> dict[str, str]:
    def group(name: str, vpc: str) -> str:
        return str(ec2.create_security_group(GroupName=name, Description=name, VpcId=ids[vpc])["GroupId"])

    def prefix_list(name: str, block: str) -> str:
        answer = ec2.create_managed_prefix_list(
            PrefixListName=name, MaxEntries=5, AddressFamily="IPv4", Entries=[{"Cidr": block}]
        )
        return str(answer["PrefixList"]["PrefixListId"])

    groups = {name: group(name, "near") for name in ("train-sg", "head-sg", "web-sg", "named-sg", "stale-sg")}
    groups["far-sg"] = group("far-sg", "far-vpc")
    lists = {"office": prefix_list("office", "192.0.2.0/24"), "routed": prefix_list("routed", "198.51.100.0/24")}
    pairs = [{"GroupId": groups[name]} for name in ("train-sg", "named-sg", "stale-sg", "far-sg")]
    ec2.authorize_security_group_ingress(
        GroupId=groups["train-sg"],
        IpPermissions=[
            {"IpProtocol": "tcp", "FromPort": 1, "ToPort": 65535, "UserIdGroupPairs": pairs},
            {
                "IpProtocol": "tcp",
                "FromPort": 22,
                "ToPort": 22,
                "PrefixListIds": [{"PrefixListId": lists["office"]}],
            },
        ],
    )
    ec2.delete_security_group(GroupId=groups["stale-sg"])
    table = ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [ids["near"]]}])["RouteTables"][0]
    ec2.create_route(
        RouteTableId=table["RouteTableId"],
        DestinationPrefixListId=lists["routed"],
        VpcPeeringConnectionId=ids["peering"],
    )
    return groups | lists | {"near-table": table["RouteTableId"]}


def build(ec2: Any) -> Topology:
    """Build it."""
    ids = _vpcs(ec2)
    ids |= _groups(ec2, ids)
    for name, subnet, groups, cluster in (
        ("train-0", "left", ["train-sg", "head-sg"], "train"),
        ("train-1", "left", ["train-sg"], "train"),
        ("train-2", "right", ["train-sg"], "train"),
        ("train-3", "right", ["train-sg"], "train"),
        ("train-4", "far", ["far-sg"], "train"),
        ("web", "left", ["web-sg"], "web"),
        ("bare", "left", ["web-sg"], ""),
    ):
        tags = {"Name": name, "cluster": cluster, f"only-{name}": ""} if cluster else {}
        ids[name] = _run(ec2, ids[subnet], [ids[group] for group in groups], tags)
    ec2.stop_instances(InstanceIds=[ids["train-3"]])
    second = ec2.create_network_interface(SubnetId=ids["right"], Groups=[ids["head-sg"]])["NetworkInterface"]
    ids["second"] = second["NetworkInterfaceId"]
    ec2.attach_network_interface(NetworkInterfaceId=ids["second"], InstanceId=ids["train-1"], DeviceIndex=1)
    return Topology(ids)


@pytest.fixture(scope="module")
def topology() -> Iterator[Topology]:
    with mock_aws():
        yield build(boto3.client("ec2", region_name=REGION))


@pytest.fixture(scope="module")
def connection(topology: Topology) -> Connection:
    """A connection to the topology's account."""
    return connect(AwsOptions(region=REGION))


@pytest.fixture
def faults(connection: Connection) -> Iterator[Faults]:
    """What a test does to the connection; undone after it."""
    faults = Faults(connection.ec2)
    yield faults
    faults.close()
