"""
The judge itself: a judge that is wrong is worse than none.

The tests of the pitfalls run on the judge as well, by values that were worked out by hand.
"""

from __future__ import annotations

import ast
from itertools import permutations
from pathlib import Path

import pytest

from tests import judge as module
from tests.builders import (
    ANYWHERE,
    EVERYTHING,
    acl,
    allow_all,
    entry,
    group,
    interface,
    node,
    pair_of,
    route,
    row,
    snapshot,
    table,
)
from tests.judge import Network, Outcome, judge, judge_port, pieces
from tests.networks import random_network

pytestmark = pytest.mark.slow
CLIENT = (32768, 60999)


def test_judge_shares_nothing_with_what_it_judges() -> None:
    """The judge imports neither sgaudit nor anything of the tests: an error there can't be an error here."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    imported = {
        name
        for statement in ast.walk(tree)
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for name in (
            [statement.module or ""]
            if isinstance(statement, ast.ImportFrom)
            else [alias.name for alias in statement.names]
        )
    }

    assert imported == {"__future__", "collections.abc", "dataclasses", "functools", "ipaddress", "typing"}


@pytest.mark.parametrize(
    ("cuts", "expected"),
    [
        ([], [(0, 65535)]),
        ([22, 23], [(0, 21), (22, 22), (23, 65535)]),
        ([0, 65535], [(0, 65534), (65535, 65535)]),
        ([65536], [(0, 65535)]),
    ],
)
def test_pieces(cuts: list[int], expected: list[tuple[int, int]]) -> None:
    """Pieces cover every port once and begin where a rule may decide otherwise."""
    assert list(pieces(cuts)) == expected


@pytest.mark.parametrize(
    ("opened", "possible", "wanted", "verdict"),
    [
        ([(0, 65535)], [(0, 65535)], [(22, 22)], "open"),
        ([(22, 30)], [(22, 30)], [(22, 30)], "open"),
        ([(22, 30)], [(22, 30)], [(22, 31)], "partial"),
        ([(22, 30)], [(22, 30)], [(31, 40)], "blocked"),
        ([], [(0, 65535)], [(22, 22)], "unknown"),
        ([(22, 30)], [(22, 40)], [(22, 40)], "unknown"),
        ([(22, 30)], [(22, 40)], [(22, 41)], "partial"),
        ([], [(22, 22)], [(22, 23)], "partial"),
        ([], [], [(22, 22)], "blocked"),
        ([(22, 22), (25, 25)], [(22, 22), (25, 25)], [(22, 22), (25, 25)], "open"),
    ],
)
def test_verdict(
    opened: list[tuple[int, int]], possible: list[tuple[int, int]], wanted: list[tuple[int, int]], verdict: str
) -> None:
    """All open is open, all surely closed is blocked, some surely closed is partial, the rest unknown."""
    assert Outcome(tuple(opened), tuple(possible)).verdict(wanted) == verdict


@pytest.mark.parametrize(
    ("port", "expected"), [(21, "blocked"), (22, "open"), (23, "unknown"), (24, "unknown"), (25, "blocked")]
)
def test_one_port(port: int, expected: str) -> None:
    """One port is open where a row surely admits it, unknown where an unread list may, else blocked."""
    nodes = [node("a", "10.0.0.5"), node("b", "10.0.0.6", groups=["sg-b"])]
    rows = [row("tcp", 22, 24, lists=["pl-unread"]), row("tcp", 22, groups=["sg-a"])]
    document = snapshot(nodes, [group(), group("sg-b", ingress=rows)])

    assert judge_port(document, "eni-a", "eni-b", "tcp", port) == expected


def test_client_ports_are_a_parameter() -> None:
    """The way back is asked for the client ports that the caller names."""
    entries = [
        entry(1, "allow", egress=True),
        entry(1, "allow", egress=False, protocol="6", ports=(1024, 5000)),
    ]
    document = snapshot(
        pair_of({}, {}), [group(ingress=[EVERYTHING])], acls=[acl("acl-1", entries, subnets=["subnet-1"])]
    )

    assert judge(document, "eni-a", "eni-b").open == ()
    assert judge(document, "eni-a", "eni-b", client_ports=(1024, 5000)).open == ((0, 65535),)
    assert judge(document, "eni-a", "eni-b", client_ports=(1024, 5001)).open == ()


def test_interfaces_are_read_from_instances_too() -> None:
    """An answer of DescribeInstances alone holds each interface with its groups and addresses."""
    document = snapshot(
        [node("a", "10.0.0.5"), node("b", "10.0.0.6")],
        [group(ingress=[row("tcp", 22, cidr=["10.0.0.5/32"])])],
        without=["NetworkInterfaces"],
    )

    assert judge(document, "eni-a", "eni-b").open == ((22, 22),)


def test_marked_ipv6_address_is_the_primary_one() -> None:
    """The IPv6 address that is marked as primary is judged, else the first."""
    marked = [{"Ipv6Address": "2001:db8:1::5"}, {"Ipv6Address": "2001:db8:1::9", "IsPrimaryIpv6": True}]
    network = Network({})

    assert network.address(interface("a", Ipv6Addresses=marked), "ipv6") == 0x20010DB8000100000000000000000009
    assert network.address(interface("a", Ipv6Addresses=marked[:1]), "ipv6") == 0x20010DB8000100000000000000000005


@pytest.mark.parametrize("protocol", ["tcp", "icmp"])
def test_pieces_lose_nothing(protocol: str) -> None:
    """Judging one port of each piece gives what judging each of the 65,536 ports gives."""
    done = 0
    for seed in range(200):
        network = Network(random_network(seed))
        for source, target in permutations(sorted(network.interfaces), 2):
            outcome = network.judge(source, target, protocol)
            if outcome.open not in ((), ((0, 65535),)) and done < 2:
                done += 1
                pair = network.pair(source, target, protocol, "ipv4", CLIENT)
                values = [pair.decide(port) for port in range(65536)]

                assert {port for low, high in outcome.open for port in range(low, high + 1)} == {
                    port for port, value in enumerate(values) if value == module.OPEN
                }
                assert {port for low, high in outcome.possible for port in range(low, high + 1)} == {
                    port for port, value in enumerate(values) if value != module.BLOCKED
                }
                break

    assert done == 2


@pytest.mark.parametrize("seed", range(40))
def test_judge_is_monotonous(seed: int) -> None:
    """Whatever is admitted in addition closes nothing: all-protocol rows for everybody, in each group."""
    document = random_network(seed)
    wider = {
        **document,
        "SecurityGroups": [
            {
                **item,
                "IpPermissions": [*item["IpPermissions"], EVERYTHING],
                "IpPermissionsEgress": [*item["IpPermissionsEgress"], EVERYTHING],
            }
            for item in document.get("SecurityGroups", ())
        ],
    }
    before, after = Network(document), Network(wider)
    for source, target in permutations(sorted(before.interfaces)[:4], 2):
        narrow, wide = before.judge(source, target), after.judge(source, target)
        for low, _ in pieces({port for ports in (*narrow.open, *wide.open) for port in (ports[0], ports[1] + 1)}):
            if any(first <= low <= last for first, last in narrow.open):
                assert any(first <= low <= last for first, last in wide.open)


def test_networks_are_worth_judging() -> None:
    """Of the random networks a good share of pairs is open, a good share in part, and some can't be known."""
    found = {"pairs": 0, "open": 0, "partly": 0, "in doubt": 0, "across subnets": 0}
    for seed in range(150):
        network = Network(random_network(seed))
        for source, target in permutations(sorted(network.interfaces), 2):
            outcome = network.judge(source, target)
            found["pairs"] += 1
            found["open"] += outcome.open == ((0, 65535),)
            found["partly"] += outcome.open not in ((), ((0, 65535),))
            found["in doubt"] += outcome.open != outcome.possible
            found["across subnets"] += bool(outcome.open) and (
                network.interfaces[source]["SubnetId"] != network.interfaces[target]["SubnetId"]
            )

    shares = {name: 100 * count // found["pairs"] for name, count in found.items()}
    assert {name: shares[name] >= least for name, least in LEAST_SHARES.items()} == dict.fromkeys(LEAST_SHARES, True)


LEAST_SHARES = {"open": 15, "partly": 8, "in doubt": 5, "across subnets": 5}
"""Of a hundred pairs."""


def test_seeds_give_the_same_network_each_time() -> None:
    """A seed that is noted down is worth something only if it gives its network again."""
    assert random_network(7) == random_network(7)
    assert random_network(7) != random_network(8)


def test_default_acl_and_main_table_serve_what_is_not_associated() -> None:
    """A subnet without its own ACL or table has the VPC's default ACL and main table."""
    hole = route("10.0.1.5/32", state="blackhole", NetworkInterfaceId="eni-x")
    plain = snapshot(pair_of({}, {}), [group(ingress=[row(cidr=[ANYWHERE])])])
    denied = snapshot(
        pair_of({}, {}), [group(ingress=[EVERYTHING])], acls=[acl("acl-d", allow_all()[:2], default=True)]
    )
    holed = snapshot(pair_of({}, {}), [group(ingress=[EVERYTHING])], tables=[table("rtb-m", [hole])])

    assert [judge(item, "eni-a", "eni-b").open for item in (plain, denied, holed)] == [((0, 65535),), (), ()]
