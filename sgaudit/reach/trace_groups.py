"""The hops at which security groups are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.model import Cidr, GroupPeer, Permission, PrefixListPeer
from sgaudit.ports import PortSet
from sgaudit.reach.causes import Layer
from sgaudit.reach.filters import EVERY_OTHER_PROTOCOL
from sgaudit.reach.security_groups import GroupFilters, stale
from sgaudit.reach.trace_values import Blocker, Code, Decision, Effect, Hop, Miss, Thing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgaudit.model import Peer
    from sgaudit.reach.matrix import Matrix
    from sgaudit.reach.nodes import Node

NEAREST = (
    Miss.LOST,
    Miss.STALE,
    Miss.NOT_CARRIED,
    Miss.NOT_LISTED,
    Miss.ADDRESS,
    Miss.FAMILY,
    Miss.PORTS,
    Miss.PROTOCOL,
)
"""What tells more about why something does not pass comes first."""


class GroupHop:
    """What the groups of one end say to the other end."""

    def __init__(
        self, matrix: Matrix, ends: tuple[Node, Node], protocol: str, asked: PortSet, *, egress: bool, references: bool
    ) -> None:
        self.snapshot, self.family = matrix.snapshot, matrix.family
        self.holder, self.other = ends
        self.groups = matrix.node_set.group_set_of[self.holder.index]
        # Only an all-protocol permission admits the protocols that no rule names, and it admits all others too.
        self.protocol = protocol if protocol != "all" else EVERY_OTHER_PROTOCOL
        self.asked = asked
        self.egress = egress
        self.sure = GroupFilters(matrix.snapshot, matrix.node_set, possible=False, references=references)
        self.perhaps = GroupFilters(matrix.snapshot, matrix.node_set, possible=True, references=references)
        self.kept = GroupFilters(matrix.snapshot, matrix.node_set, possible=False, references=True)

    def hop(self) -> Hop:
        """Ask every permission of every group."""
        decisions = list(self._decisions())
        passes = _ports_of(decisions, Effect.ALLOWS)
        may = _ports_of(decisions, Effect.UNKNOWN) | passes
        missing = self.asked - passes
        close = self._near_misses(missing) if missing else []
        return Hop(
            layer=Layer.EGRESS if self.egress else Layer.INGRESS,
            resource=self.interface,
            near_source=self.egress,
            passes=passes,
            may_pass=may,
            decisions=(*decisions, *close),
            blockers=tuple(self._blockers(decisions, close, passes, may)),
        )

    @property
    def interface(self) -> Thing:
        """The interface that carries the groups."""
        interface = self.holder.interface
        return Thing("network-interface", interface.interface_id if interface else "")

    def _permissions(self) -> Iterator[tuple[Thing, Permission]]:
        for group_id in self.groups or ():
            group = (self.snapshot.security_groups or {}).get(group_id)
            if group is not None:
                for permission in group.egress if self.egress else group.ingress:
                    yield Thing("security-group", group_id), permission

    def _decisions(self) -> Iterator[Decision]:
        if self.groups is None:
            yield Decision(self.interface, None, Effect.UNKNOWN, self.asked)
        for group_id in self.groups or ():
            if group_id not in (self.snapshot.security_groups or {}):
                yield Decision(Thing("security-group", group_id), None, Effect.UNKNOWN, self.asked)
        for holder, permission in self._permissions():
            admitted = permission.admitted(self.protocol) & self.asked
            if not admitted:
                continue
            if self._matches(self.sure, permission.peer):
                yield Decision(holder, permission, Effect.ALLOWS, admitted)
            elif self._matches(self.perhaps, permission.peer):
                yield Decision(holder, permission, Effect.UNKNOWN, admitted)

    def _decides(self, permission: Permission) -> bool:
        return bool(permission.admitted(self.protocol) & self.asked) and self._matches(self.perhaps, permission.peer)

    def _matches(self, filters: GroupFilters, peer: Peer) -> bool:
        return bool(filters.matched(peer) >> self.other.index & 1)

    def _near_misses(self, missing: PortSet) -> list[Decision]:
        """List the permissions that would let something missing pass but for the fewest reasons."""
        found = [
            Decision(holder, permission, Effect.MISSES, permission.admitted(self.protocol) & missing, misses)
            for holder, permission in self._permissions()
            if not self._decides(permission) and (misses := tuple(self._misses(permission, missing)))
        ]
        fewest = min((len(item.misses) for item in found), default=0)
        return sorted(
            (item for item in found if len(item.misses) == fewest), key=lambda item: NEAREST.index(item.misses[-1])
        )

    def _misses(self, permission: Permission, missing: PortSet) -> Iterator[Miss]:
        if not permission.admitted(self.protocol):
            yield Miss.PROTOCOL
        elif not permission.admitted(self.protocol) & missing:
            yield Miss.PORTS
        peer = permission.peer
        if self._matches(self.perhaps, peer):
            return
        match peer:
            case Cidr():
                yield Miss.ADDRESS if peer.family is self.family else Miss.FAMILY
            case PrefixListPeer():
                yield Miss.NOT_LISTED
            case GroupPeer() if stale(peer):
                yield Miss.STALE
            case GroupPeer():
                yield Miss.LOST if self._matches(self.kept, peer) else Miss.NOT_CARRIED

    def _blockers(
        self, decisions: list[Decision], close: list[Decision], passes: PortSet, may: PortSet
    ) -> Iterator[Blocker]:
        layer = Layer.EGRESS if self.egress else Layer.INGRESS
        missing = self.asked - may
        for miss, code in ((Miss.LOST, Code.SG_REFERENCE_LOST), (Miss.STALE, Code.SG_REFERENCE_STALE)):
            for item in close:
                if item.misses == (miss,) and (ports := item.ports & missing):
                    yield Blocker(code, layer, item.holder, ports)
                    missing -= ports
        if missing:
            code = Code.SG_EGRESS_MISSING if self.egress else Code.SG_INGRESS_MISSING
            yield Blocker(code, layer, self._best_holder(), missing)
        doubtful = (may - passes) & self.asked
        for item in decisions:
            if item.effect is Effect.UNKNOWN and (ports := item.ports & doubtful):
                yield Blocker(Code.NOT_READ, layer, self._unread(item), ports)
                doubtful -= ports

    def _best_holder(self) -> Thing:
        """Name the group in which a permission would serve: one that both ends carry, else the first."""
        if not self.groups:
            return self.interface
        theirs = (self.other.interface.groups if self.other.interface else None) or ()
        return Thing("security-group", next((group for group in self.groups if group in theirs), self.groups[0]))

    def _unread(self, item: Decision) -> Thing:
        if not isinstance(item.rule, Permission):
            return item.holder
        if isinstance(item.rule.peer, PrefixListPeer):
            return Thing("prefix-list", item.rule.peer.prefix_list_id)
        return Thing("network-interface", self.other.interface.interface_id if self.other.interface else "")


def _ports_of(decisions: Sequence[Decision], effect: Effect) -> PortSet:
    return PortSet.of(span for decision in decisions if decision.effect is effect for span in decision.ports.ranges)
