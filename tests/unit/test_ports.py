"""PortSet against Python's own sets, and its text form both ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgaudit.ports import ALL, CLIENT_PORTS, NONE, PortSet, first_holders

EDGES = (0, 1, 2, 255, 256, 32767, 32768, 60999, 61000, 65533, 65534, 65535)
UNIVERSE = frozenset(range(65536))

port = st.sampled_from(EDGES) | st.integers(0, 65535)
short_range = st.builds(lambda low, length: (low, min(low + length, 65535)), port, st.integers(0, 300))
any_range = st.tuples(port, port).map(lambda ends: (min(ends), max(ends)))
port_ranges = st.lists(st.one_of(short_range, short_range, short_range, any_range), max_size=6)


def plain(ranges: list[tuple[int, int]]) -> frozenset[int]:
    """Give the same set as Python has it."""
    return frozenset(number for low, high in ranges for number in range(low, high + 1))


def as_ranges(numbers: frozenset[int]) -> tuple[tuple[int, int], ...]:
    """Give sorted ranges that don't touch, found number by number."""
    lows = sorted(number for number in numbers if number - 1 not in numbers)
    highs = sorted(number for number in numbers if number + 1 not in numbers)
    return tuple(zip(lows, highs, strict=True))


@given(port_ranges)
def test_a_set_holds_what_its_ranges_hold(ranges: list[tuple[int, int]]) -> None:
    """Ranges in any order, overlapping or touching, make the one canonical form of their union."""
    numbers, ports = plain(ranges), PortSet.of(ranges)

    assert ports.ranges == as_ranges(numbers)
    assert list(ports) == sorted(numbers)
    assert len(ports) == len(numbers)
    assert bool(ports) is bool(numbers)
    assert [number in ports for number in EDGES] == [number in numbers for number in EDGES]


