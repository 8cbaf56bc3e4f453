"""Plans on random networks: once EC2 has carried them out, real packets get where the plan says."""

from __future__ import annotations

import random
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from sgaudit import snapshot
from sgaudit.selection import Selection, select
from tests.networks import random_network
from tests.packets.compare import MEMBERS, QUIETER, addresses_of, compare, interfaces_of
from tests.packets.jobs import fixed
from tests.packets.lab import Lab
from tests.packets.probes import Probe

Raw = dict[str, Any]
SEEDS = range(40)
CURED_AT_LEAST = 5


def dials(document: Raw, seed: int) -> list[Probe]:
    """Give a connection for each ordered pair and each of some ports that a Gloo job needs."""
    everybody = Selection(everything=True)
    taken = [address for raw in interfaces_of(document) for address in addresses_of(raw)]
    ends = [
        (interface.interface_id, str(interface.address(everybody.family)))
        for member in select(snapshot.parse(document), everybody)
        for interface in member.interfaces
    ]
    ends = [(name, address) for name, address in ends if taken.count(address) == 1][:MEMBERS]
    chosen = random.Random(seed)
    ports = [29500, 32768, 60999, chosen.randint(32769, 60998)]
    clients = {chosen.randint(32769, 60998) for _ in range(20)} - set(ports)
    return [
        Probe(*source, *target, "tcp", port, chosen.choice(sorted(clients)))
        for source, target in permutations(ends, 2)
        for port in ports
    ]


def test_cured_networks(lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a plan says that all pairs are open after it, they are; and the matrix still says what packets do."""
    cured, connections = 0, 0
    for seed in SEEDS:
        document = random_network(seed)
        plan, after = fixed(document, tmp_path)
        if not plan["operations"]:
            continue
        compared = compare(lab, after, seed)
        assert compared.disagreements == [], seed
        connections += compared.connections
        if plan["after"]["open"] and not any(plan["after"][word] for word in ("partial", "blocked", "unknown")):
            probes = dials(after, seed)
            lab.build(after, sorted({probe.source for probe in probes}))
            assert all(lab.probe(probes, QUIETER)), seed
            cured += 1
            connections += len(probes)
    with capsys.disabled():
        print(f"\nfix: {cured} of {len(SEEDS)} networks cured, {connections} connections")  # noqa: T201  # the result

    assert cured >= CURED_AT_LEAST
