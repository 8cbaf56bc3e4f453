"""Policies and members to requirements."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from sgaudit.errors import UsageError
from sgaudit.model import Cidr, GroupPeer, Member
from sgaudit.policy.model import (
    EVERYBODY,
    HEAD,
    Constraint,
    ConstraintRequirement,
    Exposure,
    ExposureRequirement,
    ExternalRequirement,
    Need,
    PeerSpec,
    Policy,
    PortSpec,
    Protocol,
    Requirement,
    Requirements,
    Skipped,
    Topology,
)
from sgaudit.policy.roles import Holders, find_head, holders
from sgaudit.policy.settings import NotSetError, Settings
from sgaudit.ports import ALL, NONE, PortSet

T = TypeVar("T", Requirement, ExternalRequirement, ConstraintRequirement, ExposureRequirement)
NO_SETTINGS: Mapping[str, str] = {}


def resolve(
    policies: Sequence[Policy],
    members: Sequence[Member],
    *,
    settings: Mapping[str, str] = NO_SETTINGS,
    head: str | None = None,
) -> Requirements:
    """
    Turn policies into requirements between members and with peers outside.

    What several policies ask alike counts once, by its worst severity. A need that can't be judged, as
    a parameter is not set or nobody has a role, is in `skipped` with its reason.

    Args:
        policies: at least one, as `load` gives them.
        members: the cluster.
        settings: name of a parameter to its value as text; it goes to each policy that has the name.
        head: id or Name tag of the member that is the head; without it a policy's tags may tell.

    Raises:
        UsageError: a setting is unknown or has a wrong value, the head is no member, or two different
            policies have one name.
    """
    policies = _distinct(policies)
    known = Settings.read(policies, settings)
    head_id = None if head is None else find_head(head, members)
    parts = [_Resolver(policy, known, holders(policy, members, head_id)) for policy in policies]
    return Requirements(
        policies=tuple(policy.name for policy in policies),
        between=_merged(
            (item for part in parts for item in part.between),
            lambda item: (item.sources, item.targets, item.protocol, item.ports),
            _join_requirements,
        ),
        external=_merged(
            (item for part in parts for item in part.external),
            lambda item: (item.members, item.peer, item.outbound, item.protocol, item.ports),
        ),
        constraints=_merged(
            (part.constraint(item) for part in parts for item in part.policy.constraints),
            lambda item: (item.kind, item.members, item.instance_types),
        ),
        exposures=_exposures(parts),
        skipped=tuple(dict.fromkeys(item for part in parts for item in part.skipped)),
        parameters=known.values,
        heads=frozenset().union(*(part.roles.known_heads for part in parts)),
    )


def _distinct(policies: Sequence[Policy]) -> tuple[Policy, ...]:
    by_name: dict[str, Policy] = {}
    for policy in policies:
        first = by_name.setdefault(policy.name, policy)
        if first != policy:
            raise UsageError(
                f"two different policies are called {policy.name}: {first.path} and {policy.path}",
                hint="give one of them a name of its own",
            )
    return tuple(by_name.values())


def _exposures(parts: Sequence[_Resolver]) -> tuple[ExposureRequirement, ...]:
    found = _merged(
        (part.exposure(item) for part in parts for item in part.policy.exposures),
        lambda item: (item.id, item.sources, item.except_sources, item.members),
        _join_exposures,
    )
    return tuple(item for item in found if item.ports)


def _merged(items: Iterable[T], key: Callable[[T], Hashable], join: Callable[[T, T], T] | None = None) -> tuple[T, ...]:
    """Make one of those with the same key: the first gives the words; `join` sees to what is special."""
    found: dict[Hashable, T] = {}
    for item in items:
        at = key(item)
        if at not in found:
            found[at] = item
            continue
        joined = join(found[at], item) if join else found[at]
        found[at] = replace(
            joined,
            policies=_union(joined.policies, item.policies),
            source=_union(joined.source, item.source),
            severity=max(joined.severity, item.severity, key=lambda severity: severity.rank),
        )
    return tuple(found.values())


def _join_requirements(one: Requirement, other: Requirement) -> Requirement:
    return replace(
        one,
        ip_ordered=one.ip_ordered and other.ip_ordered,
        head_assumed=one.head_assumed and other.head_assumed,
    )


def _join_exposures(one: ExposureRequirement, other: ExposureRequirement) -> ExposureRequirement:
    return replace(one, ports=_port_union(one.ports, other.ports))


def _union(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def _port_union(*parts: Iterable[tuple[Protocol, PortSet]]) -> tuple[tuple[Protocol, PortSet], ...]:
    found = {Protocol.TCP: NONE, Protocol.UDP: NONE}
    for protocol, ports in chain.from_iterable(parts):
        found[protocol] |= ports
    return tuple((protocol, ports) for protocol, ports in found.items() if ports)


class _Resolver:
    """One policy's needs, as requirements of its own."""

    def __init__(self, policy: Policy, settings: Settings, roles: Holders) -> None:
        self.policy = policy
        self.settings = settings
        self.roles = roles
        self.peers = {peer.name: peer for peer in policy.peers}
        self.between: list[Requirement] = []
        self.external: list[ExternalRequirement] = []
        self.skipped: list[Skipped] = []
        for need in policy.needs:
            self.need(need)

    def need(self, need: Need) -> None:
        ends = [name for name in (need.source, need.target) if name not in self.peers]
        empty = [name for name in ends if not self.roles.by_role[name]]
        if empty:
            self.skip(need, f"no member has the role {empty[0]}")
            return
        try:
            ports = self.ports(need)
            if len(ends) == 2:
                self.between += self.between_members(need, ports)
            else:
                self.external += self.with_peer(need, ports)
        except NotSetError as error:
            self.skip(need, f"the parameter {error.name} is not set (--set {error.name}=VALUE)")

    def skip(self, need: Need, reason: str) -> None:
        external = not self.peers.keys().isdisjoint((need.source, need.target))
        self.skipped.append(Skipped(self.policy.name, need.id, reason, external))

    def ports(self, need: Need) -> PortSet:
        return self.settings.port_set(self.policy.name, need.ports) if need.protocol.has_ports else ALL

    def assumed(self, need: Need) -> bool:
        return HEAD in {need.source, need.target} and not self.roles.known_heads

    def between_members(self, need: Need, ports: PortSet) -> Iterator[Requirement]:
        sources, targets = self.roles.by_role[need.source], self.roles.by_role[need.target]
        if need.topology is Topology.MESH and sources != targets:
            sources = targets = sources | targets
        ways = [(sources, targets)]
        if need.topology is Topology.DUPLEX and sources != targets:
            ways.append((targets, sources))
        for one, other in ways:
            yield Requirement(
                policies=(self.policy.name,),
                need=need.id,
                protocol=need.protocol,
                ports=ports,
                sources=one,
                targets=other,
                topology=need.topology,
                severity=need.severity,
                why=need.why,
                source=need.references,
                ip_ordered=need.ip_ordered,
                head_assumed=self.assumed(need),
            )

    def with_peer(self, need: Need, ports: PortSet) -> Iterator[ExternalRequirement]:
        outbound = need.target in self.peers
        role, name = (need.source, need.target) if outbound else (need.target, need.source)
        ways = (outbound, not outbound) if need.topology is Topology.DUPLEX else (outbound,)
        for peer in self.settings.peer_set(self.policy.name, self.peers[name].at):
            if need.protocol is Protocol.EFA and not isinstance(peer, GroupPeer):
                self.skip(need, f"EFA traffic is admitted by security group only, and {name} is {peer}")
                continue
            for way in ways:
                yield ExternalRequirement(
                    policies=(self.policy.name,),
                    need=need.id,
                    protocol=need.protocol,
                    ports=ports,
                    members=self.roles.by_role[role],
                    peer=peer,
                    peer_name=name,
                    outbound=way,
                    severity=need.severity,
                    why=need.why,
                    source=need.references,
                    head_assumed=self.assumed(need),
                )

    def constraint(self, constraint: Constraint) -> ConstraintRequirement:
        return ConstraintRequirement(
            policies=(self.policy.name,),
            kind=constraint.kind,
            members=frozenset().union(*(self.roles.by_role[role] for role in constraint.roles)),
            severity=constraint.severity,
            why=constraint.why,
            source=constraint.references,
            instance_types=constraint.instance_types,
        )

    def exposure(self, exposure: Exposure) -> ExposureRequirement:
        spared = self.set_ports(exposure.except_ports)
        ports = self.exposed(exposure)
        return ExposureRequirement(
            policies=(self.policy.name,),
            id=exposure.id,
            ports=_port_union((protocol, found - spared) for protocol, found in ports),
            sources=self.cidrs(exposure.sources),
            except_sources=self.cidrs(exposure.except_sources),
            members=self.roles.by_role[EVERYBODY],
            severity=exposure.severity,
            why=exposure.why,
            source=exposure.references,
        )

    def exposed(self, exposure: Exposure) -> Iterator[tuple[Protocol, PortSet]]:
        """Tell the ports of an exposure: its own, or those that members listen on by the needs."""
        if exposure.ports is not None:
            yield exposure.protocol, self.set_ports(exposure.ports)
            return
        for need in self.policy.needs:
            if need.target in self.peers and need.topology is not Topology.DUPLEX:
                continue
            if need.protocol is Protocol.ALL:
                yield from ((Protocol.TCP, ALL), (Protocol.UDP, ALL))
            elif need.protocol.has_ports:
                yield need.protocol, self.set_ports(need.ports)

    def set_ports(self, spec: PortSpec) -> PortSet:
        """Tell those ports that are known: an exception or a listener that is not set up means nothing."""
        known = tuple(name for name in spec.parameters if (self.policy.name, name) in self.settings.ports)
        return self.settings.port_set(self.policy.name, PortSpec(spec.fixed, known))

    def cidrs(self, spec: PeerSpec) -> tuple[Cidr, ...]:
        known = tuple(name for name in spec.parameters if (self.policy.name, name) in self.settings.peers)
        found = self.settings.peer_set(self.policy.name, PeerSpec(spec.fixed, known))
        return tuple(peer for peer in found if isinstance(peer, Cidr))
