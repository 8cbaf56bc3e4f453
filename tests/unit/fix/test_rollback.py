"""A rollback takes back what its run has made, and nothing that anybody else has."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgaudit.errors import ApplyError, UsageError
from sgaudit.fix import apply, rollback
from sgaudit.fix.journal import Journal, State
from sgaudit.fix.plan import Call, Operation
from sgaudit.fix.rollback import Step
from tests.builders import acl, entry, group, node, row, snapshot
from tests.fake_ec2 import FakeEc2
from tests.unit.fix.faults import CHANGE_FAULTS, Crash, FaultyEc2, MemoryStore, Moment
from tests.unit.fix.plans import (
    ENTRIES,
    PLANS,
    RUN,
    authorize,
    create_entry,
    create_group,
    fake,
    operation,
    pair,
    plan,
    set_groups,
    tcp,
)

BEFORE = fake().permissions()
WAS = "tcp:1024-65535 from sg-a"


def no_wait(seconds: float) -> None:
    """Wait for nothing."""


def after(name: str) -> tuple[FakeEc2, MemoryStore]:
    ec2, store = fake(), MemoryStore()
    assert apply.run(PLANS[name], ec2, store, sleep=no_wait).complete
    return ec2, store


def made_group(ec2: FakeEc2) -> str:
    return next(key for key, item in ec2.groups.items() if item["GroupName"] == "train-cluster")


@pytest.mark.parametrize("name", PLANS)
def test_reverse(name: str) -> None:
    """Operations are undone in reverse, and a second rollback has nothing to do."""
    ec2, store = after(name)
    shown = rollback.plan(Journal.load(store, RUN), ec2)

    first = rollback.run(RUN, ec2, store, sleep=no_wait)
    calls = len(ec2.log)
    second = rollback.run(RUN, ec2, store, sleep=no_wait)

    ids = tuple(item.id for item in reversed(PLANS[name].operations))
    assert (first.undone, first.left, first.complete) == (ids, (), True)
    assert (second.undone, second.left, len(ec2.log)) == ((), (), calls)
    assert ec2.permissions() == BEFORE
    assert tuple(step.operation for step in shown) == ids
    assert [step.call.api for step in shown if step.call] == [api for api, _ in ec2.log[len(ids) :]]


def test_by_id() -> None:
    """Permissions are revoked by the ids that were recorded."""
    ec2, store = after("peers")
    ids = sorted(Journal.load(store, RUN).made["op-1"]["rules"].values())

    rollback.run(RUN, ec2, store, sleep=no_wait)

    api, params = ec2.log[-1]
    assert (api, params["GroupId"], sorted(params["SecurityGroupRuleIds"])) == (
        "RevokeSecurityGroupIngress",
        "sg-a",
        ids,
    )


def their_rule(ec2: FakeEc2) -> None:
    ec2.change("AuthorizeSecurityGroupIngress", {"GroupId": "sg-a", "IpPermissions": [tcp(6000, 7000, pair("sg-a"))]})


def rule_gone(ec2: FakeEc2) -> None:
    params = {"GroupId": "sg-a", "IpPermissions": [tcp(1024, 65535, pair("sg-a"))]}
    ec2.change("RevokeSecurityGroupIngress", params)


def rule_changed(ec2: FakeEc2) -> None:
    rule = next(r for r in ec2.rules.values() if r["GroupId"] == "sg-a" and r["FromPort"] == 1024)
    rule["FromPort"] = 2048


def entry_replaced(ec2: FakeEc2) -> None:
    ec2.change("ReplaceNetworkAclEntry", create_entry("x", 91, RuleAction="deny").call.params)


def entry_gone(ec2: FakeEc2) -> None:
    ec2.change("DeleteNetworkAclEntry", {"NetworkAclId": "acl-1", "RuleNumber": 91, "Egress": False})


def group_added(ec2: FakeEc2) -> None:
    groups = [item["GroupId"] for item in ec2.interfaces["eni-a"]["Groups"]]
    ec2.change("ModifyNetworkInterfaceAttribute", {"NetworkInterfaceId": "eni-a", "Groups": [*groups, "sg-b"]})


def group_taken(ec2: FakeEc2) -> None:
    ec2.change("ModifyNetworkInterfaceAttribute", {"NetworkInterfaceId": "eni-a", "Groups": ["sg-b"]})


def only_ours(ec2: FakeEc2) -> None:
    ec2.change("ModifyNetworkInterfaceAttribute", {"NetworkInterfaceId": "eni-a", "Groups": [made_group(ec2)]})


def interface_gone(ec2: FakeEc2) -> None:
    del ec2.interfaces["eni-a"]


def new_carrier(ec2: FakeEc2) -> None:
    ec2.interfaces["eni-x"] = {
        "NetworkInterfaceId": "eni-x",
        "VpcId": "vpc-1",
        "Groups": [{"GroupId": made_group(ec2), "GroupName": "train-cluster"}],
    }


def rule_in_our_group(ec2: FakeEc2) -> None:
    params = {"GroupId": made_group(ec2), "IpPermissions": [tcp(443, 443, {"IpRanges": [{"CidrIp": "10.0.0.0/8"}]})]}
    ec2.change("AuthorizeSecurityGroupIngress", params)


def our_group_named(ec2: FakeEc2) -> None:
    ec2.change(
        "AuthorizeSecurityGroupIngress", {"GroupId": "sg-a", "IpPermissions": [tcp(1, 1, pair(made_group(ec2)))]}
    )


def list_changed(ec2: FakeEc2) -> None:
    next(iter(ec2.lists.values()))["Version"] = 2


def back_already(ec2: FakeEc2) -> None:
    rows = [tcp(22, 22, {"IpRanges": [{"CidrIp": "0.0.0.0/0"}]})]
    ec2.change("AuthorizeSecurityGroupIngress", {"GroupId": "sg-b", "IpPermissions": rows})


@pytest.mark.parametrize(
    ("name", "change", "left"),
    [
        ("peers", their_rule, []),
        ("peers", rule_gone, []),
        (
            "peers",
            rule_changed,
            [f"op-1: {{rule}} of sg-a was changed since: it was {WAS}, and is tcp:2048-65535 from sg-a"],
        ),
        ("acl-entries", entry_replaced, ["op-2: entry 91 (ingress) of acl-1 was changed since"]),
        ("acl-entries", entry_gone, []),
        ("cluster-group", group_added, ["op-4: groups of eni-a that were changed since: sg-a, sg-b"]),
        ("cluster-group", group_taken, ["op-4: the groups of eni-a were changed since: sg-b"]),
        (
            "cluster-group",
            only_ours,
            [
                "op-4: eni-a has no other group than {group} any more",
                "op-1: {group} is still in use (DependencyViolation)",
            ],
        ),
        ("cluster-group", interface_gone, []),
        ("cluster-group", new_carrier, ["op-1: {group} is still in use (DependencyViolation)"]),
        ("cluster-group", our_group_named, ["op-1: {group} is still in use (DependencyViolation)"]),
        (
            "cluster-group",
            rule_in_our_group,
            ["op-1: {group} has permissions that this run did not add: tcp:443-443 from 10.0.0.0/8"],
        ),
        ("prefix-list", list_changed, ["op-1: the entries of {list} were changed since"]),
        ("tighten", back_already, []),
    ],
)
def test_changed_since(name: str, change: Callable[[FakeEc2], None], left: list[str]) -> None:
    """What somebody changed since stays as it is, and one is told why; everything else is undone."""
    ec2, store = after(name)
    names = {
        "rule": next((k for k, r in ec2.rules.items() if r["GroupId"] == "sg-a" and r["FromPort"] == 1024), ""),
        "group": next((k for k, g in ec2.groups.items() if g["GroupName"] == "train-cluster"), ""),
        "list": next(iter(ec2.lists), ""),
    }
    untouched = fake()
    with suppress(StopIteration, KeyError, ApplyError):
        change(untouched)
    change(ec2)

    result = rollback.run(RUN, ec2, store, sleep=no_wait)

    assert [f"{operation}: {reason}" for operation, reason in result.left] == [text.format(**names) for text in left]
    assert result.complete is not bool(left)
    assert Journal.load(store, RUN).state is (State.PARTIAL if left else State.ROLLED_BACK)
    if not left and change is not back_already:
        assert ec2.permissions() == untouched.permissions()


def carried(ec2: FakeEc2) -> list[str]:
    return [str(item["GroupName"]) for item in ec2.interfaces["eni-a"]["Groups"]]


def ports_of_a(ec2: FakeEc2) -> list[int]:
    return sorted(rule["FromPort"] for rule in ec2.rules.values() if rule["GroupId"] == "sg-a" and not rule["IsEgress"])


def entry_91(ec2: FakeEc2) -> list[str]:
    return [item["RuleAction"] for item in ec2.acls["acl-1"]["Entries"] if item["RuleNumber"] == 91]


def ours(ec2: FakeEc2) -> list[int]:
    group_id = made_group(ec2)
    return sorted(rule["FromPort"] for rule in ec2.rules.values() if rule["GroupId"] == group_id)


def sizes(ec2: FakeEc2) -> list[int]:
    return [item["MaxEntries"] for item in ec2.lists.values()]


@pytest.mark.parametrize(
    ("name", "change", "look", "stays"),
    [
        ("peers", their_rule, ports_of_a, [22, 6000]),
        ("peers", rule_changed, ports_of_a, [22, 2048]),
        ("acl-entries", entry_replaced, entry_91, ["deny"]),
        ("cluster-group", group_added, carried, ["sg-a", "sg-b"]),
        ("cluster-group", group_taken, carried, ["sg-b"]),
        ("cluster-group", only_ours, carried, ["train-cluster"]),
        ("cluster-group", rule_in_our_group, ours, [-1, 443]),
        ("prefix-list", list_changed, sizes, [2]),
    ],
)
def test_it_stays(
    name: str, change: Callable[[FakeEc2], None], look: Callable[[FakeEc2], list[Any]], stays: list[Any]
) -> None:
    """What somebody changed since is as they left it."""
    ec2, store = after(name)
    change(ec2)

    rollback.run(RUN, ec2, store, sleep=no_wait)

    assert look(ec2) == stays


def test_what_was_left_is_tried_again() -> None:
    """Once nothing stands in the way, a second rollback undoes what the first one left."""
    ec2, store = after("cluster-group")
    new_carrier(ec2)
    rollback.run(RUN, ec2, store, sleep=no_wait)
    del ec2.interfaces["eni-x"]

    result = rollback.run(RUN, ec2, store, sleep=no_wait)

    assert (result.undone, result.left, ec2.permissions()) == (("op-1",), (), BEFORE)
    assert Journal.load(store, RUN).state is State.ROLLED_BACK


def test_in_use_for_a_moment() -> None:
    """A group that still counts as used is deleted a little later."""
    ec2, store = after("cluster-group")
    new_carrier(ec2)
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            del ec2.interfaces["eni-x"]

    result = rollback.run(RUN, ec2, store, sleep=sleep)

    assert (result.complete, waits, ec2.permissions()) == (True, [1, 2], BEFORE)


def test_undone_once() -> None:
    """An entry that somebody makes anew after the rollback is theirs."""
    ec2, store = after("acl-entries")
    rollback.run(RUN, ec2, store, sleep=no_wait)
    ec2.change("CreateNetworkAclEntry", ENTRIES.operations[0].call.params)
    theirs = ec2.permissions()

    rollback.run(RUN, ec2, store, sleep=no_wait)

    assert ec2.permissions() == theirs


def test_added_and_taken_away() -> None:
    """A permission that the run itself added and took away again is not added once more."""
    row = tcp(80, 80, {"IpRanges": [{"CidrIp": "10.0.0.0/8"}]})
    taken = operation("op-2", "RevokeSecurityGroupIngress", {"GroupId": "sg-a", "IpPermissions": [row]})
    ec2, store = fake(), MemoryStore()
    apply.run(plan(authorize("op-1", "sg-a", row), taken), ec2, store, sleep=no_wait)

    result = rollback.run(RUN, ec2, store, sleep=no_wait)

    assert (result.left, ec2.permissions()) == ((), BEFORE)


def test_dry_run() -> None:
    """Planning a rollback reads only, and says what would be left."""
    ec2, store = after("acl-entries")
    entry_replaced(ec2)
    before, lines = ec2.permissions(), store.read(RUN)

    steps = rollback.plan(Journal.load(store, RUN), ec2)

    def delete(number: int, *, egress: bool) -> Call:
        place = {"NetworkAclId": "acl-1", "RuleNumber": number, "Egress": egress}
        return Call("DeleteNetworkAclEntry", place)

    assert steps == (
        Step("op-4", delete(101, egress=True), ()),
        Step("op-3", delete(100, egress=True), ()),
        Step("op-2", None, ("entry 91 (ingress) of acl-1 was changed since",)),
        Step("op-1", delete(90, egress=False), ()),
    )
    assert (ec2.permissions(), store.read(RUN)) == (before, lines)


def test_stop_on_request() -> None:
    """A person stops a rollback between two operations; a second one ends it."""
    ec2, store = after("peers")
    seen: list[str] = []

    result = rollback.run(
        RUN,
        ec2,
        store,
        sleep=no_wait,
        stopped=lambda: bool(seen),
        progress=lambda step: seen.append(step.operation),
    )

    assert (result.undone, result.error, result.interrupted) == (("op-3",), "stopped on request", True)
    assert Journal.load(store, RUN).state is State.INTERRUPTED
    assert rollback.run(RUN, ec2, store, sleep=no_wait).undone == ("op-2", "op-1")
    assert ec2.permissions() == BEFORE


@pytest.mark.parametrize("fault", ["timeouts-before", "interrupt-before"])
@pytest.mark.parametrize("name", ["peers", "acl-entries", "cluster-group"])
def test_a_change_that_came_too_late(name: str, fault: str) -> None:
    """A change that nobody had an answer of, and that is made only after the run was given up, is undone."""
    first = PLANS[name].operations[0].call
    ec2, store, counted = fake(), MemoryStore(), Moment()
    apply.run(PLANS[name], FaultyEc2(fake(), counted), MemoryStore(), sleep=no_wait)
    moment = Moment(counted.kinds.index("change"), fault)
    result = apply.run(PLANS[name], FaultyEc2(ec2, moment), store, sleep=no_wait)
    assert (result.failed, ec2.permissions()) == ("op-1", BEFORE)

    ec2.change(first.api, first.params)
    undone = rollback.run(RUN, ec2, store, sleep=no_wait)

    assert (undone.undone, undone.left, ec2.permissions()) == (("op-1",), (), BEFORE)


def test_no_such_run() -> None:
    """A run without a journal can't be undone."""
    with pytest.raises(UsageError) as caught:
        rollback.run(RUN, fake(), MemoryStore())

    assert caught.value.message == "there is no run 'run-1'"


