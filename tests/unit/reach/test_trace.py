"""Traces of small networks: what blocks, where, by which code; which rules decided and which came close."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from sgaudit.model import AclEntry, Family, Permission, Route
from sgaudit.ports import ALL, PortSet
from sgaudit.reach.matrix import build
from sgaudit.reach.trace import trace
from sgaudit.reach.trace_outside import is_private, outsider
from sgaudit.reach.trace_values import Code, Decision, Trace
from sgaudit.selection import Interfaces, Selection, select
from sgaudit.snapshot import parse
from tests.builders import (
    ANYWHERE,
    EVERYTHING,
    OWNER,
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

SELF = row(groups=["sg-a"])
OPEN_GROUP = group(ingress=[SELF])
Blocked = tuple[str, str, str, str]
WORLD = "203.0.113.9"


def follow(
    document: Mapping[str, Any],
    source: str = "a",
    target: str = "b",
    *,
    protocol: str = "tcp",
    ports: str = "29500",
    family: str = "ipv4",
) -> Trace:
    """Follow packets between the interfaces of two nodes; an end with a dot or colon is an address outside."""
    parsed = parse(document)
    chosen = Selection(everything=True, include_stopped=True, interfaces=Interfaces.ALL, family=Family(family))
    members = list(select(parsed, chosen))
    members += [outsider(end) for end in (source, target) if "." in end or ":" in end]
    matrix = build(parsed, members, family=Family(family))
    index = {item.instance.instance_id.removeprefix("i-"): item.index for item in matrix.nodes}
    return trace(matrix, index[source], index[target], protocol, PortSet.parse(ports))


def blocked(found: Trace) -> list[Blocked]:
    return [(item.code, item.layer, item.resource.id, str(item.ports)) for item in found.blockers]


def across(
    *, acls: Sequence[Any] = (), tables: Sequence[Any] = (), groups: Sequence[Any] = (OPEN_GROUP,), **more: Any
) -> dict[str, Any]:
    """Give `a` in subnet-1 and `b` in subnet-2."""
    return snapshot(pair_of({}, {}), groups, acls=acls, tables=tables, **more)


def peers(
    *, status: str = "active", there: str = "pcx-1", back: str = "pcx-1", groups: Sequence[Any] = (), **more: Any
) -> dict[str, Any]:
    """Give `a` in vpc-1 and `b` in vpc-2, with a peering connection between them and routes over it."""
    ends = [node("a", "10.0.0.5"), node("b", "10.2.0.5", subnet="subnet-3", groups=["sg-b"])]
    both = groups or [group("sg-a"), group("sg-b", vpc="vpc-2", ingress=[row(cidr=["10.0.0.0/16"])])]
    tables = [
        table("rtb-1", [route("10.2.0.0/16", VpcPeeringConnectionId=there)] if there else []),
        table("rtb-2", [route("10.0.0.0/16", VpcPeeringConnectionId=back)] if back else [], vpc="vpc-2"),
    ]
    connections = [peering("pcx-1", "vpc-1", "vpc-2", status=status)]
    return snapshot(ends, both, **{"tables": tables, "VpcPeeringConnections": connections, **more})


def closed(direction: str, *, at: str, ports: tuple[int, int] | None = None) -> list[Any]:
    """Give an ACL of one subnet that denies packets of one direction and lets all others pass."""
    deny = entry(50, "deny", egress=direction == "egress", protocol="6", ports=ports or (0, 65535))
    return [acl("acl-x", [deny, *allow_all()], subnets=[at])]


STALE = {
    "GroupId": "sg-a",
    "UserId": OWNER,
    "VpcId": "vpc-1",
    "VpcPeeringConnectionId": "pcx-0",
    "PeeringStatus": "deleted",
}
BOX = {"NetworkInterfaceId": "eni-box"}
THROUGH_BOX = [table("rtb-1", [route("10.0.1.0/24", **BOX)]), table("rtb-s2", subnets=["subnet-2"])]

CASES: dict[str, tuple[dict[str, Any], list[Blocked]]] = {
    "nothing blocks": (across(), []),
    "no egress": (
        across(groups=[group(ingress=[SELF], egress=[])]),
        [("SG_EGRESS_MISSING", "egress", "sg-a", "29500")],
    ),
    "no ingress": (across(groups=[group()]), [("SG_INGRESS_MISSING", "ingress", "sg-a", "29500")]),
    "neither": (
        across(groups=[group(egress=[])]),
        [("SG_EGRESS_MISSING", "egress", "sg-a", "29500"), ("SG_INGRESS_MISSING", "ingress", "sg-a", "29500")],
    ),
    "no group at all": (
        snapshot(pair_of({"groups": []}, {}), [group(ingress=[EVERYTHING])]),
        [("SG_EGRESS_MISSING", "egress", "eni-a", "29500")],
    ),
    "group not read": (
        snapshot(pair_of({"groups": ["sg-b"]}, {}), [group(ingress=[EVERYTHING])]),
        [("NOT_READ", "egress", "sg-b", "29500")],
    ),
    "groups of an interface not known": (
        snapshot(pair_of({"groups": None}, {}), [group(ingress=[EVERYTHING])]),
        [("NOT_READ", "egress", "eni-a", "29500")],
    ),
    "whether the source carries the group is not known": (
        snapshot(pair_of({"groups": None}, {}), [group(ingress=[row(groups=["sg-a"])])]),
        [("NOT_READ", "egress", "eni-a", "29500"), ("NOT_READ", "ingress", "eni-a", "29500")],
    ),
    "prefix list not read": (
        across(groups=[group(ingress=[row(lists=["pl-1"])])]),
        [("NOT_READ", "ingress", "pl-1", "29500")],
    ),
    "stale reference": (
        peers(groups=[group("sg-a"), group("sg-b", vpc="vpc-2", ingress=[row(groups=[STALE])])]),
        [("SG_REFERENCE_STALE", "ingress", "sg-b", "29500")],
    ),
    "acl out": (
        across(acls=closed("egress", at="subnet-1", ports=(29000, 30000))),
        [("ACL_DENIES_OUT", "acl-out", "acl-x", "29500")],
    ),
    "acl in": (
        across(acls=closed("ingress", at="subnet-2", ports=(29000, 30000))),
        [("ACL_DENIES_IN", "acl-in", "acl-x", "29500")],
    ),
    "return out": (
        across(acls=closed("egress", at="subnet-2", ports=(40000, 50000))),
        [("ACL_DENIES_RETURN_OUT", "return-out", "acl-x", "40000-50000")],
    ),
    "return in": (
        across(acls=closed("ingress", at="subnet-1", ports=(32768, 32768))),
        [("ACL_DENIES_RETURN_IN", "return-in", "acl-x", "32768")],
    ),
    "every acl and every group": (
        across(
            acls=[acl("acl-x", [], subnets=["subnet-1"]), acl("acl-y", [], subnets=["subnet-2"])],
            groups=[group(egress=[])],
        ),
        [
            ("SG_EGRESS_MISSING", "egress", "sg-a", "29500"),
            ("ACL_DENIES_OUT", "acl-out", "acl-x", "29500"),
            ("ACL_DENIES_IN", "acl-in", "acl-y", "29500"),
            ("SG_INGRESS_MISSING", "ingress", "sg-a", "29500"),
            ("ACL_DENIES_RETURN_OUT", "return-out", "acl-y", "32768-60999"),
            ("ACL_DENIES_RETURN_IN", "return-in", "acl-x", "32768-60999"),
        ],
    ),
    "acls not read": (
        across(without=["NetworkAcls"]),
        [
            ("NOT_READ", "acl-out", "subnet-1", "29500"),
            ("NOT_READ", "acl-in", "subnet-2", "29500"),
            ("NOT_READ", "return-out", "subnet-2", "29500"),
            ("NOT_READ", "return-in", "subnet-1", "29500"),
        ],
    ),
    "tables not read": (
        across(without=["RouteTables"]),
        [("NOT_READ", "route", "subnet-1", "29500"), ("NOT_READ", "return-route", "subnet-2", "29500")],
    ),
    "peering": (peers(), []),
    "no route": (peers(there=""), [("NO_ROUTE", "route", "rtb-1", "29500")]),
    "no return route": (peers(back=""), [("NO_RETURN_ROUTE", "return-route", "rtb-2", "29500")]),
    "peering gone": (
        peers(status="deleted"),
        [("PEERING_NOT_ACTIVE", "route", "pcx-1", "29500"), ("PEERING_NOT_ACTIVE", "return-route", "pcx-1", "29500")],
    ),
    "peering not read": (
        peers(there="pcx-9"),
        [("NOT_READ", "route", "pcx-9", "29500")],
    ),
    "blackhole": (
        across(
            tables=[
                table("rtb-1", [route("10.0.1.0/24", state="blackhole", **BOX)]),
                table("rtb-s2", [route("10.0.0.0/24", state="blackhole", **BOX)], subnets=["subnet-2"]),
            ]
        ),
        [
            ("ROUTE_BLACKHOLE", "route", "rtb-1", "29500"),
            ("RETURN_ROUTE_BLACKHOLE", "return-route", "rtb-s2", "29500"),
        ],
    ),
    "to the internet": (
        peers(
            tables=[
                table("rtb-1", [route(ANYWHERE, GatewayId="igw-1")]),
                table("rtb-2", [route(ANYWHERE, GatewayId="igw-2")], vpc="vpc-2"),
            ]
        ),
        [
            ("ROUTE_LEADS_ELSEWHERE", "route", "rtb-1", "29500"),
            ("RETURN_ROUTE_LEADS_ELSEWHERE", "return-route", "rtb-2", "29500"),
        ],
    ),
    "transit gateway": (
        peers(
            tables=[
                table("rtb-1", [route(ANYWHERE, TransitGatewayId="tgw-1")]),
                table("rtb-2", [route(ANYWHERE, TransitGatewayId="tgw-1")], vpc="vpc-2"),
            ]
        ),
        [("UNKNOWN_TARGET", "route", "tgw-1", "29500"), ("UNKNOWN_TARGET", "return-route", "tgw-1", "29500")],
    ),
    "route by a list that was not read": (
        across(
            tables=[table("rtb-1", [route("pl-1", TransitGatewayId="tgw-1")]), table("rtb-s2", subnets=["subnet-2"])]
        ),
        [("NOT_READ", "route", "pl-1", "29500")],
    ),
    "middlebox": (
        across(tables=THROUGH_BOX, groups=[group(ingress=[row(cidr=["10.0.0.0/16"])])]),
        [("MIDDLEBOX", "route", "eni-box", "29500")],
    ),
    "lost reference": (
        across(tables=THROUGH_BOX),
        [("MIDDLEBOX", "route", "eni-box", "29500"), ("SG_REFERENCE_LOST", "ingress", "sg-a", "29500")],
    ),
    "no address": (
        snapshot(pair_of({"address": ""}, {}), [OPEN_GROUP]),
        [("NO_ADDRESS", "address", "eni-a", "29500")],
    ),
    "neither has an address": (
        snapshot(pair_of({"address": ""}, {"address": ""}), [OPEN_GROUP]),
        [("NO_ADDRESS", "address", "eni-a", "29500"), ("NO_ADDRESS", "address", "eni-b", "29500")],
    ),
    "interface not seen": (
        snapshot(
            [{**node("a", "10.0.0.5"), "NetworkInterfaces": []}, node("b")], [OPEN_GROUP], without=["NetworkInterfaces"]
        ),
        [("NOT_READ", "interface", "i-a", "29500")],
    ),
    "one subnet": (
        snapshot(
            [node("a", "10.0.0.5"), node("b", "10.0.0.6")], [OPEN_GROUP], acls=[acl("acl-x", [], subnets=["subnet-1"])]
        ),
        [],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_blockers(name: str) -> None:
    """Everything that blocks, or may, is named with its code, stage, resource and ports, in the order of the path."""
    document, expected = CASES[name]
    assert blocked(follow(document)) == expected


def test_every_code_is_seen() -> None:
    """No code is without a case here."""
    cases = [blocked(follow(document)) for document, _ in CASES.values()]
    cases += [blocked(follow(*args)) for args in [(world(), WORLD, "a")]]
    assert {item[0] for found in cases for item in found} == set(Code)


VERDICTS = [
    ("nothing blocks", "29500", "open", "29500", "29500"),
    ("return out", "29500", "blocked", "", ""),
    ("acl in", "29500,40000", "partial", "40000", "40000"),
    ("group not read", "29500", "unknown", "", "29500"),
    ("lost reference", "29500", "blocked", "", ""),
    ("middlebox", "1-2", "unknown", "", "1-2"),
]


@pytest.mark.parametrize(("name", "ports", "verdict", "opened", "possible"), VERDICTS)
def test_verdict(name: str, ports: str, verdict: str, opened: str, possible: str) -> None:
    """The verdict is on all ports asked about, with those that are open and those that may be."""
    found = follow(CASES[name][0], ports=ports)
    assert (str(found.verdict), str(found.opened), str(found.possible)) == (verdict, opened, possible)


def test_hops_in_order() -> None:
    """Every stage is there once, there and back; each tells which end it is at, its direction and its way."""
    hops = [(hop.layer, hop.resource.id, hop.near_source, hop.egress, hop.answer) for hop in follow(across()).hops]
    assert hops == [
        ("egress", "eni-a", True, True, False),
        ("acl-out", "acl-vpc-1", True, True, False),
        ("route", "rtb-vpc-1", True, True, False),
        ("acl-in", "acl-vpc-1", False, False, False),
        ("ingress", "eni-b", False, False, False),
        ("return-out", "acl-vpc-1", False, True, True),
        ("return-route", "rtb-vpc-1", False, True, True),
        ("return-in", "acl-vpc-1", True, False, True),
    ]


def test_one_subnet_asks_groups_alone() -> None:
    """Within one subnet ACLs and routes are in the path, but not asked."""
    found = follow(CASES["one subnet"][0])
    assert [hop.layer for hop in found.hops if not hop.skipped] == ["egress", "ingress"]


def test_ports_after_each_hop() -> None:
    """Ports get fewer along the path and never come back."""
    document = across(
        acls=closed("egress", at="subnet-1", ports=(0, 79)),
        groups=[group(ingress=[row("tcp", 22, 1023, groups=["sg-a"])])],
    )
    found = follow(document, ports="20-2000")
    assert [str(found.after(place)[0]) for place in range(8)] == ["20-2000", *["80-2000"] * 3, *["80-1023"] * 4]


def told(decision: Decision) -> tuple[str, str, str, str, list[str]]:
    rule = decision.rule
    match rule:
        case Permission():
            name = f"{rule.protocol} {rule.peer}"
        case AclEntry():
            name = str(rule.number)
        case Route():
            name = f"{decision.destination} {rule.target_id}"
        case _:
            name = "-"
    return decision.holder.id, name, decision.effect, str(decision.ports), [str(why) for why in decision.misses]


def rules(found: Trace, layer: str) -> list[tuple[str, str, str, str, list[str]]]:
    return [told(item) for hop in found.hops if hop.layer == layer for item in hop.decisions]


def test_permissions_that_admit() -> None:
    """Where all ports pass, the permissions that let them pass are named with their ports, and no others."""
    ingress = [
        row("tcp", 0, 100, groups=["sg-a"]),
        row("tcp", 50, 200, cidr=["10.0.0.0/8"]),
        row("udp", 0, 9, cidr=[ANYWHERE]),
    ]
    found = follow(across(groups=[group(ingress=ingress)]), ports="60-150")
    assert rules(found, "ingress") == [
        ("sg-a", "tcp sg-a", "allows", "60-100", []),
        ("sg-a", "tcp 10.0.0.0/8", "allows", "60-150", []),
    ]


NEAR_MISSES = [
    (row("udp", 29500, groups=["sg-a"]), ["protocol"]),
    (row("tcp", 29501, 65535, groups=["sg-a"]), ["ports"]),
    (row("tcp", 29500, cidr=["10.0.1.0/24"]), ["address"]),
    (row("tcp", 29500, cidr6=["::/0"]), ["family"]),
    (row("tcp", 29500, groups=["sg-c"]), ["not-carried"]),
    (row("tcp", 29500, lists=["pl-1"]), ["not-listed"]),
    (row("tcp", 29500, groups=[STALE]), ["stale"]),
    (row("udp", 29500, groups=["sg-c"]), ["protocol", "not-carried"]),
]


@pytest.mark.parametrize(("permission", "misses"), NEAR_MISSES)
def test_permissions_that_came_close(permission: Any, misses: list[str]) -> None:
    """Where ports are missing, a permission that does not match is named with each reason."""
    document = across(groups=[group(ingress=[permission])], PrefixListEntries={"pl-1": [{"Cidr": "10.9.0.0/16"}]})
    assert [item[4] for item in rules(follow(document), "ingress")] == [misses]


def test_only_the_closest_are_named() -> None:
    """Permissions that miss for more reasons than others are left out; what tells more comes first."""
    ingress = [
        row("udp", 29500, groups=["sg-c"]),
        row("udp", 29500, groups=["sg-a"]),
        row("tcp", 29500, groups=["sg-c"]),
    ]
    found = follow(across(groups=[group(ingress=ingress)]))
    assert [(item[1], item[4]) for item in rules(found, "ingress")] == [
        ("tcp sg-c", ["not-carried"]),
        ("udp sg-a", ["protocol"]),
    ]


def test_behind_a_middlebox() -> None:
    """The permission that a middlebox makes void is named with that reason."""
    assert rules(follow(CASES["lost reference"][0]), "ingress") == [("sg-a", "-1 sg-a", "misses", "29500", ["lost"])]


def test_entries_in_order() -> None:
    """The entries that decide are named by number with the ports that each decides on; the end is a deny."""
    entries = [
        entry(10, "allow", egress=True, protocol="6", ports=(80, 100)),
        entry(20, "deny", egress=True, protocol="6", ports=(90, 200)),
        entry(30, "allow", egress=True, protocol="17", ports=(0, 65535)),
        entry(40, "allow", egress=True, protocol="6", ports=(150, 300), cidr="10.0.1.0/24"),
        *(item for item in allow_all() if not item["Egress"]),
    ]
    found = follow(across(acls=[acl("acl-x", entries, subnets=["subnet-1"])]), ports="85-400")
    assert rules(found, "acl-out") == [
        ("acl-x", "10", "allows", "85-100", []),
        ("acl-x", "20", "denies", "101-200", []),
        ("acl-x", "40", "allows", "201-300", []),
        ("acl-x", "-", "denies", "301-400", []),
    ]


def test_routes() -> None:
    """The route that is chosen is named with its destination; a local route that is not listed needs none."""
    assert rules(follow(peers()), "route") == [("rtb-1", "10.2.0.0/16 pcx-1", "allows", "29500", [])]
    bare = across(tables=[{**table("rtb-1"), "Routes": []}])
    assert rules(follow(bare), "route") == [("rtb-1", "-", "allows", "29500", [])]


ALL_TRAFFIC = [
    ([row(groups=["sg-a"])], "open"),
    ([row("tcp", 0, 65535, groups=["sg-a"]), row("udp", 0, 65535, groups=["sg-a"])], "blocked"),
]


@pytest.mark.parametrize(("ingress", "verdict"), ALL_TRAFFIC)
def test_all_traffic(ingress: list[Any], verdict: str) -> None:
    """Every protocol passes by an all-protocol permission alone, not by several that add up to much."""
    assert str(follow(across(groups=[group(ingress=ingress)]), protocol="all").verdict) == verdict


# Outside


def world(
    *, gateway: str = "igw-1", public: str = "", ingress: Sequence[Any] = (EVERYTHING,), **more: Any
) -> dict[str, Any]:
    """Give `a` in a subnet whose default route leads to something."""
    key = {"i": "GatewayId", "n": "NatGatewayId", "t": "TransitGatewayId", "e": "NetworkInterfaceId"}
    routes = [route(ANYWHERE, **{key[gateway[0]]: gateway})] if gateway else []
    end = interface("a", "10.0.0.5", ipv6=["2001:db8::5"])
    if public:
        end["Association"] = {"PublicIp": public}
    ends = [instance(end)]
    return snapshot(ends, [group(ingress=ingress)], tables=[table("rtb-1", routes)], **more)


PUBLIC = "198.51.100.7"
OUTSIDE: list[tuple[dict[str, Any], str, str, list[Blocked]]] = [
    (world(public=PUBLIC), "a", WORLD, []),
    (world(public=PUBLIC), WORLD, "a", []),
    (world(), "a", WORLD, [("NO_PUBLIC_ADDRESS", "address", "eni-a", "29500")]),
    (world(), WORLD, "a", [("NO_PUBLIC_ADDRESS", "address", "eni-a", "29500")]),
    (world(gateway=""), "a", WORLD, [("NO_ROUTE", "route", "rtb-1", "29500")]),
    (
        world(gateway="", public=PUBLIC),
        WORLD,
        "a",
        [("NO_RETURN_ROUTE", "return-route", "rtb-1", "29500")],
    ),
    (world(gateway="nat-1"), "a", WORLD, [("UNKNOWN_TARGET", "route", "nat-1", "29500")]),
    (world(gateway="eni-box", public=PUBLIC), WORLD, "a", [("MIDDLEBOX", "return-route", "eni-box", "29500")]),
    (world(public=PUBLIC, ingress=[]), WORLD, "a", [("SG_INGRESS_MISSING", "ingress", "sg-a", "29500")]),
    (
        world(public=PUBLIC, ingress=[row(cidr=["198.51.100.0/24"])]),
        WORLD,
        "a",
        [("SG_INGRESS_MISSING", "ingress", "sg-a", "29500")],
    ),
    (
        world(public=PUBLIC, acls=[acl("acl-x", closed("egress", at="")[0]["Entries"], subnets=["subnet-1"])]),
        WORLD,
        "a",
        [("ACL_DENIES_RETURN_OUT", "return-out", "acl-x", "32768-60999")],
    ),
    (world(), "a", "192.168.0.1", [("ROUTE_LEADS_ELSEWHERE", "route", "rtb-1", "29500")]),
    (world(gateway="tgw-1"), "192.168.0.1", "a", [("UNKNOWN_TARGET", "return-route", "tgw-1", "29500")]),
    (world(), "a", "10.0.1.99", [("NOT_READ", "interface", "10.0.1.99", "29500")]),
    (world(), "10.0.0.99", "a", [("NOT_READ", "interface", "10.0.0.99", "29500")]),
    (peers(), "a", "10.2.0.99", [("NOT_READ", "interface", "10.2.0.99", "29500")]),
    (peers(status="expired"), "a", "10.2.0.99", [("PEERING_NOT_ACTIVE", "route", "pcx-1", "29500")]),
    (world(without=["RouteTables"]), "a", WORLD, [("NOT_READ", "route", "subnet-1", "29500")]),
]


@pytest.mark.parametrize(("document", "source", "target", "expected"), OUTSIDE)
def test_outside(document: dict[str, Any], source: str, target: str, expected: list[Blocked]) -> None:
    """Of a path to or from an address outside, the end inside is judged, and what the address needs to be reached."""
    assert blocked(follow(document, source, target)) == expected


def test_no_acl_within_the_subnet_of_an_address_not_seen() -> None:
    """An address in the member's own subnet is not behind the subnet's ACL."""
    document = world(acls=[acl("acl-x", [], subnets=["subnet-1"])])
    assert blocked(follow(document, "a", "10.0.0.99")) == [("NOT_READ", "interface", "10.0.0.99", "29500")]
    assert [item[0] for item in blocked(follow(document, "a", "10.0.1.99"))] == [
        "ACL_DENIES_OUT",
        "NOT_READ",
        "ACL_DENIES_RETURN_IN",
    ]


def test_ipv6_needs_no_public_address() -> None:
    """An IPv6 address is reachable from the internet as it is."""
    document = world()
    document["RouteTables"] = [
        {**item, "Routes": [*item["Routes"], route("::/0", GatewayId="igw-1")]} for item in document["RouteTables"]
    ]
    assert blocked(follow(document, "2001:db8:ffff::1", "a", family="ipv6")) == []


@pytest.mark.parametrize(
    ("address", "private"),
    [
        ("10.1.2.3", True),
        ("172.31.0.1", True),
        ("172.32.0.1", False),
        ("100.127.0.1", True),
        ("203.0.113.9", False),
        ("8.8.8.8", False),
        ("fd00::1", True),
        ("2001:db8::1", False),
    ],
)
def test_private(address: str, private: bool) -> None:
    """Addresses that the internet does not route are private."""
    assert is_private(address) is private


def test_asked_is_everything_for_all_traffic() -> None:
    """Ports don't matter where every protocol is asked about."""
    assert follow(across(), protocol="all", ports="22").asked == ALL
