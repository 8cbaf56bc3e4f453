"""Plans as wholes: what they promise, what is safe, what can't be fixed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sgaudit.errors import InternalError, UsageError
from sgaudit.fix.operations import Writer
from sgaudit.fix.plan import Plan, Safety, Strategy
from sgaudit.fix.planner import Options, new_run, plan
from tests.builders import ANYWHERE, Raw, acl, allow_all, group, node, row, snapshot
from tests.unit.fix.scenes import MESH, RUN, WHOLE, apart, calls, planned, stranger, together
from tests.unit.rules.scene import scan

TWO = [node("a", "10.0.0.5"), node("b", "10.0.0.6")]
UNREAD = "whether interfaces outside the cluster carry it was not read"


def test_a_plan_says_what_holds_before_and_after() -> None:
    """Counts are of ordered pairs of members; what is required is what becomes open."""
    made = planned(together())

    assert made.before == {"open": 0, "partial": 0, "blocked": 2, "unknown": 0}
    assert made.after == {"open": 2, "partial": 0, "blocked": 0, "unknown": 0}
    assert (made.required, made.extra, made.unfixable, made.exact, made.outside_known) == (2, (), (), True, True)


def test_a_plan_for_a_cluster_without_a_fault_is_empty() -> None:
    """Nothing is missing: no operation, no strategy."""
    made = planned(together(group(ingress=[row(groups=["sg-a"])])))

    assert (
        made.operations,
        made.strategy,
        made.after,
    ) == ((), Strategy.NONE, {"open": 2, "partial": 0, "blocked": 0, "unknown": 0})


def test_the_same_run_gives_the_same_plan() -> None:
    """Two plans of one run id and time are equal to the last word."""
    assert planned(apart()).to_json() == planned(apart()).to_json()


def test_runs_without_an_id_get_one_each() -> None:
    """An id is the time and a few letters, and no two are the same."""
    made = plan(scan(together(), MESH), Options())

    assert made.run != new_run()
    assert len("20260101t000000-abcdef") == len(made.run)
    assert made.created.endswith("Z")


def test_reasons_name_the_group_and_the_traffic() -> None:
    """One sentence an operation, in the words of the console."""
    document = together(group(name="train"))

    assert [it.reason for it in planned(document).operations] == ["let train (sg-a) receive all tcp ports from itself"]


def test_operations_name_the_findings_that_they_cure() -> None:
    """The fingerprints are those of the scan."""
    judged = scan(together(), MESH)
    known = {finding.fingerprint for finding in judged.findings}
    (made,) = plan(judged, RUN).operations

    assert set(made.findings) <= known
    assert made.findings


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (together(), ""),
        (together(WholeVpcs=["vpc-2"]), UNREAD),
        (snapshot(TWO, [group()]), UNREAD),
        (
            together(group(name="default")),
            "it is the VPC's default group, which everything gets that names no other",
        ),
        *(
            (
                together({**group(), "Tags": [{"Key": key, "Value": value}]}),
                f"{owner} owns it and may take the change back",
            )
            for key, value, owner in (
                ("aws:cloudformation:stack-name", "net", "CloudFormation"),
                ("ManagedBy", "terraform", "Terraform"),
                ("kubernetes.io/cluster/train", "owned", "Kubernetes"),
                ("parallelcluster:cluster-name", "train", "AWS ParallelCluster"),
                ("aws:fms:policy-id", "p-1", "Firewall Manager"),
            )
        ),
        (together(group(name="eks-cluster-sg-train-1")), "Amazon EKS owns it and may take the change back"),
        (together({**group(), "Tags": [{"Key": "ManagedBy", "Value": "ops team"}]}), ""),
        (
            snapshot([*TWO, stranger("c", "10.0.0.7")], [group()], **WHOLE),
            "1 interface outside the cluster carries it as well",
        ),
    ],
)
def test_a_permission_is_safe_only_in_a_group_of_the_cluster_alone(document: Raw, reason: str) -> None:
    """The default group, other tooling's groups and groups that others carry need a second thought."""
    (made,) = planned(document, strategy=Strategy.SELF).operations

    assert (Safety.UNSAFE if reason else Safety.SAFE, reason) == (made.safety, made.unsafe_because)


def test_a_new_group_is_safe_and_putting_it_on_interfaces_is_not() -> None:
    """Making a group and its permissions touches nothing; what an interface carries is another matter."""
    made = planned(apart(), strategy=Strategy.CLUSTER_GROUP)

    assert [str(item.safety) for item in made.operations] == ["safe", "safe", "safe", "unsafe", "unsafe"]
    assert {"it changes which groups an interface carries"} == {it.unsafe_because for it in made.operations} - {""}


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        (snapshot([node("a", "10.0.0.5"), node("b")], [group(ingress=[row(groups=["sg-a"])])], **WHOLE), "no-address"),
        (
            snapshot(
                [node("a", "10.0.0.5"), node("b", "10.0.0.6", groups=["sg-x"])],
                [group(ingress=[row(groups=["sg-a", "sg-x"])])],
                **WHOLE,
            ),
            "not-visible",
        ),
        (
            snapshot(
                [node("a", "10.0.0.5"), node("b", "10.2.0.5", subnet="subnet-3", groups=["sg-b"])],
                [group(ingress=[row(cidr=[ANYWHERE])]), group("sg-b", vpc="vpc-2", ingress=[row(cidr=[ANYWHERE])])],
                **WHOLE,
            ),
            "no-route",
        ),
    ],
    ids=["no-address", "unread-group", "no-route"],
)
def test_what_no_operation_cures_is_listed(document: Raw, rule: str) -> None:
    """A finding on a path that stays is named with what a person can do."""
    made = planned(document)

    assert made.operations == ()
    assert {rule} == {item.rule for item in made.unfixable}
    assert all(item.reason for item in made.unfixable)


