"""Findings that somebody accepted: marked, told apart, and never forgotten."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from enum import StrEnum

from sgaudit.config.baseline import Baseline, Known
from sgaudit.config.model import EVERY_RULE, Suppression
from sgaudit.rules import RULES, suppression_expired, suppression_unused
from sgaudit.rules.finding import Finding
from sgaudit.selection import wildcard

EVIDENCE = "suppression"
"""The key of a finding's evidence that says by what it is suppressed."""
IN_BASELINE = "in the baseline"
OWN = frozenset({suppression_expired.RULE.id, suppression_unused.RULE.id})
"""The rules that are about suppressions, and are subject to none."""


class By(StrEnum):
    """What suppresses a finding."""

    CONFIGURATION = "configuration"
    BASELINE = "baseline"


@dataclass(frozen=True, slots=True)
class Accepted:
    """What is accepted, as of a day."""

    suppressions: tuple[Suppression, ...] = ()
    baseline: Baseline | None = None
    today: date | None = None
    """Left out: the current day in UTC."""

    @property
    def day(self) -> date:
        """The day by which suppressions expire."""
        return self.today or datetime.now(UTC).date()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The findings with the marks on them, and what the baseline knows that no longer occurs."""

    findings: tuple[Finding, ...]
    gone: tuple[Known, ...] = ()


def suppress(findings: Sequence[Finding], accepted: Accepted, rules: Collection[str]) -> Outcome:
    """
    Mark what is accepted, and add a finding for each suppression that has expired or matches nothing.

    Args:
        findings: what the rules found.
        accepted: suppressions and baseline.
        rules: the ids of the rules that were asked; what is about others is not called unused or gone.
    """
    day = accepted.day
    holding = [item for item in accepted.suppressions if item.expires is None or day <= item.expires]
    before = accepted.baseline.fingerprints if accepted.baseline else frozenset()
    file = accepted.baseline.file if accepted.baseline else ""
    marked = [_marked(finding, holding, before, file) for finding in findings]
    return Outcome((*marked, *_about(accepted.suppressions, day, findings, rules)), _gone(findings, accepted, rules))


def known(findings: Sequence[Finding]) -> list[Known]:
    """Give what a new baseline remembers: everything but what the configuration's suppressions are about."""
    return [
        Known(finding.fingerprint, finding.rule, finding.resource.id, finding.title)
        for finding in findings
        if finding.rule not in OWN and (not finding.suppressed or finding.evidence[EVIDENCE]["by"] == By.BASELINE)
    ]


def why(finding: Finding) -> str:
    """Say in a few words why a finding is suppressed: the reason, who gave it, until when."""
    mark = finding.evidence[EVIDENCE]
    until = f"until {mark['expires']}" if mark["expires"] else ""
    given = ", ".join(part for part in (mark["owner"], until) if part)
    return f"{mark['reason']}{f' ({given})' if given else ''}"


def matches(suppression: Suppression, finding: Finding) -> bool:
    """Tell whether a suppression is about a finding, its last day apart."""
    return suppression.rule in (EVERY_RULE, finding.rule) and any(
        scope == finding.fingerprint or wildcard(scope).fullmatch(finding.resource.id) for scope in suppression.scope
    )


def _marked(finding: Finding, holding: Sequence[Suppression], before: Collection[str], file: str) -> Finding:
    for item in holding:
        if matches(item, finding):
            return _with(finding, By.CONFIGURATION, item.at, item.reason, item.owner, str(item.expires or ""))
    return _with(finding, By.BASELINE, file, IN_BASELINE) if finding.fingerprint in before else finding


def _with(finding: Finding, by: By, at: str, reason: str, owner: str = "", expires: str = "") -> Finding:
    mark = {"by": str(by), "at": at, "reason": reason, "owner": owner, "expires": expires}
    return replace(finding, suppressed=True, evidence={**finding.evidence, EVIDENCE: mark})


def _about(
    suppressions: Sequence[Suppression], day: date, findings: Sequence[Finding], rules: Collection[str]
) -> list[Finding]:
    found: list[Finding] = []
    for item in suppressions:
        concerned = sum(matches(item, finding) for finding in findings)
        if item.expires is not None and item.expires < day:
            if suppression_expired.RULE.id in rules:
                found.append(suppression_expired.finding(item, concerned))
        elif not concerned and suppression_unused.RULE.id in rules and _asked(item, rules):
            found.append(suppression_unused.finding(item))
    return found


def _asked(suppression: Suppression, rules: Collection[str]) -> bool:
    """Tell whether every rule was asked that a suppression is about."""
    if suppression.rule == EVERY_RULE:
        return all(rule.id in rules for rule in RULES if rule.id not in OWN)
    return suppression.rule in rules


def _gone(findings: Sequence[Finding], accepted: Accepted, rules: Collection[str]) -> tuple[Known, ...]:
    if accepted.baseline is None:
        return ()
    there = {finding.fingerprint for finding in findings}
    return tuple(item for item in accepted.baseline.findings if item.rule in rules and item.fingerprint not in there)
