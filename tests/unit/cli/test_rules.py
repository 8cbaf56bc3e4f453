"""`sgaudit rules`: the list, one rule in words, and both for programs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sgaudit.cli import main
from sgaudit.rules import RULES

IDS = [rule.id for rule in RULES]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["rules", *arguments])


def document(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments).stdout)
    return found


@pytest.mark.parametrize("arguments", [[], ["list"]], ids=["no word", "list"])
def test_list(arguments: list[str]) -> None:
    """Without a word, and with `list`, every rule has a line with its severity and title."""
    result = run(*arguments)
    head, _, *lines = result.stdout.splitlines()
    assert (result.exit_code, result.stderr) == (0, "")
    assert head.split() == ["rule", "severity", "title"]
    assert [re.split(r" {2,}", line) for line in lines] == [[rule.id, rule.severity, rule.title] for rule in RULES]


@pytest.mark.parametrize("arguments", [["-f", "json"], ["list", "-f", "json"]], ids=["no word", "list"])
def test_list_for_programs(arguments: list[str]) -> None:
    """The list as JSON has all that is written about each rule."""
    found = document(*arguments)
    assert (found["schema_version"], found["kind"]) == (1, "rules")
    assert found["rules"] == [
        {
            "id": rule.id,
            "severity": str(rule.severity),
            "title": rule.title,
            "why": rule.why,
            "remedy": rule.remedy,
            "sources": list(rule.sources),
        }
        for rule in RULES
    ]


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_show(rule: Any) -> None:
    """One rule is told with why, what to do and its sources, each word of them."""
    result = run("show", rule.id)
    assert (result.exit_code, result.stderr) == (0, "")
    said = " ".join(result.stdout.split())
    parts = [f"{rule.id} ({rule.severity}): {rule.title}", "Why", rule.why, "What to do", rule.remedy, "Sources"]
    wanted = " ".join([*parts, *rule.sources])
    assert said == " ".join(wanted.encode("ascii", "backslashreplace").decode().split())
    assert max(map(len, result.stdout.splitlines())) <= 120


def test_show_for_programs() -> None:
    """One rule as JSON is its entry of the list."""
    found = document("show", "no-route", "-f", "json")
    listed = next(item for item in document("-f", "json")["rules"] if item["id"] == "no-route")
    assert found == {"schema_version": 1, "kind": "rule", **listed}


def test_to_a_file(tmp_path: Path) -> None:
    """The list goes to a file like any result."""
    path = tmp_path / "rules.json"
    assert run("-f", "json", "-o", str(path)).stdout == ""
    assert json.loads(path.read_text(encoding="utf-8"))["kind"] == "rules"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mesh-path-block", "'mesh-path-block': no rule has this id (did you mean mesh-path-blocked?)"),
        ("\x1b[31m", "'\\x1b[31m': no rule has this id"),
    ],
)
def test_unknown(name: str, message: str) -> None:
    """An unknown id is an error with the nearest one."""
    result = run("show", name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [f"error: {message}", "hint: `sgaudit rules` lists them"]
