"""Plans made by hand, and the account that they are for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sgaudit.fix.plan import Call, Operation, Plan, Precondition, Safety, Strategy
from sgaudit.fix.preconditions import fingerprint_of
from sgaudit.snapshot import parse
from tests.builders import OWNER, acl, entry, group, node, row, snapshot
from tests.fake_ec2 import FakeEc2

Raw = dict[str, Any]
RUN = "run-1"
ABOUT = "sgaudit run-1"
TAGS = [{"Key": "sgaudit:managed", "Value": "true"}, {"Key": "sgaudit:run", "Value": RUN}]


def document() -> Raw:
    """Three nodes in two groups and two subnets, with network ACLs of their own."""
    nodes = [
        node("a", "10.0.0.5", groups=["sg-a"]),
        node("b", "10.0.0.6", groups=["sg-b", "sg-a"]),
        node("c", "10.0.1.5", groups=["sg-b"], subnet="subnet-2"),
    ]
    groups = [
        group("sg-a", ingress=[row("tcp", 22, cidr=["10.0.0.0/8"])]),
        group("sg-b", ingress=[row("tcp", 22, cidr=["0.0.0.0/0"]), row("udp", 53, groups=["sg-a"])], egress=[]),
    ]
    entries = [entry(100, "deny", egress=False, protocol="6", ports=(1024, 65535)), entry(200, "allow", egress=False)]
    return snapshot(nodes, groups, acls=[acl("acl-1", entries, subnets=["subnet-1"])])


def fake(**more: Any) -> FakeEc2:
    return FakeEc2(document(), **more)


def operation(name: str, api: str, params: Mapping[str, Any], inverse: Call | None = None) -> Operation:
    return Operation(name, Call(api, params), "It is missing.", ("f1",), Safety.SAFE, "", inverse)


def plan(*operations: Operation, **more: Any) -> Plan:
    fields: dict[str, Any] = {
        "run": RUN,
        "created": "2026-01-01T00:00:00Z",
        "tool_version": "1",
        "account_id": OWNER,
        "region": "us-east-1",
        "selection": {"tags": ["cluster=train"]},
        "settings": {},
        "strategy": Strategy.PEERS,
        "exact": True,
        "operations": operations,
        "before": {},
        "after": {},
        "required": 1,
        "extra": (),
        "outside_known": False,
        "unfixable": (),
        "preconditions": (),
    }
    return Plan(**{**fields, **more})


def resting_on(ec2: FakeEc2, *things: tuple[str, str]) -> tuple[Precondition, ...]:
    """Give the preconditions that some things stay as they are."""
    now = parse(ec2.document())
    return tuple(Precondition(kind, name, fingerprint_of(now, kind, name)) for kind, name in things)


def pair(group_id: Any) -> Raw:
    return {"UserIdGroupPairs": [{"GroupId": group_id, "Description": ABOUT}]}


def tcp(low: int, high: int, peers: Raw) -> Raw:
    return {"IpProtocol": "tcp", "FromPort": low, "ToPort": high, **peers}


def tagged(kind: str) -> list[Raw]:
    return [{"ResourceType": kind, "Tags": TAGS}]


def authorize(name: str, group_id: Any, *rows: Raw, egress: bool = False) -> Operation:
    way = "Egress" if egress else "Ingress"
    params = {"GroupId": group_id, "IpPermissions": list(rows)}
    tags = {"TagSpecifications": tagged("security-group-rule")}
    return operation(
        name, f"AuthorizeSecurityGroup{way}", {**params, **tags}, Call(f"RevokeSecurityGroup{way}", params)
    )


def set_groups(name: str, interface_id: str, before: list[str], after: list[Any]) -> Operation:
    api = "ModifyNetworkInterfaceAttribute"
    inverse = Call(api, {"NetworkInterfaceId": interface_id, "Groups": before})
    return operation(name, api, {"NetworkInterfaceId": interface_id, "Groups": after}, inverse)


def create_group(name: str = "op-1", group_name: str = "train-cluster") -> Operation:
    params = {
        "GroupName": group_name,
        "Description": ABOUT,
        "VpcId": "vpc-1",
        "TagSpecifications": tagged("security-group"),
    }
    return operation(name, "CreateSecurityGroup", params, Call("DeleteSecurityGroup", {"GroupId": {"Ref": name}}))


def create_entry(name: str, number: int, *, egress: bool = False, **more: Any) -> Operation:
    place = {"NetworkAclId": "acl-1", "RuleNumber": number, "Egress": egress}
    params = {
        **place,
        "Protocol": "6",
        "RuleAction": "allow",
        "CidrBlock": "10.0.1.0/24",
        "PortRange": {"From": 1024, "To": 65535},
        **more,
    }
    return operation(name, "CreateNetworkAclEntry", params, Call("DeleteNetworkAclEntry", place))


PEERS = plan(
    authorize("op-1", "sg-a", tcp(1024, 65535, pair("sg-a")), tcp(1024, 65535, pair("sg-b"))),
    authorize("op-2", "sg-b", tcp(1024, 65535, pair("sg-a")), tcp(1024, 65535, pair("sg-b"))),
    authorize("op-3", "sg-b", {"IpProtocol": "-1", **pair("sg-a")}, {"IpProtocol": "-1", **pair("sg-b")}, egress=True),
)
CLUSTER_GROUP = plan(
    create_group(),
    authorize("op-2", {"Ref": "op-1"}, {"IpProtocol": "-1", **pair({"Ref": "op-1"})}),
    authorize("op-3", {"Ref": "op-1"}, {"IpProtocol": "-1", **pair({"Ref": "op-1"})}, egress=True),
    set_groups("op-4", "eni-a", ["sg-a"], ["sg-a", {"Ref": "op-1"}]),
    set_groups("op-5", "eni-b", ["sg-b", "sg-a"], ["sg-b", "sg-a", {"Ref": "op-1"}]),
    set_groups("op-6", "eni-c", ["sg-b"], ["sg-b", {"Ref": "op-1"}]),
)
CLOSED_GROUP = plan(
    create_group(),
    operation(
        "op-2",
        "RevokeSecurityGroupEgress",
        {
            "GroupId": {"Ref": "op-1"},
            "IpPermissions": [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}],
        },
    ),
    authorize("op-3", {"Ref": "op-1"}, {"IpProtocol": "-1", **pair({"Ref": "op-1"})}, egress=True),
    set_groups("op-4", "eni-c", ["sg-b"], ["sg-b", {"Ref": "op-1"}]),
)
ENTRIES = plan(
    create_entry("op-1", 90),
    create_entry("op-2", 91, CidrBlock="10.0.0.0/24"),
    create_entry("op-3", 100, egress=True),
    create_entry("op-4", 101, egress=True, Protocol="1", IcmpTypeCode={"Type": -1, "Code": -1}, PortRange={}),
)
PREFIX_LIST = plan(
    operation(
        "op-1",
        "CreateManagedPrefixList",
        {
            "PrefixListName": "train-members",
            "AddressFamily": "IPv4",
            "MaxEntries": 2,
            "Entries": [{"Cidr": "10.0.0.5/32"}, {"Cidr": "10.0.1.5/32"}],
            "TagSpecifications": tagged("prefix-list"),
        },
        Call("DeleteManagedPrefixList", {"PrefixListId": {"Ref": "op-1"}}),
    ),
    authorize("op-2", "sg-a", tcp(0, 65535, {"PrefixListIds": [{"PrefixListId": {"Ref": "op-1"}}]})),
)
TIGHTEN = plan(
    authorize("op-1", "sg-b", tcp(22, 22, {"IpRanges": [{"CidrIp": "10.0.0.0/8", "Description": ABOUT}]})),
    operation(
        "op-2",
        "RevokeSecurityGroupIngress",
        {"GroupId": "sg-b", "IpPermissions": [tcp(22, 22, {"IpRanges": [{"CidrIp": "0.0.0.0/0"}]})]},
    ),
    operation(
        "op-3",
        "ReplaceNetworkAclEntry",
        {
            "NetworkAclId": "acl-1",
            "RuleNumber": 100,
            "Egress": False,
            "Protocol": "6",
            "RuleAction": "deny",
            "CidrBlock": "192.0.2.0/24",
            "PortRange": {"From": 1024, "To": 65535},
        },
    ),
    operation("op-4", "DeleteNetworkAclEntry", {"NetworkAclId": "acl-1", "RuleNumber": 200, "Egress": False}),
)
PLANS = {
    "peers": PEERS,
    "cluster-group": CLUSTER_GROUP,
    "closed-group": CLOSED_GROUP,
    "acl-entries": ENTRIES,
    "prefix-list": PREFIX_LIST,
    "tighten": TIGHTEN,
}
