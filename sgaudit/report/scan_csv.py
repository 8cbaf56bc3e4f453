"""A scan for spreadsheets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgaudit.report import scan_json
from sgaudit.report.matrix_csv import line
from sgaudit.report.scan_table import verdict_line
from sgaudit.report.terminal import Style
from sgaudit.report.told import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sgaudit.report.told import Told

COLUMNS = (
    "kind",
    "status",
    "name",
    "severity",
    "title",
    "message",
    "resource_type",
    "resource_id",
    "pairs",
    "fix",
    "fingerprint",
    "account_id",
    "region",
)


def render(told: Told) -> Iterator[str]:
    """Write a line for the scan as a whole, one for each need and one for each finding."""
    document = scan_json.document(told.audit)
    place = {"account_id": told.account, "region": told.region}
    yield line(COLUMNS)
    for row in _rows(told, document):
        yield line([clean(str({**place, **row}.get(column, ""))) for column in COLUMNS])


def _rows(told: Told, document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {
        "kind": "scan",
        "status": document["status"],
        "title": verdict_line(told.audit, Style()),
        "message": ", ".join(f"not read: {name}" for name in document["coverage"]["denied"]),
        "pairs": document["summary"]["pairs"],
    }
    for need in document["requirements"]:
        status = "unsatisfied" if need["unsatisfied"] else "unknown" if need["unknown"] else "satisfied"
        yield {
            "kind": "requirement",
            "status": status,
            "name": f"{need['policy']} {need['need']}",
            "title": f"{need['protocol']} {need['ports']}".strip(),
            "message": f"{need['satisfied']} open, {need['unsatisfied']} not open, {need['unknown']} unknown",
            "pairs": need["pairs"],
        }
    for finding in document["findings"]:
        yield {
            **{name: finding[name] for name in ("severity", "title", "message", "pairs", "fix", "fingerprint")},
            "kind": "finding",
            "status": "suppressed" if finding["suppressed"] else "active",
            "name": finding["rule"],
            "resource_type": finding["resource"]["type"],
            "resource_id": finding["resource"]["id"],
        }
