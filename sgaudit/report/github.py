"""A scan as annotations of GitHub Actions: workflow commands on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.report.scan_table import verdict_line
from sgaudit.report.terminal import Style
from sgaudit.report.told import PRODUCT, clean, full_message
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.report.told import Told

SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
"""Names the file to which a step appends its summary in Markdown."""
COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
VERDICTS = {"pass": "notice", "fail": "error", "incomplete": "error"}


def render(told: Told) -> Iterator[str]:
    """Write the verdict, then each finding that is not suppressed, the gravest first: GitHub shows only a few."""
    yield _annotation(VERDICTS[told.audit.status], PRODUCT, verdict_line(told.audit, Style()))
    for operation, code in sorted(told.audit.snapshot.denied.items()):
        yield _annotation("error", f"{PRODUCT}: not read", f"{operation}: {code}")
    for finding in told.audit.active:
        yield _annotation(
            COMMANDS[finding.severity],
            f"{finding.rule}: {finding.title}",
            f"{full_message(finding)} ({told.arn(finding.resource)})",
        )


def _annotation(command: str, title: str, message: str) -> str:
    return f"::{command} title={_property(title)}::{_data(message)}\n"


def _data(text: str) -> str:
    """Escape what the runner would read as its own; line ends are spelled out already."""
    return clean(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
