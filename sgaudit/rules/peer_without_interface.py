"""A permission lets in, or out to, a group that no interface carries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.model import GroupPeer
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.model import SecurityGroup
    from sgaudit.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each group that permissions name and nobody carries, where that is known."""
    known, whole = context.snapshot.security_groups or {}, context.snapshot.whole_vpcs
    named: dict[str, list[SecurityGroup]] = {}
    for group in context.groups:
        for permission in (*group.ingress, *group.egress):
            peer = permission.peer
            if isinstance(peer, GroupPeer) and peer.group_id in known and peer.group_id not in context.carried:
                holders = named.setdefault(peer.group_id, [])
                if group not in holders:
                    holders.append(group)
    for peer_id, holders in named.items():
        # A group can be on interfaces of its own VPC only; all of these must have been read to say that it is on none.
        if known[peer_id].vpc_id in whole:
            yield _finding(known[peer_id], holders)


def _finding(peer: SecurityGroup, holders: list[SecurityGroup]) -> Finding:
    label = words.named(peer.name, peer.group_id)
    by = words.listed([words.named(holder.name, holder.group_id) for holder in holders])
    return Finding(
        rule=RULE.id,
        severity=RULE.severity,
        title=f"{label} is on no interface, and permissions name it",
        message=(
            f"{by} {words.verb(len(holders), 'names', 'name')} {label} as a peer, and no interface carries that group."
        ),
        remedy="Put the group on the interfaces that were meant, or revoke the permissions that name it.",
        resource=Resource("security-group", peer.group_id),
        pairs=0,
        evidence={"named_by": sorted(holder.group_id for holder in holders)},
    )


RULE = Rule(
    id="peer-without-interface",
    title="A permission names a group that no interface carries",
    severity=Severity.NOTE,
    why=(
        "A group as peer stands for the interfaces that carry it. While there is none the permission admits nobody; "
        "often the group was meant to be on the members, and is not."
    ),
    remedy="Put the group where it was meant to be, or revoke the permission.",
    sources=("VPC user guide, Security group rules",),
    check=check,
)
