"""Members that a policy wants in one VPC or availability zone are in several."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sgaudit.policy.model import ConstraintKind
from sgaudit.rules import efa_split_placement, words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.policy.model import ConstraintRequirement
    from sgaudit.rules.context import Context

KINDS = {ConstraintKind.SAME_VPC: "VPC", ConstraintKind.SAME_AVAILABILITY_ZONE: "availability zone"}


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each constraint; where EFA itself is cut by it, `efa-split-placement` says so."""
    constraints = [item for item in context.requirements.constraints if item.kind in KINDS]
    if not constraints or any(efa_split_placement.split_pairs(context, judged) for judged in context.over_efa):
        return
    for constraint in constraints:
        places = _places(context, constraint)
        if len(places) > 1:
            yield _finding(context, constraint, places)


def _places(context: Context, constraint: ConstraintRequirement) -> dict[str, int]:
    nodes = context.matrix.node_set
    bound = nodes.of_instances(constraint.members)
    found: dict[str, int] = defaultdict(int)
    for (_, vpc_id), inside in zip(nodes.subnets, nodes.by_subnet, strict=True):
        first = next(nodes.pick(inside & bound), None)
        if first is None or first.interface is None:
            continue
        place = vpc_id if constraint.kind is ConstraintKind.SAME_VPC else first.interface.availability_zone
        if place:
            found[place] |= inside & bound
    return found


def _finding(context: Context, constraint: ConstraintRequirement, places: dict[str, int]) -> Finding:
    counts = {place: len(words.members_of(context.matrix, nodes)) for place, nodes in places.items()}
    ranked = sorted(counts, key=lambda place: (-counts[place], place))
    said = words.listed([f"{counts[place]} in {place}" for place in ranked], 6)
    noun = KINDS[constraint.kind]
    return Finding(
        rule=RULE.id,
        severity=constraint.severity,
        title=f"Members in {words.number(len(places), noun)}: {said}",
        message=(
            f"Policy {words.listed(constraint.policies)} wants its members in one {noun}, and they are in "
            f"{len(places)}: {said}. {words.reason(constraint.why)}"
        ),
        remedy=f"Launch all members in one {noun}, or select those of one alone.",
        resource=Resource(noun.replace(" ", "-").lower(), ranked[-1]),
        pairs=0,
        evidence={"constraint": str(constraint.kind), "members": counts},
        subject=("members",),
        identity=(str(constraint.kind), *sorted(places)),
    )


RULE = Rule(
    id="mixed-placement",
    title="Members are spread over VPCs or availability zones",
    severity=Severity.ERROR,
    why="Some traffic and some services work inside one VPC or one availability zone alone; the policy says which.",
    remedy="Launch all members in one place.",
    sources=("EC2 user guide, Elastic Fabric Adapter, EFA limitations", "EC2 user guide, Placement groups"),
    check=check,
)
