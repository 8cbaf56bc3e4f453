"""The fake EC2 is an account: it gives back what it was made of, and refuses what AWS refuses."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.errors import CallError, Failure
from sgaudit.snapshot import parse
from tests.builders import group, node, peering, snapshot
from tests.fake_ec2 import FakeEc2
from tests.unit.fix.plans import document, fake, pair, tcp

Raw = dict[str, Any]
SSH = tcp(22, 22, {"IpRanges": [{"CidrIp": "10.9.9.9/8", "Description": "other"}]})
ONE = tcp(1, 1, {"IpRanges": [{"CidrIp": "10.0.0.0/8"}]})


def authorize(ec2: FakeEc2, group_id: str, *rows: Raw, **more: Any) -> None:
    ec2.change("AuthorizeSecurityGroupIngress", {"GroupId": group_id, "IpPermissions": list(rows), **more})


def code_of(ec2: FakeEc2, api: str, params: Raw) -> str:
    before = ec2.permissions()
    with pytest.raises(CallError) as caught:
        ec2.change(api, params)
    assert ec2.permissions() == before
    assert ec2.log == []
    return caught.value.code


def test_round() -> None:
    """A document that was made of an account and read again gives the same account."""
    first = parse(document())
    second = parse(fake().document())

    assert first.interfaces == second.interfaces
    assert first.security_groups is not None
    assert second.security_groups is not None
    for name, one in first.security_groups.items():
        other = second.security_groups[name]
        assert {(p.protocol, p.ports, str(p.peer)) for p in one.ingress} == {
            (p.protocol, p.ports, str(p.peer)) for p in other.ingress
        }
        assert {(p.protocol, p.ports, str(p.peer)) for p in one.egress} == {
            (p.protocol, p.ports, str(p.peer)) for p in other.egress
        }


@pytest.mark.parametrize(
    ("protocol", "low", "high", "kept"),
    [
        ("6", 1, 2, "tcp 1-2"),
        ("tcp", None, None, "InvalidParameterValue"),
        ("tcp", 2, 1, "InvalidParameterValue"),
        ("tcp", -1, -1, "InvalidParameterValue"),
        ("udp", 0, 65536, "InvalidParameterValue"),
        ("icmp", None, None, "MissingParameter"),
        ("icmp", 8, -1, "icmp 8--1"),
        ("icmp", 300, 0, "InvalidParameterValue"),
        ("icmpv6", None, None, "icmpv6 -1--1"),
        ("-1", 1, 2, "-1 -1--1"),
        ("50", 1, 2, "50 -1--1"),
        ("foo", 1, 2, "InvalidParameterValue"),
        ("256", 1, 2, "InvalidParameterValue"),
    ],
)
def test_protocols(protocol: str, low: int | None, high: int | None, kept: str) -> None:
    """Protocols and ports are checked, and kept as AWS keeps them."""
    ec2 = fake()
    ports = {} if low is None else {"FromPort": low, "ToPort": high}
    request = {"GroupId": "sg-a", "IpPermissions": [{"IpProtocol": protocol, **ports, **pair("sg-a")}]}

    if kept.endswith(("Value", "Parameter")):
        assert code_of(ec2, "AuthorizeSecurityGroupIngress", request) == kept
    else:
        answer = ec2.change("AuthorizeSecurityGroupIngress", request)
        (rule,) = answer["SecurityGroupRules"]
        assert f"{rule['IpProtocol']} {rule['FromPort']}-{rule['ToPort']}" == kept


@pytest.mark.parametrize(
    ("rows", "more", "code"),
    [
        ([], {}, "MissingParameter"),
        ([{"IpProtocol": "-1"}], {}, "MissingParameter"),
        ([ONE, ONE], {}, "InvalidParameterValue"),
        ([tcp(1, 1, {"IpRanges": [{"CidrIp": "::/0"}]})], {}, "InvalidParameterValue"),
        ([tcp(1, 1, {"Ipv6Ranges": [{"CidrIpv6": "10.0.0.0/8"}]})], {}, "InvalidParameterValue"),
        ([tcp(1, 1, pair("sg-none"))], {}, "InvalidGroup.NotFound"),
        ([tcp(1, 1, pair("x"))], {}, "InvalidGroupId.Malformed"),
        (
            [tcp(22, 22, {"IpRanges": [{"CidrIp": "10.9.9.9/8", "Description": "other"}]})],
            {},
            "InvalidPermission.Duplicate",
        ),
        ([ONE], {"TagSpecifications": [{"ResourceType": "security-group", "Tags": []}]}, "InvalidParameterValue"),
        (
            [ONE],
            {"TagSpecifications": [{"ResourceType": "security-group-rule", "Tags": [{"Key": "aws:x", "Value": ""}]}]},
            "InvalidParameterValue",
        ),
        (
            [ONE],
            {
                "TagSpecifications": [
                    {"ResourceType": "security-group-rule", "Tags": [{"Key": f"k{n}", "Value": ""} for n in range(51)]}
                ]
            },
            "TagLimitExceeded",
        ),
    ],
)
def test_bad_permissions(rows: list[Raw], more: Raw, code: str) -> None:
    """A request with anything wrong is refused whole."""
    request = {"GroupId": "sg-a", "IpPermissions": rows, **more}

    assert code_of(fake(), "AuthorizeSecurityGroupIngress", request) == code


def test_quota_by_direction_and_family() -> None:
    """Blocks count for their family, groups for both, and each direction for itself."""
    ec2 = fake(rules_quota=3)
    authorize(ec2, "sg-a", *(tcp(n, n, {"IpRanges": [{"CidrIp": "10.0.0.0/8"}]}) for n in (1, 2)))
    authorize(ec2, "sg-a", *(tcp(n, n, {"Ipv6Ranges": [{"CidrIpv6": "::/0"}]}) for n in (1, 2, 3)))
    ec2.log.clear()

    full = {"GroupId": "sg-a", "IpPermissions": [tcp(9, 9, pair("sg-a"))]}

    assert code_of(ec2, "AuthorizeSecurityGroupIngress", full) == "RulesPerSecurityGroupLimitExceeded"
    ec2.change("AuthorizeSecurityGroupEgress", full)


def test_a_prefix_list_weighs_its_size() -> None:
    """A prefix list counts with as many permissions as it has room for."""
    ec2 = fake(rules_quota=4)
    request = {"PrefixListName": "l", "AddressFamily": "IPv4", "MaxEntries": 4}
    prefix_list = ec2.change("CreateManagedPrefixList", request)["PrefixList"]["PrefixListId"]
    ec2.log.clear()

    row = {"GroupId": "sg-a", "IpPermissions": [tcp(1, 1, {"PrefixListIds": [{"PrefixListId": prefix_list}]})]}

    assert code_of(ec2, "AuthorizeSecurityGroupIngress", row) == "RulesPerSecurityGroupLimitExceeded"


@pytest.mark.parametrize(
    ("status", "code"), [("active", ""), ("deleted", "InvalidGroup.NotFound"), ("", "InvalidGroup.NotFound")]
)
def test_peers_in_another_vpc(status: str, code: str) -> None:
    """A group of another VPC is a peer only over an active peering connection."""
    peerings = [peering("pcx-1", "vpc-1", "vpc-2", status=status)] if status else []
    raw = snapshot([node("a", "10.0.0.5")], [group(), group("sg-far", vpc="vpc-2")], VpcPeeringConnections=peerings)
    request = {"GroupId": "sg-a", "IpPermissions": [tcp(1, 1, pair("sg-far"))]}
    ec2 = FakeEc2(raw)

    if code:
        assert code_of(ec2, "AuthorizeSecurityGroupIngress", request) == code
    else:
        assert ec2.change("AuthorizeSecurityGroupIngress", request)["Return"] is True


@pytest.mark.parametrize(
    ("groups", "code"),
    [
        ([], "InvalidParameterValue"),
        (["sg-a", "sg-a"], "InvalidParameterValue"),
        (["sg-none"], "InvalidGroup.NotFound"),
        (["sg-far"], "InvalidGroup.NotFound"),
        (["sg-a", "sg-b", "sg-c"], "SecurityGroupsPerInterfaceLimitExceeded"),
    ],
)
def test_bad_groups(groups: list[str], code: str) -> None:
    """An interface carries one to so many different groups of its VPC."""
    raw = document()
    raw["SecurityGroups"] += [group("sg-c"), group("sg-far", vpc="vpc-2")]
    request = {"NetworkInterfaceId": "eni-a", "Groups": groups}

    assert code_of(FakeEc2(raw, groups_quota=2), "ModifyNetworkInterfaceAttribute", request) == code


def test_groups_are_replaced_everywhere() -> None:
    """Instances and interfaces tell the same groups afterwards."""
    ec2 = fake()
    ec2.change("ModifyNetworkInterfaceAttribute", {"NetworkInterfaceId": "eni-a", "Groups": ["sg-b"]})

    assert parse(ec2.document()).interfaces["eni-a"].groups == ("sg-b",)


@pytest.mark.parametrize(
    ("name", "about", "vpc", "code"),
    [
        ("sg-x", "a", "vpc-1", "InvalidParameterValue"),
        ("", "a", "vpc-1", "InvalidParameterValue"),
        ("x" * 256, "a", "vpc-1", "InvalidParameterValue"),
        ("x", "", "vpc-1", "InvalidParameterValue"),
        ("x", "é", "vpc-1", "InvalidParameterValue"),
        ("x", "a", "vpc-9", "InvalidVpcID.NotFound"),
        ("SG-B", "a", "vpc-2", ""),
        ("Named", "a", "vpc-1", "InvalidGroup.Duplicate"),
    ],
)
def test_names(name: str, about: str, vpc: str, code: str) -> None:
    """Names of groups are checked, and differ within a VPC by more than capitals."""
    raw = document()
    raw["SecurityGroups"].append(group("sg-n", name="named"))
    request = {"GroupName": name, "Description": about, "VpcId": vpc}
    ec2 = FakeEc2(raw)

    if code:
        assert code_of(ec2, "CreateSecurityGroup", request) == code
    else:
        assert ec2.change("CreateSecurityGroup", request)["GroupId"] in ec2.groups


def test_the_default_group_stays() -> None:
    """The default group of a VPC can't be deleted."""
    raw = snapshot([node("a", "10.0.0.5")], [group(), group("sg-d", name="default")])

    assert code_of(FakeEc2(raw), "DeleteSecurityGroup", {"GroupId": "sg-d"}) == "CannotDelete"


