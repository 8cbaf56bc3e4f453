"""A fingerprint changes exactly when something changes that a plan rests on."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from sgaudit.fix import apply, rollback
from sgaudit.fix.journal import Journal
from sgaudit.fix.plan import Precondition
from sgaudit.fix.preconditions import changed, fingerprint_of
from sgaudit.snapshot import parse
from tests.builders import entry, row
from tests.fake_ec2 import FakeEc2
from tests.unit.fix.faults import CHANGE_FAULTS, Crash, FaultyEc2, MemoryStore, Moment
from tests.unit.fix.plans import CLUSTER_GROUP, ENTRIES, PEERS, PLANS, RUN, TIGHTEN, document, fake, plan, resting_on

Raw = dict[str, Any]
THINGS = (
    ("security-group", "sg-a"),
    ("security-group", "sg-b"),
    ("network-acl", "acl-1"),
    ("network-interface", "eni-a"),
)
PLAN = plan(preconditions=resting_on(fake(), *THINGS))


def no_wait(seconds: float) -> None:
    """Wait for nothing."""


def group_of(raw: Raw) -> Raw:
    return next(item for item in raw["SecurityGroups"] if item["GroupId"] == "sg-a")


def acl_of(raw: Raw) -> Raw:
    return next(item for item in raw["NetworkAcls"] if item["NetworkAclId"] == "acl-1")


def interfaces_of(raw: Raw) -> list[Raw]:
    embedded = [i for r in raw["Reservations"] for n in r["Instances"] for i in n["NetworkInterfaces"]]
    return [item for item in [*embedded, *raw["NetworkInterfaces"]] if item["NetworkInterfaceId"] == "eni-a"]


def described(raw: Raw) -> None:
    group_of(raw).update(Description="other", Tags=[{"Key": "a", "Value": "b"}])
    group_of(raw)["IpPermissions"][0]["IpRanges"][0]["Description"] = "other"


def in_another_order(raw: Raw) -> None:
    for name in ("SecurityGroups", "NetworkAcls", "NetworkInterfaces"):
        raw[name].reverse()
    acl_of(raw)["Entries"].reverse()
    group_of(raw)["IpPermissions"].reverse()


def folded_otherwise(raw: Raw) -> None:
    group_of(raw)["IpPermissions"].append(group_of(raw)["IpPermissions"][0])


def opened(raw: Raw) -> None:
    group_of(raw)["IpPermissions"].append(row("tcp", 1, cidr=["10.0.0.0/8"]))


def narrowed(raw: Raw) -> None:
    group_of(raw)["IpPermissions"][0]["ToPort"] = 23


def other_peer(raw: Raw) -> None:
    group_of(raw)["IpPermissions"][0]["IpRanges"][0]["CidrIp"] = "10.0.0.0/9"


def closed(raw: Raw) -> None:
    group_of(raw)["IpPermissionsEgress"].clear()


def renamed(raw: Raw) -> None:
    group_of(raw)["GroupName"] = "other"


def both(raw: Raw) -> None:
    opened(raw)
    closed(raw)


def entry_added(raw: Raw) -> None:
    acl_of(raw)["Entries"].append(entry(300, "allow", egress=True))


def entry_moved(raw: Raw) -> None:
    acl_of(raw)["Entries"][0]["RuleNumber"] = 101


def entry_turned(raw: Raw) -> None:
    acl_of(raw)["Entries"][0]["RuleAction"] = "allow"


def subnet_moved(raw: Raw) -> None:
    acl_of(raw)["Associations"].append({"NetworkAclId": "acl-1", "SubnetId": "subnet-2"})


def carries(raw: Raw) -> None:
    for item in interfaces_of(raw):
        item["Groups"] = [{"GroupId": "sg-a"}, {"GroupId": "sg-b"}]


def gone(raw: Raw) -> None:
    raw["SecurityGroups"].remove(group_of(raw))


def not_read(raw: Raw) -> None:
    del raw["NetworkAcls"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (described, []),
        (in_another_order, []),
        (folded_otherwise, []),
        (opened, ["the ingress permissions of security group sg-a have changed"]),
        (narrowed, ["the ingress permissions of security group sg-a have changed"]),
        (other_peer, ["the ingress permissions of security group sg-a have changed"]),
        (closed, ["the egress permissions of security group sg-a have changed"]),
        (renamed, ["the name or the VPC of security group sg-a has changed"]),
        (both, ["the ingress permissions and the egress permissions of security group sg-a have changed"]),
        (entry_added, ["the egress entries of network ACL acl-1 have changed"]),
        (entry_moved, ["the ingress entries of network ACL acl-1 have changed"]),
        (entry_turned, ["the ingress entries of network ACL acl-1 have changed"]),
        (subnet_moved, ["the subnets that it guards of network ACL acl-1 have changed"]),
        (carries, ["the security groups of network interface eni-a have changed"]),
        (gone, ["security group sg-a is gone, or could not be read"]),
        (not_read, ["network ACL acl-1 is gone, or could not be read"]),
    ],
)
def test_changes(change: Callable[[Raw], None], words: list[str]) -> None:
    """What changed is told in words; descriptions, tags and order don't count."""
    raw = copy.deepcopy(document())
    change(raw)

    assert changed(PLAN, parse(raw)) == words


