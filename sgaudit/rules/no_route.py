"""Routes don't lead from one member to another, or not back."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sgaudit.model import RouteTarget
from sgaudit.reach.causes import Layer
from sgaudit.reach.routes import winning_route
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.model import Vpc
    from sgaudit.reach.causes import Cause
    from sgaudit.reach.nodes import Node
    from sgaudit.rules.context import Context, Stop


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each route table and reason, packets and answers together."""
    groups: dict[tuple[str, str], list[Stop]] = defaultdict(list)
    for stop in context.stops:
        if stop.cause.layer in (Layer.ROUTE, Layer.RETURN_ROUTE) and stop.cause.certain:
            groups[_table(context, stop)[0], _reason(context, stop)].append(stop)
    for (table_id, reason), stops in groups.items():
        yield _finding(context, table_id, reason, stops)


def _table(context: Context, stop: Stop) -> tuple[str, str]:
    """Tell the id and the name of the route table that does not lead on."""
    subnet_id, vpc_id = stop.cause.subnets[0]
    table = context.snapshot.route_table(subnet_id, vpc_id)
    return (table.route_table_id, table.tags.get("Name", "")) if table else (subnet_id, "")


def _outside(cause: Cause) -> int:
    return cause.sources() if cause.layer is Layer.RETURN_ROUTE else cause.targets()


def _finding(context: Context, table_id: str, reason: str, stops: list[Stop]) -> Finding:
    matrix = context.matrix
    first = stops[0]
    vpc_id = first.cause.subnets[0][1]
    outside = 0
    for stop in stops:
        outside |= _outside(stop.cause)
    node = next(matrix.node_set.pick(_outside(first.cause)))
    label = words.named(_table(context, first)[1], table_id)
    ways = words.unique("answers" if stop.cause.layer is Layer.RETURN_ROUTE else "packets" for stop in stops)
    whom = words.members_label(matrix, outside)
    pairs = sum(stop.cause.count(matrix) for stop in stops)
    return Finding(
        rule=RULE.id,
        severity=max((stop.severity for stop in stops), key=lambda severity: severity.rank),
        title=f"{words.listed(ways)} do not get from {vpc_id} to {words.members_title(matrix, outside)}",
        message=(
            f"Route table {label} of {vpc_id} takes no {words.listed(ways).replace(' and ', ' and no ')} to {whom}: "
            f"for {node.address} {reason}; {words.number(pairs, 'pair')} can't connect."
        ),
        remedy=_remedy(context, vpc_id, node, label),
        resource=Resource("route-table", table_id),
        pairs=pairs,
        examples=context.examples(first.cause, first.cause.missing),
        evidence={
            "ways": ways,
            "subnets": sorted({subnet for stop in stops for subnet, _ in stop.cause.subnets}),
            "example_address": node.address,
            "reason": reason,
            "needs": words.unique(need for stop in stops for need in stop.needs),
        },
        identity=(reason,),
    )


def _reason(context: Context, stop: Stop) -> str:
    subnet_id, vpc_id = stop.cause.subnets[0]
    node = next(context.matrix.node_set.pick(_outside(stop.cause)))
    found = winning_route(context.snapshot, subnet_id, vpc_id, context.matrix.family, node.value or 0)
    if found is None:
        return "it has no route"
    cidr, route = found
    if route.state == "blackhole":
        return f"its route {cidr} to {route.target_id} is a blackhole"
    if route.target is RouteTarget.LOCAL:
        return f"{cidr} is its own VPC's block, so that packets never leave it"
    if route.target is RouteTarget.PEERING:
        peering = (context.snapshot.peerings or {}).get(route.target_id)
        status = peering.status if peering else "not known"
        if status != "active":
            return f"its route {cidr} leads to {route.target_id}, which is {status}"
    return f"its route {cidr} leads to {route.target_id}, and that leads elsewhere"


def _remedy(context: Context, vpc_id: str, node: Node, label: str) -> str:
    other = node.interface.vpc_id if node.interface else ""
    if other == vpc_id:
        return f"Remove the route from {label} that takes this traffic elsewhere, or restore its target."
    joined = [
        peering.peering_id
        for peering in (context.snapshot.peerings or {}).values()
        if peering.status == "active" and peering.joins(vpc_id, other)
    ]
    if joined:
        return f"Add to {label} a route to the CIDR block of {other} over {joined[0]}."
    vpcs = context.snapshot.vpcs or {}
    if vpc_id in vpcs and other in vpcs and _overlap(vpcs[vpc_id], vpcs[other]):
        return f"Put all members in one VPC: {vpc_id} and {other} overlap, and such VPCs can't be peered."
    return f"Peer {vpc_id} with {other} and route both ways, or put all members in one VPC."


def _overlap(one: Vpc, other: Vpc) -> bool:
    return any(
        mine.family is theirs.family and mine.first <= theirs.last and theirs.first <= mine.last
        for mine in one.cidrs
        for theirs in other.cidrs
    )


RULE = Rule(
    id="no-route",
    title="Routes don't lead from one member to another",
    severity=Severity.ERROR,
    why=(
        "Inside a VPC every subnet reaches every other one by the local route, unless a more specific route takes "
        "the packets elsewhere. Between VPCs both route tables need a route over an active peering connection."
    ),
    remedy="Add the route that is missing, on both sides, or put all members in one VPC.",
    sources=("VPC user guide, Route tables", "VPC peering guide, Update your route tables"),
    check=check,
)