ENTRY: Raw = {
    "NetworkAclId": "acl-1",
    "RuleNumber": 90,
    "Egress": False,
    "Protocol": "6",
    "RuleAction": "allow",
    "CidrBlock": "10.0.0.0/8",
    "PortRange": {"From": 1, "To": 2},
}


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"RuleNumber": 0}, "InvalidParameterValue"),
        ({"RuleNumber": 32767}, "InvalidParameterValue"),
        ({"RuleNumber": 100}, "NetworkAclEntryAlreadyExists"),
        ({"Protocol": "tcp"}, "InvalidParameterValue"),
        ({"Protocol": "300"}, "InvalidParameterValue"),
        ({"PortRange": {}}, "InvalidParameterValue"),
        ({"Protocol": "1"}, "MissingParameter"),
        ({"CidrBlock": "banana"}, "InvalidParameterValue"),
        ({"Ipv6CidrBlock": "::/0"}, "InvalidParameterCombination"),
        ({"NetworkAclId": "acl-9"}, "InvalidNetworkAclID.NotFound"),
    ],
)
def test_bad_entries(more: Raw, code: str) -> None:
    """Entries of network ACLs are checked."""
    assert code_of(fake(), "CreateNetworkAclEntry", {**ENTRY, **more}) == code


def test_entries_are_counted() -> None:
    """The last entry, which denies, counts; directions count for themselves."""
    ec2 = fake(entries_quota=3)

    assert code_of(ec2, "CreateNetworkAclEntry", ENTRY) == "NetworkAclEntryLimitExceeded"
    ec2.change("CreateNetworkAclEntry", {**ENTRY, "Egress": True})


def test_denied() -> None:
    """What is denied is denied, read or changed."""
    ec2 = fake(denied=["DescribeSecurityGroups", "CreateSecurityGroup"])

    with pytest.raises(CallError) as caught:
        ec2.read("DescribeSecurityGroups", {})
    assert caught.value.failure is Failure.DENIED
    assert code_of(ec2, "CreateSecurityGroup", {}) == "UnauthorizedOperation"
    assert ec2.ask("CreateSecurityGroup", {}) == "UnauthorizedOperation"


def test_tags() -> None:
    """Tags replace tags of the same key."""
    ec2 = fake()
    for value in ("1", "2"):
        ec2.change("CreateTags", {"Resources": ["sg-a"], "Tags": [{"Key": "k", "Value": value}]})

    assert ec2.groups["sg-a"]["Tags"] == [{"Key": "k", "Value": "2"}]


def test_unknown_filter() -> None:
    """A filter that AWS does not know is refused, not ignored."""
    with pytest.raises(CallError) as caught:
        fake().read("DescribeSecurityGroups", {"Filters": [{"Name": "colour", "Values": ["red"]}]})

    assert caught.value.code == "InvalidParameterValue"
