"""Permissions that leave out a part of the needed ports are found, with exactly the ports that are missing."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.ports import PortSet
from sgaudit.rules.finding import Example, Finding, Fix, Resource
from sgaudit.rules.partial_ports import RULE
from sgaudit.severity import Severity
from tests.builders import ANYWHERE, EVERYTHING, group, node, row, snapshot
from tests.unit.rules.scene import SELF, found

Raw = dict[str, Any]

TWO = [node("a", "10.0.0.4"), node("b", "10.0.0.5")]
MASTER = row("tcp", 29500, groups=["sg-a"])


def opened(*ranges: tuple[int, int], protocol: str = "tcp") -> list[Raw]:
    """Give a group's ingress from itself: the master's port, and some ranges."""
    return [MASTER, *(row(protocol, low, high, groups=["sg-a"]) for low, high in ranges)]


def test_whole_finding() -> None:
    """A range that ends too early is one finding that names the rest of it."""
    missing = PortSet.parse("50001-60999")
    assert found(RULE, snapshot(TWO, [group(ingress=opened((32768, 50000)))])) == [
        Finding(
            rule="partial-ports",
            severity=Severity.ERROR,
            title="sg-a admits not all needed ports from any member",
            message=(
                "The ingress permissions of sg-a leave out tcp 50001-60999 from all 2 members; 2 pairs can't connect. "
                "Being in the same group grants nothing by itself."
            ),
            remedy="Add to sg-a an ingress permission for tcp 50001-60999 from the group itself.",
            resource=Resource("security-group", "sg-a"),
            pairs=2,
            fix=Fix.UNSAFE,
            examples=(Example("i-a", "i-b", missing), Example("i-b", "i-a", missing)),
            evidence={
                "direction": "ingress",
                "security_groups": ["sg-a"],
                "protocol": "tcp",
                "missing": "50001-60999",
                "peers": ["i-a", "i-b"],
                "peer_groups": ["sg-a"],
                "needs": ["gloo-mesh"],
                "behind_middlebox": False,
            },
            subject=("security-groups", "sg-a"),
            identity=("ingress", "tcp", "50001-60999"),
        )
    ]


@pytest.mark.parametrize(
    ("ingress", "missing"),
    [
        pytest.param(SELF, [], id="everything"),
        pytest.param(opened((32768, 60999)), [], id="exactly the range"),
        pytest.param(opened((1024, 65535)), [], id="a wider range"),
        pytest.param(opened((32768, 40000), (40001, 60999)), [], id="two ranges that meet"),
        pytest.param(opened((32768, 40000), (40002, 60999)), ["40001"], id="two ranges that don't"),
        pytest.param(opened((32769, 60999)), ["32768"], id="the first is missing"),
        pytest.param(opened((32768, 60998)), ["60999"], id="the last is missing"),
        pytest.param(opened((40000, 50000)), ["32768-39999,50001-60999"], id="the middle is open"),
        pytest.param(opened((49152, 65535)), ["32768-49151"], id="another system's range"),
        pytest.param(opened(), [], id="nothing of the range"),
        pytest.param([], [], id="nothing at all"),
        pytest.param(opened((32768, 60999), protocol="udp"), [], id="udp does not count"),
    ],
)
def test_ports(ingress: list[Raw], missing: list[str]) -> None:
    """It tells exactly the ports that are missing; a need of which nothing is admitted is another rule's."""
    assert [item.evidence["missing"] for item in found(RULE, snapshot(TWO, [group(ingress=ingress)]))] == missing


def test_both_ends() -> None:
    """What leaves one end and what enters the other are told apart, both at once."""
    rows = group(ingress=opened((32768, 50000)), egress=[row("tcp", 29500, 60000, cidr=[ANYWHERE])])
    findings = found(RULE, snapshot(TWO, [rows]))
    assert sorted((item.evidence["direction"], item.evidence["missing"]) for item in findings) == [
        ("egress", "60001-60999"),
        ("ingress", "50001-60999"),
    ]
    assert len({item.fingerprint for item in findings}) == 2


def test_different_parts_for_different_peers() -> None:
    """Peers of which different ports are missing have a finding each."""
    members = [*TWO, node("c", "10.0.0.6", groups=("sg-c",))]
    rows = [
        group(ingress=[*opened((32768, 50000)), row("tcp", 1024, 40000, groups=["sg-c"])]),
        group("sg-c", ingress=[EVERYTHING]),
    ]
    findings = found(RULE, snapshot(members, rows))
    assert sorted((item.evidence["missing"], item.evidence["peers"], item.pairs) for item in findings) == [
        ("40001-60999", ["i-c"], 2),
        ("50001-60999", ["i-a", "i-b"], 2),
    ]


def test_every_tcp_port() -> None:
    """A need for every port finds what lies below and above as well."""
    (finding,) = found(
        RULE, snapshot(TWO, [group(ingress=[row("tcp", 1024, 65534, groups=["sg-a"])])]), "tcp-full-mesh"
    )
    assert finding.message == (
        "The ingress permissions of sg-a leave out tcp 0-1023,65535 from all 2 members; 2 pairs can't connect. "
        "Being in the same group grants nothing by itself."
    )


def test_all_protocols() -> None:
    """Every TCP port is only a part of a need for all traffic."""
    rows = [group(ingress=[row("tcp", 0, 65535, groups=["sg-a"])])]
    (finding,) = found(RULE, snapshot(TWO, rows), "all-traffic-mesh")
    assert finding.remedy == "Add to sg-a an ingress permission for all traffic from the group itself."
    assert finding.evidence["protocol"] == "all"


def test_fingerprint_stays() -> None:
    """More members make no new finding; other ports do."""
    rows = [group(ingress=opened((32768, 50000)))]
    (before,) = found(RULE, snapshot(TWO, rows))
    (after,) = found(RULE, snapshot([node("0", "10.0.0.3"), *TWO, node("c", "10.0.0.6")], rows))
    (other,) = found(RULE, snapshot(TWO, [group(ingress=opened((32768, 50001)))]))
    assert (after.fingerprint, after.pairs) == (before.fingerprint, 12)
    assert other.fingerprint != before.fingerprint
