"""What a verdict on EFA needs and could not be read is found."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.rules.efa_not_visible import RULE
from tests.builders import group, node, row, snapshot
from tests.unit.rules.scene import efa_node, found, resources, scan

Raw = dict[str, Any]

EITHER = [row(groups=["sg-a", "sg-x"])]
OPEN = group(ingress=EITHER, egress=EITHER)
REFUSED = {"DescribeSecurityGroups": "UnauthorizedOperation"}
A, B = efa_node("a", "10.0.0.4"), efa_node("b", "10.0.0.5")


def test_groups_not_read() -> None:
    """The finding names the call, its error and the groups, and the scan is incomplete."""
    document = snapshot([A, B], [], without=["SecurityGroups"], Denied=REFUSED)
    (finding,) = found(RULE, document, "efa")
    assert finding.message == (
        "The permissions of sg-a could not be read (DescribeSecurityGroups failed with UnauthorizedOperation); up to "
        "2 pairs over EFA depend on it."
    )
    assert finding.remedy == "Allow ec2:DescribeSecurityGroups to the role that sgaudit runs as, and scan again."
    assert scan(document, "efa").status == "incomplete"


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param([A, B], [], id="all read"),
        pytest.param([A, efa_node("b", "10.0.0.5", groups=["sg-x"])], [("sg-x", 2)], id="a group"),
        pytest.param([A, efa_node("b", "10.0.0.5", groups=None)], [("i-b", 2)], id="the groups of an interface"),
        pytest.param([A, {**node("b"), "NetworkInterfaces": []}], [("i-b", 2)], id="all interfaces"),
    ],
)
def test_what(members: list[Raw], expected: list[tuple[str, int]]) -> None:
    """Groups, the groups on an interface and interfaces can be missing."""
    assert resources(RULE, snapshot(members, [OPEN]), "efa") == expected


def test_zone() -> None:
    """Where two subnets may be in one zone or not, nobody knows."""
    members = [A, efa_node("b", "10.0.1.5", subnet="subnet-2")]
    assert resources(RULE, snapshot(members, [OPEN], without=["Subnets"]), "efa") == [("i-a", 2)]


def test_closed_for_sure() -> None:
    """What is surely closed depends on nothing that was not read."""
    members = [efa_node("a", "10.0.0.4", groups=["sg-x"]), node("b", "10.0.0.5")]
    assert found(RULE, snapshot(members, [OPEN]), "efa") == []
