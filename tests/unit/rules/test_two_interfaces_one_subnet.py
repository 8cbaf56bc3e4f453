"""Members with several addressed interfaces in one subnet are found."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.rules.two_interfaces_one_subnet import RULE
from tests.builders import group, instance, interface, node, snapshot
from tests.unit.rules.scene import SELF, found

FIRST = interface("a", "10.0.0.4")


def scene(*further: dict[str, Any]) -> dict[str, Any]:
    return snapshot([instance(FIRST, *further), node("b", "10.0.0.5")], [group(ingress=SELF)])


def test_message() -> None:
    """The finding names the member and the subnet."""
    (finding,) = found(RULE, scene(interface("a2", "10.0.0.6", of="a", device=1)))
    assert finding.title == "1 member with up to 2 addressed interfaces in subnet-1"
    assert finding.message == (
        "i-a has up to 2 interfaces with addresses in subnet-1. Without policy routing the kernel sends by the first "
        "route that fits, whichever interface was dialled, so that answers leave by another one, with another address "
        "or past the groups that were meant."
    )
    assert (finding.severity, finding.resource.id) == ("warning", "subnet-1")
    assert finding.evidence == {"instances": ["i-a"], "interfaces": 2}


@pytest.mark.parametrize(
    ("further", "expected"),
    [
        pytest.param({"address": "10.0.0.6"}, ["subnet-1"], id="a second one"),
        pytest.param({"address": "10.0.0.6", "InterfaceType": "efa"}, ["subnet-1"], id="an EFA one has an address"),
        pytest.param({"InterfaceType": "efa-only"}, [], id="an EFA-only one has none"),
        pytest.param({"address": "10.0.1.6", "subnet": "subnet-2"}, [], id="another subnet"),
        pytest.param({"ipv6": ["2001:db8::6"]}, ["subnet-1"], id="another family: each needs a route of its own"),
    ],
)
def test_second_interface(further: dict[str, Any], expected: list[str]) -> None:
    """Addresses in one subnet are what matters."""
    assert [item.resource.id for item in found(RULE, scene(interface("a2", of="a", device=1, **further)))] == expected


def test_one_interface_each() -> None:
    """Members with one interface are not found."""
    assert found(RULE, scene()) == []
