"""A group that admits itself and the world on the same ports is found."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.rules.self_and_world import RULE
from sgaudit.severity import Severity
from tests.builders import ANYWHERE, OWNER, entry, group, node, row
from tests.unit.rules.outdoors import SELF, guarded, outdoors
from tests.unit.rules.scene import found

Raw = dict[str, Any]

STALE = {"UserId": OWNER, "GroupId": "sg-a", "VpcPeeringConnectionId": "pcx-1", "PeeringStatus": "deleted"}


def test_whole_finding() -> None:
    """It names the ports that are open to both, and the permission for the world."""
    (finding,) = found(RULE, outdoors(row("tcp", 0, 65535, groups=["sg-a"], cidr=[ANYWHERE])))

    assert finding.severity is Severity.WARNING
    assert finding.title == "sg-a is open to itself and to the world on all tcp ports"
    assert finding.message == (
        "sg-a admits all tcp ports from the whole IPv4 internet by 0.0.0.0/0 (all tcp ports); 2 members carry it, all "
        "of them with a public address and a route to an internet gateway. It admits itself on the same ports by a "
        "permission of its own."
    )
    assert finding.remedy == RULE.remedy


@pytest.mark.parametrize(
    ("ingress", "expected"),
    [
        ([SELF, row("tcp", 8786, 8787, cidr=[ANYWHERE])], [{"tcp": "8786-8787"}]),
        ([row("tcp", 1024, 65535, groups=["sg-a"]), row("tcp", 0, 2000, cidr=[ANYWHERE])], [{"tcp": "1024-2000"}]),
        ([SELF, row("udp", 53, cidr=["0.0.0.0/1"])], [{"udp": "53"}]),
        ([SELF, row(cidr=[ANYWHERE])], [{"tcp": "0-65535", "udp": "0-65535"}]),
        ([SELF, row("tcp", 22, cidr=["203.0.113.0/24"]), row("tcp", 80, cidr=[ANYWHERE])], [{"tcp": "80"}]),
        ([row("tcp", 22, groups=["sg-a"]), row("tcp", 80, cidr=[ANYWHERE])], []),
        ([row("tcp", 22, groups=["sg-a"]), row("udp", 22, cidr=[ANYWHERE])], []),
        ([row(groups=["sg-b"]), row(cidr=[ANYWHERE])], []),
        ([row(groups=[STALE]), row(cidr=[ANYWHERE])], []),
        ([SELF, row(cidr=["10.0.0.0/8"])], []),
        ([SELF], []),
        ([row(cidr=[ANYWHERE])], []),
    ],
)
def test_ports(ingress: list[Raw], expected: list[dict[str, str]]) -> None:
    """Only ports that are open to both count, and each source counts by itself."""
    document = outdoors(*ingress, groups=[group("sg-b")])

    assert [item.evidence["ports"] for item in found(RULE, document)] == expected


def test_acl_that_cuts_the_world_off() -> None:
    """Where the world doesn't arrive, the permission for the group itself is not pointless."""
    closed = guarded(entry(100, "allow", egress=False, cidr="10.0.0.0/16"))

    assert found(RULE, outdoors(SELF, row(cidr=[ANYWHERE]), acls=closed)) == []


def test_latent() -> None:
    """Where nobody can dial the members it is a note."""
    (finding,) = found(RULE, outdoors(SELF, row(cidr=[ANYWHERE]), nodes=[node("a", "10.0.0.5")]))

    assert finding.severity is Severity.NOTE
