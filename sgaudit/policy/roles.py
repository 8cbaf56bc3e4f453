"""Which members hold which roles."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sgaudit.errors import UsageError
from sgaudit.model import Member
from sgaudit.policy.model import EVERYBODY, HEAD, Policy, Role


@dataclass(frozen=True, slots=True)
class Holders:
    """The instances that hold each role of a policy."""

    by_role: Mapping[str, frozenset[str]]
    known_heads: frozenset[str]
    """Empty when nobody is known to be the head; `by_role` then names everybody."""


def find_head(head: str, members: Iterable[Member]) -> str:
    """
    Find the member that `--head` names by its id or its Name tag.

    Raises:
        UsageError: no member, or more than one, goes by it.
    """
    instances = [member.instance for member in members]
    if any(instance.instance_id == head for instance in instances):
        return head
    found = [instance.instance_id for instance in instances if instance.name == head]
    if len(found) > 1:
        raise UsageError(
            f"--head {head!a}: {len(found)} members have that name: {', '.join(sorted(found))}",
            hint="give the id of one of them",
        )
    if not found:
        words = [word for instance in instances for word in (instance.name, instance.instance_id) if word]
        near = difflib.get_close_matches(head, words, n=1, cutoff=0.8)
        raise UsageError(
            f"--head {head!a}: no member has that id or name",
            hint=f"did you mean {near[0]}?" if near else "the head must be one of the selected instances",
        )
    return found[0]


def holders(policy: Policy, members: Sequence[Member], head_id: str | None) -> Holders:
    """
    Tell who holds which role of a policy.

    A member whose groups could not be read may hold a role by group, and so counts as holding it: its
    paths are judged unknown then, where leaving it out would hide them.
    """
    everybody = frozenset(member.instance.instance_id for member in members)
    by_role: dict[str, frozenset[str]] = {}
    surely_picked: set[str] = set()
    judged = [role for role in policy.roles if role.name != HEAD or head_id is None]
    for role in judged:
        if not role.picks:
            continue
        picked = {member.instance.instance_id: _picks(role, member) for member in members}
        by_role[role.name] = frozenset(item for item, held in picked.items() if held is not False)
        surely_picked |= {item for item, held in picked.items() if held}
    if head_id is not None:
        by_role[HEAD] = frozenset({head_id})
        surely_picked.add(head_id)
    for role in judged:
        if role.default:
            by_role[role.name] = by_role.get(role.name, frozenset()) | (everybody - surely_picked)
    known_heads = by_role.get(HEAD, frozenset())
    names = {role.name: frozenset[str]() for role in policy.roles}
    return Holders({**names, **by_role, HEAD: known_heads or everybody, EVERYBODY: everybody}, known_heads)


def _picks(role: Role, member: Member) -> bool | None:
    """Tell whether a role's selectors pick a member; None when that could not be read."""
    instance = member.instance
    subnets = {instance.subnet_id, *(interface.subnet_id for interface in member.interfaces)}
    surely = (
        all(tag.matches(instance) for tag in role.tags)
        and (not role.instance_ids or instance.instance_id in role.instance_ids)
        and (not role.subnet_ids or not subnets.isdisjoint(role.subnet_ids))
    )
    if not surely or not role.security_groups:
        return surely
    carried = [interface.groups for interface in member.interfaces]
    if any(groups is not None and not set(groups).isdisjoint(role.security_groups) for groups in carried):
        return True
    return None if not carried or None in carried else False
