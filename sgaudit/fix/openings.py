"""What a change opens, computed from the matrices of everybody before and after it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sgaudit.errors import InternalError
from sgaudit.fix.plan import Extra
from sgaudit.model import ALL_PROTOCOLS, Cidr, Family, parse_address
from sgaudit.ports import ALL, PortSet
from sgaudit.reach.nodes import bits_of
from sgaudit.reach.verdict import count_pairs
from sgaudit.rules import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sgaudit.fix.plan import Operation
    from sgaudit.fix.population import Population
    from sgaudit.model import Snapshot
    from sgaudit.policy.model import Requirement
    from sgaudit.reach.matrix import Matrix
    from sgaudit.reach.nodes import GroupSet
    from sgaudit.reach.steps import Steps

Traffic = tuple[str, PortSet]
_Kind = tuple["GroupSet", bool, tuple[bool, ...]]
"""The groups on a node, whether it is a member's, and of which requirements it is a source."""
RANGES = ("IpRanges", "Ipv6Ranges")
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
    *,
    closing: bool = False,
) -> tuple[Extra, ...]:
    """
    Tell what becomes reachable although nothing requires it.

    Args:
        population: everybody, with the snapshot before the change.
        after: the snapshot after it.
        touched: the traffic that the change adds.
        requirements: what is required.
        closing: the change is meant to close something as well.

    Raises:
        InternalError: the change closes something.
    """
    traffic, wanted, states = list(touched), list(requirements), (population.context.snapshot, after)
    return tuple(
        line
        for family in population.families
        for line in _over(population, states, family, traffic, wanted, closing=closing)
    )


def closures(
    population: Population, after: Snapshot, touched: Iterable[Traffic], requirements: Iterable[Requirement]
) -> tuple[Extra, ...]:
    """Tell what is no longer reachable after a change; arguments as for `extras`."""
    traffic, wanted, states = list(touched), list(requirements), (after, population.context.snapshot)
    return tuple(
        line
        for family in population.families
        for line in _over(population, states, family, traffic, wanted, closing=True)
    )


def _over(
    population: Population,
    states: tuple[Snapshot, Snapshot],
    family: Family,
    touched: Sequence[Traffic],
    requirements: Sequence[Requirement],
    *,
    closing: bool,
) -> tuple[Extra, ...]:
    """Tell it for one family: a permission with a group as peer lets both of them pass."""
    was, now = (population.matrix(state, family) for state in states)
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
    search = _Search(was, now, population, [item[2:] for item in required], closing=closing)
    for protocol, ports in touched:
        for name, part in _parts(was, now, protocol, ports, [needed for _, needed, _, _ in required]):
            search.compare(
                name,
                part,
                [
                    place
                    for place, (asked, needed, _, _) in enumerate(required)
                    if asked == "all" or (asked == name and part <= needed)
                ],
            )
    where = "" if family is population.context.matrix.family else f", over {words.family(family)}"
    return tuple(search.said(where))


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


def unheld(population: Population, operations: Iterable[Operation]) -> tuple[Extra, ...]:
    """Tell which addresses permissions admit that no known interface has: whoever gets one of them is let in."""
    known = sorted(
        (family, value)
        for item in population.context.snapshot.interfaces.values()
        for family, value in map(parse_address, (*item.ipv4, *item.ipv6))
    )
    lines: dict[Extra, None] = {}
    for operation in operations:
        if not operation.call.api.startswith("AuthorizeSecurityGroup"):
            continue
        egress, holder = operation.call.api.endswith("Egress"), operation.call.params["GroupId"]
        label = words.group_label(population.context.snapshot, holder) if isinstance(holder, str) else "the new group"
        for row in operation.call.params["IpPermissions"]:
            for text in [item.get("CidrIp") or item["CidrIpv6"] for key in RANGES for item in row.get(key, ())]:
                block = Cidr.parse(text)
                held = bisect_right(known, (block.family, block.last)) - bisect_left(known, (block.family, block.first))
                if held <= block.last - block.first:
                    here, there = f"addresses in {block} that no known interface has", f"carriers of {label}"
                    ends = (there, here) if egress else (here, there)
                    lines[Extra(*ends, *_named(row), pairs=0, outside=True)] = None
    return tuple(lines)


def _named(row: Mapping[str, Any]) -> tuple[str, str]:
    """Name the protocol and the ports of a row."""
    protocol = "all" if row["IpProtocol"] == ALL_PROTOCOLS else row["IpProtocol"]
    if protocol not in ("tcp", "udp"):
        return protocol, "all"
    return protocol, str(PortSet.single(row["FromPort"], row["ToPort"]))


