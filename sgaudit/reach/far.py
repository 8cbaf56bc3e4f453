"""
The addresses of a peer outside the cluster, and where the routes of a subnet take packets to them.

The addresses are parted into ranges of which no rule tells two addresses apart; a range is a node.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sgaudit.model import Cidr, Family, GroupPeer, Interface, PrefixListPeer, Route, RouteTarget, address_text
from sgaudit.reach.exposure import NOT_ROUTED, PRIVATE
from sgaudit.reach.nodes import Node, Nodes, bits_of
from sgaudit.reach.routes import destinations, local_blocks, precedence, unreadable
from sgaudit.reach.security_groups import GroupFilters, stale
from sgaudit.reach.strangers import NOBODY, cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sgaudit.model import Peer, RouteTable, Snapshot
    from sgaudit.reach.matrix import Matrix

UNKNOWN_INTERFACE = Interface("", "", "", "", "", "interface", None, 0, None, (), ())
"""Stands at an address that may belong to an interface which was not read."""


@dataclass(frozen=True, slots=True)
class Way:
    """What becomes of packets from one subnet to the nodes of a peer."""

    sure: int
    maybe: int
    """Those that may be reached, the sure ones included."""
    world: int
    """Those that are reached by an internet gateway, or can dial in by one only."""


@dataclass(frozen=True)
class NamedFilters(GroupFilters):
    """Filters that know the peer by name too: a permission for its group or list means all of its addresses."""

    peer: Peer | None = None

    def matched(self, peer: Peer) -> int:
        """Tell the nodes whose address a peer stands for."""
        match peer, self.peer:
            case (GroupPeer(), GroupPeer()) if peer.group_id == self.peer.group_id and not stale(peer):
                return self.nodes.addressed
            case (PrefixListPeer(), PrefixListPeer()) if peer == self.peer:
                return self.nodes.addressed
            case _:
                return super().matched(peer)


@dataclass(frozen=True)
class Far:
    """A peer as nodes. Make it with `of`."""

    snapshot: Snapshot
    peer: Peer
    nodes: Nodes
    blocks: tuple[Cidr, ...]
    """Its addresses; all of the family where they are not known."""
    loose: bool
    """Its addresses are some of the nodes, and it is not known which: all must pass, and one passing is doubt."""

    @classmethod
    def of(cls, matrix: Matrix, peer: Peer) -> Far:
        """Part the addresses of a block or a list, or for a group of which no interface is known all addresses."""
        snapshot, family = matrix.snapshot, matrix.family
        blocks: tuple[Cidr, ...] = ()
        if isinstance(peer, Cidr):
            family, blocks = peer.family, (peer,)
        elif isinstance(peer, PrefixListPeer):
            entries = snapshot.prefix_lists.get(peer.prefix_list_id, ())
            blocks = tuple(entry for entry in entries if entry.family is family)
            if entries and not blocks:
                family, blocks = entries[0].family, tuple(entries)
        loose = not blocks
        if loose:
            blocks = (Cidr(family, 0, 0),)
        nodes = Nodes(family, tuple(_nodes(matrix, family, blocks)))
        return cls(snapshot, peer, nodes, blocks, loose)

    def filters(self, *, possible: bool) -> NamedFilters:
        """Give the members' groups' answers about the peer."""
        named = self.peer if self.loose else None
        return NamedFilters(self.snapshot, self.nodes, possible, peer=named)

    def within(self, blocks: Iterable[Cidr]) -> int:
        """Tell which nodes are in one of some blocks."""
        found = 0
        for block in blocks:
            found |= self.nodes.within(block)
        return found

    def near(self, subnet_id: str, vpc_id: str) -> tuple[int, int]:
        """Tell which nodes are surely in a subnet, and which may be: inside one no ACL and no route is asked."""
        subnet = (self.snapshot.subnets or {}).get(subnet_id)
        if subnet is not None:
            inside = self.within(subnet.cidrs)
            return (0 if self.loose else inside), inside
        return 0, self.within(local_blocks(self.snapshot, vpc_id)) or self.nodes.everyone

    def space(self, vpc_id: str) -> int:
        """Tell the nodes that ACLs and routes must let pass: those of a group of unknown place are in its VPC."""
        if not isinstance(self.peer, GroupPeer):
            return self.nodes.everyone
        group = (self.snapshot.security_groups or {}).get(self.peer.group_id)
        home = group.vpc_id if group else vpc_id
        return self.within(local_blocks(self.snapshot, home)) or self.nodes.everyone

    @cached_property
    def unrouted(self) -> int:
        """The private and reserved parts of blocks that reach beyond them: whoever writes those means the internet."""
        apart = (*PRIVATE[self.nodes.family], *(NOT_ROUTED if self.nodes.family is Family.IPV4 else ()))
        found = 0
        for block in self.blocks:
            if not any(block.first in one and block.last in one for one in apart):
                found |= self.nodes.within(block) & self.within(apart)
        return 0 if self.loose else found

    @cached_property
    def private(self) -> int:
        """The nodes to which no internet gateway leads."""
        return self.within(PRIVATE[self.nodes.family])

    def way(self, subnet_id: str, vpc_id: str, *, outbound: bool) -> Way:
        """
        Tell where the routes of a subnet lead packets to the peer, or the answers to it.

        A route that ends at an active gateway counts as leading to the addresses that it names; what comes
        behind a transit or virtual gateway, or a middlebox, is not known.
        """
        near, maybe_near = self.near(subnet_id, vpc_id)
        table = self.snapshot.route_table(subnet_id, vpc_id)
        if table is None:
            return Way(near, self.nodes.everyone, 0)
        for route in table.routes if self.loose and isinstance(self.peer, PrefixListPeer) else ():
            if route.prefix_list_id == str(self.peer):
                whole = self._outcome(route, self.nodes.everyone, vpc_id, outbound=outbound)
                passed = whole.get("passed", 0)
                return Way(passed, passed | whole.get("doubtful", 0), 0)
        rows: dict[tuple[int, bool], list[tuple[int, Route]]] = defaultdict(list)
        for block, route in routes(self.snapshot, table, vpc_id):
            if block.family is self.nodes.family:
                rows[precedence((block, route))].append((self.nodes.within(block), route))
        sure = maybe = world = 0
        left = self.nodes.everyone
        for rank in sorted(rows, reverse=True):
            ends: dict[str, int] = defaultdict(int)
            for inside, route in rows[rank]:
                for word, found in self._outcome(route, inside & left, vpc_id, outbound=outbound).items():
                    ends[word] |= found
            sure |= ends["passed"] & ~ends["doubtful"] & ~ends["dropped"]
            maybe |= ends["passed"] | ends["doubtful"]
            world |= ends["world"]
            for inside, _ in rows[rank]:
                left &= ~inside
        if not any(route.target is RouteTarget.LOCAL for group in rows.values() for _, route in group):
            maybe |= left
        if any(unreadable(self.snapshot, route) for route in table.routes):
            sure, maybe = 0, self.nodes.everyone
        return Way(sure | near, maybe | sure | maybe_near, world & ~near)

    def _outcome(self, route: Route, inside: int, vpc_id: str, *, outbound: bool) -> Mapping[str, int]:
        if route.state != "active":
            return {"dropped" if route.state == "blackhole" else "doubtful": inside}
        private = inside & self.private
        ends: Mapping[str, int] = {"doubtful": inside}
        match route.target:
            case RouteTarget.LOCAL:
                ends = {"passed": inside}
            case RouteTarget.PEERING:
                ends = self._over_peering(route, inside, vpc_id)
            case RouteTarget.GATEWAY_ENDPOINT:
                ends = {"passed" if outbound else "dropped": inside}
            case RouteTarget.NAT_GATEWAY if outbound:
                ends = {"passed": inside & ~private, "doubtful": private}
            case RouteTarget.NAT_GATEWAY:
                ends = {"doubtful": inside, "world": inside & ~private}
            case RouteTarget.INTERNET_GATEWAY if route.target_id.startswith("eigw-"):
                ends = {"passed" if outbound else "dropped": inside}
            case RouteTarget.INTERNET_GATEWAY:
                ends = {"passed": inside & ~private, "world": inside & ~private, "dropped": private}
            case _:
                pass
        return ends

    def _over_peering(self, route: Route, inside: int, vpc_id: str) -> Mapping[str, int]:
        peering = (self.snapshot.peerings or {}).get(route.target_id)
        if peering is None:
            return {"doubtful": inside}
        if peering.status != "active":
            return {"dropped": inside}
        beyond = 0
        for side in (peering.requester, peering.accepter):
            if side.vpc_id != vpc_id:
                other = (self.snapshot.vpcs or {}).get(side.vpc_id)
                beyond |= self.within((*side.cidrs, *(other.cidrs if other else ())))
        return {"passed": inside & beyond, "doubtful": inside & ~beyond}


def routes(snapshot: Snapshot, table: RouteTable, vpc_id: str) -> Iterator[tuple[Cidr, Route]]:
    """Go through the routes of a table by destination, the local ones that every table has included."""
    taken: set[Cidr] = set()
    for route in table.routes:
        for block in destinations(snapshot, route):
            if route.destination is not None:
                taken.add(block)
            yield block, route
    vpc = (snapshot.vpcs or {}).get(vpc_id)
    for block in vpc.cidrs if vpc else ():
        if block not in taken:
            yield block, Route(block, "", RouteTarget.LOCAL, "local", "active")


def _nodes(matrix: Matrix, family: Family, blocks: tuple[Cidr, ...]) -> Iterator[Node]:
    named = list(blocks)
    named += (block for block in _named(matrix) if block.family is family)
    found = _known(matrix.snapshot, blocks)
    named += (Cidr(family, address, family.bits) for address in found)
    local = [block for _, vpc_id in matrix.node_set.subnets for block in local_blocks(matrix.snapshot, vpc_id)]
    count = 0
    for first, _ in cut(family, named):
        if not any(first in block for block in blocks):
            continue
        interface = found.get(first)
        hidden = any(first in block for block in (*PRIVATE[family], *local) if block.family is family)
        if interface is UNKNOWN_INTERFACE and not hidden:
            interface = None
        yield Node(count, NOBODY, interface, "", first)
        count += 1


def _known(snapshot: Snapshot, blocks: tuple[Cidr, ...]) -> dict[int, Interface]:
    """
    Tell for each block of one address the interface that has it, since a group as peer may mean that one.

    A group stands for the interfaces that carry it and never for a larger block, in which others may come up.
    """
    single = [block.first for block in blocks if block.prefix == block.family.bits]
    addresses = {address_text(blocks[0].family, value): value for value in single}
    holders: dict[int, list[Interface]] = {value: [] for value in single}
    for interface in snapshot.interfaces.values() if single else ():
        for text in (*interface.ipv4, *interface.ipv6):
            if text in addresses:
                holders[addresses[text]].append(interface)
    # Two VPCs may have the same address; which one is meant is not known then.
    return {value: found[0] if len(found) == 1 else UNKNOWN_INTERFACE for value, found in holders.items()}


def _named(matrix: Matrix) -> Iterator[Cidr]:
    """Go through all blocks on which an answer can turn."""
    snapshot, nodes = matrix.snapshot, matrix.node_set
    for family in Family:
        yield from PRIVATE[family]
    yield from NOT_ROUTED
    for group_id in nodes.by_group:
        group = (snapshot.security_groups or {}).get(group_id)
        for row in (*group.egress, *group.ingress) if group else ():
            if isinstance(row.peer, Cidr):
                yield row.peer
            elif isinstance(row.peer, PrefixListPeer):
                yield from snapshot.prefix_lists.get(row.peer.prefix_list_id, ())
    for subnet_id, vpc_id in nodes.subnets:
        subnet = (snapshot.subnets or {}).get(subnet_id)
        yield from subnet.cidrs if subnet else ()
        acl = snapshot.network_acl(subnet_id, vpc_id)
        yield from (entry.cidr for entry in acl.entries) if acl else ()
        table = snapshot.route_table(subnet_id, vpc_id)
        yield from (block for block, _ in routes(snapshot, table, vpc_id)) if table else ()
    for vpc_id in (*nodes.by_vpc, *(group.vpc_id for group in (snapshot.security_groups or {}).values())):
        yield from local_blocks(snapshot, vpc_id)
    for peering in (snapshot.peerings or {}).values():
        yield from (*peering.requester.cidrs, *peering.accepter.cidrs)
    for vpc in (snapshot.vpcs or {}).values():
        yield from vpc.cidrs


def interfaces_of(matrix: Matrix, peer: Peer) -> list[Interface]:
    """List the interfaces outside the cluster that are a peer by its group or its one address, an entry an address."""
    ours = {member.instance.instance_id for member in matrix.members}
    alone = ""
    if isinstance(peer, Cidr) and peer.prefix == peer.family.bits and peer.family is matrix.family:
        alone = address_text(peer.family, peer.first)
    elif not isinstance(peer, GroupPeer):
        return []
    found: list[Interface] = []
    for interface in matrix.snapshot.interfaces.values():
        own = interface.ipv4 if matrix.family is Family.IPV4 else interface.ipv6
        meant = alone in own if alone else str(peer) in (interface.groups or ())
        if not meant or _idle(matrix, interface):
            continue
        if interface.instance_id in ours:
            if alone:
                return []
            continue
        for address in (alone,) if alone else own:
            if matrix.family is Family.IPV4:
                found.append(replace(interface, ipv4=(address,)))
            else:
                found.append(replace(interface, ipv6=(address,)))
    # The blocks of two VPCs may overlap, and then an address does not tell which interface is meant.
    return found if not alone or len(found) == 1 else []


def _idle(matrix: Matrix, interface: Interface) -> bool:
    instance = matrix.snapshot.instances.get(interface.instance_id)
    return interface.status == "available" or (instance is not None and instance.state not in ("pending", "running"))


def without_public_address(nodes: Nodes, family: Family) -> int:
    """Tell the nodes that no internet gateway can translate."""
    if family is Family.IPV6:
        return 0
    return bits_of([node.index for node in nodes if node.interface is not None and not node.interface.public_ip])
