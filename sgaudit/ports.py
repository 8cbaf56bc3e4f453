"""
Exact set algebra over the whole numbers 0-65535.

A `PortSet` holds TCP or UDP ports. The same set holds ICMP messages as `type * 256 + code`, because
those are 65,536 points as well.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

LOWEST = 0
HIGHEST = 65535

Range = tuple[int, int]

FEW = 8
"""A set with so many times fewer ranges than another is looked up in it; else both are walked through."""


@dataclass(frozen=True, slots=True)
class PortSet:
    """
    A set of ports as sorted, disjoint ranges that don't touch: equal sets are equal values.

    Build one with `PortSet.of`, `PortSet.parse` or the operators; the constructor trusts its argument.
    """

    ranges: tuple[Range, ...] = ()

    @classmethod
    def of(cls, ranges: Iterable[Range]) -> PortSet:
        """
        Build a set from inclusive ranges in any order, overlapping or not.

        Raises:
            ValueError: a range is reversed or leaves 0-65535.
        """
        merged: list[Range] = []
        for low, high in sorted(ranges):
            if not LOWEST <= low <= high <= HIGHEST:
                raise ValueError(f"{low}-{high} is not a port range within {LOWEST}-{HIGHEST}")
            if merged and low <= merged[-1][1] + 1:
                if high > merged[-1][1]:
                    merged[-1] = (merged[-1][0], high)
            else:
                merged.append((low, high))
        return cls(tuple(merged))

    @classmethod
    def single(cls, low: int, high: int | None = None) -> PortSet:
        """Build a set of one port, or of one inclusive range."""
        return cls.of([(low, low if high is None else high)])

    @classmethod
    def parse(cls, text: str) -> PortSet:
        """
        Read `22`, `1024-65535`, a list of those with commas between, or `all`.

        Raises:
            ValueError: the text is something else; the message quotes the part that is wrong.
        """
        if text.strip().lower() == "all":
            return ALL
        ranges: list[Range] = []
        for part in text.split(","):
            low, dash, high = part.strip().partition("-")
            low, high = low.strip(), high.strip() if dash else low.strip()
            if not (low.isascii() and low.isdigit() and high.isascii() and high.isdigit()):
                raise ValueError(f"{part.strip()!r} is not a port or a port range such as 1024-65535")
            if not int(low) <= int(high) <= HIGHEST:
                raise ValueError(f"{part.strip()!r} is not a port range within {LOWEST}-{HIGHEST}")
            ranges.append((int(low), int(high)))
        return cls.of(ranges)

    def __str__(self) -> str:
        return ",".join(f"{low}" if low == high else f"{low}-{high}" for low, high in self.ranges)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __len__(self) -> int:
        return sum(high - low + 1 for low, high in self.ranges)

    def __iter__(self) -> Iterator[int]:
        for low, high in self.ranges:
            yield from range(low, high + 1)

    def __contains__(self, port: int) -> bool:
        place = bisect_right(self.ranges, (port, HIGHEST))
        return place > 0 and port <= self.ranges[place - 1][1]

    def __or__(self, other: PortSet) -> PortSet:
        if not other.ranges or self.ranges == other.ranges:
            return self
        if not self.ranges:
            return other
        few, many = sorted((self.ranges, other.ranges), key=len)
        if len(few) * FEW <= len(many):
            return PortSet(_with_few(few, many))
        return PortSet.of((*few, *many))

    def __and__(self, other: PortSet) -> PortSet:
        if self.ranges in (FULL, other.ranges):
            return other
        if other.ranges == FULL:
            return self
        mine, theirs = self.ranges, other.ranges
        if len(mine) * FEW <= len(theirs):
            return PortSet(_within_few(mine, theirs))
        if len(theirs) * FEW <= len(mine):
            return PortSet(_within_few(theirs, mine))
        found: list[Range] = []
        i = j = 0
        while i < len(mine) and j < len(theirs):
            low, high = max(mine[i][0], theirs[j][0]), min(mine[i][1], theirs[j][1])
            if low <= high:
                found.append((low, high))
            if mine[i][1] < theirs[j][1]:
                i += 1
            else:
                j += 1
        return PortSet(tuple(found))

    def __sub__(self, other: PortSet) -> PortSet:
        return self & ~other

    def __invert__(self) -> PortSet:
        gaps: list[Range] = []
        start = LOWEST
        for low, high in self.ranges:
            if low > start:
                gaps.append((start, low - 1))
            start = high + 1
        if start <= HIGHEST:
            gaps.append((start, HIGHEST))
        return PortSet(tuple(gaps))

    def __le__(self, other: PortSet) -> bool:
        return (self & other).ranges == self.ranges

    def __ge__(self, other: PortSet) -> bool:
        return other <= self


FULL: tuple[Range, ...] = ((LOWEST, HIGHEST),)
ALL = PortSet(FULL)
NONE = PortSet()
CLIENT_PORTS = PortSet(((32768, 60999),))
"""
The ports from which a Linux client dials, and those that its kernel picks for a listener on port 0.

Source: `net.ipv4.ip_local_port_range`, kernel default `32768 60999`.
"""


def _meeting(low: int, high: int, ranges: Sequence[Range]) -> tuple[int, int]:
    """Tell from which place to before which one sorted ranges have a port between two."""
    start = bisect_right(ranges, (low, HIGHEST))
    if start and ranges[start - 1][1] >= low:
        start -= 1
    return start, max(start, bisect_right(ranges, (high, HIGHEST)))


def _within_few(few: tuple[Range, ...], many: tuple[Range, ...]) -> tuple[Range, ...]:
    found: list[Range] = []
    for low, high in few:
        start, end = _meeting(low, high, many)
        if start < end:
            place = len(found)
            found += many[start:end]
            found[place] = max(low, found[place][0]), found[place][1]
            found[-1] = found[-1][0], min(high, found[-1][1])
    return tuple(found)


def _with_few(few: tuple[Range, ...], many: tuple[Range, ...]) -> tuple[Range, ...]:
    found = list(many)
    for low, high in few:
        start, end = _meeting(low - 1, high + 1, found)
        if start < end:
            found[start:end] = [(min(low, found[start][0]), max(high, found[end - 1][1]))]
        else:
            found.insert(start, (low, high))
    return tuple(found)


def first_holders(held: Iterable[tuple[Range, int]], asked: Collection[Range]) -> Mapping[Range, int]:
    """
    Find for each range the lowest number of a range that holds all of it.

    Args:
        held: ranges, each with a number.
        asked: ranges that are looked for; one that nothing holds is left out of the answer.
    """
    waiting = sorted(held)
    highs = sorted({high for (_, high), _ in waiting})
    none = 1 + max((number for _, number in waiting), default=0)
    # A Fenwick tree: the lowest number among ranges that end at one of the topmost so many ends.
    lowest = [none] * (len(highs) + 1)
    found: dict[Range, int] = {}
    place = 0
    for low, high in sorted(set(asked)):
        while place < len(waiting) and waiting[place][0][0] <= low:
            (_, top), number = waiting[place]
            place += 1
            rank = len(highs) - bisect_left(highs, top)
            while rank <= len(highs):
                lowest[rank] = min(lowest[rank], number)
                rank += rank & -rank
        rank = len(highs) - bisect_left(highs, high)
        best = none
        while rank:
            best = min(best, lowest[rank])
            rank -= rank & -rank
        if best < none:
            found[low, high] = best
    return found
