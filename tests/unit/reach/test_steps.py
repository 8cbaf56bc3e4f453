"""Functions from ports to nodes, and what ACLs make of them, against asking port by port."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgaudit.model import AclEntry, Cidr, Family, Member, NetworkAcl
from sgaudit.ports import ALL, PortSet
from sgaudit.reach.network_acls import AclFilters, deciding_entry
from sgaudit.reach.nodes import Nodes
from sgaudit.reach.steps import Steps
from sgaudit.selection import Selection, select
from sgaudit.snapshot import parse
from tests.builders import group, node, snapshot

PORTS = (*range(25), 65534, 65535)
"""Every port that a range below names, and those beyond."""
EVERYONE = 0b11111

Row = tuple[PortSet, int]

span = st.tuples(st.integers(0, 22), st.integers(0, 22)).map(lambda ends: (min(ends), max(ends)))
port_set = st.lists(span, max_size=4).map(PortSet.of) | st.just(ALL)
rows = st.lists(st.tuples(port_set, st.integers(0, EVERYONE)), max_size=12)


def joined(given_rows: Sequence[Row], port: int) -> int:
    found = 0
    for ports, nodes in given_rows:
        found |= nodes if port in ports else 0
    return found


@given(rows)
def test_union(given_rows: list[Row]) -> None:
    """On each port those pass whom one of the rows lets pass, and the segments are the fewest that say so."""
    steps = Steps.union(given_rows)

    assert [steps.at(port) for port in PORTS] == [joined(given_rows, port) for port in PORTS]
    assert all(nodes for _, _, nodes in steps.segments)
    for (_, high, nodes), (low, _, behind) in zip(steps.segments, steps.segments[1:], strict=False):
        assert high + 1 < low or (high + 1 == low and nodes != behind)


@given(rows, port_set)
def test_clip(given_rows: list[Row], ports: PortSet) -> None:
    """Cut to some ports, each of them is there once, with its nodes, and in order."""
    cut = Steps.union(given_rows).clip(ports)

    assert [port for low, high, _ in cut for port in range(low, high + 1)] == list(ports)
    assert [[nodes for low, high, nodes in cut if low <= port <= high] for port in PORTS if port in ports] == [
        [joined(given_rows, port)] for port in PORTS if port in ports
    ]


@given(rows, port_set, st.integers(0, EVERYONE))
def test_missing(given_rows: list[Row], ports: PortSet, among: int) -> None:
    """Nodes are sorted by all the ports on which they don't pass."""
    expected: dict[PortSet, int] = {}
    steps = Steps.union(given_rows)
    for index in range(5):
        if among >> index & 1:
            passing = PortSet.of((low, high) for low, high, nodes in steps.segments if nodes >> index & 1)
            if lost := ports - passing:
                expected[lost] = expected.get(lost, 0) | 1 << index

    assert dict(steps.missing(ports, among)) == expected


@given(rows)
def test_by_node(given_rows: list[Row]) -> None:
    """Turned round, each node has the ports of the rows that hold it."""
    assert Steps.union(given_rows).by_node(5) == [
        PortSet.of(item for ports, nodes in given_rows if nodes >> index & 1 for item in ports.ranges)
        for index in range(5)
    ]


BLOCKS = ("10.0.0.0/30", "10.0.0.4/32", "10.0.0.4/31", "10.0.0.4/30", "10.0.0.6/31", "10.0.0.7/32", "0.0.0.0/0", "::/0")
entries = st.lists(
    st.builds(
        AclEntry,
        number=st.just(1),
        egress=st.booleans(),
        allow=st.booleans(),
        protocol=st.sampled_from(("tcp", "udp", "-1")),
        ports=span.map(lambda ends: PortSet((ends,))),
        cidr=st.sampled_from(BLOCKS).map(Cidr.parse),
    ),
    max_size=20,
)
READ = parse(snapshot([node(f"n{last}", f"10.0.0.{last}") for last in range(4, 8)], [group()]))
MEMBERS: Sequence[Member] = select(READ, Selection(everything=True))


@pytest.mark.parametrize("egress", [True, False])
@given(found=entries)
def test_network_acl(found: list[AclEntry], egress: bool) -> None:
    """On each port an ACL lets those pass about whom the first entry that matches says so."""
    nodes = Nodes.of(MEMBERS, Family.IPV4)
    acl = NetworkAcl("acl-1", "vpc-1", True, tuple(found), ())
    steps = AclFilters(READ, nodes, possible=False)._evaluate(acl, "tcp", egress=egress)

    for port in PORTS:
        expected = 0
        for item in nodes:
            assert item.value is not None
            entry = deciding_entry(acl, Family.IPV4, "tcp", port, item.value, egress=egress)
            expected |= 1 << item.index if entry is not None and entry.allow else 0
        assert steps.at(port) == expected, port
