"""Large answers come in pages: all of them are read, each once, with few calls."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest
from botocore.client import BaseClient

from sgaudit.aws.collect import collect
from sgaudit.aws.operations import OPERATIONS
from sgaudit.aws.session import AwsOptions, connect
from sgaudit.selection import Selection, TagFilter
from tests.moto.canned import GROUPS, Account, patched
from tests.moto.conftest import REGION

if TYPE_CHECKING:
    from sgaudit.aws.session import Connection

pytestmark = pytest.mark.moto

TRAIN = Selection(tags=(TagFilter("cluster", ("train",)),))
BY_GROUP = Selection(security_groups=tuple(f"sg-{n}" for n in range(GROUPS)))
MOST_CALLS = 40

REST = {
    "DescribeManagedPrefixLists": 1,
    "DescribeNetworkAcls": 1,
    "DescribeRouteTables": 1,
    "DescribeSecurityGroups": 2,
    "DescribeSubnets": 1,
    "DescribeVpcPeeringConnections": 2,
    "DescribeVpcs": 1,
    "GetManagedPrefixListEntries": 2,
}


@pytest.fixture(scope="module")
def client() -> Connection:
    return connect(AwsOptions(region=REGION))


def instance_ids(document: dict[str, Any]) -> list[str]:
    return [one["InstanceId"] for item in document["Reservations"] for one in item["Instances"]]


@pytest.mark.parametrize(
    ("members", "selection", "whole_vpc", "calls"),
    [
        (1_200, TRAIN, False, REST | {"DescribeInstances": 2}),
        (1_200, TRAIN, True, REST | {"DescribeInstances": 2, "DescribeNetworkInterfaces": 2}),
        (1_200, BY_GROUP, False, REST | {"DescribeInstances": 7, "DescribeNetworkInterfaces": 2}),
        (10_000, TRAIN, False, REST | {"DescribeInstances": 10}),
        (10_000, TRAIN, True, REST | {"DescribeInstances": 10, "DescribeNetworkInterfaces": 10}),
        (10_000, BY_GROUP, False, REST | {"DescribeInstances": 10, "DescribeNetworkInterfaces": 10}),
    ],
)
def test_calls(
    monkeypatch: pytest.MonkeyPatch,
    client: Connection,
    members: int,
    selection: Selection,
    whole_vpc: bool,
    calls: dict[str, int],
) -> None:
    """Every member comes exactly once, in full pages: at most 40 calls for 10,000 of them."""
    account = patched(monkeypatch, Account(members))

    document = collect(client, selection, whole_vpc=whole_vpc)

    assert sorted(instance_ids(document)) == sorted(f"i-{n}" for n in range(members))
    if whole_vpc or selection is BY_GROUP:
        assert len({item["NetworkInterfaceId"] for item in document["NetworkInterfaces"]}) == members
    assert len(document["PrefixListEntries"]["pl-1"]) == 150
    assert document["Denied"] == {}
    assert account.calls == calls
    assert account.calls.total() <= MOST_CALLS


def test_many_ids(monkeypatch: pytest.MonkeyPatch, client: Connection) -> None:
    """Ids go 200 filter values a call, the other filters counted; no id is left out or asked twice."""
    account = patched(monkeypatch, Account(1_000))
    wanted = tuple(f"i-{n}" for n in range(0, 1_000, 2))

    document = collect(client, Selection(instance_ids=wanted))

    asked = [
        value
        for operation, request in account.requests
        if operation == "DescribeInstances"
        for item in request["Filters"]
        if item["Name"] == "instance-id"
        for value in item["Values"]
    ]
    assert sorted(instance_ids(document)) == sorted(asked) == sorted(wanted)
    assert account.calls["DescribeInstances"] == 3


def test_peers_of_other_accounts(monkeypatch: pytest.MonkeyPatch, client: Connection) -> None:
    """A group that only another account can describe isn't asked for."""
    account = patched(monkeypatch, Account(GROUPS))

    collect(client, TRAIN)

    asked = [request["Filters"] for operation, request in account.requests if operation == "DescribeSecurityGroups"]
    assert asked[1] == [{"Name": "group-id", "Values": ["sg-peer"]}]


def test_a_page_fails(monkeypatch: pytest.MonkeyPatch, client: Connection) -> None:
    """What came before a page that failed is kept where a part misleads nobody, and the failure is listed."""
    account = Account(1_200)

    class Failing(Account):
        def answer(self, client: BaseClient, operation: str, request: dict[str, Any]) -> dict[str, Any]:
            if operation in {"DescribeInstances", "DescribeNetworkAcls"} and "NextToken" in request:
                raise client.exceptions.ClientError({"Error": {"Code": "RequestLimitExceeded"}}, operation)
            return account.answer(client, operation, request)

    account.items["DescribeNetworkAcls"] = [{"NetworkAclId": f"acl-{n}", "VpcId": "vpc-1"} for n in range(1_500)]
    patched(monkeypatch, Failing(0))

    document = collect(client, TRAIN)

    assert len(instance_ids(document)) == 1_000
    assert "NetworkAcls" not in document
    assert document["Denied"] == {
        "DescribeInstances": "RequestLimitExceeded",
        "DescribeNetworkAcls": "RequestLimitExceeded",
    }


def test_endpoint_routes(monkeypatch: pytest.MonkeyPatch, client: Connection) -> None:
    """Behind an endpoint only a customer's prefix list is read: the others hold addresses of AWS services."""
    account = patched(monkeypatch, Account(5))
    account.items["DescribeRouteTables"][0]["Routes"] = [
        {"DestinationPrefixListId": "pl-s3", "GatewayId": "vpce-1"},
        {"DestinationPrefixListId": "pl-inspected", "GatewayId": "vpce-2"},
        {"DestinationPrefixListId": "pl-peer", "VpcPeeringConnectionId": "pcx-1"},
    ]
    account.items["DescribeManagedPrefixLists"] += [
        {"PrefixListId": "pl-s3", "OwnerId": "AWS"},
        {"PrefixListId": "pl-inspected", "OwnerId": "123456789012"},
        {"PrefixListId": "pl-peer", "OwnerId": "123456789012"},
    ]

    document = collect(client, TRAIN)

    assert sorted(document["PrefixListEntries"]) == ["pl-1", "pl-inspected", "pl-peer"]


@pytest.mark.usefixtures("topology")
def test_pages_of_the_embedded_aws(monkeypatch: pytest.MonkeyPatch, connection: Connection) -> None:
    """An account that is read in pages of one item is the same account."""
    whole = collect(connection, TRAIN, whole_vpc=True, rule_ids=True)
    original = BaseClient._make_api_call
    tokens: list[str] = []

    def sliced(client: BaseClient, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        size, token = request.pop("MaxResults"), request.pop("NextToken", "0")
        tokens.append(token)
        answer: dict[str, Any] = original(client, operation, request)
        key = next(key for key, value in answer.items() if isinstance(value, list))
        start = int(token)
        if start + size < len(answer[key]):
            answer["NextToken"] = str(start + size)
        answer[key] = answer[key][start : start + size]
        return answer

    monkeypatch.setattr(BaseClient, "_make_api_call", sliced)
    small = {name: replace(item, page_size=1) for name, item in OPERATIONS.items()}
    monkeypatch.setattr("sgaudit.aws.reader.OPERATIONS", MappingProxyType(small))

    paged = collect(connection, TRAIN, whole_vpc=True, rule_ids=True)

    assert {**paged, "CollectedAt": ""} == {**whole, "CollectedAt": ""}
    assert len([token for token in tokens if token != "0"]) > 10
