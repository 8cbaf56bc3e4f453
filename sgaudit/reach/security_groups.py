"""What the security groups of an interface let out and in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sgaudit.model import Cidr, GroupPeer, PrefixListPeer
from sgaudit.reach.steps import Steps

if TYPE_CHECKING:
    from sgaudit.model import Peer, Permission, Snapshot
    from sgaudit.ports import PortSet
    from sgaudit.reach.nodes import GroupSet, Nodes


def stale(peer: GroupPeer) -> bool:
    """Tell whether the group behind a reference is gone, or the peering that leads to it (VPC user guide)."""
    return peer.peering_status not in ("", "active")


@dataclass(frozen=True)
class GroupFilters:
    """
    The groups' answer for every set of groups, as functions from ports to nodes.

    Groups are stateful and allow only: the union of all permissions of all groups decides.
    """

    snapshot: Snapshot
    nodes: Nodes
    possible: bool
    """What could not be read counts as let through, instead of as not."""
    references: bool = True
    """Whether a group as peer matches; behind a middlebox it does not (VPC user guide)."""
    _known: dict[tuple[object, bool, str], Steps] = field(default_factory=dict, repr=False)

    def steps(self, groups: GroupSet, protocol: str, *, egress: bool) -> Steps:
        """Tell which nodes an interface with these groups can send to, or be reached from."""
        key = (groups, egress, protocol)
        found = self._known.get(key)
        if found is None:
            if groups is None:
                found = self._unread()
            else:
                parts = [self._group(group, protocol, egress=egress) for group in groups]
                found = Steps.any_of(parts) if parts else Steps()
            self._known[key] = found
        return found

    def _group(self, group_id: str, protocol: str, *, egress: bool) -> Steps:
        key = (group_id, egress, protocol)
        found = self._known.get(key)
        if found is None:
            group = (self.snapshot.security_groups or {}).get(group_id)
            if group is None:
                found = self._unread()
            else:
                found = Steps.union(
                    self._row(permission, protocol) for permission in (group.egress if egress else group.ingress)
                )
            self._known[key] = found
        return found

    def _unread(self) -> Steps:
        return Steps.constant(self.nodes.addressed if self.possible else 0)

    def _row(self, permission: Permission, protocol: str) -> tuple[PortSet, int]:
        ports = permission.admitted(protocol)
        return ports, self.matched(permission.peer) if ports else 0

    def matched(self, peer: Peer) -> int:
        """Tell the nodes whose address a peer stands for."""
        match peer:
            case Cidr():
                return self.nodes.within(peer)
            case GroupPeer():
                if not self.references or stale(peer):
                    return 0
                return self.nodes.by_group.get(peer.group_id, 0) & self.nodes.addressed | self._ungrouped
            case PrefixListPeer():
                entries = self.snapshot.prefix_lists.get(peer.prefix_list_id)
                if entries is None:
                    return self.nodes.addressed if self.possible else 0
                found = 0
                for entry in entries:
                    found |= self.nodes.within(entry)
                return found

    @property
    def _ungrouped(self) -> int:
        """Nodes whose groups are not known: any reference may mean them."""
        return self.nodes.by_group_set.get(None, 0) & self.nodes.addressed if self.possible else 0
