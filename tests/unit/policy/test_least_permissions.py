"""
Every shipped policy is met by the least set of permissions, and each of these is needed.

The set is made from what the policy asks: every member has a group of its own, and for each ordered pair one
egress and one ingress row per protocol and range. EFA traffic needs one group for all, so its policies share one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from sgaudit import snapshot as snapshots
from sgaudit.policy.load import load, shipped
from sgaudit.policy.model import Protocol, Requirements
from sgaudit.policy.resolve import resolve
from sgaudit.ports import ALL, NONE, PortSet
from sgaudit.rules.audit import Audit, audit
from sgaudit.selection import Selection, TagFilter, select
from sgaudit.severity import Severity
from tests import builders
from tests.builders import Raw

TAGS = {
    "a": {"cluster": "train", "Role": "head", "parallelcluster:node-type": "HeadNode"},
    "b": {"cluster": "train", "Role": "etcd", "parallelcluster:node-type": "Compute"},
    "c": {"cluster": "train", "parallelcluster:node-type": "Compute"},
}
VALUES = {
    "admin": "10.0.9.0/28",
    "client": "10.0.9.0/24",
    "control_plane": "sg-peer",
    "database": "10.0.8.0/28",
    "efa_file_system": "sg-peer",
    "file_system": "sg-peer",
    "mount_target": "sg-peer",
    "server": "10.0.7.0/28",
    "task_ports": "12345",
}
"""A value for each parameter that has no default; the addresses lie in the VPC, so that its routes lead there."""
SHARED = {"efa", "sagemaker-hyperpod", "fsx-lustre"}
"""The policies under which all members have one group, because they speak EFA."""
CLOSED = {"mesh-path-blocked", "partial-ports", "external-path-blocked", "efa-group-closed", "efa-extra-group-closed"}
"""The rules that say which permission is missing."""
CONSEQUENCES = {"split-cluster", "one-way-luck"}
"""What else may be said of members that don't reach one another."""


@dataclass(frozen=True, order=True)
class Grant:
    """A permission: a row of one group, with one peer."""

    group: str
    egress: bool
    protocol: str
    ports: tuple[int, int]
    peer: str


def group_of(policy: str, instance_id: str) -> str:
    return "sg-all" if policy in SHARED else f"sg-{instance_id.removeprefix('i-')}"


def wanted(policy: str, needs: Requirements) -> Iterator[tuple[str, str, str, PortSet]]:
    """Go through what must pass: from and to a group or block, protocol and ports."""
    for need in needs.between:
        for source in need.sources:
            for target in need.targets - {source}:
                yield group_of(policy, source), group_of(policy, target), str(need.protocol), need.ports
    for out in needs.external:
        for member in out.members:
            ends = (group_of(policy, member), str(out.peer))
            yield (*(ends if out.outbound else ends[::-1]), str(out.protocol), out.ports)


def least(policy: str, needs: Requirements) -> list[Grant]:
    """Give every permission that is needed, each once; what an all-protocol one covers is left out."""
    asked: dict[tuple[str, str, str], PortSet] = defaultdict(lambda: NONE)
    for source, target, protocol, ports in wanted(policy, needs):
        asked[source, target, "-1" if protocol in (Protocol.EFA, Protocol.ALL) else protocol] |= ports
    grants = set()
    for (source, target, protocol), ports in asked.items():
        if protocol != "-1" and (source, target, "-1") in asked:
            continue
        for span in ports.ranges:
            grants |= {Grant(source, True, protocol, span, target), Grant(target, False, protocol, span, source)}
    return sorted(grant for grant in grants if grant.group.startswith("sg-"))


def rows(grants: list[Grant], group: str, *, egress: bool) -> list[Raw]:
    found = []
    for grant in grants:
        if (grant.group, grant.egress) == (group, egress):
            low, high = grant.ports if grant.protocol != "-1" else (None, None)
            by_group = grant.peer.startswith("sg-")
            named, blocks = ([grant.peer], []) if by_group else ([], [grant.peer])
            found.append(builders.row(grant.protocol, low, high, groups=named, cidr=blocks))
    return found


