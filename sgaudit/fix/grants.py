"""The permissions that fill the gaps of security groups, by strategy."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sgaudit.fix import cover
from sgaudit.fix.plan import Strategy
from sgaudit.fix.population import Population
from sgaudit.model import Cidr, Family, GroupPeer, PrefixListPeer
from sgaudit.ports import PortSet
from sgaudit.rules.ownership import DEFAULT_GROUP, group_owner
from sgaudit.rules.quota_nearly_used import GROUPS as GROUPS_ON_AN_INTERFACE
from sgaudit.rules.quota_nearly_used import PERMISSIONS, count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sgaudit.fix.gaps import GroupGap
    from sgaudit.model import Interface, Peer, Snapshot
    from sgaudit.rules.context import Context

MOST_GROUPS_ON_AN_INTERFACE = 16
"""As far as AWS raises the quota."""
NEW_GROUP = "new group"
"""Stands for the id of the group that the plan creates."""
NEW_LIST = "new prefix list"
"""Stands for the id of the prefix list that the plan creates."""


@dataclass(frozen=True, slots=True)
class Grant:
    """Permissions to add to one group, in one direction, for one protocol."""

    holder: str
    egress: bool
    protocol: str
    ports: PortSet
    peers: tuple[Peer, ...]
    findings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """What one strategy would do about the security groups."""

    strategy: Strategy
    grants: tuple[Grant, ...]
    exact: bool
    cost: int
    """Ordered pairs with interfaces outside the cluster that it lets in, as far as they are known."""
    attach: tuple[str, ...] = ()
    """Ids of the interfaces that get the new group."""
    entries: tuple[Cidr, ...] = ()
    """Of the new prefix list."""

    @property
    def steps(self) -> int:
        """How many operations it takes."""
        calls = len({(grant.holder, grant.egress) for grant in self.grants})
        return calls + (2 + len(self.attach) if self.attach else 0) + (1 if self.entries else 0)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a strategy can't be used here."""

    strategy: Strategy
    reason: str


