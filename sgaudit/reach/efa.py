"""
Who reaches whom over the Elastic Fabric Adapter.

EFA traffic is neither IPv4 nor IPv6. Of all permissions only those for every protocol whose peer is a
security group admit it, as egress of the source and as ingress of the target, and it stays inside one
availability zone of one VPC (EC2 user guide, Elastic Fabric Adapter). Interfaces with the same groups in
the same place are one kind, and a set of kinds is a whole number with one bit a kind.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from sgaudit.model import ALL_PROTOCOLS, GroupPeer
from sgaudit.reach.nodes import bits_of, columns, indexes_of
from sgaudit.reach.security_groups import stale
from sgaudit.reach.verdict import Verdicts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgaudit.model import Interface, Permission, Snapshot
    from sgaudit.reach.matrix import Matrix
    from sgaudit.reach.nodes import GroupSet

INTERFACE_TYPES = ("efa", "efa-only")

Profile = tuple[int, ...]
"""The kinds of a member's EFA interfaces, by their numbers."""


@dataclass(frozen=True, slots=True)
class Kind:
    """EFA interfaces that no permission tells apart."""

    groups: GroupSet
    vpc_id: str
    zone: str
    """The availability zone; empty when it was not read."""
    subnet_id: str = ""
    """Set only where the zone was not read: those in one subnet are in one zone."""

    @property
    def place(self) -> tuple[str, str, str]:
        """Where it is: what is in the same place is surely in the same zone of the same VPC."""
        return self.vpc_id, self.zone, self.subnet_id


@dataclass(frozen=True, slots=True)
class Links:
    """For each kind sets of kinds in the same place: those it may send to, those that let it in, and both."""

    near: tuple[int, ...]
    out: tuple[int, ...]
    into: tuple[int, ...]

    both: tuple[int, ...]


def admitted_group(permission: Permission) -> str | None:
    """Tell the group with which a permission admits EFA traffic; None when it admits none."""
    peer = permission.peer
    if permission.protocol != ALL_PROTOCOLS or not isinstance(peer, GroupPeer) or stale(peer):
        return None
    return peer.group_id


def admitted_groups(snapshot: Snapshot, group_id: str, *, egress: bool) -> frozenset[str] | None:
    """Tell the groups with which a group admits EFA traffic in one direction; None when it was not read."""
    group = (snapshot.security_groups or {}).get(group_id)
    if group is None:
        return None
    found = (admitted_group(permission) for permission in (group.egress if egress else group.ingress))
    return frozenset(peer for peer in found if peer is not None)


