"""Islands are found: members that reach one another, but not those of the next island."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.rules.finding import Finding, Resource
from sgaudit.rules.split_cluster import RULE
from sgaudit.severity import Severity
from tests.builders import group, node, row, snapshot
from tests.unit.rules.scene import SELF, found

Raw = dict[str, Any]

APART = [group(ingress=SELF), group("sg-b", ingress=[row(groups=["sg-b"])]), group("sg-c")]
"""Two groups that admit their own members, and one that admits nobody."""


def members(*groups: str) -> list[Raw]:
    """Give the members n0, n1, ..., each in one group."""
    return [node(f"n{number}", f"10.0.0.{number + 4}", groups=(name,)) for number, name in enumerate(groups)]


def test_whole_finding() -> None:
    """Two groups that don't know each other are two islands, and the smaller one is named."""
    document = snapshot(members("sg-a", "sg-a", "sg-a", "sg-b", "sg-b"), APART)
    assert found(RULE, document) == [
        Finding(
            rule="split-cluster",
            severity=Severity.ERROR,
            title="The cluster falls into 2 islands of 3 and 2",
            message=(
                "Members reach one another both ways inside 2 islands, but not from one to the next. Outside the "
                "largest: i-n3 and i-n4."
            ),
            remedy="Cure the findings on the paths between the islands; they name the groups and network ACLs.",
            resource=Resource("instance", "i-n3"),
            pairs=12,
            evidence={"islands": [["i-n0", "i-n1", "i-n2"], ["i-n3", "i-n4"]], "sizes": [3, 2]},
            subject=("cluster",),
        )
    ]


ONE_WAY = [group(ingress=SELF), group("sg-b", ingress=[row(groups=["sg-a", "sg-b"])])]
BOTH_WAYS = [group(ingress=[row(groups=["sg-a", "sg-b"])]), ONE_WAY[1]]
CHAIN = [
    group("sg-a", ingress=[row(groups=["sg-a", "sg-b"])]),
    group("sg-b", ingress=[row(groups=["sg-a", "sg-b", "sg-c"])]),
    group("sg-c", ingress=[row(groups=["sg-b", "sg-c"])]),
]
MASTER_ONLY = [group(ingress=SELF), group("sg-b", ingress=[row(groups=["sg-b"]), row("tcp", 29500, groups=["sg-a"])])]


@pytest.mark.parametrize(
    ("groups", "rows", "sizes"),
    [
        pytest.param(["sg-a", "sg-a"], APART, [], id="one island"),
        pytest.param(["sg-a", "sg-a", "sg-b", "sg-b"], APART, [[2, 2]], id="two halves"),
        pytest.param(["sg-a", "sg-a", "sg-a", "sg-b", "sg-b", "sg-c"], APART, [[3, 2, 1]], id="three islands"),
        pytest.param(["sg-a", "sg-a", "sg-c", "sg-c"], APART, [[2, 1, 1]], id="members that nobody reaches"),
        pytest.param(["sg-a", "sg-c"], APART, [], id="no island has two members"),
        pytest.param(["sg-c", "sg-c", "sg-c"], APART, [], id="nobody reaches anybody"),
        pytest.param(["sg-a", "sg-a", "sg-b"], ONE_WAY, [[2, 1]], id="one way is not enough"),
        pytest.param(["sg-a", "sg-a", "sg-b"], BOTH_WAYS, [], id="both ways"),
        pytest.param(["sg-a", "sg-b", "sg-c"], CHAIN, [], id="by way of another member"),
        pytest.param(["sg-a", "sg-a", "sg-b", "sg-b"], MASTER_ONLY, [[2, 2]], id="one of the needs is not enough"),
    ],
)
def test_islands(groups: list[str], rows: list[Raw], sizes: list[list[int]]) -> None:
    """An island is who is reached both ways on all that is needed; one alone, or all apart, is no split."""
    assert [item.evidence["sizes"] for item in found(RULE, snapshot(members(*groups), rows))] == sizes


def test_unread_is_not_split() -> None:
    """What may be open splits nothing."""
    rows = [
        group(ingress=[*SELF, row(lists=["pl-1"])]),
        group("sg-b", ingress=[row(groups=["sg-b"]), row(lists=["pl-1"])]),
    ]
    assert found(RULE, snapshot(members("sg-a", "sg-a", "sg-b"), rows)) == []


def test_policies_without_a_mesh() -> None:
    """A policy that asks for no mesh of all members has no islands."""
    document = snapshot(members("sg-a", "sg-a", "sg-b", "sg-b"), APART)
    assert found(RULE, document, "admin-ssh") == []


def test_more_members_on_the_islands() -> None:
    """More members behind the first of the smaller island make no new finding."""
    (before,) = found(RULE, snapshot(members("sg-a", "sg-a", "sg-a", "sg-b"), APART))
    (after,) = found(RULE, snapshot(members("sg-a", "sg-a", "sg-a", "sg-b", "sg-a", "sg-b"), APART))
    assert after.fingerprint == before.fingerprint
    assert (before.evidence["sizes"], after.evidence["sizes"]) == ([3, 1], [4, 2])
