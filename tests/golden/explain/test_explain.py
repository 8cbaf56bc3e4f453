"""Whole outputs of `sgaudit explain` for examples, beside this file; SGAUDIT_GOLDEN=write writes them anew."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from sgaudit.cli import main

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
SCHEMA = json.loads((ROOT / "docs" / "schemas" / "explanation.json").read_text(encoding="utf-8"))

CASES: dict[str, tuple[str, list[str], int]] = {
    "return-path": ("acl-forgets-way-back", ["train-0", "train-2", "--port", "29500"], 1),
    "some-ports": ("acl-forgets-way-back", ["train-2", "train-0", "--port", "1024-65535"], 1),
    "open": ("healthy", ["train-0", "train-1", "--port", "29500,32768-60999"], 0),
    "deleted-group": ("source-group-deleted", ["train-0", "train-2", "--port", "29500"], 1),
    "stale-reference": ("peering-stale-reference", ["train-0", "train-2", "--port", "29500"], 1),
    "lost-reference": ("middlebox-group-reference", ["train-0", "train-2", "--port", "29500"], 1),
    "middlebox": ("middlebox-cidr", ["train-0", "train-2", "--port", "29500"], 4),
    "blackhole": ("route-blackhole", ["train-0", "train-2"], 1),
    "ping": ("peering-stale-reference", ["train-0", "train-2", "--protocol", "icmp", "--port", "8"], 0),
    "all-traffic": ("all-tcp-self", ["train-0", "train-1", "--protocol", "all"], 1),
    "from-the-world": ("open-to-the-world", ["203.0.113.9", "train-0", "--port", "22"], 1),
    "to-the-world": ("open-to-the-world", ["train-0", "203.0.113.9", "--port", "443"], 4),
}
"""Name to example, arguments and exit code."""
every_case = pytest.mark.parametrize("name", CASES)


def explain(name: str, monkeypatch: pytest.MonkeyPatch, *more: str, width: int = 100) -> Result:
    example, arguments, _ = CASES[name]
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", str(width))
    return CliRunner().invoke(main, ["explain", *arguments, "--snapshot", f"examples/{example}/snapshot.json", *more])


def golden(path: Path, found: str) -> str:
    """Read what is expected, or write what was found."""
    if os.environ.get("SGAUDIT_GOLDEN") == "write":
        path.write_text(found, encoding="utf-8")
    return path.read_text(encoding="utf-8")


@every_case
def test_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is the expected one to the letter, and the exit code tells the verdict."""
    result = explain(name, monkeypatch)
    assert result.stdout == golden(HERE / f"{name}.txt", result.stdout)
    assert (result.exit_code, result.stderr) == (CASES[name][2], "")


@every_case
def test_json(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The JSON is the expected one, and fits the schema."""
    result = explain(name, monkeypatch, "-f", "json")
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(result.stdout))
    assert result.stdout == golden(HERE / f"{name}.json", result.stdout)
    assert result.exit_code == CASES[name][2]


@pytest.mark.parametrize("width", [80, 120])
@every_case
def test_no_line_is_too_long(name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 80 and at 120 columns no line is longer than that."""
    lines = explain(name, monkeypatch, width=width).stdout.splitlines()
    assert [line for line in lines if len(line) > width] == []


def test_no_other_files() -> None:
    """Each file here belongs to a case."""
    found = {path.name for path in HERE.iterdir() if path.suffix in (".txt", ".json")}
    assert found == {f"{name}.{kind}" for name in CASES for kind in ("txt", "json")}
