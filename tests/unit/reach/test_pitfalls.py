"""What engines get wrong about reachability in a VPC, one test or more for each; every value is worked out by hand."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from sgaudit.errors import EmptySelectionError
from sgaudit.model import Family
from sgaudit.reach import matrix
from sgaudit.selection import Selection, select
from sgaudit.snapshot import parse
from tests.builders import (
    ANYWHERE,
    ANYWHERE_6,
    EVERYTHING,
    OWNER,
    Raw,
    acl,
    allow_all,
    entry,
    group,
    instance,
    interface,
    node,
    pair_of,
    peering,
    route,
    row,
    snapshot,
    table,
)
from tests.unit.reach.conftest import Decided, Reach

ALL = "0-65535"
OPEN: Decided = (ALL, ALL)
BLOCKED: Decided = ("", "")
UNKNOWN: Decided = ("", ALL)

SELF = group(ingress=[row(groups=["sg-a"])])
WORLD = group(ingress=[EVERYTHING])


def only(ports: str) -> Decided:
    """Say that just these ports are open and nothing is in doubt."""
    return ports, ports


def two(*, ingress: list[Raw], egress: list[Raw] | None = None, **more: Any) -> Raw:
    """Give `a` and `b` in one subnet; only the group of `b` has the rows for ingress, only that of `a` for egress."""
    source = group("sg-a", egress=[EVERYTHING] if egress is None else egress)
    nodes = [node("a", "10.0.0.5"), node("b", "10.0.0.6", groups=["sg-b"])]
    return snapshot(nodes, [source, group("sg-b", ingress=ingress)], **more)


def across(*entries: Raw, groups: list[Raw] | None = None, **more: Any) -> Raw:
    """Give `a` in subnet-1, which has an ACL of these entries, and `b` in subnet-2, which has an open one."""
    custom = acl("acl-1", entries, subnets=["subnet-1"])
    return snapshot(pair_of({}, {}), groups or [WORLD], acls=[custom], **more)


# 1


def test_self_reference_admits_members_only(reach: Reach) -> None:
    """A group that admits itself admits the interfaces that carry it, and no other."""
    nodes = [node("a", "10.0.0.5"), node("b", "10.0.0.6"), node("c", "10.0.0.7", groups=["sg-c"])]
    document = snapshot(nodes, [SELF, group("sg-c")])

    assert [reach(document, *pair) for pair in (("a", "b"), ("b", "a"), ("c", "a"), ("a", "c"))] == [
        OPEN,
        OPEN,
        BLOCKED,
        BLOCKED,
    ]


def test_reference_to_another_group_says_nothing_about_its_holder(reach: Reach) -> None:
    """A row of group A that names group B admits who carries B, whatever else that carries, and A itself not."""
    nodes = [
        node("a", "10.0.0.5"),
        node("a2", "10.0.0.6"),
        node("b", "10.0.0.7", groups=["sg-b"]),
        node("both", "10.0.0.8", groups=["sg-a", "sg-b"]),
    ]
    document = snapshot(nodes, [group(ingress=[row(groups=["sg-b"])]), group("sg-b")])

    assert {
        pair: reach(document, *pair)
        for pair in (("b", "a"), ("a", "b"), ("a2", "a"), ("both", "a"), ("a", "both"), ("b", "both"))
    } == {
        ("b", "a"): OPEN,
        ("a", "b"): BLOCKED,
        ("a2", "a"): BLOCKED,
        ("both", "a"): OPEN,
        ("a", "both"): BLOCKED,
        ("b", "both"): OPEN,
    }


def test_self_reference_of_egress_counts_the_target(reach: Reach) -> None:
    """A row of egress that names a group lets out to the interfaces that carry it."""
    nodes = [node("a", "10.0.0.5"), node("b", "10.0.0.6"), node("c", "10.0.0.7", groups=["sg-c"])]
    inward = group(ingress=[EVERYTHING], egress=[row("tcp", 22, groups=["sg-a"])])
    document = snapshot(nodes, [inward, group("sg-c", ingress=[EVERYTHING])])

    assert reach(document, "a", "b") == only("22")
    assert reach(document, "a", "c") == BLOCKED


# 2


@pytest.mark.parametrize(
    ("target", "peer", "expected"),
    [
        pytest.param({"NetworkInterfaceId": "eni-x"}, "group", BLOCKED, id="interface, group"),
        pytest.param({"NetworkInterfaceId": "eni-x"}, "cidr", UNKNOWN, id="interface, CIDR"),
        pytest.param({"InstanceId": "i-x"}, "group", BLOCKED, id="instance, group"),
        pytest.param({"InstanceId": "i-x"}, "cidr", UNKNOWN, id="instance, CIDR"),
        pytest.param({"GatewayId": "vpce-1"}, "group", BLOCKED, id="endpoint, group"),
        pytest.param({"GatewayId": "vpce-1"}, "cidr", UNKNOWN, id="endpoint, CIDR"),
    ],
)
def test_group_reference_is_lost_behind_a_middlebox(
    reach: Reach, target: dict[str, str], peer: str, expected: Decided
) -> None:
    """Where routes lead through an appliance a group as peer admits nothing, and a CIDR leaves it unknown."""
    admitted = row(groups=["sg-a"]) if peer == "group" else row(cidr=["10.0.0.0/16"])
    routes = table("rtb-1", [route("10.0.1.0/24", **target)], subnets=["subnet-1"])
    document = snapshot(pair_of({}, {}), [group(ingress=[admitted])], tables=[routes])

    assert reach(document, "a", "b") == expected


def test_group_reference_of_egress_is_lost_behind_a_middlebox(reach: Reach) -> None:
    """The source's own egress rows that name a group admit nothing through an appliance either."""
    routes = table("rtb-1", [route("10.0.1.0/24", NetworkInterfaceId="eni-x")], subnets=["subnet-1"])
    rules = group(ingress=[EVERYTHING], egress=[row(groups=["sg-a"]), row("tcp", 22, cidr=[ANYWHERE])])
    document = snapshot(pair_of({}, {}), [rules], tables=[routes])

    assert reach(document, "a", "b") == ("", "22")


def test_middlebox_on_the_way_back_leaves_the_verdict_unknown(reach: Reach) -> None:
    """Answers that come through an appliance: what it does can't be read, so the path is neither open nor blocked."""
    routes = table("rtb-1", [route("10.0.1.0/24", NetworkInterfaceId="eni-x")], subnets=["subnet-1"])
    document = snapshot(pair_of({}, {}), [SELF], tables=[routes])

    assert reach(document, "b", "a") == UNKNOWN


