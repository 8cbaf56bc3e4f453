"""What a change opens, computed from the matrices of everybody before and after it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from sgaudit.errors import InternalError
from sgaudit.fix.plan import Extra
from sgaudit.model import Family
from sgaudit.ports import ALL, PortSet
from sgaudit.reach.nodes import bits_of
from sgaudit.reach.verdict import count_pairs
from sgaudit.rules import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sgaudit.fix.population import Population
    from sgaudit.model import Snapshot
    from sgaudit.policy.model import Requirement
    from sgaudit.reach.matrix import Matrix
    from sgaudit.reach.nodes import GroupSet
    from sgaudit.reach.steps import Steps

Traffic = tuple[str, PortSet]
OTHER_ICMP = {Family.IPV4: "icmpv6", Family.IPV6: "icmp"}
"""Messages that mean nothing over a family."""


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
    traffic, wanted = list(touched), list(requirements)
    return tuple(line for family in population.families for line in _over(population, after, family, traffic, wanted))


def _over(
    population: Population,
    after: Snapshot,
    family: Family,
    touched: Sequence[Traffic],
    requirements: Sequence[Requirement],
) -> tuple[Extra, ...]:
    """Tell it for one family: a permission with a group as peer lets both of them pass."""
    was, now = population.matrix(population.context.snapshot, family), population.matrix(after, family)
    nodes = now.node_set
    judged = bits_of(
        node.index for node in nodes if node.interface and node.interface.interface_id in population.judged
    )
    required = [
        (
            item.protocol,
            item.ports,
            nodes.of_instances(item.sources) & judged,
            nodes.of_instances(item.targets) & judged,
        )
        for item in requirements
    ]
    found: dict[_Key, dict[tuple[int, int], PortSet]] = defaultdict(dict)
    for protocol, ports in touched:
        for name, part in _parts(was, now, protocol, ports, [needed for _, needed, _, _ in required]):
            wanted = [
                (sources, targets)
                for asked, needed, sources, targets in required
                if asked == "all" or (asked == name and part <= needed)
            ]
            _compare(was, now, name, part, wanted, population, found)
    where = "" if family is population.context.matrix.family else f", over {words.family(family)}"
    return _said(now, found, where)


def _parts(was: Matrix, now: Matrix, protocol: str, ports: PortSet, needs: list[PortSet]) -> list[Traffic]:
    """Part traffic so that no filter, before or after, and no need tells the ports of one part from each other."""
    return [
        (name, part)
        for name, asked in now.traffic(protocol, ports)
        if name != OTHER_ICMP[now.family]
        for part in _alike(asked, [*_filters(was, name), *_filters(now, name)], needs)
    ]


def _filters(matrix: Matrix, protocol: str) -> list[Steps]:
    """List what surely passes at each filter that treats some ports unlike others."""
    found: dict[int, Steps] = {}
    for egress in (True, False):
        for groups in matrix.node_set.by_group_set:
            steps = matrix.sure.groups.steps(groups, protocol, egress=egress)
            found[id(steps)] = steps
        for subnet in range(len(matrix.node_set.subnets)):
            steps = matrix.sure.subnet_steps(subnet, protocol, egress=egress)
            found[id(steps)] = steps
    return [steps for steps in found.values() if not steps.is_constant]


def _alike(ports: PortSet, filters: Sequence[Steps], needs: Sequence[PortSet]) -> list[PortSet]:
    edges = {end for found in (ports, *needs) for low, high in found.ranges for end in (low, high + 1)}
    edges |= {end for steps in filters for low, high, _ in steps.segments for end in (low, high + 1)}
    kinds: dict[tuple[object, ...], list[tuple[int, int]]] = defaultdict(list)
    for low, end in pairwise(sorted(edges)):
        if low in ports:
            key = (*(steps.at(low) for steps in filters), *(low in needed for needed in needs))
            kinds[key].append((low, end - 1))
    return [PortSet.of(spans) for spans in kinds.values()]


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


def _said(now: Matrix, found: Mapping[_Key, Mapping[tuple[int, int], PortSet]], where: str) -> tuple[Extra, ...]:
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
                _end(now, key.source, outside=key.source_outside) + where,
                _end(now, key.target, outside=key.target_outside) + where,
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