def test_where_no_strategy_can_be_used_the_plan_says_why_of_each() -> None:
    """A member without any group, in another VPC, can't be helped by permissions."""
    document = snapshot(
        [node("a", "10.0.0.5"), node("b", "10.2.0.5", subnet="subnet-3", groups=[])], [group()], **WHOLE
    )
    made = planned(document)
    reasons = {item.reason for item in made.unfixable if item.rule == "mesh-path-blocked"}

    assert {
        (
            "self: no security group is on all of the members concerned; "
            "peers: some members carry no security group that a permission could name; "
            "cluster-group: the members lie in 2 VPCs, and a group belongs to one; "
            "prefix-list: some members carry no security group that could get a permission; "
            "cidr: some members carry no security group that could get a permission"
        )
    } == reasons
    assert made.operations == ()


def test_findings_that_are_accepted_are_not_listed_but_counted() -> None:
    """What could not be read leaves pairs unknown, before and after."""
    made = planned(snapshot(TWO, [], without=["SecurityGroups"], **WHOLE))

    assert {"open": 0, "partial": 0, "blocked": 0, "unknown": 2} == made.before == made.after


@pytest.mark.parametrize("whole", [[], ["vpc-1"], ["vpc-1", "vpc-2", "vpc-3"]])
def test_a_plan_knows_the_outside_only_where_all_interfaces_were_read(whole: list[str]) -> None:
    """`WholeVpcs` says of which VPCs every interface is in the snapshot."""
    assert bool(whole) is planned(together(WholeVpcs=whole)).outside_known


def test_preconditions_are_what_the_operations_rest_on() -> None:
    """Each resource that is changed, by kind and id; what the plan makes itself is none."""
    made = planned(apart(), strategy=Strategy.CLUSTER_GROUP)
    guarded = planned(
        snapshot(
            [node("a", "10.0.0.5"), node("b", "10.0.1.5", subnet="subnet-2")],
            [group()],
            acls=[acl("acl-1", allow_all()[:2], subnets=["subnet-2"])],
            **WHOLE,
        )
    )

    assert named(made) == [("network-interface", "eni-a"), ("network-interface", "eni-b")]
    assert named(guarded) == [("security-group", "sg-a"), ("network-acl", "acl-1")]
    assert all(item.fingerprint for item in (*made.preconditions, *guarded.preconditions))


def named(made: Plan) -> list[tuple[str, str]]:
    return [(item.resource_type, item.resource_id) for item in made.preconditions]


@pytest.mark.parametrize(
    ("forget", "message"),
    [
        ("grants", "the plan leaves a gap of a security group that it set out to fill"),
        ("peers", "the plan leaves a gap of a security group that it set out to fill"),
    ],
)
def test_a_plan_that_does_not_keep_its_promise_is_a_fault(
    forget: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proposal that is lost on the way to operations is no output."""

    def lose(self: Any, proposal: Any, entries: Any) -> Any:
        if forget == "grants":
            lame = replace(proposal, grants=())
        else:
            lame = replace(
                proposal, grants=tuple(replace(it, peers=it.peers[:1], holder="sg-a") for it in proposal.grants[:1])
            )
        return write(self, lame, entries)

    write = Writer.write
    monkeypatch.setattr(Writer, "write", lose)

    with pytest.raises(InternalError) as caught:
        planned(apart(), strategy=Strategy.PEERS)

    assert message == str(caught.value)


def test_an_unusable_strategy_is_the_users_mistake() -> None:
    """The message says why, the hint what else to do."""
    with pytest.raises(UsageError) as caught:
        planned(apart(), strategy=Strategy.SELF)

    assert caught.value.hint == "leave --strategy out to take the best one that can"


def test_one_call_a_group_and_direction() -> None:
    """All rows of a group and direction are in one request."""
    closed = [row("udp", 53, cidr=[ANYWHERE])]
    document = apart(group(egress=closed), group("sg-b", egress=closed))

    assert [item[:2] for item in calls(planned(document, "pytorch-gloo", strategy=Strategy.PEERS))] == [
        ("AuthorizeSecurityGroupIngress", "sg-a"),
        ("AuthorizeSecurityGroupIngress", "sg-b"),
        ("AuthorizeSecurityGroupEgress", "sg-a"),
        ("AuthorizeSecurityGroupEgress", "sg-b"),
    ]


def test_a_choice_that_is_not_known_to_be_the_best_is_marked() -> None:
    """Fourteen members that overlap in a ring leave too many choices to try; a group of their own leaves one."""
    names = [f"sg-{number:02}" for number in range(14)]
    nodes = [
        node(f"n{number:02}", f"10.0.0.{number + 4}", groups=[names[number], names[(number + 1) % 14]])
        for number in range(14)
    ]
    document = snapshot(nodes, [group(name) for name in names], **WHOLE)
    peers, own = (planned(document, strategy=item) for item in (Strategy.PEERS, Strategy.CLUSTER_GROUP))

    assert (peers.exact, own.exact) == (False, True)
    assert peers.after == own.after == {"open": 182, "partial": 0, "blocked": 0, "unknown": 0}
