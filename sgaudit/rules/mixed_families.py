"""Members that a policy wants in one address family are not all in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.policy.model import ConstraintKind
from sgaudit.reach.causes import Layer
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each constraint, unless `no-address` tells which paths lack the address."""
    nodes = context.matrix.node_set
    bare = nodes.everyone & ~nodes.addressed & ~nodes.unseen
    if not bare or any(stop.cause.layer is Layer.ADDRESS for stop in context.stops):
        return
    family = "IPv4" if context.matrix.family == "ipv4" else "IPv6"
    for constraint in context.requirements.constraints:
        lacking = nodes.of_instances(constraint.members) & bare
        if constraint.kind is not ConstraintKind.SAME_ADDRESS_FAMILY or not lacking:
            continue
        members = words.members_of(context.matrix, lacking)
        yield Finding(
            rule=RULE.id,
            severity=constraint.severity,
            title=f"{words.number(len(members), 'member')} without an {family} address",
            message=(
                f"{words.sentence(words.members_label(context.matrix, lacking))} "
                f"{words.verb(len(members), 'has', 'have')} no {family} address. {words.reason(constraint.why)}"
            ),
            remedy=f"Give every member an {family} address, or judge the other family with --family.",
            resource=Resource("instance", members[0].instance.instance_id),
            pairs=0,
            evidence={
                "family": str(context.matrix.family),
                "instances": [m.instance.instance_id for m in members[:50]],
            },
            subject=("members",),
            identity=(str(context.matrix.family),),
        )


RULE = Rule(
    id="mixed-families",
    title="Not every member has an address of the judged family",
    severity=Severity.ERROR,
    why="Frameworks make known one address of each member. One that has none of the family can't be dialled.",
    remedy="Give every member an address of the family.",
    sources=("NVIDIA NCCL user guide, Environment variables, NCCL_SOCKET_FAMILY",),
    check=check,
)
