"""ASFF, checked by botocore's model of BatchImportFindings and by the limits that only its texts tell."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator
from click.testing import CliRunner

from sgaudit.cli import main
from tests.unit.report import scans

LONGEST = {"Title": 256, "Description": 1024, "Id": 512, "GeneratorId": 512}
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture(scope="module")
def model() -> ServiceModel:
    return ServiceModel(Loader().load_service_model("securityhub", "service-2"))


def findings(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(text)
    return found


def mistakes(model: ServiceModel, found: list[dict[str, Any]]) -> list[str]:
    """Tell what Security Hub would refuse."""
    shape = model.operation_model("BatchImportFindings").input_shape
    wrong = [ParamValidator().validate({"Findings": found}, shape).generate_report()]
    enums = {
        "Compliance": model.shape_for("ComplianceStatus").enum,
        "Workflow": model.shape_for("WorkflowStatus").enum,
    }
    for item in found:
        wrong += [f"{key} is too long" for key, most in LONGEST.items() if len(item[key]) > most]
        wrong += [f"{key} is empty" for key in LONGEST if not item[key].strip()]
        wrong += [f"{key}: {item[key]}" for key in ("CreatedAt", "UpdatedAt") if not MOMENT.fullmatch(item[key])]
        wrong += [f"{key}: {item[key]}" for key, known in enums.items() if item[key]["Status"] not in known]
        if item["Severity"]["Label"] not in model.shape_for("SeverityLabel").enum:
            wrong.append(item["Severity"]["Label"])
        if len(item.get("Remediation", {}).get("Recommendation", {}).get("Text", "")) > 512:
            wrong.append("Remediation is too long")
        known_types = {*model.shape_for("ResourceDetails").members, "AwsAccount", "Other"}
        wrong += [each["Type"] for each in item["Resources"] if each["Type"] not in known_types]
    return [line for line in wrong if line]


@pytest.mark.parametrize("name", scans.NAMES)
def test_accepted(name: str, model: ServiceModel) -> None:
    """Security Hub's own model takes the findings of every example, and each id is there once."""
    found = findings(scans.text(name, "asff"))
    assert mistakes(model, found) == []
    assert len({item["Id"] for item in found}) == len(found)


def test_the_check_refuses(model: ServiceModel) -> None:
    """The check sees what is missing and what does not exist."""
    found = findings(scans.text(scans.BROKEN, "asff"))[:1]
    del found[0]["ProductArn"]
    found[0]["Compliance"]["Status"] = "BROKEN"
    assert len(mistakes(model, found)) == 2


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("healthy", [("sgaudit/scan", "PASSED", "INFORMATIONAL", "RESOLVED")]),
        (
            "self-reference-missing",
            [
                ("sgaudit/scan", "FAILED", "HIGH", "NEW"),
                ("sgaudit/mesh-path-blocked", "FAILED", "HIGH", "NEW"),
            ],
        ),
        (
            scans.UNREAD,
            [
                ("sgaudit/scan", "NOT_AVAILABLE", "HIGH", "NEW"),
                ("sgaudit/not-visible", "WARNING", "HIGH", "NEW"),
            ],
        ),
        (
            "default-group-only",
            [
                ("sgaudit/scan", "PASSED", "INFORMATIONAL", "RESOLVED"),
                ("sgaudit/leans-on-default-group", "FAILED", "MEDIUM", "NEW"),
            ],
        ),
    ],
)
def test_statuses(name: str, expected: list[tuple[str, str, str, str]]) -> None:
    """The whole passes, fails or is not available, and each finding has its severity."""
    assert [
        (item["GeneratorId"], item["Compliance"]["Status"], item["Severity"]["Label"], item["Workflow"]["Status"])
        for item in findings(scans.text(name, "asff"))
    ] == expected


def test_suppressed(tmp_path: Path, model: ServiceModel) -> None:
    """What is suppressed comes as suppressed, with the reason as a note."""
    found = findings(scans.text("self-reference-missing", "asff", *scans.suppressing(tmp_path)))
    assert mistakes(model, found) == []
    assert [(item["Workflow"]["Status"], item.get("Note", {}).get("Text")) for item in found] == [
        ("RESOLVED", None),
        ("SUPPRESSED", 'known <&"> | x (us, until 9999-12-31)'),
    ]


def test_needs_an_account(tmp_path: Path) -> None:
    """Without an account there can be no finding, and the message says so."""
    text = (scans.ROOT / "examples" / "healthy" / "snapshot.json").read_text(encoding="utf-8")
    path = tmp_path / "nameless.json"
    path.write_text(text.replace("111122223333", ""), encoding="utf-8")
    result = CliRunner().invoke(main, ["scan", "--snapshot", str(path), "--all", "-f", "asff"])
    assert (result.exit_code, result.stderr.splitlines()) == (
        2,
        [
            "error: ASFF needs the account and the Region, and the snapshot does not tell them",
            'hint: add "AccountId" and "Region" to the snapshot',
        ],
    )
