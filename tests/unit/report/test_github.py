"""Workflow commands and the step summary of GitHub Actions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.report import scans

COMMAND = re.compile(r"::(?P<command>error|warning|notice) title=(?P<title>[^:,]*)::(?P<message>.*)")


def commands(text: str) -> list[tuple[str, str, str]]:
    """Read lines as the runner does: a command at the start of a line, then properties, then data."""

    def plain(value: str) -> str:
        for code, letter in (("%3A", ":"), ("%2C", ","), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
            value = value.replace(code, letter)
        return value

    found = []
    for line in text.splitlines():
        match = COMMAND.fullmatch(line)
        assert match, line
        found.append((match["command"], plain(match["title"]), plain(match["message"])))
    return found


@pytest.mark.parametrize("name", scans.NAMES)
def test_every_line_is_a_command(name: str) -> None:
    """Every line is one annotation: the verdict, what was not read, then each finding with its level."""
    document = scans.document(name)
    levels = {"error": "error", "warning": "warning", "note": "notice"}
    verdict = "notice" if document["status"] == "pass" else "error"
    assert [(command, title.partition(":")[0]) for command, title, _ in commands(scans.text(name, "github"))] == [
        (verdict, "sgaudit"),
        *[("error", "sgaudit")] * len(document["coverage"]["denied"]),
        *((levels[item["severity"]], item["rule"]) for item in document["findings"]),
    ]


def test_whole_line() -> None:
    """An annotation says what is wrong, what to do and where."""
    assert commands(scans.text("self-reference-missing", "github"))[1] == (
        "error",
        "mesh-path-blocked: training admits no tcp 29500,32768-60999 from any member",
        (
            "No ingress permission of training (sg-03f1414036319825c) admits tcp 29500,32768-60999 from all 4 members; "
            "12 pairs can't connect. Being in the same group grants nothing by itself. Add to training "
            "(sg-03f1414036319825c) an ingress permission for tcp 29500,32768-60999 from the group itself. "
            "(arn:aws:ec2:us-east-1:111122223333:security-group/sg-03f1414036319825c)"
        ),
    )


def test_suppressed_is_not_annotated(tmp_path: Path) -> None:
    """What is suppressed has no annotation."""
    found = commands(scans.text("self-reference-missing", "github", *scans.suppressing(tmp_path)))
    assert [title for _, title, _ in found] == ["sgaudit"]


def test_step_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Markdown summary is appended to the file that GitHub names, after what other steps wrote."""
    path = tmp_path / "summary.md"
    path.write_text("before\n", encoding="utf-8")
    markdown = scans.text(scans.BROKEN, "markdown")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    scans.text(scans.BROKEN, "github")
    assert path.read_text(encoding="utf-8") == f"before\n{markdown}"
    scans.text(scans.BROKEN, "json")
    assert path.read_text(encoding="utf-8") == f"before\n{markdown}"


def test_exit_code() -> None:
    """The exit code is that of the scan."""
    assert [scans.scan(name, "github").exit_code for name in ("healthy", scans.BROKEN, scans.UNREAD)] == [0, 1, 4]