def test_middlebox_leaves_one_subnet_alone(reach: Reach) -> None:
    """Two interfaces of one subnet talk without a route, so an appliance does not come between them."""
    routes = table("rtb-1", [route("10.0.0.0/24", NetworkInterfaceId="eni-x")], subnets=["subnet-1"])
    nodes = [node("a", "10.0.0.5"), node("b", "10.0.0.6")]

    assert reach(snapshot(nodes, [SELF], tables=[routes]), "a", "b") == OPEN


@pytest.mark.parametrize("target", [{"TransitGatewayId": "tgw-1"}, {"GatewayId": "vgw-1"}, {"CoreNetworkArn": "arn:x"}])
def test_what_lies_behind_a_gateway_is_unknown(reach: Reach, target: dict[str, str]) -> None:
    """A route between VPCs over a gateway whose own tables aren't read leaves the verdict unknown."""
    nodes = [node("a", "10.0.0.5"), node("b", "10.2.0.5", subnet="subnet-3")]
    tables = [
        table("rtb-1", [route("10.2.0.0/16", **target)]),
        table("rtb-2", [route("10.0.0.0/16", **target)], vpc="vpc-2"),
    ]

    assert reach(snapshot(nodes, [SELF], tables=tables), "a", "b") == UNKNOWN


# 3


def test_overlapping_vpcs_hold_different_nodes(reach: Reach) -> None:
    """The same address in two VPCs is two nodes: a peering with one of them leads to that one alone."""
    nodes = [
        node("one", "10.0.0.5"),
        node("hub", "10.2.0.5", subnet="subnet-3"),
        node("other", "10.0.0.5", subnet="subnet-4"),
    ]
    tables = [
        table("rtb-1", [route("10.2.0.0/16", VpcPeeringConnectionId="pcx-1")]),
        table("rtb-2", [route("10.0.0.0/16", VpcPeeringConnectionId="pcx-1")], vpc="vpc-2"),
        table("rtb-3", [route("10.2.0.0/16", VpcPeeringConnectionId="pcx-1")], vpc="vpc-3"),
    ]
    joined = [peering("pcx-1", "vpc-1", "vpc-2")]
    document = snapshot(nodes, [WORLD], tables=tables, VpcPeeringConnections=joined)

    assert {pair: reach(document, *pair) for pair in permutations(("one", "hub", "other"), 2)} == {
        ("one", "hub"): OPEN,
        ("hub", "one"): OPEN,
        ("hub", "other"): BLOCKED,
        ("other", "hub"): BLOCKED,
        ("one", "other"): BLOCKED,
        ("other", "one"): BLOCKED,
    }


# 4


def peered(
    rules: list[Raw], *, status: str = "active", here: str = "active", there: str = "active", **more: Any
) -> Raw:
    """Give `a` in vpc-1 and `b` in vpc-2, joined by a peering connection with routes in both."""
    nodes = [node("a", "10.0.0.5"), node("b", "10.2.0.5", subnet="subnet-3", groups=["sg-b"])]
    tables = [
        table("rtb-1", [route("10.2.0.0/16", state=here, VpcPeeringConnectionId="pcx-1")]),
        table("rtb-2", [route("10.0.0.0/16", state=there, VpcPeeringConnectionId="pcx-1")], vpc="vpc-2"),
    ]
    joined = [peering("pcx-1", "vpc-2", "vpc-1", status=status)]
    return snapshot(nodes, rules, **{"tables": tables, "VpcPeeringConnections": joined, **more})


def referring(status: str | None = "active", owner: str = OWNER) -> list[Raw]:
    """Give `sg-a`, and `sg-b` in vpc-2 which admits it over the peering connection."""
    peer = {"UserId": owner, "GroupId": "sg-a", "VpcId": "vpc-1", "VpcPeeringConnectionId": "pcx-1"}
    if status is not None:
        peer["PeeringStatus"] = status
    return [group("sg-a"), group("sg-b", ingress=[row(groups=[peer])], vpc="vpc-2")]


@pytest.mark.parametrize(
    ("status", "expected"),
    [("active", OPEN), (None, OPEN), ("deleted", BLOCKED), ("expired", BLOCKED), ("rejected", BLOCKED)],
)
def test_peered_reference_needs_an_active_peering(reach: Reach, status: str | None, expected: Decided) -> None:
    """A reference over a peering connection counts while that is active; else it is stale and matches nothing."""
    assert reach(peered(referring(status)), "a", "b") == expected


def test_peered_reference_of_another_account_counts(reach: Reach) -> None:
    """A reference names its owner; the interface that carries the group is what it matches."""
    assert reach(peered(referring(owner="444455556666")), "a", "b") == OPEN


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, OPEN, id="as it should be"),
        pytest.param({"status": "pending-acceptance"}, BLOCKED, id="not accepted"),
        pytest.param({"status": "deleted"}, BLOCKED, id="deleted"),
        pytest.param({"here": "blackhole"}, BLOCKED, id="blackhole here"),
        pytest.param({"there": "blackhole"}, BLOCKED, id="blackhole there"),
        pytest.param({"tables": [table("rtb-1")]}, BLOCKED, id="no routes"),
        pytest.param(
            {"tables": [table("rtb-1", [route("10.2.0.0/16", VpcPeeringConnectionId="pcx-1")])]},
            BLOCKED,
            id="no route back",
        ),
        pytest.param({"VpcPeeringConnections": []}, UNKNOWN, id="peering connection not read"),
        pytest.param({"without": ["VpcPeeringConnections"]}, UNKNOWN, id="no peering connections read"),
        pytest.param({"without": ["RouteTables"]}, UNKNOWN, id="no route tables read"),
        pytest.param({"VpcPeeringConnections": [peering("pcx-1", "vpc-2", "vpc-3")]}, BLOCKED, id="joins others"),
    ],
)
def test_peering_needs_both_routes_and_an_active_connection(
    reach: Reach, changes: dict[str, Any], expected: Decided
) -> None:
    """A path between VPCs needs an active route on either side to an active connection that joins these two."""
    assert reach(peered([WORLD, group("sg-b", ingress=[EVERYTHING], vpc="vpc-2")], **changes), "a", "b") == expected


@pytest.mark.parametrize(
    ("destination", "expected"), [("10.2.0.0/24", BLOCKED), ("10.2.0.5/32", BLOCKED), ("10.2.1.0/24", OPEN)]
)
def test_longest_prefix_of_a_route_wins(reach: Reach, destination: str, expected: Decided) -> None:
    """A more specific route that is a black hole takes the addresses it holds from the peering connection."""
    by_peering = {"VpcPeeringConnectionId": "pcx-1"}
    tables = [
        table(
            "rtb-1",
            [route("10.2.0.0/16", **by_peering), route(destination, state="blackhole", **by_peering)],
        ),
        table("rtb-2", [route("10.0.0.0/16", **by_peering)], vpc="vpc-2"),
    ]
    document = peered([WORLD, group("sg-b", ingress=[EVERYTHING], vpc="vpc-2")], tables=tables)

    assert reach(document, "a", "b") == expected