def document(policy: str, grants: list[Grant]) -> Raw:
    """Make a cluster of three members in two subnets, with these permissions and no other."""
    efa = policy in SHARED
    members = [
        builders.instance(
            builders.interface(
                name,
                address,
                groups=[group_of(policy, name)],
                subnet="subnet-1" if efa else subnet,
                InterfaceType="efa" if efa else "interface",
                AvailabilityZone="us-east-1a",
            ),
            Tags=[{"Key": key, "Value": value} for key, value in TAGS[name].items()],
            Placement={"AvailabilityZone": "us-east-1a"},
        )
        for name, address, subnet in (
            ("a", "10.0.0.5", "subnet-1"),
            ("b", "10.0.0.6", "subnet-1"),
            ("c", "10.0.0.7" if efa else "10.0.1.5", "subnet-2"),
        )
    ]
    names = sorted({group_of(policy, name) for name in TAGS} | {"sg-peer"})
    groups = [
        builders.group(name, ingress=rows(grants, name, egress=False), egress=rows(grants, name, egress=True))
        for name in names
    ]
    return builders.snapshot(members, groups)


def scan(name: str, grants: list[Grant]) -> Audit:
    snapshot = snapshots.parse(document(name, grants))
    selection = Selection(tags=(TagFilter("cluster", ("train",)),))
    members = select(snapshot, selection)
    return audit(snapshot, selection, members, needs_of(name))


@cache
def needs_of(name: str) -> Requirements:
    policy = load(name)
    selection = Selection(tags=(TagFilter("cluster", ("train",)),))
    members = select(snapshots.parse(document(name, [])), selection)
    settings = {item.name: VALUES[item.name] for item in policy.parameters if item.default is None}
    return resolve([policy], members, settings=settings, head="i-a")


def said(result: Audit) -> dict[tuple[str, str], PortSet]:
    """Give the missing ports by group and direction, as the findings that speak of permissions name them."""
    found: dict[tuple[str, str], PortSet] = defaultdict(lambda: NONE)
    for finding in result.findings:
        if finding.rule in CLOSED:
            evidence: dict[str, Any] = dict(finding.evidence)
            for direction in evidence.get("directions") or [evidence.get("direction", "")]:
                found[finding.resource.id, direction] |= PortSet.parse(evidence.get("missing", str(ALL)))
    return found


def expected(grant: Grant, needs: Requirements, policy: str) -> dict[tuple[str, str], PortSet]:
    """Tell what is missing without a permission: all that the needs take of it."""
    ends = (grant.group, grant.peer) if grant.egress else (grant.peer, grant.group)
    missing = NONE
    for source, target, protocol, ports in wanted(policy, needs):
        if (source, target) == ends and grant.protocol in ("-1", protocol):
            missing |= ports if grant.protocol == "-1" else ports & PortSet.single(*grant.ports)
    return {(grant.group, "egress" if grant.egress else "ingress"): missing}


@pytest.mark.parametrize("name", shipped())
def test_the_least_is_enough(name: str) -> None:
    """With exactly the permissions that a policy asks for, nothing at all is wrong."""
    needs = needs_of(name)
    result = scan(name, least(name, needs))

    assert result.status == "pass"
    # A policy for others to extend asks for nothing between members, and a scan says so.
    nothing = [] if needs.between or needs.external else ["need-not-judged"]
    assert [item.rule for item in result.findings if item.severity is not Severity.NOTE] == nothing


@pytest.mark.parametrize("name", shipped())
def test_each_is_needed(name: str) -> None:
    """Without any one of the permissions the findings name its group, its direction and its ports, and no other."""
    needs = needs_of(name)
    grants = least(name, needs)
    wrong: list[object] = []
    for grant in grants:
        result = scan(name, [other for other in grants if other != grant])
        others = {item.rule for item in result.findings if item.severity is not Severity.NOTE} - CLOSED - CONSEQUENCES
        found = said(result)
        if result.exit_code(Severity.WARNING) != 1 or found != expected(grant, needs, name) or others:
            wrong.append((grant, result.status, dict(found), others))

    assert bool(grants) is (name != "base-cluster")
    assert wrong == []
