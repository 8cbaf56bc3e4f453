"""A policy as frozen values, and the requirements that it becomes for a set of members."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sgaudit.model import Cidr, Peer
from sgaudit.ports import NONE, PortSet
from sgaudit.selection import TagFilter
from sgaudit.severity import Severity

EVERYBODY = "member"
"""The role that every member has in every policy."""
HEAD = "head"
"""The role that exists in every policy; where nobody is known to have it, everybody may."""
EFA_INTERFACE_TYPES = ("efa", "efa-only")


class Protocol(StrEnum):
    """What a need is about. Ports mean something for `tcp` and `udp` alone."""

    TCP = "tcp"
    UDP = "udp"
    ICMP = "icmp"
    ICMPV6 = "icmpv6"
    ALL = "all"
    """Every IP protocol and port."""
    EFA = "efa"
    """The Elastic Fabric Adapter's own traffic, which is neither IPv4 nor IPv6."""

    @property
    def has_ports(self) -> bool:
        """Tell whether a need of this protocol must name ports."""
        return self in {Protocol.TCP, Protocol.UDP}


class Topology(StrEnum):
    """Which ordered pairs a need is about."""

    MESH = "mesh"
    """Everybody named in `from` or `to` dials everybody else of them."""
    STAR = "star"
    """Everybody in `from` dials everybody in `to`."""
    DUPLEX = "duplex"
    """A star in both directions; it becomes two requirements."""


class ParameterKind(StrEnum):
    """What a parameter holds."""

    PORT = "port"
    RANGE = "range"
    """Ports and port ranges."""
    CIDR = "cidr"
    """CIDR blocks; an address stands for itself alone."""
    PEER = "peer"
    """CIDR blocks, security groups or prefix lists."""

    @property
    def holds_ports(self) -> bool:
        """Tell whether it can stand where ports are expected."""
        return self in {ParameterKind.PORT, ParameterKind.RANGE}


class ConstraintKind(StrEnum):
    """What must hold for the members beside ports."""

    SAME_VPC = "same_vpc"
    SAME_AVAILABILITY_ZONE = "same_availability_zone"
    SAME_ADDRESS_FAMILY = "same_address_family"
    """Every member has an address of the family that is judged."""
    SAME_MTU_CLASS = "same_mtu_class"
    """No path between two members crosses a link with a smaller MTU than the others have."""
    SEPARATE_INSTANCE_TYPES = "separate_instance_types"
    """Members of the given instance types are not mixed with members of other types."""
    EVERY_GROUP_ADMITS_EFA = "every_group_admits_efa"
    """Each security group of an EFA interface admits all traffic from and to itself, not just one of them."""


@dataclass(frozen=True, slots=True)
class PortSpec:
    """Ports as a policy writes them: some fixed, some by parameter."""

    fixed: PortSet = NONE
    parameters: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [str(self.fixed)] if self.fixed else []
        return ",".join([*parts, *(f"${{{name}}}" for name in self.parameters)])


@dataclass(frozen=True, slots=True)
class PeerSpec:
    """Addresses outside the cluster as a policy writes them: some fixed, some by parameter."""

    fixed: tuple[Peer, ...] = ()
    parameters: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ",".join([*map(str, self.fixed), *(f"${{{name}}}" for name in self.parameters)])