@pytest.mark.parametrize("first", ["list", "block"])
@pytest.mark.parametrize(("entry", "expected"), [("10.2.0.0/16", OPEN), ("10.0.0.0/8", OPEN), ("10.2.0.0/24", BLOCKED)])
def test_route_to_a_block_goes_before_an_equal_one_to_a_prefix_list(
    reach: Reach, entry: str, expected: Decided, first: str
) -> None:
    """Of equal prefixes that of a CIDR block wins, in whatever order they are listed; a longer one wins anyway."""
    by_peering = {"VpcPeeringConnectionId": "pcx-1"}
    routes = [route("pl-1", state="blackhole", **by_peering), route("10.2.0.0/16", **by_peering)]
    tables = [
        table("rtb-1", routes if first == "list" else routes[::-1]),
        table("rtb-2", [route("10.0.0.0/16", **by_peering)], vpc="vpc-2"),
    ]
    document = peered([WORLD, group("sg-b", ingress=[EVERYTHING], vpc="vpc-2")], tables=tables)
    document["PrefixListEntries"] = {"pl-1": [{"Cidr": entry}]}

    assert reach(document, "a", "b") == expected


def test_route_to_the_internet_does_not_join_vpcs(reach: Reach) -> None:
    """A private IPv4 address of another VPC is not reached over an internet gateway."""
    tables = [
        table("rtb-1", [route(ANYWHERE, GatewayId="igw-1")]),
        table("rtb-2", [route(ANYWHERE, GatewayId="igw-2")], vpc="vpc-2"),
    ]
    document = peered([WORLD, group("sg-b", ingress=[EVERYTHING], vpc="vpc-2")], tables=tables)

    assert reach(document, "a", "b") == BLOCKED


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ({"pl-1": [{"Cidr": "10.2.0.0/16"}]}, OPEN),
        ({"pl-1": [{"Cidr": "10.3.0.0/16"}]}, BLOCKED),
        ({"pl-1": []}, BLOCKED),
        ({}, UNKNOWN),
    ],
)
def test_route_to_a_prefix_list_counts_with_its_entries(reach: Reach, lists: dict[str, Any], expected: Decided) -> None:
    """A route to a prefix list leads where its entries say; a list that was not read leaves it unknown."""
    by_peering = {"VpcPeeringConnectionId": "pcx-1"}
    tables = [
        table("rtb-1", [route("pl-1", **by_peering)]),
        table("rtb-2", [route("10.0.0.0/16", **by_peering)], vpc="vpc-2"),
    ]
    document = peered([WORLD, group("sg-b", ingress=[EVERYTHING], vpc="vpc-2")], tables=tables, PrefixListEntries=lists)

    assert reach(document, "a", "b") == expected


def test_gateway_endpoint_does_not_come_between_nodes(reach: Reach) -> None:
    """The prefix list of a gateway endpoint holds the service's public addresses, read or not."""
    routes = table("rtb-1", [route("pl-s3", GatewayId="vpce-s3")])

    assert reach(snapshot(pair_of({}, {}), [WORLD], tables=[routes]), "a", "b") == OPEN


@pytest.mark.parametrize(
    ("routes", "expected"),
    [
        ([route("10.0.1.0/24", state="blackhole", NetworkInterfaceId="eni-x")], BLOCKED),
        ([route("10.0.2.0/24", state="blackhole", NetworkInterfaceId="eni-x")], OPEN),
        ([route("10.0.0.0/8", state="blackhole", TransitGatewayId="tgw-1")], OPEN),
        ([route(ANYWHERE, GatewayId="igw-1")], OPEN),
        ([route("10.0.1.0/24", NatGatewayId="nat-1")], UNKNOWN),
        ([route("pl-unread", NetworkInterfaceId="eni-x")], UNKNOWN),
        ([route("pl-unread", state="blackhole", NetworkInterfaceId="eni-x")], UNKNOWN),
    ],
)
def test_local_route_holds_unless_a_more_specific_one_wins(reach: Reach, routes: list[Raw], expected: Decided) -> None:
    """Within a VPC the local route leads there; only a route with a longer prefix takes the packet elsewhere."""
    assert reach(snapshot(pair_of({}, {}), [WORLD], tables=[table("rtb-1", routes)]), "a", "b") == expected


def test_route_table_of_a_subnet_comes_before_the_main_one(reach: Reach) -> None:
    """A black hole in the main table does not concern a subnet that has a table of its own."""
    hole = [route("10.0.0.0/23", state="blackhole", NetworkInterfaceId="eni-x")]
    own = [table(f"rtb-{number}", subnets=[f"subnet-{number}"]) for number in (1, 2)]

    assert reach(snapshot(pair_of({}, {}), [WORLD], tables=[table("rtb-m", hole), *own]), "a", "b") == OPEN
    assert reach(snapshot(pair_of({}, {}), [WORLD], tables=[table("rtb-m", hole), own[0]]), "a", "b") == BLOCKED


@pytest.mark.parametrize(
    ("target", "expected"),
    [({"NetworkInterfaceId": "eni-x"}, UNKNOWN), ({"NetworkInterfaceId": "eni-x", "state": "blackhole"}, BLOCKED)],
)
def test_local_route_may_be_replaced(reach: Reach, target: dict[str, str], expected: Decided) -> None:
    """A route for the VPC's own block that leads elsewhere stands in the table in place of the local one."""
    replaced = table("rtb-1")
    replaced["Routes"] = [route("10.0.0.0/16", **target)]

    assert reach(snapshot(pair_of({}, {}), [WORLD], tables=[replaced]), "a", "b") == expected


# 5


def test_stale_reference_matches_nothing(reach: Reach) -> None:
    """A row that names a group which is gone admits nobody, for nobody carries it."""
    assert reach(two(ingress=[row(groups=["sg-gone"])]), "a", "b") == BLOCKED


def test_stale_reference_leaves_the_other_peers_of_its_row(reach: Reach) -> None:
    """One row can hold several peers; a stale one does not spoil the rest."""
    gone = {"UserId": OWNER, "GroupId": "sg-gone", "PeeringStatus": "deleted"}

    assert reach(two(ingress=[row("tcp", 22, groups=[gone, "sg-a"])]), "a", "b") == only("22")


# 6