# Random accounts and plans

PORTS = [22, 80, 1024, 65535]
PEERS_OF_ROWS: list[dict[str, Any]] = [
    {"cidr": ["10.0.0.0/8"]},
    {"cidr6": ["2001:db8::/32"]},
    {"groups": ["sg-a"]},
    {"groups": ["sg-b"]},
]
ROWS = [row("tcp", port, **peer) for port in PORTS for peer in PEERS_OF_ROWS] + [row(groups=["sg-a"])]
WANTED = [
    tcp(port, port, {key: peer})
    for port in PORTS
    for key, peer in (
        ("IpRanges", [{"CidrIp": "10.0.0.0/8"}]),
        ("Ipv6Ranges", [{"CidrIpv6": "2001:db8::/32"}]),
        ("UserIdGroupPairs", [{"GroupId": "sg-a"}]),
        ("UserIdGroupPairs", [{"GroupId": "sg-b"}]),
    )
]


def subset(items: list[Any], most: int = 6) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(range(len(items))), max_size=most, unique=True).map(
        lambda chosen: [items[number] for number in chosen]
    )


@st.composite
def accounts(draw: st.DrawFn) -> FakeEc2:
    nodes = [
        node(name, f"10.0.0.{number}", groups=draw(st.sampled_from([["sg-a"], ["sg-b"], ["sg-a", "sg-b"]])))
        for number, name in enumerate("abc", start=5)
    ]
    groups = [group(name, ingress=draw(subset(ROWS)), egress=draw(subset(ROWS))) for name in ("sg-a", "sg-b")]
    entries = [
        entry(number, draw(st.sampled_from(["allow", "deny"])), egress=egress)
        for number in draw(subset([90, 91, 100, 200]))
        for egress in (False, True)
    ]
    quota = draw(st.sampled_from([6, 60]))
    return FakeEc2(snapshot(nodes, groups, acls=[acl("acl-1", entries, subnets=["subnet-1"])]), rules_quota=quota)


