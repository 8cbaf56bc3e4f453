"""What passes over EFA, by sets of kinds and by brute force."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from itertools import permutations
from typing import Any

import pytest

from sgaudit.errors import EmptySelectionError
from sgaudit.model import GroupPeer, Interface, Snapshot
from sgaudit.reach import matrix
from sgaudit.reach.efa import Fabric
from sgaudit.reach.verdict import Verdict
from sgaudit.selection import Interfaces, Selection, select
from sgaudit.snapshot import parse
from tests.builders import group, instance, interface, node, row, snapshot
from tests.networks import random_network

Raw = dict[str, Any]

SELF = [row(groups=["sg-a"])]
OPEN = group(ingress=SELF, egress=SELF)
ZONE_A, ZONE_B = {"AvailabilityZone": "us-east-1a"}, {"AvailabilityZone": "us-east-1b"}


def efa(name: str, address: str = "", **more: Any) -> Raw:
    return node(name, address, **{"InterfaceType": "efa", **more})


def verdicts(document: Raw, *, which: Interfaces = Interfaces.PRIMARY) -> dict[tuple[str, str], Verdict | None]:
    """Judge every ordered pair of members of a document."""
    read = parse(document)
    built = matrix.build(read, select(read, Selection(everything=True, interfaces=which)))
    everyone = built.node_set.everyone
    judged = Fabric.of(built).judge(everyone, everyone)
    return {
        (source.instance.instance_id, target.instance.instance_id): judged.verdict(source.index, target.index)
        for source in built.nodes
        for target in built.nodes
        if source.instance is not target.instance
    }


def of(found: Mapping[tuple[str, str], Verdict | None]) -> str:
    """Say the verdicts from i-a to i-b and back."""
    return f"{found['i-a', 'i-b']}, {found['i-b', 'i-a']}"


CASES = [
    pytest.param([efa("a", "10.0.0.4"), efa("b", "10.0.0.5")], [OPEN], "open, open", id="one group"),
    pytest.param([efa("a", "10.0.0.4"), efa("b", InterfaceType="efa-only")], [OPEN], "open, open", id="efa-only"),
    pytest.param([efa("a", "10.0.0.4"), node("b", "10.0.0.5")], [OPEN], "blocked, blocked", id="no EFA interface"),
    pytest.param(
        [efa("a", "10.0.0.4"), efa("b", "10.0.1.4", subnet="subnet-2")], [OPEN], "open, open", id="two subnets"
    ),
    pytest.param(
        [efa("a", "10.0.0.4"), efa("b", "10.2.0.4", subnet="subnet-3")], [OPEN], "blocked, blocked", id="two VPCs"
    ),
    pytest.param(
        [efa("a", "10.0.0.4", **ZONE_A), efa("b", "10.0.1.4", subnet="subnet-2", **ZONE_B)],
        [OPEN],
        "blocked, blocked",
        id="two zones",
    ),
    pytest.param(
        [efa("a", "10.0.0.4"), efa("b", "10.0.0.5", groups=["sg-b"])],
        [group(egress=[row(groups=["sg-b"])]), group("sg-b", ingress=[row(groups=["sg-a"])])],
        "open, blocked",
        id="one way",
    ),
    pytest.param(
        [efa("a", "10.0.0.4"), efa("b", "10.0.0.5", groups=None)], [OPEN], "unknown, unknown", id="groups not read"
    ),
    pytest.param(
        [efa("a", "10.0.0.4"), efa("b", "10.0.0.5", groups=None)],
        [group(ingress=SELF, egress=[])],
        "blocked, unknown",
        id="groups of the other end not read",
    ),
    pytest.param(
        [efa("a", "10.0.0.4"), efa("b", "10.0.0.5", groups=["sg-a", "sg-unread"])],
        [group(egress=SELF)],
        "unknown, blocked",
        id="a further group not read",
    ),
]


@pytest.mark.parametrize(("members", "groups", "expected"), CASES)
def test_pairs(members: list[Raw], groups: list[Raw], expected: str) -> None:
    """A pair is open when groups of both ends admit it by group, in one zone of one VPC, and three-valued else."""
    assert of(verdicts(snapshot(members, groups))) == expected


def test_zone_not_read() -> None:
    """Without zones, those of one subnet are surely together and those of two may be."""
    members = [efa("a", "10.0.0.4"), efa("b", "10.0.0.5"), efa("c", "10.0.1.4", subnet="subnet-2")]
    found = verdicts(snapshot(members, [OPEN], without=["Subnets"]))
    assert {pair: str(verdict) for pair, verdict in found.items() if pair[0] == "i-a"} == {
        ("i-a", "i-b"): "open",
        ("i-a", "i-c"): "unknown",
    }


def test_member_without_a_seen_interface() -> None:
    """A member of which no interface was seen may reach everybody."""
    bare = {**node("b", "10.0.0.5"), "NetworkInterfaces": []}
    document = snapshot([efa("a", "10.0.0.4"), bare], [OPEN])
    assert of(verdicts(document)) == "unknown, unknown"


def test_interfaces_of_one_member() -> None:
    """It is enough that one EFA interface of each of two members admits the other."""
    closed = interface("a", "10.0.0.4", groups=["sg-b"], InterfaceType="efa")
    opened = interface("a2", of="a", device=1, InterfaceType="efa-only", groups=["sg-a"])
    document = snapshot([instance(closed, opened), efa("b", "10.0.0.5")], [OPEN, group("sg-b", egress=[])])
    assert of(verdicts(document)) == "open, open"
    assert of(verdicts(document, which=Interfaces.ALL)) == "open, open"


def with_efa(seed: int) -> Raw:
    """Give a random network in which some interfaces are EFA ones and groups admit one another."""
    document = random_network(seed)
    chance = random.Random(seed)
    kinds: dict[str, str] = {}
    for item in [*document.get("NetworkInterfaces", ()), *embedded(document)]:
        kind = kinds.setdefault(item["NetworkInterfaceId"], chance.choice(("efa", "efa", "efa-only", "interface")))
        item["InterfaceType"] = kind
    names = [item["GroupId"] for item in document.get("SecurityGroups") or ()]
    for item in document.get("SecurityGroups") or ():
        for key in ("IpPermissions", "IpPermissionsEgress"):
            for peer in names:
                if chance.random() < (0.7 if peer == item["GroupId"] else 0.3):
                    item[key] = [*(item.get(key) or ()), row(groups=[peer])]
    return document


def embedded(document: Raw) -> list[Raw]:
    return [
        item
        for reservation in document["Reservations"]
        for one in reservation["Instances"]
        for item in one.get("NetworkInterfaces") or ()
    ]


Answer = bool | None
"""Yes, no, or not known."""
WORDS = {True: Verdict.OPEN, None: Verdict.UNKNOWN, False: Verdict.BLOCKED}


def either(answers: Iterable[Answer]) -> Answer:
    found = set(answers)
    return True if True in found else None if None in found else False


def both(answers: Iterable[Answer]) -> Answer:
    found = set(answers)
    return False if False in found else None if None in found else True


def admits(read: Snapshot, here: Interface, there: Interface, *, egress: bool) -> Answer:
    """Ask every permission of every group of one end."""
    if here.groups is None:
        return None
    answers: list[Answer] = []
    for group_id in here.groups:
        found = (read.security_groups or {}).get(group_id)
        if found is None:
            answers.append(None)
            continue
        for permission in found.egress if egress else found.ingress:
            peer = permission.peer
            if permission.protocol == "-1" and isinstance(peer, GroupPeer) and peer.peering_status in ("", "active"):
                answers.append(None if there.groups is None else peer.group_id in there.groups)
    return either(answers)


def reaches(read: Snapshot, one: Interface, other: Interface) -> Answer:
    """Judge two interfaces."""
    if not {one.interface_type, other.interface_type} <= {"efa", "efa-only"} or one.vpc_id != other.vpc_id:
        return False
    together: Answer = one.availability_zone == other.availability_zone
    if not one.availability_zone or not other.availability_zone:
        together = True if not one.availability_zone and one.subnet_id == other.subnet_id else None
    return both((together, admits(read, one, other, egress=True), admits(read, other, one, egress=False)))


def brute_force(document: Raw) -> dict[tuple[str, str], Verdict]:
    """Judge every pair of members interface by interface and permission by permission."""
    read = parse(document)
    found: dict[tuple[str, str], Verdict] = {}
    for source, target in permutations([item.instance for item in select(read, Selection(everything=True))], 2):
        ends = [[read.interfaces[item] for item in end.interface_ids] for end in (source, target)]
        answer = either(reaches(read, one, other) for one in ends[0] for other in ends[1])
        if not all(ends):
            types = {item.interface_type for end in ends for item in end}
            answer = None if not types or types & {"efa", "efa-only"} else False
        found[source.instance_id, target.instance_id] = WORDS[answer]
    return found


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_random_networks(first: int) -> None:
    """The sets give what interface by interface comes to, on random networks."""
    seen: set[Verdict] = set()
    for seed in range(first, first + 50):
        document = with_efa(seed)
        try:
            expected = brute_force(document)
        except EmptySelectionError:
            continue
        assert verdicts(document) == expected, seed
        seen |= set(expected.values())
    assert {Verdict.OPEN, Verdict.BLOCKED} <= seen
