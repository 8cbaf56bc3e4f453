"""Requests are written as boto3 takes them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgaudit.fix import requests
from sgaudit.fix.plan import Call
from sgaudit.model import Cidr, GroupPeer, Peer, Permission, PrefixListPeer
from sgaudit.ports import ALL, PortSet

PORTS = PortSet.parse("22,1024-2000")


@pytest.mark.parametrize(
    ("protocol", "ports", "spans"),
    [
        ("tcp", PORTS, [("tcp", 22, 22), ("tcp", 1024, 2000)]),
        ("udp", ALL, [("udp", 0, 65535)]),
        ("icmp", ALL, [("icmp", -1, -1)]),
        ("icmp", PortSet.single(8 * 256, 8 * 256 + 255), [("icmp", 8, -1)]),
        ("icmpv6", PortSet.single(128 * 256 + 4), [("icmpv6", 128, 4)]),
        ("all", ALL, [("-1", None, None)]),
        ("efa", ALL, [("-1", None, None)]),
        ("50", ALL, [("50", None, None)]),
    ],
)
def test_a_row_for_each_range(protocol: str, ports: PortSet, spans: list[tuple[str, Any, Any]]) -> None:
    """Ports for TCP and UDP, type and code for ICMP, nothing for what has neither."""
    rows = requests.rows(protocol, ports, [Cidr.parse("10.0.0.0/8")], "x")

    assert spans == [(row["IpProtocol"], row.get("FromPort"), row.get("ToPort")) for row in rows]
    assert [[{"CidrIp": "10.0.0.0/8", "Description": "x"}]] * len(rows) == [row["IpRanges"] for row in rows]


@pytest.mark.parametrize(
    ("peer", "key", "item"),
    [
        (Cidr.parse("10.0.0.0/8"), "IpRanges", {"CidrIp": "10.0.0.0/8"}),
        (Cidr.parse("2001:db8::/32"), "Ipv6Ranges", {"CidrIpv6": "2001:db8::/32"}),
        (PrefixListPeer("pl-1"), "PrefixListIds", {"PrefixListId": "pl-1"}),
        (GroupPeer("sg-b"), "UserIdGroupPairs", {"GroupId": "sg-b"}),
        (
            GroupPeer("sg-b", "1234", "vpc-2", "pcx-1"),
            "UserIdGroupPairs",
            {"GroupId": "sg-b", "UserId": "1234", "VpcId": "vpc-2", "VpcPeeringConnectionId": "pcx-1"},
        ),
    ],
)
def test_each_kind_of_peer_has_its_list(peer: Peer, key: str, item: dict[str, str]) -> None:
    """A peer is in the list of its kind, and nothing else is in the row."""
    assert [{"IpProtocol": "-1", key: [{**item, "Description": "x"}]}] == requests.rows("all", ALL, [peer], "x")


@given(st.sets(st.integers(0, 2000)) | st.just({*range(256 * 5)}))
def test_icmp_messages_cover_what_is_meant(points: set[int]) -> None:
    """Types and codes give back just the messages that they were made of."""
    found = requests.icmp_messages(PortSet.of((point, point) for point in points))
    covered = {kind * 256 + code for kind, one in found for code in (range(256) if one == -1 else (one,))}

    assert points == covered
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("train: a-b_c (1/2) #3", "train: a-b_c (1/2) #3"),
        ("a&b<c>'d\"é\n", "a_b_c__d___"),
        ("x" * 300, "x" * 255),
        ("${x} %{y} `z`", "${x} _{y} _z_"),
    ],
)
def test_descriptions_hold_what_ec2_allows(text: str, expected: str) -> None:
    """Other characters become underscores, and the text is cut."""
    assert expected == requests.description(text)


def test_an_authorize_call_and_its_undo() -> None:
    """The undo names the same rows, without tags."""
    rows = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}]
    tags = {"k": "v"}
    specification = {"ResourceType": "security-group-rule", "Tags": [{"Key": "k", "Value": "v"}]}

    assert (
        Call(
            "AuthorizeSecurityGroupEgress",
            {"GroupId": "sg-a", "IpPermissions": rows, "TagSpecifications": [specification]},
        ),
        Call("RevokeSecurityGroupEgress", {"GroupId": "sg-a", "IpPermissions": rows}),
    ) == requests.authorize("sg-a", rows, egress=True, tags=tags)


@pytest.mark.parametrize(
    ("protocol", "span", "more"),
    [
        ("tcp", (1, 2), {"Protocol": "6", "PortRange": {"From": 1, "To": 2}}),
        ("udp", (1, 2), {"Protocol": "17", "PortRange": {"From": 1, "To": 2}}),
        ("icmp", (8, -1), {"Protocol": "1", "IcmpTypeCode": {"Type": 8, "Code": -1}}),
        ("icmpv6", (-1, -1), {"Protocol": "58", "IcmpTypeCode": {"Type": -1, "Code": -1}}),
        ("all", None, {"Protocol": "-1"}),
        ("50", None, {"Protocol": "50"}),
    ],
)
def test_acl_entries_name_protocols_by_number(protocol: str, span: Any, more: dict[str, Any]) -> None:
    """EC2 takes numbers there; ports and messages each have a key of their own."""
    cidr = Cidr.parse("2001:db8::/64" if protocol == "icmpv6" else "10.0.0.0/24")
    block = {"Ipv6CidrBlock": str(cidr)} if protocol == "icmpv6" else {"CidrBlock": str(cidr)}
    call, undo = requests.acl_entry("acl-1", 7, egress=True, protocol=protocol, span=span, cidr=cidr)

    assert Call(
        "CreateNetworkAclEntry",
        {"NetworkAclId": "acl-1", "RuleNumber": 7, "Egress": True, "RuleAction": "allow", **more, **block},
    ) == Call(call.api, dict(call.params))
    assert Call("DeleteNetworkAclEntry", {"NetworkAclId": "acl-1", "RuleNumber": 7, "Egress": True}) == undo


@pytest.mark.parametrize(
    ("permission", "bare", "described"),
    [
        (
            Permission("tcp", PortSet.single(22), Cidr.parse("0.0.0.0/0"), "old", 22, 22),
            {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]},
            {"IpRanges": [{"CidrIp": "0.0.0.0/0", "Description": "old"}]},
        ),
        (
            Permission("-1", ALL, GroupPeer("sg-b", "1234"), "", 0, 65535),
            {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": "sg-b", "UserId": "1234"}]},
            {},
        ),
        (
            Permission("icmp", ALL, PrefixListPeer("pl-1"), "", -1, -1),
            {"IpProtocol": "icmp", "FromPort": -1, "ToPort": -1, "PrefixListIds": [{"PrefixListId": "pl-1"}]},
            {},
        ),
    ],
)
def test_a_permission_is_written_as_it_was_read(
    permission: Permission, bare: dict[str, Any], described: dict[str, Any]
) -> None:
    """What revokes it names its exact properties; what restores it has its description too."""
    assert bare == requests.row(permission, described=False)
    assert {**bare, **described} == requests.row(permission, described=True)
