"""A suppression that matches nothing is reported."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from sgaudit.config.model import Suppression
from sgaudit.rules.finding import Resource
from sgaudit.rules.suppression_unused import RULE, finding
from sgaudit.severity import Severity

IDLE = Suppression("*", ("sg-0abc*",), "A test machine", "", date(2027, 1, 31), "f.yaml:9")


def test_finding() -> None:
    """It says where the suppression stands and what it was for."""
    found = finding(IDLE)
    assert (found.rule, found.severity, found.pairs) == (RULE.id, Severity.NOTE, 0)
    assert found.title == "The suppression of every rule for sg-0abc* matches nothing"
    assert found.message == "f.yaml:9: no finding matches it. Its reason is: A test machine"
    assert found.remedy == "Delete it, or correct its rule or its scope."
    assert found.resource == Resource("suppression", "every rule for sg-0abc*")
    assert found.evidence == {"at": "f.yaml:9", "reason": "A test machine", "owner": "", "expires": "2027-01-31"}


def test_fingerprint() -> None:
    """Lines that move do not change it; another scope does."""
    assert finding(replace(IDLE, at="f.yaml:1")).fingerprint == finding(IDLE).fingerprint
    assert finding(replace(IDLE, scope=("sg-1",))).fingerprint != finding(IDLE).fingerprint
    assert finding(replace(IDLE, expires=None)).evidence["expires"] == ""
