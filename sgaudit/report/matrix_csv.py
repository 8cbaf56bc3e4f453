"""A matrix for spreadsheets."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from sgaudit.report.matrix_json import interface_id
from sgaudit.report.terminal import Style

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgaudit.report.pairs import View

COLUMNS = (
    "source",
    "target",
    "source_address",
    "target_address",
    "open",
    "verdict",
    "source_instance",
    "source_name",
    "target_instance",
    "target_name",
)


def render(view: View) -> Iterator[str]:
    """Write a line for each ordered pair of interfaces."""
    yield line(COLUMNS)
    for source, target, answer in view.pairs():
        yield line(
            (
                interface_id(source),
                interface_id(target),
                source.address,
                target.address,
                str(answer.open),
                str(answer.verdict),
                source.instance.instance_id,
                source.instance.name,
                target.instance.instance_id,
                target.instance.name,
            )
        )


def line(cells: Sequence[str]) -> str:
    """
    Write one line. Control and direction characters are written as escapes.

    A cell that a spreadsheet would run as a formula gets an apostrophe before it.
    """
    out = io.StringIO()
    safe = (Style(unicode=True).safe(cell) for cell in cells)
    csv.writer(out, lineterminator="\n").writerow(
        f"'{cell}" if cell.startswith(("=", "+", "-", "@")) else cell for cell in safe
    )
    return out.getvalue()
