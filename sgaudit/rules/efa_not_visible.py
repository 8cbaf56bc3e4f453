"""A verdict on EFA traffic needs something that could not be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.reach.verdict import Verdict
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each kind of resource that was not read."""
    pairs = sum(judged.verdicts.counts[Verdict.UNKNOWN] for judged in context.over_efa)
    if not pairs:
        return
    fabric, snapshot = context.fabric, context.snapshot
    unread = [group_id for group_id in sorted(fabric.carriers) if group_id not in (snapshot.security_groups or {})]
    blind = 0
    for number, kind in enumerate(fabric.kinds):
        blind |= fabric.members_of[number] if kind.groups is None or not kind.zone else 0
    found = (
        ("security-group", "DescribeSecurityGroups", unread, f"the permissions of {words.listed(unread)}"),
        ("member", "DescribeNetworkInterfaces", *_members(context, blind, "groups or the zone of EFA interfaces")),
        ("member", "DescribeInstances", *_members(context, fabric.unseen, "interfaces")),
    )
    for kind_of, operation, resources, what in found:
        if resources:
            code = snapshot.denied.get(operation)
            yield Finding(
                rule=RULE.id,
                severity=RULE.severity,
                title=f"{words.number(len(resources), kind_of.replace('-', ' '))} not visible for EFA",
                message=f"{words.sentence(what)} could not be read"
                + (f" ({operation} failed with {code})" if code else "")
                + f"; up to {words.number(pairs, 'pair')} over EFA depend on it.",
                remedy=f"Allow ec2:{operation} to the role that sgaudit runs as, and scan again.",
                subject=(kind_of,),
                resource=Resource("instance" if kind_of == "member" else kind_of, resources[0]),
                pairs=pairs,
                evidence={"operation": operation, "error": code or "", "resources": resources[:50]},
                identity=(operation,),
            )


def _members(context: Context, nodes: int, what: str) -> tuple[list[str], str]:
    ids = [node.instance.instance_id for node in words.members_of(context.matrix, nodes)]
    return ids, f"the {what} of {words.members_label(context.matrix, nodes)}" if ids else ""


RULE = Rule(
    id="efa-not-visible",
    title="A verdict on EFA traffic needs something that could not be read",
    severity=Severity.ERROR,
    why="What can't be read is neither open nor closed. A scan that passes over it would be worth nothing.",
    remedy="Allow the IAM action that is named and scan again.",
    sources=("IAM, Actions, resources, and condition keys for Amazon EC2",),
    check=check,
)
