"""Whatever is done to a policy's text, it is read or refused in lines that name the file."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from sgaudit.errors import PolicyError
from sgaudit.policy.load import shipped, shipped_text
from sgaudit.policy.parse import parse
from sgaudit.policy.source import Source

TEXTS = [shipped_text(name) for name in shipped()]
SCRAPS = [
    "\t",
    "\n",
    ": ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "&a",
    "*a",
    "!!x",
    "'",
    '"',
    "#",
    "|",
    "%",
    "${",
    "\x1b",
    "é",
]
LINE = re.compile(r"f\.yaml:[1-9][0-9]*:[1-9][0-9]*: \S.*")


@st.composite
def spoilt(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 30)))
        text = text[:start] + draw(st.sampled_from([*SCRAPS, ""]) | st.text(max_size=5)) + text[end:]
    return text


def judged(text: str) -> list[str]:
    """Give the lines of the refusal; none when the policy is read."""
    try:
        parse(Source(text, "f.yaml", None, ("f.yaml",)))
    except PolicyError as error:
        return error.message.split("\n")
    return []


@given(spoilt())
@example("\x85: 1")
@example("a: 1\r\nb: [\r\n")
def test_spoilt_text(text: str) -> None:
    """A spoilt policy is read, or refused in printable lines with file, line and column."""
    lines = judged(text)
    assert [line for line in lines if not (LINE.fullmatch(line) and line.isprintable())] == []


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    """So is any text at all, and none of it is a policy."""
    lines = judged(text)
    assert lines
    assert [line for line in lines if not (LINE.fullmatch(line) and line.isprintable())] == []
