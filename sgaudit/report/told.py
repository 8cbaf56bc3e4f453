"""What every format of a scan is made from, and how it names things to programs that know files or ARNs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sgaudit.report.terminal import Style
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgaudit.rules.audit import Audit
    from sgaudit.rules.finding import Finding, Resource

PRODUCT = "sgaudit"
PARTITIONS: Mapping[str, str] = {
    "cn-": "aws-cn",
    "us-gov-": "aws-us-gov",
    "us-iso-": "aws-iso",
    "us-isob-": "aws-iso-b",
    "eusc-": "aws-eusc",
}
"""The partition of a Region by how its name begins; all others are in `aws`."""
ARN_TYPES = frozenset(
    {
        "instance",
        "network-acl",
        "network-interface",
        "route-table",
        "security-group",
        "subnet",
        "transit-gateway",
        "vpc",
        "vpc-peering-connection",
        "prefix-list",
    }
)
"""The types of resources that are called in EC2's ARNs as they are in findings."""
BLIND_RULES = frozenset({"not-visible", "external-not-visible", "efa-not-visible"})
"""The rules whose findings say that something could not be judged, not that it is wrong."""
_SAFE = Style(unicode=True).safe


@dataclass(frozen=True)
class Told:
    """A scan, and how it is to be told."""

    audit: Audit
    style: Style = field(default_factory=Style)
    fail_on: Severity = Severity.ERROR
    """The severity from which on a finding counts for the exit code."""
    now: datetime | None = None
    """Left out: the present; what a snapshot without a time is dated with."""

    @property
    def account(self) -> str:
        """The account's id; empty when it is not known."""
        return self.audit.snapshot.account_id

    @property
    def region(self) -> str:
        """The Region; empty when it is not known."""
        return self.audit.snapshot.region

    @property
    def partition(self) -> str:
        """The partition that the Region is in."""
        return next((name for start, name in PARTITIONS.items() if self.region.startswith(start)), "aws")

    @cached_property
    def moment(self) -> datetime:
        """When AWS said all this, in UTC."""
        try:
            found = datetime.fromisoformat(self.audit.snapshot.collected_at or "")
        except ValueError:
            found = self.now or datetime.now(UTC)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)

    @property
    def cluster_id(self) -> str:
        """Tell this cluster and what is asked of it from others, the same in each run."""
        asked = [self.audit.selection.to_json(), *self.audit.context.requirements.policies]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:32]

    def path(self, resource: Resource) -> str:
        """Name a resource as a file is named, the same in each run: a URI relative to nowhere."""
        parts = ("aws", self.account or "unknown-account", self.region or "unknown-region", resource.id or "unknown")
        return "/".join(quote(clean(part), safe="") for part in parts)

    def arn(self, resource: Resource) -> str:
        """Name a resource as AWS does; by its path where it has no ARN or the account is not known."""
        if resource.type not in ARN_TYPES or not self.account or not self.region:
            return self.path(resource)
        return f"arn:{self.partition}:ec2:{self.region}:{self.account}:{resource.type}/{clean(resource.id)}"


def clean(text: str) -> str:
    """Make text that others wrote fit for one line of any document: control characters are spelled out."""
    return _SAFE(text)


def dump(value: Any, *, indent: int | None = 2) -> str:
    """Write JSON that any reader of any encoding takes."""
    return json.dumps(value, indent=indent)


def full_message(finding: Finding) -> str:
    """Say what is wrong and what to do."""
    return clean(f"{finding.message} {finding.remedy}")
