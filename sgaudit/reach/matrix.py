"""
The reachability of every ordered pair of nodes, by sets and never pair by pair.

What is known and what is only possible are judged apart (`sure` and `possible`), so that what could not
be read is neither open nor blocked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from sgaudit.model import Family, PrefixListPeer
from sgaudit.ports import ALL, CLIENT_PORTS, NONE, PortSet
from sgaudit.reach.filters import EVERY_OTHER_PROTOCOL, Filters
from sgaudit.reach.network_acls import AclFilters
from sgaudit.reach.nodes import Nodes, indexes_of, shared
from sgaudit.reach.routes import Leads, RouteFilters
from sgaudit.reach.security_groups import GroupFilters
from sgaudit.reach.verdict import Verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sgaudit.model import Member, Snapshot
    from sgaudit.reach.filters import Traffic
    from sgaudit.reach.nodes import Node
    from sgaudit.reach.steps import Steps


@dataclass(frozen=True)
class Matrix:
    """Everything that can be asked about reachability between the nodes. Build it with `build`."""

    snapshot: Snapshot
    members: tuple[Member, ...]
    family: Family
    client_ports: PortSet
    node_set: Nodes

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes; a node's index is its place here and its bit in every set."""
        return self.node_set.items

    @cached_property
    def routes(self) -> RouteFilters:
        """Where the subnets' routes lead."""
        return RouteFilters(self.snapshot, self.node_set)

    def _filters(self, *, possible: bool, references: bool, forward: Callable[[Leads], int]) -> Filters:
        leads = self.routes.leads
        return Filters(
            self.node_set,
            GroupFilters(self.snapshot, self.node_set, possible, references),
            AclFilters(self.snapshot, self.node_set, possible),
            tuple(forward(lead) for lead in leads),
            tuple(lead.reached if possible else lead.direct for lead in leads),
            self.client_ports,
        )

    @cached_property
    def sure(self) -> Filters:
        """What is known to pass."""
        return self._filters(possible=False, references=True, forward=lambda lead: lead.direct)

    @cached_property
    def possible(self) -> tuple[Filters, ...]:
        """What may pass: the direct ways, and where there are middleboxes the ways through them."""
        ways = [self._filters(possible=True, references=True, forward=lambda lead: lead.direct | lead.unknown)]
        if any(lead.middlebox for lead in self.routes.leads):
            ways.append(self._filters(possible=True, references=False, forward=lambda lead: lead.middlebox))
        return tuple(ways)

    @cached_property
    def complete(self) -> bool:
        """Whether everything that a verdict needs was read, so that possible and sure are the same."""
        groups = self.snapshot.security_groups or {}
        carried = [group for sets in self.node_set.by_group_set for group in (sets or ("",))]
        if self.node_set.unseen or any(group not in groups for group in carried):
            return False
        if any(lead.middlebox or lead.unknown for lead in self.routes.leads):
            return False
        for group in carried:
            for row in (*groups[group].ingress, *groups[group].egress):
                if isinstance(row.peer, PrefixListPeer) and row.peer.prefix_list_id not in self.snapshot.prefix_lists:
                    return False
        several = len(self.node_set.subnets) > 1
        return not several or all(self.snapshot.network_acl(*subnet) for subnet in self.node_set.subnets)

    def traffic(self, protocol: str, ports: PortSet) -> Traffic:
        """Spell out what a need asks for; `all` is every protocol, those that no rule names included."""
        if protocol != "all":
            return ((protocol, ports),)
        return tuple((name, ALL) for name in (*sorted(self._named_protocols), EVERY_OTHER_PROTOCOL))

    @cached_property
    def _named_protocols(self) -> frozenset[str]:
        found = {"tcp", "udp", "icmp" if self.family is Family.IPV4 else "icmpv6"}
        for group in self.node_set.by_group:
            known = (self.snapshot.security_groups or {}).get(group)
            if known:
                found |= {row.protocol for row in (*known.ingress, *known.egress)}
        for subnet in self.node_set.subnets:
            acl = self.snapshot.network_acl(*subnet)
            if acl:
                found |= {entry.protocol for entry in acl.entries}
        return frozenset(found - {"-1"})

    def judge(self, protocol: str, ports: PortSet, sources: int, targets: int) -> Verdicts:
        """Judge all pairs of two sets of nodes; a pair is open only when each of the ports is."""
        nodes = self.node_set
        traffic = self.traffic(protocol, ports)

        def every(steps: Steps, asked: PortSet) -> int:
            return steps.every(asked, nodes.addressed)

        opened = self.sure.rows(every, traffic)
        hopeful = opened if self.complete else self._possible_rows(every, traffic)
        verdicts = Verdicts.of(nodes, sources, targets, opened, hopeful)
        if not verdicts.failing:
            return verdicts
        wanted = [0] * len(nodes)
        for row in verdicts.rows:
            for index in indexes_of(row.sources):
                wanted[index] = row.blocked
        some = self._reached_on_some(traffic, wanted)
        return Verdicts.of(nodes, sources, targets, opened, hopeful, some)

    def mutual(self, protocol: str, ports: PortSet) -> list[int]:
        """Tell for each node the others with which each of the ports is surely open both ways."""
        return self.sure.mutual(self.traffic(protocol, ports))

    def _possible_rows(
        self, ask: Callable[[Steps, PortSet], int], traffic: Traffic, wanted: Sequence[int] | None = None
    ) -> list[int]:
        ways = [way.rows(ask, traffic, wanted) for way in self.hopeful_ways]
        rows = ways[0]
        for way in ways[1:]:
            rows = shared(lambda one, other: one | other, rows, way)
        return self._with_unseen(rows)

    @property
    def hopeful_ways(self) -> tuple[Filters, ...]:
        """The filters by which a pair may be open; the sure ones where everything was read."""
        return (self.sure,) if self.complete else self.possible

    def _with_unseen(self, rows: list[int]) -> list[int]:
        unseen = self.node_set.unseen
        if not unseen:
            return rows
        return [
            self.node_set.everyone if node.interface is None else row | unseen
            for node, row in zip(self.nodes, rows, strict=True)
        ]

    def _reached_on_some(self, traffic: Traffic, wanted: Sequence[int]) -> list[int]:
        """
        Tell for each node the wanted targets that it may reach on one port at least.

        Ports that no filter tells apart are tried once; pairs that no filter lets pass on any port,
        whatever the other filters say, are not tried at all.
        """
        left = [0] * len(wanted)
        for part in traffic:
            ceiling = self._possible_rows(lambda steps, ports: steps.some(ports), (part,), wanted)
            left = shared(lambda have, want, top: have | want & top, left, wanted, ceiling)
        found = [0] * len(left)
        samples = [
            (len(part), protocol, part.ranges[0][0])
            for protocol, ports in (traffic if any(left) else ())
            for part in self.segments(protocol, ports)
        ]
        for _, protocol, port in sorted(samples, key=lambda sample: -sample[0]):
            rows = self._possible_rows(_at(port), ((protocol, PortSet.single(port)),), left)
            found = shared(lambda have, row, want: have | row & want, found, rows, left)
            left = shared(lambda want, row: want & ~row, left, rows)
            if not any(left):
                break
        return found

    def segments(self, protocol: str, ports: PortSet) -> list[PortSet]:
        """Part some ports into sets that every filter treats alike, the largest set first."""
        filters = self._all_steps(protocol)
        edges = {low for low, _ in ports.ranges} | {high + 1 for _, high in ports.ranges}
        for steps in filters:
            for low, high, _ in steps.segments:
                edges |= {low, high + 1}
        kinds: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        for port, end in pairwise(sorted(edges)):
            if port in ports:
                kinds.setdefault(tuple(steps.at(port) for steps in filters), []).append((port, end - 1))
        return sorted((PortSet.of(spans) for spans in kinds.values()), key=lambda part: (-len(part), part.ranges))

    def sure_at(self, protocol: str, port: int) -> list[int]:
        """Tell for each node the others that it surely reaches on one port."""
        return self.sure.rows(_at(port), ((protocol, PortSet.single(port)),))

    def _all_steps(self, protocol: str) -> list[Steps]:
        """List the filters that treat some ports unlike others."""
        found: dict[int, Steps] = {}
        for way in self.hopeful_ways:
            for egress in (True, False):
                for groups in self.node_set.by_group_set:
                    steps = way.groups.steps(groups, protocol, egress=egress)
                    found[id(steps)] = steps
                for subnet in range(len(self.node_set.subnets)):
                    steps = way.subnet_steps(subnet, protocol, egress=egress)
                    found[id(steps)] = steps
        return [steps for steps in found.values() if not steps.is_constant]

    def open_ports(self, source: int, target: int, protocol: str) -> PortSet:
        """Tell exactly which ports are surely open from one node to another, by their indexes."""
        return self._ports((self.sure,), source, target, protocol)

    def possible_ports(self, source: int, target: int, protocol: str) -> PortSet:
        """Tell which ports are open or may be."""
        nodes = self.nodes
        if source != target and (nodes[source].interface is None or nodes[target].interface is None):
            return ALL
        return self._ports(self.hopeful_ways, source, target, protocol)

    def _ports(self, ways: Sequence[Filters], source: int, target: int, protocol: str) -> PortSet:
        if source == target:
            return NONE
        if self.nodes[source].value is None or self.nodes[target].value is None:
            return NONE
        if protocol != "all":
            return _union(way.ports(source, target, protocol) for way in ways)
        # Every protocol must pass by one and the same way.
        found = NONE
        for way in ways:
            common = ALL
            for name, _ in self.traffic(protocol, ALL):
                common &= way.ports(source, target, name)
            found |= common
        return found


def _union(sets: Iterable[PortSet]) -> PortSet:
    found = NONE
    for ports in sets:
        found |= ports
    return found


def build(
    snapshot: Snapshot,
    members: Sequence[Member],
    *,
    family: Family = Family.IPV4,
    client_ports: PortSet = CLIENT_PORTS,
) -> Matrix:
    """
    Make the matrix of some members; nothing is computed before it is asked for.

    Args:
        snapshot: what was read.
        members: the members with the interfaces that are judged.
        family: the address family of all packets.
        client_ports: the ports from which members dial; the way back must be open on all of them.
    """
    return Matrix(snapshot, tuple(members), family, client_ports, Nodes.of(members, family))


def _at(port: int) -> Callable[[Steps, PortSet], int]:
    def ask(steps: Steps, _: PortSet) -> int:
        return steps.at(port)

    return ask
