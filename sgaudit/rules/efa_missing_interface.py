"""A member that needs EFA has no EFA interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.reach.verdict import count_pairs
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for all members without an EFA interface."""
    matrix, bare = context.matrix, context.fabric.bare if context.over_efa else 0
    lacking = pairs = 0
    for judged in context.over_efa:
        lacking |= bare & (judged.sources | judged.targets)
        pairs = max(
            pairs,
            count_pairs(matrix.node_set, judged.sources & bare, judged.targets)
            + count_pairs(matrix.node_set, judged.sources & ~bare, judged.targets & bare),
        )
    if not lacking:
        return
    members = words.members_of(matrix, lacking)
    types = words.unique(sorted(node.instance.instance_type for node in members if node.instance.instance_type))
    yield Finding(
        rule=RULE.id,
        severity=max((judged.requirement.severity for judged in context.over_efa), key=lambda item: item.rank),
        title=f"{words.number(len(members), 'member')} without an EFA interface",
        message=(
            f"{words.sentence(words.members_label(matrix, lacking))}, of {words.listed(types) or 'unknown type'}, "
            f"{words.verb(len(members), 'has', 'have')} no interface of type efa or efa-only; "
            f"{words.number(pairs, 'pair')} can't connect over EFA."
        ),
        remedy=(
            "Attach an EFA interface while the instance is stopped, or launch it anew from a template with "
            "InterfaceType efa; the instance type must support EFA."
        ),
        subject=("members",),
        resource=Resource("instance", members[0].instance.instance_id),
        pairs=pairs,
        evidence={
            "instances": [node.instance.instance_id for node in members[:50]],
            "instance_types": types,
            "needs": words.unique(judged.requirement.need for judged in context.over_efa),
        },
    )


RULE = Rule(
    id="efa-missing-interface",
    title="A member that needs EFA has no EFA interface",
    severity=Severity.ERROR,
    why=(
        "EFA traffic leaves and enters by interfaces of type efa or efa-only alone. A member without one makes "
        "libraries fail at the start, or the whole job falls back to TCP."
    ),
    remedy="Launch the member with an interface of type efa, on an instance type that supports it.",
    sources=("EC2 user guide, Elastic Fabric Adapter", "EC2 user guide, Attach an EFA interface to an instance"),
    check=check,
)
