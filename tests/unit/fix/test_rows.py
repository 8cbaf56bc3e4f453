"""The same row gives the same text, whoever writes it and however."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.fix import rows
from tests.unit.fix.plans import fake, pair, tcp

Raw = dict[str, Any]
BLOCK = {"IpRanges": [{"CidrIp": "10.0.9.9/16"}]}


@pytest.mark.parametrize(
    ("permission", "text"),
    [
        (tcp(80, 81, BLOCK), "tcp:80-81 from 10.0.0.0/16"),
        ({**tcp(80, 81, BLOCK), "IpProtocol": "6"}, "tcp:80-81 from 10.0.0.0/16"),
        ({**tcp(80, 81, BLOCK), "IpProtocol": "17"}, "udp:80-81 from 10.0.0.0/16"),
        ({**tcp(8, -1, BLOCK), "IpProtocol": "1"}, "icmp:8--1 from 10.0.0.0/16"),
        ({"IpProtocol": "58", **BLOCK}, "icmpv6:-1--1 from 10.0.0.0/16"),
        ({**tcp(1, 2, BLOCK), "IpProtocol": "50"}, "50 from 10.0.0.0/16"),
        ({**tcp(1, 2, BLOCK), "IpProtocol": "-1"}, "all from 10.0.0.0/16"),
        ({"IpProtocol": "-1", "Ipv6Ranges": [{"CidrIpv6": "2001:DB8::1/64"}]}, "all from 2001:db8::/64"),
        ({"IpProtocol": "-1", "PrefixListIds": [{"PrefixListId": "pl-1"}]}, "all from pl-1"),
        ({"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": "sg-b", "UserId": "9"}]}, "all from sg-b"),
    ],
)
def test_keys(permission: Raw, text: str) -> None:
    """A request, the answer to it and the request that makes it anew are the same row."""
    ((key, alone),) = rows.split([permission])
    assert (key, next(rows.split([alone]))[0]) == (text, text)

    document = {**fake().document(), "PrefixListEntries": {"pl-1": []}}
    ec2 = type(fake())(document)
    answer = ec2.change("AuthorizeSecurityGroupIngress", {"GroupId": "sg-a", "IpPermissions": [permission]})
    (rule,) = answer["SecurityGroupRules"]
    assert rows.rule_key(rule) == text
    assert [name for name, _ in rows.split([rows.permission_of(rule)])] == [text]


def test_without() -> None:
    """What is left of a request stays together, with its descriptions; what is left without a peer goes."""
    both = {"UserIdGroupPairs": [{"GroupId": "sg-a", "Description": "x"}, {"GroupId": "sg-b"}], **BLOCK}

    left = rows.without(
        [tcp(1, 1, both), tcp(2, 2, pair("sg-a")), tcp(1, 1, BLOCK)],
        ["tcp:1-1 from sg-b", "tcp:2-2 from sg-a"],
    )

    assert left == [tcp(1, 1, {**BLOCK, "UserIdGroupPairs": [{"GroupId": "sg-a", "Description": "x"}]})]


def test_entries() -> None:
    """Entries are compared by what they say: numbers for protocols, canonical blocks, and no empty ranges."""
    given = {
        "RuleNumber": 1,
        "Egress": True,
        "RuleAction": "allow",
        "CidrBlock": "10.0.9.9/16",
        "NetworkAclId": "acl-1",
    }

    assert rows.entry({**given, "Protocol": "tcp", "PortRange": {"From": "1", "To": 2}}) == {
        "RuleNumber": 1,
        "Egress": True,
        "RuleAction": "allow",
        "Protocol": "6",
        "CidrBlock": "10.0.0.0/16",
        "PortRange": {"From": 1, "To": 2},
    }
    assert rows.entry({**given, "Protocol": "-1", "PortRange": {}, "IcmpTypeCode": None}) == {
        "RuleNumber": 1,
        "Egress": True,
        "RuleAction": "allow",
        "Protocol": "-1",
        "CidrBlock": "10.0.0.0/16",
    }


@pytest.mark.parametrize(("text", "block"), [("10.0.9.9/16", "10.0.0.0/16"), ("::1/0", "::/0"), ("banana", "banana")])
def test_canonical(text: str, block: str) -> None:
    """Blocks are written as EC2 keeps them; what is none is left for EC2 to refuse."""
    assert rows.canonical(text) == block
