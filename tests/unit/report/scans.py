"""Scans of the examples in any format, and one of a cluster whose names are attacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from sgaudit.cli import main

ROOT = Path(__file__).resolve().parents[3]
NAMES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/snapshot.json"))
BROKEN = "one-way-groups"
UNREAD = "acls-not-readable"
EVIL = (
    "a\"b'c</script><script>alert(1)</script>]]><!--&amp; \x1b[31m\x00\u202e|pipe\\ \n::error::pwned\r\n"
    "%0A::warning::x ##[error]y `code` *b* [link](http://evil.example) www.evil.example @octocat #1 ${x} "
    "%{y} \ufffe\ud800"
)
"""A name that means something to each of the formats."""
FORMULA = "=HYPERLINK(1)"


def command(name: str) -> list[str]:
    """Give the command that scans an example."""
    known = json.loads((ROOT / "examples" / name / "expected.json").read_text(encoding="utf-8"))["command"]
    words: list[str] = [word for word in known if word not in ("-f", "json")]
    words[words.index("--snapshot") + 1] = str(ROOT / "examples" / name / "snapshot.json")
    return words


def scan(name: str, form: str, *more: str) -> Result:
    result = CliRunner().invoke(main, [*command(name), "-f", form, *more])
    assert result.exit_code in (0, 1, 4), result.output
    return result


def text(name: str, form: str, *more: str) -> str:
    return scan(name, form, *more).stdout


def document(name: str) -> dict[str, Any]:
    """Give what the JSON format says, for comparing."""
    found: dict[str, Any] = json.loads(text(name, "json"))
    return found


def suppressing(folder: Path) -> list[str]:
    """Give options that suppress what is found about security groups."""
    config = folder / "sgaudit.yaml"
    config.write_text(
        "schema_version: 1\nsuppressions:\n"
        "  - {rule: '*', scope: 'sg-*', reason: 'known <&\"> | x', owner: us, expires: 9999-12-31}\n",
        encoding="utf-8",
    )
    return ["--config", str(config)]


def _replaced(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        if value.get("Key") == "Name":
            return {**value, "Value": name}
        return {
            key: name if key in ("GroupName", "Description") and isinstance(item, str) else _replaced(item, name)
            for key, item in value.items()
        }
    return [_replaced(item, name) for item in value] if isinstance(value, list) else value


def hostile(folder: Path, form: str, name: str = EVIL) -> str:
    """Give the scan of a broken cluster in which every name, id of a group and description is an attack."""
    raw = json.loads((ROOT / "examples" / BROKEN / "snapshot.json").read_text(encoding="utf-8"))
    words = json.dumps(_replaced(raw, name))
    group = raw["SecurityGroups"][0]["GroupId"]
    path = folder / "hostile.json"
    path.write_text(words.replace(json.dumps(group), json.dumps(f"sg-{name}")), encoding="utf-8")
    result = CliRunner().invoke(main, ["scan", "--snapshot", str(path), "--tag", "cluster=train", "-f", form])
    assert result.exit_code == 1, result.output
    return result.stdout
