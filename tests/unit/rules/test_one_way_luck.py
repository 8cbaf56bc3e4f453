"""Pairs that are open in one direction only are found, with what the order of addresses makes of them."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from sgaudit.errors import EmptySelectionError
from sgaudit.ports import PortSet
from sgaudit.reach.verdict import Verdict
from sgaudit.rules import one_way_luck
from sgaudit.rules.one_way_luck import RULE
from tests.builders import acl, allow_all, entry, group, node, row, snapshot
from tests.networks import random_network
from tests.unit.rules.scene import SELF, found, scan

Raw = dict[str, Any]

FROM_BOTH = [row(groups=["sg-a", "sg-b"])]
A_CLOSED = [group(ingress=[]), group("sg-b", ingress=FROM_BOTH)]
"""Whoever carries sg-a may dial those with sg-b, and not the other way."""


def luck(document: Raw, policy: str = "pytorch-gloo") -> list[tuple[str, int, int]]:
    return [
        (item.resource.id, item.evidence["works_by_luck"], item.evidence["fails"])
        for item in found(RULE, document, policy)
    ]


def test_message() -> None:
    """The finding tells how many pairs work today and how many do not."""
    members = [
        node("a", "10.0.0.4"),
        node("b", "10.0.0.5", groups=["sg-b"]),
        node("c", "10.0.0.3", groups=["sg-b"]),
    ]
    (finding,) = found(RULE, snapshot(members, A_CLOSED))
    assert finding.title == "2 pairs open one way only, by sg-a"
    assert finding.message == (
        "sg-a does not let tcp 29500,32768-60999 in, while the other direction of 2 pairs is open. Each pair makes "
        "one connection, which the side with the higher address dials: today 1 works by luck, as it is the open "
        "direction, and 1 fails. New addresses after a restart turn this round."
    )
    assert (finding.severity, finding.resource.id, finding.pairs) == ("warning", "sg-a", 2)
    assert [(example.source, example.target) for example in finding.examples] == [("i-c", "i-a"), ("i-b", "i-a")]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        pytest.param("10.0.0.5", "10.0.0.4", [("sg-a", 1, 0)], id="the higher side may dial"),
        pytest.param("10.0.0.4", "10.0.0.5", [("sg-a", 0, 1)], id="the lower side may dial"),
        pytest.param("10.0.0.100", "10.0.0.20", [("sg-a", 1, 0)], id="by number, not by text"),
    ],
)
def test_order(a: str, b: str, expected: list[tuple[str, int, int]]) -> None:
    """The side with the numerically higher address dials."""
    assert luck(snapshot([node("a", a), node("b", b, groups=["sg-b"])], A_CLOSED)) == expected


@pytest.mark.parametrize(
    ("groups", "policy", "count"),
    [
        pytest.param(A_CLOSED, "pytorch-gloo", 1, id="one way"),
        pytest.param(A_CLOSED, "tcp-full-mesh", 0, id="a policy in which both dial"),
        pytest.param([group(), group("sg-b")], "pytorch-gloo", 0, id="closed both ways"),
        pytest.param(
            [group(ingress=FROM_BOTH), group("sg-b", ingress=FROM_BOTH)], "pytorch-gloo", 0, id="open both ways"
        ),
        pytest.param([group("sg-b", ingress=FROM_BOTH)], "pytorch-gloo", 0, id="the closed one was not read"),
    ],
)
def test_groups(groups: list[Raw], policy: str, count: int) -> None:
    """Only pairs of which one direction is surely open and the other surely not, where one connection is made."""
    members = [node("a", "10.0.0.4"), node("b", "10.0.0.5", groups=["sg-b"])]
    assert len(luck(snapshot(members, groups), policy)) == count


def test_network_acl() -> None:
    """A network ACL that stops the ports one way is named where answers take other ports; else it closes both ways."""
    entries = [*allow_all(), entry(50, "deny", egress=False, protocol="6", ports=(32768, 60999), cidr="10.0.1.0/24")]
    members = [node("a", "10.0.0.4"), node("b", "10.0.1.5", subnet="subnet-2")]
    document = snapshot(members, [group(ingress=SELF)], acls=[acl("acl-1", entries, subnets=["subnet-1"])])
    assert luck(document) == []
    result = scan(document, client_ports=PortSet.single(1024, 20000))
    (finding,) = [item for item in result.findings if item.rule == RULE.id]
    assert finding.message == (
        "acl-1 does not let tcp 32768-60999 in, while the other direction of 1 pair is open. Each pair makes one "
        "connection, which the side with the higher address dials: today it fails, as it is the closed direction. New "
        "addresses after a restart turn this round."
    )
    assert (finding.resource.type, finding.resource.id) == ("network-acl", "acl-1")


def test_equal_addresses() -> None:
    """Between equal addresses of two VPCs the port decides, so that nobody can say who dials."""
    members = [node("a", "10.0.0.4"), node("b", "10.0.0.4", groups=["sg-b"], subnet="subnet-4")]
    assert luck(snapshot(members, A_CLOSED)) == []


def expected_counts(document: Raw) -> tuple[int, int]:
    """Count pair by pair, by the verdicts on each need of which one connection is made."""
    context = scan(document).context
    nodes = context.matrix.nodes
    lucky: set[tuple[int, int]] = set()
    unlucky: set[tuple[int, int]] = set()
    for judged in context.judged:
        if not judged.requirement.ip_ordered:
            continue
        for one, other in permutations(range(len(nodes)), 2):
            there, back = judged.verdicts.verdict(one, other), judged.verdicts.verdict(other, one)
            if there is Verdict.OPEN and back in (Verdict.BLOCKED, Verdict.PARTIAL):
                first, second = nodes[one].value or 0, nodes[other].value or 0
                if first != second:
                    (lucky if first > second else unlucky).add((one, other))
    return len(lucky), len(unlucky)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 200, 50))
def test_random_networks(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of all pairs is what pair by pair comes to, and every such pair has a cause."""
    seen = 0
    for seed in range(first, first + 50):
        document = random_network(seed)
        try:
            lucky, unlucky = expected_counts(document)
        except EmptySelectionError:
            continue
        by_cause = luck(document)
        monkeypatch.setattr(one_way_luck, "MOST_WORK", -1)
        summed = luck(document)
        monkeypatch.undo()
        assert [item[1:] for item in summed] == ([(lucky, unlucky)] if lucky or unlucky else []), seed
        assert lucky <= sum(item[1] for item in by_cause), seed
        assert unlucky <= sum(item[2] for item in by_cause), seed
        seen += lucky + unlucky
    assert seen
