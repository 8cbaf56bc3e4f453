"""Some paths between members have a smaller MTU than others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.model import RouteTarget
from sgaudit.policy.model import ConstraintKind
from sgaudit.reach.routes import winning_route
from sgaudit.reach.verdict import count_pairs
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each constraint and transit gateway."""
    constraints = [item for item in context.requirements.constraints if item.kind is ConstraintKind.SAME_MTU_CLASS]
    gateways = _gateways(context) if constraints else {}
    nodes = context.matrix.node_set
    for constraint in constraints:
        bound = nodes.of_instances(constraint.members)
        for gateway, blocks in sorted(gateways.items()):
            pairs = sum(count_pairs(nodes, sources & bound, targets & bound) for sources, targets in blocks)
            if pairs:
                yield Finding(
                    rule=RULE.id,
                    severity=constraint.severity,
                    title=f"{words.number(pairs, 'pair')} behind a smaller MTU",
                    message=(
                        f"{words.number(pairs, 'pair')} of members are routed through {gateway}, which carries 8,500 "
                        "bytes a packet; inside a VPC it is 9,001. The gateway drops larger packets without a word, "
                        "and lowers the segment size of TCP alone."
                    ),
                    remedy="Set an MTU of 8,500 for these routes on the members, or join the VPCs by a peering.",
                    resource=Resource("transit-gateway", gateway),
                    pairs=pairs,
                )


def _gateways(context: Context) -> dict[str, list[tuple[int, int]]]:
    """Find the transit gateways between members, each with its pairs as sources and targets."""
    matrix, nodes = context.matrix, context.matrix.node_set
    found: dict[str, list[tuple[int, int]]] = {}
    for position, lead in enumerate(matrix.routes.leads):
        if not lead.unknown:
            continue
        for inside in nodes.by_subnet:
            first = next(nodes.pick(inside & lead.unknown), None)
            if first is None or first.value is None:
                continue
            won = winning_route(context.snapshot, *nodes.subnets[position], matrix.family, first.value)
            if won and won[1].target is RouteTarget.TRANSIT_GATEWAY:
                block = (nodes.by_subnet[position], inside & lead.unknown)
                found.setdefault(won[1].target_id, []).append(block)
    return found


RULE = Rule(
    id="mixed-mtu",
    title="Paths between members differ in MTU",
    severity=Severity.WARNING,
    why=(
        "Where one path carries smaller packets than the others, start-up passes and large transfers stall unless the "
        "sender learns of it. A transit gateway sends no 'fragmentation needed'."
    ),
    remedy="Give all paths one MTU, or place the members in one VPC.",
    sources=(
        "EC2 user guide, Network maximum transmission unit (MTU) for your EC2 instance",
        "Amazon VPC Transit Gateways guide, Quotas, Maximum transmission unit",
    ),
    check=check,
)
