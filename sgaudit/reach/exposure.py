"""
Who outside the cluster gets through to its members: exact sets of addresses and ports, of one family.

What counts is what really arrives: the union of the groups' permissions, the network ACL in its order, and
for the internet a public address and a route to an internet gateway. The literal 0.0.0.0/0 means nothing here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_address, summarize_address_range
from itertools import accumulate
from typing import TYPE_CHECKING

from sgaudit.model import Cidr, Family, GroupPeer, PrefixListPeer, RouteTarget, parse_address
from sgaudit.reach import strangers
from sgaudit.reach.nodes import indexes_of
from sgaudit.reach.routes import destinations, local_blocks, precedence, unreadable
from sgaudit.reach.strangers import Crowd, Near

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sgaudit.model import Interface, Member, Route, RouteTable, Snapshot
    from sgaudit.reach.nodes import GroupSet

_Key = tuple["GroupSet", str, str, bool, tuple[int, ...]]
"""The fields of a face, its groups in the order in which they were read."""


def _blocks(*texts: str) -> tuple[Cidr, ...]:
    return tuple(map(Cidr.parse, texts))


PRIVATE = {
    Family.IPV4: _blocks("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"),
    Family.IPV6: _blocks("fc00::/7"),
}
"""Addresses of private networks (RFC 1918, RFC 6598, RFC 4193)."""
NOT_ROUTED = _blocks("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3")
"""This host, loopback, link-local, multicast and reserved: nobody in the internet dials from there (RFC 6890)."""
GLOBAL_UNICAST = Cidr.parse("2000::/3")
"""All of IPv6 that is given out to the internet (RFC 4291, IANA IPv6 address space registry)."""
RUNNING = frozenset({"pending", "running"})


@dataclass(frozen=True, slots=True)
class Face:
    """What of a member's interface decides who gets through to it; interfaces with equal faces are alike."""

    groups: GroupSet
    subnet_id: str
    vpc_id: str
    public: bool
    """It has an address of the family that the internet can dial."""
    parts: tuple[int, ...]
    """To which of the given sets of members its instance belongs."""


