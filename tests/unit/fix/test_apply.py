"""A plan is carried out in its order, each call once, and what is so already is left alone."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sgaudit.errors import CallError, Failure, UsageError
from sgaudit.fix import apply, permissions, rollback
from sgaudit.fix.apply import Applied
from sgaudit.fix.journal import Journal, State
from sgaudit.fix.permissions import Permitted
from sgaudit.fix.plan import Plan
from sgaudit.fix.store import FolderStore
from tests.fake_ec2 import FakeEc2, refused
from tests.unit.fix.faults import FaultyEc2, MemoryStore, Moment, throttled
from tests.unit.fix.plans import (
    ABOUT,
    CLUSTER_GROUP,
    ENTRIES,
    PEERS,
    PLANS,
    PREFIX_LIST,
    RUN,
    TIGHTEN,
    authorize,
    create_entry,
    fake,
    operation,
    pair,
    plan,
    set_groups,
    tcp,
)

BEFORE = fake().permissions()


class Waits:
    """Waits for nothing, and remembers for how long."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def applied(wanted: Plan, ec2: Any, store: Any = None, **more: Any) -> Applied:
    return apply.run(wanted, ec2, store or MemoryStore(), **{"sleep": Waits(), **more})


@pytest.mark.parametrize("name", PLANS)
def test_order(name: str) -> None:
    """The calls are those of the plan, in its order, with the ids of what was created."""
    ec2 = fake()

    result = applied(PLANS[name], ec2)

    ids = tuple(item.id for item in PLANS[name].operations)
    assert result == Applied(ids, (), "", ())
    assert [api for api, _ in ec2.log] == [item.call.api for item in PLANS[name].operations]
    assert "Ref" not in repr(ec2.log)


@pytest.mark.parametrize("name", PLANS)
def test_second_run(name: str) -> None:
    """Another run of the same changes finds everything done, calls nothing, and undoes nothing."""
    ec2, store = fake(), MemoryStore()
    applied(PLANS[name], ec2, store)
    after, calls = ec2.permissions(), len(ec2.log)

    result = applied(replace(PLANS[name], run="run-2"), ec2, store)
    undone = rollback.run("run-2", ec2, store, sleep=Waits())

    assert result == Applied((), tuple(item.id for item in PLANS[name].operations), "", ())
    assert (undone.undone, undone.left) == ((), ())
    assert (ec2.permissions(), len(ec2.log)) == (after, calls)


def test_journal() -> None:
    """There is a line before and one after each call, and the latter has the ids."""
    ec2, store = fake(), MemoryStore()

    applied(PEERS, ec2, store)

    lines = store.read(RUN)
    assert [line["kind"] for line in lines] == ["run", *["call", "done"] * 3, "end"]
    assert lines[1]["params"] == PEERS.operations[0].call.params
    ids = {key for key, rule in ec2.rules.items() if rule["GroupId"] == "sg-a" and rule.get("Description") == ABOUT}
    assert lines[2]["made"]["group"] == "sg-a"
    assert lines[2]["made"]["rules"].keys() == {"tcp:1024-65535 from sg-a", "tcp:1024-65535 from sg-b"}
    assert set(lines[2]["made"]["rules"].values()) == ids
    assert lines[2]["request_id"] == "req-1"


def test_tags_and_descriptions() -> None:
    """What is created has the tags and the description of the plan."""
    ec2 = fake()

    applied(CLUSTER_GROUP, ec2)

    (group,) = [item for item in ec2.groups.values() if item["GroupName"] == "train-cluster"]
    made = [rule for rule in ec2.rules.values() if rule["GroupId"] == group["GroupId"] and rule.get("Description")]
    assert {tag["Key"] for tag in group["Tags"]} == {"sgaudit:managed", "sgaudit:run"}
    assert group["Description"] == ABOUT
    assert [(rule["Description"], rule["Tags"]) for rule in made] == [(ABOUT, group["Tags"])] * 2


def test_some_are_there() -> None:
    """Of permissions that are partly there, under any description, the others are added; only those are undone."""
    ec2, store = fake(), MemoryStore()
    theirs = tcp(1024, 65535, {"UserIdGroupPairs": [{"GroupId": "sg-b", "Description": "theirs"}]})
    ec2.change("AuthorizeSecurityGroupIngress", {"GroupId": "sg-a", "IpPermissions": [theirs]})
    before = ec2.permissions()

    result = applied(PEERS, ec2, store)
    rollback.run(RUN, ec2, store, sleep=Waits())

    assert result.done == ("op-1", "op-2", "op-3")
    assert ec2.log[1][1]["IpPermissions"] == [tcp(1024, 65535, pair("sg-a"))]
    assert ec2.permissions() == before


