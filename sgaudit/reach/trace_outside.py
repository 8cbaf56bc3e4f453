"""
Paths between a member and an address outside the cluster.

Only the member's end can be judged: its groups, the network ACL of its subnet both ways, and its routes.
What lies beyond is the internet, which filters nothing that EC2 knows of, or else not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.model import Cidr, Family, Instance, Interface, Member, Route, RouteTarget, parse_address
from sgaudit.ports import NONE, PortSet
from sgaudit.reach import trace_acls, trace_routes
from sgaudit.reach.causes import Layer
from sgaudit.reach.exposure import GLOBAL_UNICAST, NOT_ROUTED, PRIVATE
from sgaudit.reach.routes import precedence, winning_route
from sgaudit.reach.trace_groups import GroupHop
from sgaudit.reach.trace_values import Blocker, Code, Hop, Thing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.reach.matrix import Matrix
    from sgaudit.reach.nodes import Node

OUTSIDE = "outside"
"""The interface type of what stands for an address outside the cluster."""


def outsider(address: str) -> Member:
    """Make a member of an address, to judge it together with a real one."""
    family, _ = parse_address(address)
    interface = Interface(
        interface_id="",
        instance_id="",
        vpc_id="",
        subnet_id="",
        availability_zone="",
        interface_type=OUTSIDE,
        device_index=None,
        network_card_index=0,
        groups=(),
        ipv4=(address,) if family is Family.IPV4 else (),
        ipv6=(address,) if family is Family.IPV6 else (),
    )
    return Member(Instance(address, "", "", "", "", "", ()), (interface,))


def is_outside(node: Node) -> bool:
    """Tell whether a node stands for an address outside the cluster."""
    return node.interface is not None and node.interface.interface_type == OUTSIDE


def is_private(address: str) -> bool:
    """Tell whether the internet can't route an address."""
    family, value = parse_address(address)
    if family is Family.IPV6:
        return value not in GLOBAL_UNICAST
    return any(value in block for block in (*PRIVATE[family], *NOT_ROUTED))


def hops(matrix: Matrix, one: Node, other: Node, protocol: str, asked: PortSet) -> Iterator[Hop]:
    """Ask everything at the member's end."""
    outward = is_outside(other)
    inside, outside = (one, other) if outward else (other, one)
    subnet = matrix.node_set.subnets[matrix.node_set.subnet_index_of[inside.index]]
    near = _same_subnet(matrix, subnet[0], outside)

    def acl(layer: Layer) -> Hop:
        return trace_acls.hop(matrix, subnet, layer, protocol, asked, outside.value or 0, near=near)

    ends = (inside, outside)
    groups = GroupHop(matrix, ends, protocol, asked, egress=outward, references=True).hop()
    if outward:
        yield groups
        yield acl(Layer.ACL_OUT)
        yield from _way(matrix, inside, outside, asked, near=near, back=False)
        yield acl(Layer.RETURN_IN)
        return
    route, *ends_hops = _way(matrix, inside, outside, asked, near=near, back=True)
    yield from ends_hops
    yield acl(Layer.ACL_IN)
    yield groups
    yield acl(Layer.RETURN_OUT)
    yield route


def _same_subnet(matrix: Matrix, subnet_id: str, outside: Node) -> bool:
    subnet = (matrix.snapshot.subnets or {}).get(subnet_id)
    return any(
        cidr.family is matrix.family and (outside.value or 0) in cidr for cidr in (subnet.cidrs if subnet else ())
    )


def _way(matrix: Matrix, inside: Node, outside: Node, asked: PortSet, *, near: bool, back: bool) -> Iterator[Hop]:
    """Ask the route table, then what else the way that it shows depends on."""
    layer = Layer.RETURN_ROUTE if back else Layer.ROUTE
    code, blamed, best, resource = _judge(matrix, inside, outside)
    if near:
        yield Hop(layer, resource, not back, asked, asked, skipped=True)
        yield _unseen(outside, asked, near_source=back)
        return
    if code is not None:
        code = trace_routes.BACK.get(code, code) if back else code
        yield trace_routes.stopping(layer, resource, asked, best, Blocker(code, layer, blamed, asked))
    else:
        yield trace_routes.passing(layer, resource, asked, best)
    world = best is not None and best[1].target is RouteTarget.INTERNET_GATEWAY
    # Who dials from the internet needs a public address to dial, wherever the answer is sent.
    if (world and code is None) or (back and not is_private(outside.address)):
        yield from _public(matrix, inside, asked, near_source=not back)
    elif code is None:
        yield _unseen(outside, asked, near_source=back)


