"""Network ACLs that stop the answers are found, by the ports from which members dial."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.ports import PortSet
from sgaudit.rules.acl_blocks_return import RULE
from sgaudit.rules.finding import Example, Finding, Fix, Resource
from sgaudit.severity import Severity
from tests.builders import EVERYTHING, acl, allow_all, entry, group, node, pair_of, snapshot
from tests.unit.rules.scene import found, scan

Raw = dict[str, Any]

CLIENT = "32768-60999"
WORLD = [group(ingress=[EVERYTHING])]
OPEN = allow_all()
STATELESS = " Network ACLs are stateless: an answer needs an entry of its own, for the client's port."


def inward(number: int, action: str, **more: Any) -> Raw:
    return entry(number, action, egress=False, **more)


def outward(number: int, action: str, **more: Any) -> Raw:
    return entry(number, action, egress=True, **more)


def across(*entries: Raw) -> Raw:
    """Give `a` in subnet-1, which has an ACL of these entries, and `b` in subnet-2, which has an open one."""
    return snapshot(pair_of({}, {}), WORLD, acls=[acl("acl-1", entries, subnets=["subnet-1"])])


def test_whole_finding() -> None:
    """An ACL that lets everything in and nothing out stops answers of those who are dialled behind it."""
    assert found(RULE, across(inward(100, "allow"))) == [
        Finding(
            rule="acl-blocks-return",
            severity=Severity.ERROR,
            title=f"acl-1 stops answers to tcp {CLIENT} to i-b",
            message=(
                f"The egress entries of acl-1 at subnet-1 stop answers to tcp {CLIENT} to i-b (no entry allows it); "
                f"1 pair can't connect.{STATELESS}"
            ),
            remedy=f"Add to acl-1 an egress entry that allows tcp {CLIENT} to 10.0.1.0/24.",
            resource=Resource("network-acl", "acl-1"),
            pairs=1,
            fix=Fix.UNSAFE,
            examples=(Example("i-b", "i-a", PortSet.parse(CLIENT)),),
            evidence={
                "direction": "egress",
                "way": "back",
                "subnets": ["subnet-1"],
                "protocol": "tcp",
                "missing": CLIENT,
                "entries": ["default deny"],
                "members_inside": ["i-a"],
                "needs": ["gloo-mesh", "master-port"],
            },
            identity=("return-out", "tcp", CLIENT, "subnet-1"),
        )
    ]


LISTENERS: dict[str, Any] = {"protocol": "6", "ports": (20000, 30000)}
DIALLERS: dict[str, Any] = {"protocol": "6", "ports": (32768, 60999)}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param(OPEN, [], id="open"),
        pytest.param([inward(1, "allow", **DIALLERS), outward(1, "allow", **DIALLERS)], [], id="the client's ports"),
        pytest.param([inward(90, "deny", protocol="17", ports=(0, 65535)), *OPEN], [], id="another protocol"),
        pytest.param([inward(90, "deny", protocol="6", ports=(1, 32767)), *OPEN], [], id="low ports"),
        pytest.param([outward(1, "allow")], [("ingress", CLIENT, "i-a")], id="nothing in"),
        pytest.param([inward(1, "allow")], [("egress", CLIENT, "i-b")], id="nothing out"),
        pytest.param(
            [inward(1, "allow", **LISTENERS), outward(1, "allow", **LISTENERS)],
            [("egress", CLIENT, "i-b"), ("ingress", CLIENT, "i-a")],
            id="the listeners' ports only",
        ),
        pytest.param(
            [inward(1, "allow"), outward(1, "allow", protocol="6", ports=(49152, 65535))],
            [("egress", "32768-49151", "i-b")],
            id="the range of another system",
        ),
        pytest.param(
            [inward(1, "deny", protocol="6", ports=(40000, 40000)), *OPEN],
            [("ingress", "40000", "i-a")],
            id="one port is enough",
        ),
    ],
)
def test_entries(entries: list[Raw], expected: list[tuple[str, str, str]]) -> None:
    """Answers go to the client's port: out of the subnet of who was dialled, and into that of who dials."""
    findings = found(RULE, across(*entries))
    assert sorted(
        (item.evidence["direction"], item.evidence["missing"], item.examples[0].source) for item in findings
    ) == sorted(expected)


@pytest.mark.parametrize(("client", "count"), [("40000-50000", 0), ("40000-50001", 1)])
def test_client_ports(client: str, count: int) -> None:
    """The range from which members dial decides, and can be given."""
    document = across(inward(1, "allow"), outward(1, "allow", protocol="6", ports=(40000, 50000)))
    result = scan(document, client_ports=PortSet.parse(client))
    assert len([item for item in result.findings if item.rule == RULE.id]) == count


def test_within_a_subnet() -> None:
    """Inside a subnet no ACL is asked."""
    members = [node("a", "10.0.0.4"), node("b", "10.0.0.5")]
    assert found(RULE, snapshot(members, WORLD, acls=[acl("acl-1", [], subnets=["subnet-1"])])) == []


def test_all_blockers_at_once() -> None:
    """Where both ACLs forget the answers, both are told for each pair."""
    acls = [acl("acl-1", [], subnets=["subnet-1"]), acl("acl-2", [], subnets=["subnet-2"])]
    findings = found(RULE, snapshot(pair_of({}, {}), WORLD, acls=acls))
    assert sorted((item.resource.id, item.evidence["direction"], item.examples[0].source) for item in findings) == [
        ("acl-1", "egress", "i-b"),
        ("acl-1", "ingress", "i-a"),
        ("acl-2", "egress", "i-a"),
        ("acl-2", "ingress", "i-b"),
    ]
    assert len({item.fingerprint for item in findings}) == 4


def test_deny_before_allow() -> None:
    """The entry that denies is named, and the new one has to come before it."""
    (finding,) = found(RULE, across(outward(90, "deny", cidr="10.0.1.0/24", **DIALLERS), *OPEN))
    assert finding.message == (
        f"The egress entries of acl-1 at subnet-1 stop answers to tcp {CLIENT} to i-b (entry 90 denies tcp {CLIENT} "
        f"for 10.0.1.0/24); 1 pair can't connect.{STATELESS}"
    )
    assert finding.remedy == f"Add to acl-1 an egress entry that allows tcp {CLIENT} to 10.0.1.0/24, before entry 90."


def test_fingerprint_stays() -> None:
    """More members at both ends make no new finding."""
    custom = [acl("acl-1", [inward(100, "allow")], subnets=["subnet-1"])]
    more = [node("0", "10.0.0.3"), *pair_of({}, {}), node("c", "10.0.1.9", subnet="subnet-2")]
    (before,) = found(RULE, snapshot(pair_of({}, {}), WORLD, acls=custom))
    (after,) = found(RULE, snapshot(more, WORLD, acls=custom))
    assert (after.fingerprint, before.pairs, after.pairs) == (before.fingerprint, 1, 4)
