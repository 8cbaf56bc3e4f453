"""Entries of network ACLs that never decide are found."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.rules.dead_acl_entry import RULE
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
