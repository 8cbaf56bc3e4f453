"""An account of any size that answers in pages, which the embedded AWS does for instances alone."""

from __future__ import annotations

from collections import Counter
from threading import Lock
from typing import TYPE_CHECKING, Any

from botocore.client import BaseClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

OWNER = "123456789012"
VPC = "vpc-1"
SUBNETS = 20
GROUPS = 50
ACLS = 10

KEYS = {
    "DescribeInstances": "Reservations",
    "DescribeManagedPrefixLists": "PrefixLists",
    "DescribeNetworkAcls": "NetworkAcls",
    "DescribeNetworkInterfaces": "NetworkInterfaces",
    "DescribeRouteTables": "RouteTables",
    "DescribeSecurityGroupRules": "SecurityGroupRules",
    "DescribeSecurityGroups": "SecurityGroups",
    "DescribeSubnets": "Subnets",
    "DescribeVpcPeeringConnections": "VpcPeeringConnections",
    "DescribeVpcs": "Vpcs",
    "GetManagedPrefixListEntries": "Entries",
}
HIGHEST_PAGE = {"DescribeManagedPrefixLists": 100, "DescribeRouteTables": 100, "GetManagedPrefixListEntries": 100}
MOST_FILTER_VALUES = 200


def _interface(number: int) -> dict[str, Any]:
    return {
        "NetworkInterfaceId": f"eni-{number}",
        "VpcId": VPC,
        "SubnetId": f"subnet-{number % SUBNETS}",
        "PrivateIpAddress": f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}",
        "Groups": [{"GroupId": f"sg-{number % GROUPS}"}],
        "Attachment": {"DeviceIndex": 0, "NetworkCardIndex": 0},
    }


def _reservation(number: int) -> dict[str, Any]:
    instance = {
        "InstanceId": f"i-{number}",
        "State": {"Name": "running"},
        "VpcId": VPC,
        "Tags": [{"Key": "cluster", "Value": "train"}],
        "NetworkInterfaces": [_interface(number)],
    }
    return {"OwnerId": OWNER, "Instances": [instance]}


def _described(number: int) -> dict[str, Any]:
    interface = _interface(number)
    return {**interface, "Attachment": {**interface["Attachment"], "InstanceId": f"i-{number}"}}


class Account:
    """So many members in one VPC; counts the calls, and refuses what EC2 would."""

    def __init__(self, members: int) -> None:
        self.calls: Counter[str] = Counter()
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self._lock = Lock()
        lists = [{"PrefixListId": "pl-1"}]
        groups = [
            {"GroupId": f"sg-{n}", "OwnerId": OWNER, "IpPermissions": [{"PrefixListIds": lists}]} for n in range(GROUPS)
        ]
        groups[0]["IpPermissions"] = [
            {"UserIdGroupPairs": [{"GroupId": "sg-peer", "UserId": OWNER}, {"GroupId": "sg-x", "UserId": "0"}]}
        ]
        self.items: dict[str, list[dict[str, Any]]] = {
            "DescribeInstances": [_reservation(n) for n in range(members)],
            "DescribeNetworkInterfaces": [_described(n) for n in range(members)],
            "DescribeSecurityGroups": [*groups, {"GroupId": "sg-peer", "OwnerId": OWNER}],
            "DescribeSecurityGroupRules": [{"GroupId": f"sg-{n % GROUPS}"} for n in range(GROUPS * 40)],
            "DescribeSubnets": [{"SubnetId": f"subnet-{n}", "VpcId": VPC} for n in range(SUBNETS)],
            "DescribeVpcs": [{"VpcId": VPC}],
            "DescribeNetworkAcls": [{"NetworkAclId": f"acl-{n}", "VpcId": VPC} for n in range(ACLS)],
            "DescribeRouteTables": [{"RouteTableId": f"rtb-{n}", "VpcId": VPC} for n in range(SUBNETS)],
            "DescribeVpcPeeringConnections": [],
            "DescribeManagedPrefixLists": [{"PrefixListId": "pl-1", "OwnerId": OWNER}],
            "GetManagedPrefixListEntries": [{"Cidr": f"10.0.0.{n}/32", "PrefixListId": "pl-1"} for n in range(150)],
        }

    def answer(self, client: BaseClient, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Stand in for `BaseClient._make_api_call`."""
        del client
        size = request["MaxResults"]
        assert 5 <= size <= HIGHEST_PAGE.get(operation, 1000)
        filters = [{**item, "Values": frozenset(item["Values"])} for item in request.get("Filters", [])]
        assert sum(len(item["Values"]) for item in filters) <= MOST_FILTER_VALUES
        start = int(request.get("NextToken", "0"))
        with self._lock:
            self.calls[operation] += 1
            self.requests.append((operation, request))
        matching = [item for item in self.items[operation] if all(_matches(item, one) for one in filters)]
        page: dict[str, Any] = {KEYS[operation]: matching[start : start + size]}
        if start + size < len(matching):
            page["NextToken"] = str(start + size)
        return page


def _matches(item: dict[str, Any], one: dict[str, Any]) -> bool:
    return any(value in one["Values"] for value in _values(item, one["Name"]))


def _values(item: dict[str, Any], name: str) -> Iterator[str]:
    inner = item["Instances"][0] if "Instances" in item else item
    if name.startswith("tag:"):
        yield from (tag["Value"] for tag in inner["Tags"] if tag["Key"] == name[4:])
    elif name == "instance-state-name":
        yield inner["State"]["Name"]
    elif name == "group-id" and "Groups" in item:
        yield from (group["GroupId"] for group in item["Groups"])
    else:
        field = "".join(part.capitalize() for part in name.split("-"))
        yield inner[field]


def patched(monkeypatch: pytest.MonkeyPatch, account: Account) -> Account:
    """Let every client talk to the account."""
    monkeypatch.setattr(BaseClient, "_make_api_call", _bound(account))
    return account


def _bound(account: Account) -> Callable[..., dict[str, Any]]:
    def call(client: BaseClient, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return account.answer(client, operation, request)

    return call
