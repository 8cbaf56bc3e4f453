"""Plans and baselines are as their published schemas say, for every example."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from sgaudit.aws.change import CHANGES
from sgaudit.cli import main
from sgaudit.fix import plan as plans
from sgaudit.fix.plan import Safety, Strategy
from sgaudit.reach.verdict import Verdict

ROOT = Path(__file__).resolve().parents[3]
SCHEMAS = ROOT / "docs" / "schemas"
NAMES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/snapshot.json"))
BROKEN = str(ROOT / "examples" / "self-reference-missing" / "snapshot.json")


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    return found


PLAN = jsonschema.Draft202012Validator(schema("plan"))


def mistakes(document: dict[str, Any]) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in PLAN.iter_errors(document)]


def planned(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(main, ["fix", "--dry-run", "-f", "json", *arguments])
    assert result.exit_code in (0, 1, 4), result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("name", ["plan", "baseline"])
def test_is_a_schema(name: str) -> None:
    """The file is a JSON Schema itself."""
    jsonschema.Draft202012Validator.check_schema(schema(name))


@pytest.mark.parametrize("name", NAMES)
def test_plans(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan of every example fits the schema, and is read back as what was written."""
    monkeypatch.chdir(ROOT)
    command = json.loads((ROOT / "examples" / name / "expected.json").read_text(encoding="utf-8"))["command"]
    document = planned(*command[1:])
    assert mistakes(document) == []
    assert plans.from_json(document, name).to_json() == document


@pytest.mark.parametrize(
    "more",
    [
        *(["--strategy", str(strategy)] for strategy in Strategy if strategy is not Strategy.NONE),
        ["--widen"],
        ["--cidr", "10.10.1.0/24"],
    ],
    ids="-".join,
)
def test_strategies(more: list[str]) -> None:
    """However permissions are written, the plan fits the schema and has something to do."""
    document = planned("--snapshot", BROKEN, "--all", *more)
    assert mistakes(document) == []
    assert document["operations"]


def test_tighten() -> None:
    """A plan that takes permissions away fits the schema."""
    path = str(ROOT / "examples" / "open-to-the-world" / "snapshot.json")
    document = planned("--snapshot", path, "--all", "--tighten")
    assert mistakes(document) == []
    assert [operation["api"] for operation in document["operations"]][-1] == "RevokeSecurityGroupIngress"


def test_out_is_the_same_form(tmp_path: Path) -> None:
    """What `--out` writes is the object that `-f json` prints."""
    path = tmp_path / "plan.json"
    printed = planned("--snapshot", BROKEN, "--all", "--out", str(path))
    assert json.loads(path.read_text(encoding="utf-8")) == printed


def test_baseline(tmp_path: Path) -> None:
    """What `--write-baseline` writes fits the schema."""
    path = tmp_path / "known.json"
    CliRunner().invoke(main, ["scan", "--snapshot", BROKEN, "--all", "--write-baseline", str(path)])
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["findings"]
    jsonschema.Draft202012Validator(schema("baseline")).validate(document)


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (("strategy",), "best", "'best' is not one of"),
        (("operations", 0, "api"), "TerminateInstances", "'TerminateInstances' is not one of"),
        (("operations", 0, "params"), {"GroupId": "sg-1"}, "'IpPermissions' is a required property"),
        (("operations", 0, "unsafe_because"), "", "'' should be non-empty"),
        (("operations", 0, "quota"), {"name": "n", "before": 1}, "is not valid under any of the given schemas"),
        (("opens", "required"), -1, "-1 is less than the minimum of 0"),
        (("before", "open"), "0", "'0' is not of type 'integer'"),
        (("preconditions", 0, "type"), "vpc", "'vpc' is not one of"),
        (("more",), 1, "Additional properties are not allowed ('more' was unexpected)"),
    ],
)
def test_refuses(path: tuple[Any, ...], value: Any, complaint: str) -> None:
    """The schema refuses what is not as the contract says, with one complaint."""
    document = planned("--snapshot", BROKEN, "--all")
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    found = mistakes(document)
    assert len(found) == 1
    assert complaint in found[0]


def test_same_words() -> None:
    """The closed sets in the schema are those of the code."""
    found = schema("plan")
    operation = found["$defs"]["operation"]["properties"]
    assert set(found["properties"]["strategy"]["enum"]) == set(Strategy)
    assert set(found["$defs"]["counts"]["properties"]) == set(Verdict)
    assert set(operation["class"]["enum"]) == set(Safety)
    assert operation["api"]["enum"] == sorted(CHANGES)
