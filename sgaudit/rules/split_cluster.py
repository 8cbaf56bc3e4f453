"""The members fall into islands that can't work together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.reach.nodes import indexes_of
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.reach.matrix import Matrix
    from sgaudit.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    """Report the islands, unless the cluster is one, or no member reaches another one at all."""
    matrix = context.matrix
    everybody = matrix.node_set.everyone
    meshes = [judged for judged in context.meshes if judged.sources == judged.targets == everybody]
    if not meshes or all(not judged.verdicts.failing for judged in meshes) or matrix.node_set.unseen:
        return
    found = islands(matrix, [matrix.mutual(mesh.requirement.protocol, mesh.requirement.ports) for mesh in meshes])
    sizes = sorted((words.count_members(matrix, island) for island in found), reverse=True)
    if len(found) < 2 or sizes[0] < 2:
        return
    small = [island for island in found if words.count_members(matrix, island) < sizes[0]] or found[1:]
    names = [words.members_label(matrix, island) for island in small]
    yield Finding(
        rule=RULE.id,
        severity=RULE.severity,
        title=f"The cluster falls into {len(found)} islands of {words.listed([str(size) for size in sizes], 6)}",
        message=(
            f"Members reach one another both ways inside {len(found)} islands, but not from one to the next. "
            f"Outside the largest: {'; '.join(names[:4])}{f'; and {len(names) - 4} more' if len(names) > 4 else ''}."
        ),
        remedy="Cure the findings on the paths between the islands; they name the groups and network ACLs.",
        resource=Resource("instance", words.members_of(matrix, small[0], 1)[0].instance.instance_id),
        pairs=sum(sizes) ** 2 - sum(size * size for size in sizes),
        evidence={
            "islands": [words.member_ids(matrix, island, 50) for island in found[:20]],
            "sizes": sizes,
        },
        subject=("cluster",),
    )


def islands(matrix: Matrix, adjacency: list[list[int]]) -> list[int]:
    """
    Part the nodes so that those that reach one another both ways, directly or by others, are together.

    Args:
        matrix: the nodes.
        adjacency: for each need the list of every node's partners; one has to be in all of them.

    Returns:
        Sets of nodes, the largest first.
    """
    left = matrix.node_set.everyone
    by_instance = matrix.node_set.by_instance
    found: list[int] = []
    while left:
        island = frontier = left & -left
        asked: set[tuple[int, ...]] = set()
        while frontier:
            reached = 0
            for index in indexes_of(frontier):
                reached |= by_instance[matrix.nodes[index].instance.instance_id]
                rows = tuple(id(rows[index]) for rows in adjacency)
                if rows not in asked:
                    asked.add(rows)
                    partners = matrix.node_set.everyone
                    for row in adjacency:
                        partners &= row[index]
                    reached |= partners
            frontier = reached & left & ~island
            island |= frontier
        left &= ~island
        found.append(island)
    return sorted(found, key=lambda island: (-island.bit_count(), island & -island))


RULE = Rule(
    id="split-cluster",
    title="The members fall into islands",
    severity=Severity.ERROR,
    why="A job on all members can't start: each collective operation needs every member to reach every other one.",
    remedy="Open the paths between the islands, or run one job an island.",
    sources=("PyTorch documentation, Distributed communication package",),
    check=check,
)
