"""Permissions that are missing altogether are found, one finding for each set of groups and direction."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.ports import PortSet
from sgaudit.rules.finding import Example, Finding, Fix, Resource
from sgaudit.rules.mesh_path_blocked import RULE
from sgaudit.severity import Severity
from tests.builders import ANYWHERE, EVERYTHING, group, node, pair_of, route, row, snapshot, table
from tests.unit.rules.scene import SELF, found, resources

Raw = dict[str, Any]

GLOO = "29500,32768-60999"
NEEDED = PortSet.parse(GLOO)
TWO = [node("a", "10.0.0.4"), node("b", "10.0.0.5")]


def with_stranger(*groups: str) -> list[Raw]:
    """Give two members in sg-a and one, `c`, in other groups."""
    return [*TWO, node("c", "10.0.0.6", groups=groups)]


def test_whole_finding() -> None:
    """A group that does not admit itself is one finding, with all that a reader and a program need."""
    assert found(RULE, snapshot(TWO, [group()])) == [
        Finding(
            rule="mesh-path-blocked",
            severity=Severity.ERROR,
            title=f"sg-a admits no tcp {GLOO} from any member",
            message=(
                f"No ingress permission of sg-a admits tcp {GLOO} from all 2 members; 2 pairs can't connect. "
                "Being in the same group grants nothing by itself."
            ),
            remedy=f"Add to sg-a an ingress permission for tcp {GLOO} from the group itself.",
            resource=Resource("security-group", "sg-a"),
            pairs=2,
            examples=(Example("i-a", "i-b", NEEDED), Example("i-b", "i-a", NEEDED)),
            evidence={
                "direction": "ingress",
                "security_groups": ["sg-a"],
                "protocol": "tcp",
                "missing": GLOO,
                "peers": ["i-a", "i-b"],
                "peer_groups": ["sg-a"],
                "needs": ["gloo-mesh", "master-port"],
                "behind_middlebox": False,
            },
            subject=("security-groups", "sg-a"),
            identity=("ingress", "tcp", GLOO),
            fix=Fix.UNSAFE,
        )
    ]


def test_member_in_another_group() -> None:
    """Both groups that don't know each other are told, each with whom it lacks and what is best to do."""
    groups = [group(ingress=SELF, name="training"), group("sg-b", name="default")]
    training, default = sorted(found(RULE, snapshot(with_stranger("sg-b"), groups)), key=lambda item: item.resource.id)
    assert training.message == (
        f"No ingress permission of training (sg-a) admits tcp {GLOO} from i-c; 2 pairs can't connect."
    )
    assert training.remedy == (
        f"Put training (sg-a), which admits its own members, on i-c; or add to training (sg-a) an ingress permission "
        f"for tcp {GLOO} from default (sg-b)."
    )
    assert (training.title, training.pairs) == (f"training admits no tcp {GLOO} from i-c", 2)
    assert default.examples == (Example("i-a", "i-c", NEEDED), Example("i-b", "i-c", NEEDED))
    assert (default.resource.id, default.pairs) == ("sg-b", 2)


def test_nobody_is_sent_into_the_default_group() -> None:
    """The default group of a VPC is never named as the one to put members in."""
    groups = [group(ingress=SELF, name="default"), group("sg-b", name="other")]
    assert [
        item.remedy for item in found(RULE, snapshot(with_stranger("sg-b"), groups)) if "Put default" in item.remedy
    ] == []


def test_egress() -> None:
    """A group that lets nothing out is told as such."""
    (finding,) = found(RULE, snapshot(TWO, [group(ingress=SELF, egress=[])]))
    assert finding.message == (
        f"No egress permission of sg-a admits tcp {GLOO} to all 2 members; 2 pairs can't connect. "
        "Being in the same group grants nothing by itself."
    )
    assert finding.remedy == f"Add to sg-a an egress permission for tcp {GLOO} to the group itself."
    assert finding.evidence["direction"] == "egress"


def test_all_blockers_at_once() -> None:
    """A path that is closed at both ends has both of them told: who cures one must know of the other."""
    document = snapshot(TWO, [group(egress=[])])
    assert [(item.evidence["direction"], item.pairs) for item in found(RULE, document)] == [
        ("egress", 2),
        ("ingress", 2),
    ]


def test_no_group() -> None:
    """An interface without groups lets nothing pass, in or out, and the other end's group is told beside it."""
    members = [node("a", "10.0.0.4"), node("b", "10.0.0.5", groups=())]
    findings = found(RULE, snapshot(members, [group(ingress=SELF)]))
    assert [(item.resource.id, item.evidence["direction"], item.pairs) for item in findings] == [
        ("", "egress", 1),
        ("", "ingress", 1),
        ("sg-a", "ingress", 1),
    ]
    assert findings[0].title == f"an interface without security groups admits no tcp {GLOO} to any member"
    assert findings[0].remedy == "Put a security group with the cluster's permissions on these interfaces."


def test_behind_a_middlebox() -> None:
    """Where only a group as peer would admit it, and routes lead through a middlebox, that is the reason given."""
    tables = [
        table("rtb-1", [route("10.0.1.0/24", NetworkInterfaceId="eni-fw")], subnets=["subnet-1"]),
        table("rtb-2", [route("10.0.0.0/24", NetworkInterfaceId="eni-fw")], subnets=["subnet-2"]),
    ]
    (finding,) = found(RULE, snapshot(pair_of({}, {}), [group(ingress=SELF)], tables=tables))
    assert finding.message == (
        f"No ingress permission of sg-a admits tcp {GLOO} from all 2 members; 2 pairs can't connect. A permission "
        "with a group as peer is there, but routes lead through a middlebox, and behind one only CIDR blocks and "
        "prefix lists count."
    )
    assert finding.remedy == (
        f"Add to sg-a an ingress permission for tcp {GLOO} from the other subnet's CIDR block, or route around the "
        "middlebox."
    )
    assert finding.evidence["behind_middlebox"] is True


