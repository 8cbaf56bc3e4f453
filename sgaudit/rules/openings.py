"""What a group lets in from outside the cluster, permission by permission; the rules on exposure share it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from sgaudit.model import Cidr, Family, GroupPeer, Permission, PrefixListPeer
from sgaudit.policy.model import Protocol
from sgaudit.ports import ALL, PortSet
from sgaudit.reach.steps import Steps
from sgaudit.rules.outside import invited
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgaudit.policy.model import ExposureRequirement
    from sgaudit.reach.exposure import Face, Outside
    from sgaudit.reach.strangers import Crowd
    from sgaudit.rules.context import Context

Ports = tuple[tuple[str, PortSet], ...]
"""Ports by protocol, `tcp` or `udp`."""

ANYWHERE = (Cidr.parse("0.0.0.0/0"), Cidr.parse("::/0"))
WIDE = {Family.IPV4: 1 << 24, Family.IPV6: 1 << 112}
"""An IPv4 /8 and an IPv6 /16: as much as one organisation was ever given. What is larger has no one owner."""
NO_PUBLIC_ADDRESS = "no public address"
NO_INTERNET_ROUTE = "no route to an internet gateway"


class Zone(Enum):
    """The part of the outside that a rule is about."""

    WORLD = auto()
    """Public addresses, those of the VPC and of peered ones left out."""
    NEIGHBOURS = auto()
    """Private networks, the VPC and peered ones, and other machines that are let in by their group."""


@dataclass(frozen=True, slots=True)
class Question:
    """Traffic that is not to get in."""

    name: str
    ports: Ports
    severity: Severity
    sources: tuple[Cidr, ...] = ANYWHERE
    except_sources: tuple[Cidr, ...] = ()
    members: frozenset[str] | None = None
    """The members that must not be reached; None: all."""

    @classmethod
    def of(cls, item: ExposureRequirement) -> Question:
        """Ask for what a policy forbids."""
        ports = tuple((str(protocol), ports) for protocol, ports in item.ports)
        return cls(item.id, ports, item.severity, item.sources, item.except_sources, item.members)


@dataclass(frozen=True, slots=True)
class Hit:
    """Addresses, or other machines, from which one permission lets some ports in to some interfaces."""

    question: Question
    outside: Outside
    zone: Zone
    by_group: bool
    """The bits are interfaces of `outside.others`; else they are ranges of addresses."""
    bits: int
    sure: int
    """Those of the bits that are known to get in."""
    protocol: str
    low: int
    high: int
    permission: Permission | None
    """None: the group could not be read."""
    face: Face
    instance_ids: Sequence[str]
    unread: tuple[str, ...]
    acl_id: str
    """The network ACL that keeps out some of those whom the permission admits."""
    latent: str
    """Why nobody in the internet can dial the interfaces today; empty where somebody can."""

    @property
    def severity(self) -> Severity:
        """Tell how grave it is."""
        if self.zone is Zone.WORLD:
            return lowered(self.question.severity) if self.latent else self.question.severity
        if self.by_group:
            return self.question.severity
        outside, vpc_id = self.outside, self.face.vpc_id
        found = self.question.severity if self.bits & outside.private else Severity.NOTE
        if self.bits & ~outside.local(vpc_id, peers=False) and found is Severity.NOTE:
            return Severity.WARNING
        return found


def lowered(severity: Severity) -> Severity:
    """Give the severity one below."""
    return Severity.WARNING if severity is Severity.ERROR else Severity.NOTE


def groups_at(context: Context) -> list[str]:
    """List the groups on interfaces of members; an empty id stands for groups that are not known."""
    return sorted({group_id for outside in context.outside.values() for group_id in outside.by_group})


def hits(context: Context, group_id: str, questions: Sequence[Question], zone: Zone) -> list[Hit]:
    """Find everything that one group lets in from a zone."""
    found: list[Hit] = []
    for outside in context.outside.values():
        crowds = (outside.crowd,) if zone is Zone.WORLD else (outside.crowd, outside.others)
        searches = [search for crowd in crowds if (search := _Search(context, outside, crowd, group_id, zone)).rows]
        if not searches:
            continue
        faces = outside.by_group.get(group_id, {})
        for search in searches:
            for question in questions:
                found += search.ask(question, faces)
    return found


def wide(found: Sequence[Hit]) -> list[Hit]:
    """Keep the ports that are open to more addresses than anybody owns, whichever permissions do it together."""
    kept: list[Hit] = []
    by_kind: dict[tuple[Family, str], list[Hit]] = defaultdict(list)
    for hit in found:
        by_kind[hit.outside.family, hit.protocol].append(hit)
    for (family, _), some in by_kind.items():
        steps = Steps.union((PortSet(((hit.low, hit.high),)), hit.bits) for hit in some)
        for low, high, bits in steps.segments:
            if some[0].outside.count(bits) <= WIDE[family]:
                continue
            kept += [_cut(hit, low, high) for hit in some if hit.low <= high and low <= hit.high]
    return kept


def _cut(hit: Hit, low: int, high: int) -> Hit:
    return replace(hit, low=max(low, hit.low), high=min(high, hit.high))


Row = tuple[Permission | None, int, int]
"""A permission, whom it may admit and whom it surely admits."""


@dataclass(frozen=True)
class _Search:
    """One group before one crowd."""

    context: Context
    outside: Outside
    crowd: Crowd
    group_id: str
    zone: Zone
    rows: list[Row] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", list(self._rows()))

    @property
    def by_group(self) -> bool:
        return self.crowd is not self.outside.crowd

    def _rows(self) -> Iterator[Row]:
        zone = self.outside.world if self.zone is Zone.WORLD else self.crowd.nodes.everyone
        group = (self.context.snapshot.security_groups or {}).get(self.group_id)
        if group is None:
            if not self.by_group:
                yield None, zone, 0
            return
        maybe, surely = self.crowd.groups(possible=True), self.crowd.groups(possible=False)
        for permission in group.ingress:
            if isinstance(permission.peer, GroupPeer) is not self.by_group:
                continue
            if found := maybe.matched(permission.peer) & zone:
                yield permission, found, surely.matched(permission.peer)

    def ask(self, question: Question, faces: Mapping[Face, Sequence[str]]) -> Iterator[Hit]:
        rows = [
            (protocol, ports, row)
            for protocol, wanted in question.ports
            for row in self.rows
            if (ports := wanted & (ALL if row[0] is None else row[0].admitted(protocol)))
        ]
        if not rows:
            return
        base = self.crowd.within(question.sources) & ~self.crowd.within(question.except_sources)
        for face, instance_ids in faces.items():
            if question.members is not None and not self._concerns(question.members, face):
                continue
            among = self._among(base, question, face)
            if not among:
                continue
            guests = {protocol: self._invited(face, protocol) for protocol, _ in question.ports}
            for protocol, ports, (permission, maybe, surely) in rows:
                if asking := maybe & among:
                    row = permission, asking, surely & among
                    yield from self._hits(question, face, instance_ids, row, (protocol, ports, guests[protocol]))

    def _concerns(self, members: frozenset[str], face: Face) -> bool:
        if len(members) >= len(self.outside.members):
            return True
        return any(self.outside.parts[index] == members for index in face.parts)

    def _among(self, found: int, question: Question, face: Face) -> int:
        if self.by_group:
            return found
        local = self.outside.local(face.vpc_id)
        if self.zone is Zone.WORLD:
            return found & self.outside.world & ~local
        found &= self.outside.private | local
        # What is only a note is about wide openings; a graver one is meant to the last address.
        return found & ~self.outside.home if question.severity is Severity.NOTE else found

    def _hits(
        self, question: Question, face: Face, instance_ids: Sequence[str], row: Row, traffic: tuple[str, PortSet, Steps]
    ) -> Iterator[Hit]:
        permission, maybe, surely = row
        protocol, ports, invited_steps = traffic
        place = (face.subnet_id, face.vpc_id)
        sure_border = self.crowd.border(*place, protocol, possible=False)
        someone = self.crowd.nodes.everyone if self.by_group else self.outside.inhabited
        for start, end, passed in self.crowd.border(*place, protocol, possible=True).clip(ports):
            for low, high, guests in invited_steps.clip(PortSet(((start, end),))):
                asking = maybe & someone & ~guests
                found = asking & passed
                if not found:
                    continue
                sure = found & surely & sure_border.every(PortSet(((low, high),)), found)
                lead = self._lead(face, found)
                yield Hit(
                    question=question,
                    outside=self.outside,
                    zone=self.zone,
                    by_group=self.by_group,
                    bits=found,
                    sure=sure,
                    protocol=protocol,
                    low=low,
                    high=high,
                    permission=permission,
                    face=face,
                    instance_ids=instance_ids,
                    unread=(*(self._unread(permission, face) if found & ~sure else ()), *lead[1]),
                    acl_id=self._acl_id(face) if asking & ~passed else "",
                    latent=lead[0],
                )

    def _invited(self, face: Face, protocol: str) -> Steps:
        """Tell whom the policies' needs admit by name."""
        matched = self.crowd.groups(possible=False).matched
        rows = [
            (ALL if item.protocol is Protocol.ALL else item.ports, matched(item.peer))
            for item in invited(self.context.requirements)
            if item.protocol in (protocol, Protocol.ALL) and self._concerns(item.members, face)
        ]
        return Steps.union(rows) if any(ports and nodes for ports, nodes in rows) else Steps()

    def _lead(self, face: Face, found: int) -> tuple[str, tuple[str, ...]]:
        """Tell why nobody in the internet can dial the interfaces, and what was not read of the way there."""
        if self.zone is not Zone.WORLD:
            return "", ()
        if not face.public:
            return NO_PUBLIC_ADDRESS, ()
        surely, maybe = self.outside.internet(face.subnet_id, face.vpc_id)
        if not found & maybe:
            return NO_INTERNET_ROUTE, ()
        if found & surely:
            return "", ()
        if self.context.snapshot.route_table(face.subnet_id, face.vpc_id) is None:
            return "", (f"the route table of {face.subnet_id} (DescribeRouteTables)",)
        return "", (f"where the routes of {face.subnet_id} lead",)

    def _unread(self, permission: Permission | None, face: Face) -> Iterator[str]:
        snapshot = self.context.snapshot
        if permission is None:
            yield (
                f"security group {self.group_id} (DescribeSecurityGroups)"
                if self.group_id
                else "which groups they carry"
            )
        elif (
            isinstance(permission.peer, PrefixListPeer) and permission.peer.prefix_list_id not in snapshot.prefix_lists
        ):
            yield f"prefix list {permission.peer.prefix_list_id} (GetManagedPrefixListEntries)"
        if snapshot.network_acl(face.subnet_id, face.vpc_id) is None:
            yield f"the network ACL of {face.subnet_id} (DescribeNetworkAcls)"
        elif face.subnet_id not in (snapshot.subnets or {}):
            yield f"the block of {face.subnet_id} (DescribeSubnets)"

    def _acl_id(self, face: Face) -> str:
        acl = self.context.snapshot.network_acl(face.subnet_id, face.vpc_id)
        return acl.acl_id if acl else ""
