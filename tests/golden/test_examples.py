"""Whole outputs for the examples, kept beside them; SGAUDIT_GOLDEN=write writes them anew."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sgaudit.cli import main

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/snapshot.json"))
MATRICES = (
    "acl-forgets-way-back",
    "head-and-compute-groups",
    "ipv6-cluster-ipv4-rules",
    "middlebox-cidr",
    "prefix-list-outlier",
    "two-interfaces-one-subnet",
)
"""Examples whose matrix is kept as well."""


def run(monkeypatch: pytest.MonkeyPatch, arguments: list[str], width: int = 100) -> Result:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", str(width))
    return CliRunner().invoke(main, arguments)


def golden(path: Path, found: str) -> str:
    """Read what is expected, or write what was found."""
    if os.environ.get("SGAUDIT_GOLDEN") == "write":
        path.write_text(found, encoding="utf-8")
    return path.read_text(encoding="utf-8")


def scan_of(name: str) -> list[str]:
    expected = json.loads((ROOT / "examples" / name / "expected.json").read_text(encoding="utf-8"))
    command: list[str] = expected["command"]
    assert command[0] == "scan"
    return command


@pytest.mark.parametrize("name", NAMES)
def test_scan_as_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scan of an example says to the letter what is kept beside it."""
    result = run(monkeypatch, scan_of(name))

    assert golden(ROOT / "examples" / name / "scan.txt", result.stdout) == result.stdout


@pytest.mark.parametrize("name", NAMES)
def test_scan_as_json(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same as JSON."""
    command = [word for word in scan_of(name) if word not in ("-f", "json")]
    result = run(monkeypatch, [*command, "-f", "json"])

    assert golden(ROOT / "examples" / name / "scan.json", result.stdout) == result.stdout


@pytest.mark.parametrize("form", ["table", "json", "csv"])
@pytest.mark.parametrize("name", MATRICES)
def test_matrix(name: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The matrix of an example is the kept one in each format."""
    command = ["matrix", *(word for word in scan_of(name)[1:] if word not in ("-f", "json")), "-f", form]
    result = run(monkeypatch, command + (["--pairs"] if form == "json" else []))

    ending = {"table": "txt"}.get(form, form)
    assert golden(ROOT / "tests" / "golden" / "matrix" / f"{name}.{ending}", result.stdout) == result.stdout


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", NAMES)
def test_lines_fit_the_terminal(name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No line of prose is wider than the terminal; a table may be where a name or a port list in it is."""
    result = run(monkeypatch, scan_of(name), width)
    prose = [
        line for line in result.stdout.splitlines() if not line.startswith(("policy ", "---")) and "  " not in line
    ]

    assert [line for line in prose if len(line) > width] == []


@pytest.mark.parametrize("name", NAMES)
def test_plain_ascii_without_a_terminal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is piped is ASCII without colors."""
    result = run(monkeypatch, scan_of(name))

    assert result.stdout.isascii()
    assert "\x1b" not in result.stdout
