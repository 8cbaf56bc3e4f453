"""The permissions that let EFA traffic pass: all protocols, a group to itself, both ways."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sgaudit.fix.grants import NEW_GROUP, Grant, Proposal, Refusal, merged, not_attachable
from sgaudit.fix.plan import Strategy
from sgaudit.model import GroupPeer
from sgaudit.ports import ALL
from sgaudit.reach.efa import INTERFACE_TYPES, admitted_groups
from sgaudit.rules import efa_group_closed
from sgaudit.rules.ownership import DEFAULT_GROUP, group_owner

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from sgaudit.fix.population import Population
    from sgaudit.model import Interface
    from sgaudit.rules.context import Context


NOTHING: AbstractSet[str] = frozenset()


def gaps_left(context: Context, accepted: AbstractSet[str] = NOTHING) -> bool:
    """Tell whether groups keep EFA traffic from passing that is required, and that nobody has accepted as closed."""
    return any(finding.fingerprint not in accepted for finding in efa_group_closed.check(context))


def propose(
    context: Context, population: Population, accepted: AbstractSet[str] = NOTHING
) -> tuple[Proposal | None, list[Refusal]]:
    """
    Propose what opens EFA traffic between the members that need it: a group that all share, else a new one.

    Args:
        context: what was judged.
        population: everybody whom it could let in.
        accepted: fingerprints of findings that are left as they are.
    """
    findings = tuple(
        finding.fingerprint for finding in efa_group_closed.check(context) if finding.fingerprint not in accepted
    )
    if not findings:
        return None, []
    interfaces = _interfaces(context)
    known = context.snapshot.security_groups or {}
    common = set(known).intersection(*(item.groups or () for item in interfaces))
    if common:
        best = min(
            common,
            key=lambda group: (
                population.cost(group, group),
                known[group].name == DEFAULT_GROUP or bool(group_owner(known[group])),
                group,
            ),
        )
        grants = tuple(
            Grant(best, egress, "efa", ALL, (GroupPeer(best),), findings)
            for egress in (False, True)
            if best not in (admitted_groups(context.snapshot, best, egress=egress) or ())
        )
        return Proposal(Strategy.SELF, grants, exact=True, cost=population.cost(best, best)), []
    reason = not_attachable(interfaces)
    if reason:
        return None, [Refusal(Strategy.CLUSTER_GROUP, reason)]
    grants = tuple(Grant(NEW_GROUP, egress, "efa", ALL, (GroupPeer(NEW_GROUP),), findings) for egress in (False, True))
    attach = tuple(item.interface_id for item in interfaces)
    return Proposal(Strategy.CLUSTER_GROUP, grants, exact=True, cost=0, attach=attach), []


def _interfaces(context: Context) -> list[Interface]:
    """List the EFA interfaces of the members of which EFA traffic is required."""
    wanted = {
        instance for judged in context.over_efa for instance in judged.requirement.sources | judged.requirement.targets
    }
    return [
        item for item in context.interfaces if item.interface_type in INTERFACE_TYPES and item.instance_id in wanted
    ]


def joined(one: Proposal | None, other: Proposal | None) -> Proposal | None:
    """Do both at once."""
    if one is None or other is None:
        return one or other
    grants = (replace(grant, protocol="all") if grant.protocol == "efa" else grant for grant in other.grants)
    return replace(
        one,
        grants=merged((*one.grants, *grants)),
        attach=tuple(dict.fromkeys((*one.attach, *other.attach))),
    )
