"""The cluster of the demo: eight nodes in two subnets, with the three faults that are met most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

BLOCK = "10.20.0.0/16"
SUBNETS = (("ml-private-a", "10.20.1.0/24", "us-east-1a"), ("ml-private-b", "10.20.2.0/24", "us-east-1b"))
NODES = 8
LOST = 5
"""The number of the node that nobody put into the training group."""
IMAGE = "ami-04681a1dbd79675a5"
"""Amazon Linux 2, one of the few images that the embedded AWS knows."""
TCP = "6"
EVERYTHING = "-1"


@dataclass(frozen=True, slots=True)
class Cluster:
    """The ids of what was built."""

    vpc_id: str
    subnet_ids: tuple[str, ...]
    acl_id: str
    training_group_id: str
    default_group_id: str
    instance_ids: tuple[str, ...]
    """By the number in the node's name."""


def build(ec2: Any) -> Cluster:
    """Build it with an EC2 client, in the account and Region of that client."""
    vpc_id = ec2.create_vpc(CidrBlock=BLOCK, TagSpecifications=_named("vpc", "ml"))["Vpc"]["VpcId"]
    subnet_ids = tuple(
        ec2.create_subnet(
            VpcId=vpc_id, CidrBlock=block, AvailabilityZone=zone, TagSpecifications=_named("subnet", name)
        )["Subnet"]["SubnetId"]
        for name, block, zone in SUBNETS
    )
    training = _training_group(ec2, vpc_id)
    default = _default_group(ec2, vpc_id)
    return Cluster(
        vpc_id=vpc_id,
        subnet_ids=subnet_ids,
        acl_id=_forgetful_acl(ec2, vpc_id, subnet_ids[1]),
        training_group_id=training,
        default_group_id=default,
        instance_ids=tuple(
            _node(ec2, number, subnet_ids, default if number == LOST else training) for number in range(NODES)
        ),
    )


def _training_group(ec2: Any, vpc_id: str) -> str:
    """Open the one port that everybody tests, and none of those that Gloo dials."""
    group_id = ec2.create_security_group(
        GroupName="training",
        Description="Nodes of the training cluster",
        VpcId=vpc_id,
        TagSpecifications=_named("security-group", "training"),
    )["GroupId"]
    _admit(ec2, group_id, {"IpProtocol": "tcp", "FromPort": 29500, "ToPort": 29500})
    return str(group_id)


def _default_group(ec2: Any, vpc_id: str) -> str:
    """Find the VPC's default group, and make it admit itself as AWS's does (the embedded one's does not)."""
    groups = ec2.describe_security_groups(
        Filters=[{"Name": "vpc-id", "Values": [vpc_id]}, {"Name": "group-name", "Values": ["default"]}]
    )["SecurityGroups"]
    group = groups[0]
    if not group["IpPermissions"]:
        _admit(ec2, group["GroupId"], {"IpProtocol": EVERYTHING, "FromPort": -1, "ToPort": -1})
    return str(group["GroupId"])


def _admit(ec2: Any, group_id: str, ports: dict[str, Any]) -> None:
    ec2.authorize_security_group_ingress(
        GroupId=group_id, IpPermissions=[{**ports, "UserIdGroupPairs": [{"GroupId": group_id}]}]
    )


def _forgetful_acl(ec2: Any, vpc_id: str, subnet_id: str) -> str:
    """Guard a subnet with an ACL that lets the cluster's traffic in, and out only to fixed ports."""
    acl_id = ec2.create_network_acl(VpcId=vpc_id, TagSpecifications=_named("network-acl", "ml-private-b"))[
        "NetworkAcl"
    ]["NetworkAclId"]
    for number, egress, block, first, last in (
        (100, False, BLOCK, 0, 65535),
        (100, True, "0.0.0.0/0", 443, 443),
        (110, True, BLOCK, 0, 32767),
    ):
        ec2.create_network_acl_entry(
            NetworkAclId=acl_id,
            RuleNumber=number,
            Egress=egress,
            Protocol=TCP,
            RuleAction="allow",
            CidrBlock=block,
            PortRange={"From": first, "To": last},
        )
    associated = ec2.describe_network_acls(Filters=[{"Name": "association.subnet-id", "Values": [subnet_id]}])
    for association in associated["NetworkAcls"][0]["Associations"]:
        if association["SubnetId"] == subnet_id:
            ec2.replace_network_acl_association(
                AssociationId=association["NetworkAclAssociationId"], NetworkAclId=acl_id
            )
    return str(acl_id)


def _node(ec2: Any, number: int, subnet_ids: tuple[str, ...], group_id: str) -> str:
    """Launch one node, the first half of them in the first subnet; its groups go on its interface."""
    half = number * len(subnet_ids) // NODES
    launched = ec2.run_instances(
        ImageId=IMAGE,
        InstanceType="c7i.8xlarge",
        MinCount=1,
        MaxCount=1,
        NetworkInterfaces=[
            {
                "DeviceIndex": 0,
                "SubnetId": subnet_ids[half],
                "Groups": [group_id],
                "PrivateIpAddress": f"10.20.{half + 1}.{11 + number}",
            }
        ],
        TagSpecifications=_named("instance", f"train-{number}", cluster="train"),
    )
    return str(launched["Instances"][0]["InstanceId"])


def _named(resource: str, name: str, **tags: str) -> list[dict[str, Any]]:
    pairs = {"Name": name, **tags}
    return [{"ResourceType": resource, "Tags": [{"Key": key, "Value": value} for key, value in pairs.items()]}]