def test_appeared() -> None:
    """What was not there when the plan was made, and is now, has changed."""
    rests_on = Precondition("security-group", "sg-a", "")

    assert changed(plan(preconditions=(rests_on,)), parse(document())) == [
        "security group sg-a was not there when the plan was made"
    ]


def test_prefix_list() -> None:
    """A prefix list is what its entries are."""
    one, same, other = (
        fingerprint_of(parse({"PrefixListEntries": {"pl-1": [{"Cidr": c} for c in cidrs]}}), "prefix-list", "pl-1")
        for cidrs in (["10.0.0.0/8", "10.1.0.0/16"], ["10.1.0.0/16", "10.0.0.0/8"], ["10.0.0.0/8"])
    )

    assert (one == same, one == other, one == "") == (True, False, False)


def test_the_reader_does_not_matter() -> None:
    """A snapshot with the ids of permissions, or with interfaces of their own, gives the same fingerprints."""
    plain, other = document(), fake().document()
    del plain["NetworkInterfaces"]

    assert "SecurityGroupRules" in other
    for kind, name in THINGS:
        assert fingerprint_of(parse(plain), kind, name) == fingerprint_of(parse(other), kind, name)


@pytest.mark.parametrize("fault", ["", *CHANGE_FAULTS])
@pytest.mark.parametrize("name", ["peers", "cluster-group", "acl-entries"])
def test_going_on(name: str, fault: str) -> None:
    """What the run itself has made, wherever it stopped, does not make its plan stale."""
    wanted = replace(PLANS[name], preconditions=PLAN.preconditions)
    for at in range(len(wanted.operations)):
        ec2, store, counted = fake(), MemoryStore(), Moment()
        apply.run(wanted, FaultyEc2(fake(), counted), MemoryStore(), sleep=no_wait)
        moment = [number for number, kind in enumerate(counted.kinds) if kind == "change"][at]
        with suppress(Crash):
            apply.run(wanted, FaultyEc2(ec2, Moment(moment, fault)), store, sleep=no_wait)

        assert changed(wanted, parse(ec2.document()), Journal.load(store, RUN)) == []


@pytest.mark.parametrize("wanted", [PEERS, CLUSTER_GROUP, ENTRIES, TIGHTEN])
def test_others_while_going_on(wanted: Any) -> None:
    """What others change while a run is stopped makes its plan stale all the same."""
    wanted = replace(wanted, preconditions=PLAN.preconditions)
    ec2, store = fake(), MemoryStore()
    apply.run(wanted, ec2, store, sleep=no_wait)
    raw = ec2.document()
    opened(raw)

    found = changed(wanted, parse(raw), Journal.load(store, RUN))

    assert "the ingress permissions of security group sg-a have changed" in found


def test_back() -> None:
    """After a rollback everything a plan rests on is as it was."""
    for name, wanted in PLANS.items():
        ec2: FakeEc2 = fake()
        store = MemoryStore()
        apply.run(wanted, ec2, store, sleep=no_wait)
        rollback.run(RUN, ec2, store, sleep=no_wait)
        assert changed(PLAN, parse(ec2.document())) == [], name
