"""What a trace is made of: hops, the rules that decided at each, and what blocks there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from sgaudit.model import AclEntry, Cidr, Permission, Route
from sgaudit.ports import NONE, PortSet
from sgaudit.reach.causes import Layer
from sgaudit.reach.matrix import Matrix
from sgaudit.reach.nodes import Node
from sgaudit.reach.verdict import Verdict, verdict_on


class Code(StrEnum):
    """Why a packet is stopped, or why that can't be known. The words are a contract: docs/codes.md explains each."""

    SG_EGRESS_MISSING = "SG_EGRESS_MISSING"
    SG_INGRESS_MISSING = "SG_INGRESS_MISSING"
    SG_REFERENCE_STALE = "SG_REFERENCE_STALE"
    SG_REFERENCE_LOST = "SG_REFERENCE_LOST"
    ACL_DENIES_OUT = "ACL_DENIES_OUT"
    ACL_DENIES_IN = "ACL_DENIES_IN"
    ACL_DENIES_RETURN_OUT = "ACL_DENIES_RETURN_OUT"
    ACL_DENIES_RETURN_IN = "ACL_DENIES_RETURN_IN"
    NO_ROUTE = "NO_ROUTE"
    ROUTE_BLACKHOLE = "ROUTE_BLACKHOLE"
    ROUTE_LEADS_ELSEWHERE = "ROUTE_LEADS_ELSEWHERE"
    NO_RETURN_ROUTE = "NO_RETURN_ROUTE"
    RETURN_ROUTE_BLACKHOLE = "RETURN_ROUTE_BLACKHOLE"
    RETURN_ROUTE_LEADS_ELSEWHERE = "RETURN_ROUTE_LEADS_ELSEWHERE"
    PEERING_NOT_ACTIVE = "PEERING_NOT_ACTIVE"
    NO_ADDRESS = "NO_ADDRESS"
    NO_PUBLIC_ADDRESS = "NO_PUBLIC_ADDRESS"
    NOT_READ = "NOT_READ"
    MIDDLEBOX = "MIDDLEBOX"
    UNKNOWN_TARGET = "UNKNOWN_TARGET"

    @property
    def certain(self) -> bool:
        """Whether it says that something surely does not pass."""
        return self not in (Code.NOT_READ, Code.MIDDLEBOX, Code.UNKNOWN_TARGET)


class Effect(StrEnum):
    """What a rule does to the packets that it is named for."""

    ALLOWS = "allows"
    DENIES = "denies"
    MISSES = "misses"
    """It came close, but does not match."""
    UNKNOWN = "unknown"
    """Whether it matches, or where it leads, can't be known."""


class Miss(StrEnum):
    """Why a permission does not match."""

    PROTOCOL = "protocol"
    PORTS = "ports"
    FAMILY = "family"
    """Its peer is a block of the other address family."""
    ADDRESS = "address"
    """Its peer is a block that does not hold the other end's address."""
    NOT_LISTED = "not-listed"
    """No entry of its prefix list holds the other end's address."""
    NOT_CARRIED = "not-carried"
    """The other end does not carry the group that it names."""
    STALE = "stale"
    """The peering connection over which it names a group is gone."""
    LOST = "lost"
    """The other end carries the group, but behind a middlebox that does not count."""


@dataclass(frozen=True, slots=True)
class Thing:
    """The AWS resource that a hop, a rule or a blocker belongs to."""

    type: str
    """As in findings: `security-group`, `network-acl`, `route-table`, `network-interface`, ..."""
    id: str


@dataclass(frozen=True, slots=True)
class Decision:
    """One rule of a resource, and what it did."""

    holder: Thing
    rule: Permission | AclEntry | Route | None
    """None is the deny that ends every network ACL, the local route where none is listed, or a holder that
    could not be read."""
    effect: Effect
    ports: PortSet = NONE
    """The ports on which it decided; on the way back those of the client."""
    misses: tuple[Miss, ...] = ()
    destination: Cidr | None = None
    """The block of a route by which it was chosen."""


@dataclass(frozen=True, slots=True)
class Blocker:
    """One thing that stops packets, or may."""

    code: Code
    layer: Layer
    resource: Thing
    ports: PortSet
    """Those that don't pass; on the way back those of the client."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One stage of a path."""

    layer: Layer
    resource: Thing
    near_source: bool
    """Whether it belongs to the source's end."""
    passes: PortSet
    """The ports, of those asked about, that it surely lets pass."""
    may_pass: PortSet
    """Those and the ones of which that can't be known."""
    decisions: tuple[Decision, ...] = ()
    blockers: tuple[Blocker, ...] = ()
    skipped: bool = False
    """Inside one subnet neither network ACLs nor routes are asked."""

    @property
    def egress(self) -> bool:
        """Whether it is asked about packets that leave, rather than about packets that arrive."""
        if self.layer in (Layer.ADDRESS, Layer.INTERFACE):
            return self.near_source
        return self.layer not in (Layer.ACL_IN, Layer.INGRESS, Layer.RETURN_IN)

    @property
    def answer(self) -> bool:
        """Whether it is about the way back."""
        return self.layer in (Layer.RETURN_OUT, Layer.RETURN_ROUTE, Layer.RETURN_IN)


@dataclass(frozen=True)
class Trace:
    """A path from one node to another, there and back, and what becomes of the ports asked about."""

    matrix: Matrix
    source: Node
    target: Node
    protocol: str
    asked: PortSet
    hops: tuple[Hop, ...]

    @cached_property
    def opened(self) -> PortSet:
        """The ports that pass every hop."""
        return self.after(len(self.hops) - 1)[0]

    @cached_property
    def possible(self) -> PortSet:
        """The ports that pass every hop or may."""
        return self.after(len(self.hops) - 1)[1]

    def after(self, hop: int) -> tuple[PortSet, PortSet]:
        """Tell the ports that are open after a hop, by its place, and those that may be."""
        opened = possible = self.asked
        for item in self.hops[: hop + 1]:
            opened &= item.passes
            possible &= item.may_pass
        return opened, possible

    @property
    def verdict(self) -> Verdict:
        """What holds for the ports asked about."""
        return verdict_on(self.asked, self.opened, self.possible)

    @property
    def blockers(self) -> list[Blocker]:
        """All that stops packets or may, in the order of the path."""
        return [blocker for hop in self.hops for blocker in hop.blockers]
