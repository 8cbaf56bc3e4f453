"""What a change opens, computed from the matrices of everybody before and after it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgaudit.errors import InternalError
from sgaudit.fix.plan import Extra
from sgaudit.ports import ALL, PortSet
from sgaudit.reach.verdict import count_pairs
from sgaudit.rules import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sgaudit.fix.population import Population
    from sgaudit.model import Snapshot
    from sgaudit.policy.model import Requirement
    from sgaudit.reach.matrix import Matrix
    from sgaudit.reach.nodes import GroupSet

Traffic = tuple[str, PortSet]


@dataclass(frozen=True, slots=True)
class _Key:
    source: GroupSet
    target: GroupSet
    source_outside: bool
    target_outside: bool
    protocol: str


def extras(
    population: Population,
    after: Snapshot,
    touched: Iterable[Traffic],
    requirements: Iterable[Requirement],
) -> tuple[Extra, ...]:
    """
    Tell what becomes reachable although nothing requires it.

    Args:
        population: everybody, with the snapshot before the change.
        after: the snapshot after it.
        touched: the traffic that the change adds.
        requirements: what is required.

    Raises:
        InternalError: the change closes something.
    """
    was, now = population.matrix(population.context.snapshot), population.matrix(after)
    required = [
        (
            item.protocol,
            item.ports,
            now.node_set.of_instances(item.sources),
            now.node_set.of_instances(item.targets),
        )
        for item in requirements
    ]
    found: dict[_Key, dict[tuple[int, int], PortSet]] = defaultdict(dict)
    for protocol, ports in touched:
        for name, part in _parts(now, protocol, ports, [needed for _, needed, _, _ in required]):
            wanted = [
                (sources, targets)
                for asked, needed, sources, targets in required
                if asked == "all" or (asked == name and part <= needed)
            ]
            _compare(was, now, name, part, wanted, population, found)
    return _said(now, found)


def _parts(now: Matrix, protocol: str, ports: PortSet, needs: list[PortSet]) -> list[Traffic]:
    """Part traffic so that neither a filter nor a need tells the ports of one part from each other."""
    parts = [(name, part) for name, asked in now.traffic(protocol, ports) for part in now.segments(name, asked)]
    for needed in needs:
        cut = [(name, piece) for name, part in parts for piece in (part & needed, part - needed)]
        parts = [(name, piece) for name, piece in cut if piece]
    return parts


def _compare(
    was: Matrix,
    now: Matrix,
    protocol: str,
    part: PortSet,
    wanted: list[tuple[int, int]],
    population: Population,
    found: dict[_Key, dict[tuple[int, int], PortSet]],
) -> None:
    port = part.ranges[0][0]
    before, after = was.sure_at(protocol, port), now.sure_at(protocol, port)
    ours = now.node_set.of_instances(frozenset(population.context.matrix.node_set.by_instance))
    alike: dict[tuple[int, int, GroupSet, bool, tuple[bool, ...]], int] = defaultdict(int)
    for node, had, has, carried in zip(now.nodes, before, after, was.node_set.group_set_of, strict=True):
        if had & ~has:
            raise InternalError(f"the plan would close {protocol} {port} from {node.label}")
        if has & ~had:
            bit = 1 << node.index
            asks = tuple(bool(sources & bit) for sources, _ in wanted)
            alike[had, has, carried, bool(ours & bit), asks] |= bit
    for (had, has, carried, member, asks), sources in alike.items():
        opened = has & ~had
        for asked, (_, targets) in zip(asks, wanted, strict=True):
            if asked:
                opened &= ~targets
        for groups_there, carriers in was.node_set.by_group_set.items():
            for inside in (True, False):
                targets = opened & carriers & (ours if inside else ~ours)
                if count_pairs(now.node_set, sources, targets):
                    key = _Key(carried, groups_there, not member, not inside, protocol)
                    block = (sources, targets)
                    found[key][block] = found[key].get(block, PortSet()) | part


def _said(now: Matrix, found: Mapping[_Key, Mapping[tuple[int, int], PortSet]]) -> tuple[Extra, ...]:
    lines: list[Extra] = []
    for key, blocks in found.items():
        ports = PortSet()
        for part in blocks.values():
            ports |= part
        pairs = max(
            sum(count_pairs(now.node_set, *block) for block, part in blocks.items() if port in part)
            for port in {part.ranges[0][0] for part in blocks.values()}
        )
        lines.append(
            Extra(
                _end(now, key.source, outside=key.source_outside),
                _end(now, key.target, outside=key.target_outside),
                key.protocol,
                "all" if ports == ALL else str(ports),
                pairs,
                key.source_outside or key.target_outside,
            )
        )
    lines.sort(key=lambda line: (not line.outside, -line.pairs, line.source, line.target, line.protocol))
    return tuple(lines)


def _end(matrix: Matrix, groups: GroupSet, *, outside: bool) -> str:
    who = "interfaces outside the cluster" if outside else "members"
    return f"{who} with {words.groups_label(matrix.snapshot, groups)}"
