"""
What a file says that no schema can judge: names that must exist, and keys that must go together.

It reads the raw document and steps over what has the wrong shape, so that a user sees these mistakes
and the schema's in one go.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sgaudit.policy.mistakes import did_you_mean
from sgaudit.policy.model import EVERYBODY, HEAD, ParameterKind, Protocol
from sgaudit.policy.values import NAME, parameter_value, reference, shown
from sgaudit.policy.yaml_text import Document, Mistake, Path, key_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.policy.model import Policy

NAMED = re.compile(NAME)
BUILT_IN = frozenset({EVERYBODY, HEAD})
PORT_KINDS = frozenset({ParameterKind.PORT, ParameterKind.RANGE})
CIDR_KINDS = frozenset({ParameterKind.CIDR})
PEER_KINDS = frozenset({ParameterKind.CIDR, ParameterKind.PEER})
SEPARATE = "separate_instance_types"


@dataclass(slots=True)
class _Names:
    """What the file and those that it extends declare."""

    roles: set[str] = field(default_factory=lambda: set(BUILT_IN))
    peers: set[str] = field(default_factory=set)
    parameters: dict[str, str] = field(default_factory=dict)
    """Name to kind, as written."""


def check(document: Document, parents: tuple[Policy, ...]) -> list[Mistake]:
    """Find every such mistake in a document that is a mapping."""
    return list(_Checker(document, parents).mistakes())


class _Checker:
    def __init__(self, document: Document, parents: tuple[Policy, ...]) -> None:
        self.document = document
        self.names = _Names()
        for parent in parents:
            self.names.roles.update(role.name for role in parent.roles)
            self.names.peers.update(peer.name for peer in parent.peers)
            self.names.parameters.update((item.name, item.kind) for item in parent.parameters)
        self.names.roles.update(filter(NAMED.fullmatch, self.mapping("roles")))
        self.names.peers.update(filter(NAMED.fullmatch, self.mapping("peers")))
        for name, entry in self.mapping("parameters").items():
            if not NAMED.fullmatch(name):
                continue
            kind = entry.get("kind") if isinstance(entry, dict) else None
            self.names.parameters[name] = kind if isinstance(kind, str) else ""

    def mapping(self, key: str) -> dict[str, Any]:
        value = self.document.value.get(key)
        return value if isinstance(value, dict) else {}

    def entries(self, key: str) -> Iterator[tuple[Path, dict[str, Any]]]:
        value = self.document.value.get(key)
        for number, entry in enumerate(value if isinstance(value, list) else ()):
            if isinstance(entry, dict):
                yield (key, number), entry

    def at(self, path: Path, text: str, *, key: bool = False) -> Mistake:
        return Mistake(self.document.place(path, key=key), key_text(path), text)

    def mistakes(self) -> Iterator[Mistake]:
        yield from self.left_empty((), self.document.value)
        yield from self.declarations()
        yield from self.parameters()
        for path, need in self.entries("needs"):
            yield from self.need(path, need)
        for path, constraint in self.entries("constraints"):
            yield from self.constraint(path, constraint)
        for path, exposure in self.entries("exposure"):
            yield from self.exposure(path, exposure)
        yield from self.unique("needs")
        yield from self.unique("exposure")

    def left_empty(self, path: Path, value: Any) -> Iterator[Mistake]:
        if value is None:
            yield self.at(path, "is empty; leave the key out or give it a value")
        items = value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
        for step, item in items:
            yield from self.left_empty((*path, step), item)

    def declarations(self) -> Iterator[Mistake]:
        parts = ("extends", "needs", "constraints", "exposure")
        if not any(self.document.value.get(part) for part in parts):
            yield self.at((), f"the policy asks for nothing; give it one of {', '.join(parts)}")
        for name, role in self.mapping("roles").items():
            path: Path = ("roles", name)
            if name == EVERYBODY:
                yield self.at(path, "every member has this role; it can't be declared", key=True)
            elif isinstance(role, dict) and not set(role) - {"description"} and name != HEAD:
                yield self.at(
                    path, "says nothing about who it is; give it tag, instance_id, security_group, subnet or default"
                )
        for name, peer in self.mapping("peers").items():
            if name in self.names.roles:
                yield self.at(("peers", name), "is a role already; a peer needs a name of its own", key=True)
            at = peer.get("at") if isinstance(peer, dict) else None
            yield from self.references(("peers", name, "at"), at, PEER_KINDS)

    def parameters(self) -> Iterator[Mistake]:
        for name, entry in self.mapping("parameters").items():
            default = entry.get("default") if isinstance(entry, dict) else None
            kind = self.names.parameters.get(name)
            items = default if isinstance(default, list) else [default]
            fit = all(isinstance(item, int | str) and not isinstance(item, bool) for item in items)
            if default is None or not fit or kind not in set(ParameterKind):
                continue
            try:
                parameter_value(ParameterKind(kind), ",".join(map(str, items)))
            except ValueError as error:
                yield self.at(("parameters", name, "default"), str(error))

    def references(self, path: Path, value: Any, kinds: frozenset[ParameterKind]) -> Iterator[Mistake]:
        """Check every `${name}` in a value or a list of values."""
        items = value if isinstance(value, list) else [value]
        for number, item in enumerate(items):
            name = reference(item)
            at = (*path, number) if isinstance(value, list) else path
            if name is None:
                continue
            known = self.names.parameters
            if name not in known:
                text = f"no parameter is called {name}{did_you_mean(name, known)}"
                declared = ", ".join(sorted(known)) or "none"
                yield self.at(at, f"{text}; declared: {declared}")
            elif known[name] in set(ParameterKind) and known[name] not in kinds:
                text = f"the parameter {name} holds a {known[name]}; this place takes {' or '.join(sorted(kinds))}"
                yield self.at(at, text)

    def need(self, path: Path, need: dict[str, Any]) -> Iterator[Mistake]:
        ends = [need.get("from"), need.get("to")]
        for key, name in zip(("from", "to"), ends, strict=True):
            known = self.names.roles | self.names.peers
            if isinstance(name, str) and name not in known:
                text = f"{shown(name)} is neither a role nor a peer{did_you_mean(name, known)}"
                yield self.at((*path, key), f"{text}; declared: {', '.join(sorted(known))}")
        outside = [name for name in ends if isinstance(name, str) and name in self.names.peers]
        if len(outside) == 2:
            yield self.at((*path, "to"), "both ends are outside the cluster; one must be a role")
        yield from self.need_ports(path, need)
        yield from self.references((*path, "ports"), need.get("ports"), PORT_KINDS)
        if outside and need.get("topology") == "mesh":
            yield self.at((*path, "topology"), "a peer outside the cluster has no mesh; allowed here: star, duplex")
        if need.get("ip_ordered") is True:
            mesh = need.get("topology", "mesh" if ends[0] == ends[1] else "star") == "mesh"
            if not mesh or outside or need.get("protocol", "tcp") != "tcp":
                yield self.at((*path, "ip_ordered"), "goes with a tcp mesh between members only")
        if need.get("protocol") == Protocol.EFA and outside:
            yield from self.groups_only((*path, "protocol"), outside[0])

    def need_ports(self, path: Path, need: dict[str, Any]) -> Iterator[Mistake]:
        protocol = need.get("protocol", "tcp")
        if protocol not in set(Protocol):
            return
        if Protocol(protocol).has_ports and "ports" not in need:
            yield self.at(path, f"{protocol} needs ports: a port, a range, all, ${{parameter}}, or a list of them")
        elif not Protocol(protocol).has_ports and "ports" in need:
            yield self.at((*path, "ports"), f"{protocol} has no ports; leave the key out", key=True)

    def groups_only(self, path: Path, name: str) -> Iterator[Mistake]:
        entry = self.mapping("peers").get(name)
        at = entry.get("at") if isinstance(entry, dict) else None
        for item in at if isinstance(at, list) else [at]:
            named = reference(item)
            kind = self.names.parameters.get(named) if named else None
            if kind == ParameterKind.CIDR or (isinstance(item, str) and not named and not item.startswith("sg-")):
                yield self.at(path, f"efa is admitted by security group only, and the peer {name} has an address")

    def constraint(self, path: Path, constraint: dict[str, Any]) -> Iterator[Mistake]:
        roles = constraint.get("roles")
        for number, name in enumerate(roles if isinstance(roles, list) else [roles]):
            if isinstance(name, str) and name not in self.names.roles:
                at = (*path, "roles", number) if isinstance(roles, list) else (*path, "roles")
                text = f"no role is called {shown(name)}{did_you_mean(name, self.names.roles)}"
                yield self.at(at, f"{text}; declared: {', '.join(sorted(self.names.roles))}")
        if constraint.get("kind") == SEPARATE and "instance_types" not in constraint:
            yield self.at(path, f"{SEPARATE} needs instance_types, such as [p4d.*]")
        if constraint.get("kind") != SEPARATE and "instance_types" in constraint:
            yield self.at((*path, "instance_types"), f"goes with the kind {SEPARATE} only", key=True)

    def exposure(self, path: Path, exposure: dict[str, Any]) -> Iterator[Mistake]:
        ports = exposure.get("ports", "policy")
        if ports == "policy" and "protocol" in exposure:
            yield self.at(
                (*path, "protocol"), "goes with ports that are written out; those of the policy have theirs", key=True
            )
        yield from self.references((*path, "ports"), ports, PORT_KINDS)
        yield from self.references((*path, "from"), exposure.get("from"), CIDR_KINDS)
        but = exposure.get("except")
        if isinstance(but, dict):
            yield from self.references((*path, "except", "ports"), but.get("ports"), PORT_KINDS)
            yield from self.references((*path, "except", "cidrs"), but.get("cidrs"), CIDR_KINDS)

    def unique(self, key: str) -> Iterator[Mistake]:
        first: dict[str, int] = {}
        for path, entry in self.entries(key):
            name = entry.get("id")
            if not isinstance(name, str):
                continue
            line = self.document.place((*path, "id")).line
            if name in first:
                yield self.at((*path, "id"), f"{shown(name)} stands twice; the first is in line {first[name]}")
            first.setdefault(name, line)