@dataclass(frozen=True)
class Outside:
    """Everything of one family that can be asked about exposure. Make it with `build`."""

    snapshot: Snapshot
    family: Family
    members: tuple[Member, ...]
    ranges: tuple[tuple[int, int], ...]
    """All addresses, parted so that no rule tells two of one range apart: the nodes of `crowd`."""
    faces: Mapping[Face, Sequence[str]]
    """The ids of the instances behind each face; one with two such interfaces comes twice."""
    parts: tuple[frozenset[str], ...]
    """The sets of instances that faces were told to tell apart."""
    _leads: dict[str, Near] = field(default_factory=dict, repr=False)
    _locals: dict[tuple[str, bool], int] = field(default_factory=dict, repr=False)

    @cached_property
    def by_group(self) -> Mapping[str, Mapping[Face, Sequence[str]]]:
        """
        The faces behind each group, one for all that differ in their other groups only.

        The empty id stands for groups that are not known.
        """
        found: dict[str, dict[tuple[str, str, bool, tuple[int, ...]], list[str]]] = defaultdict(dict)
        for face, instance_ids in self.faces.items():
            key = (face.subnet_id, face.vpc_id, face.public, face.parts)
            for group_id in ("",) if face.groups is None else face.groups:
                found[group_id].setdefault(key, []).extend(instance_ids)
        return {
            group_id: {Face((group_id,), *key): instance_ids for key, instance_ids in places.items()}
            for group_id, places in found.items()
        }

    @cached_property
    def crowd(self) -> Crowd:
        """All addresses, one node a range. Groups as peers mean none of them."""
        return Crowd(self.snapshot, strangers.addresses(self.family, self.ranges), self._near)

    @cached_property
    def others(self) -> Crowd:
        """Interfaces of other running machines that carry a group which some member's group names as peer."""
        snapshot = self.snapshot
        ours = {member.instance.instance_id for member in self.members}
        wanted = {
            row.peer.group_id
            for group_id in {group for face in self.faces for group in face.groups or ()}
            if (group := (snapshot.security_groups or {}).get(group_id)) is not None
            for row in group.ingress
            if isinstance(row.peer, GroupPeer)
        }
        found = [
            interface
            for interface in snapshot.interfaces.values()
            if interface.instance_id not in ours
            and not wanted.isdisjoint(interface.groups or ())
            and self._dials(interface)
        ]
        return strangers.interfaces(snapshot, self.family, found)

    def _dials(self, interface: Interface) -> bool:
        instance = self.snapshot.instances.get(interface.instance_id)
        if instance is not None:
            return instance.state in RUNNING
        return interface.status != "available" and not interface.requester_managed

    def _near(self, subnet_id: str, vpc_id: str) -> Near:
        if not subnet_id:
            return 0, 0
        subnet = (self.snapshot.subnets or {}).get(subnet_id)
        if subnet is not None:
            inside = self.crowd.within(subnet.cidrs)
            return inside, inside
        return 0, self.local(vpc_id) or self.crowd.nodes.addressed

    @cached_property
    def world(self) -> int:
        """The addresses of the internet, wherever they are used."""
        if self.family is Family.IPV6:
            return self.crowd.nodes.within(GLOBAL_UNICAST)
        return self.crowd.nodes.everyone & ~self.crowd.within((*PRIVATE[self.family], *NOT_ROUTED))

    @cached_property
    def private(self) -> int:
        """The addresses of private networks."""
        return self.crowd.within(PRIVATE[self.family])

    def local(self, vpc_id: str, *, peers: bool = True) -> int:
        """Tell the blocks of a VPC and, if `peers`, of those that are peered with it."""
        key = (vpc_id, peers)
        found = self._locals.get(key)
        if found is None:
            found = self._locals[key] = self.crowd.within(_local_blocks(self.snapshot, vpc_id, peers=peers))
        return found

    @cached_property
    def home(self) -> int:
        """The addresses of the subnets in which members are, as far as those were read."""
        found = 0
        for subnet_id, vpc_id in {(face.subnet_id, face.vpc_id) for face in self.faces}:
            found |= self._near(subnet_id, vpc_id)[0]
        return found

    def internet(self, subnet_id: str, vpc_id: str) -> Near:
        """Tell the addresses to which a subnet's routes lead by an internet gateway: surely, and maybe."""
        table = self.snapshot.route_table(subnet_id, vpc_id)
        if table is None:
            return 0, self.crowd.nodes.everyone
        found = self._leads.get(table.route_table_id)
        if found is None:
            found = self._leads[table.route_table_id] = self._lead(table)
        return found

    def _lead(self, table: RouteTable) -> Near:
        surely = maybe = 0
        left = self.crowd.nodes.everyone
        doubtful = any(unreadable(self.snapshot, route) for route in table.routes)
        ranked: dict[tuple[int, bool], list[tuple[Cidr, Route]]] = defaultdict(list)
        for block, route in _destinations(self.snapshot, table):
            if block.family is self.family:
                ranked[precedence((block, route))].append((block, route))
        for rank in sorted(ranked, reverse=True):
            taken = 0
            for block, route in ranked[rank]:
                inside = self.crowd.nodes.within(block) & left
                taken |= inside
                if _to_internet(route):
                    surely |= inside
                if _to_internet(route) or (route.target is RouteTarget.MIDDLEBOX and route.state == "active"):
                    maybe |= inside
            left &= ~taken
        return (0, self.crowd.nodes.everyone) if doubtful else (surely, maybe)

    @cached_property
    def _owned(self) -> tuple[list[int], list[int], list[int]]:
        """The addresses of members as disjoint ranges: their starts, their ends, and how many lie before each."""
        merged: list[tuple[int, int]] = []
        for first, last in sorted(_owned(self.snapshot, self.members, self.family)):
            if merged and first <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        sums = [0, *accumulate(last - first + 1 for first, last in merged)]
        return [first for first, _ in merged], [last for _, last in merged], sums

    def _owned_below(self, address: int) -> int:
        starts, ends, sums = self._owned
        place = bisect_right(starts, address - 1)
        return sums[place] - (max(0, ends[place - 1] - address + 1) if place else 0)

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(
            last - first + 1 - self._owned_below(last + 1) + self._owned_below(first) for first, last in self.ranges
        )

    @cached_property
    def inhabited(self) -> int:
        """The ranges in which there is an address that is no member's."""
        return sum(1 << index for index, size in enumerate(self._sizes) if size)

    def count(self, ranges: int) -> int:
        """Count the addresses in some ranges, those of members left out."""
        return sum(self._sizes[index] for index in indexes_of(ranges))

    def blocks(self, ranges: int) -> Iterator[str]:
        """Write some ranges as the fewest CIDR blocks."""
        start = end = -2
        for index in indexes_of(ranges):
            first, last = self.ranges[index]
            if first != end + 1:
                yield from self._summary(start, end)
                start = first
            end = last
        yield from self._summary(start, end)

    def _summary(self, first: int, last: int) -> Iterator[str]:
        if first >= 0:
            make = ip_address(0 if self.family is Family.IPV4 else 1 << 64).__class__
            yield from (str(block) for block in summarize_address_range(make(first), make(last)))


def _to_internet(route: Route) -> bool:
    egress_only = route.target_id.startswith("eigw-")
    return route.target is RouteTarget.INTERNET_GATEWAY and route.state == "active" and not egress_only


