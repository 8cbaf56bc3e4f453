"""The baseline: written, read again, and refused when it is none."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sgaudit.config.baseline import HINT, Known, load, render
from sgaudit.errors import PolicyError

ONE = Known("0" * 32, "no-route", "rtb-1", "No route \u2192 there")
OTHER = Known("1" * 32, "mesh-path-blocked", "sg-2", "closed")
DOCS = Path(__file__).parents[3] / "docs" / "config.md"


def test_text() -> None:
    """A baseline is written by rule and resource, each finding once."""
    assert json.loads(render([ONE, OTHER, ONE], "2026-12-01T09:30:00+00:00")) == {
        "schema_version": 1,
        "kind": "baseline",
        "created": "2026-12-01T09:30:00+00:00",
        "findings": [
            {"fingerprint": "1" * 32, "rule": "mesh-path-blocked", "resource": "sg-2", "title": "closed"},
            {"fingerprint": "0" * 32, "rule": "no-route", "resource": "rtb-1", "title": "No route \u2192 there"},
        ],
    }


def test_there_and_back(tmp_path: Path) -> None:
    """What is written is read again."""
    path = tmp_path / "known.json"
    path.write_text(render([ONE, OTHER], ""), encoding="utf-8")
    baseline = load(str(path))
    assert baseline.findings == (OTHER, ONE)
    assert baseline.fingerprints == {"0" * 32, "1" * 32}


def changed(**keys: object) -> str:
    """Give a baseline with other values; None leaves a key out."""
    document = {**json.loads(render([ONE], "")), **keys}
    return json.dumps({key: value for key, value in document.items() if value is not None})


ENTRY = {"fingerprint": "0" * 32, "rule": "no-route", "resource": "", "title": ""}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", ":1:1: not JSON: Expecting value"),
        ('{"a" 1}', ":1:6: not JSON: Expecting ':' delimiter"),
        ("[" * 100_000, ": nested too deeply for a baseline"),
        ("[]", ": not a baseline: its kind is not 'baseline'"),
        (changed(kind="scan"), ": not a baseline: its kind is not 'baseline'"),
        (changed(schema_version=2), ": schema_version: this sgaudit reads 1, not 2"),
        (changed(schema_version=None), ": schema_version: this sgaudit reads 1, not null"),
        (changed(findings=None), ": findings: a list is expected"),
        (changed(findings={}), ": findings: a list is expected"),
        (changed(findings=[ENTRY, 1]), ": findings[1]: an object is expected"),
        (changed(findings=[{**ENTRY, "rule": 3}]), ": findings[0].rule: text is expected"),
        (changed(findings=[{"fingerprint": "0" * 32}]), ": findings[0].rule: text is expected"),
        (
            changed(findings=[{**ENTRY, "fingerprint": "X"}]),
            ": findings[0].fingerprint: 32 hexadecimal digits are expected",
        ),
    ],
)
def test_refused(tmp_path: Path, text: str, reason: str) -> None:
    """What is no baseline is an error that says where."""
    path = tmp_path / "known.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError, match=re.escape(f"{path}{reason}")) as caught:
        load(str(path))
    assert caught.value.hint == HINT


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "can't be read: no such file or directory"), (b"\xff", "not UTF-8 text (byte 0)")],
)
def test_unreadable(tmp_path: Path, content: bytes | None, reason: str) -> None:
    """A file that can't be read is an error with its name."""
    path = tmp_path / "known.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PolicyError, match=re.escape(f"{path}: {reason}")):
        load(str(path))


def test_the_example_of_the_page_is_right(tmp_path: Path) -> None:
    """The baseline that docs/config.md shows is one."""
    (text,) = re.findall(r"```json\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "known.json"
    path.write_text(text, encoding="utf-8")
    assert [item.rule for item in load(str(path)).findings] == ["mesh-path-blocked"]
