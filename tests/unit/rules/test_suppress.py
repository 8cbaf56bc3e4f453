"""What is accepted is marked, and what no longer fits is told."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from sgaudit.config.baseline import Baseline, Known
from sgaudit.config.model import Suppression
from sgaudit.rules import RULES, ordered
from sgaudit.rules.audit import audit
from sgaudit.rules.finding import Finding, Resource
from sgaudit.rules.suppress import Accepted, known, suppress, why
from sgaudit.severity import Severity
from tests.builders import group, node, snapshot
from tests.unit.rules.scene import EVERYWHERE, SELF, scan

TODAY = date(2026, 12, 1)
EVERY_ID = {rule.id for rule in RULES}
FINGERPRINT = "7d5f3e0e6e5cc1cb5d1d8b4d6c9b4c1e"


def finding(rule: str = "no-route", resource: str = "rtb-1", severity: Severity = Severity.ERROR) -> Finding:
    return Finding(
        rule=rule,
        severity=severity,
        title="a title",
        message="a message",
        remedy="a remedy",
        resource=Resource("route-table", resource),
        pairs=2,
        evidence={"subnet": "subnet-1"},
    )


def accept(rule: str = "no-route", scope: str = "rtb-1", expires: date | None = None) -> Suppression:
    return Suppression(rule, (scope,), "a reason", "an owner", expires, "f.yaml:3")


def told(findings: list[Finding], *suppressions: Suppression, rules: set[str] = EVERY_ID) -> list[tuple[str, bool]]:
    """Tell rule and mark of what comes out."""
    outcome = suppress(findings, Accepted(suppressions, today=TODAY), rules)
    return [(item.rule, item.suppressed) for item in outcome.findings]


@pytest.mark.parametrize(
    ("rule", "scope", "suppressed"),
    [
        ("no-route", "rtb-1", True),
        ("no-route", "rtb-2", False),
        ("no-route", "rtb", False),
        ("no-route", "rtb-*", True),
        ("no-route", "rtb-?", True),
        ("no-route", "RTB-1", False),
        ("no-route", "*", True),
        ("*", "rtb-1", True),
        ("no-address", "rtb-1", False),
        ("no-route", finding().fingerprint, True),
        ("*", finding().fingerprint, True),
        ("no-address", finding().fingerprint, False),
        ("no-route", finding().fingerprint[:-1], False),
    ],
)
def test_scope(rule: str, scope: str, suppressed: bool) -> None:
    """A suppression is about its rule and about whole ids of resources, patterns of them, or fingerprints."""
    unused = [] if suppressed else [("suppression-unused", False)]
    assert told([finding()], accept(rule, scope)) == [("no-route", suppressed), *unused]


def test_any_scope() -> None:
    """Of several scopes any suffices, and a finding without a resource is matched by the widest pattern."""
    several = replace(accept(), scope=("x", "rtb-1"))
    assert told([finding()], several) == [("no-route", True)]
    assert told([finding(resource="")], accept(scope="*")) == [("no-route", True)]


def test_mark() -> None:
    """A suppressed finding says by what and why; nothing else about it changes, its fingerprint least."""
    suppression = accept(expires=date(2026, 12, 31))
    (marked,) = suppress([finding()], Accepted((suppression,), today=TODAY), EVERY_ID).findings
    assert marked == replace(
        finding(),
        suppressed=True,
        evidence={
            "subnet": "subnet-1",
            "suppression": {
                "by": "configuration",
                "at": "f.yaml:3",
                "reason": "a reason",
                "owner": "an owner",
                "expires": "2026-12-31",
            },
        },
    )
    assert marked.fingerprint == finding().fingerprint
    assert why(marked) == "a reason (an owner, until 2026-12-31)"


@pytest.mark.parametrize(
    ("expires", "expected"),
    [
        (None, [("no-route", True)]),
        (date(2026, 12, 2), [("no-route", True)]),
        (date(2026, 12, 1), [("no-route", True)]),
        (date(2026, 11, 30), [("no-route", False), ("suppression-expired", False)]),
    ],
)
def test_last_day(expires: date | None, expected: list[tuple[str, bool]]) -> None:
    """A suppression holds through its last day; after that what it hid counts again, and it is reported."""
    assert told([finding()], accept(expires=expires)) == expected


def test_expired_and_another_holds() -> None:
    """An expired suppression does not keep another one from hiding the same finding."""
    assert told([finding()], accept(expires=date(2020, 1, 1)), accept(scope="rtb-*")) == [
        ("no-route", True),
        ("suppression-expired", False),
    ]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (EVERY_ID, [("suppression-unused", False), ("suppression-unused", False), ("suppression-expired", False)]),
        (EVERY_ID - {"suppression-unused"}, [("suppression-expired", False)]),
        (EVERY_ID - {"suppression-expired"}, [("suppression-unused", False), ("suppression-unused", False)]),
        (EVERY_ID - {"no-route"}, [("suppression-expired", False)]),
        (EVERY_ID - {"no-address"}, [("suppression-unused", False), ("suppression-expired", False)]),
    ],
)
def test_rules_that_were_not_asked(rules: set[str], expected: list[tuple[str, bool]]) -> None:
    """What is about rules that were not asked can't be called unused; both reports can be left out."""
    suppressions = [accept(), accept(rule="*"), accept(expires=date(2020, 1, 1))]
    assert told([], *suppressions, rules=rules) == expected


