"""
The path of a packet hop by hop, there and back, with the rules that decide at each hop.

Every hop is asked, also those behind one that stops all: whoever cures one blocker must know of the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.ports import ALL, NONE, PortSet
from sgaudit.reach import trace_acls, trace_outside, trace_routes
from sgaudit.reach.causes import Layer
from sgaudit.reach.trace_groups import GroupHop
from sgaudit.reach.trace_values import Blocker, Code, Hop, Thing, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.reach.matrix import Matrix
    from sgaudit.reach.nodes import Node


def trace(matrix: Matrix, source: int, target: int, protocol: str, ports: PortSet) -> Trace:
    """
    Follow packets from one node to another.

    Args:
        matrix: made with both nodes among its members; an address outside the cluster is a member made
            by `trace_outside.outsider`.
        source: the index of the node that dials.
        target: the index of the node that is dialled.
        protocol: as for `Matrix.judge`.
        ports: the ports asked about; not used for the protocol `all`.
    """
    one, other = matrix.nodes[source], matrix.nodes[target]
    asked = ALL if protocol == "all" else ports
    hops = tuple(_ends(one, other, asked))
    if not any(hop.blockers for hop in hops):
        if trace_outside.is_outside(one) or trace_outside.is_outside(other):
            hops = tuple(trace_outside.hops(matrix, one, other, protocol, asked))
        else:
            hops = tuple(_hops(matrix, one, other, protocol, asked))
    return Trace(matrix, one, other, protocol, asked, hops)


def _ends(one: Node, other: Node, asked: PortSet) -> Iterator[Hop]:
    """Look for ends that were not seen; where both were, for ends without an address."""
    unseen = [node for node in (one, other) if node.interface is None]
    for node in unseen:
        resource = Thing("instance", node.instance.instance_id)
        blocker = Blocker(Code.NOT_READ, Layer.INTERFACE, resource, asked)
        yield Hop(Layer.INTERFACE, resource, node is one, NONE, asked, blockers=(blocker,))
    for node in (one, other) if not unseen else ():
        if node.interface is not None and node.value is None:
            resource = Thing("network-interface", node.interface.interface_id)
            blocker = Blocker(Code.NO_ADDRESS, Layer.ADDRESS, resource, asked)
            yield Hop(Layer.ADDRESS, resource, node is one, NONE, NONE, blockers=(blocker,))


def _hops(matrix: Matrix, one: Node, other: Node, protocol: str, asked: PortSet) -> Iterator[Hop]:
    nodes = matrix.node_set
    here, there = nodes.subnet_index_of[one.index], nodes.subnet_index_of[other.index]
    near = bool(matrix.sure.neighbours(here) >> other.index & 1)
    lead = matrix.routes.leads[here]
    # Where the only way leads through a middlebox, groups as peers don't count (VPC user guide).
    references = bool((lead.direct | lead.unknown | ~lead.reached) >> other.index & 1)

    def groups(*, egress: bool) -> Hop:
        ends = (one, other) if egress else (other, one)
        return GroupHop(matrix, ends, protocol, asked, egress=egress, references=references).hop()

    def acl(layer: Layer) -> Hop:
        at_source = layer in trace_acls.AT_SOURCE
        subnet, address = (here, other.value) if at_source else (there, one.value)
        return trace_acls.hop(matrix, nodes.subnets[subnet], layer, protocol, asked, address or 0, near=near)

    yield groups(egress=True)
    yield acl(Layer.ACL_OUT)
    yield trace_routes.hop(matrix, one, other, asked, back=False)
    yield acl(Layer.ACL_IN)
    yield groups(egress=False)
    yield acl(Layer.RETURN_OUT)
    yield trace_routes.hop(matrix, other, one, asked, back=True)
    yield acl(Layer.RETURN_IN)
