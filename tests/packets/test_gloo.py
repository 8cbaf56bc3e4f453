"""A real PyTorch Gloo job, a rank on each host of a twin: it fails where sgaudit says so, and runs after `fix`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sgaudit.fix.plan import Strategy
from tests.packets.compare import compare
from tests.packets.jobs import (
    SHORT,
    Ranks,
    example,
    fixed,
    grown,
    hosts_of,
    instances,
    missing,
    predicted,
    rules_of,
)
from tests.packets.lab import Ended, Lab

Raw = dict[str, Any]
STRATEGIES = tuple(strategy for strategy in Strategy if strategy is not Strategy.NONE)
ONE_GROUP = ("self", "peers", "cluster-group", "prefix-list", "cidr")
TWO_GROUPS = ("peers", "cluster-group", "prefix-list", "cidr")
"""No group is on all of the members, so that none can admit itself."""


@pytest.fixture(scope="module")
def ranks(lab: Lab) -> Iterator[Ranks]:
    """The process that starts ranks."""
    if reason := missing("torch"):
        pytest.skip(reason)
    with Ranks() as made:
        yield made


def swapped(name: str) -> Raw:
    """Give an example whose first two members, by address, have changed groups with the last two."""
    document = example(name)
    ordered = instances(document)
    known = {raw["NetworkInterfaceId"]: raw for raw in document["NetworkInterfaces"]}
    for low, high in zip(ordered[:2], ordered[2:], strict=True):
        for one, other in [(low, high), *zip(low["NetworkInterfaces"], high["NetworkInterfaces"], strict=True)]:
            key = "Groups" if "Groups" in one else "SecurityGroups"
            one[key], other[key] = other[key], one[key]
        one, other = (known[end["NetworkInterfaces"][0]["NetworkInterfaceId"]] for end in (low, high))
        one["Groups"], other["Groups"] = other["Groups"], one["Groups"]
    return document


def outputs(ended: Sequence[Ended]) -> str:
    return "\n".join(item.output for item in ended)


def succeeds(lab: Lab, ranks: Ranks, document: Raw, hosts: Sequence[tuple[str, str]]) -> None:
    """Run the job; every rank must get the sum."""
    lab.build(document, [interface for interface, _ in hosts])
    ended = ranks.run(lab, "gloo", hosts)
    total = len(hosts) * (len(hosts) + 1) // 2
    assert [(item.code, item.output.splitlines()[-1]) for item in ended] == [(0, f"sum {total}")] * len(hosts)


def fails(lab: Lab, ranks: Ranks, document: Raw, hosts: Sequence[tuple[str, str]], said: str) -> None:
    """Run the job; no rank may get the sum, and one at least says why."""
    lab.build(document, [interface for interface, _ in hosts])
    ended = ranks.run(lab, "gloo", hosts, seconds=SHORT)
    assert [item.code for item in ended if item.code == 0] == []
    assert said in outputs(ended)


MESH = "Gloo connectFullMesh failed with"
STORE = "The client socket has timed out"

BROKEN = {
    "only MASTER_PORT is open": ("only-master-port", "", MESH, ONE_GROUP),
    "an ACL forgets the way back": ("acl-forgets-way-back", "", MESH, ONE_GROUP),
    "one rank lacks the group": ("node-without-group", "train-0", STORE, TWO_GROUPS),
    "groups admit each other one way": ("one-way-groups", "train-2", MESH, TWO_GROUPS),
    "egress is closed": ("egress-only-https", "", STORE, ONE_GROUP),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_job_fails_then_runs(lab: Lab, ranks: Ranks, tmp_path: Path, broken: str) -> None:
    """The job fails as the matrix says; once `sgaudit fix` was carried out it runs, with each strategy there is."""
    name, head, said, usable = BROKEN[broken]
    document = example(name)
    hosts = hosts_of(document, head)

    assert not predicted(document, hosts)
    fails(lab, ranks, document, hosts, said)
    for strategy in usable:
        plan, cured = fixed(document, tmp_path, "--strategy", strategy, *(["--head", head] if head else []))
        assert plan["operations"] != []
        assert predicted(cured, hosts)
        succeeds(lab, ranks, cured, hosts)
        assert compare(lab, cured, 1).disagreements == []


@pytest.mark.parametrize("broken", BROKEN)
def test_plan_of_its_own_choice(lab: Lab, ranks: Ranks, tmp_path: Path, broken: str) -> None:
    """The plan that `sgaudit fix` chooses by itself cures the job as well."""
    name, head, _, _ = BROKEN[broken]
    document = example(name)

    _, cured = fixed(document, tmp_path, *(["--head", head] if head else []))

    succeeds(lab, ranks, cured, hosts_of(document, head))


def test_luck_of_the_addresses(lab: Lab, ranks: Ranks, tmp_path: Path) -> None:
    """With groups that admit each other one way, the job runs when the addresses fall well; the rule says so."""
    lucky = swapped("one-way-groups")
    hosts = hosts_of(lucky)

    assert "one-way-luck" in rules_of(lucky, tmp_path)
    assert predicted(lucky, hosts)
    succeeds(lab, ranks, lucky, hosts)


@pytest.mark.parametrize("size", [2, 3, 5, 6])
def test_sizes(lab: Lab, ranks: Ranks, tmp_path: Path, size: int) -> None:
    """What holds for four ranks holds for fewer and for more."""
    document = grown(example("only-master-port"), size)
    hosts = hosts_of(document)
    assert len(hosts) == size

    assert not predicted(document, hosts)
    fails(lab, ranks, document, hosts, MESH)
    _, cured = fixed(document, tmp_path)
    succeeds(lab, ranks, cured, hosts)


def test_every_strategy_is_tried() -> None:
    """No strategy that `sgaudit fix` knows is left out above."""
    assert set(ONE_GROUP) == set(map(str, STRATEGIES))
