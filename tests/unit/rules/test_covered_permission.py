"""Permissions that others cover are found, and taking them all away changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgaudit.errors import EmptySelectionError
from sgaudit.model import Cidr, Family, GroupPeer, Permission, Snapshot
from sgaudit.ports import ALL, PortSet
from sgaudit.reach import matrix
from sgaudit.rules.covered_permission import RULE, covered
from sgaudit.selection import Interfaces, Selection, select
from sgaudit.snapshot import parse
from tests.builders import group, node, row, snapshot
from tests.networks import random_network
from tests.unit.rules.scene import SELF, found

Raw = dict[str, Any]

TWO = [node("a", "10.0.0.4"), node("b", "10.0.0.5")]


def test_message() -> None:
    """One finding tells of all of a group, each with what covers it."""
    blocks = row("tcp", 22, cidr=["10.0.0.0/8", "10.1.0.0/16"])
    (finding,) = found(RULE, snapshot(TWO, [group(ingress=[*SELF, row("tcp", 22, groups=["sg-a"]), blocks])]))
    assert finding.title == "sg-a has 2 permissions that others cover"
    assert finding.message == (
        "sg-a: covered are tcp 22 from sg-a by all traffic from sg-a and tcp 22 from 10.1.0.0/16 by tcp 22 from "
        "10.0.0.0/8."
    )
    assert finding.evidence == {
        "permissions": [
            {
                "direction": "ingress",
                "permission": "tcp 22 from sg-a",
                "rule_id": "",
                "covered_by": "all traffic from sg-a",
            },
            {
                "direction": "ingress",
                "permission": "tcp 22 from 10.1.0.0/16",
                "rule_id": "",
                "covered_by": "tcp 22 from 10.0.0.0/8",
            },
        ]
    }
    assert (finding.severity, finding.resource.id) == ("note", "sg-a")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([row("tcp", 22, cidr=["10.0.0.0/8"]), row("tcp", 80, cidr=["10.0.0.0/8"])], [], id="other ports"),
        pytest.param([row("tcp", 1, 9, cidr=["10.0.0.0/8"]), row("tcp", 5, 12, cidr=["10.0.0.0/8"])], [], id="overlap"),
        pytest.param([row("udp", 22, cidr=["10.0.0.0/8"]), row("tcp", 22, cidr=["10.0.0.0/8"])], [], id="protocols"),
        pytest.param([row("tcp", 22, cidr=["10.0.0.0/8"]), row("tcp", 22, cidr=["11.0.0.0/8"])], [], id="other blocks"),
        pytest.param([row(cidr=["0.0.0.0/0"]), *SELF], [], id="a block does not cover a group: EFA"),
        pytest.param([row(cidr=["0.0.0.0/0"]), row(cidr6=["2001:db8::/32"])], [], id="families"),
        pytest.param([row(cidr=["0.0.0.0/0"]), row("tcp", 22, lists=["pl-1"])], [], id="a prefix list may change"),
        pytest.param(
            [row("tcp", 22, cidr=["10.0.0.0/9", "10.128.0.0/9", "10.0.0.0/8"])], [0, 1], id="the parts of a whole"
        ),
        pytest.param([row("tcp", 22, cidr=["10.0.0.0/8"]), row(cidr=["0.0.0.0/0"])], [0], id="a wider one behind"),
        pytest.param([row("tcp", 22, groups=["sg-a"]), row("6", 22, groups=["sg-a"])], [1], id="of equals the second"),
        pytest.param(
            [row("tcp", 22, cidr=["10.0.0.1/32"]), row("tcp", 1, 99, cidr=["10.0.0.0/8"]), row(cidr=["0.0.0.0/0"])],
            [0, 1],
            id="a chain",
        ),
        pytest.param([row("tcp", 22, lists=["pl-1"]), row("tcp", 0, 65535, lists=["pl-1"])], [0], id="a prefix list"),
        pytest.param([row("50", cidr=["10.0.0.0/8"]), row("-1", cidr=["10.0.0.0/8"])], [0], id="a protocol by number"),
    ],
)
def test_rows(rows: list[Raw], expected: list[int]) -> None:
    """One permission covers another with protocol, ports and peer, and at least one of equals stays."""
    read = parse(snapshot(TWO, [group(ingress=rows)]))
    permissions = (read.security_groups or {})["sg-a"].ingress
    gone = [permission for permission, _ in covered(permissions)]
    assert [n for n, permission in enumerate(permissions) if any(permission is item for item in gone)] == expected


def without(permissions: tuple[Permission, ...]) -> tuple[Permission, ...]:
    gone = {id(permission) for permission, _ in covered(permissions)}
    return tuple(permission for permission in permissions if id(permission) not in gone)


def stripped(read: Snapshot) -> Snapshot:
    groups = {
        group_id: replace(item, ingress=without(item.ingress), egress=without(item.egress))
        for group_id, item in (read.security_groups or {}).items()
    }
    return replace(read, security_groups=None if read.security_groups is None else groups)


def everything(read: Snapshot, family: Family) -> Iterator[tuple[object, ...]]:
    """Tell of every pair and protocol what is open and what may be."""
    members = select(read, Selection(everything=True, interfaces=Interfaces.ALL, family=family))
    built = matrix.build(read, members, family=family)
    everyone = built.node_set.everyone
    for protocol in ("tcp", "udp", "icmp" if family is Family.IPV4 else "icmpv6", "50"):
        for source in range(len(built.nodes)):
            for target in range(len(built.nodes)):
                open_ports = built.open_ports(source, target, protocol)
                yield protocol, source, target, open_ports, built.possible_ports(source, target, protocol)
    yield ("all", *built.judge("all", ALL, everyone, everyone).rows)


def doubled(seed: int) -> Raw:
    """Give a random network whose groups have more than one row for the same, narrower and wider ones."""
    document = random_network(seed)
    for number, item in enumerate(document.get("SecurityGroups") or ()):
        for key in ("IpPermissions", "IpPermissionsEgress"):
            rows = list(item.get(key) or ())
            extra = [{**one, "IpProtocol": "-1"} for n, one in enumerate(rows) if (n + seed + number) % 3 == 0]
            item[key] = [*rows, *extra, *rows[: seed % 3]]
    return document


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_nothing_changes(first: int) -> None:
    """Without all that are found, every pair has the same open and possible ports, on random networks."""
    taken = 0
    for seed in range(first, first + 20):
        read = parse(doubled(seed))
        bare = stripped(read)
        for family in Family:
            try:
                before = list(everything(read, family))
            except EmptySelectionError:
                continue
            assert list(everything(bare, family)) == before, seed
        taken += sum(len(list(covered(item.ingress))) for item in (read.security_groups or {}).values())
        assert [list(covered(item.ingress)) for item in (bare.security_groups or {}).values()] == [
            [] for _ in bare.security_groups or ()
        ]
    assert taken


def test_what_the_world_covers_is_what_should_stay() -> None:
    """A narrow ingress permission beside one for everybody is not called superfluous: the other is to go."""
    ingress = [row("tcp", 22, cidr=["10.0.0.0/16"]), row("tcp", 22, cidr=["0.0.0.0/0"])]

    assert found(RULE, snapshot([node("a", "10.0.0.4")], [group(ingress=ingress)])) == []


def admits(wide: Permission, narrow: Permission) -> bool:
    if wide.protocol == "-1":
        return True
    return wide.protocol == narrow.protocol and narrow.ports <= wide.ports


def one_by_one(permissions: Sequence[Permission]) -> Iterator[tuple[int, int]]:
    """Ask of each permission every other one: the widest peer first, then in their order."""
    for place, narrow in enumerate(permissions):
        covering = []
        for other, wide in enumerate(permissions):
            if isinstance(narrow.peer, Cidr) and isinstance(wide.peer, Cidr):
                holds = wide.peer.prefix <= narrow.peer.prefix and narrow.peer.first in wide.peer
            else:
                holds = wide.peer == narrow.peer
            equal = wide.peer == narrow.peer and admits(narrow, wide)
            if holds and other != place and admits(wide, narrow) and (other < place or not equal):
                covering.append((wide.peer.prefix if isinstance(wide.peer, Cidr) else 0, other))
        if covering:
            yield place, min(covering)[1]


small_port = st.integers(0, 4)
permissions = st.builds(
    lambda protocol, ends, peer: Permission(
        protocol, ALL if protocol == "-1" else PortSet.single(min(ends), max(ends)), peer
    ),
    st.sampled_from(("tcp", "tcp", "tcp", "udp", "-1")),
    st.tuples(small_port, small_port) | st.tuples(st.just(0), st.just(65535)),
    st.sampled_from(("10.0.0.0/8", "10.1.0.0/16", "10.1.1.0/24", "11.0.0.0/8")).map(Cidr.parse)
    | st.sampled_from(("sg-a", "sg-b")).map(GroupPeer),
)


@given(st.lists(permissions, max_size=14))
def test_the_same_as_one_by_one(given_permissions: list[Permission]) -> None:
    """What is covered, and by which one, is what asking every pair of permissions tells."""
    places = {id(permission): place for place, permission in enumerate(given_permissions)}
    found = [(places[id(one)], places[id(by)]) for one, by in covered(given_permissions)]

    assert found == list(one_by_one(given_permissions))
