"""Exposure by ranges of addresses equals the judge that asks about one address at a time, on random networks."""

from __future__ import annotations

import ast
import ipaddress
import random
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from sgaudit.model import Cidr, Family, Interface, Member, Snapshot, parse_address
from sgaudit.policy.model import ExposureRequirement, Protocol, Requirements
from sgaudit.ports import PortSet
from sgaudit.reach import exposure, matrix
from sgaudit.rules import open_to_world
from sgaudit.rules.context import Context
from sgaudit.rules.openings import Question, Zone, groups_at, hits
from sgaudit.selection import Interfaces, Selection, TagFilter, select
from sgaudit.severity import Severity
from sgaudit.snapshot import parse
from tests import exposure_judge as module
from tests.exposure_judge import BLOCKED, OPEN, Address, World, public_number
from tests.networks import networks, random_network

ALL = Selection(tags=(TagFilter("cluster", ("train",)),), include_stopped=True, interfaces=Interfaces.ALL)
PORTS = (0, 22, 1023, 1024, 29500, 40000, 60999, 61000, 65535)
FORBIDDEN = (22, 29500, 40000)
QUICK, FULL = 60, 800
pytestmark = pytest.mark.slow

Difference = tuple[Any, ...]


def published(document: dict[str, Any], seed: int) -> dict[str, Any]:
    """Give some interfaces public addresses, which random networks have none of; they belong to private ones."""
    chance = random.Random(seed)
    for interface in document.get("NetworkInterfaces") or ():
        if chance.random() < 0.5 and interface.get("PrivateIpAddress"):
            interface["Association"] = {"PublicIp": f"198.51.100.{chance.randrange(1, 255)}"}
    if "NetworkInterfaces" in document:
        by_id = {item["NetworkInterfaceId"]: item.get("Association") for item in document["NetworkInterfaces"]}
        for reservation in document["Reservations"]:
            for instance in reservation["Instances"]:
                for interface in instance["NetworkInterfaces"]:
                    if found := by_id.get(interface["NetworkInterfaceId"]):
                        interface["Association"] = found
    return document


def face_of(outside: exposure.Outside, interface: Interface) -> exposure.Face:
    groups = None if interface.groups is None else tuple(sorted(set(interface.groups)))
    found = [
        face
        for face, instance_ids in outside.faces.items()
        if (face.groups, face.subnet_id, face.vpc_id) == (groups, interface.subnet_id, interface.vpc_id)
        and interface.instance_id in instance_ids
    ]
    return found[0]


def interfaces_of(snapshot: Snapshot, members: tuple[Member, ...], family: Family) -> Iterator[Interface]:
    for member in members:
        for interface_id in member.instance.interface_ids:
            interface = snapshot.interfaces.get(interface_id)
            if interface is not None and (interface.ipv4 if family is Family.IPV4 else interface.ipv6):
                yield interface


def sampled(world: World, family: Family, most: int, seed: int) -> list[Address]:
    """Take some addresses: the first of each piece of the space, and one somewhere."""
    chance = random.Random(seed)
    found = list(world.boundaries(4 if family is Family.IPV4 else 6))
    found = chance.sample(found, min(most, len(found)))
    make = ipaddress.IPv4Address if family is Family.IPV4 else ipaddress.IPv6Address
    return [*found, make(chance.getrandbits(family.bits))]


def differences(document: dict[str, Any], *, most: int = 40, seed: int = 0) -> Iterator[Difference]:
    """Compare who gets in on which port, and what the routes say; give what differs."""
    snapshot, world = parse(document), World(document)
    members = select(snapshot, ALL)
    for family in Family:
        outside = exposure.build(snapshot, members, family)
        starts = [first for first, _ in outside.ranges]
        addresses = sampled(world, family, most, seed)
        for interface in interfaces_of(snapshot, members, family):
            raw = world.interfaces[interface.interface_id]
            face, place = face_of(outside, interface), (interface.subnet_id, interface.vpc_id)
            lead = outside.internet(*place)
            for protocol in ("tcp", "udp"):
                sure, maybe = (
                    outside.crowd.admitted(face.groups, place, protocol, possible=possible)
                    for possible in (False, True)
                )
                for address in addresses:
                    bit = bisect_right(starts, int(address)) - 1
                    for port in PORTS:
                        ours = (sure.at(port) >> bit & 1) + (maybe.at(port) >> bit & 1)
                        judged = world.gets_in(raw, address, protocol, port)
                        if ours != judged:
                            yield interface.interface_id, str(address), protocol, port, ours, judged
            for address in addresses:
                bit = bisect_right(starts, int(address)) - 1
                ours, judged = (lead[0] >> bit & 1) + (lead[1] >> bit & 1), world.internet(raw, address)
                if ours != judged:
                    yield interface.interface_id, str(address), "internet", ours, judged


