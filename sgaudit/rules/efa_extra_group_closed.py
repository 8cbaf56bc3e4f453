"""A further group on an EFA interface does not admit EFA traffic of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.policy.model import ConstraintKind
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.rules.context import Context

PREPOSITIONS = {"ingress": "from", "egress": "to"}


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each such group; one that nothing makes up for belongs to `efa-group-closed`."""
    demands = [item for item in context.requirements.constraints if item.kind is ConstraintKind.EVERY_GROUP_ADMITS_EFA]
    if not context.over_efa and not demands:
        return
    fabric = context.fabric
    working = not any(judged.verdicts.failing for judged in context.over_efa)
    scope = 0
    for judged in context.over_efa:
        scope |= judged.sources | judged.targets
    demanded = context.matrix.node_set.of_instances(frozenset().union(*(item.members for item in demands)))
    for group_id, carriers in sorted(fabric.carriers.items()):
        lacking = [way for way in PREPOSITIONS if not _admits_itself(context, group_id, way)]
        nodes = fabric.nodes_of(carriers)
        bound = bool(nodes & demanded)
        made_up_for = any(
            carriers >> number & 1 and any(_open(context, other) for other in kind.groups or ())
            for number, kind in enumerate(fabric.kinds)
        )
        if lacking and nodes & (scope | demanded) and (made_up_for or (bound and working)):
            severities = [Severity.WARNING, *(item.severity for item in demands if bound)]
            severity = max(severities, key=lambda item: item.rank)
            reason = (
                "Another group on them admits EFA traffic, but services such as SageMaker HyperPod demand it of each."
            )
            if bound:
                reason = words.reason(next(item.why for item in demands))
            yield _finding(context, group_id, lacking, nodes, severity, reason)


def _admits_itself(context: Context, group_id: str, way: str) -> bool:
    """Tell whether it surely does, or was not read."""
    peers = context.fabric.admitted(group_id, egress=way == "egress")
    return peers is None or group_id in peers


def _open(context: Context, group_id: str) -> bool:
    return all(group_id in (context.fabric.admitted(group_id, egress=egress) or ()) for egress in (True, False))


def _finding(
    context: Context, group_id: str, lacking: list[str], nodes: int, severity: Severity, reason: str
) -> Finding:
    label = words.group_label(context.snapshot, group_id)
    ways = " and ".join(f"no {way} permission for all protocols {PREPOSITIONS[way]} itself" for way in lacking)
    return Finding(
        rule=RULE.id,
        severity=severity,
        title=f"{label} on EFA interfaces is not open to itself",
        message=(
            f"{label} is on the EFA interfaces of {words.members_label(context.matrix, nodes)} and has {ways}. {reason}"
        ),
        remedy=(
            f"Add to {label} {' and '.join(f'an {way} permission' for way in lacking)} for all protocols whose peer is "
            "the group itself, or take the group off the EFA interfaces."
        ),
        resource=Resource("security-group", group_id),
        pairs=0,
        evidence={"directions": lacking, "protocol": "efa"},
    )


RULE = Rule(
    id="efa-extra-group-closed",
    title="A further group on EFA interfaces is not open to itself",
    severity=Severity.ERROR,
    why=(
        "One group that is open to itself is enough for EFA traffic, and then this is a warning. But some services "
        "check every group on the interface and refuse the cluster; a policy that says so makes it an error."
    ),
    remedy="Let every group on EFA interfaces admit all protocols from and to itself, or take it off them.",
    sources=(
        "aws-samples/awsome-distributed-training, SageMaker HyperPod, EFA health check",
        "aws/aws-parallelcluster, EfaSecurityGroupValidator (one group suffices)",
    ),
    check=check,
)
