"""A security group admits none of the ports that a need asks for, between some members."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.rules import group_paths
from sgaudit.rules.finding import Finding, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each set of groups, direction and set of missing ports."""
    for stop in group_paths.stops(context, partly=False):
        yield group_paths.finding(context, stop, RULE.id)


RULE = Rule(
    id="mesh-path-blocked",
    title="No permission for a path that the cluster needs",
    severity=Severity.ERROR,
    why=(
        "A connection needs an egress permission of a group of the source and an ingress permission of a group of "
        "the target. Being in the same group grants nothing by itself. Where one is missing, packets are dropped "
        "without an answer, so the job hangs until its time-out."
    ),
    remedy="Add the permission that is named, with a security group as its peer.",
    sources=("VPC user guide, Security groups", "VPC user guide, Security group rules"),
    check=check,
)
