"""
Whether members reach a peer outside the cluster, or the peer reaches them, on every port and address.

The question is universal, as it is between members: one address of the peer that one filter stops is a
failure. All filters are asked, and each that fails is named. Of a peer that is a group, its own side is
judged as far as it was read, and so for the address of an interface; of other addresses there is none to read.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sgaudit.model import Family, GroupPeer, Member
from sgaudit.ports import ALL, NONE, PortSet
from sgaudit.reach import causes
from sgaudit.reach.efa import Fabric, admitted_groups
from sgaudit.reach.external_values import IN, OUT, Answer, Gap, Place, Question, Side
from sgaudit.reach.far import Far, interfaces_of, without_public_address
from sgaudit.reach.filters import client_traffic
from sgaudit.reach.matrix import build
from sgaudit.reach.network_acls import AclFilters
from sgaudit.reach.nodes import bits_of
from sgaudit.reach.security_groups import GroupFilters
from sgaudit.reach.strangers import NOBODY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sgaudit.model import Peer
    from sgaudit.reach.causes import Cause
    from sgaudit.reach.matrix import Matrix
    from sgaudit.reach.nodes import GroupSet, Node
    from sgaudit.reach.steps import Steps


@dataclass(frozen=True)
class External:
    """Everything that can be asked about peers outside the cluster."""

    matrix: Matrix
    _fars: dict[Peer, Far] = field(default_factory=dict, repr=False)
    _beyond: dict[Peer, Matrix | None] = field(default_factory=dict, repr=False)

    @cached_property
    def fabric(self) -> Fabric:
        """The EFA interfaces of the members."""
        return Fabric.of(self.matrix)

    def judge(self, question: Question) -> Answer:
        """Judge every member that is asked about."""
        side = Side.NONE
        if isinstance(question.peer, GroupPeer):
            known = (self.matrix.snapshot.security_groups or {}).get(question.peer.group_id)
            side = Side.GROUP if known else Side.UNREAD
        if question.protocol == "efa":
            return _answer(question, list(self._over_efa(question)), side)
        beyond = self._with_peers(question.peer)
        if beyond is not None:
            return self._to_interfaces(question, beyond)
        gaps = [*self._ends(question), *self._groups(question), *self._subnets(question)]
        if side is Side.GROUP:
            gaps += self._peer_group(question)
        return _answer(question, gaps, side)

    def far(self, peer: Peer) -> Far:
        """Give a peer's addresses."""
        found = self._fars.get(peer)
        if found is None:
            found = self._fars[peer] = Far.of(self.matrix, peer)
        return found

    def _with_peers(self, peer: Peer) -> Matrix | None:
        """Make a matrix of the members and the interfaces that are the peer; None when none of these is known."""
        if peer not in self._beyond:
            found = interfaces_of(self.matrix, peer)
            members = [Member(replace(NOBODY, instance_id=item.interface_id), (item,)) for item in found]
            own = self.matrix
            self._beyond[peer] = (
                build(own.snapshot, (*own.members, *members), family=own.family, client_ports=own.client_ports)
                if members
                else None
            )
        return self._beyond[peer]

    def _to_interfaces(self, question: Question, beyond: Matrix) -> Answer:
        own, nodes = self.matrix.node_set, beyond.node_set
        ours = frozenset(node.instance.instance_id for node in own.pick(question.members))
        theirs = frozenset(member.instance.instance_id for member in beyond.members[len(self.matrix.members) :])
        members, peers = nodes.of_instances(ours), nodes.of_instances(theirs)
        sources, targets = (members, peers) if question.outbound else (peers, members)
        found = causes.find(beyond, question.protocol, question.ports, sources, targets)
        if not found:
            return Answer(question.members, 0, 0, (), Side.INTERFACES)
        number = {_key(node): node.index for node in own}

        def at_home(stopped: int) -> int:
            return bits_of(sorted(number[_key(node)] for node in nodes.pick(stopped & members)))

        def surely_lost(cause: Cause) -> bool:
            # A route that may lead by a middlebox or past it leaves open whether a reference counts.
            rows = beyond.judge(question.protocol, question.ports, cause.sources(), cause.targets()).rows
            return not any(row.open | row.unknown for row in rows)

        side = OUT if question.outbound else IN
        gaps = [
            Gap(
                side[cause.layer],
                at_home(cause.sources() if question.outbound else cause.targets()),
                cause.missing,
                cause.certain and (not cause.lost_reference or surely_lost(cause)),
                cause.groups,
                cause.subnets,
            )
            for cause in found
        ]
        return _answer(question, gaps, Side.INTERFACES)

    def _ends(self, question: Question) -> Iterator[Gap]:
        """Find members that can't be seen, or have no address."""
        unseen = question.members & self.matrix.node_set.unseen
        bare = question.members & ~self._addressed(self.far(question.peer).nodes.family) & ~unseen
        if unseen:
            yield Gap(Place.INTERFACE, unseen, question.ports, certain=False)
        if bare:
            yield Gap(Place.ADDRESS, bare, question.ports, certain=True)

    def _addressed(self, family: Family) -> int:
        nodes = self.matrix.node_set
        if family is self.matrix.family:
            return nodes.addressed
        return bits_of([node.index for node in nodes if node.interface and node.interface.address(family)])

    def _groups(self, question: Question) -> Iterator[Gap]:
        """Find what the members' groups don't admit."""
        far = self.far(question.peer)
        members = question.members & self._addressed(far.nodes.family)
        sure, possible = far.filters(possible=False), far.filters(possible=True)
        for groups, carriers in self.matrix.node_set.by_group_set.items():
            if not carriers & members:
                continue
            lost = _Lost(far.nodes.everyone, far.loose)
            for protocol, ports in self.matrix.traffic(question.protocol, question.ports):
                lost.add(
                    sure.steps(groups, protocol, egress=question.outbound),
                    possible.steps(groups, protocol, egress=question.outbound),
                    ports,
                )
            if lost.missing:
                yield Gap(Place.GROUPS, carriers & members, lost.missing, lost.certain, groups)

    def _subnets(self, question: Question) -> Iterator[Gap]:
        """Find what the network ACLs and the routes of the members' subnets stop."""
        far = self.far(question.peer)
        members = question.members & self._addressed(far.nodes.family)
        acls = AclFilters(self.matrix.snapshot, far.nodes, False), AclFilters(self.matrix.snapshot, far.nodes, True)
        found: dict[tuple[Place, str, PortSet, bool], list[tuple[int, tuple[str, str]]]] = defaultdict(list)
        for subnet, inside in zip(self.matrix.node_set.subnets, self.matrix.node_set.by_subnet, strict=True):
            if not inside & members:
                continue
            for place, answer in ((Place.ACL, False), (Place.ACL_ANSWER, True)):
                lost = self._acl(question, acls, subnet, answer=answer)
                if lost.missing:
                    acl = self.matrix.snapshot.network_acl(*subnet)
                    key = (place, acl.acl_id if acl else subnet[0], lost.missing, lost.certain)
                    found[key].append((inside & members, subnet))
            for place, stopped, certain in self._route(question, subnet, inside & members):
                table = self.matrix.snapshot.route_table(*subnet)
                key = (place, table.route_table_id if table else subnet[0], question.ports, certain)
                found[key].append((stopped, subnet))
        for (place, _, missing, certain), rows in found.items():
            stopped = 0
            for nodes, _ in rows:
                stopped |= nodes
            yield Gap(place, stopped, missing, certain, None, tuple(subnet for _, subnet in rows))

    def _acl(
        self, question: Question, acls: tuple[AclFilters, AclFilters], subnet: tuple[str, str], *, answer: bool
    ) -> _Lost:
        far = self.far(question.peer)
        surely_near, maybe_near = far.near(*subnet)
        space = far.space(subnet[1])
        lost = _Lost(space & ~surely_near, far.loose, space & maybe_near)
        for protocol, ports in self.matrix.traffic(question.protocol, question.ports):
            asked = client_traffic(protocol, self.matrix.client_ports) if answer else ports
            egress = question.outbound is not answer
            sure, possible = (filters.steps(subnet, protocol, egress=egress) for filters in acls)
            lost.add(sure, possible, asked)
        return lost

    def _route(self, question: Question, subnet: tuple[str, str], members: int) -> Iterator[tuple[Place, int, bool]]:
        far = self.far(question.peer)
        way = far.way(*subnet, outbound=question.outbound)
        asked = far.space(subnet[1]) & ~far.unrouted
        if asked & ~way.sure:
            stopped = not asked & way.maybe if far.loose else bool(asked & ~way.maybe)
            yield Place.ROUTE, members, stopped
        if asked & way.world and not (far.loose and asked & way.maybe & ~way.world):
            hidden = members & without_public_address(self.matrix.node_set, far.nodes.family)
            if hidden:
                yield Place.PUBLIC_ADDRESS, hidden, True

    def _peer_group(self, question: Question) -> Iterator[Gap]:
        """Find what the peer's group does not admit, though no interface that carries it is known."""
        nodes = self.matrix.node_set
        group = (str(question.peer),)
        filters = GroupFilters(self.matrix.snapshot, nodes, True), GroupFilters(self.matrix.snapshot, nodes, False)
        rest = question.members & nodes.addressed
        for each, certain in zip(filters, (True, False), strict=True):
            stopped: dict[int, PortSet] = {}
            for protocol, ports in self.matrix.traffic(question.protocol, question.ports):
                steps = each.steps(group, protocol, egress=not question.outbound)
                for missing, members in steps.missing(ports, rest).items():
                    stopped[members] = stopped.get(members, NONE) | missing
            for members, missing in stopped.items():
                yield Gap(Place.PEER_GROUPS, members, missing, certain, group)
                rest &= ~members

    def _over_efa(self, question: Question) -> Iterator[Gap]:
        """Find what keeps EFA traffic: it passes where permissions for all protocols name groups, at both ends."""
        fabric, peer = self.fabric, str(question.peer)
        if bare := question.members & fabric.bare:
            yield Gap(Place.FABRIC, bare, ALL, certain=True)
        if unseen := question.members & fabric.unseen:
            yield Gap(Place.INTERFACE, unseen, ALL, certain=False)
        theirs = admitted_groups(self.matrix.snapshot, peer, egress=not question.outbound)
        answers = [self._efa_kind(kind.groups, peer, theirs, outbound=question.outbound) for kind in fabric.kinds]
        found: dict[tuple[Place, GroupSet, bool], int] = defaultdict(int)
        for profile, nodes in fabric.profiles.items():
            members = nodes & question.members
            best = [answers[number] for number in profile]
            if not members or any(near and there for near, there in best):
                continue
            certain = all(near is False or there is False for near, there in best)
            for number, (near, there) in zip(profile, best, strict=True):
                groups = fabric.kinds[number].groups
                if near is False or (near is None and not certain):
                    found[Place.GROUPS, groups, certain and near is False] |= members
                if there is False or (there is None and not certain):
                    found[Place.PEER_GROUPS, (peer,), certain and there is False] |= members
        for (place, groups, certain), members in found.items():
            yield Gap(place, members, ALL, certain, groups)

    def _efa_kind(
        self, groups: GroupSet, peer: str, theirs: frozenset[str] | None, *, outbound: bool
    ) -> tuple[bool | None, bool | None]:
        """Tell whether an interface's groups admit the peer, and the peer the interface; None: not known."""
        if groups is None:
            return None, True if theirs is None else (None if theirs else False)
        found = [admitted_groups(self.matrix.snapshot, group, egress=outbound) for group in groups]
        near = True if any(peer in item for item in found if item) else None if None in found else False
        return near, theirs is None or not theirs.isdisjoint(groups)


