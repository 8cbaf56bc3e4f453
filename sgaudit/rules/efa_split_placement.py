"""Members that need EFA between them are in different availability zones or VPCs."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sgaudit.reach.verdict import count_pairs
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.rules.context import Context, Judged


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each requirement that spans places."""
    for judged in context.over_efa:
        pairs = split_pairs(context, judged) if judged.verdicts.failing else 0
        if pairs:
            yield _finding(context, judged, pairs)


def split_pairs(context: Context, judged: Judged) -> int:
    """Count the pairs none of whose EFA interfaces are in one place."""
    fabric, nodes = context.fabric, context.matrix.node_set
    pairs = 0
    for profile, members in fabric.profiles.items():
        near = 0
        for kind in profile:
            near |= fabric.possible.near[kind]
        elsewhere = judged.targets & ~fabric.nodes_of(near) & ~fabric.bare & ~fabric.unseen
        pairs += count_pairs(nodes, members & judged.sources, elsewhere)
    return pairs


def _finding(context: Context, judged: Judged, pairs: int) -> Finding:
    fabric = context.fabric
    scope = judged.sources | judged.targets
    places: dict[tuple[str, str], int] = defaultdict(int)
    for number, kind in enumerate(fabric.kinds):
        if fabric.members_of[number] & scope:
            places[kind.vpc_id, kind.zone or "an unknown zone"] |= fabric.members_of[number] & scope
    vpcs = len({vpc for vpc, _ in places})
    counted = {place: len(words.members_of(context.matrix, nodes)) for place, nodes in places.items()}
    ranked = sorted(counted, key=lambda place: (-counted[place], place))
    said = [f"{counted[vpc, zone]} in {zone}" + (f" of {vpc}" if vpcs > 1 else "") for vpc, zone in ranked]
    kinds = "VPCs" if vpcs > 1 else "availability zones"
    smallest = ranked[-1]
    return Finding(
        rule=RULE.id,
        severity=judged.requirement.severity,
        title=f"EFA members in {len(places)} places: {words.listed(said, 4)}",
        message=(
            f"Members that need EFA between them are in different {kinds}: {words.listed(said, 6)}. EFA traffic "
            f"crosses neither availability zones nor VPCs, whatever the security groups say; "
            f"{words.number(pairs, 'pair')} can't connect over EFA."
        ),
        remedy="Launch all members in one subnet, or in subnets of one availability zone of one VPC.",
        resource=Resource("vpc", smallest[0]) if vpcs > 1 else Resource("availability-zone", smallest[1]),
        pairs=pairs,
        evidence={
            "places": [{"vpc": vpc, "availability_zone": zone, "members": counted[vpc, zone]} for vpc, zone in ranked],
            "need": judged.requirement.need,
        },
        subject=("members",),
        identity=(judged.requirement.need, *(f"{vpc}/{zone}" for vpc, zone in sorted(counted))),
    )


RULE = Rule(
    id="efa-split-placement",
    title="Members that need EFA are in different availability zones or VPCs",
    severity=Severity.ERROR,
    why=(
        "EFA traffic is not routed: it reaches interfaces in the same availability zone of the same VPC alone. "
        "Libraries fail to insert the remote address, or fall back to TCP."
    ),
    remedy="Place all members in one availability zone of one VPC, best in a cluster placement group.",
    sources=("EC2 user guide, Elastic Fabric Adapter, EFA limitations", "ofiwg/libfabric, prov/efa/src/efa_ah.c"),
    check=check,
)
