"""The permissions of each strategy on small clusters, whole."""

from __future__ import annotations

import pytest

from sgaudit.errors import UsageError
from sgaudit.fix.grants import Grant, merged
from sgaudit.fix.plan import Strategy
from sgaudit.model import Cidr, Family, GroupPeer
from sgaudit.ports import PortSet
from sgaudit.selection import Selection, TagFilter
from tests.builders import ANYWHERE, Raw, group, interface, node, peering, route, row, snapshot, table
from tests.unit.fix.scenes import ABOUT, TAGS, WHOLE, apart, calls, planned, stranger, together

ALLOW, LET_OUT = "AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupEgress"
TCP = "tcp 0-65535"
CLOSED = [row("udp", 53, cidr=[ANYWHERE])]
"""Egress that lets nothing out that a cluster needs."""
SIX = Selection(tags=(TagFilter("cluster", ("train",)),), family=Family.IPV6)


def many(count: int, ingress: list[Raw] | None = None) -> Raw:
    nodes = [node(f"n{number}", f"10.0.0.{number + 4}") for number in range(count)]
    return snapshot(nodes, [group(ingress=ingress or [])], **WHOLE)


def peered(status: str = "active", **about: str) -> Raw:
    """Give a member in each of two VPCs with routes between them."""
    connection = peering("pcx-1", "vpc-1", "vpc-2", status=status)
    connection["AccepterVpcInfo"] |= about
    return snapshot(
        [node("a", "10.0.0.5"), node("b", "10.2.0.5", subnet="subnet-3", groups=["sg-b"])],
        [group(), {**group("sg-b", vpc="vpc-2"), "OwnerId": about.get("OwnerId", "111122223333")}],
        tables=[
            table("rtb-1", [route("10.2.0.0/16", VpcPeeringConnectionId="pcx-1")]),
            table("rtb-2", [route("10.0.0.0/16", VpcPeeringConnectionId="pcx-1")], vpc="vpc-2"),
        ],
        VpcPeeringConnections=[connection],
        **WHOLE,
    )


@pytest.mark.parametrize(
    ("document", "strategy", "expected"),
    [
        (together(), Strategy.SELF, [(ALLOW, "sg-a", [f"{TCP} sg-a"])]),
        (together(), Strategy.PEERS, [(ALLOW, "sg-a", [f"{TCP} sg-a"])]),
        (together(), Strategy.CIDR, [(ALLOW, "sg-a", [f"{TCP} 10.0.0.5/32", f"{TCP} 10.0.0.6/32"])]),
        (many(4), Strategy.CIDR, [(ALLOW, "sg-a", [f"{TCP} 10.0.0.4/30"])]),
        (
            together(group(egress=CLOSED)),
            Strategy.SELF,
            [(ALLOW, "sg-a", [f"{TCP} sg-a"]), (LET_OUT, "sg-a", [f"{TCP} sg-a"])],
        ),
        (
            together(group(ingress=[row("tcp", 0, 1023, groups=["sg-a"]), row("tcp", 4000, groups=["sg-a"])])),
            Strategy.SELF,
            [(ALLOW, "sg-a", ["tcp 1024-3999 sg-a", "tcp 4001-65535 sg-a"])],
        ),
        (
            apart(),
            Strategy.PEERS,
            [(ALLOW, "sg-a", [f"{TCP} sg-b"]), (ALLOW, "sg-b", [f"{TCP} sg-a"])],
        ),
        (
            apart(group(ingress=[row("tcp", 0, 65535, groups=["sg-b"])]), group("sg-b")),
            Strategy.PEERS,
            [(ALLOW, "sg-b", [f"{TCP} sg-a"])],
        ),
        (
            apart(),
            Strategy.CLUSTER_GROUP,
            [
                ("CreateSecurityGroup", "vpc-1", []),
                ("RevokeSecurityGroupEgress", "op-1", [f"-1 {ANYWHERE}"]),
                (ALLOW, "op-1", [f"{TCP} @op-1"]),
                ("ModifyNetworkInterfaceAttribute", "eni-a", ["sg-a", "@op-1"]),
                ("ModifyNetworkInterfaceAttribute", "eni-b", ["sg-b", "@op-1"]),
            ],
        ),
        (
            apart(),
            Strategy.PREFIX_LIST,
            [
                ("CreateManagedPrefixList", "", []),
                (ALLOW, "sg-a", [f"{TCP} @op-1"]),
                (ALLOW, "sg-b", [f"{TCP} @op-1"]),
            ],
        ),
        (
            peered(),
            Strategy.PEERS,
            [(ALLOW, "sg-a", [f"{TCP} sg-b"]), (ALLOW, "sg-b", [f"{TCP} sg-a"])],
        ),
    ],
    ids=[
        "self",
        "peers-of-one",
        "cidr",
        "cidr-joined",
        "egress-where-restricted",
        "partly-open",
        "peers",
        "peers-one-way",
        "cluster-group",
        "prefix-list",
        "peered",
    ],
)
def test_a_strategy_makes_just_these_operations(
    document: Raw, strategy: Strategy, expected: list[tuple[str, str, list[str]]]
) -> None:
    """Nothing is added that is there, nothing in a direction that is open, and blocks hold members alone."""
    assert expected == calls(planned(document, strategy=strategy))


