"""OCSF, read by py-ocsf-models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.report import scans


@pytest.fixture(scope="module")
def model() -> Any:
    module = pytest.importorskip(
        "py_ocsf_models.events.findings.compliance_finding",
        reason="py-ocsf-models (extra emit-test) is not installed",
    )
    return module.ComplianceFinding


@pytest.fixture(scope="module")
def cloud() -> Any:
    return pytest.importorskip(
        "py_ocsf_models.objects.cloud", reason="py-ocsf-models (extra emit-test) is not installed"
    ).Cloud


def events(name: str, *more: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(scans.text(name, "ocsf", *more))
    return found


@pytest.mark.parametrize("name", scans.NAMES)
def test_readable(name: str, model: Any, cloud: Any) -> None:
    """The model reads every event of every example, and what it reads is what the scan says."""
    read = [model.model_validate(event) for event in events(name)]
    assert [(item.compliance.control, item.finding_info.uid, item.severity) for item in read[1:]] == [
        (item["rule"], item["fingerprint"], {"error": "High", "warning": "Medium", "note": "Low"}[item["severity"]])
        for item in scans.document(name)["findings"]
    ]
    # What the ids mean is in the model as names.
    for item in read:
        assert item.severity_id.name == item.severity
        assert item.status_id.name == item.status
        assert item.compliance.status_id.name in ("Pass", "Warning", "Fail", "Unknown")
        assert item.type_uid == item.class_uid * 100 + item.activity_id
    for event in events(name):
        assert cloud.model_validate(event["cloud"]).account.uid == "111122223333"


@pytest.mark.parametrize("name", scans.NAMES)
def test_nothing_is_made_up(name: str, model: Any) -> None:
    """No key of an event is unknown to the class, but for those of the cloud profile."""
    known = {*model.model_fields, "cloud"}
    assert {key for event in events(name) for key in event} <= known


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("healthy", [("scan", "Pass", "Informational", "Resolved")]),
        (
            "self-reference-missing",
            [("scan", "Fail", "High", "New"), ("mesh-path-blocked", "Fail", "High", "New")],
        ),
        (scans.UNREAD, [("scan", "Unknown", "High", "New"), ("not-visible", "Warning", "High", "New")]),
    ],
)
def test_statuses(name: str, expected: list[tuple[str, str, str, str]]) -> None:
    """The whole passes, fails or is unknown, and each finding has its severity."""
    assert [
        (event["compliance"]["control"], event["compliance"]["status"], event["severity"], event["status"])
        for event in events(name)
    ] == expected


def test_suppressed(tmp_path: Path) -> None:
    """What is suppressed has that status, with the reason."""
    found = events("self-reference-missing", *scans.suppressing(tmp_path))
    assert [(event["status"], event.get("status_detail")) for event in found] == [
        ("Resolved", None),
        ("Suppressed", 'known <&"> | x (us, until 9999-12-31)'),
    ]
