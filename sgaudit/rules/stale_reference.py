"""A permission names a group that is gone, or is reached over a peering that is."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sgaudit.model import ALL_PROTOCOLS, GroupPeer
from sgaudit.reach.causes import Layer
from sgaudit.reach.security_groups import stale
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgaudit.model import Permission, SecurityGroup
    from sgaudit.rules.context import Context, Stop

Row = tuple[bool, "Permission"]
"""Whether it is an egress permission, and the permission."""


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each group and lost peer."""
    for group in context.groups:
        rows: dict[GroupPeer, list[Row]] = defaultdict(list)
        for egress, permissions in ((False, group.ingress), (True, group.egress)):
            for permission in permissions:
                peer = permission.peer
                if isinstance(peer, GroupPeer) and (stale(peer) or _gone(context, group, peer)):
                    rows[peer].append((egress, permission))
        for peer, found in rows.items():
            yield _finding(context, group, peer, found)


def _gone(context: Context, group: SecurityGroup, peer: GroupPeer) -> bool:
    """Tell whether a peer is surely no group any more: one of the same account and VPC that would have been read."""
    snapshot = context.snapshot
    own = snapshot.account_id or group.owner_id
    return (
        snapshot.security_groups is not None
        and peer.group_id not in snapshot.security_groups
        and "DescribeSecurityGroups" not in snapshot.denied
        and not peer.peering_id
        and peer.vpc_id in ("", group.vpc_id)
        and group.owner_id == own
        and peer.owner_id in ("", own)
        and peer.group_id not in context.carried
    )


def _finding(context: Context, group: SecurityGroup, peer: GroupPeer, rows: Sequence[Row]) -> Finding:
    label = words.named(group.name, group.group_id)
    said = words.listed([words.permission(permission, egress=egress) for egress, permission in rows])
    if stale(peer):
        peering = f"{peer.peering_id} " if peer.peering_id else ""
        why = f"the peering connection {peering}that leads to it is {peer.peering_status}"
    else:
        why = "that group does not exist any more"
    stops = [stop for stop in context.stops if any(_stopped_by_lack(stop, group, row) for row in rows)]
    pairs = max((stop.cause.count(context.matrix) for stop in stops), default=0)
    blocked = ""
    if pairs:
        blocked = f" No other permission admits this traffic for {words.number(pairs, 'pair')} that can't connect."
    return Finding(
        rule=RULE.id,
        severity=RULE.severity,
        title=f"{label} refers to {peer.group_id}, which is gone",
        message=(
            f"{label} has {words.number(len(rows), 'permission')} ({said}) whose peer is {peer.group_id}, but {why}. "
            f"A stale permission matches nothing and still counts against the quota.{blocked}"
        ),
        remedy=f"Revoke it from {label}, and add one with the group that took the other's place where it is needed.",
        resource=Resource("security-group", group.group_id),
        pairs=pairs,
        examples=context.examples(stops[0].cause, stops[0].cause.missing) if stops else (),
        evidence={
            "peer": peer.group_id,
            "peering": peer.peering_id,
            "peering_status": peer.peering_status,
            "permissions": [words.permission(permission, egress=egress) for egress, permission in rows],
            "rule_ids": [permission.rule_id for _, permission in rows if permission.rule_id],
        },
        identity=(peer.group_id, peer.peering_id),
    )


def _stopped_by_lack(stop: Stop, group: SecurityGroup, row: Row) -> bool:
    egress, permission = row
    cause = stop.cause
    if cause.layer is not (Layer.EGRESS if egress else Layer.INGRESS) or not cause.certain:
        return False
    if group.group_id not in (cause.groups or ()):
        return False
    if cause.protocol == "all":
        return permission.protocol == ALL_PROTOCOLS
    return bool(permission.admitted(cause.protocol) & cause.missing)


RULE = Rule(
    id="stale-reference",
    title="A permission names a security group that is gone",
    severity=Severity.WARNING,
    why=(
        "EC2 keeps a permission whose group was deleted, or whose peering connection was. It matches nothing, looks "
        "right in every listing."
    ),
    remedy="Revoke the permission, and add one with the group that is meant.",
    sources=(
        "VPC user guide, Security group rules, Stale security group rules",
        "EC2 API, DescribeStaleSecurityGroups",
    ),
    check=check,
)
