"""
Those who are no members, as nodes, so that groups and network ACLs are asked about them by the same filters.

Addresses that no rule tells apart are one node: the whole space of a family is cut at every block that some
rule names, and each range is stood for by its first address.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from sgaudit.model import Family, Instance, parse_address
from sgaudit.ports import ALL, PortSet
from sgaudit.reach.network_acls import AclFilters
from sgaudit.reach.nodes import Node, Nodes, bits_of
from sgaudit.reach.security_groups import GroupFilters
from sgaudit.reach.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sgaudit.model import Cidr, Interface, Snapshot
    from sgaudit.reach.nodes import GroupSet

NOBODY = Instance("", "", "", "", "", "", ())
"""The instance of an address of which nothing else is known."""
DIALLING_PORTS = PortSet.single(1, 65535)
"""A stranger dials from whichever port serves best; nobody can be dialled from port 0."""

Near = tuple[int, int]
"""The nodes that are surely in a subnet, and those that may be."""


def cut(family: Family, blocks: Iterable[Cidr]) -> tuple[tuple[int, int], ...]:
    """Part all addresses of a family into ranges that lie wholly inside or outside of each block."""
    edges = {0, 1 << family.bits}
    for block in blocks:
        if block.family is family:
            edges |= {block.first, block.last + 1}
    return tuple((start, end - 1) for start, end in pairwise(sorted(edges)))


def addresses(family: Family, ranges: Iterable[tuple[int, int]]) -> Nodes:
    """Make one node of each range."""
    return Nodes(family, tuple(Node(index, NOBODY, None, "", first) for index, (first, _) in enumerate(ranges)))


def meet(one: Steps, other: Steps) -> Steps:
    """Let pass what both let pass."""
    return Steps.join(
        (low, high, nodes & passed)
        for start, end, passed in one.segments
        for low, high, nodes in other.clip(PortSet(((start, end),)))
    )


@dataclass(frozen=True)
class Crowd:
    """Some strangers, and what the filters of members make of them."""

    snapshot: Snapshot
    nodes: Nodes
    near: Callable[[str, str], Near]
    """Tells who is in the subnet of this id and VPC id: network ACLs don't apply to them."""
    _borders: dict[tuple[str, str, str, bool], Steps] = field(default_factory=dict, repr=False)

    @cached_property
    def _groups(self) -> tuple[GroupFilters, GroupFilters]:
        return GroupFilters(self.snapshot, self.nodes, False), GroupFilters(self.snapshot, self.nodes, True)

    @cached_property
    def _acls(self) -> tuple[AclFilters, AclFilters]:
        return AclFilters(self.snapshot, self.nodes, False), AclFilters(self.snapshot, self.nodes, True)

    def groups(self, *, possible: bool) -> GroupFilters:
        """Give the groups' answers; what could not be read lets everybody in if `possible`, else nobody."""
        return self._groups[possible]

    def border(self, subnet_id: str, vpc_id: str, protocol: str, *, possible: bool) -> Steps:
        """
        Tell whom the network ACL of a subnet lets in, those inside the subnet included.

        A TCP connection needs an answer, so the ACL must let one out to some port at least: whoever attacks
        picks the port to dial from. For other protocols the first packet does the harm.
        """
        key = (subnet_id, vpc_id, protocol, possible)
        found = self._borders.get(key)
        if found is None:
            acls, subnet = self._acls[possible], (subnet_id, vpc_id)
            answered = self.nodes.addressed
            if protocol == "tcp":
                answered = acls.steps(subnet, protocol, egress=True).some(DIALLING_PORTS)
            near = self.near(subnet_id, vpc_id)[possible]
            found = self._borders[key] = Steps.join(
                (low, high, nodes & answered | near)
                for low, high, nodes in acls.steps(subnet, protocol, egress=False).clip(ALL)
            )
        return found

    def admitted(self, groups: GroupSet, subnet: tuple[str, str], protocol: str, *, possible: bool) -> Steps:
        """Tell for each port who gets through to an interface with these groups in this subnet (id, VPC id)."""
        passed = self._groups[possible].steps(groups, protocol, egress=False)
        return meet(passed, self.border(*subnet, protocol, possible=possible))

    def within(self, blocks: Iterable[Cidr]) -> int:
        """Tell who is in one of some blocks."""
        found = 0
        for block in blocks:
            found |= self.nodes.within(block)
        return found


def interfaces(snapshot: Snapshot, family: Family, found: Iterable[Interface]) -> Crowd:
    """Make a crowd of interfaces that belong to no member, one node for each of their addresses."""
    rows = [
        (parse_address(address)[1], interface.interface_id, interface, address)
        for interface in found
        for address in (interface.ipv4 if family is Family.IPV4 else interface.ipv6)
    ]
    rows.sort(key=lambda row: row[:2])
    nodes = Nodes(
        family,
        tuple(
            Node(index, snapshot.instances.get(interface.instance_id, NOBODY), interface, address, value)
            for index, (value, _, interface, address) in enumerate(rows)
        ),
    )

    def near(subnet_id: str, vpc_id: str) -> Near:
        inside = bits_of(
            node.index
            for node in nodes
            if subnet_id and node.interface and (node.interface.subnet_id, node.interface.vpc_id) == (subnet_id, vpc_id)
        )
        return inside, inside

    return Crowd(snapshot, nodes, near)
