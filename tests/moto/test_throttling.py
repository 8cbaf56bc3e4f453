"""Throttling and failing transport: what is waited out, what is given up, and what is told meanwhile."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError
from botocore.retries.bucket import TokenBucket

from sgaudit.aws.collect import collect
from sgaudit.errors import CollectError
from sgaudit.selection import Selection, TagFilter

if TYPE_CHECKING:
    from sgaudit.aws.session import Connection
    from tests.moto.faults import Faults

pytestmark = pytest.mark.moto

TRAIN = Selection(tags=(TagFilter("cluster", ("train",)),))
ATTEMPTS = 10


class Told:
    """Progress that remembers."""

    def __init__(self) -> None:
        self.throttlings = 0
        self.steps: list[tuple[str, int, int]] = []
        self.closed = 0

    def step(self, text: str, done: int, total: int) -> None:
        self.steps.append((text, done, total))

    def throttled(self) -> None:
        self.throttlings += 1

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let botocore's waits pass at once."""
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr(TokenBucket, "acquire", lambda *_, **__: True)


def test_throttling_is_waited_out(connection: Connection, faults: Faults) -> None:
    """Whatever is throttled comes in the end: nothing is lost, nothing listed, and the user is told."""
    expected = collect(connection, TRAIN)
    calls = faults.sent.total()
    faults.answer("*", "RequestLimitExceeded", status=503, times=7)
    told = Told()

    document = collect(connection, TRAIN, progress=told)

    assert {**document, "CollectedAt": ""} == {**expected, "CollectedAt": ""}
    assert faults.sent.total() == 2 * calls + 7
    assert (told.throttlings, told.closed) == (7, 1)
    assert told.steps[0] == ("4 instances", 0, 1)


def test_throttling_without_end(connection: Connection, faults: Faults) -> None:
    """A read that stays throttled is given up after ten attempts, listed, and left out."""
    faults.answer("DescribeSubnets", "RequestLimitExceeded", status=503)

    document = collect(connection, TRAIN)

    assert document["Denied"] == {"DescribeSubnets": "RequestLimitExceeded"}
    assert "Subnets" not in document
    assert faults.sent["DescribeSubnets"] == ATTEMPTS


def test_throttled_from_the_start(connection: Connection, faults: Faults) -> None:
    """When not even the members can be read the error says that it was for throttling."""
    faults.answer("*", "RequestLimitExceeded", status=503)

    with pytest.raises(CollectError) as caught:
        collect(connection, TRAIN)

    assert (caught.value.message, caught.value.hint) == (
        "AWS kept throttling DescribeInstances in us-east-1 (RequestLimitExceeded)",
        "something else uses up the account's request rate: try again later",
    )


def test_transport_fails_later(connection: Connection, faults: Faults) -> None:
    """A transport that fails after it has worked is tried again as often as throttling is."""
    faults.breaks("DescribeVpcs", ReadTimeoutError(endpoint_url="https://ec2.us-east-1.amazonaws.com/"))

    document = collect(connection, TRAIN)

    assert document["Denied"] == {"DescribeVpcs": "ReadTimeoutError"}
    assert "Vpcs" not in document
    assert faults.sent["DescribeVpcs"] == ATTEMPTS


def test_endpoint_never_answers(connection: Connection, faults: Faults) -> None:
    """An endpoint that has never answered gets two attempts, not ten."""
    faults.breaks("*", EndpointConnectionError(endpoint_url="https://ec2.us-east-1.amazonaws.com/"))

    with pytest.raises(CollectError) as caught:
        collect(connection, TRAIN)

    assert (caught.value.message, caught.value.hint) == (
        "no usable answer from AWS in us-east-1 at https://ec2.us-east-1.amazonaws.com/ (EndpointConnectionError)",
        "check the network (proxy, VPN, DNS), --region and --endpoint-url",
    )
    assert faults.sent == {"DescribeInstances": 2}