class _Lost:
    """What a filter does not let pass to, or from, every address that is asked about."""

    def __init__(self, among: int, loose: bool, spared: int = 0) -> None:
        self.among = among
        self.loose = loose
        self.spared = spared
        """Addresses to which the filter may not apply."""
        self.missing = NONE
        self.certain = False

    def add(self, sure: Steps, possible: Steps, ports: PortSet) -> None:
        """Reckon with one protocol, whose filter is known or, as far as it could not be read, possible."""
        if sure.every(ports, self.among) == self.among:
            return
        passing = (possible.every(ports, self.among) | self.spared) & self.among
        certain = not passing if self.loose else passing != self.among
        steps = possible if certain else sure
        for missing in steps.missing(ports, self.among & ~self.spared if certain else self.among):
            self.missing |= missing
        self.certain |= certain


def _key(node: Node) -> tuple[str, str]:
    return node.instance.instance_id, node.interface.interface_id if node.interface else ""


def _answer(question: Question, gaps: list[Gap], side: Side) -> Answer:
    closed = unknown = 0
    for gap in gaps:
        if gap.certain:
            closed |= gap.members
        else:
            unknown |= gap.members
    closed &= question.members
    unknown &= question.members & ~closed
    return Answer(question.members & ~closed & ~unknown, closed, unknown, tuple(gaps), side)


def count_members(matrix: Matrix, answer: Answer) -> Mapping[str, int]:
    """Count members: `open` where all of their interfaces are, `closed` where one is."""
    nodes = matrix.node_set
    counts = {"open": 0, "closed": 0, "unknown": 0}
    if nodes.one_each:
        found = {"open": answer.open, "closed": answer.closed, "unknown": answer.unknown}
        return {word: bits.bit_count() for word, bits in found.items()}
    for own in nodes.by_instance.values():
        if own & answer.closed:
            counts["closed"] += 1
        elif own & answer.unknown:
            counts["unknown"] += 1
        elif own & answer.open:
            counts["open"] += 1
    return counts
