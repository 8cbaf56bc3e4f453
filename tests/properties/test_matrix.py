"""The matrix by classes equals the judge pair by pair, on random networks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings

from sgaudit.cli import main
from sgaudit.errors import EmptySelectionError
from sgaudit.model import Family, address_text
from sgaudit.ports import PortSet
from sgaudit.reach import matrix
from sgaudit.selection import Interfaces, Selection, TagFilter, select
from sgaudit.snapshot import parse
from tests.judge import Network
from tests.networks import networks, random_network

CLUSTER = TagFilter("cluster", ("train",))
PROTOCOLS = {Family.IPV4: ("tcp", "udp", "icmp"), Family.IPV6: ("tcp", "udp", "icmpv6")}
KEPT: list[int] = json.loads(Path(__file__).with_name("seeds.json").read_text(encoding="utf-8"))["matrix"]
"""Seeds of networks on which matrix and judge once disagreed."""
QUICK, FULL = 150, 2500
EXAMPLES = max(200, settings.default.max_examples if settings.default is not None else 0)

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


def differences(document: Mapping[str, Any], *, which: Interfaces = Interfaces.ALL) -> Iterator[Difference]:
    """Compare every ordered pair, protocol and family; give what differs."""
    snapshot, network = parse(document), Network(document)
    for family in Family:
        chosen = Selection(tags=(CLUSTER,), include_stopped=True, interfaces=which, family=family)
        built = matrix.build(snapshot, select(snapshot, chosen), family=family)
        nodes = [(node, node.interface.interface_id) for node in built.nodes if node.interface is not None]
        found = sorted((name, node.address) for node, name in nodes)
        expected = expected_nodes(document, family, everything=which is Interfaces.ALL)
        if found != expected:
            yield "nodes", str(family), found, expected
        for protocol in PROTOCOLS[family]:
            for source, one in nodes:
                for target, other in nodes:
                    if source is target:
                        continue
                    outcome = network.judge(one, other, protocol, str(family))
                    ours = (
                        built.open_ports(source.index, target.index, protocol).ranges,
                        built.possible_ports(source.index, target.index, protocol).ranges,
                    )
                    if ours != (outcome.open, outcome.possible):
                        yield one, other, protocol, str(family), ours, (outcome.open, outcome.possible)


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(networks())
def test_matrix_equals_the_judge(document: dict[str, Any]) -> None:
    """Open and possible ports of every ordered pair are those that the judge finds one by one."""
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
def test_matrix_equals_the_judge_on_thousands_of_seeds() -> None:
    """The same for thousands of them."""
    wrong = [seed for seed in range(QUICK, FULL) if list(differences(random_network(seed)))]

    assert wrong == []


@pytest.mark.parametrize("seed", range(20))
def test_primary_interfaces_alone_are_judged_alike(seed: int) -> None:
    """Fewer nodes make other classes; the pairs that are left are judged as before."""
    assert list(differences(random_network(seed), which=Interfaces.PRIMARY)) == []


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