def audited(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Give the groups that are open to the world by the rule, and how grave that is."""
    snapshot = parse(document)
    members = select(snapshot, ALL)
    forbidden = ExposureRequirement(
        policies=("test",),
        id="world",
        ports=((Protocol.TCP, PortSet.of((port, port) for port in FORBIDDEN)),),
        sources=(Cidr.parse("0.0.0.0/0"), Cidr.parse("::/0")),
        except_sources=(),
        members=frozenset(member.instance.instance_id for member in members),
        severity=Severity.ERROR,
        why="",
        source=(),
    )
    requirements = Requirements(("test",), (), (), (), (forbidden,), (), (), frozenset())
    context = Context(snapshot, matrix.build(snapshot, members), requirements)
    return sorted((item.resource.id, str(item.severity)) for item in open_to_world.check(context))


def judged(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Find the same one address at a time: each piece of the space, each port, each group of each interface."""
    world = World(document)
    ours = {address for interface in world.interfaces.values() for address in world.addresses(interface)}
    found: dict[str, str] = {}
    for version in (4, 6):
        for interface in world.interfaces.values():
            own = world.addresses(interface)
            association = interface.get("Association")
            if not any(
                address.version == version and str(address) != (association or {}).get("PublicIp") for address in own
            ):
                continue
            dialled = bool(association) if version == 4 else any(a.version == 6 and public_number(a) for a in own)
            blocks = [item for item in world.local_blocks(interface["VpcId"]) if item.version == version]
            groups = world.groups_of(interface)
            for address in world.boundaries(version):
                if not public_number(address) or address in ours or any(address in item for item in blocks):
                    continue
                for group_id in [""] if groups is None else groups:
                    if found.get(group_id) != "error" and any(
                        min(
                            world.group_admits(group_id, address, "tcp", port),
                            world.border(interface, address, "tcp", port),
                        )
                        > BLOCKED
                        for port in FORBIDDEN
                    ):
                        reached = dialled and world.internet(interface, address) > BLOCKED
                        found[group_id] = "error" if reached else "warning"
    return sorted(found.items())


def half(snapshot: Snapshot) -> tuple[Member, ...]:
    """Take every other instance as a member; the rest are other machines."""
    return tuple(member for member in select(snapshot, ALL) if int(member.instance.instance_id[2:]) % 2 == 0)


def machines(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Give the groups of members and the other machines' interfaces that they let in."""
    snapshot = parse(document)
    members = half(snapshot)
    requirements = Requirements(("test",), (), (), (), (), (), (), frozenset())
    context = Context(snapshot, matrix.build(snapshot, members), requirements)
    question = Question("test", (("tcp", PortSet.of((port, port) for port in FORBIDDEN)),), Severity.ERROR)
    found = {
        (group_id, node.interface.interface_id)
        for group_id in groups_at(context)
        for hit in hits(context, group_id, [question], Zone.NEIGHBOURS)
        if hit.by_group
        for node in hit.outside.others.nodes.pick(hit.sure)
        if node.interface
    }
    return sorted(found)


def judged_machines(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Find the same one pair of interfaces at a time."""
    world = World(document)
    ours = {member.instance.instance_id for member in half(parse(document))}
    live = {name for name, item in world.instances.items() if item["State"]["Name"] in ("running", "pending")}
    found = set()
    for interface in world.interfaces.values():
        for other in world.interfaces.values():
            if interface["Attachment"]["InstanceId"] not in ours or other["Attachment"]["InstanceId"] in ours:
                continue
            if other["Attachment"]["InstanceId"] not in live:
                continue
            for group_id in world.groups_of(interface) or ():
                # A group as peer stands for private addresses, never for a public one.
                for address in world.addresses({**other, "Association": None}):
                    own = [item for item in world.addresses(interface) if item.version == address.version]
                    if own and any(
                        world.names(group_id, other, "tcp", port)
                        and world.border(interface, address, "tcp", port, other) == OPEN
                        for port in FORBIDDEN
                    ):
                        found.add((group_id, other["NetworkInterfaceId"]))
    return sorted(found)


def test_other_machines_equal_the_judge() -> None:
    """Other machines that are let in by a group which they carry are those that the judge finds pair by pair."""
    wrong = {}
    for seed in range(QUICK):
        document = random_network(seed)
        if half(parse(document)) and machines(document) != judged_machines(document):
            wrong[seed] = machines(document), judged_machines(document)

    assert wrong == {}
    assert sum(bool(half(parse(random_network(seed))) and machines(random_network(seed))) for seed in range(QUICK)) > 5


def test_judge_shares_nothing_with_what_it_judges() -> None:
    """The judge imports neither sgaudit nor anything of the tests."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    found = [ast.unparse(item) for item in ast.walk(tree) if isinstance(item, ast.Import | ast.ImportFrom)]

    assert found == [
        "from __future__ import annotations",
        "import ipaddress",
        "from collections.abc import Iterator, Mapping",
        "from functools import cache",
        "from typing import Any",
    ]


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(networks())
def test_exposure_equals_the_judge(document: dict[str, Any]) -> None:
    """Who gets in from outside, on which port, and whether by the internet, is what the judge finds one by one."""
    assert list(differences(published(document, 1), most=20)) == []


def test_exposure_equals_the_judge_on_some_seeds() -> None:
    """The same on networks of plain seeds."""
    wrong = {
        seed: found
        for seed in range(QUICK)
        if (found := list(differences(published(random_network(seed), seed), most=20, seed=seed)))
    }

    assert wrong == {}


def test_rule_equals_the_judge_on_some_seeds() -> None:
    """The groups that are open to the world, and how grave it is, are those that the judge finds."""
    wrong = {}
    for seed in range(QUICK):
        document = published(random_network(seed), seed)
        if audited(document) != judged(document):
            wrong[seed] = audited(document), judged(document)

    assert wrong == {}


def test_exposure_equals_the_judge_on_hundreds_of_seeds() -> None:
    """All comparisons on hundreds more."""
    wrong = []
    for seed in range(QUICK, FULL):
        document = published(random_network(seed), seed)
        if list(differences(document, most=20, seed=seed)) or audited(document) != judged(document):
            wrong.append(seed)
        if half(parse(document)) and machines(document) != judged_machines(document):
            wrong.append(seed)

    assert wrong == []


def test_networks_have_all_answers() -> None:
    """The random networks hold groups open to the world, latent and not, closed ones, and doubtful answers."""
    answers = {value for seed in range(QUICK) for _, value in audited(published(random_network(seed), seed))}
    empty = [seed for seed in range(QUICK) if not audited(published(random_network(seed), seed))]
    doubtful = [
        seed
        for seed in range(QUICK)
        for world in [World(random_network(seed))]
        if any(
            BLOCKED < world.gets_in(item, ipaddress.ip_address("198.51.100.7"), "tcp", 22) < OPEN
            for item in world.interfaces.values()
        )
    ]

    assert (answers, len(empty) > 3, len(doubtful) > 3) == ({"error", "warning"}, True, True)


@pytest.mark.parametrize("family", list(Family))
def test_counts_leave_members_out(family: Family) -> None:
    """Addresses of some ranges are counted one by one, those of members left out."""
    wrong: list[Mapping[str, int] | tuple[int, ...]] = []
    for seed in range(QUICK):
        document = published(random_network(seed), seed)
        snapshot, world = parse(document), World(document)
        outside = exposure.build(snapshot, select(snapshot, ALL), family)
        version = 4 if family is Family.IPV4 else 6
        ours = {
            int(address)
            for interface in world.interfaces.values()
            for address in world.addresses(interface)
            if address.version == version
        }
        for index, (first, last) in enumerate(outside.ranges):
            expected = last - first + 1 - sum(first <= address <= last for address in ours)
            if (outside.count(1 << index), outside.inhabited >> index & 1) != (expected, int(expected > 0)):
                wrong.append((seed, index))

    assert wrong == []


def test_blocks_are_the_fewest() -> None:
    """Ranges that touch are written together, as CIDR blocks."""
    cuts = [Cidr.parse(text) for text in ("10.0.0.0/24", "10.0.1.0/24", "10.0.4.0/32")]
    outside = exposure.build(Snapshot(), (), Family.IPV4, cuts=cuts)
    wanted = outside.crowd.within(cuts)

    assert list(outside.blocks(wanted)) == ["10.0.0.0/23", "10.0.4.0/32"]
    assert list(outside.blocks(outside.crowd.nodes.everyone)) == ["0.0.0.0/0"]
    assert parse_address("10.0.4.0")[1] in [first for first, _ in outside.ranges]
