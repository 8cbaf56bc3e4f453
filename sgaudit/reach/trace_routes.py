"""The hops at which route tables are asked, there and on the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.model import Cidr, Route, RouteTarget
from sgaudit.ports import ALL, NONE, PortSet
from sgaudit.reach.causes import Layer
from sgaudit.reach.routes import unreadable, winning_route
from sgaudit.reach.trace_values import Blocker, Code, Decision, Effect, Hop, Thing

if TYPE_CHECKING:
    from sgaudit.model import Snapshot
    from sgaudit.reach.matrix import Matrix
    from sgaudit.reach.nodes import Node
    from sgaudit.reach.routes import Leads

BACK = {
    Code.NO_ROUTE: Code.NO_RETURN_ROUTE,
    Code.ROUTE_BLACKHOLE: Code.RETURN_ROUTE_BLACKHOLE,
    Code.ROUTE_LEADS_ELSEWHERE: Code.RETURN_ROUTE_LEADS_ELSEWHERE,
}
"""What a code is called on the way back."""


def hop(matrix: Matrix, here: Node, there: Node, asked: PortSet, *, back: bool) -> Hop:
    """Ask the route table of the subnet of one node for the way to another."""
    snapshot, subnet = matrix.snapshot, matrix.node_set.subnet_index_of[here.index]
    subnet_id, vpc_id = matrix.node_set.subnets[subnet]
    table = snapshot.route_table(subnet_id, vpc_id)
    resource = Thing("route-table", table.route_table_id) if table else Thing("subnet", subnet_id)
    layer = Layer.RETURN_ROUTE if back else Layer.ROUTE
    if matrix.sure.neighbours(subnet) >> there.index & 1:
        return Hop(layer, resource, not back, ALL, ALL, skipped=True)
    best = winning_route(snapshot, subnet_id, vpc_id, matrix.family, there.value or 0) if table else None
    lead = matrix.routes.leads[subnet]
    if lead.direct >> there.index & 1:
        return passing(layer, resource, asked, _direct(best))
    if lead.reached >> there.index & 1:
        code, blamed = _doubt(snapshot, lead, there, best, resource)
        return stopping(layer, resource, asked, best, Blocker(code, layer, blamed, asked))
    code, blamed = drop(snapshot, best, resource)
    return stopping(layer, resource, asked, best, Blocker(BACK.get(code, code) if back else code, layer, blamed, asked))


def passing(layer: Layer, resource: Thing, asked: PortSet, best: tuple[Cidr, Route] | None) -> Hop:
    """Give a hop whose route leads there; no route means the local one, which need not be listed."""
    destination, route = best or (None, None)
    decision = Decision(resource, route, Effect.ALLOWS, asked, destination=destination)
    return Hop(layer, resource, layer is Layer.ROUTE, asked, asked, (decision,))


def stopping(layer: Layer, resource: Thing, asked: PortSet, best: tuple[Cidr, Route] | None, blocker: Blocker) -> Hop:
    """Give a hop whose route does not lead there, or perhaps not."""
    decisions: tuple[Decision, ...] = ()
    if best is not None:
        effect = Effect.DENIES if blocker.code.certain else Effect.UNKNOWN
        decisions = (Decision(resource, best[1], effect, asked, destination=best[0]),)
    may = NONE if blocker.code.certain else asked
    return Hop(layer, resource, layer is Layer.ROUTE, NONE, may, decisions, (blocker,))


def _direct(best: tuple[Cidr, Route] | None) -> tuple[Cidr, Route] | None:
    """Leave out a route that the local one, though not listed, outdoes."""
    return best if best and best[1].target in (RouteTarget.LOCAL, RouteTarget.PEERING) else None


def _doubt(
    snapshot: Snapshot, lead: Leads, there: Node, best: tuple[Cidr, Route] | None, table: Thing
) -> tuple[Code, Thing]:
    unread = unread_list(snapshot, table.id)
    if table.type != "route-table":
        return Code.NOT_READ, table
    if unread:
        return Code.NOT_READ, Thing("prefix-list", unread)
    if best and best[1].target is RouteTarget.PEERING and best[1].target_id not in (snapshot.peerings or {}):
        return Code.NOT_READ, Thing("vpc-peering-connection", best[1].target_id)
    blamed = Thing(str(best[1].target), best[1].target_id) if best else table
    if lead.middlebox >> there.index & 1 and not lead.unknown >> there.index & 1:
        return Code.MIDDLEBOX, blamed
    return Code.UNKNOWN_TARGET, blamed


def unread_list(snapshot: Snapshot, route_table_id: str) -> str:
    """Tell a prefix list of a table's routes that was not read and may take any packet; gateway endpoints take none."""
    table = (snapshot.route_tables or {}).get(route_table_id)
    for route in table.routes if table else ():
        if unreadable(snapshot, route):
            return route.prefix_list_id
    return ""


def drop(snapshot: Snapshot, best: tuple[Cidr, Route] | None, table: Thing) -> tuple[Code, Thing]:
    """Tell why a route, or that there is none, surely loses a packet."""
    if best is None:
        return Code.NO_ROUTE, table
    route = best[1]
    if route.state == "blackhole":
        return Code.ROUTE_BLACKHOLE, table
    if route.target is RouteTarget.PEERING:
        peering = (snapshot.peerings or {}).get(route.target_id)
        if peering is not None and peering.status != "active":
            return Code.PEERING_NOT_ACTIVE, Thing("vpc-peering-connection", route.target_id)
    return Code.ROUTE_LEADS_ELSEWHERE, table
