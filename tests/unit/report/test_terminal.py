"""Text is cut to the columns that it takes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sgaudit.report.terminal import clip, display_width

MARK, WIDE = "\u0301", "\u8a9e"


@given(st.text(f"ab{MARK}{WIDE}", max_size=12), st.integers(0, 14), st.sampled_from(("..", "\u2026")))
def test_clip(text: str, width: int, ellipsis: str) -> None:
    """What fits stays; else as much of the beginning is left as fits together with the ellipsis."""
    starts = [text[:length] for length in range(len(text) + 1)]
    fitting = [start for start in starts if display_width(start) + len(ellipsis) <= width]
    longest = fitting[-1] if fitting else ""

    assert clip(text, width, ellipsis) == (text if display_width(text) <= width else longest + ellipsis)
