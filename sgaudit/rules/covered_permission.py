"""A permission is covered by another one of the same group."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sgaudit.model import ALL_PROTOCOLS, Cidr, Family
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgaudit.model import Permission, SecurityGroup
    from sgaudit.rules.context import Context

WORLDWIDE = {Family.IPV4: 8, Family.IPV6: 16}
"""Shorter prefixes are wider than anything that one would mean to let in; see `admin_port_open`."""
Covered = tuple[bool, "Permission", "Permission"]
"""Whether they are egress permissions, the one that is covered, and one that covers it."""


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each group."""
    for group in context.groups:
        found = [
            (egress, permission, by)
            for egress, permissions in ((False, group.ingress), (True, group.egress))
            for permission, by in covered(permissions)
            if egress or not _to_the_world(by)
        ]
        if found:
            yield _finding(group, found)


def _to_the_world(permission: Permission) -> bool:
    """Tell whether a permission is so wide that it should go itself: what it covers is then what is left."""
    peer = permission.peer
    return isinstance(peer, Cidr) and peer.prefix < WORLDWIDE[peer.family]


def covered(permissions: Sequence[Permission]) -> Iterator[tuple[Permission, Permission]]:
    """
    Find the permissions of one group and direction that are wholly covered by another one.

    Of equal ones the first is kept. Covering is transitive, so all that are found can go together.
    """
    by_peer: dict[object, list[int]] = defaultdict(list)
    prefixes: set[int] = set()
    for position, permission in enumerate(permissions):
        by_peer[permission.peer].append(position)
        if isinstance(permission.peer, Cidr):
            prefixes.add(permission.peer.prefix)
    for position, permission in enumerate(permissions):
        for peer in _wider(permission, prefixes):
            by = next((other for other in by_peer.get(peer, ()) if _covers(permissions, other, position)), None)
            if by is not None:
                yield permission, permissions[by]
                break


def _wider(permission: Permission, prefixes: set[int]) -> Iterator[object]:
    """Go through the peers that hold all of a permission's peer, it among them."""
    peer = permission.peer
    if not isinstance(peer, Cidr):
        yield peer
        return
    for prefix in sorted(prefixes):
        if prefix <= peer.prefix:
            host_bits = peer.family.bits - prefix
            yield Cidr(peer.family, peer.first >> host_bits << host_bits, prefix)


def _covers(permissions: Sequence[Permission], one: int, other: int) -> bool:
    """Tell whether one permission admits all that another does, their peers apart; of equals the first one does."""
    wide, narrow = permissions[one], permissions[other]
    if one == other or not _admits(wide, narrow):
        return False
    return wide.peer != narrow.peer or one < other or not _admits(narrow, wide)


def _admits(wide: Permission, narrow: Permission) -> bool:
    if wide.protocol == ALL_PROTOCOLS:
        return True
    return wide.protocol == narrow.protocol and narrow.ports <= wide.ports


def _finding(group: SecurityGroup, found: Sequence[Covered]) -> Finding:
    label = words.named(group.name, group.group_id)
    said = [
        f"{words.permission(permission, egress=egress)} by {words.permission(by, egress=egress)}"
        for egress, permission, by in found
    ]
    return Finding(
        rule=RULE.id,
        severity=RULE.severity,
        title=f"{label} has {words.number(len(found), 'permission')} that others cover",
        message=f"{label}: covered {words.verb(len(found), 'is', 'are')} {words.listed(said)}.",
        remedy="Revoke them, all of them if you like: what passes stays the same.",
        resource=Resource("security-group", group.group_id),
        pairs=0,
        evidence={
            "permissions": [
                {
                    "direction": "egress" if egress else "ingress",
                    "permission": words.permission(permission, egress=egress),
                    "rule_id": permission.rule_id,
                    "covered_by": words.permission(by, egress=egress),
                }
                for egress, permission, by in found
            ]
        },
    )


RULE = Rule(
    id="covered-permission",
    title="A permission is covered by another one of its group",
    severity=Severity.NOTE,
    why=(
        "It admits nothing that the other does not. It counts against the quota, and whoever revokes it to close a "
        "path closes nothing."
    ),
    remedy="Revoke it, or the wider one if that is the mistake.",
    sources=("VPC user guide, Security group rules", "VPC user guide, Amazon VPC quotas, Security groups"),
    check=check,
)
