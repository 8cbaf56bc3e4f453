"""Instance types that can't work together are mixed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sgaudit.policy.model import ConstraintKind
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.selection import wildcard
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.policy.model import ConstraintRequirement
    from sgaudit.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each constraint."""
    for constraint in context.requirements.constraints:
        if constraint.kind is ConstraintKind.SEPARATE_INSTANCE_TYPES:
            yield from _mixed(context, constraint)


def _mixed(context: Context, constraint: ConstraintRequirement) -> Iterator[Finding]:
    types = Counter(
        member.instance.instance_type
        for member in context.matrix.members
        if member.instance.instance_id in constraint.members and member.instance.instance_type
    )
    apart = {
        name: count
        for name, count in types.items()
        if any(wildcard(pattern).fullmatch(name) for pattern in constraint.instance_types)
    }
    others = {name: count for name, count in types.items() if name not in apart}
    if not apart or not others:
        return
    yield Finding(
        rule=RULE.id,
        severity=constraint.severity,
        title=f"{_said(apart)} mixed with {_said(others)}",
        message=(
            f"Policy {words.listed(constraint.policies)} wants {words.listed(constraint.instance_types, 6)} apart from "
            f"other instance types, and the members are {_said(apart)} and {_said(others)}. "
            f"{words.reason(constraint.why)}"
        ),
        remedy="Run one job on each kind of instance, or launch all members with one instance type.",
        resource=Resource("instance-type", min(apart)),
        pairs=2 * sum(apart.values()) * sum(others.values()),
        evidence={"instance_types": dict(sorted(types.items()))},
        subject=("members",),
        identity=tuple(sorted(types)),
    )


def _said(types: dict[str, int]) -> str:
    return words.listed([f"{count} {name}" for name, count in sorted(types.items())])


RULE = Rule(
    id="mixed-instance-types",
    title="Instance types that can't work together are mixed",
    severity=Severity.ERROR,
    why="Some instance types have an older fabric, and EFA traffic between them and others is not supported.",
    remedy="Launch all members with instance types of one kind.",
    sources=("EC2 user guide, Elastic Fabric Adapter, EFA limitations",),
    check=check,
)