@st.composite
def operations(draw: st.DrawFn, ec2: FakeEc2) -> list[Operation]:
    found = [create_group()]
    for number in range(2, draw(st.integers(2, 8))):
        name = f"op-{number}"
        kind = draw(st.sampled_from(["authorize", "revoke", "entry", "replace", "delete", "groups"]))
        group_id = draw(st.sampled_from(["sg-a", "sg-b", {"Ref": "op-1"}]))
        wanted = draw(subset(WANTED)) or WANTED[:1]
        if kind == "authorize":
            found.append(authorize(name, group_id, *wanted, egress=draw(st.booleans())))
        elif kind == "revoke":
            way = draw(st.sampled_from(["Ingress", "Egress"]))
            found.append(operation(name, f"RevokeSecurityGroup{way}", {"GroupId": "sg-a", "IpPermissions": wanted}))
        elif kind == "entry":
            found.append(create_entry(name, draw(st.sampled_from([90, 92, 93])), egress=draw(st.booleans())))
        elif kind == "replace":
            params = create_entry(name, draw(st.sampled_from([90, 91])), RuleAction="deny").call.params
            found.append(operation(name, "ReplaceNetworkAclEntry", params))
        elif kind == "delete":
            place = {"NetworkAclId": "acl-1", "RuleNumber": draw(st.sampled_from([90, 91])), "Egress": False}
            found.append(operation(name, "DeleteNetworkAclEntry", place))
        else:
            interface = draw(st.sampled_from(["eni-a", "eni-b", "eni-c"]))
            before = [item["GroupId"] for item in ec2.interfaces[interface]["Groups"]]
            found.append(set_groups(name, interface, before, [*before, {"Ref": "op-1"}]))
    return found


@given(data=st.data())
def test_there_and_back(data: st.DataObject) -> None:
    """However far a plan gets, whatever goes wrong with it, a rollback restores the exact permissions."""
    ec2 = data.draw(accounts())
    wanted = plan(*data.draw(operations(ec2)))
    store, before = MemoryStore(), ec2.permissions()
    moment = Moment(data.draw(st.integers(0, 40)), data.draw(st.sampled_from(["", *CHANGE_FAULTS])))

    with suppress(Crash):
        apply.run(wanted, FaultyEc2(ec2, moment), store, sleep=no_wait)
    if data.draw(st.booleans()):
        apply.run(wanted, ec2, store, resume=True, sleep=no_wait)
    result = rollback.run(RUN, ec2, store, sleep=no_wait)

    assert (result.left, result.error) == ((), "")
    assert ec2.permissions() == before
