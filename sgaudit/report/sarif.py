"""
A scan as SARIF 2.1.0 (OASIS), for code scanning.

What is found lies in AWS and in no file; so each resource has a made-up path, `aws/<account>/<region>/<id>`, which
stays the same from run to run, as do the fingerprints: GitHub tells old results from new ones by both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sgaudit
from sgaudit.report.scan_table import verdict_line
from sgaudit.report.terminal import Style
from sgaudit.report.told import PRODUCT, clean, dump, full_message
from sgaudit.rules import RULES
from sgaudit.rules.suppress import why
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.report.told import Told
    from sgaudit.rules.finding import Finding, Rule

VERSION = "2.1.0"
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "sgaudit/v1"
GITHUB_FINGERPRINT = "primaryLocationLineHash"
"""The only one that GitHub's code scanning looks at."""
PROBLEM = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "recommendation"}
PLACES = {rule.id: place for place, rule in enumerate(RULES)}


def render(told: Told) -> Iterator[str]:
    """Write one log with one run."""
    yield dump({"$schema": SCHEMA, "version": VERSION, "runs": [_run(told)]}) + "\n"


def _run(told: Told) -> dict[str, Any]:
    return {
        "tool": {
            "driver": {
                "name": PRODUCT,
                "semanticVersion": sgaudit.__version__,
                "shortDescription": {"text": "Network reachability of clusters on EC2"},
                "rules": [_rule(rule) for rule in RULES],
            }
        },
        "automationDetails": {"id": f"{PRODUCT}/{clean(told.audit.selection.describe())}/"},
        "invocations": [_invocation(told)],
        "columnKind": "unicodeCodePoints",
        "results": [_result(told, finding) for finding in told.audit.findings],
        "properties": {"status": told.audit.status, "account": told.account, "region": told.region},
    }


def _rule(rule: Rule) -> dict[str, Any]:
    sources = "; ".join(rule.sources)
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {
            "text": f"{rule.why}\n\nWhat to do: {rule.remedy}\n\nSources: {sources}",
            "markdown": f"{rule.why}\n\n**What to do:** {rule.remedy}\n\n**Sources:** {sources}",
        },
        "defaultConfiguration": {"level": str(rule.severity)},
        "properties": {
            "tags": ["network", "aws", "ec2"],
            "precision": "very-high",
            "problem.severity": PROBLEM[rule.severity],
        },
    }


def _invocation(told: Told) -> dict[str, Any]:
    denied = [
        {"level": "error", "message": {"text": clean(f"{name} was not read: {code}")}}
        for name, code in sorted(told.audit.snapshot.denied.items())
    ]
    skipped = [
        {"level": "note", "message": {"text": clean(f"not judged: {item.policy} {item.need}: {item.reason}")}}
        for item in told.audit.context.requirements.skipped
    ]
    verdict = {"level": "note", "message": {"text": verdict_line(told.audit, Style())}}
    return {
        "executionSuccessful": not told.audit.incomplete,
        "toolExecutionNotifications": [verdict, *denied, *skipped],
    }


def _result(told: Told, finding: Finding) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": PLACES[finding.rule],
        "level": str(finding.severity),
        "message": {"text": full_message(finding)},
        "locations": [_location(told, finding)],
        "partialFingerprints": {
            FINGERPRINT: finding.fingerprint,
            GITHUB_FINGERPRINT: f"{finding.fingerprint}:1",
        },
        "properties": {
            "title": clean(finding.title),
            "pairs": finding.pairs,
            "fix": str(finding.fix),
            "evidence": dict(finding.evidence),
        },
    }
    if finding.suppressed:
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": clean(why(finding))}]
    return result


def _location(told: Told, finding: Finding) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": told.path(finding.resource)},
            "region": {"startLine": 1},
        },
        "logicalLocations": [
            {
                "name": clean(finding.resource.id),
                "fullyQualifiedName": told.arn(finding.resource),
                "kind": "resource",
            }
        ],
    }