class _Search:
    """Collects what is open after a change and was not before, by the groups of both ends."""

    def __init__(
        self,
        was: Matrix,
        now: Matrix,
        population: Population,
        required: Sequence[tuple[int, int]],
        *,
        closing: bool,
    ) -> None:
        self.was, self.now, self.required, self.closing = was, now, required, closing
        self.ours = now.node_set.of_instances(frozenset(population.context.matrix.node_set.by_instance))
        self.ends = [
            (groups, inside, nodes)
            for groups, carriers in was.node_set.by_group_set.items()
            for inside in (True, False)
            if (nodes := carriers & (self.ours if inside else ~self.ours))
        ]
        self.kinds = [
            (groups, bool(self.ours >> index & 1), tuple(bool(sources >> index & 1) for sources, _ in required))
            for index, groups in enumerate(was.node_set.group_set_of)
        ]
        self.splits: dict[int, list[tuple[GroupSet, bool, int]]] = {}
        self.parts: list[PortSet] = []
        self.found: dict[tuple[GroupSet, bool, str, int, int], list[int]] = defaultdict(list)
        self.joined: dict[tuple[int, ...], PortSet] = {}

    def compare(self, protocol: str, part: PortSet, wanted: Sequence[int]) -> None:
        """Compare on ports that are all alike, on which some requirements are about the ports."""
        place, port = len(self.parts), part.ranges[0][0]
        self.parts.append(part)
        for (opened, (carried, member, asked)), sources in self._alike(protocol, port).items():
            more = opened
            for number in wanted:
                if asked[number]:
                    more &= ~self.required[number][1]
            if more:
                self.found[carried, member, protocol, sources, more].append(place)

    def _parted(self, targets: int) -> list[tuple[GroupSet, bool, int]]:
        """Part targets by their groups, members from others."""
        if targets not in self.splits:
            self.splits[targets] = [
                (groups, inside, targets & nodes) for groups, inside, nodes in self.ends if targets & nodes
            ]
        return self.splits[targets]

    def _alike(self, protocol: str, port: int) -> Mapping[tuple[int, _Kind], int]:
        """Put together the sources of a kind to which the same targets were opened."""
        before, after = self.was.sure_at(protocol, port), self.now.sure_at(protocol, port)
        alike: dict[tuple[int, _Kind], list[int]] = defaultdict(list)
        for index, (had, has, kind) in enumerate(zip(before, after, self.kinds, strict=True)):
            if had == has:
                continue
            if had & ~has and not self.closing:
                raise InternalError(f"the plan would close {protocol} {port} from {self.now.nodes[index].label}")
            if opened := has & ~had:
                alike[opened, kind].append(index)
        return {key: bits_of(indexes) for key, indexes in alike.items()}

    def said(self, where: str) -> list[Extra]:
        """Put it into words, what concerns others first."""
        by_key: dict[_Key, list[tuple[int, int, list[int]]]] = defaultdict(list)
        for (carried, member, protocol, sources, opened), places in self.found.items():
            for groups, inside, targets in self._parted(opened):
                by_key[_Key(carried, groups, not member, not inside, protocol)].append((sources, targets, places))
        lines = [line for key, blocks in by_key.items() if (line := self._line(key, blocks, where))]
        lines.sort(key=lambda line: (not line.outside, -line.pairs, line.source, line.target, line.protocol))
        return lines

    def _line(self, key: _Key, blocks: Sequence[tuple[int, int, list[int]]], where: str) -> Extra | None:
        pairs: dict[int, int] = defaultdict(int)
        for sources, targets, places in blocks:
            count = count_pairs(self.now.node_set, sources, targets)
            for place in places if count else ():
                pairs[place] += count
        if not pairs:
            return None
        known = tuple(sorted(pairs))
        if known not in self.joined:
            self.joined[known] = PortSet.of(span for place in known for span in self.parts[place].ranges)
        ports = self.joined[known]
        return Extra(
            _end(self.now, key.source, outside=key.source_outside) + where,
            _end(self.now, key.target, outside=key.target_outside) + where,
            key.protocol,
            "all" if ports == ALL else str(ports),
            max(pairs.values()),
            key.source_outside or key.target_outside,
        )


def _end(matrix: Matrix, groups: GroupSet, *, outside: bool) -> str:
    who = "interfaces outside the cluster" if outside else "members"
    return f"{who} with {words.groups_label(matrix.snapshot, groups)}"