@dataclass(frozen=True, slots=True)
class Role:
    """Who plays a part. All kinds that are given must hold; within one kind, any of its ids (tags: all)."""

    name: str
    tags: tuple[TagFilter, ...] = ()
    instance_ids: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    subnet_ids: tuple[str, ...] = ()
    default: bool = False
    """It falls to every member that no other role of the policy picks."""
    description: str = ""

    @property
    def picks(self) -> bool:
        """Tell whether it has a selector of its own."""
        return bool(self.tags or self.instance_ids or self.security_groups or self.subnet_ids)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that users may set."""

    name: str
    kind: ParameterKind
    default: str | None = None
    """As one would write it after `--set name=`; None: what uses it is skipped until it is set."""
    description: str = ""


@dataclass(frozen=True, slots=True)
class ExternalPeer:
    """Somebody outside the cluster whom members dial, or who dials them."""

    name: str
    at: PeerSpec
    description: str = ""


@dataclass(frozen=True, slots=True)
class Need:
    """One line of a policy: who dials whom, on what."""

    id: str
    source: str
    target: str
    """Names of roles; one of the two may be a peer outside the cluster."""
    protocol: Protocol
    ports: PortSpec
    """Empty for protocols without ports."""
    topology: Topology
    severity: Severity
    why: str
    references: tuple[str, ...]
    """Where it is written: a project's file or a page's name."""
    pin: str = ""
    """How to make the framework use fewer ports."""
    ip_ordered: bool = False
    """Each pair makes one connection, dialled by the side with the higher address."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """Something beside ports that must hold for the members of some roles."""

    kind: ConstraintKind
    roles: tuple[str, ...]
    severity: Severity
    why: str
    references: tuple[str, ...]
    instance_types: tuple[str, ...] = ()
    """Patterns with `*` and `?`, for `separate_instance_types`."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """What must not be open, from where, with exceptions."""

    id: str
    protocol: Protocol
    """`tcp` or `udp`; it means nothing while `ports` is None."""
    ports: PortSpec | None
    """None: the ports of all needs of the policy, each with its own protocol."""
    sources: PeerSpec
    """CIDR blocks; members and what needs admit by name are never meant."""
    except_ports: PortSpec
    except_sources: PeerSpec
    severity: Severity
    why: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy, those that it extends included."""

    name: str
    summary: str
    path: str = ""
    """The file that it was read from."""
    frameworks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What it does not know or cannot promise."""
    extends: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    peers: tuple[ExternalPeer, ...] = ()
    needs: tuple[Need, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    exposures: tuple[Exposure, ...] = ()


@dataclass(frozen=True, slots=True)
class Requirement:
    """A need between members. Both directions of a `duplex` need are requirements of their own."""

    policies: tuple[str, ...]
    """All that state it."""
    need: str
    protocol: Protocol
    ports: PortSet
    """All of them for protocols without ports."""
    sources: frozenset[str]
    targets: frozenset[str]
    """Ids of instances. Nobody has to reach itself: a pair of the same instance doesn't count."""
    topology: Topology
    severity: Severity
    why: str
    source: tuple[str, ...]
    ip_ordered: bool = False
    """One connection a pair, dialled by the higher address: a closed direction may go unnoticed by luck."""
    head_assumed: bool = False
    """Nobody is known to be the head, so that everybody counts as one."""

    @property
    def pairs(self) -> int:
        """How many ordered pairs of members it is about."""
        return len(self.sources) * len(self.targets) - len(self.sources & self.targets)

    @property
    def interface_types(self) -> tuple[str, ...]:
        """The types of interface that carry it; empty: those that are judged."""
        return EFA_INTERFACE_TYPES if self.protocol is Protocol.EFA else ()


@dataclass(frozen=True, slots=True)
class ExternalRequirement:
    """A need between members and one peer outside the cluster, in one direction."""

    policies: tuple[str, ...]
    need: str
    protocol: Protocol
    ports: PortSet
    members: frozenset[str]
    peer: Peer
    peer_name: str
    outbound: bool
    """The members dial the peer; otherwise the peer dials them."""
    severity: Severity
    why: str
    source: tuple[str, ...]
    head_assumed: bool = False

    @property
    def interface_types(self) -> tuple[str, ...]:
        """The types of interface that carry it; empty: those that are judged."""
        return EFA_INTERFACE_TYPES if self.protocol is Protocol.EFA else ()


@dataclass(frozen=True, slots=True)
class ConstraintRequirement:
    """A constraint and the members that it binds."""

    policies: tuple[str, ...]
    kind: ConstraintKind
    members: frozenset[str]
    severity: Severity
    why: str
    source: tuple[str, ...]
    instance_types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExposureRequirement:
    """Ports of members that must not be open from some addresses outside the cluster."""

    policies: tuple[str, ...]
    id: str
    ports: tuple[tuple[Protocol, PortSet], ...]
    """By protocol, `tcp` before `udp`; exceptions are taken out already."""
    sources: tuple[Cidr, ...]
    except_sources: tuple[Cidr, ...]
    members: frozenset[str]
    severity: Severity
    why: str
    source: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A need that could not become a requirement, and why."""

    policy: str
    need: str
    reason: str
    external: bool = False
    """It is about a peer outside the cluster, which not every cluster has."""


@dataclass(frozen=True, slots=True)
class ParameterValue:
    """What a parameter of a policy came to."""

    policy: str
    name: str
    kind: ParameterKind
    value: str
    """Empty when it has no default and was not set."""
    given: bool
    """It was set by the user."""


@dataclass(frozen=True, slots=True)
class Requirements:
    """Everything that the policies ask of the members."""

    policies: tuple[str, ...]
    between: tuple[Requirement, ...]
    external: tuple[ExternalRequirement, ...]
    constraints: tuple[ConstraintRequirement, ...]
    exposures: tuple[ExposureRequirement, ...]
    skipped: tuple[Skipped, ...]
    parameters: tuple[ParameterValue, ...]
    heads: frozenset[str]
    """Ids of the instances that are known to be heads."""
