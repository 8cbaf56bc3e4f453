"""A scan as JSON Lines: the objects of the JSON format, one a line, each with what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.report import scan_json
from sgaudit.report.told import dump

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.report.told import Told


def render(told: Told) -> Iterator[str]:
    """Write the scan without its lists, then each need, then each finding."""
    document = scan_json.document(told.audit)
    needs, findings = document.pop("requirements"), document.pop("findings")
    rows = [
        document,
        *({"kind": "requirement", **need} for need in needs),
        *({"kind": "finding", **finding} for finding in findings),
    ]
    for row in rows:
        yield dump(row, indent=None) + "\n"
