"""The nodes of a matrix and the sets of nodes that AWS's rules speak of."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from socket import AF_INET, AF_INET6, inet_pton
from typing import TYPE_CHECKING

from sgaudit.model import Cidr, Family

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sgaudit.model import Instance, Interface, Member

GroupSet = tuple[str, ...] | None
"""The ids of the groups on an interface, sorted; None when they are not known."""


@dataclass(frozen=True, slots=True)
class Node:
    """A judged interface of a member, or a member of which no such interface could be seen."""

    index: int
    """Its bit in every set of nodes."""
    instance: Instance
    interface: Interface | None
    address: str
    """The private address that peers dial; empty when it has none of the family."""
    value: int | None
    """The same as a number."""

    @property
    def label(self) -> str:
        """What a person would call it."""
        return self.instance.name or self.instance.instance_id


@dataclass(frozen=True)
class Nodes:
    """All nodes in the order of their addresses, with the sets that the layers are made of."""

    family: Family
    items: tuple[Node, ...]

    @classmethod
    def of(cls, members: Sequence[Member], family: Family) -> Nodes:
        """Give every judged interface of all members its number."""
        # The snapshot has checked that these are addresses; this reads them ten times faster than ipaddress.
        kind = AF_INET if family is Family.IPV4 else AF_INET6
        rows: list[tuple[int | None, str, Instance, Interface | None, str]] = []
        for member in members:
            for interface in member.interfaces:
                address = interface.address(family) or ""
                value = int.from_bytes(inet_pton(kind, address)) if address else None
                rows.append((value, interface.interface_id, member.instance, interface, address))
            if not member.interfaces:
                rows.append((None, member.instance.instance_id, member.instance, None, ""))
        beyond = 1 << family.bits
        rows.sort(key=lambda row: (beyond if row[0] is None else row[0], row[1]))
        return cls(
            family,
            tuple(
                Node(index, instance, interface, address, value)
                for index, (value, _, instance, interface, address) in enumerate(rows)
            ),
        )

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.items)

    @cached_property
    def everyone(self) -> int:
        """All nodes."""
        return (1 << len(self.items)) - 1

    @cached_property
    def unseen(self) -> int:
        """Members of which no judged interface could be seen."""
        return sum(1 << node.index for node in self.items if node.interface is None)

    @cached_property
    def addressed(self) -> int:
        """The nodes that have an address of the family: they come first."""
        return (1 << len(self._values)) - 1

    @cached_property
    def _values(self) -> list[int]:
        return [node.value for node in self.items if node.value is not None]

    def within(self, cidr: Cidr) -> int:
        """Tell which nodes have their address in a block."""
        if cidr.family is not self.family:
            return 0
        low = bisect_left(self._values, cidr.first)
        high = bisect_right(self._values, cidr.last)
        return (1 << high) - (1 << low)

    @cached_property
    def group_set_of(self) -> tuple[GroupSet, ...]:
        """The groups on each node."""
        found: list[GroupSet] = []
        known: dict[tuple[str, ...], tuple[str, ...]] = {}
        for node in self.items:
            groups = node.interface.groups if node.interface else None
            if groups is None:
                found.append(None)
            elif groups in known:
                found.append(known[groups])
            else:
                ordered = tuple(sorted(set(groups)))
                known[groups] = ordered
                found.append(ordered)
        return tuple(found)

    @cached_property
    def by_group_set(self) -> Mapping[GroupSet, int]:
        """Nodes by the groups that they carry, unseen ones left out."""
        bits: dict[GroupSet, list[int]] = defaultdict(list)
        for node, groups in zip(self.items, self.group_set_of, strict=True):
            if node.interface is not None:
                bits[groups].append(node.index)
        return {groups: bits_of(indexes) for groups, indexes in bits.items()}

    @cached_property
    def by_group(self) -> Mapping[str, int]:
        """Nodes that carry a group, by its id."""
        carriers: dict[str, int] = defaultdict(int)
        for groups, nodes in self.by_group_set.items():
            for group in groups or ():
                carriers[group] |= nodes
        return carriers

    @cached_property
    def subnets(self) -> tuple[tuple[str, str], ...]:
        """Subnet id and VPC id of each subnet that holds a node."""
        return tuple(
            sorted({(node.interface.subnet_id, node.interface.vpc_id) for node in self.items if node.interface})
        )

    @cached_property
    def subnet_index_of(self) -> tuple[int, ...]:
        """The position in `subnets` of each node's subnet; -1 for an unseen node."""
        position = {key: index for index, key in enumerate(self.subnets)}
        return tuple(
            position[node.interface.subnet_id, node.interface.vpc_id] if node.interface else -1 for node in self.items
        )

    @cached_property
    def by_subnet(self) -> tuple[int, ...]:
        """Nodes by their subnet's position in `subnets`."""
        bits: list[list[int]] = [[] for _ in self.subnets]
        for node, subnet in zip(self.items, self.subnet_index_of, strict=True):
            if subnet >= 0:
                bits[subnet].append(node.index)
        return tuple(bits_of(indexes) for indexes in bits)

    @cached_property
    def by_vpc(self) -> Mapping[str, int]:
        """Nodes by their VPC."""
        found: dict[str, int] = defaultdict(int)
        for (_, vpc_id), nodes in zip(self.subnets, self.by_subnet, strict=True):
            found[vpc_id] |= nodes
        return found

    @cached_property
    def by_instance(self) -> Mapping[str, int]:
        """Nodes by their instance."""
        found: dict[str, int] = defaultdict(int)
        for node in self.items:
            found[node.instance.instance_id] |= 1 << node.index
        return found

    @cached_property
    def one_each(self) -> bool:
        """Whether every member has exactly one node."""
        return len(self.by_instance) == len(self.items)

    def of_instances(self, instance_ids: frozenset[str]) -> int:
        """Tell the nodes of some members."""
        if len(instance_ids) == len(self.by_instance) and all(i in instance_ids for i in self.by_instance):
            return self.everyone
        return bits_of(node.index for node in self.items if node.instance.instance_id in instance_ids)

    def pick(self, nodes: int) -> Iterator[Node]:
        """Go through the nodes of a set."""
        return (self.items[index] for index in indexes_of(nodes))


