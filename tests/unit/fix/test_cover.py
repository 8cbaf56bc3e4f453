"""Covers of addresses and of gaps."""

from __future__ import annotations

import ipaddress
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgaudit.fix.cover import LARGEST_EXACT, Choice, blocks, cheapest, collapsed
from sgaudit.model import Cidr, Family

FAMILIES = {Family.IPV4: ipaddress.IPv4Network, Family.IPV6: ipaddress.IPv6Network}


def python_says(networks: list[Any]) -> list[str]:
    return [str(item) for item in ipaddress.collapse_addresses(networks)]


@pytest.mark.parametrize("family", list(Family))
@given(offsets=st.sets(st.integers(0, 300)), base=st.sampled_from([0, 10 << 24, (1 << 32) - 301]))
def test_blocks_are_those_that_python_finds(family: Family, offsets: set[int], base: int) -> None:
    """The blocks for some addresses are those to which the standard library collapses them."""
    addresses = [base + offset for offset in offsets]

    assert python_says([FAMILIES[family](item) for item in addresses]) == list(
        map(str, blocks(family, [*addresses, *addresses]))
    )


@given(st.lists(st.tuples(st.integers(0, 255), st.integers(22, 32)), max_size=12))
def test_blocks_collapse_as_in_python(drawn: list[tuple[int, int]]) -> None:
    """Nested, twin and repeated blocks collapse as they do in the standard library."""
    texts = [f"10.0.{number}.0/{prefix}" for number, prefix in drawn]

    assert python_says([ipaddress.IPv4Network(text, strict=False) for text in texts]) == list(
        map(str, collapsed(Family.IPV4, map(Cidr.parse, texts)))
    )


def test_the_whole_address_space_is_one_block() -> None:
    """Both halves of everything are everything, and nothing lies beyond."""
    halves = [Cidr.parse("0.0.0.0/1"), Cidr.parse("128.0.0.0/1")]

    assert (Cidr.parse("0.0.0.0/0"),) == collapsed(Family.IPV4, halves)


@given(
    st.integers(1, 6).flatmap(
        lambda size: st.tuples(
            st.just(size), st.lists(st.tuples(st.integers(1, 2**size - 1), st.integers(0, 5)), min_size=1, max_size=7)
        )
    )
)
def test_a_small_cover_is_the_cheapest_there_is(drawn: tuple[int, list[tuple[int, int]]]) -> None:
    """The choice costs as little, with as few candidates, as the best of all choices tried one by one."""
    size, offered = drawn
    everything = (1 << size) - 1
    candidates = dict(enumerate(offered))
    scores = []
    for count in range(1, len(offered) + 1):
        for chosen in combinations(offered, count):
            held = 0
            for bits, _ in chosen:
                held |= bits
            if held == everything:
                scores.append((sum(cost for _, cost in chosen), count))
    found = cheapest(everything, candidates)

    assert (min(scores) if scores else None) == (
        None if found is None else (sum(candidates[key][1] for key in found.chosen), len(found.chosen))
    )
    assert found is None or found.exact


def test_a_large_cover_is_made_greedily_and_says_so() -> None:
    """Beyond what can be tried, all items are held by a choice that does not claim to be the best."""
    size = LARGEST_EXACT + 1
    ring = {f"two-{item}": (1 << item | 1 << (item + 1) % size, 1) for item in range(size)}

    found = cheapest((1 << size) - 1, ring)

    assert found is not None
    assert not found.exact
    assert len(found.chosen) < size
    held = 0
    for key in found.chosen:
        held |= ring[key][0]
    assert held == (1 << size) - 1


def test_what_every_choice_has_is_chosen_without_trying() -> None:
    """However many they are: where each item has one candidate, there is but one choice, and it is exact."""
    size = 4 * LARGEST_EXACT
    only = {item: (1 << item, item) for item in range(size)}

    assert cheapest((1 << size) - 1, only) == Choice(tuple(only), exact=True)


def test_greed_drops_what_later_choices_make_superfluous() -> None:
    """A candidate that others hold between them is not kept."""
    size = LARGEST_EXACT + 1
    pairs = {f"one-{item}": (1 << 2 * item, 2) for item in range(size)}
    pairs |= {f"two-{item}": (0b11 << 2 * item, 3) for item in range(size)}

    found = cheapest((1 << 2 * size) - 1, pairs)

    assert found is not None
    assert {f"two-{item}" for item in range(size)} == set(found.chosen)
