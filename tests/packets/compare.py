"""
What sgaudit says about a snapshot beside what real packets do.

The matrix asks that the way back be open on the whole client port range. A real connection has one client port, so
its outcome is compared with the matrix for that port alone; that this agrees with the matrix for the range is seen
from the pairs that get several client ports, those at the boundaries of the ACLs among them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from sgaudit import snapshot
from sgaudit.errors import SgauditError
from sgaudit.model import Family
from sgaudit.ports import CLIENT_PORTS, PortSet
from sgaudit.reach.matrix import Matrix, build
from sgaudit.selection import Interfaces, Selection, select
from tests.packets.lab import Lab
from tests.packets.probes import Probe

MEMBERS = 8
PORTS = 10
RANDOM_PORTS = 2
CLIENTS = 6
SPREAD = 2
"""Ports of a pair that are tried from each of the client ports; the others are tried from one."""
QUIET, QUIETER = 0.2, 1.5
"""Seconds without an answer after which the rest counts as blocked, and when a disagreement is looked at again."""


@dataclass(frozen=True)
class Disagreement:
    """A probe whose outcome isn't what the matrix says."""

    probe: Probe
    expected: bool
    answered: bool


@dataclass
class Compared:
    """Counts of what was compared."""

    networks: int = 0
    unusable: int = 0
    connections: int = 0
    exchanges: int = 0
    ipv6: int = 0
    answered: int = 0
    again: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)

    def add(self, other: Compared) -> None:
        """Count another's in."""
        self.networks += other.networks
        self.unusable += other.unusable
        self.connections += other.connections
        self.exchanges += other.exchanges
        self.ipv6 += other.ipv6
        self.answered += other.answered
        self.again += other.again
        self.disagreements += other.disagreements

    def __str__(self) -> str:
        return (
            f"{self.networks} networks ({self.unusable} left out), {self.connections} connections, "
            f"{self.exchanges} exchanges of datagrams, {self.ipv6} of both over IPv6, {self.answered} answered, "
            f"{self.again} tried again, {len(self.disagreements)} disagreements"
        )


class Trial:
    """A snapshot, the probes for it, and what the matrices say about these."""

    def __init__(self, document: Mapping[str, Any], seed: int) -> None:
        self.document = document
        self.random = random.Random(seed)
        self.snapshot = snapshot.parse(document)
        self.members = select(self.snapshot, Selection(everything=True, interfaces=Interfaces.ALL))
        self.edges = sorted(edges_of(document))
        wanted = {port for edge in self.edges for port in (edge - 1, edge)} & set(range(1, 65536))
        inside = [port for port in sorted(wanted) if port in CLIENT_PORTS]
        ends = [32768, 60999]
        others = [port for port in inside if port not in ends]
        self.clients = ends + self._some(others, CLIENTS - len(ends) - 1) + [self.random.randint(32769, 60998)]
        served = sorted(wanted - set(self.clients))
        self.ports = self._some(served, PORTS)
        while len(self.ports) < PORTS + RANDOM_PORTS:
            port = self.random.randint(1, 65535)
            if port not in self.ports and port not in self.clients:
                self.ports.append(port)
        # Where two VPCs have the same addresses, a packet may reach one that has the target's address but isn't it.
        taken = Counter(address for raw in interfaces_of(document) for address in addresses_of(raw))
        self.shared = {address for address, count in taken.items() if count > 1}
        self.turns = cycle(self.clients)
        self.matrices: dict[tuple[Family, int | None], Matrix] = {}

    def _some(self, items: Sequence[int], count: int) -> list[int]:
        return sorted(self.random.sample(items, min(len(items), count)))

    def matrix(self, family: Family, client_port: int | None = None) -> Matrix:
        """Give the matrix for one client port, or for the whole range."""
        key = (family, client_port)
        if key not in self.matrices:
            ports = CLIENT_PORTS if client_port is None else PortSet.single(client_port)
            self.matrices[key] = build(self.snapshot, self.members, family=family, client_ports=ports)
        return self.matrices[key]

    def pairs(self, family: Family) -> Iterator[tuple[int, int]]:
        """Go through the ordered pairs of the first interfaces that have an address and a subnet."""
        nodes = self.matrix(family).nodes
        usable = [
            node.index
            for node in nodes
            if node.address and node.interface and node.interface.subnet_id and node.address not in self.shared
        ]
        usable = usable[:MEMBERS]
        return ((source, target) for source in usable for target in usable if source != target)

    @property
    def interfaces(self) -> list[str]:
        """The interfaces that the twin needs."""
        found = {
            node.interface.interface_id
            for family in Family
            for index in {index for pair in self.pairs(family) for index in pair}
            if (node := self.matrix(family).nodes[index]).interface is not None
        }
        return sorted(found)

    def probes(self) -> Iterator[Probe]:
        """List all attempts whose outcome the matrix is sure of."""
        half = {"tcp": self.ports, "udp": self.ports[::2]}
        for family in Family:
            for source, target in self.pairs(family):
                for protocol, ports in half.items():
                    spread = self._likely(family, source, target, protocol)
                    for port, client in self._attempts(ports, spread):
                        if self.certain(family, source, target, protocol, port, client):
                            yield self._probe(family, source, target, protocol, port, client)

    def _attempts(self, ports: Sequence[int], spread: Sequence[int]) -> Iterator[tuple[int, int]]:
        for port in ports:
            clients = self.clients if port in spread else [next(self.turns)]
            yield from ((port, client) for client in clients)

    def _likely(self, family: Family, source: int, target: int, protocol: str) -> list[int]:
        """Choose the ports for which the way back matters most: those that pass for one client port at least."""
        for client in self.clients:
            found = self.matrix(family, client).open_ports(source, target, protocol)
            hopeful = [port for port in self.ports if port in found]
            if hopeful:
                return hopeful[:SPREAD]
        return self.ports[:1]

    def certain(self, family: Family, source: int, target: int, protocol: str, port: int, client: int) -> bool:
        """Tell whether the verdict rests on nothing that could not be read."""
        matrix = self.matrix(family, client)
        sure = matrix.open_ports(source, target, protocol)
        return (port in sure) == (port in matrix.possible_ports(source, target, protocol))

    def _probe(self, family: Family, source: int, target: int, protocol: str, port: int, client: int) -> Probe:
        here, there = (self.matrix(family).nodes[index] for index in (source, target))
        assert here.interface is not None
        assert there.interface is not None
        return Probe(
            here.interface.interface_id,
            here.address,
            there.interface.interface_id,
            there.address,
            protocol,
            port,
            client,
        )

    def expected(self, probe: Probe) -> tuple[bool, bool]:
        """Tell what the matrix says about an attempt: from its own client port, and from all of the range."""
        family = Family.IPV6 if ":" in probe.source_address else Family.IPV4
        index = {(node.interface and node.interface.interface_id): node.index for node in self.matrix(family).nodes}
        source, target = index[probe.source], index[probe.target]
        one, whole = (
            probe.port in matrix.open_ports(source, target, probe.protocol)
            for matrix in (self.matrix(family, probe.client_port), self.matrix(family))
        )
        return one, whole


