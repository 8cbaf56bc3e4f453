"""Every AWS operation that sgaudit can call, and the IAM action that allows it."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the EC2 or STS API."""

    name: str
    """As the API reference spells it."""
    method: str
    """The method of the boto3 client."""
    why: str
    """What a verdict needs it for."""
    service: str = "ec2"
    result: str = ""
    """The key of the answer that holds the items."""
    noun: str = ""
    """What the items are, in words."""
    page_size: int = 1000
    """The highest `MaxResults` that the API takes."""

    @property
    def action(self) -> str:
        """The IAM action that allows it."""
        return f"{self.service}:{self.name}"


_TABLE = (
    Operation(
        "DescribeInstances",
        "describe_instances",
        "find the members, with their interfaces, addresses and groups",
        result="Reservations",
        noun="instances",
    ),
    Operation(
        "DescribeNetworkInterfaces",
        "describe_network_interfaces",
        "find members by security group; know who else a fix would open",
        result="NetworkInterfaces",
        noun="network interfaces",
    ),
    Operation(
        "DescribeSecurityGroups",
        "describe_security_groups",
        "the permissions that admit a packet",
        result="SecurityGroups",
        noun="security groups",
    ),
    Operation(
        "DescribeSecurityGroupRules",
        "describe_security_group_rules",
        "the ids of permissions, for explanations and fixes",
        result="SecurityGroupRules",
        noun="security group rules",
    ),
    Operation(
        "DescribeNetworkAcls",
        "describe_network_acls",
        "the entries that stop a packet between two subnets",
        result="NetworkAcls",
        noun="network ACLs",
    ),
    Operation(
        "DescribeSubnets",
        "describe_subnets",
        "the blocks and zones of the members' subnets",
        result="Subnets",
        noun="subnets",
    ),
    Operation(
        "DescribeVpcs",
        "describe_vpcs",
        "the blocks that a local route covers",
        result="Vpcs",
        noun="VPCs",
    ),
    Operation(
        "DescribeRouteTables",
        "describe_route_tables",
        "whether a route leads from one member to the other",
        result="RouteTables",
        noun="route tables",
        page_size=100,
    ),
    Operation(
        "DescribeVpcPeeringConnections",
        "describe_vpc_peering_connections",
        "whether two VPCs are joined",
        result="VpcPeeringConnections",
        noun="peering connections",
    ),
    Operation(
        "DescribeManagedPrefixLists",
        "describe_managed_prefix_lists",
        "the owner and the size of prefix lists that permissions and routes name",
        result="PrefixLists",
        noun="prefix lists",
        page_size=100,
    ),
    Operation(
        "GetManagedPrefixListEntries",
        "get_managed_prefix_list_entries",
        "the blocks of prefix lists that permissions and routes name",
        result="Entries",
        noun="prefix list entries",
        page_size=100,
    ),
    Operation(
        "GetCallerIdentity",
        "get_caller_identity",
        "name the account when no instance does",
        service="sts",
    ),
    Operation("AssumeRole", "assume_role", "read with the role that --role-arn names", service="sts"),
)

OPERATIONS: Mapping[str, Operation] = MappingProxyType({item.name: item for item in _TABLE})
"""Operation name to what sgaudit knows of it: nothing that is not here is ever called."""


def iam_action(operation: str) -> str:
    """Tell the IAM action behind an operation, such as one that a snapshot lists under `Denied`."""
    known = OPERATIONS.get(operation)
    return known.action if known else f"ec2:{operation}"
