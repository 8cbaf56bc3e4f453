"""Everybody whom a change could let in: all interfaces that were read, members or not."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sgaudit.model import Instance, Member, Snapshot
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
        """The members with their judged interfaces, then every other interface by itself."""
        judged = {item.interface_id for member in self.context.matrix.members for item in member.interfaces}
        others = [item for name, item in self.context.snapshot.interfaces.items() if name not in judged]
        return (
            *self.context.matrix.members,
            *(
                Member(
                    Instance(item.interface_id, "", "", item.vpc_id, item.subnet_id, "", (item.interface_id,)),
                    (item,),
                )
                for item in others
            ),
        )

    def matrix(self, snapshot: Snapshot) -> Matrix:
        """Build the matrix of all of them by what a snapshot says; `snapshot` may be a simulated one."""
        known = snapshot.interfaces
        members = [
            Member(member.instance, tuple(known[item.interface_id] for item in member.interfaces))
            for member in self.members
        ]
        own = self.context.matrix
        return build(snapshot, members, family=own.family, client_ports=own.client_ports)

    @cached_property
    def strangers(self) -> Mapping[str, int]:
        """How many interfaces that are not judged carry each group."""
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
