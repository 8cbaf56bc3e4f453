"""Routes don't lead from one member to another, or not back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.model import RouteTarget
from sgaudit.reach.causes import Layer
from sgaudit.reach.routes import winning_route
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.reach.nodes import Node
    from sgaudit.rules.context import Context, Stop


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each route table and way."""
    for stop in context.stops:
        if stop.cause.layer in (Layer.ROUTE, Layer.RETURN_ROUTE) and stop.cause.certain:
            yield _finding(context, stop)


def _finding(context: Context, stop: Stop) -> Finding:
    cause, matrix = stop.cause, context.matrix
    back = cause.layer is Layer.RETURN_ROUTE
    outside = cause.sources() if back else cause.targets()
    subnet_id, vpc_id = cause.subnets[0]
    table = context.snapshot.route_table(subnet_id, vpc_id)
    label = words.named(table.tags.get("Name", ""), table.route_table_id) if table else subnet_id
    pairs = cause.count(matrix)
    node = next(matrix.node_set.pick(outside))
    reason = _reason(context, subnet_id, vpc_id, node)
    what = "answers" if back else "packets"
    return Finding(
        rule=RULE.id,
        severity=stop.severity,
        title=f"{label} leads no {what} to {words.members_label(matrix, outside)}",
        message=(
            f"Route table {label} of {vpc_id} does not take {what} to {words.members_label(matrix, outside)}: "
            f"for {node.address} {reason}; {words.number(pairs, 'pair')} can't connect."
        ),
        remedy=_remedy(context, vpc_id, node, label),
        resource=Resource("route-table", table.route_table_id if table else subnet_id),
        pairs=pairs,
        examples=context.examples(cause, cause.missing),
        evidence={
            "way": "back" if back else "there",
            "subnets": [subnet for subnet, _ in cause.subnets],
            "example_address": node.address,
            "reason": reason,
            "needs": list(stop.needs),
        },
        identity=(cause.layer, *sorted(subnet for subnet, _ in cause.subnets)),
    )


def _reason(context: Context, subnet_id: str, vpc_id: str, node: Node) -> str:
    found = winning_route(context.snapshot, subnet_id, vpc_id, context.matrix.family, node.value or 0)
    if found is None:
        return "it has no route"
    cidr, route = found
    if route.state == "blackhole":
        return f"its route {cidr} to {route.target_id} is a blackhole"
    if route.target is RouteTarget.PEERING:
        peering = (context.snapshot.peerings or {}).get(route.target_id)
        status = peering.status if peering else "not known"
        if status != "active":
            return f"its route {cidr} leads to {route.target_id}, which is {status}"
    return f"its route {cidr} leads to {route.target_id}, which does not lead there"


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
    return f"Peer {vpc_id} with {other} and route both ways, or put all members in one VPC."


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