@pytest.mark.parametrize(
    ("ingress", "egress", "expected"),
    [
        pytest.param(SELF, [EVERYTHING], [], id="open to itself"),
        pytest.param([row("tcp", 0, 65535, cidr=["10.0.0.0/24"])], [EVERYTHING], [], id="by CIDR"),
        pytest.param(
            [row("tcp", 29500, groups=["sg-a"]), row("tcp", 32768, 60999, groups=["sg-a"])], SELF, [], id="just"
        ),
        pytest.param([row("udp", 0, 65535, groups=["sg-a"])], [EVERYTHING], [("sg-a", 2)], id="udp is not tcp"),
        pytest.param([row("tcp", 22, groups=["sg-a"])], [EVERYTHING], [("sg-a", 2)], id="ssh only"),
        pytest.param([row(groups=["sg-x"])], [EVERYTHING], [("sg-a", 2)], id="from a group that nobody carries"),
        pytest.param([row(cidr=["10.0.1.0/24"])], [EVERYTHING], [("sg-a", 2)], id="from another subnet"),
        pytest.param([row(cidr=["10.0.0.4/32"])], [EVERYTHING], [("sg-a", 1)], id="from one of the two"),
        pytest.param(SELF, [row("tcp", 443, cidr=[ANYWHERE])], [("sg-a", 2)], id="https only out"),
        pytest.param([row("tcp", 29500, groups=["sg-a"])], [EVERYTHING], [("sg-a", 2)], id="the master's port alone"),
        pytest.param(
            [row("tcp", 32768, 50000, groups=["sg-a"]), row("tcp", 29500, groups=["sg-a"])], SELF, [], id="partly"
        ),
    ],
)
def test_one_group(ingress: list[Raw], egress: list[Raw], expected: list[tuple[str, int]]) -> None:
    """It finds needs of which nothing is admitted; what is admitted in part is another rule's."""
    assert resources(RULE, snapshot(TWO, [group(ingress=ingress, egress=egress)])) == expected


def test_another_group_admits_it() -> None:
    """What any group of an interface admits is admitted."""
    both = [node("a", "10.0.0.4", groups=("sg-a", "sg-b")), node("b", "10.0.0.5", groups=("sg-a", "sg-b"))]
    assert found(RULE, snapshot(both, [group(), group("sg-b", ingress=SELF)])) == []


def test_unread_is_not_blocked() -> None:
    """A group that was not read blocks nothing for sure."""
    assert found(RULE, snapshot(TWO, [group()], without=["SecurityGroups"])) == []


def test_one_finding_for_many_pairs() -> None:
    """However many members there are, a cause is one finding, with five examples."""
    many = [node(f"n{number}", f"10.0.0.{number}") for number in range(4, 24)]
    (finding,) = found(RULE, snapshot(many, [group()]))
    assert (finding.pairs, len(finding.examples), len(finding.evidence["peers"])) == (20 * 19, 5, 20)


@pytest.mark.parametrize("groups", [("sg-b",), ("sg-a",)])
def test_fingerprints_stay(groups: tuple[str, ...]) -> None:
    """More members in the same groups, and another order, make no new finding and lose none."""
    rows = [group(ingress=SELF if groups == ("sg-b",) else []), group("sg-b")]
    before = found(RULE, snapshot(with_stranger(*groups), rows))
    more = [node("0", "10.0.0.3"), *reversed(with_stranger(*groups)), node("d", "10.0.0.9", groups=groups)]
    after = found(RULE, snapshot(more, rows))
    # Two members of sg-b need one another as well, which its one permission would cure too.
    assert {item.fingerprint for item in before} == {item.fingerprint for item in after}
    assert sum(item.pairs for item in after) > sum(item.pairs for item in before)


def test_fingerprints_differ() -> None:
    """Each direction and each group has its own."""
    findings = found(RULE, snapshot(with_stranger("sg-b"), [group(egress=[]), group("sg-b", egress=[])]))
    assert len({item.fingerprint for item in findings}) == len(findings) == 4


def test_the_fingerprint_stays_when_another_group_becomes_the_commonest() -> None:
    """A finding about two groups stays what it was for a baseline when members join that carry one of them."""
    groups = [group(), group("sg-b")]
    both = [node("a", "10.0.0.4", groups=("sg-a", "sg-b")), node("b", "10.0.0.5", groups=("sg-a", "sg-b"))]
    joined = [*both, node("c", "10.0.0.6", groups=("sg-a",)), node("d", "10.0.0.7", groups=("sg-a",))]
    few, more = (found(RULE, snapshot(members, groups)) for members in (both, joined))

    def of_both(findings: list[Finding]) -> set[str]:
        return {item.fingerprint for item in findings if item.evidence["security_groups"] == ["sg-a", "sg-b"]}

    assert of_both(few) == of_both(more) != set()


@pytest.mark.parametrize(
    ("rows", "more", "fix"),
    [
        ([group()], {"WholeVpcs": ["vpc-1"]}, Fix.SAFE),
        ([group()], {}, Fix.UNSAFE),
        ([group(name="default")], {"WholeVpcs": ["vpc-1"]}, Fix.UNSAFE),
    ],
)
def test_whether_it_can_be_fixed_safely(rows: list[Raw], more: Raw, fix: Fix) -> None:
    """A permission for a group that members alone carry is safe, when it is known that nobody else carries it."""
    assert [item.fix for item in found(RULE, snapshot(TWO, rows, **more))] == [fix]
