"""What was not judged is said, so that a pass is not taken for more than it is."""

from __future__ import annotations

import pytest

from sgaudit.rules.finding import Finding, Resource
from sgaudit.rules.need_not_judged import RULE
from sgaudit.severity import Severity
from tests.builders import group, node, snapshot
from tests.unit.rules.scene import SELF, found

TWO = snapshot([node("a", "10.0.0.4"), node("b", "10.0.0.5")], [group(ingress=SELF)])
ONE = snapshot([node("a", "10.0.0.4")], [group(ingress=SELF)])


def test_whole_finding() -> None:
    """A need whose parameter is not set is one finding, which says what to set."""
    reason = "the parameter task_ports is not set (--set task_ports=VALUE)"

    assert found(RULE, TWO, "tensorflow-multiworker")[:1] == [
        Finding(
            rule="need-not-judged",
            severity=Severity.WARNING,
            title="grpc-mesh of tensorflow-multiworker was not judged",
            message=f"The policy tensorflow-multiworker asks for grpc-mesh, and that was not judged: {reason}.",
            remedy="Set what is missing, or accept that it is not judged with a suppression.",
            resource=Resource("need", "tensorflow-multiworker/grpc-mesh"),
            pairs=0,
            evidence={"policy": "tensorflow-multiworker", "need": "grpc-mesh", "reason": reason},
        )
    ]


@pytest.mark.parametrize(
    ("document", "policies", "messages"),
    [
        (TWO, ["pytorch-gloo"], []),
        (ONE, ["pytorch-gloo"], ["No pair of members was judged, since there is one member."]),
        (
            TWO,
            ["base-cluster"],
            ["No pair of members was judged, since base-cluster asks for nothing between members."],
        ),
        (TWO, ["base-cluster", "pytorch-gloo"], []),
    ],
)
def test_nothing_between_members(document: dict[str, object], policies: list[str], messages: list[str]) -> None:
    """One member has nobody to reach, and a policy without needs asks for nothing: neither is a pass."""
    assert [item.message for item in found(RULE, document, *policies)] == messages