def test_group_of_another_vpc_counts_where_it_is_carried(reach: Reach) -> None:
    """A group that is associated with a second VPC guards and admits the interfaces there that carry it."""
    nodes = [
        node("a", "10.0.0.5"),
        node("b", "10.2.0.5", subnet="subnet-3"),
        node("c", "10.2.0.6", subnet="subnet-3"),
        node("d", "10.2.0.7", subnet="subnet-3", groups=["sg-d"]),
    ]
    document = peered([SELF, group("sg-d", vpc="vpc-2")])
    document["Reservations"] = [{"Instances": nodes}]
    document["NetworkInterfaces"] = [item for one in nodes for item in one["NetworkInterfaces"]]

    assert {pair: reach(document, *pair) for pair in (("b", "c"), ("a", "b"), ("b", "a"), ("d", "b"), ("b", "d"))} == {
        ("b", "c"): OPEN,
        ("a", "b"): OPEN,
        ("b", "a"): OPEN,
        ("d", "b"): BLOCKED,
        ("b", "d"): BLOCKED,
    }


def test_group_by_name_is_that_of_the_holders_vpc(reach: Reach) -> None:
    """A peer that is named and not numbered is the group of that name in the VPC of the row's group."""
    nodes = [
        node("a", "10.0.0.5", groups=["sg-m1"]),
        node("b", "10.0.0.6", groups=["sg-b"]),
        node("c", "10.0.0.7", groups=["sg-m2"]),
    ]
    rules = [
        group("sg-m2", name="mesh", vpc="vpc-2"),
        group("sg-m1", name="mesh"),
        group("sg-b", ingress=[row(groups=[{"UserId": OWNER, "GroupName": "mesh"}])]),
    ]
    document = snapshot(nodes, rules)

    assert [reach(document, "a", "b"), reach(document, "c", "b")] == [OPEN, BLOCKED]


# 7


def test_acl_is_not_consulted_within_a_subnet(reach: Reach) -> None:
    """An ACL that denies everything stops what crosses the subnet's edge and nothing within it."""
    nodes = [node("a", "10.0.0.5"), node("b", "10.0.0.6"), node("c", "10.0.1.5", subnet="subnet-2")]
    document = snapshot(nodes, [WORLD], acls=[acl("acl-1", [], subnets=["subnet-1"])])

    assert {pair: reach(document, *pair) for pair in (("a", "b"), ("a", "c"), ("c", "a"))} == {
        ("a", "b"): OPEN,
        ("a", "c"): BLOCKED,
        ("c", "a"): BLOCKED,
    }


@pytest.mark.parametrize("denied", ["out of a", "into b", "out of b", "into a"])
def test_acls_of_both_subnets_count_in_both_directions(reach: Reach, denied: str) -> None:
    """Each of the four crossings of a connection and its answers can stop it."""
    passes = {
        "out of a": entry(100, "allow", egress=True),
        "into a": entry(100, "allow", egress=False),
        "out of b": entry(100, "allow", egress=True),
        "into b": entry(100, "allow", egress=False),
    }
    acls = [
        acl(
            f"acl-{end}",
            [item for name, item in passes.items() if name.endswith(end) and name != denied],
            subnets=[subnet],
        )
        for end, subnet in (("a", "subnet-1"), ("b", "subnet-2"))
    ]

    assert reach(snapshot(pair_of({}, {}), [WORLD], acls=acls), "a", "b") == BLOCKED


def test_acl_matches_the_address_of_the_other_end(reach: Reach) -> None:
    """The block of an entry is that of the packet's far end: its target on the way out, its source on the way in."""
    entries = [
        entry(1, "deny", egress=True, protocol="6", ports=(22, 22), cidr="10.0.1.5/32"),
        entry(2, "deny", egress=True, protocol="6", ports=(23, 23), cidr="10.0.0.5/32"),
        entry(3, "deny", egress=False, protocol="6", ports=(24, 24), cidr="10.0.1.0/24"),
        entry(4, "deny", egress=False, protocol="6", ports=(25, 25), cidr="10.0.0.0/24"),
        *allow_all(),
    ]

    assert reach(across(*entries), "a", "b") == only("0-21,23-65535")
    assert reach(across(*entries), "b", "a") == only("0-23,25-65535")


# 8


SHUFFLED = (
    entry(100, "allow", egress=True, protocol="6", ports=(20, 30)),
    entry(50, "deny", egress=True, protocol="6", ports=(22, 24)),
    entry(10, "allow", egress=True, protocol="6", ports=(23, 23)),
    entry(200, "deny", egress=True, protocol="6", ports=(25, 25)),
)


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_acl_entries_decide_by_number_and_not_by_place(reach: Reach, order: tuple[int, ...]) -> None:
    """The entry with the lowest number that matches decides, in whatever order they are listed."""
    entries = [SHUFFLED[index] for index in order]

    assert reach(across(*entries, entry(1, "allow", egress=False)), "a", "b") == only("20-21,23,25-30")


@pytest.mark.parametrize("listed", [True, False])
def test_acl_denies_what_no_entry_matches(reach: Reach, *, listed: bool) -> None:
    """What no entry matches is denied, whether the answer lists the closing entry 32767 or not."""
    closing = [entry(32767, "deny", egress=egress) for egress in (True, False)] if listed else []
    entries = [
        *closing,
        entry(5, "allow", egress=True, protocol="6", ports=(22, 22)),
        entry(5, "allow", egress=False, protocol="6", ports=(0, 65535)),
    ]

    assert reach(across(*entries), "a", "b") == only("22")


def test_acl_entries_of_other_protocols_do_not_decide(reach: Reach) -> None:
    """An entry for UDP or ICMP neither stops nor admits TCP."""
    entries = [
        entry(1, "deny", egress=True, protocol="17", ports=(0, 65535)),
        entry(2, "deny", egress=True, protocol="1", message=(-1, -1)),
        entry(3, "allow", egress=True, protocol="6", ports=(22, 22)),
        entry(4, "allow", egress=True, protocol="50"),
        entry(1, "allow", egress=False),
    ]

    assert reach(across(*entries), "a", "b") == only("22")
    assert reach(across(*entries), "a", "b", protocol="udp") == BLOCKED


def test_acl_entries_of_the_families_are_apart(reach: Reach) -> None:
    """An IPv6 entry decides about IPv6 packets alone, an IPv4 entry about IPv4 packets."""
    entries = [
        entry(1, "deny", egress=True, protocol="6", ports=(22, 22), cidr=ANYWHERE_6),
        entry(2, "deny", egress=True, protocol="6", ports=(23, 23)),
        *allow_all(),
    ]
    nodes = pair_of({"ipv6": ["2001:db8:1::5"]}, {"ipv6": ["2001:db8:1:1::5"]})
    document = snapshot(nodes, [WORLD], acls=[acl("acl-1", entries, subnets=["subnet-1"])])

    assert reach(document, "a", "b") == only("0-22,24-65535")
    assert reach(document, "a", "b", family="ipv6") == only("0-21,23-65535")