def _public(matrix: Matrix, inside: Node, asked: PortSet, *, near_source: bool) -> Iterator[Hop]:
    interface = inside.interface
    if interface is None or interface.public_ip or matrix.family is Family.IPV6:
        return
    resource = Thing("network-interface", interface.interface_id)
    blocker = Blocker(Code.NO_PUBLIC_ADDRESS, Layer.ADDRESS, resource, asked)
    yield Hop(Layer.ADDRESS, resource, near_source, NONE, NONE, blockers=(blocker,))


def _unseen(outside: Node, asked: PortSet, *, near_source: bool) -> Hop:
    resource = Thing("address", outside.address)
    blocker = Blocker(Code.NOT_READ, Layer.INTERFACE, resource, asked)
    return Hop(Layer.INTERFACE, resource, near_source, NONE, asked, blockers=(blocker,))


def _judge(matrix: Matrix, inside: Node, outside: Node) -> tuple[Code | None, Thing, tuple[Cidr, Route] | None, Thing]:
    """Tell what is wrong with the way to an address and whose fault that is, by which route, of which table."""
    snapshot, value = matrix.snapshot, outside.value or 0
    subnet_id, vpc_id = matrix.node_set.subnets[matrix.node_set.subnet_index_of[inside.index]]
    table = snapshot.route_table(subnet_id, vpc_id)
    if table is None:
        resource = Thing("subnet", subnet_id)
        return Code.NOT_READ, resource, None, resource
    resource = Thing("route-table", table.route_table_id)
    if unread := trace_routes.unread_list(snapshot, table.route_table_id):
        return Code.NOT_READ, Thing("prefix-list", unread), None, resource
    best = winning_route(snapshot, subnet_id, vpc_id, matrix.family, value)
    vpc = (snapshot.vpcs or {}).get(vpc_id)
    for cidr in vpc.cidrs if vpc else ():
        row = cidr, Route(cidr, "", RouteTarget.LOCAL, "local", "active")
        if cidr.family is matrix.family and value in cidr and (best is None or precedence(best) < precedence(row)):
            best = row
    code, blamed = _outcome(matrix, outside, best, resource)
    return code, blamed, best, resource


def _outcome(matrix: Matrix, outside: Node, best: tuple[Cidr, Route] | None, table: Thing) -> tuple[Code | None, Thing]:
    if best is None or best[1].state == "blackhole":
        return trace_routes.drop(matrix.snapshot, best, table)
    route = best[1]
    blamed = Thing(str(route.target), route.target_id)
    if route.state == "active":
        match route.target:
            case RouteTarget.LOCAL:
                return None, table
            case RouteTarget.PEERING:
                return _over_peering(matrix, outside, best, table)
            case RouteTarget.INTERNET_GATEWAY:
                return (Code.ROUTE_LEADS_ELSEWHERE, table) if is_private(outside.address) else (None, table)
            case RouteTarget.MIDDLEBOX:
                return Code.MIDDLEBOX, blamed
            case _:
                pass
    return Code.UNKNOWN_TARGET, blamed


def _over_peering(matrix: Matrix, outside: Node, best: tuple[Cidr, Route], table: Thing) -> tuple[Code | None, Thing]:
    peering = (matrix.snapshot.peerings or {}).get(best[1].target_id)
    if peering is None:
        return Code.NOT_READ, Thing("vpc-peering-connection", best[1].target_id)
    if peering.status != "active":
        return trace_routes.drop(matrix.snapshot, best, table)
    known = [*peering.requester.cidrs, *peering.accepter.cidrs]
    if any(cidr.family is matrix.family and (outside.value or 0) in cidr for cidr in known):
        return None, table
    return Code.UNKNOWN_TARGET, Thing("vpc-peering-connection", best[1].target_id)
