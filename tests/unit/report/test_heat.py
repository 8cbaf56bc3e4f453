"""The heat map of a large cluster in the terminal."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgaudit.policy.load import DEFAULT, load
from sgaudit.policy.resolve import resolve
from sgaudit.ports import PortSet
from sgaudit.reach.matrix import build
from sgaudit.reach.nodes import indexes_of
from sgaudit.reach.verdict import Verdict, Verdicts
from sgaudit.report import grid, heat, scan_table
from sgaudit.report.terminal import Style
from sgaudit.rules.audit import audit
from sgaudit.selection import Interfaces, Selection, select
from sgaudit.snapshot import parse
from tests.builders import group, instance, interface, node, row, snapshot

TERMINAL = Style(width=80, color=True, unicode=True)


def verdicts(sizes: dict[str, int], *, second: bool = False) -> Verdicts:
    """Judge members in groups that admit themselves only; with `second`, each has an interface in its group twice."""
    members, number = [], 0
    for name, size in sizes.items():
        for _ in range(size):
            number += 1
            if second:
                one = interface(f"m{number}", f"10.0.0.{2 * number + 10}", groups=[f"sg-{name}"])
                two = interface(
                    f"m{number}b", f"10.0.0.{2 * number + 11}", groups=[f"sg-{name}"], of=f"m{number}", device=1
                )
                members.append(instance(one, two))
            else:
                members.append(node(f"m{number}", f"10.0.0.{number + 10}", groups=[f"sg-{name}"]))
    groups = [group(f"sg-{name}", ingress=[row(groups=[f"sg-{name}"])]) for name in sizes]
    read = parse(snapshot(members, groups))
    picked = select(read, Selection(everything=True, interfaces=Interfaces.ALL if second else Interfaces.PRIMARY))
    matrix = build(read, picked)
    everyone = matrix.node_set.everyone
    return matrix.judge("tcp", PortSet.parse("1-100"), everyone, everyone)


def plain(verdicts: Verdicts) -> list[list[int]]:
    """Give the color of each cell by asking about every pair, with a cell for each node."""
    count = len(verdicts.nodes)
    slices = heat.cut(verdicts, count)
    order = [next(iter(indexes_of(one))) for one in slices]
    found = []
    for source in order:
        answers = [verdicts.verdict(source, target) for target in order]
        found.append([heat.color(Counter({answer: 1} if answer else {})) for answer in answers])
    return found


SIZES = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 9), min_size=1)


@given(SIZES, st.booleans(), st.integers(1, 12))
def test_every_pair_is_counted_once(sizes: dict[str, int], second: bool, most: int) -> None:
    """However the members are cut, the cells hold every ordered pair with its verdict once, and no other."""
    judged = verdicts(sizes, second=second)
    slices = heat.cut(judged, most)
    cells = heat.counted(judged, slices)
    total = {verdict: sum(cell[verdict] for line in cells for cell in line) for verdict in Verdict}
    assert total == dict(judged.counts)
    assert sum(one.bit_count() for one in slices) == len(judged.nodes)
    assert len(slices) == min(most, len(judged.nodes))
    sizes_of = [one.bit_count() for one in slices]
    assert max(sizes_of) - min(sizes_of) <= 1


@pytest.mark.parametrize("second", [False, True])
def test_cells_are_the_verdicts(second: bool) -> None:
    """With a cell for each node the colors are those of the pairs."""
    judged = verdicts({"a": 3, "b": 4}, second=second)
    cells = heat.counted(judged, heat.cut(judged, len(judged.nodes)))
    assert [[heat.color(cell) for cell in line] for line in cells] == plain(judged)


@pytest.mark.parametrize(
    ("counts", "shade"),
    [
        ({}, heat.NOTHING),
        ({Verdict.OPEN: 5}, heat.GREEN),
        ({Verdict.OPEN: 9, Verdict.BLOCKED: 1}, heat.LIME),
        ({Verdict.OPEN: 8, Verdict.BLOCKED: 1}, heat.ORANGE),
        ({Verdict.OPEN: 1, Verdict.PARTIAL: 1}, heat.ORANGE),
        ({Verdict.OPEN: 1, Verdict.PARTIAL: 2}, heat.VERMILION),
        ({Verdict.BLOCKED: 3}, heat.RED),
        ({Verdict.UNKNOWN: 1, Verdict.BLOCKED: 1}, heat.ORANGE),
        ({Verdict.UNKNOWN: 1, Verdict.OPEN: 9}, heat.BLUE),
    ],
)
def test_color(counts: dict[Verdict, int], shade: int) -> None:
    """A cell is colored by the share of its pairs that are not open; what is not known is never green."""
    assert heat.color(Counter(counts)) == shade


def test_lines() -> None:
    """Two rows share a line; the last one stands alone where their number is odd; the legend fits 80 columns."""
    head, *rows, legend = heat.lines(verdicts({"a": 2, "b": 1}), TERMINAL)
    both = f"\x1b[38;5;{heat.RED}m{heat.FULL}\x1b[0m"
    assert head == "all members by subnet and security groups, up to 1 in a row or column: from (row) to (column)"
    assert rows == [
        f"  \x1b[38;5;{heat.GREEN}m{heat.LOWER}\x1b[0m\x1b[38;5;{heat.GREEN}m{heat.UPPER}\x1b[0m{both}",
        f"  \x1b[38;5;{heat.RED}m{heat.UPPER}\x1b[0m\x1b[38;5;{heat.RED}m{heat.UPPER}\x1b[0m ",
    ]
    assert len(re.sub(r"\x1b\[[\d;]*m", "", legend)) <= 80


@pytest.mark.parametrize("width", [40, 80, 120])
def test_fits(width: int) -> None:
    """No line of the map is wider than the terminal."""
    judged = verdicts(dict.fromkeys("abc", 40))
    rows = list(heat.lines(judged, Style(width=width, color=True, unicode=True)))[1:-1]
    assert {len(re.sub(r"\x1b\[[\d;]*m", "", line)) for line in rows} == {2 + min(width - 4, heat.MOST_CELLS)}


@pytest.mark.parametrize(
    ("style", "shown"),
    [(TERMINAL, True), (Style(width=80, unicode=True), False), (Style(width=80, color=True), False)],
)
def test_only_for_terminals(style: Style, shown: bool) -> None:
    """A scan of many members has the map where colors and blocks can be shown, and nowhere else."""
    names = [f"m{number}" for number in range(grid.LARGEST + 1)]
    members = [node(name, f"10.0.0.{number + 10}") for number, name in enumerate(names)]
    read = parse(snapshot(members, [group()]))
    selection = Selection(everything=True)
    picked = select(read, selection)
    result = audit(read, selection, picked, resolve((load(DEFAULT),), picked))
    assert (heat.FULL in "".join(scan_table.render(result, style))) is shown