def interfaces_of(document: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Go through the interfaces of a raw snapshot, each once."""
    found: dict[str, Mapping[str, Any]] = {}
    for reservation in document.get("Reservations") or ():
        for instance in reservation["Instances"]:
            found |= {raw["NetworkInterfaceId"]: raw for raw in instance.get("NetworkInterfaces") or ()}
    found |= {raw["NetworkInterfaceId"]: raw for raw in document.get("NetworkInterfaces") or ()}
    return found.values()


def addresses_of(raw: Mapping[str, Any]) -> set[str]:
    """Collect the addresses of a raw interface."""
    found = {item["PrivateIpAddress"] for item in raw.get("PrivateIpAddresses") or ()}
    found |= {item["Ipv6Address"] for item in raw.get("Ipv6Addresses") or ()}
    return found | ({raw["PrivateIpAddress"]} if raw.get("PrivateIpAddress") else set())


def edges_of(document: Mapping[str, Any]) -> set[int]:
    """Collect the ports at which some rule begins, or has ended."""
    found: set[int] = set()
    for group in document.get("SecurityGroups") or ():
        for row in (*(group.get("IpPermissions") or ()), *(group.get("IpPermissionsEgress") or ())):
            found |= edges_of_range(row.get("IpProtocol"), row.get("FromPort"), row.get("ToPort"))
    for acl in document.get("NetworkAcls") or ():
        for entry in acl.get("Entries") or ():
            ports = entry.get("PortRange") or {}
            found |= edges_of_range(entry.get("Protocol"), ports.get("From"), ports.get("To"))
    return found


def edges_of_range(protocol: object, low: int | None, high: int | None) -> set[int]:
    """Give where a range of TCP or UDP ports begins, and the port after its end."""
    if protocol not in ("tcp", "udp", "6", "17") or low is None or high is None:
        return set()
    return {low, high + 1}


def trial_of(document: Mapping[str, Any], seed: int) -> Trial | None:
    """Make the trial of a snapshot; None where nothing can be asked of it."""
    try:
        return Trial(document, seed)
    except SgauditError:
        return None


def observe(lab: Lab, trial: Trial) -> dict[Probe, bool]:
    """Send the packets: what got an answer."""
    probes = list(trial.probes())
    if not probes:
        return {}
    lab.build(trial.document, trial.interfaces)
    found: dict[Probe, bool] = {}
    for share in shares(probes):
        found |= dict(zip(share, lab.probe(share, QUIET), strict=True))
    return found


def shares(probes: Sequence[Probe], size: int = 3000) -> Iterator[Sequence[Probe]]:
    """Cut a list so that there are enough descriptors, and each attempt is made once."""
    probes = list(dict.fromkeys(probes))
    for start in range(0, len(probes), size):
        yield probes[start : start + size]


def disagreements(trial: Trial, observed: Mapping[Probe, bool]) -> list[Disagreement]:
    """Compare what was seen with what the matrix says."""
    found = []
    for probe, answered in observed.items():
        one, whole = trial.expected(probe)
        if one is not answered or (whole and not answered):
            found.append(Disagreement(probe, one or whole, answered))
    return found


def compare(lab: Lab, document: Mapping[str, Any], seed: int) -> Compared:
    """Compare one snapshot; what disagrees is tried again with patience, for the machine may be busy."""
    trial = trial_of(document, seed)
    observed = observe(lab, trial) if trial is not None else {}
    if trial is None or not observed:
        return Compared(unusable=1)
    differing = disagreements(trial, observed)
    again = [item.probe for item in differing]
    if again:
        observed |= dict(zip(again, lab.probe(again, QUIETER), strict=True))
        differing = disagreements(trial, observed)
    return Compared(
        networks=1,
        connections=sum(probe.protocol == "tcp" for probe in observed),
        exchanges=sum(probe.protocol == "udp" for probe in observed),
        ipv6=sum(":" in probe.source_address for probe in observed),
        answered=sum(observed.values()),
        again=len(again),
        disagreements=differing,
    )