def test_the_request_is_one_that_boto3_takes() -> None:
    """A whole request: rows with descriptions, tags on what is created."""
    (made,) = planned(together()).operations

    assert {
        "GroupId": "sg-a",
        "IpPermissions": [
            {
                "IpProtocol": "tcp",
                "FromPort": 0,
                "ToPort": 65535,
                "UserIdGroupPairs": [{"GroupId": "sg-a", "Description": ABOUT}],
            }
        ],
        "TagSpecifications": [
            {
                "ResourceType": "security-group-rule",
                "Tags": [{"Key": key, "Value": value} for key, value in TAGS.items()]
                + [{"Key": "sgaudit:finding", "Value": made.findings[0]}],
            }
        ],
    } == made.call.params


@pytest.mark.parametrize(
    ("about", "pair"),
    [
        ({}, {"GroupId": "sg-b", "VpcId": "vpc-2", "VpcPeeringConnectionId": "pcx-1"}),
        (
            {"OwnerId": "999988887777"},
            {"GroupId": "sg-b", "UserId": "999988887777", "VpcId": "vpc-2", "VpcPeeringConnectionId": "pcx-1"},
        ),
    ],
    ids=["own-account", "other-account"],
)
def test_a_reference_across_a_peering_names_all_that_aws_asks_for(about: dict[str, str], pair: Raw) -> None:
    """A group of a peered VPC is named with its VPC and the connection, that of another account with its owner."""
    first = planned(peered(**about), strategy=Strategy.PEERS).operations[0]

    assert [{**pair, "Description": ABOUT}] == first.call.params["IpPermissions"][0]["UserIdGroupPairs"]


@pytest.mark.parametrize(
    ("document", "strategy", "reason"),
    [
        (apart(), Strategy.SELF, "no security group is on all of the members concerned"),
        (
            peered(Region="eu-west-1"),
            Strategy.PEERS,
            "some members carry no security group that a permission could name",
        ),
        (peered(), Strategy.CLUSTER_GROUP, "the members lie in 2 VPCs, and a group belongs to one"),
        (
            together(*(group(f"sg-{n}") for n in "abcde"), carried=[f"sg-{n}" for n in "abcde"]),
            Strategy.CLUSTER_GROUP,
            "eni-a carries 5 security groups (default quota: 5)",
        ),
        (
            snapshot([node("a", "10.0.0.5"), node("b", "10.0.0.6", RequesterManaged=True)], [group()], **WHOLE),
            Strategy.CLUSTER_GROUP,
            "eni-b belongs to a service, or its groups could not be read",
        ),
        (
            many(3, [row("tcp", 22, cidr=[f"10.9.{n}.0/24" for n in range(59)])]),
            Strategy.CIDR,
            "sg-a would have 61 ingress permissions of 60 (the default quota)",
        ),
        (
            snapshot([node("a", "10.0.0.5"), node("b", "10.0.0.6", groups=[])], [group()], **WHOLE),
            Strategy.CIDR,
            "some members carry no security group that could get a permission",
        ),
    ],
    ids=["self", "other-region", "two-vpcs", "five-groups", "requester-managed", "quota-59+2", "no-group"],
)
def test_a_strategy_that_cannot_be_used_says_why(document: Raw, strategy: Strategy, reason: str) -> None:
    """Asking for it is an error with the numbers, not a plan that AWS would refuse half-way."""
    with pytest.raises(UsageError) as caught:
        planned(document, strategy=strategy)

    assert f"--strategy {strategy} can't be used here: {reason}" == str(caught.value)


def test_fifty_nine_and_one_is_within_the_quota() -> None:
    """The sixtieth permission is made, and the quota's use is shown."""
    made = planned(many(2, [row("tcp", 22, cidr=[f"10.9.{n}.0/24" for n in range(59)])]), strategy=Strategy.SELF)

    assert [item.quota for item in made.operations] == [
        {"name": "ingress permissions of a group", "before": 59, "after": 60, "limit": 60}
    ]


def test_addresses_of_ipv6_get_blocks_of_ipv6() -> None:
    """Judged over IPv6, the blocks are those of the members' IPv6 addresses."""
    nodes = [node(name, ipv6=[f"2001:db8::{number}"]) for name, number in (("a", 4), ("b", 5))]
    made = planned(snapshot(nodes, [group()], **WHOLE), strategy=Strategy.CIDR, selection=SIX)

    assert [(ALLOW, "sg-a", [f"{TCP} 2001:db8::4/127"])] == calls(made)


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        (["10.0.0.0/16"], [f"{TCP} 10.0.0.0/16"]),
        (["10.0.0.0/16", "10.0.0.0/24"], [f"{TCP} 10.0.0.0/16"]),
    ],
)
def test_blocks_that_are_given_are_taken(blocks: list[str], expected: list[str]) -> None:
    """The user's blocks are used without those that others of them hold, and what they let in is declared."""
    made = planned(together(), blocks=tuple(map(Cidr.parse, blocks)))

    assert [(ALLOW, "sg-a", expected)] == calls(made)
    assert [(it.source, it.target, it.protocol, it.ports, it.pairs, it.outside) for it in made.extra] == [
        ("addresses in 10.0.0.0/16 that no known interface has", "carriers of sg-a", "tcp", "0-65535", 0, True)
    ]


