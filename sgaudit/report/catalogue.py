"""Rules and policies as lists and in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sgaudit.report.tables import table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgaudit.policy.model import Constraint, Exposure, Need, Parameter, Policy
    from sgaudit.report.terminal import Style
    from sgaudit.rules.finding import Rule

SCHEMA_VERSION = 1


def rules_table(rules: Sequence[Rule], style: Style) -> Iterator[str]:
    """List rules with severity and title."""
    rows = [[rule.id, style.severity(rule.severity), rule.title] for rule in rules]
    yield from (f"{line}\n" for line in table(["rule", "severity", "title"], rows))


def rule_text(rule: Rule, style: Style) -> Iterator[str]:
    """Explain one rule."""
    head = style.wrap(f"{rule.id} ({rule.severity}): {rule.title}", hanging="  ")
    yield f"{style.paint(head, 'bold')}\n"
    for title, text in (("Why", rule.why), ("What to do", rule.remedy)):
        yield f"\n{title}\n{style.wrap(text, indent='  ')}\n"
    yield "\nSources\n"
    for source in rule.sources:
        yield f"{style.wrap(source, indent='  ', hanging='    ')}\n"


def rules_json(rules: Sequence[Rule]) -> Iterator[str]:
    """Give the object of kind `rules`."""
    yield _json("rules", rules=[rule_document(rule) for rule in rules])


def rule_json(rule: Rule) -> Iterator[str]:
    """Give the object of kind `rule`."""
    yield _json("rule", **rule_document(rule))


def rule_document(rule: Rule) -> dict[str, Any]:
    """Give all that is written about a rule."""
    return {
        "id": rule.id,
        "severity": str(rule.severity),
        "title": rule.title,
        "why": rule.why,
        "remedy": rule.remedy,
        "sources": list(rule.sources),
    }


def policies_table(policies: Sequence[Policy], style: Style) -> Iterator[str]:
    """List policies: name, summary, and parameters with their defaults."""
    for number, policy in enumerate(policies):
        yield "\n" if number else ""
        yield f"{style.paint(style.safe(policy.name), 'bold')}\n{style.wrap(policy.summary, indent='  ')}\n"
        for item in policy.parameters:
            default = "" if item.default is None else item.default
            what = f" ({item.description})" if item.description else ""
            yield f"{style.wrap(f'--set {item.name}={default}{what}', indent='  ', hanging='      ')}\n"


def policy_text(policy: Policy, style: Style) -> Iterator[str]:
    """Explain one policy."""
    from sgaudit.policy.describe import describe

    for line in describe(policy).splitlines():
        yield f"{style.safe(line)}\n"


def policies_json(policies: Sequence[Policy]) -> Iterator[str]:
    """Give the object of kind `policies`."""
    listed = [
        {
            "name": policy.name,
            "summary": policy.summary,
            "parameters": [_parameter(item) for item in policy.parameters],
        }
        for policy in policies
    ]
    yield _json("policies", policies=listed)


def policy_json(policy: Policy) -> Iterator[str]:
    """Give the object of kind `policy`."""
    yield _json(
        "policy",
        name=policy.name,
        summary=policy.summary,
        frameworks=list(policy.frameworks),
        notes=list(policy.notes),
        extends=list(policy.extends),
        parameters=[_parameter(item) for item in policy.parameters],
        needs=[_need(item) for item in policy.needs],
        constraints=[_constraint(item) for item in policy.constraints],
        exposure=[_exposure(item) for item in policy.exposures],
    )


def checked(file: str, policy: Policy, style: Style) -> str:
    """Say that a policy's file is right."""
    parts = (("need", policy.needs), ("constraint", policy.constraints), ("exposure", policy.exposures))
    found = ", ".join(f"{len(items)} {word}{'' if len(items) == 1 else 's'}" for word, items in parts if items)
    return style.safe(f"{file}: right: {policy.name}, {found}")


def _json(kind: str, **content: Any) -> str:
    document = {"schema_version": SCHEMA_VERSION, "kind": kind, **content}
    return json.dumps(document, indent=2) + "\n"


def _parameter(item: Parameter) -> dict[str, Any]:
    return {"name": item.name, "kind": str(item.kind), "default": item.default, "description": item.description}


def _need(item: Need) -> dict[str, Any]:
    return {
        "id": item.id,
        "from": item.source,
        "to": item.target,
        "protocol": str(item.protocol),
        "ports": str(item.ports),
        "topology": str(item.topology),
        "severity": str(item.severity),
        "why": item.why,
        "sources": list(item.references),
    }


def _constraint(item: Constraint) -> dict[str, Any]:
    return {
        "kind": str(item.kind),
        "roles": list(item.roles),
        "severity": str(item.severity),
        "why": item.why,
        "sources": list(item.references),
    }


def _exposure(item: Exposure) -> dict[str, Any]:
    return {
        "id": item.id,
        "protocol": str(item.protocol),
        "ports": "policy" if item.ports is None else str(item.ports),
        "from": str(item.sources),
        "except_ports": str(item.except_ports),
        "except_from": str(item.except_sources),
        "severity": str(item.severity),
        "why": item.why,
        "sources": list(item.references),
    }
