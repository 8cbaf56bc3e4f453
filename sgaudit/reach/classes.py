"""Classes: nodes that no rule can tell apart have the same open ports with everybody."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sgaudit.ports import ALL
from sgaudit.reach.nodes import bits_of, columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.reach.filters import Filters
    from sgaudit.reach.matrix import Matrix


def classes(matrix: Matrix, protocol: str) -> tuple[int, ...]:
    """
    Part the nodes into sets that every filter treats alike, for one protocol.

    Returns:
        Disjoint sets of nodes, those of each class together, by their lowest node.
    """
    nodes = matrix.node_set
    names = [name for name, _ in matrix.traffic(protocol, ALL)]
    told: dict[int, None] = {}
    for way in (matrix.sure, *(way for way in matrix.hopeful_ways if way is not matrix.sure)):
        for name in names:
            told.update(dict.fromkeys(_sets(way, name)))
    told = {row: None for row in told if row not in (0, nodes.addressed)}
    grouped: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for node, groups, subnet, column in zip(
        nodes.items, nodes.group_set_of, nodes.subnet_index_of, columns(tuple(told), len(nodes)), strict=True
    ):
        grouped[groups, subnet, node.value is None, column].append(node.index)
    return tuple(bits_of(indexes) for indexes in grouped.values())


def _sets(way: Filters, protocol: str) -> Iterator[int]:
    """Go through every set of nodes on which a verdict can turn."""
    nodes = way.nodes
    for egress in (True, False):
        for groups in nodes.by_group_set:
            for _, _, row in way.groups.steps(groups, protocol, egress=egress).segments:
                yield row
        for subnet in range(len(nodes.subnets)):
            for _, _, row in way.subnet_steps(subnet, protocol, egress=egress).segments:
                yield row
            yield way.way_back(subnet, protocol, egress=egress)
    yield from way.forward
    yield from way.back
