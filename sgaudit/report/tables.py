"""Tables of text; the only place that knows tabulate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tabulate import tabulate

if TYPE_CHECKING:
    from collections.abc import Sequence


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """
    Align rows under their headers.

    Args:
        headers: one for each column.
        rows: texts; nothing is read as a number.
        right: the columns that are aligned to the right.
    """
    align = ["right" if column in right else "left" for column in range(len(headers))]
    # tabulate would print a tag of "1e5" as 100000.
    text = tabulate(rows, headers=headers, tablefmt="simple", disable_numparse=True, colalign=align if rows else None)
    return [line.rstrip() for line in text.splitlines()]
