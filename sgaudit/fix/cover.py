"""Covers: the fewest CIDR blocks for some addresses, and the cheapest sets that hold some items."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from sgaudit.model import Cidr, Family

if TYPE_CHECKING:
    from collections.abc import Iterable

K = TypeVar("K", bound=Hashable)
LARGEST_COMPARED = 2_000
"""Candidates up to which each is compared with each."""
LARGEST_EXACT = 12
"""Candidates up to which every choice of them is tried."""


def blocks(family: Family, addresses: Iterable[int]) -> tuple[Cidr, ...]:
    """Give the fewest CIDR blocks that hold these addresses and no other one."""
    return collapsed(family, (Cidr(family, address, family.bits) for address in addresses))


def collapsed(family: Family, found: Iterable[Cidr]) -> tuple[Cidr, ...]:
    """Give the fewest CIDR blocks that hold what these hold; all are of one family."""
    kept: list[Cidr] = []
    for block in sorted(found, key=lambda block: (block.first, block.prefix)):
        if kept and block.first in kept[-1]:
            continue
        kept.append(block)
        while len(kept) > 1 and _twins(kept[-2], kept[-1]):
            prefix = kept.pop().prefix - 1
            kept.append(Cidr(family, kept.pop().first, prefix))
    return tuple(kept)


def _twins(one: Cidr, other: Cidr) -> bool:
    if one.prefix != other.prefix or one.prefix == 0:
        return False
    size = 1 << (one.family.bits - one.prefix)
    return one.first + size == other.first and one.first % (2 * size) == 0


@dataclass(frozen=True, slots=True)
class Choice(Generic[K]):
    """The candidates that were chosen."""

    chosen: tuple[K, ...]
    exact: bool
    """No cheaper choice exists; else it was made greedily."""


def cheapest(items: int, candidates: Mapping[K, tuple[int, int]]) -> Choice[K] | None:
    """
    Choose candidates that together hold all items, by the least cost, then by the fewest candidates.

    Args:
        items: a set of items, one bit each.
        candidates: each with the items that it holds and its cost.

    Returns:
        None when all candidates together do not hold all items.
    """
    useful = {key: (held & items, cost) for key, (held, cost) in candidates.items() if held & items}
    everything = 0
    for held, _ in useful.values():
        everything |= held
    if everything != items:
        return None
    forced: list[K] = []
    left = items
    while left and (needed := _essential(useful)):
        forced += needed
        for key in needed:
            left &= ~useful[key][0]
        rest = {key: (held & left, cost) for key, (held, cost) in useful.items() if held & left}
        useful = _undominated(rest) if len(rest) <= LARGEST_COMPARED else rest
    useful = _undominated(useful) if left else {}
    if len(useful) <= LARGEST_EXACT:
        return Choice((*forced, *_best(left, useful)), exact=True)
    return Choice((*forced, *_greedy(left, useful)), exact=False)


def _essential(candidates: Mapping[K, tuple[int, int]]) -> list[K]:
    """List the candidates that hold an item which no other one holds: every choice has them."""
    once = twice = 0
    for held, _ in candidates.values():
        twice |= once & held
        once |= held
    return [key for key, (held, _) in candidates.items() if held & once & ~twice]


def _undominated(candidates: Mapping[K, tuple[int, int]]) -> dict[K, tuple[int, int]]:
    """Drop candidates that hold no more than another one and cost no less."""
    kept: dict[K, tuple[int, int]] = {}
    ordered = sorted(candidates.items(), key=lambda item: (item[1][1], -item[1][0].bit_count()))
    for key, (held, cost) in ordered:
        if not any(not held & ~other for other, _ in kept.values()):
            kept[key] = (held, cost)
    return kept


def _best(items: int, candidates: Mapping[K, tuple[int, int]]) -> tuple[K, ...]:
    keys = list(candidates)
    best: tuple[int, int, int] | None = None
    for choice in range(1, 1 << len(keys)):
        count = choice.bit_count()
        held = cost = 0
        for place, key in enumerate(keys):
            if choice >> place & 1:
                held |= candidates[key][0]
                cost += candidates[key][1]
        if held == items and (best is None or (cost, count) < best[:2]):
            best = (cost, count, choice)
    chosen = best[2] if best else 0
    return tuple(key for place, key in enumerate(keys) if chosen >> place & 1)


def _greedy(items: int, candidates: Mapping[K, tuple[int, int]]) -> tuple[K, ...]:
    chosen: list[K] = []
    left = items
    while left:
        key = min(candidates, key=lambda key: _price(candidates[key], left))
        chosen.append(key)
        left &= ~candidates[key][0]
    # A later choice can make an earlier one superfluous.
    for key in list(chosen):
        rest = 0
        for other in chosen:
            rest |= candidates[other][0] if other != key else 0
        if not items & ~rest:
            chosen.remove(key)
    return tuple(chosen)


def _price(candidate: tuple[int, int], left: int) -> float:
    held = (candidate[0] & left).bit_count()
    return (candidate[1] + 1) / held if held else float("inf")
