"""The progress line: on a terminal alone, never longer than it, and gone at the end."""

from __future__ import annotations

import io
import os
import shutil

import pytest

from sgaudit.aws.progress import SILENT, Progress, TerminalProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((40, 24)))


def run(progress: Progress) -> None:
    progress.step("2,000 instances, page 2", 0, 1)
    progress.throttled()
    progress.step("3 subnets", 5, 9)
    progress.close()
    progress.close()


def test_terminal() -> None:
    """Each text covers the one before, cut to the width; the end leaves an empty line."""
    terminal = Terminal()

    run(TerminalProgress(terminal))

    assert terminal.getvalue().split("\r") == [
        "",
        "reading from AWS [0/1]: 2,000 instances",
        "reading from AWS [0/1]: 2,000 instances",
        "reading from AWS [5/9]: 3 subnets      ",
        " " * 33,
        "",
    ]


def test_throttled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for AWS is told behind what was read last, and before anything was."""
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((120, 24)))
    terminal = Terminal()
    progress = TerminalProgress(terminal)

    progress.throttled()
    progress.step("3 subnets", 5, 9)
    progress.throttled()

    assert [text.rstrip() for text in terminal.getvalue().split("\r")] == [
        "",
        "reading from AWS (throttled by AWS, waiting)",
        "reading from AWS [5/9]: 3 subnets",
        "reading from AWS [5/9]: 3 subnets (throttled by AWS, waiting)",
    ]


def test_no_terminal() -> None:
    """A pipe or a file gets nothing."""
    stream = io.StringIO()

    run(TerminalProgress(stream))
    run(SILENT)

    assert stream.getvalue() == ""
