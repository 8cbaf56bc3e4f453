"""The hops at which network ACLs are asked, there and on the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.ports import ALL, NONE, PortSet
from sgaudit.reach.causes import Layer
from sgaudit.reach.filters import client_traffic
from sgaudit.reach.network_acls import entries_for
from sgaudit.reach.trace_values import Blocker, Code, Decision, Effect, Hop, Thing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.model import AclEntry, NetworkAcl
    from sgaudit.reach.matrix import Matrix

CODES = {
    Layer.ACL_OUT: Code.ACL_DENIES_OUT,
    Layer.ACL_IN: Code.ACL_DENIES_IN,
    Layer.RETURN_OUT: Code.ACL_DENIES_RETURN_OUT,
    Layer.RETURN_IN: Code.ACL_DENIES_RETURN_IN,
}
OUTWARD = (Layer.ACL_OUT, Layer.RETURN_OUT)
ANSWER = (Layer.RETURN_OUT, Layer.RETURN_IN)
AT_SOURCE = (Layer.ACL_OUT, Layer.RETURN_IN)


def hop(
    matrix: Matrix, subnet: tuple[str, str], layer: Layer, protocol: str, asked: PortSet, address: int, *, near: bool
) -> Hop:
    """
    Ask the network ACL of a subnet.

    Args:
        matrix: what was read.
        subnet: subnet and VPC id.
        layer: one of `CODES`.
        protocol: as for `Matrix.judge`.
        asked: the destination ports of the packets on the way there.
        address: the one at the other end.
        near: whether the other end is in the same subnet, where no ACL is asked.
    """
    acl = matrix.snapshot.network_acl(*subnet)
    resource = Thing("network-acl", acl.acl_id) if acl else Thing("subnet", subnet[0])
    if near:
        return Hop(layer, resource, layer in AT_SOURCE, ALL, ALL, skipped=True)
    if acl is None:
        return Hop(
            layer,
            resource,
            layer in AT_SOURCE,
            NONE,
            asked,
            (Decision(resource, None, Effect.UNKNOWN, asked),),
            (Blocker(Code.NOT_READ, layer, resource, asked),),
        )
    decided: dict[AclEntry | None, PortSet] = {}
    passes, denied = asked, NONE
    for name, ports in matrix.traffic(protocol, asked):
        questioned = client_traffic(name, matrix.client_ports) if layer in ANSWER else ports
        stopped = NONE
        for entry, part in decide(matrix, acl, name, questioned, address, egress=layer in OUTWARD):
            decided[entry] = decided.get(entry, NONE) | part
            if entry is None or not entry.allow:
                stopped |= part
        denied |= stopped
        if stopped:
            passes = NONE if layer in ANSWER else passes - stopped
    return Hop(
        layer,
        resource,
        layer in AT_SOURCE,
        passes,
        passes,
        tuple(
            Decision(resource, entry, Effect.ALLOWS if entry and entry.allow else Effect.DENIES, ports)
            for entry, ports in decided.items()
        ),
        (Blocker(CODES[layer], layer, resource, denied),) if denied else (),
    )


def decide(
    matrix: Matrix, acl: NetworkAcl, protocol: str, ports: PortSet, address: int, *, egress: bool
) -> Iterator[tuple[AclEntry | None, PortSet]]:
    """Part ports by the entry that decides on them; None is the deny at the end."""
    left = ports
    for entry in entries_for(acl, matrix.family, egress=egress):
        part = entry.matched(protocol) & left
        if part and address in entry.cidr:
            yield entry, part
            left -= part
    if left:
        yield None, left
