"""Members without an address of the judged family are found, all in one finding."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.model import Family
from sgaudit.ports import PortSet
from sgaudit.rules.finding import Example, Finding, Resource
from sgaudit.rules.no_address import RULE
from sgaudit.selection import Interfaces, Selection
from sgaudit.severity import Severity
from tests.builders import EVERYTHING, group, instance, interface, node, snapshot
from tests.unit.rules.scene import EVERYWHERE, found

Raw = dict[str, Any]

NEEDED = PortSet.parse("29500,32768-60999")
WORLD = [group(ingress=[EVERYTHING])]
OVER_IPV6 = Selection(everything=True, family=Family.IPV6)
V6 = ["2001:db8::5"]


def test_whole_finding() -> None:
    """A member with an IPv6 address alone can neither dial nor be dialled over IPv4."""
    assert found(RULE, snapshot([node("a", "10.0.0.4"), node("b", ipv6=V6)], WORLD)) == [
        Finding(
            rule="no-address",
            severity=Severity.ERROR,
            title="1 interface without an IPv4 address",
            message="i-b can't be dialled over IPv4: eni-b has no IPv4 address; 2 pairs can't connect.",
            remedy="Give the interface an IPv4 address, or judge the other family with --family ipv6.",
            resource=Resource("network-interface", "eni-b"),
            pairs=2,
            examples=(Example("i-b", "i-a", NEEDED), Example("i-a", "i-b", NEEDED)),
            evidence={"interfaces": ["eni-b"], "family": "ipv4"},
            subject=("members",),
            identity=("ipv4",),
        )
    ]


def test_several() -> None:
    """Several members without an address are one finding, and no pair counts twice."""
    members = [node("a", "10.0.0.4"), node("b", "10.0.0.5"), node("c", "10.0.0.6", ipv6=V6)]
    (finding,) = found(RULE, snapshot(members, WORLD), selection=OVER_IPV6)
    assert finding.title == "2 interfaces without an IPv6 address"
    assert finding.message == (
        "i-a and i-b can't be dialled over IPv6: eni-a and eni-b have no IPv6 address; 6 pairs can't connect."
    )
    assert finding.remedy == "Give the interface an IPv6 address, or judge the other family with --family ipv4."
    assert (finding.pairs, finding.evidence) == (6, {"interfaces": ["eni-a", "eni-b"], "family": "ipv6"})


def test_all() -> None:
    """A cluster without any address of the family is told as such."""
    (finding,) = found(RULE, snapshot([node("a", "10.0.0.4"), node("b", "10.0.0.5")], WORLD), selection=OVER_IPV6)
    assert finding.message == (
        "All 2 members can't be dialled over IPv6: eni-a and eni-b have no IPv6 address; 2 pairs can't connect."
    )


def test_names_stay_as_they_are() -> None:
    """A name at the beginning of the message keeps its letters."""
    named = instance(interface("b", ipv6=V6), Tags=[{"Key": "Name", "Value": "eNode"}])
    (finding,) = found(RULE, snapshot([node("a", "10.0.0.4"), named], WORLD))
    assert finding.message.startswith("eNode (i-b) can't be dialled over IPv4")


FABRIC = interface("b1", of="b", device=1, InterfaceType="efa-only")
BOTH = Selection(everything=True, interfaces=Interfaces.ALL)


@pytest.mark.parametrize(
    ("members", "selection", "expected"),
    [
        pytest.param([node("a", "10.0.0.4"), node("b", "10.0.0.5")], EVERYWHERE, [], id="both have one"),
        pytest.param([node("a", ipv6=V6), node("b", ipv6=["2001:db8::6"])], OVER_IPV6, [], id="both have one of IPv6"),
        pytest.param([node("a", "10.0.0.4"), node("b")], EVERYWHERE, ["eni-b"], id="none at all"),
        pytest.param([node("a", "10.0.0.4"), node("b")], OVER_IPV6, ["eni-a", "eni-b"], id="none of IPv6"),
        pytest.param(
            [node("a", "10.0.0.4"), instance(interface("b", "10.0.0.5"), FABRIC)],
            EVERYWHERE,
            [],
            id="an EFA-only interface that is not judged",
        ),
        pytest.param([node("b")], EVERYWHERE, [], id="a lone member has nobody to dial"),
    ],
)
def test_members(members: list[Raw], selection: Selection, expected: list[str]) -> None:
    """It finds judged interfaces without an address, as far as some pair concerns them."""
    findings = found(RULE, snapshot(members, WORLD), selection=selection)
    assert [item for finding in findings for item in finding.evidence["interfaces"]] == expected


def test_not_seen_is_not_bare() -> None:
    """A member whose interface could not be seen may have an address; that is another rule's."""
    unseen = instance(interface("b", "10.0.0.5"), NetworkInterfaces=[])
    document = snapshot([node("a", "10.0.0.4"), unseen], WORLD, NetworkInterfaces=[interface("a", "10.0.0.4")])
    assert found(RULE, document) == []


def test_fingerprint_stays() -> None:
    """More members with addresses make no new finding."""
    (before,) = found(RULE, snapshot([node("a", "10.0.0.4"), node("b")], WORLD))
    (after,) = found(RULE, snapshot([node("0", "10.0.0.3"), node("a", "10.0.0.4"), node("b")], WORLD))
    assert (after.fingerprint, after.pairs) == (before.fingerprint, 4)
