"""Permissions that can't match anything are found."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.rules.dead_permission import RULE
from tests.builders import group, node, row, snapshot
from tests.unit.rules.scene import SELF, found

Raw = dict[str, Any]

TWO = [node("a", "10.0.0.4"), node("b", "10.0.0.5")]
GROUPS = [group(ingress=[*SELF, row("tcp", 22, lists=["pl-1"])])]


def test_message() -> None:
    """The finding names the permission and the list."""
    (finding,) = found(RULE, snapshot(TWO, GROUPS, PrefixListEntries={"pl-1": []}))
    assert finding.message == (
        "sg-a has 1 permission (tcp 22 from pl-1) whose peer is a prefix list without entries, so nothing can match."
    )
    assert (finding.severity, finding.resource.id) == ("note", "sg-a")


@pytest.mark.parametrize(
    ("entries", "count"),
    [({"pl-1": []}, 1), ({"pl-1": [{"Cidr": "10.0.0.0/8"}]}, 0), ({}, 0), ({"pl-2": []}, 0)],
)
def test_lists(entries: Raw, count: int) -> None:
    """Only a list that was read and has no entries is surely empty."""
    assert len(found(RULE, snapshot(TWO, GROUPS, PrefixListEntries=entries))) == count