def _destinations(snapshot: Snapshot, table: RouteTable) -> Iterator[tuple[Cidr, Route]]:
    for route in table.routes:
        if route.target is not RouteTarget.GATEWAY_ENDPOINT:
            yield from ((block, route) for block in destinations(snapshot, route))


def _local_blocks(snapshot: Snapshot, vpc_id: str, *, peers: bool) -> Iterator[Cidr]:
    yield from local_blocks(snapshot, vpc_id)
    for peering in (snapshot.peerings or {}).values() if peers else ():
        sides = (peering.requester, peering.accepter)
        if peering.status == "active" and any(side.vpc_id == vpc_id for side in sides):
            for side in sides:
                yield from side.cidrs
                other = (snapshot.vpcs or {}).get(side.vpc_id)
                yield from other.cidrs if other else ()


def _owned(snapshot: Snapshot, members: Iterable[Member], family: Family) -> Iterator[tuple[int, int]]:
    for member in members:
        for interface_id in member.instance.interface_ids:
            interface = snapshot.interfaces.get(interface_id)
            if interface is None:
                continue
            own = (*interface.ipv4, interface.public_ip) if family is Family.IPV4 else interface.ipv6
            for text in own:
                if text:
                    value = _number(text)
                    yield value, value
            yield from ((block.first, block.last) for block in interface.prefixes if block.family is family)


def _number(address: str) -> int:
    """Read an address that was read before; written out because it is asked for every member."""
    if ":" in address:
        return parse_address(address)[1]
    one, two, three, four = address.split(".")
    return int(one) << 24 | int(two) << 16 | int(three) << 8 | int(four)


def _faces(
    snapshot: Snapshot, members: Iterable[Member], family: Family, parts: Sequence[frozenset[str]]
) -> dict[Face, list[str]]:
    found: dict[_Key, list[str]] = defaultdict(list)
    for member in members:
        instance = member.instance
        belongs = tuple(index for index, part in enumerate(parts) if instance.instance_id in part)
        for interface_id in instance.interface_ids:
            interface = snapshot.interfaces.get(interface_id)
            if interface is None or not (interface.ipv4 if family is Family.IPV4 else interface.ipv6):
                continue
            public = bool(interface.public_ip) if family is Family.IPV4 else _dialled(interface.ipv6)
            key = (interface.groups, interface.subnet_id, interface.vpc_id, public, belongs)
            found[key].append(instance.instance_id)
    faces: dict[Face, list[str]] = defaultdict(list)
    for (groups, subnet_id, vpc_id, public, belongs), instance_ids in found.items():
        ordered = None if groups is None else tuple(sorted(set(groups)))
        faces[Face(ordered, subnet_id, vpc_id, public, belongs)] += instance_ids
    return faces


def _dialled(ipv6: Iterable[str]) -> bool:
    return any(parse_address(text)[1] in GLOBAL_UNICAST for text in ipv6)


def _named(snapshot: Snapshot, faces: Iterable[Face], family: Family) -> Iterator[Cidr]:
    """Go through all blocks on which an answer can turn."""
    yield from (*PRIVATE[family], *NOT_ROUTED, GLOBAL_UNICAST)
    faces = tuple(faces)
    for group_id in {group for face in faces for group in face.groups or ()}:
        group = (snapshot.security_groups or {}).get(group_id)
        for row in group.ingress if group else ():
            if isinstance(row.peer, Cidr):
                yield row.peer
            elif isinstance(row.peer, PrefixListPeer):
                yield from snapshot.prefix_lists.get(row.peer.prefix_list_id, ())
    for vpc_id in {face.vpc_id for face in faces}:
        yield from _local_blocks(snapshot, vpc_id, peers=True)
    for subnet_id, vpc_id in {(face.subnet_id, face.vpc_id) for face in faces}:
        subnet = (snapshot.subnets or {}).get(subnet_id)
        yield from subnet.cidrs if subnet else ()
        acl = snapshot.network_acl(subnet_id, vpc_id)
        yield from (entry.cidr for entry in acl.entries) if acl else ()
        table = snapshot.route_table(subnet_id, vpc_id)
        yield from (block for block, _ in _destinations(snapshot, table)) if table else ()


def build(
    snapshot: Snapshot,
    members: Sequence[Member],
    family: Family,
    *,
    cuts: Iterable[Cidr] = (),
    parts: Sequence[frozenset[str]] = (),
) -> Outside:
    """
    Prepare the questions about one family.

    Args:
        snapshot: what was read.
        members: the cluster; all of their interfaces count, not only those that are judged.
        family: the address family.
        cuts: blocks beside those of the snapshot that shall not straddle two ranges.
        parts: sets of instance ids that faces are to tell apart.
    """
    faces = _faces(snapshot, members, family, parts)
    ranges = strangers.cut(family, (*_named(snapshot, faces, family), *cuts))
    return Outside(snapshot, family, tuple(members), ranges, faces, tuple(parts))