def test_suppressions_do_not_hide_reports_about_them() -> None:
    """No suppression hides that a suppression is unused."""
    hider = accept("*", "*no-route*")
    assert told([], accept(), hider) == [("suppression-unused", False), ("suppression-unused", False)]


def test_baseline() -> None:
    """Known findings are suppressed, a suppression's reason goes first, and what is gone is told."""
    other, new = finding(resource="rtb-2"), finding(resource="rtb-3")
    gone = Known("f" * 32, "no-address", "i-1", "no longer there")
    unasked = Known("e" * 32, "no-such-rule", "i-1", "a rule of another version")
    baseline = Baseline("known.json", (*known([finding(), other]), gone, unasked))
    outcome = suppress([finding(), other, new], Accepted((accept(),), baseline, TODAY), EVERY_ID)
    assert [(item.resource.id, why(item) if item.suppressed else "") for item in outcome.findings] == [
        ("rtb-1", "a reason (an owner)"),
        ("rtb-2", "in the baseline"),
        ("rtb-3", ""),
    ]
    assert outcome.findings[1].evidence["suppression"] == {
        "by": "baseline",
        "at": "known.json",
        "reason": "in the baseline",
        "owner": "",
        "expires": "",
    }
    assert outcome.gone == (gone,)


def test_what_a_baseline_remembers() -> None:
    """A new baseline keeps what an old one knows and what is new, but nothing about suppressions."""
    other, new = finding(resource="rtb-2"), finding(resource="rtb-3")
    baseline = Baseline("known.json", tuple(known([other])))
    expired = accept(scope="x", expires=date(2020, 1, 1))
    unused = accept(scope="y")
    accepted = Accepted((accept(), expired, unused), baseline, TODAY)
    outcome = suppress([finding(), other, new], accepted, EVERY_ID)
    assert len(outcome.findings) == 5
    assert known(outcome.findings) == [
        Known(other.fingerprint, "no-route", "rtb-2", "a title"),
        Known(new.fingerprint, "no-route", "rtb-3", "a title"),
    ]


def test_order() -> None:
    """The gravest come first, the suppressed last, however grave."""
    error, note = finding(), finding(resource="rtb-2", severity=Severity.NOTE)
    outcome = suppress([error, note], Accepted((accept(),), today=TODAY), EVERY_ID)
    assert [item.resource.id for item in ordered(outcome.findings)] == ["rtb-2", "rtb-1"]


def closed_pair() -> dict[str, object]:
    return snapshot([node("a", "10.0.0.4"), node("b", "10.0.0.5")], [group()])


@pytest.mark.parametrize(
    ("suppressed", "status", "exit_code"),
    [((), "fail", 1), (("mesh-path-blocked",), "pass", 0), (("no-route",), "fail", 1)],
)
def test_verdict(suppressed: tuple[str, ...], status: str, exit_code: int) -> None:
    """A suppressed finding changes neither status nor exit code, whatever --fail-on says; the pairs stay blocked."""
    first = scan(closed_pair())
    suppressions = tuple(accept(rule, "*") for rule in suppressed)
    result = audit(
        first.snapshot,
        EVERYWHERE,
        first.context.matrix.members,
        first.context.requirements,
        rules=[rule for rule in RULES if rule.id in {"mesh-path-blocked", "no-route"}],
        accepted=Accepted(suppressions, today=TODAY),
    )
    assert (result.status, result.exit_code(Severity.NOTE)) == (status, exit_code)
    assert len(result.findings) == 1
    assert result.counts == first.counts


def test_incomplete_stays_incomplete() -> None:
    """Suppressing that something could not be read does not make it known."""
    document = snapshot(
        [node("a", "10.0.0.4"), node("b", "10.0.1.5", subnet="subnet-2")],
        [group(ingress=SELF)],
        without=["NetworkAcls"],
    )
    first = scan(document)
    everything = tuple(accept(rule.id, "*") for rule in RULES)
    result = audit(
        first.snapshot,
        EVERYWHERE,
        first.context.matrix.members,
        first.context.requirements,
        accepted=Accepted(everything, today=TODAY),
    )
    assert {item.rule for item in result.active} <= {"suppression-unused"}
    assert (first.status, result.status, result.exit_code(Severity.ERROR)) == ("incomplete", "incomplete", 4)