def bits_of(indexes: Iterator[int] | Sequence[int]) -> int:
    """Make a set of nodes from their numbers, in time linear in the highest number."""
    data = bytearray()
    for index in indexes:
        byte = index >> 3
        if byte >= len(data):
            data.extend(bytes(byte + 1 - len(data)))
        data[byte] |= 1 << (index & 7)
    return int.from_bytes(data, "little")


def indexes_of(nodes: int) -> Iterator[int]:
    """Go through the numbers of the nodes of a set, lowest first."""
    if nodes.bit_count() * 8 > nodes.bit_length():
        for index, bit in enumerate(reversed(f"{nodes:b}")):
            if bit == "1":
                yield index
        return
    while nodes:
        low = nodes & -nodes
        yield low.bit_length() - 1
        nodes ^= low


def columns(rows: Sequence[int], size: int) -> Sequence[tuple[str, ...]]:
    """
    Turn rows of bits into columns: for each of `size` nodes one tuple of `0` and `1`, an item a row.

    Done on text because it is the one transposition of big numbers that runs at the speed of C.
    """
    if not rows:
        return [()] * size
    width = f"0{size}b"
    return list(zip(*(format(row, width)[::-1] for row in rows), strict=True))


def shared(merge: Callable[..., int], *rows: Sequence[int]) -> list[int]:
    """
    Merge lists of rows place by place, once for each combination that occurs.

    Nodes of one class hold the very same row, so that a combination is told by identity; the results
    are shared in the same way.
    """
    known: dict[tuple[int, ...], int] = {}
    found: list[int] = []
    for operands in zip(*rows, strict=True):
        key = tuple(map(id, operands))
        row = known.get(key)
        if row is None:
            row = known[key] = merge(*operands)
        found.append(row)
    return found
