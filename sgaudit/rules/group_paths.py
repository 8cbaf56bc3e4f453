"""Findings about permissions that security groups lack; two rules share them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.reach.causes import Layer
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.reach.nodes import GroupSet
    from sgaudit.rules.context import Context, Stop


def stops(context: Context, *, partly: bool) -> Iterator[Stop]:
    """Go through what groups surely stop: on some of the needed ports, or on all of them."""
    for stop in context.stops:
        cause = stop.cause
        if cause.layer in (Layer.EGRESS, Layer.INGRESS) and cause.certain and cause.partly is partly:
            yield stop


def finding(context: Context, stop: Stop, rule: str) -> Finding:
    """Tell which group lacks which permission, for whom."""
    cause, matrix, snapshot = stop.cause, context.matrix, context.snapshot
    ingress = cause.layer is Layer.INGRESS
    pairs = cause.count(matrix)
    peers = cause.sources() if ingress else cause.targets()
    holders = cause.targets() if ingress else cause.sources()
    traffic = words.traffic(cause.protocol, cause.missing)
    holder = words.groups_label(snapshot, cause.groups)
    toward = words.members_label(matrix, peers)
    way, preposition = ("in", "from") if ingress else ("out", "to")
    title = (
        f"{holder} lets {traffic} {way} {preposition} too few"
        if cause.partly
        else (f"{holder} lets no {traffic} {way}")
    )
    direction = "ingress" if ingress else "egress"
    message = (
        f"{words.members_label(matrix, holders).capitalize()} behind {holder}: no {direction} permission admits "
        f"{traffic} {preposition} {toward}; {words.number(pairs, 'pair')} can't connect."
    )
    if cause.partly:
        message = message.replace("no ", "other needed ports are open, but no ", 1)
    if cause.lost_reference:
        message += (
            " A permission with a group as peer is there, but routes lead through a middlebox, and behind one "
            "only CIDR blocks and prefix lists count."
        )
    return Finding(
        rule=rule,
        severity=stop.severity,
        title=title,
        message=message,
        remedy=_remedy(context, stop, peers, direction=direction, preposition=preposition),
        resource=_resource(context, cause.groups),
        pairs=pairs,
        examples=context.examples(cause, cause.missing),
        evidence={
            "direction": direction,
            "security_groups": list(cause.groups or ()),
            "protocol": cause.protocol,
            "missing": str(cause.missing),
            "peers": [node.instance.instance_id for node in words.members_of(matrix, peers)[:20]],
            "peer_groups": sorted({group for groups in _group_sets(context, peers) for group in groups or ()}),
            "needs": list(stop.needs),
            "behind_middlebox": cause.lost_reference,
        },
        identity=(
            direction,
            cause.protocol,
            str(cause.missing),
            *(cause.groups or ()),
            *(["middlebox"] if cause.lost_reference else []),
        ),
    )


def _group_sets(context: Context, nodes: int) -> list[GroupSet]:
    return [groups for groups, carriers in context.matrix.node_set.by_group_set.items() if carriers & nodes]


def _resource(context: Context, groups: GroupSet) -> Resource:
    """Name the group that most members carry: the one in which the permission would serve most."""
    if not groups:
        return Resource("security-group", "")
    carriers = context.matrix.node_set.by_group
    return Resource("security-group", max(groups, key=lambda group: (carriers[group].bit_count(), group)))


def _remedy(context: Context, stop: Stop, peers: int, *, direction: str, preposition: str) -> str:
    cause, snapshot = stop.cause, context.snapshot
    traffic = words.traffic(cause.protocol, cause.missing)
    if not cause.groups:
        return "Put a security group with the cluster's permissions on these interfaces."
    if cause.lost_reference:
        return (
            f"Add to {words.groups_label(snapshot, cause.groups)} an {direction} permission for {traffic} "
            f"{preposition} the other subnet's CIDR block, or route around the middlebox."
        )
    shared = words.common_groups(context.matrix, peers)
    ours = next((group for group in shared if group in cause.groups), None)
    if ours is not None:
        return (
            f"Add to {words.group_label(snapshot, ours)} an {direction} permission for {traffic} "
            f"{preposition} the group itself."
        )
    holder = words.group_label(snapshot, _resource(context, cause.groups).id)
    if shared:
        other = words.group_label(snapshot, shared[0])
        return f"Add to {holder} an {direction} permission for {traffic} {preposition} {other}."
    return (
        f"Add to {holder} {direction} permissions for {traffic} {preposition} the groups of these members, "
        "or put one common group with a permission for itself on all members."
    )
