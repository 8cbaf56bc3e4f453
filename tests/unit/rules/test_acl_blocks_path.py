"""Network ACLs that stop packets on their way there are found, with the entry that decides."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.ports import PortSet
from sgaudit.rules.acl_blocks_path import RULE
from sgaudit.rules.finding import Example, Finding, Fix, Resource
from sgaudit.severity import Severity
from tests.builders import EVERYTHING, acl, allow_all, entry, group, node, pair_of, snapshot
from tests.unit.rules.scene import found

Raw = dict[str, Any]

GLOO = "29500,32768-60999"
WORLD = [group(ingress=[EVERYTHING])]
OPEN = allow_all()


def inward(number: int, action: str, **more: Any) -> Raw:
    return entry(number, action, egress=False, **more)


def outward(number: int, action: str, **more: Any) -> Raw:
    return entry(number, action, egress=True, **more)


def across(*entries: Raw) -> Raw:
    """Give `a` in subnet-1, which has an ACL of these entries, and `b` in subnet-2, which has an open one."""
    return snapshot(pair_of({}, {}), WORLD, acls=[acl("acl-1", entries, subnets=["subnet-1"])])


def test_whole_finding() -> None:
    """A deny with a lower number than the allow is one finding, with the entry, the block and the cure."""
    deny = inward(90, "deny", protocol="6", ports=(32768, 40000))
    missing = PortSet.parse("32768-40000")
    assert found(RULE, across(deny, *OPEN)) == [
        Finding(
            rule="acl-blocks-path",
            severity=Severity.ERROR,
            title="acl-1 stops tcp 32768-40000 from i-b",
            message=(
                "The ingress entries of acl-1 at subnet-1 stop tcp 32768-40000 from i-b (entry 90 denies tcp "
                "32768-40000 for 0.0.0.0/0); 1 pair can't connect."
            ),
            remedy="Add to acl-1 an ingress entry that allows tcp 32768-40000 from 10.0.1.0/24, before entry 90.",
            resource=Resource("network-acl", "acl-1"),
            pairs=1,
            fix=Fix.UNSAFE,
            examples=(Example("i-b", "i-a", missing),),
            evidence={
                "direction": "ingress",
                "way": "there",
                "subnets": ["subnet-1"],
                "protocol": "tcp",
                "missing": "32768-40000",
                "entries": [90],
                "members_inside": ["i-a"],
                "needs": ["gloo-mesh"],
            },
            identity=("acl-in", "tcp", "32768-40000", "subnet-1"),
        )
    ]


def test_nothing_allows_it() -> None:
    """An ACL without entries is told in both directions, with the default deny as what decides."""
    findings = found(RULE, across())
    outcome = "i-b (no entry allows it); 1 pair can't connect."
    assert [item.message for item in findings] == [
        f"The ingress entries of acl-1 at subnet-1 stop tcp {GLOO} from {outcome}",
        f"The egress entries of acl-1 at subnet-1 stop tcp {GLOO} to {outcome}",
    ]
    assert [item.remedy for item in findings] == [
        f"Add to acl-1 an ingress entry that allows tcp {GLOO} from 10.0.1.0/24.",
        f"Add to acl-1 an egress entry that allows tcp {GLOO} to 10.0.1.0/24.",
    ]
    assert [item.evidence["entries"] for item in findings] == [["default deny"], ["default deny"]]


HIGH: dict[str, Any] = {"protocol": "6", "ports": (1024, 65535)}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param(OPEN, [], id="open"),
        pytest.param([inward(100, "allow", **HIGH), outward(100, "allow", **HIGH)], [], id="high ports"),
        pytest.param([*OPEN, inward(200, "deny")], [], id="a deny behind the allow"),
        pytest.param([inward(90, "deny", protocol="17", ports=(0, 65535)), *OPEN], [], id="another protocol"),
        pytest.param([inward(90, "deny", protocol="6", ports=(22, 22)), *OPEN], [], id="a port that nobody needs"),
        pytest.param([inward(90, "deny", cidr="10.0.2.0/24"), *OPEN], [], id="for another subnet"),
        pytest.param([inward(90, "deny", cidr="::/0"), *OPEN], [], id="for the other family"),
        pytest.param([inward(90, "deny"), *OPEN], [("ingress", GLOO)], id="in"),
        pytest.param([outward(90, "deny"), *OPEN], [("egress", GLOO)], id="out"),
        pytest.param([outward(90, "deny", cidr="10.0.1.5/32"), *OPEN], [("egress", GLOO)], id="for one address"),
        pytest.param(
            [
                inward(80, "allow", protocol="6", ports=(29500, 40000)),
                inward(90, "deny", protocol="6", ports=(0, 65535)),
                *OPEN,
            ],
            [("ingress", "40001-60999")],
            id="allow, deny, allow",
        ),
        pytest.param(
            [inward(100, "allow", protocol="6", ports=(1024, 40000)), outward(100, "allow")],
            [("ingress", "40001-60999")],
            id="too short a range",
        ),
    ],
)
def test_entries(entries: list[Raw], expected: list[tuple[str, str]]) -> None:
    """The first entry that matches decides, by address, protocol, port and family."""
    assert [
        (item.evidence["direction"], item.evidence["missing"]) for item in found(RULE, across(*entries))
    ] == expected


def test_within_a_subnet() -> None:
    """Inside a subnet no ACL is asked."""
    members = [node("a", "10.0.0.4"), node("b", "10.0.0.5")]
    assert found(RULE, snapshot(members, WORLD, acls=[acl("acl-1", [], subnets=["subnet-1"])])) == []


def test_all_blockers_at_once() -> None:
    """Where the ACLs of both subnets stop a path, each is told: for each pair one on the way out, one on the way in."""
    acls = [acl("acl-1", [], subnets=["subnet-1"]), acl("acl-2", [], subnets=["subnet-2"])]
    findings = found(RULE, snapshot(pair_of({}, {}), WORLD, acls=acls))
    assert sorted((item.resource.id, item.evidence["direction"], item.examples[0].source) for item in findings) == [
        ("acl-1", "egress", "i-a"),
        ("acl-1", "ingress", "i-b"),
        ("acl-2", "egress", "i-b"),
        ("acl-2", "ingress", "i-a"),
    ]
    assert len({item.fingerprint for item in findings}) == 4


def test_groups_too() -> None:
    """A path that the groups stop as well has its ACL told all the same."""
    document = snapshot(pair_of({}, {}), [group()], acls=[acl("acl-1", [outward(1, "allow")], subnets=["subnet-1"])])
    assert [item.evidence["direction"] for item in found(RULE, document)] == ["ingress"]


def test_one_acl_at_two_subnets() -> None:
    """An ACL that stops the same at several subnets is one finding."""
    both = acl("acl-1", [outward(100, "allow"), inward(100, "deny")], subnets=["subnet-1", "subnet-2"])
    (finding,) = found(RULE, snapshot(pair_of({}, {}), WORLD, acls=[both]))
    assert finding.message == (
        f"The ingress entries of acl-1 at subnet-1 and subnet-2 stop tcp {GLOO} from all 2 members (entry 100 denies "
        "all traffic for 0.0.0.0/0); 2 pairs can't connect."
    )
    assert finding.remedy == (
        f"Add to acl-1 an ingress entry that allows tcp {GLOO} from 10.0.0.0/24 and 10.0.1.0/24, before entry 100."
    )


def test_name() -> None:
    """An ACL is called by its name where it has one."""
    named = {
        **acl("acl-1", [inward(1, "deny"), *OPEN], subnets=["subnet-1"]),
        "Tags": [{"Key": "Name", "Value": "edge"}],
    }
    (finding,) = found(RULE, snapshot(pair_of({}, {}), WORLD, acls=[named]))
    assert finding.title == f"edge stops tcp {GLOO} from i-b"
    assert finding.message.startswith("The ingress entries of edge (acl-1) at subnet-1 stop ")


def test_unread_is_not_blocked() -> None:
    """ACLs that were not read stop nothing for sure."""
    assert found(RULE, snapshot(pair_of({}, {}), WORLD, without=["NetworkAcls"])) == []


def test_fingerprint_stays() -> None:
    """More members at both ends make no new finding."""
    custom = [acl("acl-1", [inward(90, "deny"), *OPEN], subnets=["subnet-1"])]
    more = [node("0", "10.0.0.3"), *pair_of({}, {}), node("c", "10.0.1.9", subnet="subnet-2")]
    (before,) = found(RULE, snapshot(pair_of({}, {}), WORLD, acls=custom))
    (after,) = found(RULE, snapshot(more, WORLD, acls=custom))
    assert (after.fingerprint, before.pairs, after.pairs) == (before.fingerprint, 1, 4)
