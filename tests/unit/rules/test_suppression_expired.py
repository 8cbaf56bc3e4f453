"""A suppression past its last day is reported, with what counts again."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from sgaudit.config.model import Suppression
from sgaudit.rules.finding import Resource
from sgaudit.rules.suppression_expired import RULE, finding
from sgaudit.severity import Severity

OLD = Suppression("no-route", ("rtb-1", "rtb-2*"), "The route comes.", "network team", date(2026, 11, 30), "f.yaml:9")


def test_finding() -> None:
    """It says where the suppression stands, since when it does nothing, what counts again, and whom to ask."""
    found = finding(OLD, 2)
    assert (found.rule, found.severity, found.pairs) == ("suppression-expired", Severity.WARNING, 0)
    assert found.title == "The suppression of no-route for rtb-1, rtb-2* has expired"
    assert found.message == (
        "f.yaml:9: it held until 2026-11-30; 2 findings count again. Its reason was: The route comes."
    )
    assert found.remedy == "Cure what it hid, or look at it again with network team and give it a later day."
    assert found.resource == Resource("suppression", "no-route for rtb-1, rtb-2*")
    assert found.evidence == {
        "at": "f.yaml:9",
        "reason": "The route comes.",
        "owner": "network team",
        "expires": "2026-11-30",
        "findings": 2,
    }


@pytest.mark.parametrize(
    ("owner", "concerned", "now", "remedy"),
    [
        ("", 1, "1 finding counts again.", "Cure what it hid, or look at it again and give it a later day."),
        ("us", 0, "nothing matches it any more.", "Delete it."),
    ],
)
def test_words(owner: str, concerned: int, now: str, remedy: str) -> None:
    """The words fit what counts again, and whether somebody owns it."""
    found = finding(replace(OLD, owner=owner), concerned)
    assert now in found.message
    assert found.remedy == remedy


def test_fingerprint() -> None:
    """Lines that move and findings that come do not change it; another reason does."""
    assert finding(replace(OLD, at="f.yaml:1"), 0).fingerprint == finding(OLD, 2).fingerprint
    assert finding(replace(OLD, reason="other"), 2).fingerprint != finding(OLD, 2).fingerprint
    assert finding(OLD, 2).rule == RULE.id