def test_repeated_rows() -> None:
    """Rows that are the same once their blocks are canonical are asked for once."""
    ec2 = fake()
    blocks = [{"CidrIp": "10.0.9.9/16"}, {"CidrIp": "10.0.0.0/16"}]

    result = applied(plan(authorize("op-1", "sg-a", tcp(80, 80, {"IpRanges": blocks}))), ec2)

    assert result.done == ("op-1",)
    assert ec2.log[0][1]["IpPermissions"] == [tcp(80, 80, {"IpRanges": [{"CidrIp": "10.0.9.9/16"}]})]


class Racing(FakeEc2):
    """Somebody else adds a permission right before each of ours."""

    def change(self, api: str, params: Any) -> Any:
        if len(self.log) < 1 and api == "AuthorizeSecurityGroupIngress":
            rows = [tcp(1024, 65535, {"UserIdGroupPairs": [{"GroupId": "sg-a", "Description": "theirs"}]})]
            super().change(api, {"GroupId": "sg-a", "IpPermissions": rows})
        return super().change(api, params)


def test_somebody_was_faster() -> None:
    """A permission that somebody adds at the same moment counts as there, and is not undone."""
    ec2, store = Racing(fake().document()), MemoryStore()

    result = applied(PEERS, ec2, store)
    undone = rollback.run(RUN, ec2, store, sleep=Waits())

    theirs = [rule for rule in ec2.rules.values() if rule.get("Description") == "theirs"]
    assert (result.complete, undone.left, len(theirs)) == (True, (), 1)
    assert len(ec2.rules) == len(fake().rules) + 1


@pytest.mark.parametrize("lag", [1, 3, 5])
@pytest.mark.parametrize("name", ["cluster-group", "closed-group", "prefix-list"])
def test_eventual_consistency(name: str, lag: int) -> None:
    """What was just created and is not known everywhere yet is waited for."""
    ec2, wait, whole = fake(lag=lag), Waits(), fake()
    applied(PLANS[name], whole)

    result = applied(PLANS[name], ec2, sleep=wait)

    assert result.complete
    assert ec2.permissions() == whole.permissions()
    assert bool(wait.seconds) is (lag > 1)


def test_no_eventual_consistency() -> None:
    """A group that never was there is not waited for."""
    wait = Waits()

    result = applied(plan(authorize("op-1", "sg-none", tcp(80, 80, pair("sg-a")))), fake(), sleep=wait)

    assert (result.failed, result.code, wait.seconds) == ("op-1", "InvalidGroup.NotFound", [])


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["sg-b"], "op-4: eni-a carries sg-b, and carried sg-a when the plan was made"),
        (["sg-a", "sg-b"], "op-4: eni-a carries sg-a, sg-b, and carried sg-a when the plan was made"),
    ],
)
def test_interface_was_changed(groups: list[str], message: str) -> None:
    """The groups of an interface are replaced only if they are those that the plan expects."""
    ec2, store = fake(), MemoryStore()
    ec2.change("ModifyNetworkInterfaceAttribute", {"NetworkInterfaceId": "eni-a", "Groups": groups})
    before = ec2.permissions()

    result = applied(CLUSTER_GROUP, ec2, store)
    rollback.run(RUN, ec2, store, sleep=Waits())

    assert (result.done, result.failed, result.left) == (("op-1", "op-2", "op-3"), "op-4", ("op-5", "op-6"))
    assert (result.stale, result.error) == (True, message)
    assert ec2.permissions() == before


@pytest.mark.parametrize(
    ("number", "more", "outcome"),
    [
        (90, {}, ("already", "")),
        (90, {"CidrBlock": "10.0.1.9/24"}, ("already", "")),
        (90, {"RuleAction": "deny"}, ("", "op-1: entry 90 (ingress) of acl-1 is taken by another one")),
        (95, {}, ("done", "")),
    ],
)
def test_entry_is_taken(number: int, more: dict[str, Any], outcome: tuple[str, str]) -> None:
    """An equal entry with the number is done; another one stops the run, and is never replaced."""
    ec2 = fake()
    ec2.change("CreateNetworkAclEntry", create_entry("x", number, **more).call.params)
    before = ec2.permissions()

    result = applied(plan(create_entry("op-1", 90)), ec2)

    kind = "done" if result.done else "already" if result.already else ""
    assert (kind, result.error) == outcome
    assert (ec2.permissions() == before) is (kind != "done")


