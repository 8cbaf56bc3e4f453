"""
The layers that a packet passes, as sets of nodes.

A row of the matrix, all targets of one source, is the intersection of the targets that the source's own
filters let it send to with the union of the targets whose filters admit the source. Sources that no
filter tells apart have the same row.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING

from sgaudit.ports import ALL, NONE, PortSet
from sgaudit.reach.nodes import columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sgaudit.reach.network_acls import AclFilters
    from sgaudit.reach.nodes import GroupSet, Nodes
    from sgaudit.reach.security_groups import GroupFilters
    from sgaudit.reach.steps import Steps

Traffic = tuple[tuple[str, PortSet], ...]
"""Protocols and the ports of each that are asked about together."""

CHUNK = 8
"""Filters whose joined members are remembered together."""
EVERY_OTHER_PROTOCOL = "other"
"""Stands for the protocols that no rule names: only an all-protocol permission admits them."""


def client_traffic(protocol: str, client_ports: PortSet) -> PortSet:
    """Tell what the answer to a packet is addressed to: the client's ports, or for ICMP any message."""
    return client_ports if protocol in ("tcp", "udp") else ALL


@dataclass(frozen=True)
class Filters:
    """All layers under one assumption about what could not be read, and one kind of way."""

    nodes: Nodes
    groups: GroupFilters
    acls: AclFilters
    forward: tuple[int, ...]
    """For each subnet the targets to which its routes lead."""
    back: tuple[int, ...]
    """For each subnet the sources to which its routes lead the answer."""
    client_ports: PortSet
    _way_back: dict[tuple[int, bool, str], int] = field(default_factory=dict, repr=False)
    _tables: dict[int, tuple[Steps, list[PortSet]]] = field(default_factory=dict, repr=False)

    def subnet_steps(self, subnet: int, protocol: str, *, egress: bool) -> Steps:
        """Tell what the network ACL of a subnet lets out (to targets) or in (from sources)."""
        return self.acls.steps(self.nodes.subnets[subnet], protocol, egress=egress)

    def way_back(self, subnet: int, protocol: str, *, egress: bool) -> int:
        """Tell for which other ends the ACL lets the answer out of a subnet, or into it, on all client ports."""
        key = (subnet, egress, protocol)
        found = self._way_back.get(key)
        if found is None:
            steps = self.subnet_steps(subnet, protocol, egress=egress)
            answer = client_traffic(protocol, self.client_ports)
            found = self._way_back[key] = steps.every(answer, self.nodes.addressed)
        return found

    def neighbours(self, subnet: int) -> int:
        """Tell the nodes to which no network ACL applies: those of the same subnet."""
        return self.nodes.by_subnet[subnet] if self.nodes.subnets[subnet][0] else 0

    def rows(
        self, ask: Callable[[Steps, PortSet], int], traffic: Traffic, wanted: Sequence[int] | None = None
    ) -> list[int]:
        """
        Compute for each node the targets that it reaches.

        Args:
            ask: reduces a filter over ports to one set: those let pass on every port, on some, or on one.
            traffic: what is asked about.
            wanted: for each node the targets that matter; where there are none the row is not computed.
        """
        by_groups, by_subnet = self._ends(ask, traffic)
        return self._combine(by_groups, by_subnet, wanted)

    def mutual(self, traffic: Traffic) -> list[int]:
        """Compute for each node the others with which every port of the traffic is open both ways."""

        def every(steps: Steps, asked: PortSet) -> int:
            return steps.every(asked, self.nodes.addressed)

        by_groups, by_subnet = self._ends(every, traffic)
        there = self._combine(by_groups, by_subnet, None)
        turned = {groups: (into, out) for groups, (out, into) in by_groups.items()}
        back = self._combine(turned, [(into, out) for out, into in by_subnet], None)
        return [row & column for row, column in zip(there, back, strict=True)]

    def _ends(
        self, ask: Callable[[Steps, PortSet], int], traffic: Traffic
    ) -> tuple[dict[GroupSet, tuple[int, int]], list[tuple[int, int]]]:
        """Ask the filters of every set of groups and of every subnet: whom they let out to, and in from."""
        nodes = self.nodes
        by_groups: dict[GroupSet, tuple[int, int]] = {}
        for groups in nodes.by_group_set:
            out = into = nodes.addressed
            for protocol, ports in traffic:
                out &= ask(self.groups.steps(groups, protocol, egress=True), ports)
                into &= ask(self.groups.steps(groups, protocol, egress=False), ports)
            by_groups[groups] = (out, into)
        by_subnet: list[tuple[int, int]] = []
        for subnet in range(len(nodes.subnets)):
            out, into = self.forward[subnet], self.back[subnet]
            beyond_out = beyond_in = nodes.addressed
            for protocol, ports in traffic:
                beyond_out &= ask(self.subnet_steps(subnet, protocol, egress=True), ports)
                beyond_out &= self.way_back(subnet, protocol, egress=False)
                beyond_in &= ask(self.subnet_steps(subnet, protocol, egress=False), ports)
                beyond_in &= self.way_back(subnet, protocol, egress=True)
            near = self.neighbours(subnet)
            by_subnet.append((out & (beyond_out | near), into & (beyond_in | near)))
        return by_groups, by_subnet

    def _combine(
        self,
        by_groups: Mapping[GroupSet, tuple[int, int]],
        by_subnet: Sequence[tuple[int, int]],
        wanted: Sequence[int] | None,
    ) -> list[int]:
        nodes = self.nodes
        groups_admit = Admission.of(
            ((by_groups[groups][1], members) for groups, members in nodes.by_group_set.items()), nodes
        )
        subnets_admit = Admission.of(
            ((into, members) for (_, into), members in zip(by_subnet, nodes.by_subnet, strict=True)), nodes
        )
        known: dict[tuple[object, ...], int] = {}
        rows: list[int] = []
        keys = zip(
            nodes.group_set_of,
            nodes.subnet_index_of,
            groups_admit.columns,
            subnets_admit.columns,
            strict=True,
        )
        for index, key in enumerate(keys):
            if nodes.items[index].value is None or (wanted is not None and not wanted[index]):
                rows.append(0)
                continue
            row = known.get(key)
            if row is None:
                groups, subnet, group_column, subnet_column = key
                row = by_groups[groups][0] & by_subnet[subnet][0]
                row &= groups_admit.admitting(group_column) & subnets_admit.admitting(subnet_column)
                known[key] = row
            rows.append(row)
        return rows

    def ports(self, source: int, target: int, protocol: str) -> PortSet:
        """Tell the ports on which one node reaches another; both must have an address."""
        nodes = self.nodes
        here, there = nodes.subnet_index_of[source], nodes.subnet_index_of[target]
        if not (self.forward[here] >> target & 1 and self.back[there] >> source & 1):
            return NONE
        found = self._per_node(self.groups.steps(nodes.group_set_of[source], protocol, egress=True))[target]
        found &= self._per_node(self.groups.steps(nodes.group_set_of[target], protocol, egress=False))[source]
        if not found or self.neighbours(here) >> target & 1:
            return found
        answered = self.way_back(there, protocol, egress=True) >> source & 1
        if not (answered and self.way_back(here, protocol, egress=False) >> target & 1):
            return NONE
        found &= self._per_node(self.subnet_steps(here, protocol, egress=True))[target]
        return found & self._per_node(self.subnet_steps(there, protocol, egress=False))[source]

    def _per_node(self, steps: Steps) -> list[PortSet]:
        found = self._tables.get(id(steps))
        if found is None:
            # The steps are kept with their table: else another object could get the same id.
            found = self._tables[id(steps)] = steps, steps.by_node(len(self.nodes))
        return found[1]


