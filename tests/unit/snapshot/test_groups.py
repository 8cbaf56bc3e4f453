"""Security groups: every row of EC2's answer becomes one permission a peer, or an error."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.model import Cidr, GroupPeer, Peer, Permission, PrefixListPeer, SecurityGroup
from sgaudit.ports import ALL, PortSet
from sgaudit.snapshot import parse
from tests.unit.snapshot.documents import OWNER, Raw, error_of, everything, group

ANYWHERE = Cidr.parse("0.0.0.0/0")


def permissions(document: Raw) -> tuple[Permission, ...]:
    """Give the ingress permissions of `sg-1`."""
    groups = parse(document).security_groups
    assert groups is not None
    return groups["sg-1"].ingress


def row(protocol: Any = "tcp", low: Any = 22, high: Any = 22, **peers: Any) -> Raw:
    """Give one row for everybody, or for the peers given; a field of None is left out."""
    item = {
        "IpProtocol": protocol,
        "FromPort": low,
        "ToPort": high,
        **(peers or {"IpRanges": [{"CidrIp": "0.0.0.0/0"}]}),
    }
    return {key: value for key, value in item.items() if value is not None}


def test_a_whole_group() -> None:
    """Every field of a group is read, every peer makes a permission, and rule ids find theirs."""
    ssh = PortSet.single(22)

    assert parse(everything()).security_groups == {
        "sg-1": SecurityGroup(
            group_id="sg-1",
            name="nodes",
            vpc_id="vpc-1",
            owner_id=OWNER,
            description="the nodes",
            ingress=(
                Permission("tcp", ssh, Cidr.parse("10.0.0.0/16"), "inside", 22, 22, "sgr-1"),
                Permission("tcp", ssh, Cidr.parse("2001:db8:1::/56"), "", 22, 22),
                Permission("tcp", ssh, PrefixListPeer("pl-1"), "offices", 22, 22),
                Permission("tcp", ssh, GroupPeer("sg-1", OWNER), "", 22, 22),
                Permission(
                    "tcp",
                    ssh,
                    GroupPeer("sg-9", "444455556666", "vpc-2", "pcx-1", "active"),
                    "",
                    22,
                    22,
                    "sgr-2",
                ),
                Permission("icmp", PortSet.single(3 * 256 + 4), ANYWHERE, "", 3, 4),
            ),
            egress=(Permission("-1", ALL, ANYWHERE, "", None, None, "sgr-3"),),
            tags={"team": "ml"},
        )
    }


def test_the_least_group() -> None:
    """A group needs its id and VPC; absent rows are none."""
    document = {"SecurityGroups": [{"GroupId": "sg-1", "VpcId": "vpc-1"}]}

    assert parse(document).security_groups == {"sg-1": SecurityGroup("sg-1", "", "vpc-1", "", "", (), ())}


PROTOCOLS: list[tuple[Any, Any, Any, str, PortSet]] = [
    ("tcp", 22, 22, "tcp", PortSet.single(22)),
    ("TCP", 0, 65535, "tcp", ALL),
    ("6", 1024, 65535, "tcp", PortSet.single(1024, 65535)),
    (6, 0, 0, "tcp", PortSet.single(0)),
    ("udp", 53, 53, "udp", PortSet.single(53)),
    ("17", 53, 54, "udp", PortSet.single(53, 54)),
    ("-1", None, None, "-1", ALL),
    (-1, -1, -1, "-1", ALL),
    ("-1", 0, 65535, "-1", ALL),
    ("-1", 22, 22, "-1", ALL),
    ("all", 0, 0, "-1", ALL),
    ("50", None, None, "50", ALL),
    ("47", 22, 22, "47", ALL),
    ("006", 22, 22, "tcp", PortSet.single(22)),
    (0, None, None, "0", ALL),
    (255, None, None, "255", ALL),
    ("icmp", 8, 0, "icmp", PortSet.single(8 * 256)),
    ("1", 8, -1, "icmp", PortSet.single(8 * 256, 8 * 256 + 255)),
    (1, 3, 4, "icmp", PortSet.single(3 * 256 + 4)),
    ("icmp", 255, 255, "icmp", PortSet.single(65535)),
    ("icmp", 8, None, "icmp", PortSet.single(8 * 256, 8 * 256 + 255)),
    ("icmp", -1, -1, "icmp", ALL),
    ("icmp", None, None, "icmp", ALL),
    ("icmpv6", None, None, "icmpv6", ALL),
    ("58", -1, -1, "icmpv6", ALL),
    ("icmpv6", 128, 0, "icmpv6", PortSet.single(128 * 256)),
]


@pytest.mark.parametrize(("protocol", "low", "high", "name", "ports"), PROTOCOLS)
def test_protocols_and_ports(protocol: Any, low: Any, high: Any, name: str, ports: PortSet) -> None:
    """Names and numbers are one; ports count for tcp and udp, type and code for ICMP, nothing for others."""
    assert permissions(group(row(protocol, low, high))) == (Permission(name, ports, ANYWHERE, "", low, high),)


PEERS: list[tuple[Raw, list[tuple[Peer, str]]]] = [
    ({"IpRanges": []}, []),
    ({"IpRanges": [{"CidrIp": "100.68.0.18/18"}]}, [(Cidr.parse("100.68.0.0/18"), "")]),
    (
        {"IpRanges": [{"CidrIp": "10.0.0.1/32", "Description": "one"}, {"CidrIp": "10.0.0.2/32"}]},
        [(Cidr.parse("10.0.0.1/32"), "one"), (Cidr.parse("10.0.0.2/32"), "")],
    ),
    ({"IpRanges": [{"CidrIp": "10.0.0.0/8"}] * 2}, [(Cidr.parse("10.0.0.0/8"), "")] * 2),
    ({"Ipv6Ranges": [{"CidrIpv6": "2001:DB8::1/64"}]}, [(Cidr.parse("2001:db8::/64"), "")]),
    (
        {"PrefixListIds": [{"PrefixListId": "pl-1"}, {"PrefixListId": "pl-2", "Description": "b"}]},
        [(PrefixListPeer("pl-1"), ""), (PrefixListPeer("pl-2"), "b")],
    ),
    (
        {"UserIdGroupPairs": [{"GroupId": "sg-1"}, {"GroupId": "sg-2", "Description": "b"}]},
        [(GroupPeer("sg-1"), ""), (GroupPeer("sg-2"), "b")],
    ),
    ({"UserIdGroupPairs": [{"GroupName": "nodes"}]}, [(GroupPeer("sg-1"), "")]),
    ({"UserIdGroupPairs": [{"GroupName": "nodes", "VpcId": "vpc-2"}]}, [(GroupPeer("sg-2", vpc_id="vpc-2"), "")]),
    ({"UserIdGroupPairs": [{"GroupName": "gone", "UserId": OWNER}]}, [(GroupPeer("gone", OWNER), "")]),
    ({"UserIdGroupPairs": [{"GroupId": "sg-7", "GroupName": "nodes"}]}, [(GroupPeer("sg-7"), "")]),
    (
        {
            "UserIdGroupPairs": [{"GroupId": "sg-1"}],
            "IpRanges": [{"CidrIp": "10.0.0.0/8"}],
            "PrefixListIds": None,
        },
        [(Cidr.parse("10.0.0.0/8"), ""), (GroupPeer("sg-1"), "")],
    ),
]


@pytest.mark.parametrize(("peers", "expected"), PEERS)
def test_peers(peers: Raw, expected: list[tuple[Peer, str]]) -> None:
    """Any number of peers of each kind counts, duplicates too; a row without a peer admits nobody."""
    document = group(row(**peers))
    document["SecurityGroups"].append({"GroupId": "sg-2", "GroupName": "nodes", "VpcId": "vpc-2"})

    assert [(one.peer, one.description) for one in permissions(document)] == expected


def test_rule_ids_of_rows_that_differ_in_the_description() -> None:
    """Each gets the id of its own description; without one, ids are given in order, and never twice."""
    rule = {"GroupId": "sg-1", "IsEgress": False, "IpProtocol": "-1", "ReferencedGroupInfo": {"GroupId": "sg-2"}}
    document = group(
        row("-1", None, None, UserIdGroupPairs=[{"GroupId": "sg-2", "Description": text} for text in "cbad"])
    )
    document["SecurityGroupRules"] = [
        {**rule, "SecurityGroupRuleId": "sgr-a", "Description": "a"},
        {**rule, "SecurityGroupRuleId": "sgr-b", "Description": "b"},
        {**rule, "SecurityGroupRuleId": "sgr-x"},
        {**rule, "SecurityGroupRuleId": "sgr-x"},
        {**rule, "SecurityGroupRuleId": "sgr-e", "IsEgress": True},
    ]

    assert [(one.description, one.rule_id) for one in permissions(document)] == [
        ("c", "sgr-x"),
        ("b", "sgr-b"),
        ("a", "sgr-a"),
        ("d", ""),
    ]


@pytest.mark.parametrize(
    ("rule", "peers"),
    [
        ({"CidrIpv4": "10.0.0.9/8"}, {"IpRanges": [{"CidrIp": "10.0.0.0/8"}]}),
        ({"CidrIpv6": "2001:db8::/64"}, {"Ipv6Ranges": [{"CidrIpv6": "2001:db8::/64"}]}),
        ({"PrefixListId": "pl-1"}, {"PrefixListIds": [{"PrefixListId": "pl-1"}]}),
        ({"ReferencedGroupInfo": {"GroupId": "sg-2"}}, {"UserIdGroupPairs": [{"GroupId": "sg-2", "UserId": OWNER}]}),
    ],
)
def test_rule_ids_by_peer(rule: Raw, peers: Raw) -> None:
    """A rule finds its permission by direction, protocol, ports and a peer of any kind."""
    document = group(row(**peers), row(low=23, high=23, **peers))
    document["SecurityGroupRules"] = [
        {
            "SecurityGroupRuleId": "sgr-1",
            "GroupId": "sg-1",
            "IsEgress": False,
            "IpProtocol": "6",
            "FromPort": 22,
            "ToPort": 22,
            **rule,
        }
    ]

    assert [one.rule_id for one in permissions(document)] == ["sgr-1", ""]


ROW = "net.json: SecurityGroups[0].IpPermissions[1]"
PROTOCOL_KINDS = "expected tcp, udp, icmp, icmpv6, -1 or a protocol number up to 255"
ERRORS: list[tuple[Raw, str]] = [
    (row(low="abc"), 'FromPort: expected a whole number, got "abc"'),
    (row(low=22.0), "FromPort: expected a whole number, got 22.0"),
    (row(high=True), "ToPort: expected a whole number, got true"),
    (row("-1", low=[]), "FromPort: expected a whole number, got a list"),
    (row(low=None), "FromPort: missing: EC2 requires FromPort and ToPort for tcp"),
    (row("udp", high=None), "ToPort: missing: EC2 requires FromPort and ToPort for udp"),
    (row(low=None, high=None), "FromPort: missing: EC2 requires FromPort and ToPort for tcp"),
    (row(low=-1, high=-1), "FromPort: expected a port from 0 to 65535, got -1"),
    (row(low=0, high=70000), "ToPort: expected a port from 0 to 65535, got 70000"),
    (row(low=30, high=20), "ToPort: expected a port not below FromPort 30, got 20"),
    (row("icmp", -1, 4), "ToPort: ICMP code 4 without a type"),
    (row("icmp", None, 0), "ToPort: ICMP code 0 without a type"),
    (row("icmp", 256, -1), "FromPort: expected an ICMP type from 0 to 255, or -1, got 256"),
    (row("58", 1, -2), "ToPort: expected an ICMP code from 0 to 255, or -1, got -2"),
    (row(None), "IpProtocol: missing"),
    (row("foo"), f'IpProtocol: {PROTOCOL_KINDS}, got "foo"'),
    (row("256"), f'IpProtocol: {PROTOCOL_KINDS}, got "256"'),
    (row(256), f"IpProtocol: {PROTOCOL_KINDS}, got 256"),
    (row("-2"), f'IpProtocol: {PROTOCOL_KINDS}, got "-2"'),
    (row("\u0666"), f'IpProtocol: {PROTOCOL_KINDS}, got "\\u0666"'),
    (row(True), f"IpProtocol: {PROTOCOL_KINDS}, got true"),
    (row(["tcp"]), f"IpProtocol: {PROTOCOL_KINDS}, got a list"),
    (row(IpRanges={}), "IpRanges: expected a list, got an object"),
    (row(IpRanges=["10.0.0.0/8"]), 'IpRanges[0]: expected an object, got "10.0.0.0/8"'),
    (row(IpRanges=[{}]), "IpRanges[0].CidrIp: missing"),
    (
        row(IpRanges=[{"CidrIp": "0.0.0.0/0"}, {"CidrIp": "::/0"}]),
        'IpRanges[1].CidrIp: expected an IPv4 CIDR block such as 10.0.0.0/8, got "::/0"',
    ),
    (
        row(IpRanges=[{"CidrIp": "10.0.0.1"}]),
        'IpRanges[0].CidrIp: expected an IPv4 CIDR block such as 10.0.0.0/8, got "10.0.0.1"',
    ),
    (
        row(IpRanges=[{"CidrIp": "10.0.0.0/255.0.0.0"}]),
        'IpRanges[0].CidrIp: expected an IPv4 CIDR block such as 10.0.0.0/8, got "10.0.0.0/255.0.0.0"',
    ),
    (
        row(IpRanges=[{"CidrIp": "10.0.0.0/33"}]),
        'IpRanges[0].CidrIp: expected an IPv4 CIDR block such as 10.0.0.0/8, got "10.0.0.0/33"',
    ),
    (row(IpRanges=[{"CidrIp": 10}]), "IpRanges[0].CidrIp: expected text, got 10"),
    (
        row(Ipv6Ranges=[{"CidrIpv6": "0.0.0.0/0"}]),
        'Ipv6Ranges[0].CidrIpv6: expected an IPv6 CIDR block such as 2001:db8::/32, got "0.0.0.0/0"',
    ),
    (
        row(Ipv6Ranges=[{"CidrIpv6": "fe80::%1/64"}]),
        'Ipv6Ranges[0].CidrIpv6: expected an IPv6 CIDR block such as 2001:db8::/32, got "fe80::%1/64"',
    ),
    (row(PrefixListIds=[{}]), "PrefixListIds[0].PrefixListId: missing"),
    (row(UserIdGroupPairs=[{"UserId": OWNER}]), "UserIdGroupPairs[0].GroupId: missing"),
    (row(UserIdGroupPairs=[{"GroupId": "sg-1", "UserId": 1}]), "UserIdGroupPairs[0].UserId: expected text, got 1"),
]


@pytest.mark.parametrize(("wrong", "message"), ERRORS)
def test_errors_of_rows(wrong: Raw, message: str) -> None:
    """A row that can't be read is refused with its path and value: it might have admitted anything."""
    assert error_of(group(row(), wrong)) == f"{ROW}.{message}"


