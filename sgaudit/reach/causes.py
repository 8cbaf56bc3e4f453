"""
Why pairs are not open: every layer that stops them, not the first one.

Each layer's answer depends on one end's groups or subnet alone, so a cause is found for all sources and
targets behind that filter at once, as blocks of sources times targets.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from sgaudit.ports import ALL, PortSet
from sgaudit.reach.filters import client_traffic
from sgaudit.reach.verdict import count_pairs, iterate_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sgaudit.reach.filters import Filters
    from sgaudit.reach.matrix import Matrix
    from sgaudit.reach.nodes import GroupSet

Block = tuple[int, int]
"""Sources and targets: every pair of one with the other, those within one instance left out."""


class Layer(StrEnum):
    """A stage of a path, there and back, at which a packet can be stopped."""

    ADDRESS = "address"
    """An end has no address of the family."""
    INTERFACE = "interface"
    """An end's interface could not be seen."""
    EGRESS = "egress"
    """The source's groups."""
    ACL_OUT = "acl-out"
    """The network ACL of the source's subnet."""
    ROUTE = "route"
    """The route table of the source's subnet."""
    ACL_IN = "acl-in"
    """The network ACL of the target's subnet."""
    INGRESS = "ingress"
    """The target's groups."""
    RETURN_OUT = "return-out"
    """The network ACL of the target's subnet, for the answer."""
    RETURN_ROUTE = "return-route"
    """The route table of the target's subnet, for the answer."""
    RETURN_IN = "return-in"
    """The network ACL of the source's subnet, for the answer."""


class Doubt(StrEnum):
    """Why a layer's answer is not known."""

    NONE = ""
    UNREAD = "unread"
    """What the holder says could not be read."""
    MIDDLEBOX = "middlebox"
    """Routes lead through an appliance."""
    ELSEWHERE = "elsewhere"
    """Routes lead to something whose own routes sgaudit does not read, such as a transit gateway."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One filter that stops pairs, or of which it can't be known whether it does."""

    layer: Layer
    groups: GroupSet
    """The holder, for `EGRESS` and `INGRESS`."""
    subnets: tuple[tuple[str, str], ...]
    """Subnet and VPC ids: the holder, for ACLs and routes."""
    protocol: str
    missing: PortSet
    """What does not pass: destination ports, for the answer those of the client."""
    partly: bool
    """Some of the ports that were asked about do pass this filter."""
    blocks: tuple[Block, ...]
    """Disjoint."""
    doubt: Doubt = Doubt.NONE
    lost_reference: bool = False
    """A group as peer would admit it, but the path leads through a middlebox."""

    @property
    def certain(self) -> bool:
        """Whether it is sure that the pairs are stopped here."""
        return self.doubt is Doubt.NONE

    def sources(self) -> int:
        """Tell all sources."""
        found = 0
        for sources, _ in self.blocks:
            found |= sources
        return found

    def targets(self) -> int:
        """Tell all targets."""
        found = 0
        for _, targets in self.blocks:
            found |= targets
        return found

    def count(self, matrix: Matrix) -> int:
        """Count its ordered pairs."""
        return sum(count_pairs(matrix.node_set, sources, targets) for sources, targets in self.blocks)

    def examples(self, matrix: Matrix) -> Iterator[tuple[int, int]]:
        """Go through its ordered pairs, as indexes of nodes."""
        for sources, targets in self.blocks:
            yield from iterate_pairs(matrix.node_set, sources, targets)


@dataclass(frozen=True, slots=True)
class _Key:
    layer: Layer
    groups: GroupSet
    holder: str
    missing: PortSet
    partly: bool
    doubt: Doubt
    lost_reference: bool = False


