"""Findings about permissions that security groups lack; two rules share them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.reach.causes import Layer
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Fix, Resource
from sgaudit.rules.ownership import DEFAULT_GROUP, unsafe_to_widen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.reach.causes import Cause
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
    cause, matrix = stop.cause, context.matrix
    ingress = cause.layer is Layer.INGRESS
    peers, holders = (cause.sources(), cause.targets()) if ingress else (cause.targets(), cause.sources())
    direction, preposition = ("ingress", "from") if ingress else ("egress", "to")
    pairs = cause.count(matrix)
    return Finding(
        rule=rule,
        severity=stop.severity,
        title=_title(context, cause, peers, preposition),
        message=_message(context, cause, peers, f"{words.number(pairs, 'pair')} can't connect"),
        remedy=_remedy(context, cause, holders, peers),
        resource=Resource("security-group", _best_group(context, cause, peers)),
        subject=("security-groups", *(cause.groups or ())),
        pairs=pairs,
        fix=_fix(context, cause, peers),
        examples=context.examples(cause, cause.missing),
        evidence={
            "direction": direction,
            "security_groups": list(cause.groups or ()),
            "protocol": cause.protocol,
            "missing": str(cause.missing),
            "peers": words.member_ids(matrix, peers),
            "peer_groups": sorted({group for groups in _group_sets(context, peers) for group in groups or ()}),
            "needs": list(stop.needs),
            "behind_middlebox": cause.lost_reference,
        },
        identity=(
            direction,
            cause.protocol,
            str(cause.missing),
            *(["middlebox"] if cause.lost_reference else []),
        ),
    )


def _fix(context: Context, cause: Cause, peers: int) -> Fix:
    """Tell whether `sgaudit fix` can cure it, and whether that would be safe."""
    if cause.lost_reference:
        return Fix.NONE
    group = _best_group(context, cause, peers)
    ours = group and group == _shared_group(context, cause, peers)
    return Fix.SAFE if ours and not unsafe_to_widen(context, group) else Fix.UNSAFE


def _title(context: Context, cause: Cause, peers: int, preposition: str) -> str:
    known = context.snapshot.security_groups or {}
    names = [known[group].name if group in known else group for group in cause.groups or ()]
    holder = " + ".join(names) or "an interface without security groups"
    traffic = words.traffic(cause.protocol, cause.missing)
    some = "not all needed ports" if cause.partly else f"no {traffic}"
    return f"{holder} admits {some} {preposition} {words.members_title(context.matrix, peers)}"


def _message(context: Context, cause: Cause, peers: int, outcome: str) -> str:
    direction, preposition = ("ingress", "from") if cause.layer is Layer.INGRESS else ("egress", "to")
    holder = words.groups_label(context.snapshot, cause.groups)
    traffic = words.traffic(cause.protocol, cause.missing)
    toward = f"{preposition} {words.members_label(context.matrix, peers)}"
    if not cause.groups:
        text = f"An interface with {holder} lets nothing pass {toward}; {outcome}."
    elif cause.partly:
        text = f"The {direction} permissions of {holder} leave out {traffic} {toward}; {outcome}."
    else:
        text = f"No {direction} permission of {holder} admits {traffic} {toward}; {outcome}."
    if cause.lost_reference:
        text += (
            " A permission with a group as peer is there, but routes lead through a middlebox, and behind one "
            "only CIDR blocks and prefix lists count."
        )
    elif _shared_group(context, cause, peers):
        text += " Being in the same group grants nothing by itself."
    return text


def _shared_group(context: Context, cause: Cause, peers: int) -> str | None:
    """Tell the group of the holder that all the peers carry as well."""
    shared = words.common_groups(context.matrix, peers)
    return next((group for group in shared if group in (cause.groups or ())), None)


def _group_sets(context: Context, nodes: int) -> list[GroupSet]:
    return [groups for groups, carriers in context.matrix.node_set.by_group_set.items() if carriers & nodes]


def _best_group(context: Context, cause: Cause, peers: int) -> str:
    """Tell the group in which the permission would serve best: one that the peers carry too, else the commonest."""
    if not cause.groups:
        return ""
    ours = _shared_group(context, cause, peers) or _usual_group(context, cause, peers)[0]
    carriers = context.matrix.node_set.by_group
    return ours or max(cause.groups, key=lambda group: (carriers[group].bit_count(), group))


def _remedy(context: Context, cause: Cause, holders: int, peers: int) -> str:
    snapshot, matrix = context.snapshot, context.matrix
    direction, preposition = ("ingress", "from") if cause.layer is Layer.INGRESS else ("egress", "to")
    traffic = words.traffic(cause.protocol, cause.missing)
    if not cause.groups:
        return "Put a security group with the cluster's permissions on these interfaces."
    holder = words.group_label(snapshot, _best_group(context, cause, peers))
    add = f"dd to {holder} an {direction} permission for {traffic} {preposition}"
    if cause.lost_reference:
        return f"A{add} the other subnet's CIDR block, or route around the middlebox."
    ours = _shared_group(context, cause, peers)
    if ours is not None:
        holder = words.group_label(snapshot, ours)
        return f"Add to {holder} an {direction} permission for {traffic} {preposition} the group itself."
    usual, lacking = _usual_group(context, cause, peers)
    if usual is not None:
        holder, whom = words.group_label(snapshot, usual), words.members_label(matrix, lacking)
        return (
            f"Add to {holder} an {direction} permission for {traffic} {preposition} the group itself, and put that "
            f"group on {whom} as well."
        )
    shared = words.common_groups(matrix, peers)
    other = words.group_label(snapshot, shared[0]) if shared else "the groups of these members"
    for group, lacking in ((cause.groups, peers), (shared, holders)):
        mesh = next((item for item in group if _is_mesh(context, cause, item)), None)
        if mesh is not None:
            label, whom = words.group_label(snapshot, mesh), words.members_label(matrix, lacking)
            return f"Put {label}, which admits its own members, on {whom}; or a{add} {other}."
    return f"A{add} {other}, or put one group with a permission for itself on all members."


def _usual_group(context: Context, cause: Cause, peers: int) -> tuple[str | None, int]:
    """Tell the group of the holder that most of the peers carry as well, and the peers that lack it."""
    carriers = context.matrix.node_set.by_group
    best = max(cause.groups or (), key=lambda group: ((carriers[group] & peers).bit_count(), group))
    if (carriers[best] & peers).bit_count() * 2 <= peers.bit_count() or _is_default(context, best):
        return None, 0
    return best, peers & ~carriers[best]


def _is_default(context: Context, group: str) -> bool:
    # Nothing should be added to a VPC's default group, nor anybody be put into it (Security Hub EC2.2).
    known = (context.snapshot.security_groups or {}).get(group)
    return known is not None and known.name == DEFAULT_GROUP


def _is_mesh(context: Context, cause: Cause, group: str) -> bool:
    """Tell whether a group lets its carriers reach one another on what is missing here."""
    matrix = context.matrix
    carriers = matrix.node_set.by_group[group]
    return not _is_default(context, group) and all(
        not carriers & ~matrix.sure.groups.steps((group,), cause.protocol, egress=egress).every(cause.missing, carriers)
        for egress in (True, False)
    )
