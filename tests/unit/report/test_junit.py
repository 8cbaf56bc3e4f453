"""JUnit XML: read by junitparser, and failing exactly when the scan does."""

from __future__ import annotations

from pathlib import Path

import pytest

from sgaudit.severity import Severity
from tests.unit.report import scans

junitparser = pytest.importorskip("junitparser", reason="junitparser (extra test) is not installed")

KINDS = {"Failure": "failure", "Error": "error", "Skipped": "skipped"}


def cases(text: str) -> list[tuple[str, str, str]]:
    """Give suite, class and outcome of each test."""
    found = junitparser.JUnitXml.fromstring(text.encode())
    return [
        (
            suite.name.removeprefix("sgaudit."),
            case.classname.removeprefix("sgaudit."),
            ",".join(KINDS[type(result).__name__] for result in case.result) or "passed",
        )
        for suite in found
        for case in suite
    ]


@pytest.mark.parametrize("name", scans.NAMES)
@pytest.mark.parametrize("level", list(Severity))
def test_fails_when_the_scan_does(name: str, level: Severity) -> None:
    """Some test fails or is an error exactly when the exit code is not 0, for every `--fail-on`."""
    result = scans.scan(name, "junit", "--fail-on", str(level))
    outcomes = {outcome for _, _, outcome in cases(result.stdout)}
    assert bool(outcomes & {"failure", "error"}) == (result.exit_code != 0)


@pytest.mark.parametrize("name", scans.NAMES)
def test_counts(name: str) -> None:
    """The counts in the heads are those of the tests, and each finding and each need is one."""
    text, document = scans.text(name, "junit"), scans.document(name)
    whole = junitparser.JUnitXml.fromstring(text.encode())
    said = (whole.tests, whole.failures, whole.errors, whole.skipped)
    outcomes = [outcome for _, _, outcome in cases(text)]
    counted = (len(outcomes), *(outcomes.count(kind) for kind in ("failure", "error", "skipped")))
    assert said == counted
    whole.update_statistics()
    assert (whole.tests, whole.failures, whole.errors, whole.skipped) == said
    suites = [suite for suite, _, _ in cases(text)]
    assert suites.count("requirements") == len(document["requirements"])
    assert suites.count("findings") == len(document["findings"])


@pytest.mark.parametrize(
    ("name", "more", "expected"),
    [
        (
            "healthy",
            (),
            [
                ("coverage", "coverage", "passed"),
                ("requirements", "requirements.pytorch-gloo", "passed"),
                ("requirements", "requirements.pytorch-gloo", "passed"),
            ],
        ),
        (
            scans.UNREAD,
            (),
            [
                ("coverage", "coverage", "error"),
                ("requirements", "requirements.pytorch-gloo", "error"),
                ("requirements", "requirements.pytorch-gloo", "error"),
                ("findings", "findings.not-visible", "failure"),
            ],
        ),
        (
            "default-group-only",
            (),
            [
                ("coverage", "coverage", "passed"),
                ("requirements", "requirements.pytorch-gloo", "passed"),
                ("requirements", "requirements.pytorch-gloo", "passed"),
                ("findings", "findings.leans-on-default-group", "passed"),
            ],
        ),
        (
            "default-group-only",
            ("--fail-on", "warning"),
            [
                ("coverage", "coverage", "passed"),
                ("requirements", "requirements.pytorch-gloo", "passed"),
                ("requirements", "requirements.pytorch-gloo", "passed"),
                ("findings", "findings.leans-on-default-group", "failure"),
            ],
        ),
    ],
)
def test_outcomes(name: str, more: tuple[str, ...], expected: list[tuple[str, str, str]]) -> None:
    """What passes, fails and is in error, and where."""
    assert cases(scans.text(name, "junit", *more)) == expected


def test_suppressed(tmp_path: Path) -> None:
    """What is suppressed is skipped, with the reason, and so is the need that only fails by it."""
    text = scans.text("self-reference-missing", "junit", *scans.suppressing(tmp_path))
    assert cases(text) == [
        ("coverage", "coverage", "passed"),
        ("requirements", "requirements.pytorch-gloo", "skipped"),
        ("requirements", "requirements.pytorch-gloo", "skipped"),
        ("findings", "findings.mesh-path-blocked", "skipped"),
    ]
    last = [case for suite in junitparser.JUnitXml.fromstring(text.encode()) for case in suite][-1]
    assert last.result[0].message == 'known <&"> | x (us, until 9999-12-31)'
