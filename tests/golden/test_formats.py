"""Whole scans in each format; SGAUDIT_GOLDEN=write writes them anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from sgaudit.report.formats import FORMATS
from tests.golden.test_examples import golden, run, scan_of

FOLDER = Path(__file__).parent / "formats"
NAMES = ("acls-not-readable", "healthy", "one-way-groups")
"""One that is incomplete, one that passes, one that fails with errors and a warning."""
ENDINGS = {item.name: item.endings[0] if item.endings else f".{item.name}" for item in FORMATS}


@pytest.mark.parametrize("form", [item.name for item in FORMATS if item.name not in ("table", "json", "html")])
@pytest.mark.parametrize("name", NAMES)
def test_format(name: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scan of an example says to the letter what is kept in each format."""
    command = [word for word in scan_of(name) if word not in ("-f", "json")]
    result = run(monkeypatch, [*command, "-f", form])

    assert golden(FOLDER / f"{name}{ENDINGS[form]}", result.stdout) == result.stdout
