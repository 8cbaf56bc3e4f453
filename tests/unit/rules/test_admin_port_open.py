"""Administration ports that are open to more than one owner's addresses are found."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.rules.admin_port_open import RULE
from sgaudit.severity import Severity
from tests.builders import ANYWHERE, ANYWHERE_6, entry, node, row
from tests.unit.rules.outdoors import SELF, guarded, outdoors
from tests.unit.rules.scene import found

Raw = dict[str, Any]


def titles(document: Raw, *policies: str) -> list[str]:
    return sorted(item.title for item in found(RULE, document, *policies))


def test_whole_finding() -> None:
    """It names the service with its port, from where, and by which permission."""
    (finding,) = found(RULE, outdoors(SELF, row("tcp", 22, cidr=[ANYWHERE])))

    assert finding.severity is Severity.ERROR
    assert finding.title == "sg-a is open to the world on SSH (22)"
    assert finding.message == (
        "sg-a admits SSH (22) from the whole IPv4 internet by 0.0.0.0/0 (tcp 22); 2 members carry it, all of them "
        "with a public address and a route to an internet gateway."
    )
    assert finding.remedy == RULE.remedy


@pytest.mark.parametrize(
    ("ingress", "expected"),
    [
        ([row("tcp", 22, cidr=["203.0.113.0/24"])], []),
        ([row("tcp", 22, cidr=["17.0.0.0/8"])], []),
        ([row("tcp", 22, cidr=["17.0.0.0/8", "203.0.113.9/32"])], ["SSH (22)"]),
        ([row("tcp", 22, cidr=["0.0.0.0/1"])], ["SSH (22)"]),
        ([row("tcp", 22, cidr=["10.0.0.0/8", "172.16.0.0/12"])], []),
        ([row("tcp", 0, 21, cidr=[ANYWHERE]), row("tcp", 23, 79, cidr=[ANYWHERE])], []),
        ([row("udp", 22, cidr=[ANYWHERE])], []),
        ([row("tcp", 22, cidr=[ANYWHERE]), row("tcp", 3389, cidr=[ANYWHERE])], ["RDP (3389)", "SSH (22)"]),
        ([row("tcp", 22, 3389, cidr=[ANYWHERE])], ["SSH (22), RDP (3389) and etcd (2379-2380)"]),
        ([row("tcp", 2379, cidr=[ANYWHERE])], ["etcd (2379)"]),
        ([row("tcp", 6379, cidr=[ANYWHERE])], ["Ray GCS (6379)"]),
        ([row("tcp", 8265, cidr=[ANYWHERE])], ["Ray dashboard and jobs (8265)"]),
        ([row("tcp", 8786, 8787, cidr=[ANYWHERE])], ["Dask scheduler and dashboard (8786-8787)"]),
        ([row(cidr=[ANYWHERE])], ["SSH (22) and RDP (3389)"]),
        ([row("tcp", 22, groups=["sg-a"])], []),
        ([row("tcp", 22, cidr6=[ANYWHERE_6])], []),
    ],
)
def test_services(ingress: list[Raw], expected: list[str]) -> None:
    """Each service that more is let in to than one owner has is named; those that are open alike are together."""
    assert titles(outdoors(*ingress)) == [f"sg-a is open to the world on {item}" for item in expected]


def test_policy_ports_are_left_to_the_policy() -> None:
    """What a policy forbids is reported as its exposure and not twice."""
    document = outdoors(row("tcp", 8786, 8787, cidr=[ANYWHERE]))

    assert titles(document, "dask") == []
    assert titles(document, "admin-ssh") == ["sg-a is open to the world on Dask scheduler and dashboard (8786-8787)"]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([entry(90, "deny", egress=False, protocol="6", ports=(22, 22)), entry(100, "allow", egress=False)], 0),
        ([entry(100, "allow", egress=False), entry(200, "deny", egress=False, protocol="6", ports=(22, 22))], 1),
        ([entry(100, "allow", egress=False, cidr="198.51.100.0/24")], 0),
        ([entry(90, "allow", egress=False, cidr="203.0.113.9/32"), entry(100, "deny", egress=False)], 0),
    ],
)
def test_acl(entries: list[Raw], expected: int) -> None:
    """What a network ACL leaves decides whether it is the world."""
    assert len(found(RULE, outdoors(row("tcp", 22, cidr=[ANYWHERE]), acls=guarded(*entries)))) == expected


def test_latent() -> None:
    """Where nobody can dial the members it is a warning."""
    (finding,) = found(RULE, outdoors(row("tcp", 22, cidr=[ANYWHERE]), nodes=[node("a", "10.0.0.5")]))

    assert (finding.severity, finding.title) == (Severity.WARNING, "sg-a is open to the world on SSH (22) (latent)")


def test_causes_have_fingerprints_of_their_own() -> None:
    """Two permissions for two services are two causes."""
    findings = found(RULE, outdoors(row("tcp", 22, cidr=[ANYWHERE]), row("tcp", 3389, cidr=[ANYWHERE])))

    assert len({item.fingerprint for item in findings}) == 2
