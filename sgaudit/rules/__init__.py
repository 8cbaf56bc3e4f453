"""What sgaudit looks for: one rule a file, all of them written out here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.errors import InternalError
from sgaudit.rules import (
    acl_blocks_path,
    acl_blocks_return,
    admin_port_open,
    covered_permission,
    dead_acl_entry,
    dead_permission,
    efa_extra_group_closed,
    efa_group_closed,
    efa_missing_interface,
    efa_not_visible,
    efa_split_placement,
    external_not_visible,
    external_path_blocked,
    idle_connections_cut,
    leans_on_default_group,
    mesh_path_blocked,
    mixed_families,
    mixed_instance_types,
    mixed_mtu,
    mixed_placement,
    need_not_judged,
    no_address,
    no_route,
    not_visible,
    one_way_luck,
    open_beyond_cluster,
    open_to_world,
    partial_ports,
    peer_without_interface,
    quota_nearly_used,
    self_and_world,
    split_cluster,
    stale_reference,
    suppression_expired,
    suppression_unused,
    two_interfaces_one_subnet,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
    need_not_judged.RULE,
    split_cluster.RULE,
    external_path_blocked.RULE,
    external_not_visible.RULE,
    open_to_world.RULE,
    admin_port_open.RULE,
    self_and_world.RULE,
    open_beyond_cluster.RULE,
    efa_group_closed.RULE,
    efa_split_placement.RULE,
    efa_missing_interface.RULE,
    efa_not_visible.RULE,
    efa_extra_group_closed.RULE,
    mixed_placement.RULE,
    mixed_families.RULE,
    mixed_instance_types.RULE,
    mixed_mtu.RULE,
    one_way_luck.RULE,
    leans_on_default_group.RULE,
    stale_reference.RULE,
    two_interfaces_one_subnet.RULE,
    quota_nearly_used.RULE,
    covered_permission.RULE,
    dead_permission.RULE,
    peer_without_interface.RULE,
    dead_acl_entry.RULE,
    idle_connections_cut.RULE,
    suppression_expired.RULE,
    suppression_unused.RULE,
)


def check(context: Context, rules: Sequence[Rule] = RULES) -> tuple[Finding, ...]:
    """
    Ask every rule.

    Raises:
        InternalError: a rule crashed. What it would have found is not known, so nothing can pass.
    """
    return ordered(finding for rule in rules for finding in _ask(rule, context))


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Put the gravest and largest findings first, and those that are suppressed last."""
    return tuple(
        sorted(
            findings,
            key=lambda item: (
                item.suppressed,
                -item.severity.rank,
                -item.pairs,
                item.rule,
                item.resource.id,
                item.fingerprint,
            ),
        )
    )


def _ask(rule: Rule, context: Context) -> list[Finding]:
    try:
        return list(rule.check(context))
    except Exception as error:
        raise InternalError(
            f"the rule {rule.id} failed: {type(error).__name__}: {error}",
            hint=f"report what --debug prints; --ignore {rule.id} judges without the rule",
        ) from error
