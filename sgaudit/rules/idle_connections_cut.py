"""Idle connections are forgotten soon."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sgaudit.model import Cidr
from sgaudit.ports import ALL, NONE
from sgaudit.reach.nodes import bits_of
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgaudit.model import Permission
    from sgaudit.reach.nodes import GroupSet
    from sgaudit.rules.context import Context

SHORT = 3600
"""Seconds; training frameworks leave connections idle for as long as one step or checkpoint lasts."""


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each short time-out that is set on judged interfaces with tracked connections."""
    nodes = context.matrix.node_set
    found: dict[int, list[int]] = defaultdict(list)
    tracked: dict[GroupSet, bool] = {}
    for node, groups in zip(nodes.items, nodes.group_set_of, strict=True):
        timeout = node.interface.tcp_established_timeout if node.interface else None
        if timeout is None or timeout >= SHORT:
            continue
        if groups not in tracked:
            tracked[groups] = _tracked(context, groups)
        if tracked[groups]:
            found[timeout].append(node.index)
    for timeout, indexes in sorted(found.items()):
        members = bits_of(indexes)
        interfaces = [node.interface.interface_id for node in nodes.pick(members) if node.interface]
        label = words.members_label(context.matrix, members)
        yield Finding(
            rule=RULE.id,
            severity=RULE.severity,
            title=f"Connections are forgotten after {timeout} idle seconds",
            message=(
                f"{words.number(len(interfaces), 'interface')} of {label} "
                f"{words.verb(len(interfaces), 'forgets', 'forget')} an established TCP connection after {timeout} "
                "idle seconds (TcpEstablishedTimeout). What is sent on it afterwards is dropped unless a permission "
                "admits it in that direction."
            ),
            remedy="Raise the time-out of the interfaces, or let the kernel send keepalives more often.",
            resource=Resource("network-interface", interfaces[0]),
            pairs=0,
            evidence={"seconds": timeout, "interfaces": interfaces[:50]},
            subject=("network-interfaces",),
            identity=(str(timeout),),
        )


def _tracked(context: Context, groups: GroupSet) -> bool:
    """Tell whether connections are surely tracked: flows that are open to anywhere both ways on all ports are not."""
    known = context.snapshot.security_groups or {}
    if groups is None or any(group_id not in known for group_id in groups):
        return False
    ingress = [row for group_id in groups for row in known[group_id].ingress]
    egress = [row for group_id in groups for row in known[group_id].egress]
    return not (_anywhere(context, ingress) and _anywhere(context, egress))


def _anywhere(context: Context, permissions: Sequence[Permission]) -> bool:
    ports = NONE
    for permission in permissions:
        peer = permission.peer
        if isinstance(peer, Cidr) and not peer.prefix and peer.family is context.matrix.family:
            ports |= permission.admitted("tcp")
    return ports == ALL


RULE = Rule(
    id="idle-connections-cut",
    title="Idle connections are forgotten soon",
    severity=Severity.NOTE,
    why=(
        "Security groups remember established connections for a time that each interface may set, from 60 to 432,000 "
        "seconds. A connection that is idle for longer, as between two checkpoints, can hang when it is used again."
    ),
    remedy="Set a longer TcpEstablishedTimeout on the interfaces, or shorter TCP keepalives on the members.",
    sources=("EC2 user guide, Security group connection tracking, Idle connection tracking timeout",),
    check=check,
)
