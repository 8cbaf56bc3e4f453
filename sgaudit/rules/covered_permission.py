"""A permission is covered by another one of the same group."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sgaudit.model import ALL_PROTOCOLS, Cidr, Family
from sgaudit.ports import first_holders
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgaudit.model import Permission, SecurityGroup
    from sgaudit.ports import Range
    from sgaudit.rules.context import Context

WORLDWIDE = {Family.IPV4: 8, Family.IPV6: 16}
"""Shorter prefixes are wider than anything that one would mean to let in; see `admin_port_open`."""
Kind = tuple[object, str]
"""Peer and protocol."""
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
    prefixes = {permission.peer.prefix for permission in permissions if isinstance(permission.peer, Cidr)}
    held: dict[Kind, dict[Range, int]] = defaultdict(dict)
    for position, permission in enumerate(permissions):
        held[permission.peer, permission.protocol].setdefault(_span(permission), position)
    wider = [
        [peer for peer in _wider(permission, prefixes) if _named(held, peer, permission)] for permission in permissions
    ]
    asked: dict[Kind, list[Range]] = defaultdict(list)
    for permission, peers in zip(permissions, wider, strict=True):
        for peer in peers:
            asked[peer, permission.protocol] += _spans(permission, peer)
    holders = {kind: first_holders(held[kind].items(), spans) for kind, spans in asked.items() if kind in held}
    for position, (permission, peers) in enumerate(zip(permissions, wider, strict=True)):
        for peer in peers:
            kind = peer, permission.protocol
            found = [holders[kind].get(span) for span in _spans(permission, peer)] if kind in held else []
            if peer == permission.peer and held[kind][_span(permission)] < position:
                found.append(held[kind][_span(permission)])
            if permission.protocol != ALL_PROTOCOLS:
                found += held.get((peer, ALL_PROTOCOLS), {}).values()
            if by := [other for other in found if other is not None]:
                yield permission, permissions[min(by)]
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


def _named(held: Mapping[Kind, object], peer: object, permission: Permission) -> bool:
    return (peer, permission.protocol) in held or (peer, ALL_PROTOCOLS) in held


def _span(permission: Permission) -> Range:
    ((low, high),) = permission.ports.ranges
    return low, high


def _spans(permission: Permission, peer: object) -> Sequence[Range]:
    """Give the ranges of which one is held by whatever covers a permission: with its own peer, by what is wider."""
    low, high = _span(permission)
    return ((low - 1, high), (low, high + 1)) if peer == permission.peer else ((low, high),)


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
