"""What is asked about peers outside the cluster, and what the answer is made of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from sgaudit.reach.causes import Layer

if TYPE_CHECKING:
    from sgaudit.model import Peer
    from sgaudit.ports import PortSet
    from sgaudit.reach.nodes import GroupSet


class Place(StrEnum):
    """A filter between a member and a peer outside the cluster."""

    ADDRESS = "address"
    """The member has no address of the family."""
    INTERFACE = "interface"
    """The member's interface could not be seen."""
    FABRIC = "fabric"
    """The member has no EFA interface."""
    GROUPS = "groups"
    """The member's groups."""
    ACL = "acl"
    """The network ACL of the member's subnet."""
    ACL_ANSWER = "acl-answer"
    """The same, for the answer."""
    ROUTE = "route"
    """The routes of the member's subnet, for the packet or for the answer."""
    PUBLIC_ADDRESS = "public-address"
    """The way leads by an internet gateway, and the member has no public address."""
    PEER_GROUPS = "peer-groups"
    """The groups of the peer's interfaces, or its group alone; so with what follows."""
    PEER_ACL = "peer-acl"
    PEER_ACL_ANSWER = "peer-acl-answer"
    PEER_ROUTE = "peer-route"


OUT = {
    Layer.ADDRESS: Place.ADDRESS,
    Layer.INTERFACE: Place.INTERFACE,
    Layer.EGRESS: Place.GROUPS,
    Layer.ACL_OUT: Place.ACL,
    Layer.ROUTE: Place.ROUTE,
    Layer.ACL_IN: Place.PEER_ACL,
    Layer.INGRESS: Place.PEER_GROUPS,
    Layer.RETURN_OUT: Place.PEER_ACL_ANSWER,
    Layer.RETURN_ROUTE: Place.PEER_ROUTE,
    Layer.RETURN_IN: Place.ACL_ANSWER,
}
"""What the layers of a path are to a member that dials."""
IN = {
    **OUT,
    Layer.EGRESS: Place.PEER_GROUPS,
    Layer.ACL_OUT: Place.PEER_ACL,
    Layer.ROUTE: Place.PEER_ROUTE,
    Layer.ACL_IN: Place.ACL,
    Layer.INGRESS: Place.GROUPS,
    Layer.RETURN_OUT: Place.ACL_ANSWER,
    Layer.RETURN_ROUTE: Place.ROUTE,
    Layer.RETURN_IN: Place.PEER_ACL_ANSWER,
}
"""What they are to a member that is dialled."""


class Side(StrEnum):
    """What is known of the peer's own side."""

    NONE = "none"
    """The peer is addresses: there is nothing to read."""
    INTERFACES = "interfaces"
    """The interfaces that are the peer were read, with their groups, ACLs and routes."""
    GROUP = "group"
    """Only its group was read."""
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Question:
    """Whether some members reach a peer, or are reached by it, on every one of some ports."""

    members: int
    """A set of nodes."""
    peer: Peer
    outbound: bool
    """The members dial."""
    protocol: str
    ports: PortSet


@dataclass(frozen=True, slots=True)
class Gap:
    """A filter that stops some members, or of which it can't be known whether it does."""

    place: Place
    members: int
    missing: PortSet
    """What does not pass: destination ports, for the answer those of the client."""
    certain: bool
    groups: GroupSet = None
    """The holder, for groups."""
    subnets: tuple[tuple[str, str], ...] = ()
    """Subnet and VPC ids: the holder, for ACLs and routes."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The verdict for each node that was asked about, and every filter that fails."""

    open: int
    closed: int
    unknown: int
    gaps: tuple[Gap, ...]
    side: Side
