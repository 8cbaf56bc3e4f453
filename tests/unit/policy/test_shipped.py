"""The policies that ship: each one loads, resolves, has its sources, and asks what its framework needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from sgaudit.policy.load import load, shipped, shipped_text
from sgaudit.policy.resolve import resolve
from tests.unit.policy.cluster import member

POLICIES = Path(__file__).parents[3] / "policies"
MEMBERS = [
    member("a", tags={"Role": "head", "parallelcluster:node-type": "HeadNode"}),
    member("b", tags={"Role": "etcd", "parallelcluster:node-type": "Compute"}),
    member("c", tags={"parallelcluster:node-type": "Compute"}),
]
VALUES = {
    "admin": "203.0.113.9",
    "client": "10.9.0.0/16",
    "control_plane": "sg-cp",
    "database": "10.8.0.3",
    "efa_file_system": "sg-fs",
    "file_system": "sg-fs",
    "mount_target": "sg-mt",
    "server": "10.7.0.0/24",
    "task_ports": "12345",
}
"""A value for each parameter that has no default."""

CLIENT, EVERY = "32768-60999", "0-65535"
ASKED: dict[str, list[str]] = {
    "admin-ssh": ["out>abc tcp 22"],
    "all-traffic-mesh": [f"abc>abc all {EVERY}"],
    "aws-batch-multinode": [f"abc>abc tcp {EVERY}"],
    "base-cluster": [],
    "dask": ["abc>a tcp 8786", f"abc>abc tcp {CLIENT}", "out>a tcp 8786-8787"],
    "deepspeed": [f"abc>abc tcp {CLIENT}", "abc>a tcp 29500", "a>abc tcp 22"],
    "efa": [f"abc>abc efa {EVERY}"],
    "efs": ["abc>out tcp 2049"],
    "eks-nodes": [
        f"abc>abc tcp {EVERY}",
        "abc>abc tcp 53",
        "abc>abc udp 53",
        "abc>out tcp 443",
        "out>abc tcp 10250",
    ],
    "etcd": ["abc>b tcp 2379", "b>b tcp 2380", "abc>out tcp 2379"],
    "fsx-lustre": [
        "abc>out tcp 988,1018-1023",
        "out>abc tcp 988,1018-1023",
        f"abc>out efa {EVERY}",
        f"out>abc efa {EVERY}",
    ],
    "horovod": ["abc>abc tcp 1024-65535", "a>abc tcp 22"],
    "intel-mpi": ["abc>abc tcp 1024-65535", "a>abc tcp 22"],
    "jax": ["abc>a tcp 61440-65535", f"abc>abc tcp {CLIENT}"],
    "open-mpi": ["abc>abc tcp 1024-65535", "abc>abc tcp 22"],
    "parallelcluster": [
        "abc>a tcp 6820-6829",
        "abc>bc tcp 6818",
        f"bc>abc tcp {CLIENT}",
        "abc>a tcp 6819",
        "abc>a tcp 2049",
        "a>out tcp 3306",
        "out>a tcp 6820",
    ],
    "pytorch-gloo": [f"abc>abc tcp {CLIENT}", "abc>a tcp 29500"],
    "pytorch-nccl": [f"abc>abc tcp {CLIENT}", "abc>a tcp 29500"],
    "ray": ["abc>a tcp 6379", "abc>abc tcp 10002-19999", "abc>abc tcp 32768-65535", "out>a tcp 8265,10001"],
    "sagemaker-hyperpod": [f"abc>abc efa {EVERY}", f"abc>abc tcp {EVERY}"],
    "slurm": [
        "abc>a tcp 6817",
        "abc>bc tcp 6818",
        f"bc>abc tcp {CLIENT}",
        "abc>a tcp 6819",
        "a>out tcp 3306",
        "out>a tcp 6820",
    ],
    "spark": ["abc>a tcp 7077", f"abc>abc tcp {CLIENT}", "out>abc tcp 4040,6066,7077,8080-8081,18080"],
    "tcp-full-mesh": [f"abc>abc tcp {EVERY}"],
    "tensorflow-multiworker": ["abc>abc tcp 12345", f"abc>abc tcp {CLIENT}"],
    "torch-rpc": [f"abc>abc tcp {CLIENT}", "abc>a tcp 29500"],
    "torchrun": ["abc>a tcp 29400", f"abc>abc tcp {CLIENT}"],
}
"""Who must reach whom when `a` is the head and `b` runs etcd, `out` being somebody outside the cluster."""

CONSTRAINTS = {
    "efa": ["same_availability_zone", "same_vpc", "separate_instance_types"],
    "sagemaker-hyperpod": [
        "same_availability_zone",
        "same_vpc",
        "separate_instance_types",
        "every_group_admits_efa",
    ],
}
"""Beside those of base-cluster."""


def names(ids: frozenset[str]) -> str:
    return "".join(sorted(item.removeprefix("i-") for item in ids))


def test_the_table_is_whole() -> None:
    """Each shipped policy stands in the table below."""
    assert sorted(ASKED) == list(shipped())


@pytest.mark.parametrize("name", shipped())
def test_what_is_asked(name: str) -> None:
    """With all parameters set and a head known, a policy asks exactly for what its framework needs."""
    policy = load(name)
    settings = {item.name: VALUES[item.name] for item in policy.parameters if item.default is None}
    found = resolve([policy], MEMBERS, settings=settings, head="a")

    asked = [f"{names(item.sources)}>{names(item.targets)} {item.protocol} {item.ports}" for item in found.between]
    for item in found.external:
        ends = (names(item.members), "out") if item.outbound else ("out", names(item.members))
        asked.append(f"{'>'.join(ends)} {item.protocol} {item.ports}")
    assert asked == ASKED[name]
    assert found.skipped == ()


@pytest.mark.parametrize("name", shipped())
@pytest.mark.parametrize("count", [1, 3])
def test_as_it_comes(name: str, count: int) -> None:
    """Without any setting, a need is required of the members or skipped with a reason, never lost."""
    policy = load(name)
    found = resolve([policy], MEMBERS[:count])

    stated = {item.need for item in found.between} | {item.need for item in found.external}
    skipped = {item.need for item in found.skipped}
    assert sorted([*stated, *skipped]) == sorted(need.id for need in policy.needs)
    assert all(item.reason for item in found.skipped)


@pytest.mark.parametrize("name", shipped())
def test_said_and_sourced(name: str) -> None:
    """A policy is called as its file, says what it is for, and each of its parts has words and sources."""
    policy = load(name)
    said = [(item.why, item.references) for item in policy.needs]
    said += [(item.why, item.references) for item in policy.constraints]
    said += [(item.why, item.references) for item in policy.exposures]
    declared = {item.name: item.description for item in policy.parameters}
    declared |= {item.name: item.description for item in policy.peers}
    declared |= {item.name: item.description for item in policy.roles}

    assert policy.name == name
    assert policy.summary.endswith(".")
    assert policy.notes
    assert policy.frameworks or name in {"base-cluster", "admin-ssh"}
    assert [item for item in said if not all(item)] == []
    assert [item for item, description in declared.items() if not description] == []


@pytest.mark.parametrize("name", shipped())
def test_what_is_declared_is_used(name: str) -> None:
    """No parameter, role or peer is declared for nothing."""
    policy = load(name)
    parameters = {item for need in policy.needs for item in need.ports.parameters}
    parameters |= {item for peer in policy.peers for item in peer.at.parameters}
    ends = {end for need in policy.needs for end in (need.source, need.target)}

    assert {item.name for item in policy.parameters} == parameters
    assert {role.name for role in policy.roles if role.name != "login"} <= ends
    assert {peer.name for peer in policy.peers} <= ends


@pytest.mark.parametrize("name", shipped())
def test_constraints(name: str) -> None:
    """EFA stays within a zone and a VPC; every other policy has what holds for every cluster."""
    kinds = [str(item.kind) for item in load(name).constraints]
    base = [] if name == "admin-ssh" else ["same_address_family", "same_mtu_class"]

    assert kinds == base + CONSTRAINTS.get(name, [])


@pytest.mark.parametrize("name", shipped())
def test_editors_find_the_schema(name: str) -> None:
    """The first line of each file names the schema beside it."""
    assert shipped_text(name).splitlines()[0] == "# yaml-language-server: $schema=schema.json"
    assert (POLICIES / "schema.json").is_file()


@pytest.mark.parametrize("name", shipped())
def test_severities(name: str) -> None:
    """A need that is not met is an error; Slurm's accounting, which many clusters lack, is a warning."""
    found = {need.id for need in load(name).needs if need.severity != "error"}

    assert found == ({"accounting"} if name in {"slurm", "parallelcluster"} else set())
