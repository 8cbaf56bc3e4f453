"""Ports, peers and references to parameters, as text in a policy or after `--set`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgaudit.model import Cidr, GroupPeer, Peer, PrefixListPeer
from sgaudit.policy.model import ParameterKind, PeerSpec, PortSpec
from sgaudit.ports import HIGHEST, PortSet

if TYPE_CHECKING:
    from collections.abc import Iterable

NAME = r"[a-z][a-z0-9_-]*"
REFERENCE = re.compile(rf"\$\{{({NAME})\}}")
PORT = re.compile(r"(0|[1-9][0-9]{0,9})(-(0|[1-9][0-9]{0,9}))?", re.ASCII)
PORT_WORDS = "a port, a range such as 1024-65535, all or ${parameter}"
ID = re.compile(r"(sg|pl)-[0-9a-zA-Z_-]+", re.ASCII)


def shown(value: object) -> str:
    """Write a value from a file for a message: short, on one line, quotes around text."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:56]}...{text[-1]}"


def reference(value: object) -> str | None:
    """Tell which parameter `${name}` names; None for anything else."""
    found = REFERENCE.fullmatch(value) if isinstance(value, str) else None
    return found[1] if found else None


def port_spec(value: object) -> PortSpec:
    """
    Read one item of a list of ports: a number, a range, `all` or `${parameter}`.

    Raises:
        ValueError: it is something else.
    """
    name = reference(value)
    if name is not None:
        return PortSpec(parameters=(name,))
    plain = isinstance(value, int | str) and not isinstance(value, bool)
    if not plain:
        raise ValueError(f"{shown(value)} is not {PORT_WORDS}")
    return PortSpec(fixed=port_set(str(value), PORT_WORDS))


def port_set(text: str, wanted: str = "a port or a range such as 1024-65535") -> PortSet:
    """
    Read ports and ranges with commas between, or `all`. Leading zeros are refused: readers differ on them.

    Raises:
        ValueError: a part is something else.
    """
    if text == "all":
        return PortSet.single(0, HIGHEST)
    ranges = []
    for part in text.split(","):
        found = PORT.fullmatch(part.strip())
        if not found:
            raise ValueError(f"{shown(part.strip())} is not {wanted}")
        low, high = int(found[1]), int(found[3] or found[1])
        if not low <= high <= HIGHEST:
            raise ValueError(f"{part.strip()} is not within 0-{HIGHEST}, or its ends are swapped")
        ranges.append((low, high))
    return PortSet.of(ranges)


def peer(text: str, *, groups: bool = True) -> Peer:
    """
    Read a CIDR block or an address and, with `groups`, the id of a security group or a prefix list.

    Raises:
        ValueError: it is something else.
    """
    if groups and ID.fullmatch(text):
        return GroupPeer(text) if text.startswith("sg-") else PrefixListPeer(text)
    try:
        return Cidr.parse(text)
    except ValueError:
        wanted = "a CIDR block such as 10.0.0.0/16"
        if groups:
            wanted += ", a security group (sg-...) or a prefix list (pl-...)"
        raise ValueError(f"{shown(text)} is not {wanted}") from None


def peer_spec(value: object, *, groups: bool = True) -> PeerSpec:
    """
    Read one item of a list of addresses: what `peer` reads, or `${parameter}`.

    Raises:
        ValueError: it is something else.
    """
    name = reference(value)
    if name is not None:
        return PeerSpec(parameters=(name,))
    return PeerSpec(fixed=(peer(value if isinstance(value, str) else shown(value), groups=groups),))


def join_ports(specs: Iterable[PortSpec]) -> PortSpec:
    """Make one of several."""
    fixed = PortSet()
    names: list[str] = []
    for spec in specs:
        fixed |= spec.fixed
        names += spec.parameters
    return PortSpec(fixed, tuple(dict.fromkeys(names)))


def join_peers(specs: Iterable[PeerSpec]) -> PeerSpec:
    """Make one of several."""
    specs = tuple(specs)
    fixed = dict.fromkeys(item for spec in specs for item in spec.fixed)
    return PeerSpec(tuple(fixed), tuple(dict.fromkeys(name for spec in specs for name in spec.parameters)))


def parameter_value(kind: ParameterKind, text: str) -> PortSet | tuple[Peer, ...]:
    """
    Read what is written after `--set name=`, or a default.

    Raises:
        ValueError: it does not fit the kind.
    """
    if kind is ParameterKind.PORT:
        ports = port_set(text, "a port")
        if len(ports) != 1 or "," in text:
            raise ValueError(f"{shown(text)} is not one port")
        return ports
    if kind is ParameterKind.RANGE:
        return port_set(text)
    groups = kind is ParameterKind.PEER
    return tuple(dict.fromkeys(peer(part.strip(), groups=groups) for part in text.split(",")))
