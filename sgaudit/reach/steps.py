"""Functions from ports to sets of nodes, constant between the ports that some rule names."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import compress, pairwise
from typing import TYPE_CHECKING

from sgaudit.ports import HIGHEST, LOWEST, NONE, PortSet
from sgaudit.reach.nodes import columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Segment = tuple[int, int, int]
"""Lowest port, highest port, nodes."""


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
        return cls.join((start, end - 1, _union_over(by_range, start)) for start, end in pairwise(edges))

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
        for low, high in ports.ranges:
            start = low
            for first, last, nodes in self.segments:
                if last < start:
                    continue
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
        for low, high, nodes in self.segments:
            if low <= port <= high:
                return nodes
        return 0

    def missing(self, ports: PortSet, among: int) -> Mapping[PortSet, int]:
        """Sort nodes by the ports on which they don't pass; those that pass on all of them are left out."""
        pieces: dict[tuple[tuple[int, int], ...], int] = {(): among}
        for low, high, nodes in self.clip(ports):
            parted: dict[tuple[tuple[int, int], ...], int] = {}
            for lost, piece in pieces.items():
                if passed := piece & nodes:
                    parted[lost] = parted.get(lost, 0) | passed
                if stopped := piece & ~nodes:
                    parted[*lost, (low, high)] = stopped
            pieces = parted
        return {PortSet.of(lost): piece for lost, piece in pieces.items() if lost}

    def by_node(self, size: int) -> list[PortSet]:
        """Turn it round: for each node the ports on which it passes. Equal sets are one object."""
        if not self.segments:
            return [NONE] * size
        spans = [(low, high) for low, high, _ in self.segments]
        known: dict[tuple[str, ...], PortSet] = {}
        found: list[PortSet] = []
        for column in columns([nodes for _, _, nodes in self.segments], size):
            ports = known.get(column)
            if ports is None:
                ports = known[column] = PortSet.of(compress(spans, map(int, column)))
            found.append(ports)
        return found


def _union_over(by_range: Mapping[tuple[int, int], int], port: int) -> int:
    found = 0
    for (low, high), nodes in by_range.items():
        if low <= port <= high:
            found |= nodes
    return found
