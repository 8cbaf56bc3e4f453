"""Permissions for EFA traffic: all protocols, a group and itself, both ways."""

from __future__ import annotations

import pytest

from sgaudit.fix.plan import Strategy
from tests.builders import ANYWHERE, Raw, group, row, snapshot
from tests.unit.fix.scenes import WHOLE, calls, planned
from tests.unit.rules.scene import efa_node

LET_IN, LET_OUT = "AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupEgress"
SELF, EVERYWHERE = row(groups=["sg-a"]), row(cidr=[ANYWHERE])
MIXED_IN = row("tcp", 0, 65535, groups=["sg-a"])


def fabric(*groups: Raw, carried: tuple[str, str] = ("sg-a", "sg-a")) -> Raw:
    nodes = [
        efa_node(name, f"10.0.0.{n}", groups=[own]) for name, n, own in (("a", 5, carried[0]), ("b", 6, carried[1]))
    ]
    return snapshot(nodes, groups, **WHOLE)


@pytest.mark.parametrize(
    ("ingress", "egress", "expected"),
    [
        ([], [EVERYWHERE], [(LET_IN, "sg-a", ["-1 sg-a"]), (LET_OUT, "sg-a", ["-1 sg-a"])]),
        ([SELF], [EVERYWHERE], [(LET_OUT, "sg-a", ["-1 sg-a"])]),
        ([EVERYWHERE], [SELF, EVERYWHERE], [(LET_IN, "sg-a", ["-1 sg-a"])]),
        ([MIXED_IN], [EVERYWHERE], [(LET_IN, "sg-a", ["-1 sg-a"]), (LET_OUT, "sg-a", ["-1 sg-a"])]),
        ([SELF], [SELF], []),
    ],
    ids=[
        "neither",
        "egress-to-everywhere-is-not-enough",
        "ingress-from-everywhere-neither",
        "tcp-alone-neither",
        "done",
    ],
)
def test_both_directions_name_the_group_itself(
    ingress: list[Raw], egress: list[Raw], expected: list[tuple[str, str, list[str]]]
) -> None:
    """What is missing of the two is added; blocks of addresses never count."""
    assert expected == calls(planned(fabric(group(ingress=ingress, egress=egress)), "efa"))


def test_members_without_a_common_group_get_a_new_one() -> None:
    """EFA traffic is never opened by addresses: a group of the cluster's own does it."""
    made = planned(fabric(group(), group("sg-b"), carried=("sg-a", "sg-b")), "efa")

    assert Strategy.CLUSTER_GROUP is made.strategy
    assert [
        ("CreateSecurityGroup", "vpc-1", []),
        ("RevokeSecurityGroupEgress", "op-1", [f"-1 {ANYWHERE}"]),
        (LET_IN, "op-1", ["-1 @op-1"]),
        (LET_OUT, "op-1", ["-1 @op-1"]),
        ("ModifyNetworkInterfaceAttribute", "eni-a", ["sg-a", "@op-1"]),
        ("ModifyNetworkInterfaceAttribute", "eni-b", ["sg-b", "@op-1"]),
    ] == calls(made)


def test_needs_over_ip_and_efa_share_a_permission() -> None:
    """Where both need all traffic from the group itself it is added once."""
    made = planned(fabric(group()), "efa", "all-traffic-mesh")

    assert calls(made) == [(LET_IN, "sg-a", ["-1 sg-a"]), (LET_OUT, "sg-a", ["-1 sg-a"])]


def test_needs_over_ip_and_efa_share_a_call() -> None:
    """TCP and all traffic of one group and direction are two rows of one request."""
    assert calls(planned(fabric(group()), "efa", "tcp-full-mesh")) == [
        (LET_IN, "sg-a", ["tcp 0-65535 sg-a", "-1 sg-a"]),
        (LET_OUT, "sg-a", ["-1 sg-a"]),
    ]


def test_where_no_group_can_be_attached_it_is_said() -> None:
    """Five groups on an interface leave no room for one more."""
    names = [f"sg-{letter}" for letter in "abcde"]
    document = snapshot(
        [efa_node("a", "10.0.0.5", groups=names), efa_node("b", "10.0.0.6", groups=["sg-f"])],
        [*(group(name) for name in names), group("sg-f")],
        **WHOLE,
    )
    made = planned(document, "efa")

    assert made.operations == ()
    assert {("efa-group-closed", "cluster-group: eni-a carries 5 security groups (default quota: 5)")} == {
        (item.rule, item.reason) for item in made.unfixable
    }