# 9


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        pytest.param([(0, 65535)], OPEN, id="all"),
        pytest.param([(1024, 65535)], OPEN, id="of any client"),
        pytest.param([(32768, 60999)], OPEN, id="just the client ports"),
        pytest.param([(32768, 40000), (40001, 60999)], OPEN, id="in two"),
        pytest.param([(1024, 1024)], BLOCKED, id="one port"),
        pytest.param([(1025, 5000)], BLOCKED, id="clients of other systems"),
        pytest.param([(32769, 65535)], BLOCKED, id="without the first"),
        pytest.param([(1024, 60998)], BLOCKED, id="without the last"),
        pytest.param([(32768, 40000), (40002, 60999)], BLOCKED, id="without one in the middle"),
        pytest.param([], BLOCKED, id="nothing"),
    ],
)
def test_answers_need_the_whole_client_range(reach: Reach, ranges: list[tuple[int, int]], expected: Decided) -> None:
    """A path is open when answers reach each client port of the dialler, not when they reach some."""
    entries = [
        entry(100 + number, "allow", egress=False, protocol="6", ports=ports) for number, ports in enumerate(ranges)
    ]

    assert reach(across(entry(1, "allow", egress=True), *entries), "a", "b") == expected


def test_denied_client_port_closes_the_way_back(reach: Reach) -> None:
    """One client port that is denied before all are admitted is enough to close the path."""
    entries = [
        entry(90, "deny", egress=False, protocol="6", ports=(45000, 45000), cidr="10.0.1.5/32"),
        *allow_all(),
    ]

    assert reach(across(*entries), "a", "b") == BLOCKED
    assert reach(across(*entries), "b", "a") == only("0-44999,45001-65535")
    assert reach(across(*entries), "a", "b", protocol="udp") == OPEN


def test_security_groups_are_stateful(reach: Reach) -> None:
    """The answer of what was admitted needs no row: the dialler admits nothing and the dialled lets nothing out."""
    nodes = [node("a", "10.0.0.5"), node("b", "10.0.0.6", groups=["sg-b"])]
    document = snapshot(nodes, [group("sg-a"), group("sg-b", ingress=[EVERYTHING], egress=[])])

    assert reach(document, "a", "b") == OPEN
    assert reach(document, "b", "a") == BLOCKED


# 10


def test_acl_must_admit_dynamic_service_ports(reach: Reach) -> None:
    """A listener on a port that the kernel picked needs that port in both ACLs on the way forward, not 29500 alone."""
    out = entry(100, "allow", egress=True, protocol="6", ports=(29500, 29500))
    back = entry(100, "allow", egress=False, protocol="6", ports=(1024, 65535))

    assert reach(across(out, back), "a", "b") == only("29500")


def test_ports_are_those_that_every_stage_admits(reach: Reach) -> None:
    """Egress, both ACLs and ingress are cut with one another, port by port."""
    rules = group(
        ingress=[row("tcp", 22, groups=["sg-a"]), row("tcp", 40000, 50000, cidr=["10.0.0.0/24"])],
        egress=[row("tcp", 0, 45000, cidr=["10.0.1.0/25"])],
    )
    out = entry(100, "allow", egress=True, protocol="6", ports=(22, 44000))
    back = entry(100, "allow", egress=False, protocol="6", ports=(1024, 65535))

    assert reach(across(out, back, groups=[rules]), "a", "b") == only("22,40000-44000")


# 11


@pytest.mark.parametrize(
    ("rows", "tcp", "udp", "icmp"),
    [
        ([row("-1", cidr=[ANYWHERE])], OPEN, OPEN, OPEN),
        ([row("tcp", 0, 65535, cidr=[ANYWHERE])], OPEN, BLOCKED, BLOCKED),
        ([row("udp", 0, 65535, cidr=[ANYWHERE])], BLOCKED, OPEN, BLOCKED),
        ([row("icmp", -1, -1, cidr=[ANYWHERE])], BLOCKED, BLOCKED, OPEN),
    ],
)
def test_all_ports_of_one_protocol_are_not_all_protocols(
    reach: Reach, rows: list[Raw], tcp: Decided, udp: Decided, icmp: Decided
) -> None:
    """Every port of TCP admits no UDP and no ICMP; only the all-protocol row admits each of them."""
    document = two(ingress=rows)

    assert [reach(document, "a", "b", protocol=item) for item in ("tcp", "udp", "icmp")] == [tcp, udp, icmp]


# 12


@pytest.mark.parametrize(
    ("permission", "tcp"),
    [
        (row("-1", cidr=[ANYWHERE]), OPEN),
        (row("-1", -1, -1, cidr=[ANYWHERE]), OPEN),
        (row("-1", 0, 65535, cidr=[ANYWHERE]), OPEN),
        (row("-1", 22, 22, cidr=[ANYWHERE]), OPEN),
        ({**row("-1", cidr=[ANYWHERE]), "FromPort": None, "ToPort": None}, OPEN),
        (row("tcp", 22, 30, cidr=[ANYWHERE]), only("22-30")),
        (row("6", 22, 30, cidr=[ANYWHERE]), only("22-30")),
        (row("tcp", 0, 0, cidr=[ANYWHERE]), only("0")),
        (row("17", 22, 30, cidr=[ANYWHERE]), BLOCKED),
        (row("50", cidr=[ANYWHERE]), BLOCKED),
        (row("50", 22, 30, cidr=[ANYWHERE]), BLOCKED),
        (row("1", 22, -1, cidr=[ANYWHERE]), BLOCKED),
    ],
)
def test_protocols_are_read_in_every_spelling(reach: Reach, permission: Raw, tcp: Decided) -> None:
    """Ports given with `-1` mean nothing, 6 is TCP, and port 0 is a port."""
    assert reach(two(ingress=[permission]), "a", "b") == tcp
    assert reach(two(ingress=[EVERYTHING], egress=[permission]), "a", "b") == tcp


@pytest.mark.parametrize(
    ("protocol", "tcp"), [("6", only("22-30")), ("tcp", only("22-30")), ("-1", OPEN), ("17", BLOCKED)]
)
def test_protocols_of_acl_entries_are_read_in_every_spelling(reach: Reach, protocol: str, tcp: Decided) -> None:
    """An ACL has protocols by number, hand-made input has them by name; ports given with `-1` mean nothing."""
    entries = [
        entry(1, "allow", egress=True, protocol=protocol, ports=(22, 30)),
        entry(1, "allow", egress=False),
    ]

    assert reach(across(*entries), "a", "b") == tcp


