"""A scan as programs read it; the form is a contract."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sgaudit.reach.external import count_members
from sgaudit.reach.verdict import Verdict, member_counts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.rules.audit import Audit
    from sgaudit.rules.finding import Finding

SCHEMA_VERSION = 1


def render(audit: Audit) -> Iterator[str]:
    """Write one JSON object."""
    yield json.dumps(document(audit), indent=2)
    yield "\n"


def document(audit: Audit) -> dict[str, Any]:
    """Give the object of kind `scan`."""
    counts = audit.counts
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "scan",
        "status": audit.status,
        "selection": audit.selection.to_json(),
        "coverage": audit.coverage(),
        "summary": {
            "members": len(audit.context.matrix.node_set.by_instance),
            "pairs": sum(counts.values()),
            **{str(verdict): counts[verdict] for verdict in Verdict},
        },
        "requirements": list(_requirements(audit)),
        "findings": [finding_document(finding) for finding in audit.findings],
    }


def _requirements(audit: Audit) -> Iterator[dict[str, Any]]:
    for judged in audit.context.judged:
        requirement, counts = judged.requirement, member_counts(judged.verdicts)
        yield {
            "policy": ",".join(requirement.policies),
            "need": requirement.need,
            "protocol": str(requirement.protocol),
            "ports": str(requirement.ports),
            "pairs": sum(counts.values()),
            "satisfied": counts[Verdict.OPEN],
            "unsatisfied": counts[Verdict.PARTIAL] + counts[Verdict.BLOCKED],
            "unknown": counts[Verdict.UNKNOWN],
        }
    for external in audit.context.external:
        asked, found = external.requirement, count_members(audit.context.matrix, external.answer)
        yield {
            "policy": ",".join(asked.policies),
            "need": asked.need,
            "protocol": str(asked.protocol),
            "ports": str(asked.ports),
            "pairs": sum(found.values()),
            "satisfied": found["open"],
            "unsatisfied": found["closed"],
            "unknown": found["unknown"],
        }


def finding_document(finding: Finding) -> dict[str, Any]:
    """Give one finding."""
    return {
        "rule": finding.rule,
        "severity": str(finding.severity),
        "title": finding.title,
        "message": f"{finding.message} {finding.remedy}",
        "resource": {"type": finding.resource.type, "id": finding.resource.id},
        "pairs": finding.pairs,
        "examples": [
            {"source": example.source, "target": example.target, "ports": str(example.ports)}
            for example in finding.examples
        ],
        "evidence": dict(finding.evidence),
        "fix": str(finding.fix),
        "fingerprint": finding.fingerprint,
        "suppressed": finding.suppressed,
    }
