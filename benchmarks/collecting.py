"""What collecting costs in calls: a real client of EC2 whose requests are answered before they are sent."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from sgaudit.aws.collect import collect
from sgaudit.aws.session import AwsOptions, connect
from sgaudit.selection import Selection

KEYS = {
    "DescribeInstances": "Reservations",
    "DescribeManagedPrefixLists": "PrefixLists",
    "DescribeNetworkAcls": "NetworkAcls",
    "DescribeRouteTables": "RouteTables",
    "DescribeSecurityGroups": "SecurityGroups",
    "DescribeSubnets": "Subnets",
    "DescribeVpcPeeringConnections": "VpcPeeringConnections",
    "DescribeVpcs": "Vpcs",
}
"""The operations that are answered, and the key of each answer; a call of another one fails."""

Answer = dict[str, Any]


class Account:
    """Answers from one document, page by page, and counts the calls."""

    def __init__(self, document: Answer) -> None:
        self.document = document
        self.calls: Counter[str] = Counter()

    def __call__(self, model: Any, params: Answer, **_: Any) -> tuple[SimpleNamespace, Answer]:
        self.calls[model.name] += 1
        key = KEYS[model.name]
        body = params["body"]
        start = int(body.get("NextToken", 0))
        page = taken(self.document.get(key, [])[start:], int(body["MaxResults"]))
        more = start + len(page) < len(self.document.get(key, []))
        token = {"NextToken": str(start + len(page))} if more else {}
        return SimpleNamespace(status_code=200), {key: page, **token}


def taken(items: Sequence[Answer], room: int) -> list[Answer]:
    """Fill a page; a reservation takes as much room as it has instances."""
    page = []
    for item in items:
        room -= len(item.get("Instances", [item]))
        if room < 0:
            break
        page.append(item)
    return page


@contextmanager
def credentials() -> Iterator[None]:
    """Give the client something to sign with; nothing that is signed leaves the process."""
    before = dict(os.environ)
    os.environ.update(AWS_ACCESS_KEY_ID="testing", AWS_SECRET_ACCESS_KEY="testing")  # noqa: S106  # not a secret
    os.environ.pop("AWS_PROFILE", None)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def calls(document: Answer, selection: Selection) -> Counter[str]:
    """Collect an account as `sgaudit scan` does, and count the calls of each operation."""
    with credentials():
        connection = connect(AwsOptions(region=document["Region"]))
    account = Account(document)
    connection.ec2.meta.events.register("before-call.ec2", account)
    collected = collect(connection, selection)
    found = sum(len(item["Instances"]) for item in collected["Reservations"])
    wanted = sum(len(item["Instances"]) for item in document["Reservations"])
    if found != wanted or collected["Denied"]:
        raise RuntimeError(f"collected {found} of {wanted} instances; denied: {collected['Denied']}")
    return account.calls
