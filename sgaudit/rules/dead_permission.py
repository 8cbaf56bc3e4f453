"""A permission can't match anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.model import PrefixListPeer
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each group and empty prefix list."""
    for group in context.groups:
        label = words.named(group.name, group.group_id)
        rows: dict[str, list[str]] = {}
        for egress, permissions in ((False, group.ingress), (True, group.egress)):
            for permission in permissions:
                peer = permission.peer
                if isinstance(peer, PrefixListPeer) and context.snapshot.prefix_lists.get(peer.prefix_list_id) == ():
                    said = words.permission(permission, egress=egress)
                    rows.setdefault(peer.prefix_list_id, []).append(said)
        for prefix_list_id, found in rows.items():
            yield Finding(
                rule=RULE.id,
                severity=RULE.severity,
                title=f"{label} admits {prefix_list_id}, which is empty",
                message=(
                    f"{label} has {words.number(len(found), 'permission')} ({words.listed(found)}) whose peer is a "
                    "prefix list without entries, so nothing can match."
                ),
                remedy=f"Add entries to {prefix_list_id}, or revoke the permission.",
                resource=Resource("security-group", group.group_id),
                pairs=0,
                evidence={"prefix_list": prefix_list_id, "permissions": found},
                identity=(prefix_list_id,),
            )


RULE = Rule(
    id="dead-permission",
    title="A permission can't match anything",
    severity=Severity.NOTE,
    why="A permission whose prefix list has no entries looks like one that works, and counts against the quota.",
    remedy="Fill the prefix list, or revoke the permission.",
    sources=("VPC user guide, Managed prefix lists",),
    check=check,
)
