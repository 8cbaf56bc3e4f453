"""The matrix of a large cluster as a heat map of half blocks, for terminals with colors."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from sgaudit.reach.nodes import bits_of, indexes_of
from sgaudit.reach.verdict import Verdict, own_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgaudit.reach.verdict import Verdicts
    from sgaudit.report.terminal import Style

MOST_CELLS = 64
"""Rows and columns at most: two rows share a line."""
GREEN, LIME, ORANGE, VERMILION, RED, BLUE = 34, 184, 214, 202, 160, 33
"""Of the 256 colors that terminals have."""
LEGEND = (
    (GREEN, "all open"),
    (LIME, "up to a tenth not"),
    (ORANGE, "up to half"),
    (VERMILION, "more"),
    (RED, "none open"),
    (BLUE, "not known"),
)
NOTHING = 0
UPPER, LOWER, FULL = "\u2580", "\u2584", "\u2588"
Counts = dict[Verdict, int]


def lines(verdicts: Verdicts, style: Style) -> Iterator[str]:
    """Draw it for a terminal with colors, then explain these; each cell stands for a number of members."""
    slices = cut(verdicts, max(8, min(style.width - 4, MOST_CELLS)))
    cells = [[color(counts) for counts in row] for row in counted(verdicts, slices)]
    most = max(some.bit_count() for some in slices)
    yield f"all members by subnet and security groups, up to {most} in a row or column: from (row) to (column)"
    for upper in range(0, len(cells), 2):
        lower: Sequence[int] = cells[upper + 1] if upper + 1 < len(cells) else [NOTHING] * len(slices)
        yield "  " + "".join(_cell(above, below) for above, below in zip(cells[upper], lower, strict=True))
    yield "  ".join(f"{_cell(shade, shade)} {meaning}" for shade, meaning in LEGEND)


def cut(verdicts: Verdicts, most: int) -> list[int]:
    """Cut the nodes, those that are alike side by side, into at most so many sets of nearly the same size."""
    nodes = verdicts.nodes
    alike = [(subnet, groups or ()) for subnet, groups in zip(nodes.subnet_index_of, nodes.group_set_of, strict=True)]
    order = sorted(range(len(nodes)), key=lambda index: (alike[index], index))
    count = min(most, len(order))
    edges = [len(order) * number // count for number in range(count + 1)]
    return [bits_of(order[first:last]) for first, last in pairwise(edges)]


def counted(verdicts: Verdicts, slices: Sequence[int]) -> list[list[Counts]]:
    """Count the ordered pairs between each two sets by verdict, those within one instance left out."""
    nodes = verdicts.nodes
    found: list[list[Counts]] = [[dict.fromkeys(Verdict, 0) for _ in slices] for _ in slices]
    for row in verdicts.rows:
        parts = [(place, some) for place, one in enumerate(slices) if (some := one & row.sources)]
        for verdict in Verdict:
            targets = row.of(verdict)
            if not targets:
                continue
            for column, other in enumerate(slices):
                if not (reached := targets & other):
                    continue
                size = reached.bit_count()
                for place, some in parts:
                    found[place][column][verdict] += some.bit_count() * size
            for place, some in parts:
                if nodes.one_each:
                    found[place][place][verdict] -= (some & targets).bit_count()
                else:
                    for index in indexes_of(some):
                        _leave_out(found[place], verdict, targets & own_nodes(nodes, index), slices)
    return found


def _leave_out(row: list[Counts], verdict: Verdict, own: int, slices: Sequence[int]) -> None:
    if own:
        for column, other in enumerate(slices):
            if same := own & other:
                row[column][verdict] -= same.bit_count()


def color(counts: Mapping[Verdict, int]) -> int:
    """Choose the color of a cell by how many of its pairs are not open; none where there is no pair."""
    pairs = sum(counts.values())
    failing = counts[Verdict.PARTIAL] + counts[Verdict.BLOCKED]
    if not failing:
        return BLUE if counts[Verdict.UNKNOWN] else GREEN if pairs else NOTHING
    if failing == pairs:
        return RED
    return LIME if failing * 10 <= pairs else ORANGE if failing * 2 <= pairs else VERMILION


def _cell(above: int, below: int) -> str:
    if above == below:
        codes, letter = f"38;5;{above}", FULL
    elif above and below:
        codes, letter = f"38;5;{above};48;5;{below}", UPPER
    else:
        codes, letter = f"38;5;{above or below}", UPPER if above else LOWER
    return f"\x1b[{codes}m{letter}\x1b[0m" if above or below else " "
