"""The cluster works only by the VPC's default group."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from sgaudit.ports import ALL
from sgaudit.reach.nodes import indexes_of
from sgaudit.reach.verdict import Verdict, own_nodes
from sgaudit.rules import words
from sgaudit.rules.context import MOST_EXAMPLES, Context
from sgaudit.rules.finding import Example, Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_NAME = "default"
"""The name of the group that every VPC has; no other group can have it (EC2 API reference, CreateSecurityGroup)."""


def check(context: Context) -> Iterator[Finding]:
    """Judge the cluster once more with empty default groups, and report what would be lost."""
    groups = [group for group in context.groups if group.name == DEFAULT_NAME and (group.ingress or group.egress)]
    if not groups or not context.overall.counts[Verdict.OPEN]:
        return
    known = dict(context.snapshot.security_groups or {})
    known.update({group.group_id: replace(group, ingress=(), egress=()) for group in groups})
    snapshot = replace(context.snapshot, security_groups=known)
    without = Context(snapshot, replace(context.matrix, snapshot=snapshot), context.requirements)
    pairs = context.overall.counts[Verdict.OPEN] - without.overall.counts[Verdict.OPEN]
    if not pairs:
        return
    label = words.listed([words.named(group.name, group.group_id) for group in groups])
    yield Finding(
        rule=RULE.id,
        severity=RULE.severity,
        title=f"{words.number(pairs, 'pair')} open only by {label}",
        message=(
            f"{words.number(pairs, 'pair')} of members connect only because of {label}, which every VPC has. "
            "Whatever is launched without a group gets it, and compliance checks demand that it is empty: the cluster "
            "stops when somebody obeys them."
        ),
        remedy="Put a group of the cluster's own, with the permissions that it needs, on all members first.",
        resource=Resource("security-group", groups[0].group_id),
        pairs=pairs,
        examples=_examples(context, without),
        evidence={"security_groups": [group.group_id for group in groups]},
        subject=("security-groups",),
        identity=tuple(group.group_id for group in groups),
    )


def _examples(context: Context, without: Context) -> tuple[Example, ...]:
    return tuple(islice(_lost(context, without), MOST_EXAMPLES))


def _lost(context: Context, without: Context) -> Iterator[Example]:
    nodes = context.matrix.node_set
    for source, row in context.overall.row_of.items():
        rest = without.overall.row_of[source].open
        for target in indexes_of(row.open & ~rest & ~own_nodes(nodes, source)):
            yield Example(nodes.items[source].instance.instance_id, nodes.items[target].instance.instance_id, ALL)


RULE = Rule(
    id="leans-on-default-group",
    title="The cluster works only by the VPC's default group",
    severity=Severity.WARNING,
    why=(
        "The default group admits all traffic from itself, so a cluster that was launched without thought works by it, "
        "together with everything else that was. Security standards demand that it has no permissions at all."
    ),
    remedy="Give the cluster a group of its own.",
    sources=(
        "VPC user guide, Default security groups",
        "AWS Security Hub user guide, EC2.2: VPC default security groups should not allow inbound or outbound traffic",
    ),
    check=check,
)
