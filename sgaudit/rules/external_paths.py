"""How the rules about peers outside the cluster speak of them; two rules share it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgaudit.model import Cidr, GroupPeer
from sgaudit.reach.external_values import Place, Side
from sgaudit.rules import words
from sgaudit.rules.finding import Resource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.policy.model import ExternalRequirement
    from sgaudit.reach.external_values import Answer, Gap
    from sgaudit.rules.context import Context

MOST_LISTED = 20
NEAR_ACLS = (Place.ACL, Place.ACL_ANSWER)
FAR_ACLS = (Place.PEER_ACL, Place.PEER_ACL_ANSWER)
ROUTES = (Place.ROUTE, Place.PEER_ROUTE)
ANSWERS = (Place.ACL_ANSWER, Place.PEER_ACL_ANSWER)
FAR = (Place.PEER_GROUPS, *FAR_ACLS, Place.PEER_ROUTE)


@dataclass(frozen=True, slots=True)
class Path:
    """One filter that fails a need towards a peer, and everything needed to speak of it."""

    context: Context
    requirement: ExternalRequirement
    answer: Answer
    gap: Gap

    @property
    def peer(self) -> str:
        """Name the peer."""
        peer = self.requirement.peer
        if isinstance(peer, GroupPeer):
            return f"{self.requirement.peer_name} behind {words.group_label(self.context.snapshot, peer.group_id)}"
        return f"{self.requirement.peer_name} at {peer_text(peer)}"

    @property
    def traffic(self) -> str:
        """Say what does not pass."""
        protocol = str(self.requirement.protocol)
        return "EFA traffic" if protocol == "efa" else words.traffic(protocol, self.gap.missing)

    @property
    def members(self) -> str:
        """Name the members that are concerned."""
        return words.members_label(self.context.matrix, self.gap.members)

    @property
    def count(self) -> int:
        """Count them."""
        nodes = self.context.matrix.node_set
        if nodes.one_each:
            return self.gap.members.bit_count()
        return sum(1 for own in nodes.by_instance.values() if own & self.gap.members)

    @property
    def outward(self) -> bool:
        """Whether the filter stops what leaves its holder: the member's side dials, or the peer's is dialled."""
        leaves = self.requirement.outbound is not (self.gap.place in FAR)
        return leaves is not (self.gap.place in ANSWERS)

    @property
    def direction(self) -> str:
        """Say `egress` or `ingress`, as seen from the filter's holder."""
        return "egress" if self.outward else "ingress"

    @property
    def other_end(self) -> str:
        """Name who is at the other end of the filter."""
        return self.members if self.gap.place in FAR else self.peer

    @property
    def resource(self) -> Resource:
        """Tell the resource that decides."""
        snapshot, gap = self.context.snapshot, self.gap
        subnet = gap.subnets[0] if gap.subnets else ("", "")
        if gap.place in (Place.GROUPS, Place.PEER_GROUPS):
            return Resource("security-group", self.holding_group)
        if gap.place in (*NEAR_ACLS, *FAR_ACLS):
            acl = snapshot.network_acl(*subnet)
            return Resource("network-acl", acl.acl_id) if acl else Resource("subnet", subnet[0])
        if gap.place in ROUTES:
            table = snapshot.route_table(*subnet)
            return Resource("route-table", table.route_table_id) if table else Resource("subnet", subnet[0])
        if gap.place is Place.PUBLIC_ADDRESS:
            table = snapshot.route_table(*subnet)
            return Resource("subnet", subnet[0]) if table is None else Resource("route-table", table.route_table_id)
        first = next(self.context.matrix.node_set.pick(gap.members))
        return Resource("instance", first.instance.instance_id)

    @property
    def holding_group(self) -> str:
        """Name the group in which a permission serves most members."""
        peer = self.requirement.peer
        groups = self.gap.groups or ()
        if self.gap.place is Place.PEER_GROUPS:
            named = peer.group_id if isinstance(peer, GroupPeer) else ""
            return named if named in groups or not groups else groups[0]
        carriers = self.context.matrix.node_set.by_group
        efa = sorted(groups)
        return max(efa, key=lambda group: (carriers[group].bit_count(), group), default="")

    def evidence(self) -> dict[str, object]:
        """Give the facts that decided, JSON-ready."""
        found = words.members_of(self.context.matrix, self.gap.members)
        return {
            "needs": [self.requirement.need],
            "policies": list(self.requirement.policies),
            "peer": str(self.requirement.peer),
            "peer_name": self.requirement.peer_name,
            "outbound": self.requirement.outbound,
            "place": str(self.gap.place),
            "direction": self.direction,
            "protocol": str(self.requirement.protocol),
            "missing": str(self.gap.missing),
            "members": [node.instance.instance_id for node in found[:MOST_LISTED]],
            "security_groups": list(self.gap.groups or ()),
            "subnets": [subnet_id for subnet_id, _ in self.gap.subnets],
            "peer_side": str(self.answer.side),
        }

    @property
    def identity(self) -> tuple[str, ...]:
        """Tell it from other findings about the same resource."""
        requirement, gap = self.requirement, self.gap
        way = "out" if requirement.outbound else "in"
        named = (str(gap.place), str(requirement.protocol), str(gap.missing), way, str(requirement.peer))
        return (requirement.need, *named, *(gap.groups or ()))

    def unread_side(self) -> str:
        """Say what of the peer was not judged, as a sentence; nothing where all of it was."""
        if self.answer.side is Side.UNREAD:
            return " The peer's own side was not read and may stop it too."
        if self.answer.side is Side.GROUP:
            return " Of the peer only its group was read: no interface that carries it is in the snapshot."
        return ""


def peer_text(peer: object) -> str:
    """Write a peer as people do: a block of one address as that address."""
    text = str(peer)
    alone = isinstance(peer, Cidr) and peer.prefix == peer.family.bits
    return text.rpartition("/")[0] if alone else text


def paths(context: Context, *, certain: bool) -> Iterator[Path]:
    """Go through the filters that surely fail a need towards a peer, or may."""
    for judged in context.external:
        closed = judged.answer.closed
        for gap in judged.answer.gaps:
            if gap.certain is certain and (certain or gap.members & ~closed):
                yield Path(context, judged.requirement, judged.answer, gap)
