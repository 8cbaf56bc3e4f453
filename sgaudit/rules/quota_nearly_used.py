"""A quota that a cure would need is used up, or nearly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.model import Cidr, Family, PrefixListPeer
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgaudit.model import Permission
    from sgaudit.rules.context import Context

PERMISSIONS = 60
"""Of one group, direction and family."""
GROUPS = 5
"""On one interface."""
ENTRIES = 20
"""Of one network ACL, direction and family, the deny at the end included."""
LAST_ENTRY = 32766
"""The highest number of an entry that is not the deny at the end."""
NEARLY = 0.9


def check(context: Context) -> Iterator[Finding]:
    """Report what is at nine tenths of its default quota, and not above it: then the quota has been raised."""
    yield from _permissions(context)
    yield from _groups(context)
    yield from _entries(context)


def count(context: Context, permissions: Sequence[Permission], family: Family) -> int:
    """
    Count the permissions of one direction as the quota of a family does.

    A group as peer counts for both families, a prefix list as many times as it may have entries.
    """
    total = 0
    for permission in permissions:
        match permission.peer:
            case Cidr(family=other):
                total += other is family
            case PrefixListPeer(prefix_list_id=name):
                entries = len(context.snapshot.prefix_lists.get(name, ()))
                total += max(1, context.snapshot.prefix_list_sizes.get(name, entries))
            case _:
                total += 1
    return total


def _permissions(context: Context) -> Iterator[Finding]:
    for group in context.groups:
        label = words.named(group.name, group.group_id)
        for direction, permissions in (("ingress", group.ingress), ("egress", group.egress)):
            if len(permissions) * 2 < PERMISSIONS and not any(
                isinstance(row.peer, PrefixListPeer) for row in permissions
            ):
                continue
            used = max(count(context, permissions, family) for family in Family)
            yield from _finding(
                Resource("security-group", group.group_id),
                f"{label} has {used} of {PERMISSIONS} {direction} permissions",
                used,
                PERMISSIONS,
                (direction,),
                "A permission with a group as peer counts once for each family, a prefix list as often as it may have "
                "entries.",
                "Name a group or one wider block instead of many addresses, or ask for a higher quota (L-0EA8095F).",
            )


def _groups(context: Context) -> Iterator[Finding]:
    for groups in sorted({tuple(sorted(groups)) for groups in context.group_sets}):
        if not groups:
            continue
        carrier = next(item for own, item in context.group_sets.items() if sorted(own) == list(groups))
        yield from _finding(
            Resource("security-group", groups[0]),
            f"interfaces such as {carrier.interface_id} carry {len(groups)} of {GROUPS} security groups",
            len(groups),
            GROUPS,
            groups,
            "No further group can be attached to them.",
            "Put the permissions into a group that they carry, or ask for a higher quota (L-2AFB9258).",
        )


def _entries(context: Context) -> Iterator[Finding]:
    acls = {}
    for subnet in context.matrix.node_set.subnets:
        acl = context.snapshot.network_acl(*subnet)
        if acl is not None:
            acls[acl.acl_id] = acl
    for acl in acls.values():
        label = words.named(acl.tags.get("Name", ""), acl.acl_id)
        for egress in (False, True):
            for family in Family:
                used = 1 + sum(
                    entry.egress is egress and entry.cidr.family is family and entry.number <= LAST_ENTRY
                    for entry in acl.entries
                )
                direction = "egress" if egress else "ingress"
                yield from _finding(
                    Resource("network-acl", acl.acl_id),
                    f"{label} has {used} of {ENTRIES} {direction} entries for {words.family(family)}",
                    used,
                    ENTRIES,
                    (direction, str(family)),
                    "The deny at the end counts as one of them.",
                    "Join entries for adjacent blocks or ports, or ask for a higher quota (L-2AEEBF1A).",
                )


def _finding(
    resource: Resource, said: str, used: int, quota: int, identity: tuple[str, ...], explained: str, remedy: str
) -> Iterator[Finding]:
    if not quota * NEARLY <= used <= quota:
        return
    yield Finding(
        rule=RULE.id,
        severity=Severity.WARNING if used == quota else Severity.NOTE,
        title=said,
        message=f"By the default quota, {said}. {explained}",
        remedy=remedy,
        resource=resource,
        pairs=0,
        evidence={"used": used, "quota": quota},
        identity=identity,
    )


RULE = Rule(
    id="quota-nearly-used",
    title="A quota is used up, or nearly",
    severity=Severity.WARNING,
    why=(
        "The next permission, group or entry is refused, in the middle of whatever adds it. What stands above the "
        "default quota is not reported, because the account's own quota is higher then."
    ),
    remedy="Use fewer, wider permissions, or ask for a higher quota before you need it.",
    sources=("VPC user guide, Amazon VPC quotas",),
    check=check,
)
