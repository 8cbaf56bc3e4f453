"""What the terminal can show, and text from AWS made harmless for it."""

from __future__ import annotations

import textwrap
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgaudit.severity import Severity

CODES: Mapping[str, str] = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
}
SEVERITY_COLORS = {"error": "red", "warning": "yellow", "note": "blue"}
WIDEST = 120
NARROWEST = 40


@dataclass(frozen=True, slots=True)
class Style:
    """How to write for one output."""

    width: int = 80
    color: bool = False
    unicode: bool = False

    def paint(self, text: str, *looks: str) -> str:
        """Give text a look, where colors are shown."""
        if not self.color or not looks:
            return text
        return f"\x1b[{';'.join(CODES[look] for look in looks)}m{text}\x1b[0m"

    def severity(self, severity: Severity) -> str:
        """Write a severity in its color."""
        return self.paint(str(severity), "bold", SEVERITY_COLORS[severity])

    def sign(self, unicode: str, ascii_: str) -> str:
        """Choose what the output's encoding can show."""
        return unicode if self.unicode else ascii_

    def wrap(self, text: str, indent: str = "", hanging: str | None = None) -> str:
        """Break lines to the width; ids and port lists stay whole."""
        return textwrap.fill(
            self.safe(text),
            width=max(NARROWEST, min(self.width, WIDEST)),
            initial_indent=indent,
            subsequent_indent=indent if hanging is None else hanging,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def safe(self, text: str) -> str:
        """Make text that others wrote harmless: no control or direction characters; ASCII where needed."""
        text = "".join(_escaped(letter) if unicodedata.category(letter)[0] == "C" else letter for letter in text)
        return text if self.unicode else text.encode("ascii", "backslashreplace").decode("ascii")


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii") if letter != "\\" else letter


def display_width(text: str) -> int:
    """Count the columns that text takes: East Asian wide letters two, marks that combine none."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def clip(text: str, width: int, ellipsis: str = "..") -> str:
    """Cut text to a number of columns."""
    if display_width(text) <= width:
        return text
    taken, left = 0, width - len(ellipsis)
    for letter in text:
        left -= display_width(letter)
        if left < 0:
            break
        taken += 1
    return text[:taken] + ellipsis