@dataclass(frozen=True)
class Desk:
    """What the strategies look at."""

    context: Context
    population: Population
    gaps: tuple[GroupGap, ...]
    blocks: tuple[Cidr, ...] = ()
    """CIDR blocks that the user gave, for the strategy `cidr`."""
    widen: bool = False
    """Cover the ports between those that are missing where that takes fewer permissions."""
    present: Snapshot | None = None
    """What is there while permissions are added, for quotas; None: what the context has."""
    _known: dict[int, tuple[Cidr, ...]] = field(default_factory=dict, repr=False)

    def propose(self, strategy: Strategy) -> Proposal | Refusal:
        """Work out one strategy."""
        makers: dict[Strategy, Callable[[], Proposal | str]] = {
            Strategy.SELF: self._self,
            Strategy.PEERS: self._peers,
            Strategy.CLUSTER_GROUP: self._cluster_group,
            Strategy.PREFIX_LIST: self._prefix_list,
            Strategy.CIDR: self._cidr,
        }
        made = makers[strategy]()
        if isinstance(made, str):
            return Refusal(strategy, made)
        over = self._over_quota(made)
        return Refusal(strategy, over) if over else made

    def _over_quota(self, proposal: Proposal) -> str:
        """Say which quota a proposal would exceed; the count is that of `rules.quota_nearly_used`."""
        known = (self.present or self.context.snapshot).security_groups or {}
        added: dict[tuple[str, bool], dict[Family, int]] = defaultdict(lambda: dict.fromkeys(Family, 0))
        for grant in proposal.grants:
            for family in Family:
                rows = sum(_weight(peer, family, len(proposal.entries)) for peer in grant.peers)
                added[grant.holder, grant.egress][family] += rows * max(1, len(grant.ports.ranges))
        for (holder, egress), more in added.items():
            group = known.get(holder)
            present = () if group is None else group.egress if egress else group.ingress
            for family, rows in more.items():
                used = count(self.context, present, family)
                total = used + rows
                # Where more are there than the default allows, the quota was raised, and how far is not known.
                if used <= PERMISSIONS < total:
                    way = "egress" if egress else "ingress"
                    return f"{holder} would have {total} {way} permissions of {PERMISSIONS} (the default quota)"
        return ""

    def _self(self) -> Proposal | str:
        common: set[str] | None = None
        for gap in self.gaps:
            both = set(gap.groups) & set(gap.peers)
            common = both if common is None else common & both
        usable = [group for group in common or () if self._readable(group)]
        if not usable:
            return "no security group is on all of the members concerned"
        best = min(usable, key=lambda group: (self.population.cost(group, group), self._foreign(group), group))
        grants = self._merged(
            Grant(best, gap.egress, gap.protocol, gap.missing, (GroupPeer(best),), (gap.finding,)) for gap in self.gaps
        )
        return Proposal(Strategy.SELF, grants, exact=True, cost=self.population.cost(best, best))

    def _peers(self) -> Proposal | str:
        grants: list[Grant] = []
        exact, cost = True, 0
        for alike in _alike(self.gaps):
            candidates: dict[tuple[str, str], tuple[int, int]] = {}
            for place, gap in enumerate(alike):
                for holder in filter(self._readable, gap.groups):
                    for peer in gap.peers:
                        if self._peer(holder, peer) is not None:
                            held, _ = candidates.get((holder, peer), (0, 0))
                            candidates[holder, peer] = held | 1 << place, self.population.cost(holder, peer)
            choice = cover.cheapest((1 << len(alike)) - 1, candidates)
            if choice is None:
                return "some members carry no security group that a permission could name"
            exact = exact and choice.exact
            for holder, peer in choice.chosen:
                filled = [gap for place, gap in enumerate(alike) if candidates[holder, peer][0] >> place & 1]
                named = self._peer(holder, peer)
                if named is not None:
                    grants += [_grant(holder, gap, named) for gap in filled]
                cost += candidates[holder, peer][1]
        return Proposal(Strategy.PEERS, self._merged(grants), exact, cost)

    def _cluster_group(self) -> Proposal | str:
        nodes = self.context.matrix.node_set
        concerned = 0
        for gap in self.gaps:
            concerned |= gap.holder_nodes | gap.peer_nodes
        found = [node.interface for node in nodes.pick(concerned) if node.interface]
        reason = not_attachable(found)
        if reason:
            return reason
        grants = self._merged(
            Grant(NEW_GROUP, gap.egress, gap.protocol, gap.missing, (GroupPeer(NEW_GROUP),), (gap.finding,))
            for gap in self.gaps
        )
        attach = tuple(interface.interface_id for interface in found)
        return Proposal(Strategy.CLUSTER_GROUP, grants, exact=True, cost=0, attach=attach)

    def _cidr(self) -> Proposal | str:
        if self.blocks:
            outside = next((gap for gap in self.gaps if not self._held(gap.peer_nodes)), None)
            if outside is not None:
                return f"{', '.join(map(str, self.blocks))} does not hold the address of every member"
        return self._by_address(Strategy.CIDR, lambda gap: self.blocks or self._addresses(gap.peer_nodes))

    def _prefix_list(self) -> Proposal | str:
        everybody = 0
        for gap in self.gaps:
            everybody |= gap.peer_nodes
        made = self._by_address(Strategy.PREFIX_LIST, lambda _: (PrefixListPeer(NEW_LIST),))
        return made if isinstance(made, str) else replace(made, entries=self._addresses(everybody))

    def _by_address(self, strategy: Strategy, peers: Callable[[GroupGap], tuple[Peer, ...]]) -> Proposal | str:
        grants: list[Grant] = []
        exact, cost = True, 0
        for alike in _alike(self.gaps):
            candidates: dict[str, tuple[int, int]] = {}
            for place, gap in enumerate(alike):
                for holder in filter(self._readable, gap.groups):
                    held, paid = candidates.get(holder, (0, 0))
                    more = self.population.cost(holder, None, gap.peer_nodes.bit_count())
                    candidates[holder] = held | 1 << place, paid + more
            choice = cover.cheapest((1 << len(alike)) - 1, candidates)
            if choice is None:
                return "some members carry no security group that could get a permission"
            exact = exact and choice.exact
            for holder in choice.chosen:
                filled = [gap for place, gap in enumerate(alike) if candidates[holder][0] >> place & 1]
                grants += [replace(_grant(holder, gap, None), peers=peers(gap)) for gap in filled]
                cost += candidates[holder][1]
        return Proposal(strategy, self._merged(grants), exact, cost)

    def _merged(self, grants: Iterable[Grant]) -> tuple[Grant, ...]:
        return merged(grants, widen=self.widen)

    def _held(self, nodes: int) -> bool:
        inside = 0
        for block in self.blocks:
            inside |= self.context.matrix.node_set.within(block)
        return not nodes & ~inside

    def _addresses(self, nodes: int) -> tuple[Cidr, ...]:
        if nodes not in self._known:
            found = self.context.matrix.node_set
            addresses = [node.value for node in found.pick(nodes) if node.value is not None]
            self._known[nodes] = cover.blocks(found.family, addresses)
        return self._known[nodes]

    def leans_on_default(self, proposal: Proposal) -> bool:
        """Tell whether a VPC's default group takes part: whatever names no group of its own will get it (EC2.2)."""
        known = self.context.snapshot.security_groups or {}
        groups = {grant.holder for grant in proposal.grants}
        groups |= {peer.group_id for grant in proposal.grants for peer in grant.peers if isinstance(peer, GroupPeer)}
        return any(group in known and known[group].name == DEFAULT_GROUP for group in groups)

    def _readable(self, group_id: str) -> bool:
        return group_id in (self.context.snapshot.security_groups or {})

    def _foreign(self, group_id: str) -> bool:
        """Tell whether others have a say in a group, so that another one is better."""
        group = (self.context.snapshot.security_groups or {})[group_id]
        return group.name == DEFAULT_GROUP or bool(group_owner(group))

    def _peer(self, holder: str, peer: str) -> GroupPeer | None:
        """Write a reference from one group to another one; None where AWS allows none."""
        known = self.context.snapshot.security_groups or {}
        if peer not in known:
            carriers = self.context.matrix.node_set.by_group.get(peer, 0)
            vpcs = {node.interface.vpc_id for node in self.context.matrix.node_set.pick(carriers) if node.interface}
            return GroupPeer(peer) if vpcs == {known[holder].vpc_id} else None
        if known[peer].vpc_id == known[holder].vpc_id:
            return GroupPeer(peer)
        for peering in (self.context.snapshot.peerings or {}).values():
            if peering.status == "active" and peering.joins(known[holder].vpc_id, known[peer].vpc_id):
                if peering.requester.region != peering.accepter.region:
                    return None
                other = known[peer]
                mine = known[holder].owner_id == other.owner_id
                return GroupPeer(peer, "" if mine else other.owner_id, other.vpc_id, peering.peering_id)
        return None


