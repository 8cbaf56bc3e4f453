"""A policy in words."""

from __future__ import annotations

import pytest

from sgaudit.policy.describe import describe, sentence
from sgaudit.policy.load import load, shipped
from tests.unit.policy.cluster import policy

TEXT = """frameworks: [this, that]
extends: []
notes: It knows nothing of UDP.
roles:
  worker: {tag: [a=b, c], subnet: [subnet-1, subnet-2], description: works}
  rest: {default: true}
parameters:
  p: {kind: range, default: [1, 2-3], description: where it listens}
  q: {kind: peer}
peers:
  store: {at: ["${q}", sg-1], description: the files}
needs:
  - {id: mesh, from: member, to: member, ports: [22, "${p}"], ip_ordered: true, pin: --p, why: because, source: [a, b]}
  - {id: files, from: worker, to: store, protocol: all, topology: duplex, severity: note, why: because, source: a}
constraints:
  - {kind: same_vpc, roles: [worker, rest], why: because, source: a}
  - {kind: separate_instance_types, instance_types: [p4d.*, dl1.*], severity: warning, why: because, source: a}
exposure:
  - {id: world, except: {ports: 22, cidrs: 10.0.0.0/8}, why: because, source: a}
  - {id: dns, ports: 53, protocol: udp, from: 203.0.113.0/24, why: because, source: a}
"""
WORDS = """mine: A test.
For: this; that

Roles
  worker: works; tag a=b and tag c and subnet subnet-1 or subnet-2
  rest: every member that no other role picks

Parameters (--set NAME=VALUE)
  p (range, default 1,2-3): where it listens
  q (peer, not set; what uses it is skipped)

Outside the cluster
  store: the files; at sg-1,${q}

What must be open
  mesh (error): members all dial one another on TCP 22, p (1,2-3)
    Why: because
    Order: one connection a pair, dialled by the side with the higher address
    Fewer ports: --p
    Source: a; b
  files (note): worker members and the peer store dial one another on every protocol and port
    Why: because
    Source: a

What must hold
  same_vpc (error): worker and rest members are in one VPC
    Why: because
    Source: a
  separate_instance_types (warning): members of one of these types have no member of another beside
    them (p4d.*, dl1.*)
    Why: because
    Source: a

What must not be open
  world (error): the ports of all needs, from 0.0.0.0/0, ::/0; except port 22 and from 10.0.0.0/8
    Why: because
    Source: a
  dns (error): UDP 53, from 203.0.113.0/24
    Why: because
    Source: a

Notes
  It knows nothing of UDP.
"""


def test_all_of_it() -> None:
    """Everything that a policy says is told, with reasons and sources."""
    assert describe(policy(TEXT.replace("extends: []\n", ""))) == WORDS


@pytest.mark.parametrize(
    ("name", "number", "words"),
    [
        ("pytorch-gloo", 1, "members dial the head on TCP master_port (29500)"),
        ("slurm", 1, "members dial compute members on TCP slurmd_port (6818)"),
        ("slurm", 4, "the head dials the peer database on TCP 3306"),
        ("eks-nodes", 4, "the peer control-plane dials members on TCP 10250"),
        ("tcp-full-mesh", 0, "members all dial one another on TCP all ports"),
        ("tensorflow-multiworker", 0, "members all dial one another on TCP task_ports (not set)"),
    ],
)
def test_sentence(name: str, number: int, words: str) -> None:
    """A need is one sentence: who dials whom on what."""
    found = load(name)
    assert sentence(found.needs[number], found) == words


@pytest.mark.parametrize("name", shipped())
def test_shipped(name: str) -> None:
    """Every shipped policy has words of its own, in plain ASCII and lines that fit a terminal."""
    text = describe(load(name))
    assert text.startswith(f"{name}: ")
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 100
