"""What AWS would say after a plan, in memory; and what it would refuse."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.errors import InternalError
from sgaudit.fix.plan import Call, Operation, Safety
from sgaudit.fix.simulate import simulate
from sgaudit.model import Snapshot
from sgaudit.snapshot import parse
from tests.apply_raw import Refused, apply_raw
from tests.builders import ANYWHERE, Raw, acl, entry, group, node, row, snapshot

SSH = row("tcp", 22, cidr=["10.0.0.0/8"])
DOCUMENT = snapshot(
    [node("a", "10.0.0.5")],
    [group(ingress=[SSH, row(groups=["sg-a"])])],
    acls=[acl("acl-1", [entry(100, "allow", egress=False)], subnets=["subnet-1"])],
)
ALLOW, DENY = "AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress"


def asked(*calls: tuple[str, dict[str, Any]]) -> list[Operation]:
    return [
        Operation(f"op-{number}", Call(api, params), "", (), Safety.SAFE, "", None)
        for number, (api, params) in enumerate(calls, 1)
    ]


def both(*calls: tuple[str, dict[str, Any]], document: Raw = DOCUMENT) -> tuple[Snapshot, Snapshot]:
    """Carry out in memory, and on the raw document."""
    operations = asked(*calls)
    raw = [{"id": item.id, "api": item.call.api, "params": item.call.params} for item in operations]
    return simulate(parse(document), operations), parse(apply_raw(document, raw))


def rows(snapshot_: Snapshot, *, egress: bool = False) -> dict[str, list[tuple[str, str, str]]]:
    return {
        item.group_id.partition("-op")[0]: sorted(
            (it.protocol, str(it.ports), str(it.peer)) for it in (item.egress if egress else item.ingress)
        )
        for item in (snapshot_.security_groups or {}).values()
    }


def entries(snapshot_: Snapshot) -> list[tuple[int, bool, bool, str, str, str]]:
    return [
        (it.number, it.egress, it.allow, it.protocol, str(it.ports), str(it.cidr))
        for it in (snapshot_.network_acls or {})["acl-1"].entries
    ]


def authorize(*rows_: Raw, group_id: Any = "sg-a", api: str = ALLOW) -> tuple[str, dict[str, Any]]:
    kept = [{key: value for key, value in item.items() if value != []} for item in rows_]
    return api, {"GroupId": group_id, "IpPermissions": kept}


def acl_entry(number: int, **more: Any) -> tuple[str, dict[str, Any]]:
    return "CreateNetworkAclEntry", {
        "NetworkAclId": "acl-1",
        "RuleNumber": number,
        "Egress": False,
        "Protocol": "-1",
        "RuleAction": "allow",
        "CidrBlock": ANYWHERE,
        **more,
    }


@pytest.mark.parametrize(
    "calls",
    [
        [authorize(row("tcp", 80, cidr=["10.0.0.0/8", "192.168.0.0/16"]))],
        [authorize(row("udp", 53, cidr=["10.0.0.0/8"]), api="AuthorizeSecurityGroupEgress")],
        [authorize(SSH, api=DENY)],
        [authorize(row(groups=[{"GroupId": "sg-a"}]), api=DENY)],
        [acl_entry(90, Protocol="6", PortRange={"From": 22, "To": 23})],
        [acl_entry(90, Protocol="1", IcmpTypeCode={"Type": 8, "Code": -1})],
        [acl_entry(90, Protocol="1", IcmpTypeCode={"Type": 8, "Code": 3})],
        [acl_entry(100, Egress=True)],
    ],
    ids=["add", "egress", "revoke", "revoke-a-reference", "entry", "icmp", "icmp-code", "same-number-other-way"],
)
def test_memory_and_the_raw_document_agree(calls: list[tuple[str, dict[str, Any]]]) -> None:
    """The simulated snapshot says what the changed document says when it is read."""
    ours, theirs = both(*calls)

    assert rows(theirs) == rows(ours)
    assert rows(theirs, egress=True) == rows(ours, egress=True)
    assert entries(theirs) == entries(ours)
    assert (
        rows(parse(DOCUMENT)) != rows(ours)
        or rows(parse(DOCUMENT), egress=True) != rows(ours, egress=True)
        or entries(parse(DOCUMENT)) != entries(ours)
    )


def test_a_new_group_begins_with_an_open_egress_until_that_is_taken() -> None:
    """References lead to what was made; an interface carries the list that was given and no other."""
    create = (
        "CreateSecurityGroup",
        {"GroupName": "new", "Description": "d", "VpcId": "vpc-1", "TagSpecifications": [{"Tags": []}]},
    )
    made = {"Ref": "op-1"}
    take = authorize(row(cidr=[ANYWHERE]), group_id=made, api="RevokeSecurityGroupEgress")
    let = authorize(row(groups=[{"GroupId": made}]), group_id=made)
    put = (
        "ModifyNetworkInterfaceAttribute",
        {"NetworkInterfaceId": "eni-a", "Groups": ["sg-a", made]},
    )
    begun, _ = both(create)
    ended, _ = both(create, take, let, put)

    assert rows(begun, egress=True)["sg"] == [("-1", "0-65535", "0.0.0.0/0")]
    assert (rows(ended, egress=True)["sg"], rows(ended)["sg"]) == ([], [("-1", "0-65535", "sg-op-1")])
    assert ended.interfaces["eni-a"].groups == ("sg-a", "sg-op-1")


def test_a_new_prefix_list_has_its_entries_and_its_size() -> None:
    """Permissions that name it are judged by its entries, quotas by its size."""
    create = (
        "CreateManagedPrefixList",
        {"PrefixListName": "n", "MaxEntries": 2, "AddressFamily": "IPv4", "Entries": [{"Cidr": "10.0.0.5/32"}]},
    )
    ours, _ = both(create)

    assert [str(item) for item in ours.prefix_lists["pl-op-1"]] == ["10.0.0.5/32"]
    assert ours.prefix_list_sizes["pl-op-1"] == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (authorize(SSH), "the plan adds to sg-a a permission that it has"),
        (authorize(row(groups=[{"GroupId": "sg-a"}])), "the plan adds to sg-a a permission that it has"),
        (
            authorize(row("tcp", 80, cidr=["10.0.0.5/16"]), row("tcp", 80, cidr=["10.0.0.0/16"])),
            "the plan adds to sg-a a permission twice",
        ),
        (authorize(SSH, group_id="sg-x"), "the plan changes sg-x, which was not read"),
        (
            authorize(row("tcp", 23, cidr=["10.0.0.0/8"]), api=DENY),
            "the plan takes from sg-a a permission that it does not have",
        ),
        (acl_entry(100), "the plan gives acl-1 a second entry 100"),
        (("DeleteVpc", {}), "op-1: no simulation of DeleteVpc"),
    ],
    ids=["duplicate", "duplicate-reference", "twice-once-canonical", "no-group", "revoke-part", "number", "unknown"],
)
def test_what_aws_would_refuse_is_a_fault(call: tuple[str, dict[str, Any]], message: str) -> None:
    """A plan that can't be carried out is never given out."""
    with pytest.raises(InternalError) as caught:
        simulate(parse(DOCUMENT), asked(call))

    assert message == str(caught.value)


@pytest.mark.parametrize(
    "call",
    [
        authorize(SSH),
        authorize(row("tcp", 80, cidr=["10.0.0.0/16"]), row("tcp", 80, cidr=["10.0.0.0/16"])),
        authorize(SSH, group_id="sg-x"),
        authorize(row("tcp", 23, cidr=["10.0.0.0/8"]), api=DENY),
        acl_entry(100),
        acl_entry(0),
        acl_entry(32767),
        authorize(*(row("tcp", 80, cidr=[f"10.{n}.0.0/16"]) for n in range(60))),
    ],
)
def test_the_executor_of_the_properties_is_as_strict(call: tuple[str, dict[str, Any]]) -> None:
    """What carries out plans in the property tests refuses as EC2 does."""
    with pytest.raises(Refused):
        apply_raw(DOCUMENT, [{"id": "op-1", "api": call[0], "params": call[1]}])