def not_attachable(interfaces: Sequence[Interface]) -> str:
    """Say why a new group can't be put on some interfaces; empty when it can."""
    vpcs = {interface.vpc_id for interface in interfaces}
    if len(vpcs) > 1:
        return f"the members lie in {len(vpcs)} VPCs, and a group belongs to one"
    raised = any(len(interface.groups or ()) > GROUPS_ON_AN_INTERFACE for interface in interfaces)
    limit = MOST_GROUPS_ON_AN_INTERFACE if raised else GROUPS_ON_AN_INTERFACE
    for interface in interfaces:
        if len(interface.groups or ()) >= limit:
            quota = f"{'highest' if raised else 'default'} quota: {limit}"
            return f"{interface.interface_id} carries {len(interface.groups or ())} security groups ({quota})"
        if interface.requester_managed or interface.groups is None:
            return f"{interface.interface_id} belongs to a service, or its groups could not be read"
    return ""


def _weight(peer: Peer, family: Family, entries: int) -> int:
    match peer:
        case Cidr():
            return int(peer.family is family)
        case PrefixListPeer():
            return max(1, entries)
        case _:
            return 1


def _alike(gaps: Iterable[GroupGap]) -> list[list[GroupGap]]:
    """Part gaps by what one permission can say: direction, protocol and ports."""
    found: dict[tuple[bool, str, PortSet], list[GroupGap]] = defaultdict(list)
    for gap in gaps:
        found[gap.egress, gap.protocol, gap.missing].append(gap)
    return list(found.values())


def _grant(holder: str, gap: GroupGap, peer: Peer | None) -> Grant:
    return Grant(holder, gap.egress, gap.protocol, gap.missing, (peer,) if peer else (), (gap.finding,))


def merged(grants: Iterable[Grant], *, widen: bool = False) -> tuple[Grant, ...]:
    """
    Join grants so that each peer is named once for each group, direction and protocol, then those of the same ports.

    Args:
        grants: in any order; they may overlap.
        widen: make one range of each peer's ports, whatever lies in between.
    """
    by_peer: dict[tuple[str, bool, str, Peer], tuple[PortSet, dict[str, None]]] = {}
    for grant in grants:
        for peer in grant.peers:
            key = (grant.holder, grant.egress, grant.protocol, peer)
            ports, findings = by_peer.get(key, (PortSet(), {}))
            by_peer[key] = (ports | grant.ports, findings | dict.fromkeys(grant.findings))
    by_ports: dict[tuple[str, bool, str, PortSet], tuple[list[Peer], dict[str, None]]] = {}
    for (holder, egress, protocol, peer), (ports, findings) in by_peer.items():
        wide = widen and protocol in ("tcp", "udp")
        written = PortSet.single(ports.ranges[0][0], ports.ranges[-1][1]) if wide else ports
        peers, known = by_ports.setdefault((holder, egress, protocol, written), ([], {}))
        peers.append(peer)
        known.update(findings)
    return tuple(
        Grant(holder, egress, protocol, ports, _collapsed(peers), tuple(findings))
        for (holder, egress, protocol, ports), (peers, findings) in by_ports.items()
    )


def _collapsed(peers: Sequence[Peer]) -> tuple[Peer, ...]:
    """Write blocks as the fewest that hold the same addresses, and leave other peers as they are."""
    found: list[Peer] = []
    for family in Family:
        found += cover.collapsed(family, [peer for peer in peers if isinstance(peer, Cidr) and peer.family is family])
    return (*found, *(peer for peer in peers if not isinstance(peer, Cidr)))