def test_errors_of_egress_rows() -> None:
    """The path tells ingress from egress."""
    assert error_of(group(egress=(row("tcp", 1, None),))) == (
        "net.json: SecurityGroups[0].IpPermissionsEgress[0].ToPort: missing: EC2 requires FromPort and ToPort for tcp"
    )


GROUP_ERRORS: list[tuple[Any, str]] = [
    ({"SecurityGroups": {"sg-1": {}}}, "SecurityGroups: expected a list, got an object"),
    ({"SecurityGroups": [{"VpcId": "vpc-1"}]}, "SecurityGroups[0].GroupId: missing"),
    ({"SecurityGroups": [{"GroupId": "sg-1"}]}, "SecurityGroups[0].VpcId: missing"),
    (group(IpPermissions={}), "SecurityGroups[0].IpPermissions: expected a list, got an object"),
    (group(Tags=[{"Key": "a", "Value": 1}]), "SecurityGroups[0].Tags[0].Value: expected text, got 1"),
    (group(GroupName=["\x1b"]), "SecurityGroups[0].GroupName: expected text, got a list"),
    (
        {"SecurityGroups": [*group()["SecurityGroups"], *group(row())["SecurityGroups"]]},
        "SecurityGroups[1]: sg-1 is described twice, and differently at net.json: SecurityGroups[0]",
    ),
    ({**group(), "SecurityGroupRules": [{"GroupId": "sg-1"}]}, "SecurityGroupRules[0].IpProtocol: missing"),
    (
        {**group(), "SecurityGroupRules": [{"GroupId": "sg-1", "IpProtocol": "-1"}]},
        "SecurityGroupRules[0].ReferencedGroupInfo.GroupId: missing",
    ),
    (
        {
            **group(),
            "SecurityGroupRules": [{"GroupId": "sg-1", "IpProtocol": "-1", "PrefixListId": "pl-1", "IsEgress": 0}],
        },
        "SecurityGroupRules[0].IsEgress: expected true or false, got 0",
    ),
]


@pytest.mark.parametrize(("document", "message"), GROUP_ERRORS)
def test_errors_of_groups(document: Any, message: str) -> None:
    """A group or rule that can't be read is refused with its path and value."""
    assert error_of(document) == f"net.json: {message}"


def test_the_same_group_twice_counts_once() -> None:
    """A group that two answers have in common is one."""
    document = group(row())
    document["SecurityGroups"] *= 2

    assert len(permissions(document)) == 1
