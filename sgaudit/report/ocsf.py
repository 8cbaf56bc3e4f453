"""A scan as OCSF 1.5 Compliance Findings (class 2003) with the cloud profile: a JSON array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sgaudit
from sgaudit.report.scan_table import verdict_line
from sgaudit.report.terminal import Style
from sgaudit.report.told import BLIND_RULES, PRODUCT, clean, dump, full_message
from sgaudit.rules import RULES
from sgaudit.rules.suppress import why
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.report.told import Told
    from sgaudit.rules.finding import Finding

VERSION = "1.5.0"
CATEGORY, CLASS, CREATED = 2, 2003, 1
UNKNOWN, PASS, WARNING, FAIL = (0, "Unknown"), (1, "Pass"), (2, "Warning"), (3, "Fail")
STATUSES = {"pass": PASS, "fail": FAIL, "incomplete": UNKNOWN}
NEW, SUPPRESSED, RESOLVED = (1, "New"), (3, "Suppressed"), (4, "Resolved")
SEVERITIES = {Severity.ERROR: (4, "High"), Severity.WARNING: (3, "Medium"), Severity.NOTE: (2, "Low")}
INFORMATIONAL = (1, "Informational")
AWS_ACCOUNT = (10, "AWS Account")
BY_ID = {rule.id: rule for rule in RULES}


def render(told: Told) -> Iterator[str]:
    """Write one finding about the cluster as a whole, which passes when it does, then one for each finding."""
    yield dump([_whole(told), *(_one(told, finding) for finding in told.audit.findings)]) + "\n"


def _whole(told: Told) -> dict[str, Any]:
    audit = told.audit
    worst = max((item.severity for item in audit.active), key=lambda item: item.rank, default=None)
    passed = audit.status == "pass"
    cluster = clean(audit.selection.describe())
    return {
        **_common(told, INFORMATIONAL if worst is None or passed else SEVERITIES[worst]),
        **_status(RESOLVED if passed else NEW),
        "message": " ".join([verdict_line(audit, Style()), *(f"Not read: {name}." for name in audit.snapshot.denied)]),
        "finding_info": _info(told, f"scan/{told.cluster_id}", f"Reachability of {cluster}", cluster),
        "compliance": _compliance("scan", STATUSES[audit.status], "Every need of the cluster can be met"),
        "resources": [_resource(told, "AWS::::Account", told.account or "unknown")],
    }


def _one(told: Told, finding: Finding) -> dict[str, Any]:
    rule = BY_ID[finding.rule]
    found = {
        **_common(told, SEVERITIES[finding.severity]),
        **_status(SUPPRESSED if finding.suppressed else NEW),
        "message": full_message(finding),
        "finding_info": _info(told, finding.fingerprint, finding.title, finding.message),
        "compliance": _compliance(rule.id, WARNING if finding.rule in BLIND_RULES else FAIL, rule.title),
        "remediation": {"desc": clean(finding.remedy), "references": list(rule.sources)},
        "resources": [_resource(told, finding.resource.type, finding.resource.id, told.arn(finding.resource))],
        "unmapped": {"pairs": finding.pairs, "fix": str(finding.fix), "evidence": dict(finding.evidence)},
    }
    if finding.suppressed:
        found["status_detail"] = clean(why(finding))
    return found


def _common(told: Told, severity: tuple[int, str]) -> dict[str, Any]:
    account_type, account_kind = AWS_ACCOUNT
    return {
        "activity_id": CREATED,
        "activity_name": "Create",
        "category_uid": CATEGORY,
        "category_name": "Findings",
        "class_uid": CLASS,
        "class_name": "Compliance Finding",
        "type_uid": CLASS * 100 + CREATED,
        "type_name": "Compliance Finding: Create",
        "time": _milliseconds(told),
        "severity_id": severity[0],
        "severity": severity[1],
        "metadata": {
            "version": VERSION,
            "profiles": ["cloud"],
            "product": {"name": PRODUCT, "vendor_name": PRODUCT, "version": sgaudit.__version__},
        },
        "cloud": {
            "provider": "AWS",
            "region": clean(told.region),
            "account": {
                "uid": clean(told.account),
                "name": clean(told.account),
                "type": account_kind,
                "type_id": account_type,
            },
        },
    }


def _status(status: tuple[int, str]) -> dict[str, Any]:
    return {"status_id": status[0], "status": status[1]}


def _compliance(control: str, status: tuple[int, str], about: str) -> dict[str, Any]:
    return {
        "standards": [PRODUCT],
        "control": control,
        "desc": about,
        "status_id": status[0],
        "status": status[1],
    }


def _info(told: Told, uid: str, title: str, about: str) -> dict[str, Any]:
    moment = _milliseconds(told)
    return {
        "uid": uid,
        "title": clean(title),
        "desc": clean(about),
        "created_time": moment,
        "modified_time": moment,
        "types": ["Network Reachability"],
    }


def _resource(told: Told, kind: str, name: str, uid: str = "") -> dict[str, Any]:
    return {
        "type": kind,
        "uid": uid or clean(name),
        "name": clean(name),
        "region": clean(told.region),
        "cloud_partition": told.partition,
    }


def _milliseconds(told: Told) -> int:
    return int(told.moment.timestamp() * 1000)
