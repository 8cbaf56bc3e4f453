"""Everybody whom a change could let in: all interfaces that were read, members or not."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sgaudit.model import Family, Instance, Interface, Member, Snapshot
from sgaudit.reach.matrix import Matrix, build

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgaudit.rules.context import Context


@dataclass(frozen=True)
class Population:
    """A matrix of all known interfaces; its nodes are not those of the cluster's own matrix."""

    context: Context

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """The members with all of their interfaces, judged or not, then everybody else."""
        ours: dict[str, list[Interface]] = {member.instance.instance_id: [] for member in self.context.matrix.members}
        others: dict[str, list[Interface]] = defaultdict(list)
        for item in self.context.snapshot.interfaces.values():
            found = ours.get(item.instance_id)
            if found is None:
                found = others[item.instance_id or item.interface_id]
            found.append(item)
        return (
            *(Member(it.instance, tuple(ours[it.instance.instance_id])) for it in self.context.matrix.members),
            *(Member(_anybody(name, found[0]), tuple(found)) for name, found in others.items()),
        )

    def matrix(self, snapshot: Snapshot, family: Family) -> Matrix:
        """Build the matrix of all of them by what a snapshot says; `snapshot` may be a simulated one."""
        known = snapshot.interfaces
        members = [
            Member(member.instance, tuple(known[item.interface_id] for item in member.interfaces))
            for member in self.members
        ]
        return build(snapshot, members, family=family, client_ports=self.context.matrix.client_ports)

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """The family of the cluster's matrix, and the other one where an interface has an address of it."""
        own = self.context.matrix.family
        other = next(family for family in Family if family is not own)
        used = any(item.address(other) for item in self.context.snapshot.interfaces.values())
        return (own, other) if used else (own,)

    @cached_property
    def judged(self) -> frozenset[str]:
        """The ids of the interfaces that requirements are about."""
        return frozenset(item.interface_id for member in self.context.matrix.members for item in member.interfaces)

    @cached_property
    def strangers(self) -> Mapping[str, int]:
        """How many interfaces of others than members carry each group."""
        found: dict[str, int] = defaultdict(int)
        for member in self.members[len(self.context.matrix.members) :]:
            for interface in member.interfaces:
                for group in interface.groups or ():
                    found[group] += 1
        return found

    def cost(self, holder: str, peer: str | None, others: int = 0) -> int:
        """
        Count the ordered pairs with a stranger that a permission lets in.

        Args:
            holder: the group that gets the permission.
            peer: the group that it admits; None for addresses of members.
            others: how many members' addresses it admits, where no group is named.
        """
        ours = self.context.matrix.node_set.by_group
        holders, strange_holders = ours.get(holder, 0).bit_count(), self.strangers.get(holder, 0)
        if peer is None:
            return strange_holders * others
        peers, strange_peers = ours.get(peer, 0).bit_count(), self.strangers.get(peer, 0)
        return (holders + strange_holders) * (peers + strange_peers) - holders * peers


def _anybody(name: str, interface: Interface) -> Instance:
    """Stand in for whatever has an interface, an instance or not."""
    return Instance(name, "", "", interface.vpc_id, interface.subnet_id, "", (interface.interface_id,))
