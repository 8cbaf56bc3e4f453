"""Both deciders: what sgaudit computes, and the plain judge that the property tests hold against it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sgaudit.model import Family
from sgaudit.ports import PortSet
from sgaudit.reach import matrix
from sgaudit.selection import Interfaces, Selection, select
from sgaudit.snapshot import parse
from tests.judge import judge

Decided = tuple[str, str]
"""The ports that are open, and those that are or may be."""
Reach = Callable[..., Decided]


def by_matrix(
    document: Mapping[str, Any], source: str, target: str, *, protocol: str = "tcp", family: str = "ipv4"
) -> Decided:
    snapshot = parse(document)
    chosen = Selection(everything=True, include_stopped=True, interfaces=Interfaces.ALL, family=Family(family))
    built = matrix.build(snapshot, select(snapshot, chosen), family=Family(family))
    index = {node.interface.interface_id: node.index for node in built.nodes if node.interface is not None}
    ends = index[f"eni-{source}"], index[f"eni-{target}"]
    return str(built.open_ports(*ends, protocol)), str(built.possible_ports(*ends, protocol))


def by_judge(
    document: Mapping[str, Any], source: str, target: str, *, protocol: str = "tcp", family: str = "ipv4"
) -> Decided:
    found = judge(document, f"eni-{source}", f"eni-{target}", protocol=protocol, family=family)
    return str(PortSet(found.open)), str(PortSet(found.possible))


@pytest.fixture(params=[by_matrix, by_judge], ids=["matrix", "judge"])
def reach(request: pytest.FixtureRequest) -> Reach:
    decider: Reach = request.param
    return decider
