"""What is lost with some permissions of what is required."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sgaudit.fix.gaps import GroupGap
from sgaudit.ports import ALL
from sgaudit.reach.filters import EVERY_OTHER_PROTOCOL
from sgaudit.reach.verdict import count_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sgaudit.rules.context import Context


def losses(before: Context, bare: Context, findings: Mapping[str, str]) -> Iterator[GroupGap]:
    """
    Go through what is required and surely admitted with some permissions, and is not without them.

    Args:
        before: the cluster as it is.
        bare: the same without the permissions.
        findings: the groups that had them, each with the fingerprint of a finding.
    """
    nodes = before.matrix.node_set
    for judged in before.over_ip:
        protocol, ports = str(judged.requirement.protocol), judged.requirement.ports
        for groups, carriers in nodes.by_group_set.items():
            finding = next((findings[group] for group in groups or () if group in findings), "")
            holders = carriers & judged.targets & nodes.addressed if finding else 0
            for peers, others in nodes.by_group_set.items() if holders else ():
                found = others & judged.sources & nodes.addressed
                if count_pairs(nodes, holders, found):
                    gap = GroupGap(False, groups or (), peers or (), protocol, ports, holders, found, finding)
                    yield from (_lacking_of_all if protocol == "all" else _lacking)(before, bare, gap)


def _lacking_of_all(before: Context, bare: Context, gap: GroupGap) -> Iterator[GroupGap]:
    """Tell what is lost of all traffic; where less than all of it was admitted, that much."""
    had = has = gap.peer_nodes
    for protocol, ports in before.matrix.traffic("all", ALL):
        had &= before.matrix.sure.groups.steps(gap.groups, protocol, egress=False).every(ports, had)
        has &= bare.matrix.sure.groups.steps(gap.groups, protocol, egress=False).every(ports, has)
    if had & ~has:
        yield replace(gap, missing=ALL, peer_nodes=had & ~has)
    for protocol, ports in before.matrix.traffic("all", ALL):
        if protocol != EVERY_OTHER_PROTOCOL:
            rest = replace(gap, protocol=protocol, missing=ports, peer_nodes=gap.peer_nodes & ~had)
            yield from _lacking(before, bare, rest)


def _lacking(before: Context, bare: Context, gap: GroupGap) -> Iterator[GroupGap]:
    """Tell what is lost of the ports of one protocol."""
    steps = bare.matrix.sure.groups.steps(gap.groups, gap.protocol, egress=False)
    for missing, nodes in steps.missing(gap.missing, gap.peer_nodes).items():
        yield from _again(before, replace(gap, missing=missing, peer_nodes=nodes))


def _again(before: Context, gap: GroupGap) -> Iterator[GroupGap]:
    """Keep of a gap what was no gap before."""
    passed = gap.peer_nodes
    steps = before.matrix.sure.groups.steps(gap.groups, gap.protocol, egress=False)
    for missing, nodes in steps.missing(gap.missing, gap.peer_nodes).items():
        passed &= ~nodes
        if gap.missing - missing:
            yield replace(gap, peer_nodes=nodes, missing=gap.missing - missing)
    if passed:
        yield replace(gap, peer_nodes=passed)
