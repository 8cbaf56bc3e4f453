"""Every example gives the verdict that it promises."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sgaudit.cli import main

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/snapshot.json"))
STATUS = {0: "pass", 1: "fail", 4: "incomplete"}
VERDICTS = ("open", "partial", "blocked", "unknown")

every_example = pytest.mark.parametrize("name", NAMES)


def expected(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EXAMPLES / name / "expected.json").read_text(encoding="utf-8"))
    return found


def scan(name: str, monkeypatch: pytest.MonkeyPatch) -> Result:
    monkeypatch.chdir(ROOT)
    return CliRunner().invoke(main, [*expected(name)["command"], "-f", "json"])


def readme(name: str) -> str:
    return (EXAMPLES / name / "README.md").read_text(encoding="utf-8")


def test_there_are_examples_and_each_is_complete() -> None:
    """Each folder of examples/ holds its three files and nothing else, and there are enough of them."""
    folders = {
        path.name: sorted(child.name for child in path.iterdir()) for path in EXAMPLES.iterdir() if path.is_dir()
    }
    assert folders == {name: ["README.md", "expected.json", "scan.json", "scan.txt", "snapshot.json"] for name in NAMES}
    assert len(NAMES) >= 16


@every_example
def test_verdict(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code, status, pairs by verdict and the rules that find something are as the example says."""
    wanted = expected(name)
    result = scan(name, monkeypatch)
    document = json.loads(result.stdout)
    assert {
        "exit_code": result.exit_code,
        "status": document["status"],
        "pairs": {verdict: document["summary"][verdict] for verdict in VERDICTS},
        "rules": sorted({finding["rule"] for finding in document["findings"]}),
    } == {
        "exit_code": wanted["exit_code"],
        "status": STATUS[wanted["exit_code"]],
        "pairs": wanted["pairs"],
        "rules": wanted["rules"],
    }


@every_example
def test_pairs_add_up(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every ordered pair of members has exactly one verdict."""
    summary = json.loads(scan(name, monkeypatch).stdout)["summary"]
    members = summary["members"]
    assert summary["pairs"] == members * (members - 1) == sum(summary[verdict] for verdict in VERDICTS)


@every_example
def test_text_tells_the_verdict(name: str) -> None:
    """The text of an example names its status, its exit code, its pairs, its command and its rules."""
    wanted = expected(name)
    pairs = wanted["pairs"]
    text = readme(name)
    verdict = f"**Verdict: {STATUS[wanted['exit_code']]}** (exit code {wanted['exit_code']}): "
    verdict += f"{sum(pairs.values())} ordered pairs, " + ", ".join(f"{pairs[word]} {word}" for word in VERDICTS)
    assert re.findall(r"^\*\*Verdict.*$", text, re.MULTILINE) == [f"{verdict}."]
    assert re.findall(r"^sgaudit .*$", text, re.MULTILINE) == [f"sgaudit {' '.join(wanted['command'])}"]
    findings = re.search(r"Findings\s+of\s+([^.]*)\.", text)
    assert re.findall(r"`([a-z-]+)`", findings[1] if findings else "") == wanted["rules"]


@every_example
def test_text_is_short(name: str) -> None:
    """A text is read at one glance: a title, what is wrong, the command and the cure in at most 25 lines."""
    text = readme(name)
    assert re.findall(r"^#+ (.*)$", text, re.MULTILINE)[1:] == ["What is wrong", "Scan it", "Cure"]
    assert len(text.splitlines()) <= 25


def test_overview_lists_every_example() -> None:
    """The table of examples/README.md has one line for each example, with its status and its open pairs."""
    overview = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| \[([a-z0-9-]+)\]\(([a-z0-9-]+)/README\.md\) \| .+ \| (\w+) \| (\d+) of (\d+) \|$", overview, re.MULTILINE
    )
    assert sorted(rows) == [
        (
            name,
            name,
            STATUS[expected(name)["exit_code"]],
            str(expected(name)["pairs"]["open"]),
            str(sum(expected(name)["pairs"].values())),
        )
        for name in NAMES
    ]
