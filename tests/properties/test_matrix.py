"""The matrix by classes equals the judge pair by pair, on random networks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings

from sgaudit.cli import main
from sgaudit.errors import EmptySelectionError
from sgaudit.model import Family, address_text
from sgaudit.ports import PortSet
from sgaudit.reach import matrix
from sgaudit.reach.causes import find as find_causes
from sgaudit.reach.classes import classes as find_classes
from sgaudit.reach.verdict import Verdict, verdict_on
from sgaudit.selection import Interfaces, Selection, TagFilter, select
from sgaudit.snapshot import parse
from tests.judge import Network, Outcome, Range
from tests.networks import networks, random_network

CLUSTER = TagFilter("cluster", ("train",))
PROTOCOLS = {Family.IPV4: ("tcp", "udp", "icmp"), Family.IPV6: ("tcp", "udp", "icmpv6")}
KEPT: list[int] = json.loads(Path(__file__).with_name("seeds.json").read_text(encoding="utf-8"))["matrix"]
"""Seeds of networks on which matrix and judge once disagreed."""
QUICK, FULL, CHUNK = 50, 2450, 200
"""Seeds that every run goes through, those of the whole run, and how many of them make one test."""
EXAMPLES = max(400, settings.default.max_examples if settings.default is not None else 0)

ASKED: tuple[tuple[Range, ...], ...] = (
    ((0, 65535),),
    ((29500, 29500),),
    ((32768, 60999),),
    ((22, 22), (1024, 2000)),
)
"""Sets of ports for which verdicts are compared."""

Difference = tuple[Any, ...]


def expected_nodes(document: Mapping[str, Any], family: str, *, everything: bool) -> list[tuple[str, str]]:
    """Give the interfaces that are to be judged and their addresses, read from the document itself."""
    network = Network(document)
    out: list[tuple[str, str]] = []
    for instance in network.instances.values():
        own = [
            item for item in network.interfaces.values() if item["Attachment"]["InstanceId"] == instance["InstanceId"]
        ]
        for item in own:
            if everything or item["Attachment"]["DeviceIndex"] == 0:
                address = network.address(item, family)
                text = "" if address is None else address_text(Family(family), address)
                out.append((item["NetworkInterfaceId"], text))
    return sorted(out)


def built(document: Mapping[str, Any], family: Family, which: Interfaces = Interfaces.ALL) -> matrix.Matrix:
    """Build the matrix of every member, stopped ones too."""
    snapshot = parse(document)
    chosen = Selection(tags=(CLUSTER,), include_stopped=True, interfaces=which, family=family)
    return matrix.build(snapshot, select(snapshot, chosen), family=family)


def names_of(reach: matrix.Matrix) -> dict[int, str]:
    """Give the interface ids of the nodes by their index."""
    return {node.index: node.interface.interface_id for node in reach.nodes if node.interface is not None}


def pairs_of(reach: matrix.Matrix) -> Iterator[tuple[int, int]]:
    """Go through the ordered pairs of nodes of different instances."""
    for one, other in permutations(reach.nodes, 2):
        if one.instance.instance_id != other.instance.instance_id:
            yield one.index, other.index


def differences(document: Mapping[str, Any], *, which: Interfaces = Interfaces.ALL) -> Iterator[Difference]:
    """Compare every ordered pair, protocol and family; give what differs."""
    network = Network(document)
    for family in Family:
        reach = built(document, family, which)
        names = names_of(reach)
        found = sorted((name, reach.nodes[index].address) for index, name in names.items())
        expected = expected_nodes(document, family, everything=which is Interfaces.ALL)
        if found != expected:
            yield "nodes", str(family), found, expected
        for protocol in PROTOCOLS[family] if any(address for _, address in expected) else ("tcp",):
            outcomes = {
                (one, other): network.judge(names[one], names[other], protocol, str(family))
                for one, other in permutations(names, 2)
            }
            for (one, other), outcome in outcomes.items():
                ours = (
                    reach.open_ports(one, other, protocol).ranges,
                    reach.possible_ports(one, other, protocol).ranges,
                )
                if ours != (outcome.open, outcome.possible):
                    yield names[one], names[other], protocol, str(family), ours, (outcome.open, outcome.possible)
            yield from other_verdicts(reach, protocol, outcomes)


def other_verdicts(
    reach: matrix.Matrix, protocol: str, outcomes: Mapping[tuple[int, int], Outcome]
) -> Iterator[Difference]:
    """Compare the verdicts on all pairs at once, for several sets of ports; give what differs."""
    everybody = (1 << len(reach.nodes)) - 1
    pairs = list(pairs_of(reach))
    for ports in ASKED:
        verdicts = reach.judge(protocol, PortSet(ports), everybody, everybody)
        expected = {pair: outcomes[pair].verdict(ports) for pair in pairs}
        found = {pair: str(verdicts.verdict(*pair)) for pair in pairs}
        for pair in pairs:
            if found[pair] != expected[pair]:
                yield *(reach.nodes[index].address for index in pair), protocol, ports, found[pair], expected[pair]
        counts = {str(verdict): count for verdict, count in verdicts.counts.items() if count}
        if counts != Counter(expected.values()):
            yield "counts", protocol, ports, counts, Counter(expected.values())


@given(networks())
def test_matrix_equals_the_judge(document: dict[str, Any]) -> None:
    """Open and possible ports and verdicts of every ordered pair are those that the judge finds one by one."""
    assert list(differences(document)) == []


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(networks())
def test_matrix_equals_the_judge_on_more_examples(document: dict[str, Any]) -> None:
    """The same for several hundred, or as many as the environment asks for."""
    assert list(differences(document)) == []


@pytest.mark.parametrize("seed", KEPT)
def test_matrix_equals_the_judge_where_it_once_did_not(seed: int) -> None:
    """A network on which the two disagreed stays one on which they agree."""
    assert list(differences(random_network(seed))) == []


def test_matrix_equals_the_judge_on_some_seeds() -> None:
    """Another stream of networks, with no shrinking and no search: those of plain seeds."""
    wrong = {seed: found for seed in range(QUICK) if (found := list(differences(random_network(seed))))}

    assert wrong == {}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(QUICK, FULL, CHUNK))
def test_matrix_equals_the_judge_on_thousands_of_seeds(first: int) -> None:
    """The same for thousands of them."""
    wrong = [seed for seed in range(first, first + CHUNK) if list(differences(random_network(seed)))]

    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize(
    "key", ["NetworkAcls", "RouteTables", "SecurityGroups", "PrefixListEntries", "VpcPeeringConnections", "Vpcs"]
)
def test_what_was_not_read_is_unknown_in_every_order_of_asking(key: str, seed: int) -> None:
    """Without a key of the snapshot every answer of one matrix, the last as the first, is that of the judge."""
    document = {name: value for name, value in random_network(seed).items() if name != key}
    network, reach = Network(document), built(document, Family.IPV4)
    names = names_of(reach)
    wrong = [
        (protocol, names[one], names[other])
        for protocol in ("tcp", "udp", "icmp", "50")
        for one, other in permutations(names, 2)
        if reach.possible_ports(one, other, protocol).ranges
        != network.judge(names[one], names[other], protocol).possible
    ]

    assert wrong == []


@pytest.mark.parametrize("seed", range(20))
def test_primary_interfaces_alone_are_judged_alike(seed: int) -> None:
    """Fewer nodes make other classes; the pairs that are left are judged as before."""
    assert list(differences(random_network(seed), which=Interfaces.PRIMARY)) == []


@pytest.mark.parametrize("seed", range(60))
def test_nodes_of_a_class_have_the_same_open_ports(seed: int) -> None:
    """Classes part the nodes, and no port towards or from any third node tells two of one class apart."""
    reach = built(random_network(seed), Family.IPV4)
    for protocol in PROTOCOLS[Family.IPV4]:
        classes = [
            [node.index for node in reach.nodes if row >> node.index & 1] for row in find_classes(reach, protocol)
        ]

        assert sorted(index for members in classes for index in members) == [node.index for node in reach.nodes]
        for members in classes:
            for one, other in permutations(members, 2):
                for third in {node.index for node in reach.nodes} - {one, other}:
                    for ask in (reach.open_ports, reach.possible_ports):
                        assert ask(one, third, protocol) == ask(other, third, protocol)
                        assert ask(third, one, protocol) == ask(third, other, protocol)


@pytest.mark.parametrize("seed", range(100))
def test_every_pair_that_is_not_open_has_a_cause(seed: int) -> None:
    """Causes cover just the pairs that are not open, and certain ones just those that surely are not."""
    reach = built(random_network(seed), Family.IPV4)
    everybody = (1 << len(reach.nodes)) - 1
    for ports in ASKED:
        asked = PortSet(ports)
        causes = find_causes(reach, "tcp", asked, everybody, everybody)
        verdicts = {
            (one, other): verdict_on(
                asked, reach.open_ports(one, other, "tcp"), reach.possible_ports(one, other, "tcp")
            )
            for one, other in pairs_of(reach)
        }

        assert {pair for cause in causes for pair in cause.examples(reach)} == {
            pair for pair, verdict in verdicts.items() if verdict is not Verdict.OPEN
        }
        assert {pair for cause in causes if cause.certain for pair in cause.examples(reach)} == {
            pair for pair, verdict in verdicts.items() if verdict in (Verdict.PARTIAL, Verdict.BLOCKED)
        }


def judged_pairs(document: Mapping[str, Any], protocol: str, family: str) -> dict[tuple[str, str], str]:
    """Give the open ports of every ordered pair of primary interfaces of running members, as text."""
    network = Network(document)
    live = {name for name, instance in network.instances.items() if instance["State"]["Name"] in ("running", "pending")}
    names = [
        name
        for name, item in network.interfaces.items()
        if item["Attachment"]["InstanceId"] in live and item["Attachment"]["DeviceIndex"] == 0
    ]
    return {
        (one, other): str(PortSet(network.judge(one, other, protocol, family).open))
        for one in names
        for other in names
        if one != other
    }


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize("seed", range(12))
def test_command_gives_the_pairs_of_the_judge(seed: int, protocol: str, tmp_path: Path) -> None:
    """`sgaudit matrix --pairs -f json` of a file equals the judge of the same file."""
    document = random_network(seed)
    file = tmp_path / "snapshot.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    family = "ipv6" if seed % 4 == 3 else "ipv4"
    options = ["--tag", "cluster=train", "--protocol", protocol, "--family", family, "--pairs", "-f", "json"]

    result = CliRunner().invoke(main, ["matrix", "--snapshot", str(file), *options])

    given_pairs = json.loads(result.stdout)["pairs"]
    assert {(pair["source"], pair["target"]): pair["open"] for pair in given_pairs} == judged_pairs(
        document, protocol, family
    )


def test_every_network_has_members() -> None:
    """A random network in which nothing is selected would prove nothing."""
    for seed in range(50):
        snapshot = parse(random_network(seed))
        try:
            members = select(snapshot, Selection(tags=(CLUSTER,), include_stopped=True))
        except EmptySelectionError:
            pytest.fail(f"seed {seed} has no members")
        assert len(members) >= 2