# 13


@pytest.mark.parametrize(
    ("permission", "icmp"),
    [
        (row("icmp", 3, 4, cidr=[ANYWHERE]), only("772")),
        (row("1", 3, 4, cidr=[ANYWHERE]), only("772")),
        (row("icmp", 8, -1, cidr=[ANYWHERE]), only("2048-2303")),
        (row("icmp", 0, 0, cidr=[ANYWHERE]), only("0")),
        (row("icmp", -1, -1, cidr=[ANYWHERE]), OPEN),
        (row("icmpv6", -1, -1, cidr=[ANYWHERE]), BLOCKED),
        (row("tcp", 772, 772, cidr=[ANYWHERE]), BLOCKED),
    ],
)
def test_icmp_type_and_code_are_not_ports(reach: Reach, permission: Raw, icmp: Decided) -> None:
    """Type 3 code 4 is one message, at the point type * 256 + code, and no range of TCP ports."""
    document = two(ingress=[permission])

    assert reach(document, "a", "b", protocol="icmp") == icmp
    assert reach(document, "a", "b") == (only("772") if permission["IpProtocol"] == "tcp" else BLOCKED)


def test_icmp_of_an_acl_is_type_and_code(reach: Reach) -> None:
    """An ACL's type and code, -1 for any, decide about ICMP; every message must get back."""
    out = [entry(1, "deny", egress=True, protocol="1", message=(8, -1)), *allow_all()]
    assert reach(across(*out), "a", "b", protocol="icmp") == only("0-2047,2304-65535")

    back = [entry(1, "deny", egress=False, protocol="1", message=(3, 4)), *allow_all()]
    assert reach(across(*back), "a", "b", protocol="icmp") == BLOCKED


@pytest.mark.parametrize("permission", [row("icmpv6", cidr6=[ANYWHERE_6]), row("58", -1, -1, cidr6=[ANYWHERE_6])])
def test_icmpv6_without_type_is_all_of_it(reach: Reach, permission: Raw) -> None:
    """ICMPv6 by name or number, with no type or any, is every message of it."""
    nodes = [
        node("a", ipv6=["2001:db8:1::5"]),
        node("b", ipv6=["2001:db8:1::6"], groups=["sg-b"]),
    ]
    document = snapshot(nodes, [group("sg-a"), group("sg-b", ingress=[permission])])

    assert reach(document, "a", "b", protocol="icmpv6", family="ipv6") == OPEN
    assert reach(document, "a", "b", family="ipv6") == BLOCKED


# 14


@pytest.mark.parametrize(
    ("permission", "four", "six"),
    [
        (row(cidr=[ANYWHERE]), OPEN, BLOCKED),
        (row(cidr6=[ANYWHERE_6]), BLOCKED, OPEN),
        (row(cidr=[ANYWHERE], cidr6=[ANYWHERE_6]), OPEN, OPEN),
        (row(groups=["sg-a"]), OPEN, OPEN),
        (row(cidr6=["2001:db8:1::5/128"]), BLOCKED, OPEN),
        (row(cidr6=["2001:db8:1::6/128"]), BLOCKED, BLOCKED),
        (row(lists=["pl-6"]), BLOCKED, OPEN),
    ],
)
def test_address_families_are_apart(reach: Reach, permission: Raw, four: Decided, six: Decided) -> None:
    """A block of one family admits nothing of the other; a group admits both, a prefix list what it lists."""
    nodes = [
        node("a", "10.0.0.5", ipv6=["2001:db8:1::5"]),
        node("b", "10.0.0.6", ipv6=["2001:db8:1::6"], groups=["sg-b"]),
    ]
    rules = [group("sg-a"), group("sg-b", ingress=[permission])]
    document = snapshot(nodes, rules, PrefixListEntries={"pl-6": [{"Cidr": "2001:db8::/32"}]})

    assert reach(document, "a", "b") == four
    assert reach(document, "a", "b", family="ipv6") == six


def test_node_without_an_address_of_the_family_is_not_reached(reach: Reach) -> None:
    """A node with IPv6 alone is reached over IPv6 and not over IPv4."""
    nodes = [node("a", "10.0.0.5", ipv6=["2001:db8:1::5"]), node("b", ipv6=["2001:db8:1::6"])]
    document = snapshot(nodes, [SELF])

    assert {
        (pair, family): reach(document, *pair, family=family)
        for pair in (("a", "b"), ("b", "a"))
        for family in ("ipv4", "ipv6")
    } == {
        (("a", "b"), "ipv4"): BLOCKED,
        (("a", "b"), "ipv6"): OPEN,
        (("b", "a"), "ipv4"): BLOCKED,
        (("b", "a"), "ipv6"): OPEN,
    }


# 15


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"PrefixListEntries": {"pl-1": [{"Cidr": "10.9.0.0/16"}, {"Cidr": "10.0.0.5/32"}]}}, OPEN),
        ({"PrefixListEntries": {"pl-1": [{"Cidr": "10.9.0.0/16"}, {"Cidr": "10.0.0.6/32"}]}}, BLOCKED),
        ({"PrefixListEntries": {"pl-1": []}}, BLOCKED),
        ({"PrefixListEntries": {"pl-2": [{"Cidr": "10.0.0.5/32"}]}}, UNKNOWN),
        (
            {"PrefixListEntries": {}, "Denied": {"GetManagedPrefixListEntries": "UnauthorizedOperation"}},
            UNKNOWN,
        ),
        ({"without": ["PrefixListEntries"]}, UNKNOWN),
    ],
)
def test_prefix_list_admits_its_entries_and_is_unknown_unread(
    reach: Reach, more: dict[str, Any], expected: Decided
) -> None:
    """A prefix list admits the addresses of its entries; one that was not read may admit anybody."""
    assert reach(two(ingress=[row(lists=["pl-1"])], **more), "a", "b") == expected


def test_unread_prefix_list_does_not_hide_what_is_known(reach: Reach) -> None:
    """What another row admits for sure stays open; only the ports of the unread list are in doubt."""
    rows = [row("tcp", 20, 29, lists=["pl-1"]), row("tcp", 22, 25, groups=["sg-a"])]

    assert reach(two(ingress=rows), "a", "b") == ("22-25", "20-29")


# 16