def test_a_name_is_taken() -> None:
    """A group of the same name that is not the run's is not used."""
    ec2 = fake()
    ec2.change("CreateSecurityGroup", {"GroupName": "train-cluster", "Description": "theirs", "VpcId": "vpc-1"})
    (group_id,) = (key for key, item in ec2.groups.items() if item["GroupName"] == "train-cluster")

    result = applied(CLUSTER_GROUP, ec2)

    assert (result.stale, result.error) == (True, f"op-1: another security group is named train-cluster ({group_id})")
    assert result.left == ("op-2", "op-3", "op-4", "op-5", "op-6")


def test_atomic() -> None:
    """A request that is refused for one of its permissions adds none, and the failure says so."""
    ec2 = fake()
    bad = {"IpRanges": [{"CidrIp": "banana"}]}

    result = applied(plan(authorize("op-1", "sg-a", tcp(80, 80, pair("sg-a")), tcp(81, 81, bad))), ec2)

    assert (result.failed, result.code) == ("op-1", "InvalidParameterValue")
    assert ec2.permissions() == BEFORE


class Refusing(FakeEc2):
    """Throttles one kind of call for ever."""

    refused_api = ""

    def change(self, api: str, params: Any) -> Any:
        if api == self.refused_api:
            raise throttled()
        return super().change(api, params)


def test_no_revoke_after_a_failed_add() -> None:
    """When adding is throttled to death, nothing is revoked: the run stops before."""
    ec2, wait = Refusing(fake().document()), Waits()
    ec2.refused_api = "AuthorizeSecurityGroupIngress"

    result = applied(TIGHTEN, ec2, sleep=wait)

    assert (result.failed, result.code, result.left) == ("op-1", "RequestLimitExceeded", ("op-2", "op-3", "op-4"))
    assert wait.seconds == [1, 2, 4, 8]
    assert ec2.permissions() == BEFORE


def test_quota() -> None:
    """A full group stops the run, with AWS's code."""
    ec2 = fake(rules_quota=2)

    result = applied(PEERS, ec2)

    assert (result.failed, result.code) == ("op-1", "RulesPerSecurityGroupLimitExceeded")
    assert ec2.permissions() == BEFORE


def test_pace() -> None:
    """After a burst, changes are spread, so that others keep their share of the rate."""
    wait = Waits()
    many = plan(*(create_entry(f"op-{n}", 300 + n) for n in range(30)))

    result = applied(many, fake(entries_quota=50), sleep=wait)

    assert (len(result.done), wait.seconds) == (30, [0.25] * 10)


@pytest.mark.parametrize(
    ("wanted", "limit", "message"),
    [
        (PEERS, 2, "the plan has 3 operations, more than 2"),
        (plan(operation("op-1", "TerminateInstances", {})), 50, "a plan can't hold TerminateInstances"),
        (
            plan(operation("op-1", "AuthorizeSecurityGroupIngress", {"GroupId": "sg-a"})),
            50,
            "operation op-1, AuthorizeSecurityGroupIngress, has no IpPermissions",
        ),
        (
            plan(authorize("op-1", "sg-a", {"IpRanges": [{"CidrIp": "10.0.0.0/8"}]})),
            50,
            "operation op-1, AuthorizeSecurityGroupIngress, can't be read: IpPermissions[0].IpProtocol is missing",
        ),
        (
            plan(operation("op-1", "RevokeSecurityGroupIngress", {"GroupId": "sg-a"})),
            50,
            "operation op-1, RevokeSecurityGroupIngress, has no SecurityGroupRuleIds",
        ),
        (
            plan(create_entry("op-1", 90, PortRange={"From": None})),
            50,
            "operation op-1, CreateNetworkAclEntry, can't be read: PortRange.From is null, not a whole number",
        ),
        (
            plan(authorize("op-1", {"Ref": "op-9"}, tcp(1, 2, pair("sg-a")))),
            50,
            "operation op-1 refers to op-9: the plan can't be carried out in this order",
        ),
        (
            plan(create_entry("op-1", 90), create_entry("op-1", 91)),
            50,
            "operation op-1 is there twice: the plan can't be carried out in this order",
        ),
        (replace(PEERS, run="../../etc/x"), 50, "'../../etc/x' is not the id of a run"),
    ],
)
def test_refusals(wanted: Plan, limit: int, message: str, tmp_path: Path) -> None:
    """A plan that can't be carried out is refused before anything is changed or written."""
    ec2 = fake()

    with pytest.raises(UsageError) as caught:
        apply.run(wanted, ec2, FolderStore(tmp_path), limit=limit)

    assert (caught.value.message, ec2.log) == (message, [])
    assert [path.name for path in tmp_path.iterdir() if path.name != "lock"] == []


