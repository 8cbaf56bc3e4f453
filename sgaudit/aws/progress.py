"""Telling a waiting user how far the reading is."""

from __future__ import annotations

import shutil
import threading
from typing import Protocol, TextIO


class Progress(Protocol):
    """What the reader tells while it works. Calls come from several threads."""

    def step(self, text: str, done: int, total: int) -> None:
        """Say what has just been read, and how many of the reads that were begun are finished."""

    def throttled(self) -> None:
        """Say that AWS asked for patience and the reader waits."""

    def close(self) -> None:
        """End; may be called more than once."""


class SilentProgress:
    """Progress that nobody sees."""

    def step(self, text: str, done: int, total: int) -> None:
        """Do nothing."""

    def throttled(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


SILENT: Progress = SilentProgress()


class TerminalProgress:
    """One line that is written over and over, and taken away at the end; nothing when there is no terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._enabled = stream.isatty()
        self._lock = threading.Lock()
        self._last = ""
        self._shown = 0

    def step(self, text: str, done: int, total: int) -> None:
        """Show what has just been read."""
        self._last = f"reading from AWS [{done}/{total}]: {text}"
        self._show(self._last)

    def throttled(self) -> None:
        """Show that AWS asked for patience."""
        self._show(f"{self._last or 'reading from AWS'} (throttled by AWS, waiting)")

    def close(self) -> None:
        """Take the line away."""
        self._show("")

    def _show(self, text: str) -> None:
        if not self._enabled:
            return
        with self._lock:
            if not text and not self._shown:
                return
            text = text[: shutil.get_terminal_size().columns - 1]
            blank = " " * (self._shown - len(text))
            self._stream.write(f"\r{text}{blank}" + ("" if text else "\r"))
            self._stream.flush()
            self._shown = len(text)
