"""Instance types that a policy keeps apart are found together."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.rules.mixed_instance_types import RULE
from tests.builders import group, instance, interface, snapshot
from tests.unit.rules.scene import SELF, found

OPEN = [group(ingress=SELF, egress=SELF)]


def scene(*types: str) -> dict[str, Any]:
    members = [
        instance(interface(f"m{n}", f"10.0.0.{n + 4}", InterfaceType="efa"), InstanceType=name)
        for n, name in enumerate(types)
    ]
    return snapshot(members, OPEN)


def test_message() -> None:
    """The finding counts the types and gives the policy's reason."""
    (finding,) = found(RULE, scene("p4d.24xlarge", "p5.48xlarge", "p5.48xlarge"), "efa")
    assert finding.message == (
        "Policy efa wants p4d.*, p4de.* and dl1.* apart from other instance types, and the members are 1 p4d.24xlarge "
        "and 2 p5.48xlarge. EFA traffic between P4d, P4de or DL1 instances and other types is not supported."
    )
    assert (finding.severity, finding.pairs) == ("error", 4)


@pytest.mark.parametrize(
    ("types", "policy", "expected"),
    [
        (("p5.48xlarge", "p5.48xlarge"), "efa", []),
        (("p4d.24xlarge", "p4d.24xlarge"), "efa", []),
        (("p4d.24xlarge", "p4de.24xlarge"), "efa", []),
        (("p5.48xlarge", "p5e.48xlarge"), "efa", []),
        (("dl1.24xlarge", "trn1.32xlarge"), "efa", ["dl1.24xlarge"]),
        (("p4d.24xlarge", ""), "efa", []),
        (("p4d.24xlarge", "p5.48xlarge"), "pytorch-gloo", []),
    ],
)
def test_types(types: tuple[str, ...], policy: str, expected: list[str]) -> None:
    """The old types may be together, and the others may; a type that was not read counts for neither."""
    assert [item.resource.id for item in found(RULE, scene(*types), policy)] == expected