@pytest.mark.parametrize(
    ("peer", "expected"),
    [("10.0.0.5/32", OPEN), ("10.0.0.77/32", BLOCKED), ("10.0.0.0/26", OPEN), ("10.0.0.64/26", BLOCKED)],
)
def test_primary_address_is_the_one_that_is_judged(reach: Reach, peer: str, expected: Decided) -> None:
    """Frameworks dial from the primary address: a row that holds a secondary one alone does not admit it."""
    addresses = [
        {"PrivateIpAddress": "10.0.0.77", "Primary": False},
        {"PrivateIpAddress": "10.0.0.5", "Primary": True},
    ]
    nodes = [
        node("a", "10.0.0.5", PrivateIpAddresses=addresses),
        node("b", "10.0.0.6", groups=["sg-b"]),
        node("c", "", PrivateIpAddresses=addresses),
    ]
    document = snapshot(nodes, [group("sg-a"), group("sg-b", ingress=[row(cidr=[peer])])])

    assert reach(document, "a", "b") == expected
    assert reach(document, "c", "b") == expected


def test_unaligned_block_is_read_as_ec2_stores_it(reach: Reach) -> None:
    """100.68.0.18/18 is 100.68.0.0/18: the bits behind the prefix don't count."""
    assert reach(two(ingress=[row(cidr=["10.0.0.129/24"])]), "a", "b") == OPEN
    assert reach(two(ingress=[row(cidr=["10.0.0.129/25"])]), "a", "b") == BLOCKED


# 17


def test_each_interface_has_its_own_groups(reach: Reach) -> None:
    """SSH on one interface and HTTP on the other of an instance are not both on either."""
    instances = [
        node("a", "10.0.0.5"),
        instance(
            interface("b", "10.0.0.6", groups=["sg-ssh"]),
            interface("b2", "10.0.0.7", groups=["sg-http"], device=1, of="b"),
            SecurityGroups=[{"GroupId": "sg-ssh"}],
        ),
    ]
    rules = [
        group("sg-a"),
        group("sg-ssh", ingress=[row("tcp", 22, cidr=[ANYWHERE])]),
        group("sg-http", ingress=[row("tcp", 80, cidr=[ANYWHERE])]),
    ]
    document = snapshot(instances, rules)

    assert reach(document, "a", "b") == only("22")
    assert reach(document, "a", "b2") == only("80")


def test_primary_interface_is_device_0_wherever_it_is_listed() -> None:
    """The node of an instance is its device 0 on card 0, not the interface that happens to come first."""
    instances = [
        instance(interface("b2", "10.0.0.7", device=1, of="b"), interface("b", "10.0.0.6")),
    ]
    built = built_of(snapshot(instances, [SELF]))

    assert [(item.instance.instance_id, item.address) for item in built.nodes] == [("i-b", "10.0.0.6")]


# 18


def built_of(document: Raw, *, include_stopped: bool = False, family: Family = Family.IPV4) -> matrix.Matrix:
    """Build the matrix of all members by their primary interfaces."""
    read = parse(document)
    chosen = Selection(everything=True, include_stopped=include_stopped, family=family)
    return matrix.build(read, select(read, chosen), family=family)


def test_interface_without_an_address_breaks_nothing(reach: Reach) -> None:
    """An EFA-only interface has no address: no TCP leads to it, and the other pairs are judged as ever."""
    efa = interface("b2", device=1, of="b", InterfaceType="efa-only")
    instances = [node("a", "10.0.0.5"), instance(interface("b", "10.0.0.6"), efa)]
    document = snapshot(instances, [SELF])

    assert {pair: reach(document, *pair) for pair in (("a", "b"), ("a", "b2"), ("b2", "a"))} == {
        ("a", "b"): OPEN,
        ("a", "b2"): BLOCKED,
        ("b2", "a"): BLOCKED,
    }


# 19, 29


def test_interfaces_of_services_are_no_nodes() -> None:
    """A file system's or load balancer's interface is no member, with groups or without, and changes no verdict."""
    services = [
        {
            **interface("fsx", "10.0.0.50"),
            "RequesterManaged": True,
            "RequesterId": "amazon-fsx",
            "Attachment": {"AttachmentId": "ela-attach-1", "InstanceOwnerId": "amazon-aws", "DeviceIndex": 0},
        },
        {
            **interface("nlb", "10.0.0.51", groups=[]),
            "RequesterManaged": True,
            "InterfaceType": "network_load_balancer",
            "Attachment": {"InstanceOwnerId": "amazon-elb", "DeviceIndex": 1},
        },
        {key: value for key, value in interface("free", "10.0.0.52").items() if key != "Attachment"},
    ]
    document = snapshot([node("a", "10.0.0.5"), node("b", "10.0.0.6")], [SELF])
    document["NetworkInterfaces"] += services
    built = built_of(document)

    assert [item.address for item in built.nodes] == ["10.0.0.5", "10.0.0.6"]
    assert str(built.open_ports(0, 1, "tcp")) == ALL


# 20


def test_stopped_instance_is_a_node_only_when_asked() -> None:
    """A stopped node keeps its interface and comes back: it counts with `--include-stopped` and is else left out."""
    nodes = [
        node("a", "10.0.0.5"),
        instance(interface("b", "10.0.0.6"), state="stopped"),
        instance(interface("c", "10.0.0.7"), state="pending"),
        instance(interface("d", "10.0.0.8"), state="terminated"),
    ]
    document = snapshot(nodes, [SELF])

    assert [item.address for item in built_of(document).nodes] == ["10.0.0.5", "10.0.0.7"]
    with_stopped = built_of(document, include_stopped=True)
    assert [item.address for item in with_stopped.nodes] == ["10.0.0.5", "10.0.0.6", "10.0.0.7"]
    assert str(with_stopped.open_ports(0, 1, "tcp")) == ALL


def test_stopped_instances_alone_are_told() -> None:
    """A selection that finds stopped instances alone says so, it does not pass as an empty cluster."""
    document = snapshot([instance(interface("a", "10.0.0.5"), state="stopped")], [SELF])

    with pytest.raises(EmptySelectionError, match="1 stopped left out"):
        built_of(document)


# 22


def test_group_without_rows_denies(reach: Reach) -> None:
    """A group without rows admits nothing, and one whose egress was emptied lets nothing out."""
    assert reach(two(ingress=[]), "a", "b") == BLOCKED
    assert reach(two(ingress=[EVERYTHING], egress=[]), "a", "b") == BLOCKED


def test_interface_without_groups_admits_nothing(reach: Reach) -> None:
    """An interface that carries no group admits nothing and lets nothing out."""
    nodes = [node("a", "10.0.0.5"), node("b", "10.0.0.6", groups=[])]
    document = snapshot(nodes, [WORLD])

    assert [reach(document, "a", "b"), reach(document, "b", "a")] == [BLOCKED, BLOCKED]


