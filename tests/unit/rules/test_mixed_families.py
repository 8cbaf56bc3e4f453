"""Members without an address of the judged family are found where no path tells of it."""

from __future__ import annotations

import pytest

from sgaudit.model import Family
from sgaudit.rules.mixed_families import RULE
from sgaudit.selection import Selection
from tests.builders import group, snapshot
from tests.unit.rules.scene import SELF, efa_node, found

OPEN = [group(ingress=SELF, egress=SELF)]
MEMBERS = [efa_node("a", "10.0.0.4"), efa_node("b", ipv6=["2001:db8::5"])]


def test_message() -> None:
    """The finding names the member, the family and the policy's reason."""
    (finding,) = found(RULE, snapshot(MEMBERS, OPEN), "efa")
    assert finding.message == (
        "i-b has no IPv4 address. Frameworks advertise one address per node; a member without an address of that "
        "family can't be dialled."
    )
    assert (finding.severity, finding.resource.id) == ("error", "i-b")


@pytest.mark.parametrize(
    ("policies", "family", "expected"),
    [
        (["efa"], Family.IPV4, ["i-b"]),
        (["efa"], Family.IPV6, ["i-a"]),
        (["efa", "pytorch-gloo"], Family.IPV4, []),
    ],
)
def test_families(policies: list[str], family: Family, expected: list[str]) -> None:
    """The family that is judged decides; a path that lacks the address is for `no-address`."""
    selection = Selection(everything=True, family=family)
    assert [
        item.resource.id for item in found(RULE, snapshot(MEMBERS, OPEN), *policies, selection=selection)
    ] == expected


def test_all_have_one() -> None:
    """Nothing is found where every member has an address."""
    assert found(RULE, snapshot([efa_node("a", "10.0.0.4"), efa_node("b", "10.0.0.5")], OPEN), "efa") == []