@dataclass(frozen=True)
class Fabric:
    """The EFA interfaces of all members, judged or not, and what passes between them. Build it with `of`."""

    matrix: Matrix
    kinds: tuple[Kind, ...]
    profiles: Mapping[Profile, int]
    """The nodes of the members that have EFA interfaces, by the kinds of these."""
    bare: int
    """The nodes of the members that have none."""
    unseen: int
    """The nodes of the members of which no interface could be seen."""
    _known: dict[int, int] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, matrix: Matrix) -> Fabric:
        """Find the EFA interfaces of the members of a matrix."""
        numbers: dict[Kind, int] = {}
        seen: dict[tuple[object, ...], int] = {}
        by_instance: dict[str, Profile] = {}
        indexes: dict[Profile | None, list[int]] = defaultdict(list)
        for node in matrix.nodes:
            instance = node.instance
            profile = by_instance.get(instance.instance_id)
            if profile is None:
                found: set[int] = set()
                for interface_id in instance.interface_ids:
                    interface = matrix.snapshot.interfaces[interface_id]
                    if interface.interface_type in INTERFACE_TYPES:
                        key = (interface.groups, interface.subnet_id, interface.availability_zone)
                        if key not in seen:
                            seen[key] = numbers.setdefault(_kind(interface), len(numbers))
                        found.add(seen[key])
                profile = by_instance[instance.instance_id] = tuple(sorted(found))
            indexes[profile if instance.interface_ids else None].append(node.index)
        unseen, bare = bits_of(indexes.pop(None, [])), bits_of(indexes.pop((), []))
        return cls(
            matrix,
            tuple(numbers),
            {profile: bits_of(found) for profile, found in indexes.items() if profile is not None},
            bare,
            unseen,
        )

    @cached_property
    def sure(self) -> Links:
        """What is known to pass."""
        return self._links(possible=False)

    @cached_property
    def possible(self) -> Links:
        """What may pass."""
        return self._links(possible=True)

    @cached_property
    def members_of(self) -> tuple[int, ...]:
        """The nodes of the members that have an interface of each kind."""
        found = [0] * len(self.kinds)
        for profile, nodes in self.profiles.items():
            for kind in profile:
                found[kind] |= nodes
        return tuple(found)

    def nodes_of(self, kinds: int) -> int:
        """Tell the nodes of the members that have an interface of one of some kinds."""
        found = self._known.get(kinds)
        if found is None:
            found = 0
            for kind in indexes_of(kinds):
                found |= self.members_of[kind]
            self._known[kinds] = found
        return found

    def reached(self, profile: Profile, *, possible: bool) -> int:
        """Tell the nodes of the members that those with a profile surely reach, or may."""
        links = self.possible if possible else self.sure
        kinds = 0
        for kind in profile:
            kinds |= links.both[kind]
        return self.nodes_of(kinds) | (self.unseen if possible else 0)

    def judge(self, sources: int, targets: int) -> Verdicts:
        """Judge all pairs of two sets of nodes, each of which stands for its member."""
        opened = [0] * len(self.matrix.nodes)
        hopeful = [0] * len(self.matrix.nodes)
        for profile, nodes in self.profiles.items():
            sure, maybe = self.reached(profile, possible=False), self.reached(profile, possible=True)
            for index in indexes_of(nodes):
                opened[index], hopeful[index] = sure, maybe
        for index in indexes_of(self.unseen):
            hopeful[index] = self.matrix.node_set.everyone & ~self.bare
        return Verdicts.of(self.matrix.node_set, sources, targets, opened, hopeful)

    def _links(self, *, possible: bool) -> Links:
        near = self._near(possible=possible)
        out = [self._admitted(kind, egress=True, possible=possible) for kind in self.kinds]
        lets_in = [self._admitted(kind, egress=False, possible=possible) for kind in self.kinds]
        into = (bits_of([row for row, bit in enumerate(column) if bit == "1"]) for column in columns(lets_in, len(out)))
        ways = [(there & place, back & place) for there, back, place in zip(out, into, near, strict=True)]
        return Links(
            near,
            tuple(there for there, _ in ways),
            tuple(back for _, back in ways),
            tuple(there & back for there, back in ways),
        )

    def _near(self, *, possible: bool) -> tuple[int, ...]:
        by_place: dict[tuple[str, str, str], int] = defaultdict(int)
        by_vpc: dict[str, int] = defaultdict(int)
        homeless: dict[str, int] = defaultdict(int)
        for number, kind in enumerate(self.kinds):
            by_place[kind.place] |= 1 << number
            by_vpc[kind.vpc_id] |= 1 << number
            if not kind.zone:
                homeless[kind.vpc_id] |= 1 << number
        if not possible:
            return tuple(by_place[kind.place] for kind in self.kinds)
        return tuple(
            by_place[kind.place] | homeless[kind.vpc_id] if kind.zone else by_vpc[kind.vpc_id] for kind in self.kinds
        )

    def _admitted(self, kind: Kind, *, egress: bool, possible: bool) -> int:
        """Tell the kinds, wherever they are, that the groups of a kind let out to or in from."""
        everything = (1 << len(self.kinds)) - 1 if possible else 0
        if kind.groups is None:
            return everything
        found = 0
        for group_id in kind.groups:
            peers = self.admitted(group_id, egress=egress)
            if peers is None:
                found |= everything
                continue
            for peer in peers:
                found |= self.carriers.get(peer, 0)
            if peers and possible:
                found |= self._ungrouped
        return found

    def admitted(self, group_id: str, *, egress: bool) -> frozenset[str] | None:
        """Tell the groups with which a group admits EFA traffic in one direction; None when it was not read."""
        key = (group_id, egress)
        if key not in self._peers_of:
            self._peers_of[key] = admitted_groups(self.matrix.snapshot, group_id, egress=egress)
        return self._peers_of[key]

    @cached_property
    def _peers_of(self) -> dict[tuple[str, bool], frozenset[str] | None]:
        return {}

    @cached_property
    def carriers(self) -> Mapping[str, int]:
        """The kinds that carry a group, by its id."""
        found: dict[str, int] = defaultdict(int)
        for number, kind in enumerate(self.kinds):
            for group_id in kind.groups or ():
                found[group_id] |= 1 << number
        return found

    @cached_property
    def _ungrouped(self) -> int:
        return bits_of([number for number, kind in enumerate(self.kinds) if kind.groups is None])


def _kind(interface: Interface) -> Kind:
    return Kind(
        None if interface.groups is None else tuple(sorted(set(interface.groups))),
        interface.vpc_id,
        interface.availability_zone,
        "" if interface.availability_zone else interface.subnet_id,
    )
