"""Entries of network ACLs that never decide are found."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgaudit.model import AclEntry, Cidr, NetworkAcl
from sgaudit.ports import ALL, PortSet
from sgaudit.rules.dead_acl_entry import RULE, dead
from tests.builders import acl, allow_all, entry, group, node, snapshot
from tests.unit.rules.scene import SELF, found

Raw = dict[str, Any]

TWO = [node("a", "10.0.0.4"), node("b", "10.0.0.5")]


def scene(*entries: Raw) -> Raw:
    return snapshot(TWO, [group(ingress=SELF)], acls=[acl("acl-1", [*allow_all(), *entries], default=True)])


def test_message() -> None:
    """The finding names the entry and the one before it that decides."""
    late = entry(110, "deny", egress=False, protocol="6", ports=(22, 22))
    (finding,) = found(RULE, scene(late, entry(120, "allow", egress=True, cidr="10.0.0.0/8")))
    assert finding.title == "acl-1 has 2 entries that never decide"
    assert finding.message == (
        "acl-1: ingress entry 110 (deny) behind entry 100 (allow) and egress entry 120 (allow) behind entry 100 "
        "(allow). All that it would match is decided before it."
    )
    assert (finding.severity, finding.resource.id) == ("note", "acl-1")


@pytest.mark.parametrize(
    ("first", "second", "dead"),
    [
        pytest.param({"cidr": "10.0.0.0/8"}, {"cidr": "10.1.0.0/16"}, True, id="a wider block before"),
        pytest.param({"cidr": "10.1.0.0/16"}, {"cidr": "10.0.0.0/8"}, False, id="a narrower block before"),
        pytest.param({"cidr": "10.0.0.0/8"}, {"cidr": "11.0.0.0/8"}, False, id="another block before"),
        pytest.param({"cidr": "10.0.0.0/8"}, {"cidr": "::/0"}, False, id="another family"),
        pytest.param(
            {"protocol": "6", "ports": (1, 9)}, {"protocol": "6", "ports": (2, 3)}, True, id="more ports before"
        ),
        pytest.param({"protocol": "6", "ports": (2, 3)}, {"protocol": "6", "ports": (1, 9)}, False, id="fewer ports"),
        pytest.param({"protocol": "6", "ports": (0, 65535)}, {}, False, id="one protocol before all"),
        pytest.param(
            {"protocol": "6", "ports": (1, 9)}, {"protocol": "17", "ports": (1, 9)}, False, id="another protocol"
        ),
        pytest.param({"egress": True}, {"egress": False}, False, id="another direction"),
    ],
)
def test_pairs_of_entries(first: Raw, second: Raw, dead: bool) -> None:
    """An entry is dead when one before it takes all of its packets."""
    base = {"egress": False}
    entries = [entry(10, "allow", **{**base, **first}), entry(20, "deny", **{**base, **second})]
    document = snapshot(TWO, [group(ingress=SELF)], acls=[acl("acl-1", entries, default=True)])
    assert bool(found(RULE, document)) is dead


def test_last_deny() -> None:
    """The deny that ends every ACL is not found, though it never decides behind an allow for all."""
    assert found(RULE, scene(entry(32767, "deny", egress=False), entry(32767, "deny", egress=True))) == []


def test_acl_not_read() -> None:
    """Nothing is said of an ACL that was not read."""
    assert found(RULE, snapshot(TWO, [group(ingress=SELF)], without=["NetworkAcls"])) == []


def holds(one: AclEntry, other: AclEntry) -> bool:
    """Tell whether an entry matches every packet that another one matches."""
    if one.egress is not other.egress or one.cidr.family is not other.cidr.family:
        return False
    if one.cidr.prefix > other.cidr.prefix or other.cidr.first not in one.cidr:
        return False
    return one.protocol == "-1" or (one.protocol == other.protocol and other.ports <= one.ports)


BLOCKS = ("10.0.0.0/8", "10.1.0.0/16", "10.1.1.0/24", "11.0.0.0/8", "::/0")
entries = st.lists(
    st.builds(
        lambda egress, protocol, ends, block: (egress, protocol, PortSet.single(min(ends), max(ends)), block),
        st.booleans(),
        st.sampled_from(("tcp", "tcp", "tcp", "udp", "-1")),
        st.tuples(st.integers(0, 4), st.integers(0, 4)),
        st.sampled_from(BLOCKS).map(Cidr.parse),
    ),
    max_size=14,
)


@given(entries, st.integers(0, 3))
def test_the_same_as_one_by_one(rows: list[tuple[bool, str, PortSet, Cidr]], beyond: int) -> None:
    """The dead entries, each with the first that decides before it, are what asking every pair tells."""
    first = 32767 - len(rows) + beyond
    asked = tuple(
        AclEntry(number, egress, True, protocol, ALL if protocol == "-1" else ports, block)
        for number, (egress, protocol, ports, block) in enumerate(rows, start=first)
    )
    expected = []
    for place, late in enumerate(asked):
        before = [early.number for early in asked[:place] if holds(early, late)]
        if before and late.number < 32767:
            expected.append((late.number, before[0]))

    acl_read = NetworkAcl("acl-1", "vpc-1", True, asked, ())
    assert [(late.number, early.number) for late, early in dead(acl_read)] == expected
