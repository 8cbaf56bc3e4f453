"""Several results of one scan: which format goes where."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sgaudit.cli import main
from sgaudit.rules import RULES

ROOT = Path(__file__).resolve().parents[3]
SCAN = ["scan", "--snapshot", str(ROOT / "examples" / "self-reference-missing" / "snapshot.json"), "--all"]
STARTS = {
    "table": "--all (account",
    "json": '{\n  "schema_version"',
    "jsonl": '{"schema_version"',
    "csv": "kind,status",
    "markdown": "## sgaudit",
    "sarif": '{\n  "$schema"',
    "junit": "<?xml",
    "github": "::error",
    "asff": '[\n  {\n    "SchemaVersion"',
    "ocsf": '[\n  {\n    "activity_id"',
    "dot": "digraph",
    "mermaid": "flowchart",
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(main, [*SCAN, *arguments.split()], env=environment)


def format_of(text: str) -> str:
    return next((name for name, start in STARTS.items() if text.startswith(start)), text)


def written(arguments: str, **environment: str) -> dict[str, str]:
    """Give the format of each file that was written, and of standard output as `-`."""
    result = run(arguments, **environment)
    assert result.exit_code == 1, result.output
    found = {path.name: format_of(path.read_text(encoding="utf-8")) for path in sorted(Path().iterdir())}
    return {**found, "-": format_of(result.stdout)} if result.stdout else found


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", {"-": "table"}),
        ("-f json", {"-": "json"}),
        ("-f junit", {"-": "junit"}),
        ("-o a.json", {"a.json": "json"}),
        ("-o a.sarif", {"a.sarif": "sarif"}),
        ("-o a.txt", {"a.txt": "table"}),
        ("-o plain", {"plain": "table"}),
        ("-o -", {"-": "table"}),
        ("-f json -o a.dat", {"a.dat": "json"}),
        ("-o a.dat -f json", {"a.dat": "json"}),
        ("-o a.json -f sarif", {"a.json": "sarif"}),
        ("-f json -o a -f sarif -o b", {"a": "json", "b": "sarif"}),
        ("-o a -f json -o b -f sarif", {"a": "json", "b": "sarif"}),
        ("-o a.json -o b.sarif", {"a.json": "json", "b.sarif": "sarif"}),
        ("-f table -f json -o a", {"-": "table", "a": "json"}),
        ("-f json -o a -f table", {"-": "table", "a": "json"}),
        ("-f github -f sarif -o a -f junit -o b", {"-": "github", "a": "sarif", "b": "junit"}),
        ("-f csv -o - -f dot -o a", {"-": "csv", "a": "dot"}),
        ("-f json -o a -o b.xml", {"a": "json", "b.xml": "junit"}),
        ("--format=json --output=a --format=ocsf --output=b", {"a": "json", "b": "ocsf"}),
        ("-fjson -oa -fasff -ob", {"a": "json", "b": "asff"}),
        ("-f json -o a --fail-on error -f mermaid -o b", {"a": "json", "b": "mermaid"}),
    ],
)
def test_pairs(arguments: str, expected: dict[str, str]) -> None:
    """Each format goes to the file that was meant for it, one of them at most to standard output."""
    assert written(arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "environment", "expected"),
    [
        ("", {"SGAUDIT_FORMAT": "json"}, {"-": "json"}),
        ("", {"SGAUDIT_FORMAT": "json sarif", "SGAUDIT_OUTPUT": "a:b"}, {"a": "json", "b": "sarif"}),
        ("", {"SGAUDIT_OUTPUT": "two words.csv"}, {"two words.csv": "csv"}),
        ("-f json", {"SGAUDIT_OUTPUT": "a"}, {"a": "json"}),
        ("-o a", {"SGAUDIT_FORMAT": "json"}, {"a": "json"}),
        ("-f json -o b", {"SGAUDIT_FORMAT": "sarif", "SGAUDIT_OUTPUT": "a"}, {"b": "json"}),
    ],
)
def test_environment(arguments: str, environment: dict[str, str], expected: dict[str, str]) -> None:
    """What the environment names goes in order, and the command line wins."""
    assert written(arguments, **environment) == expected


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (
            "-f json -f sarif",
            ["error: two results would go to standard output", "hint: give each --format its own --output"],
        ),
        (
            "-f json -o a -f sarif -o a",
            ["error: two results would go to a", "hint: give each --format its own --output"],
        ),
    ],
)
def test_refused(arguments: str, lines: list[str]) -> None:
    """Two results never go to the same place, and nothing is written then."""
    result = run(arguments)
    assert (result.exit_code, result.stderr.splitlines(), result.stdout) == (2, lines, "")
    assert not list(Path().iterdir())


def test_unknown_ending() -> None:
    """A file whose name means nothing that is known is not written in some format or other."""
    result = run("-o a.pdf")
    assert result.exit_code == 2
    assert result.stderr.startswith(
        "error: --output a.pdf: its name does not say in which format\nhint: add -f, or end"
    )
    assert not list(Path().iterdir())


def test_all_at_once() -> None:
    """Every format can be had from one run, and each is what it is alone."""
    arguments = " ".join(f"-f {name} -o {name}" for name in STARTS)
    assert written(arguments) == {name: name for name in STARTS}
    alone = run("-f sarif")
    assert Path("sarif").read_text(encoding="utf-8") == alone.stdout
    assert json.loads(alone.stdout)["version"] == "2.1.0"


def test_verbose() -> None:
    """With --verbose each step is told on standard error with its time; --quiet wins."""
    said = run("-v -f csv -f sarif -o a").stderr.splitlines()
    assert [re.sub(r"\d+\.\d\d s$", "TIME", line) for line in said] == [
        f"read {SCAN[2]}: 4 instances in TIME",
        f"asked {len(RULES)} rules about 4 members: 1 finding in TIME",
        "wrote csv, sarif in TIME",
    ]
    assert run("-v -q").stderr == ""


def test_verdict_is_noted() -> None:
    """When every result goes to a file the verdict is said on standard error, else not, and never with --quiet."""
    said = "FAIL: 12 ordered pairs, 12 blocked; 1 error\n"
    assert [run(line).stderr for line in ("-f json -o a -f sarif -o b", "-f json -o a -f table", "-o a.json -q")] == [
        said,
        "",
        "",
    ]
