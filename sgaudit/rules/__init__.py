"""What sgaudit looks for: one rule a file, all of them written out here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.rules import (
    acl_blocks_path,
    acl_blocks_return,
    mesh_path_blocked,
    no_address,
    no_route,
    not_visible,
    partial_ports,
    split_cluster,
)

if TYPE_CHECKING:
    from sgaudit.rules.context import Context
    from sgaudit.rules.finding import Finding, Rule

RULES: tuple[Rule, ...] = (
    mesh_path_blocked.RULE,
    partial_ports.RULE,
    acl_blocks_path.RULE,
    acl_blocks_return.RULE,
    no_route.RULE,
    no_address.RULE,
    not_visible.RULE,
    split_cluster.RULE,
)


def check(context: Context, rules: tuple[Rule, ...] = RULES) -> tuple[Finding, ...]:
    """Ask every rule; the findings come with the gravest and largest first."""
    found = [finding for rule in rules for finding in rule.check(context)]
    found.sort(key=lambda item: (-item.severity.rank, -item.pairs, item.rule, item.resource.id, item.fingerprint))
    return tuple(found)
