"""The cluster as a graph that stays readable: members that share subnet and groups are one node."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgaudit.reach.verdict import Verdict, count_pairs
from sgaudit.report.told import clean
from sgaudit.rules import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgaudit.reach.nodes import GroupSet
    from sgaudit.reach.verdict import Verdicts
    from sgaudit.rules.audit import Audit

MOST_KINDS = 20
"""Renderers of Mermaid refuse more than 500 edges, and nobody could follow them."""
WORST_FIRST = (Verdict.BLOCKED, Verdict.PARTIAL, Verdict.UNKNOWN, Verdict.OPEN)


@dataclass(frozen=True, slots=True)
class Kind:
    """Members that no one needs to tell apart in a picture."""

    members: int
    subnet: str
    """What the subnet is called; empty for several."""
    groups: str
    """What their groups are called."""

    @property
    def label(self) -> str:
        """What stands in the node."""
        return f"{words.number(self.members.bit_count(), 'member')}\n{self.groups}"


@dataclass(frozen=True, slots=True)
class Edge:
    """What the one kind is to the other, by their places among the kinds."""

    source: int
    target: int
    verdict: Verdict
    """The worst of all pairs."""
    pairs: int
    """Ordered pairs that have it, both ways together where the edge is `mutual`."""
    mutual: bool = False
    """Whether it holds for the way back as well."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Nodes and edges."""

    title: str
    kinds: tuple[Kind, ...]
    edges: tuple[Edge, ...]

    @property
    def subnets(self) -> Mapping[str, Sequence[int]]:
        """The places of the kinds of each subnet."""
        found: dict[str, list[int]] = defaultdict(list)
        for place, kind in enumerate(self.kinds):
            found[kind.subnet].append(place)
        return found


def draw(audit: Audit) -> Picture:
    """Make the picture of a scan."""
    kinds = tuple(_kinds(audit))
    found = {
        (source, target): judged
        for source, one in enumerate(kinds)
        for target, other in enumerate(kinds)
        if (judged := _worst(audit.context.overall, one.members, other.members)) is not None
    }
    title = f"{clean(audit.selection.describe())}: {audit.status}"
    return Picture(title, kinds, tuple(_edges(found)))


def _kinds(audit: Audit) -> Iterator[Kind]:
    nodes, snapshot = audit.context.overall.nodes, audit.snapshot
    members: dict[tuple[int, GroupSet], int] = defaultdict(int)
    for index, key in enumerate(zip(nodes.subnet_index_of, nodes.group_set_of, strict=True)):
        members[key] |= 1 << index
    ranked = sorted(members.items(), key=lambda item: (-item[1].bit_count(), str(item[0])))
    shown, rest = ranked[:MOST_KINDS], ranked[MOST_KINDS:]
    for (subnet, groups), some in shown:
        name = nodes.subnets[subnet][0] if subnet >= 0 else ""
        yield Kind(some, clean(words.subnet_label(snapshot, name)), clean(words.groups_label(snapshot, groups)))
    if rest:
        together = 0
        for _, some in rest:
            together |= some
        yield Kind(together, "", f"{len(rest)} other combinations of subnet and groups")


def _worst(verdicts: Verdicts, sources: int, targets: int) -> tuple[Verdict, int] | None:
    counts = dict.fromkeys(WORST_FIRST, 0)
    for row in verdicts.rows:
        if some := sources & row.sources:
            for verdict in WORST_FIRST:
                counts[verdict] += count_pairs(verdicts.nodes, some, targets & row.of(verdict))
    return next(((verdict, count) for verdict, count in counts.items() if count), None)


def _edges(found: Mapping[tuple[int, int], tuple[Verdict, int]]) -> Iterator[Edge]:
    for (source, target), (verdict, pairs) in found.items():
        back = found.get((target, source))
        if source != target and back is not None and back[0] is verdict:
            if source < target:
                yield Edge(source, target, verdict, pairs + back[1], mutual=True)
        else:
            yield Edge(source, target, verdict, pairs)
