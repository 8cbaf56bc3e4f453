"""
What the policies claim about ports, tried with the frameworks themselves.

The groups of each node let out and in exactly what the policies need, pair by pair. With that a job runs; with one
of the needs left out it does not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from sgaudit.policy.load import load
from sgaudit.policy.resolve import resolve
from sgaudit.selection import Selection, select
from sgaudit.snapshot import parse
from tests.builders import group, node, row, snapshot
from tests.packets.jobs import ENOUGH, SHORT, Ranks, missing, number
from tests.packets.lab import Ended, Lab, Program

Raw = dict[str, Any]
NODES = {"a": "10.0.0.10", "b": "10.0.1.20", "c": "10.0.0.30"}
HEAD = "a"
SUBNETS = {"a": "subnet-1", "b": "subnet-2", "c": "subnet-1"}
HOSTS = [(f"eni-{name}", address) for name, address in NODES.items()]


@pytest.fixture(scope="module")
def ranks(lab: Lab) -> Iterator[Ranks]:
    """The process that starts ranks."""
    if reason := missing("torch") or missing("numpy"):
        pytest.skip(reason)
    with Ranks() as made:
        yield made


def members(groups: Sequence[Raw]) -> Raw:
    """Give three nodes in two subnets, each with a group of its own."""
    return snapshot(
        [node(name, address, groups=[f"sg-{name}"], subnet=SUBNETS[name]) for name, address in NODES.items()], groups
    )


def needs(policies: Sequence[str]) -> list[str]:
    """List the needs between members."""
    return [item.need for item in required(policies)]


def required(policies: Sequence[str]) -> Sequence[Any]:
    """Resolve policies for the three nodes."""
    read = parse(members([]))
    asked = resolve([load(name) for name in policies], select(read, Selection(everything=True)), head=f"i-{HEAD}")
    return asked.between


def always(one: str, other: str) -> bool:
    """Choose every pair."""
    return True


def upwards(one: str, other: str) -> bool:
    """Choose the pairs of which the lower address dials."""
    return number(NODES[one]) < number(NODES[other])


def downwards(one: str, other: str) -> bool:
    """Choose the pairs of which the higher address dials."""
    return upwards(other, one)


def least(policies: Sequence[str], without: str = "", pairs: Callable[[str, str], bool] = always) -> Raw:
    """
    Give the nodes the least permissions: a row for each needed pair, at both of its ends.

    Args:
        policies: whose needs are met.
        without: the need that is not.
        pairs: the pairs for which it is not.
    """
    rows: dict[tuple[str, bool], list[Raw]] = {(name, egress): [] for name in NODES for egress in (False, True)}
    for item in required(policies):
        for source in sorted(item.sources):
            for target in sorted(item.targets - {source}):
                one, other = source.removeprefix("i-"), target.removeprefix("i-")
                if item.need == without and pairs(one, other):
                    continue
                for low, high in item.ports.ranges:
                    rows[one, True].append(row(str(item.protocol), low, high, cidr=[f"{NODES[other]}/32"]))
                    rows[other, False].append(row(str(item.protocol), low, high, cidr=[f"{NODES[one]}/32"]))
    return members([group(f"sg-{name}", ingress=rows[name, False], egress=rows[name, True]) for name in NODES])


TORCH = {
    "gloo": (["pytorch-gloo"], "sum 6"),
    "rpc": (["torch-rpc"], "sum"),
    "torchrun": (["torchrun"], "worker done"),
}
CASES = [(job, without) for job, (policies, _) in TORCH.items() for without in ("", *needs(policies))]
ALLOWED = {job: needs(policies) for job, (policies, _) in TORCH.items()}


def test_needs_that_are_left_out() -> None:
    """The policies have these needs between members, so that each of them is left out once."""
    assert ALLOWED == {
        "gloo": ["gloo-mesh", "master-port"],
        "rpc": ["tensorpipe-mesh", "master-port"],
        "torchrun": ["rendezvous", "worker-store"],
    }
    assert needs(["dask"]) == ["scheduler", "workers-mesh"]


@pytest.mark.parametrize(("job", "without"), CASES, ids=["-".join(filter(None, case)) for case in CASES])
def test_torch(lab: Lab, ranks: Ranks, job: str, without: str) -> None:
    """With the least permissions the job runs on all ranks; without one of the needs it does not."""
    policies, last = TORCH[job]
    lab.build(least(policies, without), [interface for interface, _ in HOSTS])

    ended = ranks.run(lab, job, HOSTS, seconds=SHORT if without else ENOUGH, patience=15.0 if without else 2 * ENOUGH)

    finished = [item.code == 0 and item.output.splitlines()[-1].startswith(last) for item in ended]
    assert all(finished) is not bool(without), "\n".join(item.output for item in ended)


DIRECTIONS = [
    ("gloo", "gloo-mesh", upwards, True),
    ("gloo", "gloo-mesh", downwards, False),
    ("rpc", "tensorpipe-mesh", upwards, False),
    ("rpc", "tensorpipe-mesh", downwards, False),
]


@pytest.mark.parametrize(
    ("job", "without", "pairs", "runs"), DIRECTIONS, ids=[f"{case[0]}-{case[2].__name__}" for case in DIRECTIONS]
)
def test_who_dials(
    lab: Lab, ranks: Ranks, job: str, without: str, pairs: Callable[[str, str], bool], runs: bool
) -> None:
    """Of two Gloo ranks the one with the higher address dials; with TensorPipe both do."""
    lab.build(least(TORCH[job][0], without, pairs), [interface for interface, _ in HOSTS])

    ended = ranks.run(lab, job, HOSTS, seconds=ENOUGH if runs else SHORT, patience=2 * ENOUGH if runs else 10.0)

    assert all(item.code == 0 for item in ended) is runs, "\n".join(item.output for item in ended)


def dask(lab: Lab, seconds: float) -> Ended:
    """Run a scheduler on the head, a worker with its nanny on each of the others, and a client on the head."""
    interface, address = HOSTS[0]
    scheduler = f"tcp://{address}:8786"
    tool = [sys.executable, "-m", "dask"]
    environment = {"PATH": "/usr/bin:/bin", "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": f"{seconds}s"}
    plain = ["--no-dashboard"]
    programs = [Program(interface, [*tool, "scheduler", "--host", address, "--port", "8786", *plain], environment)]
    programs += [
        Program(name, [*tool, "worker", scheduler, "--host", at, "--nthreads", "1", *plain], environment)
        for name, at in HOSTS[1:]
    ]
    client = [sys.executable, "-m", "tests.packets.dask_client", scheduler, str(len(HOSTS) - 1), str(seconds)]
    return lab.run([*programs, Program(interface, client, environment)], 2 * seconds)[-1]


@pytest.mark.parametrize("without", ["", *needs(["dask"])])
def test_dask(lab: Lab, without: str) -> None:
    """With the least permissions workers join, use one another's results and give theirs; without a need they don't."""
    if reason := missing("distributed"):
        pytest.skip(reason)
    lab.build(least(["dask"], without), [interface for interface, _ in HOSTS])

    ended = dask(lab, 8.0 if without else ENOUGH)

    done = (ended.code, ended.output.splitlines()[-1:]) == (0, ["made 2"])
    assert done is not bool(without), ended.output