@dataclass(frozen=True)
class Admission:
    """Filters of targets, turned round: for a source, the targets whose filter admits it."""

    columns: Sequence[tuple[str, ...]]
    """For each node, which of the filters admit it."""
    members: tuple[int, ...]
    """The targets behind each filter."""
    always: int
    """The targets that admit every node."""
    _known: dict[tuple[str, ...], int] = field(default_factory=dict, repr=False)
    _parts: dict[tuple[int, tuple[str, ...]], int] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, rows: Iterable[tuple[int, int]], nodes: Nodes) -> Admission:
        """Take pairs of admitted sources and the targets that admit them."""
        by_admitted: dict[int, int] = defaultdict(int)
        for admitted, members in rows:
            by_admitted[admitted] |= members
        always = by_admitted.pop(nodes.addressed, 0)
        by_admitted.pop(0, None)
        return cls(columns(tuple(by_admitted), len(nodes)), tuple(by_admitted.values()), always)

    def admitting(self, column: tuple[str, ...]) -> int:
        """Tell the targets that admit a source with this column."""
        found = self._known.get(column)
        if found is None:
            found = self.always
            for place in range(0, len(column), CHUNK):
                found |= self._part(place, column[place : place + CHUNK])
            self._known[column] = found
        return found

    def _part(self, place: int, column: tuple[str, ...]) -> int:
        """Join the members behind a few filters; most columns repeat the same few ways to do so."""
        key = (place, column)
        found = self._parts.get(key)
        if found is None:
            found = 0
            for members in compress(self.members[place : place + CHUNK], map(int, column)):
                found |= members
            self._parts[key] = found
        return found
