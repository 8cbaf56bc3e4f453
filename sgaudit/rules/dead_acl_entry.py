"""An entry of a network ACL is never asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.ports import ALL
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.model import AclEntry, NetworkAcl
    from sgaudit.rules.context import Context

LAST_ENTRY = 32766
"""The highest number of an entry that is not the deny at the end."""


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each ACL of the members' subnets."""
    seen: set[str] = set()
    for subnet in context.matrix.node_set.subnets:
        acl = context.snapshot.network_acl(*subnet)
        if acl is None or acl.acl_id in seen:
            continue
        seen.add(acl.acl_id)
        dead = list(_dead(acl))
        if dead:
            yield _finding(acl, dead)


def _dead(acl: NetworkAcl) -> Iterator[tuple[AclEntry, AclEntry]]:
    """Find the entries of which an earlier one decides everything, the deny at the end apart."""
    for position, entry in enumerate(acl.entries):
        if entry.number > LAST_ENTRY:
            break
        first = next((other for other in acl.entries[:position] if _covers(other, entry)), None)
        if first is not None:
            yield entry, first


def _covers(one: AclEntry, other: AclEntry) -> bool:
    return (
        one.egress is other.egress
        and one.cidr.family is other.cidr.family
        and one.cidr.prefix <= other.cidr.prefix
        and other.cidr.first in one.cidr
        and (ALL if other.protocol == "-1" else other.ports) <= one.matched(other.protocol)
    )


def _finding(acl: NetworkAcl, dead: list[tuple[AclEntry, AclEntry]]) -> Finding:
    label = words.named(acl.tags.get("Name", ""), acl.acl_id)
    said = [
        f"{'egress' if entry.egress else 'ingress'} entry {entry.number} ({'allow' if entry.allow else 'deny'}) behind "
        f"entry {first.number} ({'allow' if first.allow else 'deny'})"
        for entry, first in dead
    ]
    return Finding(
        rule=RULE.id,
        severity=RULE.severity,
        title=f"{label} has {len(dead)} {words.verb(len(dead), 'entry', 'entries')} that never {_decide(len(dead))}",
        message=f"{label}: {words.listed(said, 5)}. All that it would match is decided before it.",
        remedy="Give the entry a lower number if it was meant to decide, else delete it.",
        resource=Resource("network-acl", acl.acl_id),
        pairs=0,
        evidence={"entries": [{"egress": e.egress, "number": e.number, "behind": f.number} for e, f in dead]},
    )


def _decide(count: int) -> str:
    return words.verb(count, "decides", "decide")


RULE = Rule(
    id="dead-acl-entry",
    title="An entry of a network ACL never decides",
    severity=Severity.NOTE,
    why="Entries are asked by number and the first that matches decides. One behind a wider entry does nothing.",
    remedy="Give the entry a lower number if it was meant to decide, else delete it.",
    sources=("VPC user guide, Network ACLs, Network ACL rules",),
    check=check,
)
