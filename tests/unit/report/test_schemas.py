"""The JSON outputs are as their published schemas say, for every example."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from sgaudit.cli import main
from sgaudit.reach.verdict import Verdict
from sgaudit.rules import RULES
from sgaudit.rules.finding import Fix
from sgaudit.severity import Severity

ROOT = Path(__file__).resolve().parents[3]
SCHEMAS = ROOT / "docs" / "schemas"
NAMES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/snapshot.json"))

every_example = pytest.mark.parametrize("name", NAMES)


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def run(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(main, [*arguments, "-f", "json"])
    assert result.exit_code in (0, 1, 4), result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def mistakes(name: str, document: dict[str, Any]) -> list[str]:
    validator = jsonschema.Draft202012Validator(schema(name))
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]


@pytest.mark.parametrize("name", ["scan", "matrix"])
def test_is_a_schema(name: str) -> None:
    """The file is a JSON Schema itself."""
    jsonschema.Draft202012Validator.check_schema(schema(name))


@every_example
def test_scan(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scan of every example fits the schema."""
    monkeypatch.chdir(ROOT)
    command = json.loads((ROOT / "examples" / name / "expected.json").read_text(encoding="utf-8"))["command"]
    assert mistakes("scan", run(*command)) == []


@every_example
@pytest.mark.parametrize("pairs", [["--pairs"], []], ids=["pairs", "classes"])
def test_matrix(name: str, pairs: list[str]) -> None:
    """The matrix of every example fits the schema, pair by pair and by classes."""
    path = str(ROOT / "examples" / name / "snapshot.json")
    assert mistakes("matrix", run("matrix", "--snapshot", path, "--all", *pairs)) == []


def test_suppressed(tmp_path: Path) -> None:
    """A scan with findings that the configuration and the baseline suppress fits the schema."""
    path = str(ROOT / "examples" / "node-without-group" / "snapshot.json")
    baseline, config = tmp_path / "known.json", tmp_path / "sgaudit.yaml"
    config.write_text(
        "schema_version: 1\nsuppressions:\n"
        "  - {rule: split-cluster, scope: i-*, reason: why not, owner: us, expires: 9999-12-31}\n"
        "  - {rule: no-route, scope: rtb-1, reason: gone}\n"
        "  - {rule: no-route, scope: rtb-2, reason: over, expires: 2020-01-01}\n"
    )
    command = ["scan", "--snapshot", path, "--all"]
    run(*command, "--write-baseline", str(baseline))
    document = run(*command, "--config", str(config), "--baseline", str(baseline))
    by = [item["evidence"]["suppression"]["by"] for item in document["findings"] if item["suppressed"]]
    assert mistakes("scan", document) == []
    assert set(by) == {"configuration", "baseline"}
    assert {item["rule"] for item in document["findings"] if not item["suppressed"]} == {
        "suppression-expired",
        "suppression-unused",
    }


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (("status",), "failed", "$.status: 'failed' is not one of ['pass', 'fail', 'incomplete']"),
        (("summary", "open"), -1, "$.summary.open: -1 is less than the minimum of 0"),
        (("findings", 0, "suppressed"), True, "$.findings[0].evidence: 'suppression' is a required property"),
        (
            ("findings", 0, "severity"),
            "high",
            "$.findings[0].severity: 'high' is not one of ['error', 'warning', 'note']",
        ),
        (
            ("more",),
            1,
            "$: Additional properties are not allowed ('more' was unexpected)",
        ),
    ],
)
def test_refuses(path: tuple[Any, ...], value: Any, complaint: str) -> None:
    """The schema of a scan refuses what is not as the contract says."""
    document = run("scan", "--snapshot", str(ROOT / "examples" / "node-without-group" / "snapshot.json"), "--all")
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert mistakes("scan", document) == [complaint]


def test_same_words() -> None:
    """The closed sets in the schemas are those of the code."""
    scan, matrix = schema("scan"), schema("matrix")
    finding = scan["$defs"]["finding"]["properties"]
    assert set(finding["severity"]["enum"]) == set(Severity)
    assert set(finding["fix"]["enum"]) == set(Fix)
    assert set(matrix["$defs"]["verdict"]["enum"]) == set(Verdict)
    pattern = jsonschema.Draft202012Validator(finding["rule"])
    assert [rule.id for rule in RULES if not pattern.is_valid(rule.id)] == []
