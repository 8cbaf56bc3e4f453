"""The verdict on pairs of nodes, held by rows of sources that share it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from sgaudit.reach.nodes import bits_of, indexes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgaudit.ports import PortSet
    from sgaudit.reach.nodes import Nodes


class Verdict(StrEnum):
    """What holds for the ports that were asked about."""

    OPEN = "open"
    """Each of them is open."""
    PARTIAL = "partial"
    """One at least is surely closed, and one at least is open or may be."""
    BLOCKED = "blocked"
    """Each of them is closed."""
    UNKNOWN = "unknown"
    """None is surely closed, but that all of them are open can't be known."""


def verdict_on(asked: PortSet, opened: PortSet, possible: PortSet) -> Verdict:
    """Judge the ports asked about by those that are open and those that may be."""
    if asked <= opened:
        return Verdict.OPEN
    if not asked & possible:
        return Verdict.BLOCKED
    return Verdict.UNKNOWN if asked <= possible else Verdict.PARTIAL


@dataclass(frozen=True, slots=True)
class Row:
    """Sources that share their targets, and those targets by verdict. A node never counts as its own target."""

    sources: int
    open: int
    partial: int
    blocked: int
    unknown: int

    def of(self, verdict: Verdict) -> int:
        """Tell the targets with one verdict."""
        match verdict:
            case Verdict.OPEN:
                return self.open
            case Verdict.PARTIAL:
                return self.partial
            case Verdict.BLOCKED:
                return self.blocked
            case Verdict.UNKNOWN:
                return self.unknown

    @property
    def scope(self) -> int:
        """All targets."""
        return self.open | self.partial | self.blocked | self.unknown

    @property
    def failing(self) -> int:
        """The targets for which it is sure that not every port is open."""
        return self.partial | self.blocked


@dataclass(frozen=True)
class Verdicts:
    """The verdicts on the pairs of a set of sources and a set of targets."""

    nodes: Nodes
    rows: tuple[Row, ...]

    @classmethod
    def of(
        cls,
        nodes: Nodes,
        sources: int,
        targets: int,
        opened: Sequence[int],
        hopeful: Sequence[int],
        some: Sequence[int] | None = None,
    ) -> Verdicts:
        """
        Sort pairs by what each source surely reaches on every port, may reach on every port, and on some.

        Without `some`, whatever is surely not open on every port counts as blocked.
        """
        # Rows are large numbers: told apart by identity first, as the nodes of a class share theirs.
        alike: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        partly = some or [0] * len(nodes)
        for index in indexes_of(sources):
            alike[id(opened[index]), id(hopeful[index]), id(partly[index])].append(index)
        grouped: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        for indexes in alike.values():
            first = indexes[0]
            grouped[opened[first], hopeful[first], partly[first]] += indexes
        return cls(
            nodes,
            tuple(
                Row(
                    bits_of(indexes),
                    targets & surely,
                    targets & on_some & ~maybe,
                    targets & ~maybe & ~on_some,
                    targets & maybe & ~surely,
                )
                for (surely, maybe, on_some), indexes in grouped.items()
            ),
        )

    @cached_property
    def row_of(self) -> Mapping[int, Row]:
        """The row of each source by its index."""
        return {index: row for row in self.rows for index in indexes_of(row.sources)}

    def verdict(self, source: int, target: int) -> Verdict | None:
        """Tell the verdict on one pair; None when it was not asked about."""
        row = self.row_of.get(source)
        if row is None or self.nodes.items[source].instance is self.nodes.items[target].instance:
            return None
        return next((word for word in Verdict if row.of(word) >> target & 1), None)

    @cached_property
    def counts(self) -> Mapping[Verdict, int]:
        """Ordered pairs by verdict."""
        return {
            verdict: sum(count_pairs(self.nodes, row.sources, row.of(verdict)) for row in self.rows)
            for verdict in Verdict
        }

    @property
    def pairs(self) -> int:
        """All ordered pairs that were asked about."""
        return sum(self.counts.values())

    @property
    def failing(self) -> int:
        """Ordered pairs for which it is sure that not every port is open."""
        return self.counts[Verdict.PARTIAL] + self.counts[Verdict.BLOCKED]


def own_nodes(nodes: Nodes, index: int) -> int:
    """Tell the nodes of the same instance: no member dials itself."""
    return nodes.by_instance[nodes.items[index].instance.instance_id]


def count_pairs(nodes: Nodes, sources: int, targets: int) -> int:
    """Count the ordered pairs of two sets of nodes, those within one instance left out."""
    if not targets or not sources:
        return 0
    total = sources.bit_count() * targets.bit_count()
    if nodes.one_each:
        return total - (sources & targets).bit_count()
    return total - sum((own_nodes(nodes, index) & targets).bit_count() for index in indexes_of(sources))


def iterate_pairs(nodes: Nodes, sources: int, targets: int) -> Iterator[tuple[int, int]]:
    """Go through the ordered pairs of two sets of nodes, those within one instance left out."""
    for source in indexes_of(sources):
        for target in indexes_of(targets & ~own_nodes(nodes, source)):
            yield source, target


def together(nodes: Nodes, parts: Sequence[Verdicts]) -> Verdicts:
    """
    Judge each pair by all that is asked of it.

    Open when every part is; blocked when every part is; partial when one part fails otherwise; unknown
    when none fails and one is unknown. A part that doesn't ask about a pair has no say.
    """
    grouped: dict[tuple[int, ...], list[int]] = defaultdict(list)
    owners = [{index: n for n, row in enumerate(part.rows) for index in indexes_of(row.sources)} for part in parts]
    for index in range(len(nodes)):
        key = tuple(owner.get(index, -1) for owner in owners)
        if any(place >= 0 for place in key):
            grouped[key].append(index)
    rows: list[Row] = []
    for key, indexes in grouped.items():
        asked = [part.rows[place] for part, place in zip(parts, key, strict=True) if place >= 0]
        scope = fails = doubt = 0
        for row in asked:
            scope |= row.scope
            fails |= row.failing
            doubt |= row.unknown
        blocked = fails
        for row in asked:
            blocked &= row.blocked | ~row.scope
        rows.append(
            Row(
                bits_of(indexes),
                scope & ~fails & ~doubt,
                fails & ~blocked,
                blocked,
                doubt & ~fails,
            )
        )
    return Verdicts(nodes, tuple(rows))


def member_counts(verdicts: Verdicts) -> Mapping[Verdict, int]:
    """Count ordered pairs of members: where members have several nodes, all pairs of their nodes count as one."""
    nodes = verdicts.nodes
    if nodes.one_each:
        return verdicts.counts
    counts = dict.fromkeys(Verdict, 0)
    instances = list(nodes.by_instance.values())
    for own in instances:
        rows = [verdicts.row_of[index] for index in indexes_of(own) if index in verdicts.row_of]
        scope = fails = doubt = every_blocked = 0
        for row in rows:
            scope |= row.scope
            fails |= row.failing
            doubt |= row.unknown
        every_blocked = fails
        for row in rows:
            every_blocked &= row.blocked | ~row.scope
        for other in instances:
            if other == own or not scope & other:
                continue
            if not fails & other:
                counts[Verdict.UNKNOWN if doubt & other else Verdict.OPEN] += 1
            elif scope & other & ~every_blocked:
                counts[Verdict.PARTIAL] += 1
            else:
                counts[Verdict.BLOCKED] += 1
    return counts
