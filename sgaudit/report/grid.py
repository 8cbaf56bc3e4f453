"""A matrix as a grid of signs, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.reach.verdict import Verdict
from sgaudit.report.terminal import Style, clip, display_width

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LARGEST = 24
"""Members up to which each of them has a row of its own."""
COLORS = {Verdict.OPEN: "green", Verdict.PARTIAL: "yellow", Verdict.BLOCKED: "red", Verdict.UNKNOWN: "blue"}
SIGNS = {
    Verdict.OPEN: ("\u00b7", "."),
    Verdict.PARTIAL: ("~", "~"),
    Verdict.BLOCKED: ("\u2717", "X"),
    Verdict.UNKNOWN: ("?", "?"),
}
MEANINGS = {
    Verdict.OPEN: "all open",
    Verdict.PARTIAL: "some open",
    Verdict.BLOCKED: "blocked",
    Verdict.UNKNOWN: "not known",
}


def sign(style: Style, verdict: Verdict | None) -> str:
    """Show one verdict; a pair that was not asked about is blank, a member with itself a dash."""
    if verdict is None:
        return " "
    return style.paint(style.sign(*SIGNS[verdict]), COLORS[verdict])


def legend(style: Style, used: Sequence[Verdict], of: str) -> str:
    """Explain the signs that were used, for the ports that the verdicts are about."""
    told = "   ".join(f"{sign(style, verdict)} {MEANINGS[verdict]}" for verdict in Verdict if verdict in used)
    return f"{told}   ({of})"


def square(style: Style, labels: Sequence[str], cell: Callable[[int, int], str]) -> list[str]:
    """
    Draw a grid with a row for each source and a column for each target.

    Args:
        style: where it is shown.
        labels: the names, sources and targets alike.
        cell: the sign for a pair of places in `labels`; one column wide on the screen.
    """
    count = len(labels)
    digits = len(str(count))
    room = max(8, min(style.width, 120) - count * (digits + 1) - digits - 4)
    names = [clip(style.safe(label), room) for label in labels]
    widest = max((display_width(name) for name in names), default=0)
    head = " " * (digits + 2 + widest) + "".join(f" {number:>{digits}}" for number in range(1, count + 1))
    lines = [style.paint(head.rstrip(), "dim")]
    for row, name in enumerate(names):
        cells = "".join(
            f" {' ' * (digits - 1)}{style.paint('-', 'dim') if row == column else cell(row, column)}"
            for column in range(count)
        )
        number = style.paint(f"{row + 1:>{digits}}", "dim")
        lines.append(f"{number}  {name}{' ' * (widest - display_width(name))}{cells}".rstrip())
    return lines