# 23


def test_egress_of_the_source_counts(reach: Reach) -> None:
    """Ingress that admits everything does not help a source that is let out to port 443 alone."""
    egress = [row("tcp", 443, cidr=[ANYWHERE])]

    assert reach(two(ingress=[EVERYTHING], egress=egress), "a", "b") == only("443")


# 24


def test_public_address_of_a_node_is_not_matched(reach: Reach) -> None:
    """Nodes dial each other's private addresses: a row for the source's public address does not admit it."""
    public = {"PublicIp": "198.51.100.7", "IpOwnerId": "amazon"}
    document = two(ingress=[row(cidr=["198.51.100.7/32"])])
    for item in document["NetworkInterfaces"]:
        item["Association"] = public

    assert reach(document, "a", "b") == BLOCKED


# 25


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row("tcp", 22, groups=["sg-a"]), row("tcp", 22, cidr=["10.0.0.0/24"])], only("22")),
        ([row("tcp", 22, groups=["sg-a"])], only("22")),
        ([row("tcp", 22, cidr=["10.0.0.0/24"])], only("22")),
        ([], BLOCKED),
    ],
)
def test_two_rows_that_imply_each_other_are_not_both_idle(reach: Reach, rows: list[Raw], expected: Decided) -> None:
    """Of two rows that admit the same either may go; without both the path is closed."""
    assert reach(two(ingress=rows), "a", "b") == expected


# 26


@pytest.mark.parametrize("key", ["NetworkAcls", "RouteTables"])
def test_missing_data_is_neither_open_nor_blocked(reach: Reach, key: str) -> None:
    """ACLs or routes that were not read leave every path between subnets unknown, and those within one judged."""
    nodes = [*pair_of({}, {}), node("c", "10.0.0.7")]
    document = snapshot(nodes, [group(ingress=[row("tcp", 22, groups=["sg-a"])])], without=[key])

    assert reach(document, "a", "b") == ("", "22")
    assert reach(document, "a", "c") == only("22")


def test_missing_security_groups_are_unknown(reach: Reach) -> None:
    """A group that was not read may admit anything; an interface that carries none still admits nothing."""
    nodes = [node("a", "10.0.0.5"), node("b", "10.0.0.6", groups=["sg-b"]), node("c", "10.0.0.7", groups=[])]

    for document in (snapshot(nodes, [WORLD]), snapshot(nodes, [], without=["SecurityGroups"])):
        assert reach(document, "a", "b") == UNKNOWN
        assert reach(document, "a", "c") == BLOCKED


def test_missing_groups_of_an_interface_are_unknown(reach: Reach) -> None:
    """An interface of which the groups were not read may be a member of any, and may admit anything."""
    nodes = [node("a", "10.0.0.5"), node("b", "10.0.0.6", groups=None)]
    document = snapshot(nodes, [group(ingress=[row("tcp", 22, groups=["sg-a"])])])

    assert reach(document, "a", "b") == UNKNOWN
    assert reach(document, "b", "a") == ("", "22")


def test_missing_groups_of_a_primary_interface_are_those_of_its_instance(reach: Reach) -> None:
    """An instance's own security groups are those of its primary interface (EC2 API reference)."""
    nodes = [
        node("a", "10.0.0.5"),
        instance(interface("b", "10.0.0.6", groups=None), SecurityGroups=[{"GroupId": "sg-a"}]),
    ]

    assert reach(snapshot(nodes, [SELF]), "a", "b") == OPEN


def test_missing_groups_of_a_second_interface_are_unknown(reach: Reach) -> None:
    """The groups of an instance say nothing about its second interface."""
    instances = [
        node("a", "10.0.0.5"),
        instance(
            interface("b", "10.0.0.6"),
            interface("b2", "10.0.0.7", groups=None, device=1, of="b"),
            SecurityGroups=[{"GroupId": "sg-a"}],
        ),
    ]

    assert reach(snapshot(instances, [SELF]), "a", "b2") == UNKNOWN


def test_missing_default_acl_is_unknown(reach: Reach) -> None:
    """A subnet with no ACL of its own has its VPC's default ACL; where that was not read nothing is sure."""
    document = snapshot(pair_of({}, {}), [WORLD], acls=[acl("acl-1", allow_all(), subnets=["subnet-1"])])
    document["NetworkAcls"] = [item for item in document["NetworkAcls"] if item["NetworkAclId"] == "acl-1"]

    assert reach(document, "a", "b") == UNKNOWN


def test_missing_data_does_not_hide_a_sure_blocker(reach: Reach) -> None:
    """A path that a security group blocks for sure is blocked, whatever else was not read."""
    document = snapshot(pair_of({}, {}), [group()], without=["NetworkAcls", "RouteTables"])

    assert reach(document, "a", "b") == BLOCKED


def test_unread_acl_of_one_subnet_does_not_hide_the_denial_of_the_other(reach: Reach) -> None:
    """Ports that the ACL which was read denies are blocked, the others unknown."""
    entries = [entry(1, "deny", egress=True, protocol="6", ports=(22, 22)), *allow_all()]
    document = across(*entries)
    document["NetworkAcls"] = [item for item in document["NetworkAcls"] if item["NetworkAclId"] == "acl-1"]

    assert reach(document, "a", "b") == ("", "0-21,23-65535")


# 27


@pytest.mark.parametrize("carried", list(permutations(["sg-none", "sg-ssh", "sg-mesh"])))
def test_any_row_of_any_group_admits(reach: Reach, carried: tuple[str, ...]) -> None:
    """An interface admits what any of its groups admits, in whatever order it carries them."""
    nodes = [node("a", "10.0.0.5", groups=["sg-mesh"]), node("b", "10.0.0.6", groups=carried)]
    rules = [
        group("sg-none", egress=[]),
        group("sg-ssh", ingress=[row("tcp", 22, cidr=["192.0.2.0/24", "10.0.0.5/32"])]),
        group("sg-mesh", ingress=[row("udp", 0, 65535, cidr=[ANYWHERE]), row("tcp", 23, groups=["sg-mesh"])]),
    ]

    assert reach(snapshot(nodes, rules), "a", "b") == only("22-23")


# 28


def test_source_and_destination_check_changes_no_verdict(reach: Reach) -> None:
    """An interface that may forward for others still sends from its own address when it dials."""
    document = two(ingress=[row("tcp", 22, cidr=["10.0.0.5/32"])])
    for item in document["NetworkInterfaces"]:
        item["SourceDestCheck"] = False

    assert reach(document, "a", "b") == only("22")
