"""Members without the interface that EFA needs are found."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.rules.efa_missing_interface import RULE
from tests.builders import group, instance, interface, node, snapshot
from tests.unit.rules.scene import SELF, efa_node, found, resources

Raw = dict[str, Any]

OPEN = [group(ingress=SELF, egress=SELF)]
PRIMARY = interface("b", "10.0.0.5")


def test_message() -> None:
    """The finding names the member and its type, and counts the pairs."""
    (finding,) = found(RULE, snapshot([efa_node("a", "10.0.0.4"), node("b", "10.0.0.5")], OPEN), "efa")
    assert finding.message == (
        "i-b, of p5.48xlarge, has no interface of type efa or efa-only; 2 pairs can't connect over EFA."
    )
    assert (finding.severity, finding.resource.id, finding.pairs) == ("error", "i-b", 2)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param(node("b", "10.0.0.5"), [("i-b", 2)], id="an ordinary interface"),
        pytest.param(efa_node("b", "10.0.0.5"), [], id="an EFA interface"),
        pytest.param(
            instance(PRIMARY, interface("b2", of="b", device=1, InterfaceType="efa-only")),
            [],
            id="a further, EFA-only one",
        ),
        pytest.param(instance(PRIMARY, interface("b2", of="b", device=1)), [("i-b", 2)], id="a further, ordinary one"),
        pytest.param({**node("b"), "NetworkInterfaces": []}, [], id="none was seen"),
    ],
)
def test_interfaces(other: Raw, expected: list[tuple[str, int]]) -> None:
    """Any interface of type efa or efa-only will do; where none was seen nobody knows."""
    assert resources(RULE, snapshot([efa_node("a", "10.0.0.4"), other], OPEN), "efa") == expected


def test_other_policies_ask_nothing() -> None:
    """Without a need for EFA nothing is found."""
    assert found(RULE, snapshot([node("a", "10.0.0.4"), node("b", "10.0.0.5")], OPEN)) == []


def test_everybody() -> None:
    """Many members are one finding."""
    members = [node(name, f"10.0.0.{n}") for n, name in enumerate("abc", 4)]
    assert resources(RULE, snapshot(members, OPEN), "efa") == [("i-a", 6)]