class _Search:
    """Collects the causes for one question."""

    def __init__(self, matrix: Matrix, protocol: str, ports: PortSet, sources: int, targets: int) -> None:
        self.matrix = matrix
        self.nodes = matrix.node_set
        self.protocol = str(protocol)
        self.ports = ports if protocol != "all" else ALL
        self.traffic = matrix.traffic(protocol, ports)
        self.sources = sources & self.nodes.addressed
        self.targets = targets & self.nodes.addressed
        self.all_sources, self.all_targets = sources, targets
        self.found: dict[_Key, list[Block]] = defaultdict(list)
        self.holders: dict[_Key, dict[tuple[str, str], None]] = defaultdict(dict)

    def add(self, key: _Key, block: Block, subnet: int | None = None) -> None:
        if not count_pairs(self.nodes, *block):
            return
        self.found[key].append(block)
        if subnet is not None:
            self.holders[key][self.nodes.subnets[subnet]] = None

    def causes(self) -> list[Cause]:
        return [
            Cause(
                key.layer,
                key.groups,
                tuple(self.holders[key]),
                self.protocol,
                key.missing,
                key.partly,
                tuple(blocks),
                key.doubt,
                key.lost_reference,
            )
            for key, blocks in self.found.items()
        ]

    def ends(self) -> None:
        """Find members that can't be seen, or have no address."""
        nodes = self.nodes
        bare = nodes.everyone & ~nodes.addressed & ~nodes.unseen
        for layer, lost, doubt in (
            (Layer.ADDRESS, bare, Doubt.NONE),
            (Layer.INTERFACE, nodes.unseen, Doubt.UNREAD),
        ):
            key = _Key(layer, None, "", self.ports, partly=False, doubt=doubt)
            self.add(key, (self.all_sources & lost, self.all_targets))
            self.add(key, (self.all_sources & ~lost, self.all_targets & lost))

    def groups(self) -> None:
        """Find what the security groups of either end don't admit."""
        possible = self.matrix.hopeful_ways[0]
        for groups, carriers in self.nodes.by_group_set.items():
            for layer, egress, here, there in (
                (Layer.EGRESS, True, carriers & self.sources, self.targets),
                (Layer.INGRESS, False, carriers & self.targets, self.sources),
            ):
                if not here or not there:
                    continue
                rest = there
                for missing, lost, partly in self._lost(possible, groups, there, egress=egress):
                    self._add_groups(layer, groups, missing, here, lost, partly=partly)
                    rest &= ~lost
                for missing, lost, _ in self._lost(self.matrix.sure, groups, rest, egress=egress):
                    self._add_groups(layer, groups, missing, here, lost, partly=True, doubt=Doubt.UNREAD)

    def _add_groups(
        self,
        layer: Layer,
        groups: GroupSet,
        missing: PortSet,
        here: int,
        lost: int,
        *,
        partly: bool,
        doubt: Doubt = Doubt.NONE,
        lost_reference: bool = False,
    ) -> None:
        block = (here, lost) if layer is Layer.EGRESS else (lost, here)
        self.add(_Key(layer, groups, "", missing, partly, doubt, lost_reference), block)

    def _lost(self, way: Filters, groups: GroupSet, among: int, *, egress: bool) -> Iterable[tuple[PortSet, int, bool]]:
        """Sort the other ends by what of the traffic the groups don't let pass."""
        if self.protocol != "all":
            steps = way.groups.steps(groups, self.protocol, egress=egress)
            for missing, lost in steps.missing(self.ports, among).items():
                yield missing, lost, missing != self.ports
            return
        every, some = among, 0
        for protocol, ports in self.traffic:
            steps = way.groups.steps(groups, protocol, egress=egress)
            every &= steps.every(ports, among)
            some |= steps.some(ports) & among
        for lost, partly in ((among & ~every & ~some, False), (among & ~every & some, True)):
            if lost:
                yield ALL, lost, partly

    def lost_references(self) -> None:
        """Find pairs that only a group as peer would admit, on a path on which it does not count."""
        if len(self.matrix.hopeful_ways) == 1:
            return
        kept, bare = self.matrix.hopeful_ways
        for subnet, lead in enumerate(self.matrix.routes.leads):
            # Where the way may also lead past the middlebox, it is not sure that the reference is lost.
            receivers = lead.middlebox & ~lead.unknown & self.targets
            senders = self.nodes.by_subnet[subnet] & self.sources
            if not senders or not receivers:
                continue
            for groups, carriers in self.nodes.by_group_set.items():
                for layer, here, there in (
                    (Layer.EGRESS, carriers & senders, receivers),
                    (Layer.INGRESS, carriers & receivers, senders),
                ):
                    self._lost_behind(kept, bare, layer, groups, (here, there))

    def _lost_behind(self, kept: Filters, bare: Filters, layer: Layer, groups: GroupSet, ends: Block) -> None:
        here, there = ends
        if not here:
            return
        egress = layer is Layer.EGRESS
        rest = there
        for _, lost, _ in self._lost(kept, groups, there, egress=egress):
            rest &= ~lost
        for missing, lost, partly in self._lost(bare, groups, rest, egress=egress):
            self._add_groups(layer, groups, missing, here, lost, partly=partly, lost_reference=True)

    def acls(self) -> None:
        """Find what the network ACLs of either subnet stop, there and on the way back."""
        for subnet, inside in enumerate(self.nodes.by_subnet):
            near = self.matrix.sure.neighbours(subnet)
            senders, receivers = inside & self.sources, inside & self.targets
            away_targets, away_sources = self.targets & ~near, self.sources & ~near
            for layer, egress, answer, here, there in (
                (Layer.ACL_OUT, True, False, senders, away_targets),
                (Layer.RETURN_IN, False, True, senders, away_targets),
                (Layer.ACL_IN, False, False, receivers, away_sources),
                (Layer.RETURN_OUT, True, True, receivers, away_sources),
            ):
                if here and there:
                    self._acl(subnet, layer, here, there, egress=egress, answer=answer)

    def _acl(self, subnet: int, layer: Layer, here: int, there: int, *, egress: bool, answer: bool) -> None:
        subnet_id, vpc_id = self.nodes.subnets[subnet]
        acl = self.matrix.snapshot.network_acl(subnet_id, vpc_id)
        outward = layer in (Layer.ACL_OUT, Layer.RETURN_IN)
        if acl is None:
            key = _Key(layer, None, subnet_id, self.ports, partly=True, doubt=Doubt.UNREAD)
            self.add(key, (here, there) if outward else (there, here), subnet)
            return
        for protocol, ports in self.traffic:
            asked = client_traffic(protocol, self.matrix.client_ports) if answer else ports
            steps = self.matrix.sure.subnet_steps(subnet, protocol, egress=egress)
            for missing, lost in steps.missing(asked, there).items():
                key = _Key(layer, None, acl.acl_id, missing, missing != asked, Doubt.NONE)
                self.add(key, (here, lost) if outward else (lost, here), subnet)
                there &= ~lost if self.protocol == "all" else -1

    def routes(self) -> None:
        """Find where routes don't lead to the other end, or lead out of sight."""
        for subnet, lead in enumerate(self.matrix.routes.leads):
            inside = self.nodes.by_subnet[subnet]
            subnet_id, vpc_id = self.nodes.subnets[subnet]
            table = self.matrix.snapshot.route_table(subnet_id, vpc_id)
            holder = table.route_table_id if table else subnet_id
            unknown = Doubt.ELSEWHERE if table else Doubt.UNREAD
            for doubt, others in (
                (Doubt.NONE, self.nodes.addressed & ~lead.reached),
                (Doubt.MIDDLEBOX, lead.middlebox),
                (unknown, lead.unknown),
            ):
                there = _Key(Layer.ROUTE, None, holder, self.ports, partly=False, doubt=doubt)
                self.add(there, (inside & self.sources, others & self.targets), subnet)
                back = _Key(Layer.RETURN_ROUTE, None, holder, self.ports, partly=False, doubt=doubt)
                self.add(back, (others & self.sources, inside & self.targets), subnet)


def find(matrix: Matrix, protocol: str, ports: PortSet, sources: int, targets: int) -> list[Cause]:
    """
    Tell every filter that keeps a pair from being open on every port, or may.

    Args:
        matrix: where to look.
        protocol: as for `Matrix.judge`.
        ports: the ports asked about.
        sources: a set of nodes.
        targets: a set of nodes.
    """
    search = _Search(matrix, protocol, ports, sources, targets)
    search.ends()
    search.groups()
    search.lost_references()
    search.acls()
    search.routes()
    return search.causes()