@pytest.mark.parametrize(
    ("begin", "resume", "message"),
    [
        (lambda *_: None, True, "there is no run 'run-1' to go on with"),
        (lambda ec2, store: applied(PEERS, ec2, store), False, "run run-1 was begun before (applied)"),
        (lambda ec2, store: applied(ENTRIES, ec2, store), True, "run run-1 applied another plan"),
        (
            lambda ec2, store: (applied(PEERS, ec2, store), rollback.run(RUN, ec2, store)),
            True,
            "run run-1 was rolled back",
        ),
    ],
)
def test_runs_that_were_begun(begin: Callable[[Any, Any], Any], resume: bool, message: str) -> None:
    """A run is begun once, and goes on only as what it was."""
    ec2, store = fake(), MemoryStore()
    begin(ec2, store)

    with pytest.raises(UsageError) as caught:
        applied(PEERS, ec2, store, resume=resume)

    assert caught.value.message == message


def test_stop_on_request() -> None:
    """A person stops a run between two operations; it can go on."""
    ec2, store = fake(), MemoryStore()
    seen: list[str] = []

    result = applied(
        PEERS,
        ec2,
        store,
        stopped=lambda: len(seen) == 1,
        progress=lambda item, outcome: seen.append(f"{item.id} {outcome}"),
    )

    assert seen == ["op-1 done"]
    assert (result.done, result.failed, result.left, result.interrupted) == (("op-1",), "", ("op-2", "op-3"), True)
    assert Journal.load(store, RUN).state is State.INTERRUPTED
    assert applied(PEERS, ec2, store, resume=True).done == ("op-1", "op-2", "op-3")


@pytest.mark.parametrize(("fault", "made"), [("interrupt-before", False), ("interrupt-after", True)])
def test_interrupted_call(fault: str, made: bool) -> None:
    """A call that Ctrl-C cut off is looked after, and the journal says what came of it."""
    ec2, store, counted = fake(), MemoryStore(), Moment()
    applied(PEERS, FaultyEc2(fake(), counted))
    second = [number for number, kind in enumerate(counted.kinds) if kind == "change"][1]

    result = applied(PEERS, FaultyEc2(ec2, Moment(second, fault)), store)

    assert result.interrupted
    assert result.done == (("op-1", "op-2") if made else ("op-1",))
    last = store.read(RUN)[-2]
    assert (last["kind"], bool(last["made"])) == ("done" if made else "failed", made)


@pytest.mark.parametrize(
    ("fault", "calls"),
    [("timeout-before", 4), ("timeout-after", 3), ("timeout-late", 4), ("throttled-once", 4)],
)
def test_without_an_answer(fault: str, calls: int) -> None:
    """A call that got no answer is made again only if nothing came of it, and the run goes on."""
    ec2, counted = fake(), Moment()
    applied(PEERS, FaultyEc2(fake(), counted))
    first = counted.kinds.index("change")
    moment = Moment(first, fault)

    result = applied(PEERS, FaultyEc2(ec2, moment))

    assert (result.done, moment.kinds.count("change")) == (("op-1", "op-2", "op-3"), calls)


def test_denied_on_the_way() -> None:
    """A denied call stops the run and names the IAM actions, that for tags included."""
    result = applied(CLUSTER_GROUP, fake(denied=["CreateSecurityGroup"]))

    assert (result.failed, result.code) == ("op-1", "UnauthorizedOperation")
    assert result.hint == (
        "allow the IAM action ec2:CreateSecurityGroup, and ec2:CreateTags for the tags in the request"
    )


class Elsewhere(FakeEc2):
    """An emulator: it carries out what asks for a dry run."""

    is_aws = False

    def ask(self, api: str, params: Any) -> str:
        if "Acl" in api or "PrefixList" in api:
            self.change(api, params)
        return super().ask(api, params)


class Mute(FakeEc2):
    """Does not answer questions."""

    def ask(self, api: str, params: Any) -> str:
        del params
        if api == "CreateNetworkAclEntry":
            raise CallError("no answer", code="ReadTimeoutError", failure=Failure.UNANSWERED)
        if api == "CreateManagedPrefixList":
            raise refused("UnauthorizedOperation")
        return "InvalidGroup.NotFound"


