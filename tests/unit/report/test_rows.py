"""CSV and JSON Lines, read by the readers of the standard library."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sgaudit.report.scan_csv import COLUMNS
from tests.unit.report import scans

SCHEMA = json.loads((scans.ROOT / "docs" / "schemas" / "scan.json").read_text(encoding="utf-8"))


def records(name: str, *more: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in scans.text(name, "jsonl", *more).splitlines()]


@pytest.mark.parametrize("name", scans.NAMES)
def test_lines_are_the_document(name: str) -> None:
    """The lines, put together, are the JSON format to the last key, and fit its schema."""
    head, *rest = records(name)
    for row in rest:
        kind = row.pop("kind")
        head.setdefault({"requirement": "requirements", "finding": "findings"}[kind], []).append(row)
    whole = {"requirements": [], "findings": [], **head}
    assert whole == scans.document(name)
    jsonschema.Draft202012Validator(SCHEMA).validate(whole)


@pytest.mark.parametrize("name", scans.NAMES)
def test_rows(name: str) -> None:
    """The first row is the scan as a whole; then come a row for each need and one for each finding."""
    document = scans.document(name)
    head, *rows = csv.DictReader(io.StringIO(scans.text(name, "csv"), newline=""))
    assert tuple(head) == COLUMNS
    assert (head["kind"], head["status"], head["pairs"]) == (
        "scan",
        document["status"],
        str(document["summary"]["pairs"]),
    )
    assert [row["kind"] for row in rows] == [
        *["requirement"] * len(document["requirements"]),
        *["finding"] * len(document["findings"]),
    ]
    assert [
        (row["name"], row["severity"], row["message"], row["resource_id"], row["fingerprint"], row["account_id"])
        for row in rows
        if row["kind"] == "finding"
    ] == [
        (
            item["rule"],
            item["severity"],
            item["message"],
            item["resource"]["id"],
            item["fingerprint"],
            "111122223333",
        )
        for item in document["findings"]
    ]


@pytest.mark.parametrize(
    ("name", "statuses"),
    [
        ("healthy", ["pass", "satisfied", "satisfied"]),
        ("self-reference-missing", ["fail", "unsatisfied", "unsatisfied", "active"]),
        (scans.UNREAD, ["incomplete", "unknown", "unknown", "active"]),
    ],
)
def test_statuses(name: str, statuses: list[str]) -> None:
    """Whatever could not be judged is never taken for satisfied."""
    rows = list(csv.DictReader(io.StringIO(scans.text(name, "csv"), newline="")))
    assert [row["status"] for row in rows] == statuses


def test_suppressed(tmp_path: Path) -> None:
    """What is suppressed says so."""
    rows = csv.DictReader(io.StringIO(scans.text("self-reference-missing", "csv", *scans.suppressing(tmp_path))))
    assert [row["status"] for row in rows][-1] == "suppressed"