@given(port_ranges, port_ranges)
def test_operators_are_those_of_sets(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    """Union, intersection and difference are those of Python's sets, in canonical form."""
    a, b = PortSet.of(one), PortSet.of(other)
    set_a, set_b = plain(one), plain(other)

    assert (a | b).ranges == as_ranges(set_a | set_b)
    assert (a & b).ranges == as_ranges(set_a & set_b)
    assert (a - b).ranges == as_ranges(set_a - set_b)


@given(port_ranges)
def test_complement_is_everything_else(ranges: list[tuple[int, int]]) -> None:
    """The complement holds just what the set does not."""
    assert (~PortSet.of(ranges)).ranges == as_ranges(UNIVERSE - plain(ranges))


@given(port_ranges, port_ranges)
def test_comparisons_are_those_of_sets(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    """Subset, superset and equality are those of Python's sets; equal sets hash alike."""
    a, b = PortSet.of(one), PortSet.of(other)
    set_a, set_b = plain(one), plain(other)

    assert (a <= b) is (set_a <= set_b)
    assert (a >= b) is (set_a >= set_b)
    assert (a == b) is (set_a == set_b)
    assert a & b <= a <= a | b
    assert hash(PortSet.of(one)) == hash(PortSet.of(reversed(one)))


@given(port_ranges, port_ranges, port_ranges)
def test_laws_of_the_algebra(
    one: list[tuple[int, int]], other: list[tuple[int, int]], third: list[tuple[int, int]]
) -> None:
    """De Morgan, distribution, double complement and the neutral sets hold."""
    a, b, c = PortSet.of(one), PortSet.of(other), PortSet.of(third)

    assert ~(a | b) == ~a & ~b
    assert a & (b | c) == (a & b) | (a & c)
    assert a | (b & c) == (a | b) & (a | c)
    assert ~~a == a
    assert (a | NONE, a & ALL, a & NONE, a | ALL) == (a, a, NONE, ALL)


@given(port_ranges.filter(bool))
def test_text_reads_back(ranges: list[tuple[int, int]]) -> None:
    """What a set prints reads back as the same set."""
    ports = PortSet.of(ranges)

    assert PortSet.parse(str(ports)) == ports


@pytest.mark.parametrize(
    ("text", "ranges", "printed"),
    [
        ("22", ((22, 22),), "22"),
        ("1024-65535", ((1024, 65535),), "1024-65535"),
        (" 22 , 80 - 90 ", ((22, 22), (80, 90)), "22,80-90"),
        ("80-90,22,23", ((22, 23), (80, 90)), "22-23,80-90"),
        ("1-10,5-20,21", ((1, 21),), "1-21"),
        ("7-7", ((7, 7),), "7"),
        ("0", ((0, 0),), "0"),
        ("65535", ((65535, 65535),), "65535"),
        ("all", ((0, 65535),), "0-65535"),
        (" ALL ", ((0, 65535),), "0-65535"),
        ("0-65535", ((0, 65535),), "0-65535"),
        ("0022", ((22, 22),), "22"),
    ],
)
def test_parse(text: str, ranges: tuple[tuple[int, int], ...], printed: str) -> None:
    """Ports, ranges and lists of them are read, and printed in one way."""
    ports = PortSet.parse(text)

    assert (ports.ranges, str(ports)) == (ranges, printed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not a port or a port range such as 1024-65535"),
        ("ssh", "'ssh' is not a port or a port range such as 1024-65535"),
        ("22,", "'' is not a port or a port range such as 1024-65535"),
        ("22,x", "'x' is not a port or a port range such as 1024-65535"),
        ("-1", "'-1' is not a port or a port range such as 1024-65535"),
        ("1-", "'1-' is not a port or a port range such as 1024-65535"),
        ("1-2-3", "'1-2-3' is not a port or a port range such as 1024-65535"),
        ("1.5", "'1.5' is not a port or a port range such as 1024-65535"),
        ("\u0663", "'\u0663' is not a port or a port range such as 1024-65535"),
        ("65536", "'65536' is not a port range within 0-65535"),
        ("1-65536", "'1-65536' is not a port range within 0-65535"),
        ("90-80", "'90-80' is not a port range within 0-65535"),
    ],
)
def test_parse_refuses(text: str, message: str) -> None:
    """Anything else is refused by a sentence that quotes the part that is wrong."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole message is compared below
        PortSet.parse(text)

    assert str(caught.value) == message


@pytest.mark.parametrize("wrong", [(-1, 5), (5, 4), (0, 65536)])
def test_of_refuses_what_is_no_range(wrong: tuple[int, int]) -> None:
    """A range that is reversed or leaves 0-65535 is refused, wherever it stands in the list."""
    with pytest.raises(ValueError, match=f"^{wrong[0]}-{wrong[1]} is not a port range within 0-65535$"):
        PortSet.of([(1, 2), wrong])


def test_single_and_constants() -> None:
    """One port, one range, everything, nothing, and the ports from which Linux dials."""
    assert PortSet.single(22).ranges == ((22, 22),)
    assert PortSet.single(22, 25).ranges == ((22, 25),)
    assert (len(ALL), len(NONE), bool(NONE), str(NONE)) == (65536, 0, False, "")
    assert PortSet.single(32768, 60999) == CLIENT_PORTS


def test_sets_are_values() -> None:
    """A set can't be changed, and equal ones are one key of a dictionary."""
    assert len({PortSet.of([(1, 2), (3, 4)]), PortSet.single(1, 4)}) == 1
    with pytest.raises(AttributeError):
        PortSet.single(1).ranges = ()  # type: ignore[misc]


fine_ranges = st.lists(st.integers(0, 3000).map(lambda low: (low, low + low % 3)), max_size=90, unique=True)


@given(fine_ranges, port_ranges, st.booleans())
def test_operators_where_one_set_has_many_ranges(
    fine: list[tuple[int, int]], coarse: list[tuple[int, int]], aligned: bool
) -> None:
    """Sets of very unlike numbers of ranges are joined, cut and compared like Python's sets."""
    other = [(low % 3010, min(low % 3010 + (high - low) % 500, 65535)) for low, high in coarse] if aligned else coarse
    a, b = PortSet.of(fine), PortSet.of(other)
    set_a, set_b = plain(fine), plain(other)

    assert (a | b).ranges == (b | a).ranges == as_ranges(set_a | set_b)
    assert (a & b).ranges == (b & a).ranges == as_ranges(set_a & set_b)
    assert (a - b).ranges == as_ranges(set_a - set_b)
    assert (b - a).ranges == as_ranges(set_b - set_a)
    assert (a <= b, b <= a) == (set_a <= set_b, set_b <= set_a)
    assert [number in a for number in (-1, *range(3010), 65536)] == [
        number in set_a for number in (-1, *range(3010), 65536)
    ]


small_range = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda ends: (min(ends), max(ends)))


@given(st.lists(st.tuples(small_range, st.integers(0, 20)), max_size=20), st.lists(small_range, max_size=20))
def test_first_holders(held: list[tuple[tuple[int, int], int]], asked: list[tuple[int, int]]) -> None:
    """Each range is given the lowest number among the ranges that hold it, whatever their order."""
    expected: dict[tuple[int, int], int] = {}
    for low, high in asked:
        numbers = [number for (start, end), number in held if start <= low and high <= end]
        if numbers:
            expected[low, high] = min(numbers)

    assert first_holders(held, asked) == expected
