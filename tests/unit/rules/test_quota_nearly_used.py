"""Quotas that are used up, or nearly, are found."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.rules.quota_nearly_used import RULE
from tests.builders import acl, entry, group, node, row, snapshot
from tests.unit.rules.scene import SELF, found

Raw = dict[str, Any]

TWO = [node("a", "10.0.0.4"), node("b", "10.0.0.5")]
BLOCK, BLOCK_6 = "10.0.0.0/8", "2001:db8::/32"
LISTS = [{"PrefixListId": "pl-1", "MaxEntries": 40}]


def counts(document: Raw) -> list[tuple[str, str, Any, Any]]:
    return [
        (item.resource.id, str(item.severity), item.evidence["used"], item.evidence["quota"])
        for item in found(RULE, document)
    ]


def test_message() -> None:
    """The finding gives the count, the quota and how it is counted."""
    rows = [row("tcp", port, cidr=[BLOCK]) for port in range(54)]
    (finding,) = found(RULE, snapshot(TWO, [group(ingress=rows)]))
    assert finding.message == (
        "By the default quota, sg-a has 54 of 60 ingress permissions. A permission with a group as peer counts once "
        "for each family, a prefix list as often as it may have entries."
    )
    assert (finding.severity, finding.resource.id) == ("note", "sg-a")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([row("tcp", n, cidr=[BLOCK]) for n in range(53)], [], id="53"),
        pytest.param([row("tcp", n, cidr=[BLOCK]) for n in range(54)], [("sg-a", "note", 54, 60)], id="nine tenths"),
        pytest.param([row("tcp", n, cidr=[BLOCK]) for n in range(60)], [("sg-a", "warning", 60, 60)], id="full"),
        pytest.param([row("tcp", n, cidr=[BLOCK]) for n in range(61)], [], id="above: the quota was raised"),
        pytest.param(
            [row("tcp", n, cidr=[BLOCK], cidr6=[BLOCK_6]) for n in range(54)],
            [("sg-a", "note", 54, 60)],
            id="families apart",
        ),
        pytest.param(
            [row("tcp", n, cidr=[BLOCK], cidr6=[BLOCK_6], groups=["sg-a"]) for n in range(29)],
            [("sg-a", "note", 58, 60)],
            id="a group counts for both",
        ),
        pytest.param(
            [row("tcp", 1, lists=["pl-1"]), *(row("tcp", n, cidr=[BLOCK]) for n in range(15))],
            [("sg-a", "note", 55, 60)],
            id="a prefix list counts by its size",
        ),
        pytest.param(
            [row("tcp", 1, lists=["pl-2"]), *(row("tcp", n, cidr=[BLOCK]) for n in range(53))],
            [("sg-a", "note", 54, 60)],
            id="a prefix list that was not read counts at least once",
        ),
    ],
)
def test_permissions(rows: list[Raw], expected: list[tuple[str, str, int, int]]) -> None:
    """Permissions count for each direction and family apart."""
    assert counts(snapshot(TWO, [group(ingress=rows)], ManagedPrefixLists=LISTS)) == expected


def test_directions_are_apart() -> None:
    """Egress has a quota of its own."""
    rows = [row("tcp", n, cidr=[BLOCK]) for n in range(40)]
    assert counts(snapshot(TWO, [group(ingress=rows, egress=rows)])) == []


@pytest.mark.parametrize(("carried", "expected"), [(4, []), (5, [("sg-0", "warning", 5, 5)]), (6, [])])
def test_groups_of_an_interface(carried: int, expected: list[tuple[str, str, int, int]]) -> None:
    """An interface carries five groups at most, unless the quota was raised."""
    names = [f"sg-{n}" for n in range(carried)]
    members = [node("a", "10.0.0.4", groups=names), node("b", "10.0.0.5", groups=names[::-1])]
    assert counts(snapshot(members, [group(name) for name in names])) == expected


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (16, []),
        (17, [("acl-1", "note", 18, 20)]),
        (19, [("acl-1", "warning", 20, 20)]),
        (20, []),
    ],
)
def test_acl_entries(entries: int, expected: list[tuple[str, str, int, int]]) -> None:
    """The deny at the end counts once, listed or not."""
    rows = [entry(n, "allow", egress=False) for n in range(1, entries + 1)]
    rows += [entry(n, "allow", egress=True) for n in range(1, 10)]
    rows += [entry(n, "allow", egress=False, cidr="::/0") for n in range(101, 110)]
    rows += [entry(32767, "deny", egress=False)]
    assert counts(snapshot(TWO, [group(ingress=SELF)], acls=[acl("acl-1", rows, default=True)])) == expected
