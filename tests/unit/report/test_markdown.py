"""Markdown, read by a parser of GitHub's dialect."""

from __future__ import annotations

from pathlib import Path

import pytest

from sgaudit.report.markdown import escape
from tests.unit.report import scans

markdown_it = pytest.importorskip("markdown_it", reason="markdown-it-py (extra test) is not installed")
pytest.importorskip("linkify_it", reason="linkify-it-py (extra test) is not installed")


def tables(text: str) -> list[list[str]]:
    """Give the cells of each row of each table, as a reader sees them."""
    rows: list[list[str]] = []
    for block in markdown_it.MarkdownIt("gfm-like").parse(text):
        if block.type == "tr_open":
            rows.append([])
        elif block.type == "inline" and rows and block.level > 3:
            rows[-1].append("".join(child.content for child in block.children or []))
    return rows


@pytest.mark.parametrize("name", scans.NAMES)
def test_tables(name: str) -> None:
    """Each need and each finding is one row with all its cells, and the texts are those of the scan."""
    document, text = scans.document(name), scans.text(name, "markdown")
    rows = tables(text)
    needs = [row for row in rows if len(row) == 7][1:]
    found = [row for row in rows if len(row) == 5][1:]
    assert [(row[0], row[1], row[3]) for row in needs] == [
        (item["policy"], item["need"], f"{item['pairs']:,}") for item in document["requirements"]
    ]
    assert [(row[0], row[1], row[2], f"{row[3]} {row[4]}") for row in found] == [
        (item["severity"], item["rule"], item["resource"]["id"], item["message"]) for item in document["findings"]
    ]
    assert len(rows) == len(needs) + len(found) + bool(needs) + bool(found)


def test_suppressed(tmp_path: Path) -> None:
    """What is suppressed is a row that says so and why."""
    rows = tables(scans.text("self-reference-missing", "markdown", *scans.suppressing(tmp_path)))
    assert rows[-1] == [
        "suppressed error",
        "mesh-path-blocked",
        "sg-03f1414036319825c",
        "training admits no tcp 29500,32768-60999 from any member",
        'known <&"> | x (us, until 9999-12-31)',
    ]


def test_not_read() -> None:
    """What AWS refused stands above the tables."""
    assert "- **not read:** DescribeNetworkAcls (UnauthorizedOperation)\n" in scans.text(scans.UNREAD, "markdown")


@pytest.mark.parametrize(
    "text",
    [
        "<b>x</b>",
        "*x* _x_ **x** `x` ~~x~~",
        "[x](http://evil.example)",
        "![x](y)",
        "http://evil.example https://evil.example",
        "www.evil.example WWW.evil.example",
        "a@evil.example @octocat",
        "a | b \\| c",
        "&lt;b&gt; &amp;",
        "${x} $y$ {z}",
        "# x",
        "10.0.0.0/8 tcp 22, fd00::/8",
    ],
)
def test_escape(text: str) -> None:
    """What others wrote is shown as it is, and is nothing but text."""
    inline = markdown_it.MarkdownIt("gfm-like").parse(f"x {escape(text)}")[1].children
    assert {token.type for token in inline} <= {"text", "text_special"}
    assert "".join(token.content for token in inline) == f"x {text}"
