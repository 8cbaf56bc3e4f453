"""
A scan in the AWS Security Finding Format, for `aws securityhub batch-import-findings --findings file://...`.

There is one finding about the cluster as a whole, which passes when the cluster does, and one for each finding of
the scan. Security Hub takes at most 100 of them in one call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sgaudit
from sgaudit.errors import UsageError
from sgaudit.report.scan_table import verdict_line
from sgaudit.report.terminal import Style
from sgaudit.report.told import BLIND_RULES, PRODUCT, clean, dump
from sgaudit.rules.suppress import why
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.report.told import Told
    from sgaudit.rules.finding import Finding

SCHEMA_VERSION = "2018-10-08"
TYPE = "Software and Configuration Checks/AWS Security Best Practices/Network Reachability"
LABELS = {Severity.ERROR: "HIGH", Severity.WARNING: "MEDIUM", Severity.NOTE: "LOW"}
STATUSES = {"pass": "PASSED", "fail": "FAILED", "incomplete": "NOT_AVAILABLE"}
LONGEST_TITLE, LONGEST_TEXT, LONGEST_REMEDY = 256, 1024, 512
ACCOUNT_DIGITS = 12
RESOURCES = {
    "instance": "AwsEc2Instance",
    "network-acl": "AwsEc2NetworkAcl",
    "network-interface": "AwsEc2NetworkInterface",
    "route-table": "AwsEc2RouteTable",
    "security-group": "AwsEc2SecurityGroup",
    "subnet": "AwsEc2Subnet",
    "transit-gateway": "AwsEc2TransitGateway",
    "vpc": "AwsEc2Vpc",
    "vpc-peering-connection": "AwsEc2VpcPeeringConnection",
}
"""What ASFF calls the types of resources; `Other` for the rest."""


def render(told: Told) -> Iterator[str]:
    """
    Write one list of findings.

    Raises:
        UsageError: account or Region are not known; no finding can be without them.
    """
    if len(told.account) != ACCOUNT_DIGITS or not told.account.isdecimal() or not told.region:
        raise UsageError(
            "ASFF needs the account and the Region, and the snapshot does not tell them",
            hint='add "AccountId" and "Region" to the snapshot',
        )
    yield dump([_whole(told), *(_one(told, finding) for finding in told.audit.findings)]) + "\n"


def _common(told: Told, name: str) -> dict[str, Any]:
    moment = told.moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    hub = f"arn:{told.partition}:securityhub:{told.region}:{told.account}"
    return {
        "SchemaVersion": SCHEMA_VERSION,
        "Id": f"{told.region}/{told.account}/{PRODUCT}/{name}",
        "ProductArn": f"{hub}:product/{told.account}/default",
        "ProductName": PRODUCT,
        "AwsAccountId": told.account,
        "Region": told.region,
        "Types": [TYPE],
        "CreatedAt": moment,
        "UpdatedAt": moment,
        "RecordState": "ACTIVE",
    }


def _whole(told: Told) -> dict[str, Any]:
    audit = told.audit
    worst = max((item.severity for item in audit.active), key=lambda item: item.rank, default=None)
    label = "INFORMATIONAL" if worst is None or audit.status == "pass" else LABELS[worst]
    reasons = sorted(audit.snapshot.denied)
    cluster = clean(audit.selection.describe())
    return {
        **_common(told, f"scan/{told.cluster_id}"),
        "GeneratorId": f"{PRODUCT}/scan",
        "Severity": {"Label": label},
        "Title": _cut(f"Reachability of {cluster}", LONGEST_TITLE),
        "Description": _cut(" ".join([verdict_line(audit, Style()), *(f"Not read: {item}." for item in reasons)])),
        "Resources": [{"Type": "AwsAccount", "Id": f"AWS::::Account:{told.account}", "Partition": told.partition}],
        "Compliance": {"Status": STATUSES[audit.status]},
        "Workflow": {"Status": "RESOLVED" if audit.status == "pass" else "NEW"},
    }


def _one(told: Told, finding: Finding) -> dict[str, Any]:
    found = {
        **_common(told, finding.fingerprint),
        "GeneratorId": f"{PRODUCT}/{finding.rule}",
        "Severity": {"Label": LABELS[finding.severity]},
        "Title": _cut(finding.title, LONGEST_TITLE),
        "Description": _cut(finding.message),
        "Remediation": {"Recommendation": {"Text": _cut(finding.remedy, LONGEST_REMEDY)}},
        "ProductFields": {
            "sgaudit/version": sgaudit.__version__,
            "sgaudit/pairs": str(finding.pairs),
            "sgaudit/fix": str(finding.fix),
            "sgaudit/fingerprint": finding.fingerprint,
        },
        "Resources": [
            {
                "Type": RESOURCES.get(finding.resource.type, "Other"),
                "Id": told.arn(finding.resource),
                "Partition": told.partition,
                "Region": told.region,
            }
        ],
        "Compliance": {"Status": "WARNING" if finding.rule in BLIND_RULES else "FAILED"},
        "Workflow": {"Status": "SUPPRESSED" if finding.suppressed else "NEW"},
    }
    if finding.suppressed:
        note = {"Text": _cut(why(finding), LONGEST_REMEDY), "UpdatedBy": PRODUCT, "UpdatedAt": found["UpdatedAt"]}
        found["Note"] = note
    return found


def _cut(text: str, most: int = LONGEST_TEXT) -> str:
    text = clean(text).strip() or "-"
    return text if len(text) <= most else f"{text[: most - 3]}..."
