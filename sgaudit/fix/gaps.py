"""What is missing, taken from the causes that the rules report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgaudit.reach.causes import Layer
from sgaudit.reach.verdict import count_pairs
from sgaudit.rules import acl_blocks_path, acl_blocks_return, acl_paths, group_paths, mesh_path_blocked, partial_ports

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.model import NetworkAcl
    from sgaudit.ports import PortSet
    from sgaudit.rules.context import Context

ACL_LAYERS = {
    Layer.ACL_OUT: (True, True, acl_blocks_path.RULE.id),
    Layer.ACL_IN: (False, False, acl_blocks_path.RULE.id),
    Layer.RETURN_OUT: (True, False, acl_blocks_return.RULE.id),
    Layer.RETURN_IN: (False, True, acl_blocks_return.RULE.id),
}
"""Whether egress entries are asked, whether the other end is the target, and the rule that reports it."""


@dataclass(frozen=True, slots=True)
class GroupGap:
    """Ports that the groups of some nodes don't let pass to or from some others, which carry the same groups."""

    egress: bool
    groups: tuple[str, ...]
    """Of the holders."""
    peers: tuple[str, ...]
    """Of the other ends."""
    protocol: str
    missing: PortSet
    holder_nodes: int
    peer_nodes: int
    finding: str


@dataclass(frozen=True, slots=True)
class AclGap:
    """Ports that an ACL does not let pass to or from some nodes at the other end."""

    acl: NetworkAcl
    egress: bool
    protocol: str
    missing: PortSet
    others: int
    finding: str


def group_gaps(context: Context) -> Iterator[GroupGap]:
    """Go through what security groups surely stop, by the groups of both ends."""
    by_groups = context.matrix.node_set.by_group_set
    for stop in context.stops:
        cause = stop.cause
        if cause.layer not in (Layer.EGRESS, Layer.INGRESS) or not cause.certain or cause.lost_reference:
            continue
        egress = cause.layer is Layer.EGRESS
        rule = partial_ports.RULE.id if cause.partly else mesh_path_blocked.RULE.id
        finding = group_paths.finding(context, stop, rule).fingerprint
        for sources, targets in cause.blocks:
            holders, others = (sources, targets) if egress else (targets, sources)
            for groups, carriers in by_groups.items():
                if count_pairs(context.matrix.node_set, holders, carriers & others):
                    yield GroupGap(
                        egress,
                        cause.groups or (),
                        groups or (),
                        cause.protocol,
                        cause.missing,
                        holders,
                        carriers & others,
                        finding,
                    )


def acl_gaps(context: Context) -> Iterator[AclGap]:
    """Go through what network ACLs stop, there and back."""
    for stop in context.stops:
        cause = stop.cause
        if cause.layer not in ACL_LAYERS or not cause.certain:
            continue
        acl = context.snapshot.network_acl(*cause.subnets[0])
        if acl is None:
            continue
        egress, outward, rule = ACL_LAYERS[cause.layer]
        finding = acl_paths.finding(context, stop, acl, rule).fingerprint
        others = cause.targets() if outward else cause.sources()
        yield AclGap(acl, egress, cause.protocol, cause.missing, others, finding)
