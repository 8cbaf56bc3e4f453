"""
A scan as JUnit XML, for the test view of pipelines.

There is a failure or an error exactly when the exit code is not 0: what `--fail-on` lets pass, passes here as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape as escaped
from xml.sax.saxutils import quoteattr

from sgaudit.report import scan_json
from sgaudit.report.scan_table import verdict_line
from sgaudit.report.terminal import Style
from sgaudit.report.told import PRODUCT, clean, full_message
from sgaudit.rules.audit import EXIT_CLEAN
from sgaudit.rules.suppress import why

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgaudit.report.told import Told
    from sgaudit.rules.finding import Finding

PASSED, FAILURE, ERROR, SKIPPED = "", "failure", "error", "skipped"


@dataclass(frozen=True, slots=True)
class Case:
    """One test, as the format has it."""

    group: str
    name: str
    outcome: str = PASSED
    message: str = ""
    text: str = ""


def render(told: Told) -> Iterator[str]:
    """Write three suites: what was read, what the cluster needs, and what was found."""
    suites = {
        "coverage": list(_coverage(told)),
        "requirements": [_need(told, need) for need in scan_json.document(told.audit)["requirements"]],
        "findings": [_finding(told, finding) for finding in told.audit.findings],
    }
    every = [case for cases in suites.values() for case in cases]
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites {_attributes({'name': PRODUCT, **_counts(every), 'time': '0'})}>\n"
    for name, cases in suites.items():
        moment = told.moment.strftime("%Y-%m-%dT%H:%M:%S")
        head = {"name": f"{PRODUCT}.{name}", **_counts(cases), "time": "0", "timestamp": moment}
        yield f"  <testsuite {_attributes(head)}>\n"
        for case in cases:
            yield _case(case)
        yield "  </testsuite>\n"
    yield "</testsuites>\n"


def _coverage(told: Told) -> Iterator[Case]:
    audit = told.audit
    text = verdict_line(audit, Style())
    for operation, code in sorted(audit.snapshot.denied.items()):
        yield Case("coverage", operation, ERROR, f"not read: {code}", f"allow ec2:{operation}")
    if not audit.snapshot.denied:
        yield Case("coverage", "everything was read", text=text)


def _need(told: Told, need: Mapping[str, Any]) -> Case:
    name = f"{need['need']} {need['protocol']} {need['ports']}".strip()
    text = f"{need['satisfied']} of {need['pairs']} open, {need['unknown']} unknown"
    if need["unknown"] and told.audit.incomplete:
        return Case(f"requirements.{need['policy']}", name, ERROR, text)
    if need["satisfied"] == need["pairs"]:
        return Case(f"requirements.{need['policy']}", name, text=text)
    accepted = told.audit.exit_code(told.fail_on) == EXIT_CLEAN
    outcome = SKIPPED if accepted else FAILURE
    return Case(f"requirements.{need['policy']}", name, outcome, f"accepted: {text}" if accepted else text)


def _finding(told: Told, finding: Finding) -> Case:
    group, name = f"findings.{finding.rule}", f"{finding.resource.id}: {finding.title}"
    if finding.suppressed:
        return Case(group, name, SKIPPED, why(finding))
    text = f"{finding.severity}: {full_message(finding)}\n{told.arn(finding.resource)}\n{finding.fingerprint}"
    if finding.severity.rank >= told.fail_on.rank:
        return Case(group, name, FAILURE, finding.title, text)
    return Case(group, name, text=text)


def _case(case: Case) -> str:
    head = _attributes({"classname": f"{PRODUCT}.{case.group}", "name": case.name, "time": "0"})
    if case.outcome == PASSED:
        return f"    <testcase {head}>{_element('system-out', '', case.text)}</testcase>\n"
    kind = {"message": case.message} if case.outcome == SKIPPED else {"message": case.message, "type": case.group}
    return f"    <testcase {head}>{_element(case.outcome, ' ' + _attributes(kind), case.text)}</testcase>\n"


def _element(name: str, attributes: str, text: str) -> str:
    lines = "\n".join(clean(line) for line in text.split("\n"))
    return f"<{name}{attributes}>{escaped(lines)}</{name}>"


def _attributes(values: Mapping[str, str]) -> str:
    return " ".join(f"{name}={quoteattr(clean(value))}" for name, value in values.items())


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    outcomes = [case.outcome for case in cases]
    return {
        "tests": str(len(cases)),
        "failures": str(outcomes.count(FAILURE)),
        "errors": str(outcomes.count(ERROR)),
        "skipped": str(outcomes.count(SKIPPED)),
    }
