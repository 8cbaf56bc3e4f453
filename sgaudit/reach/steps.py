"""Functions from ports to sets of nodes, constant between the ports that some rule names."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from itertools import chain, compress, islice, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

from sgaudit.ports import HIGHEST, LOWEST, NONE, PortSet, Range
from sgaudit.reach.nodes import columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Segment = tuple[int, int, int]
"""Lowest port, highest port, nodes."""
Lost = tuple["Lost", "list[Range]"] | None
"""Ports that don't pass, the latest last: what holds without them, and they."""

_HIGH = itemgetter(1)


@dataclass(frozen=True, slots=True)
class Steps:
    """For each port the nodes that a filter lets pass: sorted, disjoint segments; no node elsewhere."""

    segments: tuple[Segment, ...] = ()

    @classmethod
    def constant(cls, nodes: int) -> Steps:
        """Let the same nodes pass on every port."""
        return cls(((LOWEST, HIGHEST, nodes),)) if nodes else cls()

    @classmethod
    def union(cls, rows: Iterable[tuple[PortSet, int]]) -> Steps:
        """Let pass whatever one of the rows lets pass."""
        by_range: dict[tuple[int, int], int] = defaultdict(int)
        for ports, nodes in rows:
            if nodes:
                for span in ports.ranges:
                    by_range[span] |= nodes
        if len(by_range) == 1:
            (span, nodes), *_ = by_range.items()
            return cls(((*span, nodes),))
        edges = sorted({low for low, _ in by_range} | {high + 1 for _, high in by_range})
        joined = _union_between(by_range, edges)
        return cls.join((start, end - 1, nodes) for (start, end), nodes in zip(pairwise(edges), joined, strict=True))

    @classmethod
    def any_of(cls, parts: Sequence[Steps]) -> Steps:
        """Let pass whatever one of the parts lets pass."""
        if len(parts) == 1:
            return parts[0]
        return cls.union((PortSet(((low, high),)), nodes) for part in parts for low, high, nodes in part.segments)

    @classmethod
    def join(cls, segments: Iterable[Segment]) -> Steps:
        """Take sorted, disjoint segments; empty ones are dropped, equal neighbours become one."""
        joined: list[Segment] = []
        for low, high, nodes in segments:
            if not nodes:
                continue
            if joined and joined[-1][1] + 1 == low and joined[-1][2] == nodes:
                joined[-1] = (joined[-1][0], high, nodes)
            else:
                joined.append((low, high, nodes))
        return cls(tuple(joined))

    @property
    def is_constant(self) -> bool:
        """Whether the same nodes pass on every port."""
        return not self.segments or self.segments[0][:2] == (LOWEST, HIGHEST)

    def clip(self, ports: PortSet) -> list[Segment]:
        """Cut to some ports, gaps included as segments without a node."""
        found: list[Segment] = []
        place = 0
        for low, high in ports.ranges:
            start = low
            place = bisect_left(self.segments, low, place, key=_HIGH)
            for first, last, nodes in islice(self.segments, place, None):
                if first > high:
                    break
                if first > start:
                    found.append((start, first - 1, 0))
                    start = first
                end = min(last, high)
                found.append((start, end, nodes))
                start = end + 1
                if start > high:
                    break
            if start <= high:
                found.append((start, high, 0))
        return found

    def every(self, ports: PortSet, everyone: int) -> int:
        """Tell the nodes that pass on each of the ports."""
        for _, _, nodes in self.clip(ports):
            everyone &= nodes
            if not everyone:
                break
        return everyone

    def some(self, ports: PortSet) -> int:
        """Tell the nodes that pass on one of the ports at least."""
        found = 0
        for _, _, nodes in self.clip(ports):
            found |= nodes
        return found

    def at(self, port: int) -> int:
        """Tell the nodes that pass on one port."""
        place = bisect_left(self.segments, port, key=_HIGH)
        if place < len(self.segments) and self.segments[place][0] <= port:
            return self.segments[place][2]
        return 0

    def missing(self, ports: PortSet, among: int) -> Mapping[PortSet, int]:
        """Sort nodes by the ports on which they don't pass; those that pass on all of them are left out."""
        pieces: list[tuple[Lost, int]] = [(None, among)]
        for nodes, spans in _by_nodes(self.clip(ports)).items():
            parted: list[tuple[Lost, int]] = []
            for lost, piece in pieces:
                if passed := piece & nodes:
                    parted.append((lost, passed))
                if stopped := piece & ~nodes:
                    parted.append(((lost, spans), stopped))
            pieces = parted
        return {PortSet.of(_spans(lost)): piece for lost, piece in pieces if lost}

    def by_node(self, size: int) -> list[PortSet]:
        """Turn it round: for each node the ports on which it passes. Equal sets are one object."""
        if not self.segments:
            return [NONE] * size
        by_nodes = _by_nodes(self.segments)
        spans = list(by_nodes.values())
        known: dict[tuple[str, ...], PortSet] = {}
        found: list[PortSet] = []
        for column in columns(list(by_nodes), size):
            ports = known.get(column)
            if ports is None:
                ports = known[column] = PortSet.of(chain.from_iterable(compress(spans, map(int, column))))
            found.append(ports)
        return found


def _union_between(by_range: Mapping[Range, int], edges: Sequence[int]) -> list[int]:
    """Join the nodes of the ranges that hold each stretch from one edge to the next, by a segment tree."""
    place = {edge: index for index, edge in enumerate(edges)}
    size = max(0, len(edges) - 1)
    tree = [0] * (2 * size)
    for (low, high), nodes in by_range.items():
        start, end = place[low] + size, place[high + 1] + size
        while start < end:
            if start & 1:
                tree[start] |= nodes
                start += 1
            if end & 1:
                end -= 1
                tree[end] |= nodes
            start >>= 1
            end >>= 1
    for index in range(2, 2 * size):
        if above := tree[index >> 1]:
            tree[index] = tree[index] | above if tree[index] else above
    return tree[size:]


def _by_nodes(segments: Iterable[Segment]) -> dict[int, list[Range]]:
    """Gather the ports on which the same nodes pass."""
    found: dict[int, list[Range]] = defaultdict(list)
    for low, high, nodes in segments:
        found[nodes].append((low, high))
    return found


def _spans(lost: Lost) -> Iterator[Range]:
    while lost:
        lost, spans = lost
        yield from spans