def test_a_block_without_all_members_is_refused() -> None:
    """A block that leaves a member out would leave a gap."""
    with pytest.raises(UsageError, match=r"10\.0\.0\.4/31 does not hold the address of every member"):
        planned(together(), blocks=(Cidr.parse("10.0.0.4/31"),))


@pytest.mark.parametrize(
    ("widen", "rows", "extra"),
    [
        (False, ["tcp 29500-29500 sg-a", "tcp 32768-60999 sg-a"], []),
        (True, ["tcp 29500-60999 sg-a"], [("members with sg-a", "members with sg-a", "tcp", "29501-32767", 2)]),
    ],
)
def test_widening_saves_permissions_and_is_declared(widen: bool, rows: list[str], extra: list[object]) -> None:
    """Two ranges become one row only when asked to, and the ports in between are named."""
    made = planned(together(), "pytorch-gloo", widen=widen)

    assert [(ALLOW, "sg-a", rows)] == calls(made)
    assert extra == [(it.source, it.target, it.protocol, it.ports, it.pairs) for it in made.extra]


def test_the_choice_is_what_opens_least_to_others() -> None:
    """Where strangers carry the shared group, members get a group of their own."""
    nodes = [node("a", "10.0.0.5"), node("b", "10.0.0.6"), stranger("c", "10.0.0.7")]
    made = planned(snapshot(nodes, [group()], **WHOLE))

    assert Strategy.CLUSTER_GROUP is made.strategy
    assert made.extra == ()


def test_other_interfaces_of_a_member_are_no_strangers() -> None:
    """The second interface of a member may carry the group: it is the cluster's own."""
    first = node("a", "10.0.0.5")
    first["NetworkInterfaces"].append(interface("a2", "10.0.0.9", of="a", device=1))
    document = snapshot([first, node("b", "10.0.0.6")], [group()], **WHOLE)
    made = planned(document)

    assert (made.strategy, made.safe) == (Strategy.SELF, True)
    assert [(it.source, it.target, it.protocol, it.ports, it.pairs, it.outside) for it in made.extra] == [
        ("members with sg-a", "members with sg-a", "tcp", "all", 2, False)
    ]


def test_grants_that_overlap_name_each_peer_once() -> None:
    """Ports of one peer are joined, and peers with the same ports share a grant."""

    def grant(low: int, high: int, *peers: str) -> Grant:
        named = tuple(Cidr.parse(item) if "/" in item else GroupPeer(item) for item in peers)
        return Grant("sg-a", False, "tcp", PortSet.single(low, high), named, (f"finding-{low}",))

    found = merged([grant(0, 9, "sg-b", "10.0.0.0/32", "10.0.0.1/32"), grant(5, 20, "sg-b"), grant(5, 20, "sg-c")])

    assert (
        Grant("sg-a", False, "tcp", PortSet.single(0, 20), (GroupPeer("sg-b"),), ("finding-0", "finding-5")),
        Grant("sg-a", False, "tcp", PortSet.single(0, 9), (Cidr.parse("10.0.0.0/31"),), ("finding-0",)),
        Grant("sg-a", False, "tcp", PortSet.single(5, 20), (GroupPeer("sg-c"),), ("finding-5",)),
    ) == found


@pytest.mark.parametrize(("count", "attached"), [(6, True), (16, False)])
def test_a_quota_of_groups_that_was_raised_is_taken_for_raised(count: int, attached: bool) -> None:
    """Six groups on an interface tell that five are not the limit; sixteen are, whatever was asked for."""
    names = [f"sg-{number:02}" for number in range(count)]
    nodes = [node("a", "10.0.0.5", groups=names), node("b", "10.0.0.6", groups=["sg-b"])]
    document = snapshot(nodes, [group("sg-b"), *(group(name) for name in names)], **WHOLE)

    if attached:
        made = planned(document, strategy=Strategy.CLUSTER_GROUP)
        assert calls(made)[-2:] == [
            ("ModifyNetworkInterfaceAttribute", "eni-a", [*names, "@op-1"]),
            ("ModifyNetworkInterfaceAttribute", "eni-b", ["sg-b", "@op-1"]),
        ]
    else:
        with pytest.raises(UsageError, match=r"eni-a carries 16 security groups \(highest quota: 16\)"):
            planned(document, strategy=Strategy.CLUSTER_GROUP)


def test_a_quota_of_permissions_that_was_raised_is_taken_for_raised() -> None:
    """More permissions than the default allows are there already: a few more are no reason to refuse."""
    rows = [row("tcp", 22, cidr=[f"10.9.{n}.0/24" for n in range(70)])]

    assert calls(planned(many(2, rows))) == [(ALLOW, "sg-a", [f"{TCP} sg-a"])]