NOT_AWS = "not asked: this endpoint is not AWS, and might carry it out"


@pytest.mark.parametrize(
    ("wanted", "ec2", "expected"),
    [
        (PEERS, fake(), [(Permitted.ALLOWED, "DryRunOperation")] * 3),
        (ENTRIES, fake(), [(Permitted.ALLOWED, "DryRunOperation")] * 4),
        (
            PEERS,
            fake(denied=["AuthorizeSecurityGroupEgress"]),
            [
                (Permitted.ALLOWED, "DryRunOperation"),
                (Permitted.ALLOWED, "DryRunOperation"),
                (Permitted.DENIED, "UnauthorizedOperation"),
            ],
        ),
        (
            CLUSTER_GROUP,
            fake(),
            [
                (Permitted.ALLOWED, "DryRunOperation"),
                *[(Permitted.UNKNOWN, "needs what op-1 creates")] * 5,
            ],
        ),
        (ENTRIES, Elsewhere(fake().document()), [(Permitted.UNKNOWN, NOT_AWS)] * 4),
        (
            PREFIX_LIST,
            Elsewhere(fake().document()),
            [
                (Permitted.UNKNOWN, NOT_AWS),
                (Permitted.UNKNOWN, "needs what op-1 creates"),
            ],
        ),
        (PEERS, Mute(fake().document()), [(Permitted.UNKNOWN, "InvalidGroup.NotFound")] * 3),
        (ENTRIES, Mute(fake().document()), [(Permitted.UNKNOWN, "ReadTimeoutError")] * 4),
        (
            PREFIX_LIST,
            Mute(fake().document()),
            [
                (Permitted.DENIED, "UnauthorizedOperation"),
                (Permitted.UNKNOWN, "needs what op-1 creates"),
            ],
        ),
    ],
)
def test_permissions(wanted: Plan, ec2: FakeEc2, expected: list[tuple[Permitted, str]]) -> None:
    """EC2 is asked for each call that can be asked for, and nothing is changed by asking."""
    checked = permissions.check(wanted, ec2)

    assert [(item.permitted, item.code) for item in checked] == expected
    assert [item.operation for item in checked] == list(wanted.operations)
    assert (ec2.permissions(), ec2.log) == (BEFORE, [])


KILLED = """
import os, pickle, signal, sys
from pathlib import Path
from sgaudit.fix import apply
from sgaudit.fix.store import FolderStore
from tests.unit.fix.plans import CLUSTER_GROUP, fake

folder, moment, at = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

class Account:
    is_aws = True
    ec2 = fake()
    changes = 0
    def read(self, api, params):
        return self.ec2.read(api, params)
    def change(self, api, params):
        self.changes += 1
        if self.changes == at and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        answer = self.ec2.change(api, params)
        (folder / "account").write_bytes(pickle.dumps(self.ec2))
        if self.changes == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

account = Account()
(folder / "account").write_bytes(pickle.dumps(account.ec2))
apply.run(CLUSTER_GROUP, account, FolderStore(folder / "state"))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("moment", "at"), [("before", 1), ("after", 1), ("after", 2), ("before", 5), ("after", 6)])
def test_kill(tmp_path: Path, moment: str, at: int) -> None:
    """A process that is killed around a call leaves a journal with which both ways are open."""
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), moment, str(at)], check=False, env=environment)
    assert ended.returncode == -9
    data = (tmp_path / "account").read_bytes()
    store = FolderStore(tmp_path / "state")
    killed = store.read(RUN)

    ec2: FakeEc2 = pickle.loads(data)  # noqa: S301  # written a moment ago
    resumed = apply.run(CLUSTER_GROUP, ec2, store, resume=True, sleep=Waits())
    whole = fake()
    applied(CLUSTER_GROUP, whole)
    assert (resumed.complete, ec2.permissions()) == (True, whole.permissions())

    ec2 = pickle.loads(data)  # noqa: S301
    again = MemoryStore()
    for line in killed:
        again.append(RUN, line)
    assert rollback.run(RUN, ec2, again, sleep=Waits()).complete
    assert ec2.permissions() == BEFORE


def test_set_groups_is_done_already() -> None:
    """An interface that carries the group already, in whatever order, is left alone."""
    ec2 = fake()

    result = applied(plan(set_groups("op-1", "eni-b", ["sg-a"], ["sg-a", "sg-b"])), ec2)

    assert (result.already, ec2.log) == (("op-1",), [])
