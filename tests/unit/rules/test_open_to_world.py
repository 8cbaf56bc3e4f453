"""Groups that let public addresses in on a policy's ports are found, by what really arrives."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.policy.load import load
from sgaudit.policy.model import Requirements
from sgaudit.policy.resolve import resolve
from sgaudit.rules.audit import audit
from sgaudit.rules.finding import Finding
from sgaudit.rules.open_to_world import RULE
from sgaudit.selection import select
from sgaudit.severity import Severity
from sgaudit.snapshot import parse
from tests.builders import ANYWHERE, ANYWHERE_6, acl, allow_all, entry, group, interface, node, peering, route, row
from tests.unit.rules.outdoors import NODES, OUT, SELF, TO_INTERNET, TO_INTERNET_6, WORLD, guarded, outdoors, public
from tests.unit.rules.scene import EVERYWHERE, found

Raw = dict[str, Any]

SIX = [node("a", "10.0.0.5", ipv6=["2600:1f18::5"]), node("b", "10.0.0.6", ipv6=["2600:1f18::6"])]
WORLD_6 = row("tcp", 0, 65535, cidr6=[ANYWHERE_6])


def counted(finding: Finding) -> dict[str, int]:
    return {family: int(text) for family, text in finding.evidence["addresses"].items()}


def grave(document: Raw) -> list[tuple[str, str]]:
    return [(item.resource.id, str(item.severity)) for item in found(RULE, document)]


def addresses(document: Raw) -> list[dict[str, int]]:
    return [counted(item) for item in found(RULE, document)]


def test_whole_finding() -> None:
    """It names the group, the traffic, from how far, the permission, the members and how they can be dialled."""
    document = outdoors(SELF, row("tcp", 1024, 65535, cidr=[ANYWHERE], cidr6=[ANYWHERE_6]))
    (finding,) = found(RULE, document)

    assert finding.severity is Severity.ERROR
    assert finding.title == "sg-a is open to the world on tcp 29500,32768-60999"
    assert finding.message == (
        "sg-a admits tcp 29500,32768-60999 from the whole IPv4 internet by 0.0.0.0/0 (tcp 1024-65535); 2 members "
        "carry it, all of them with a public address and a route to an internet gateway."
    )
    assert finding.remedy == RULE.remedy
    assert (finding.resource.type, finding.resource.id, finding.pairs) == ("security-group", "sg-a", 0)
    assert {key: value for key, value in finding.evidence.items() if key != "sources"} == {
        "direction": "ingress",
        "security_group": "sg-a",
        "ports": {"tcp": "29500,32768-60999"},
        "addresses": {"ipv4": "3702390782"},
        "interfaces": [],
        "permissions": [
            {
                "protocol": "tcp",
                "from_port": 1024,
                "to_port": 65535,
                "peer": "0.0.0.0/0",
                "rule_id": "",
                "description": "",
            }
        ],
        "network_acls": [],
        "members": ["i-a", "i-b"],
        "reachable_members": 2,
        "latent": "",
        "unread": [],
        "exposures": ["world"],
    }


def test_both_families_are_one_finding() -> None:
    """A group that is open over IPv4 and IPv6 is told of once."""
    nodes = [public("a", "10.0.0.5", ipv6=["2600:1f18::5"]), node("b", "10.0.0.6")]
    (finding,) = found(RULE, outdoors(row(cidr=[ANYWHERE], cidr6=[ANYWHERE_6]), nodes=nodes))

    assert finding.message == (
        "sg-a admits tcp 29500,32768-60999 from the whole internet (IPv4 and IPv6) by 0.0.0.0/0 (all traffic) and "
        "::/0 (all traffic); 2 members carry it, 1 of them with a public address and a route to an internet gateway."
    )


def test_what_an_acl_leaves() -> None:
    """Where an ACL keeps out a part, the rest is counted and the ACL is named."""
    document = outdoors(
        WORLD,
        acls=guarded(entry(90, "deny", egress=False, cidr="128.0.0.0/1"), entry(100, "allow", egress=False)),
    )
    (finding,) = found(RULE, document)

    assert finding.message == (
        "sg-a admits tcp 29500,32768-60999 from 2,092,957,696 public IPv4 addresses by 0.0.0.0/0 (all tcp ports); "
        "2 members carry it, all of them with a public address and a route to an internet gateway. "
        "Without acl-1 it would be more."
    )


@pytest.mark.parametrize(
    ("ingress", "expected"),
    [
        ([row("tcp", 0, 65535, cidr=["0.0.0.0/1", "128.0.0.0/1"])], [{"ipv4": 3702390782}]),
        ([row("-1", cidr=["10.0.0.0/24", "203.0.113.9/32"])], [{"ipv4": 1}]),
        ([row("tcp", 29500, cidr=["203.0.113.0/24"])], [{"ipv4": 256}]),
        ([row("tcp", 29500, cidr=["9.255.255.254/31", "10.0.0.0/31"])], [{"ipv4": 2}]),
        ([row("tcp", 29500, cidr=["172.0.0.0/8"])], [{"ipv4": (1 << 24) - (1 << 20)}]),
        ([row("tcp", 29500, lists=["pl-1"])], [{"ipv4": 16}]),
        ([row("tcp", 29500, cidr=["198.51.100.4/30"])], [{"ipv4": 2}]),
        ([row("tcp", 29500, cidr=["198.51.100.5/32", "198.51.100.6/32"])], []),
        ([row("tcp", 29500, cidr=["10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "224.0.0.0/3"])], []),
        ([row("tcp", 22, cidr=[ANYWHERE])], []),
        ([row("udp", 0, 65535, cidr=[ANYWHERE])], []),
        ([SELF], []),
        ([row("tcp", 29500, cidr6=[ANYWHERE_6])], []),
        ([], []),
    ],
)
def test_addresses(ingress: list[Raw], expected: list[dict[str, int]]) -> None:
    """Public addresses are counted one by one, whatever blocks name them; members and private ones are none."""
    assert addresses(outdoors(*ingress, PrefixListEntries={"pl-1": [{"Cidr": "203.0.113.0/28"}]})) == expected


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([entry(100, "allow", egress=False)], ["error"]),
        ([entry(100, "deny", egress=False), entry(200, "allow", egress=False)], []),
        ([entry(100, "allow", egress=False), entry(200, "deny", egress=False)], ["error"]),
        ([entry(100, "allow", egress=False, cidr="10.0.0.0/16")], []),
        (
            [entry(90, "deny", egress=False, protocol="17", ports=(0, 65535)), entry(100, "allow", egress=False)],
            ["error"],
        ),
        ([entry(100, "allow", egress=False), entry(100, "allow", egress=True, cidr="10.0.0.0/16")], []),
        (
            [entry(100, "allow", egress=False), entry(100, "allow", egress=True, protocol="6", ports=(1024, 1024))],
            ["error"],
        ),
        ([entry(100, "allow", egress=False), entry(100, "allow", egress=True, protocol="17", ports=(0, 65535))], []),
        (
            [
                entry(90, "allow", egress=False, protocol="6", ports=(22, 22), cidr="203.0.113.9/32"),
                entry(95, "deny", egress=False, protocol="6", ports=(29500, 60999)),
                entry(100, "allow", egress=False),
            ],
            [],
        ),
        (
            [
                entry(90, "allow", egress=False, protocol="6", ports=(29500, 29500), cidr="203.0.113.9/32"),
                entry(95, "deny", egress=False, protocol="6", ports=(29500, 60999)),
            ],
            ["error"],
        ),
    ],
)
def test_acl_order(entries: list[Raw], expected: list[str]) -> None:
    """Entries are asked by number, and for TCP an answer must get out to some port at least."""
    assert [value for _, value in grave(outdoors(WORLD, acls=guarded(*entries)))] == expected


@pytest.mark.parametrize(
    ("nodes", "routes", "expected", "reason"),
    [
        (NODES, [TO_INTERNET], "error", ""),
        ([node("a", "10.0.0.5"), public("b", "10.0.0.6")], [TO_INTERNET], "error", ""),
        ([node("a", "10.0.0.5"), node("b", "10.0.0.6")], [TO_INTERNET], "warning", "no public address"),
        (NODES, [], "warning", "no route to an internet gateway"),
        (NODES, [route(ANYWHERE, NatGatewayId="nat-1")], "warning", "no route to an internet gateway"),
        (NODES, [route(ANYWHERE, GatewayId="igw-1", state="blackhole")], "warning", "no route to an internet gateway"),
        (NODES, [route("203.0.113.0/24", GatewayId="igw-1")], "error", ""),
        (NODES, [route(ANYWHERE, NetworkInterfaceId="eni-x")], "error", ""),
        (
            NODES,
            [TO_INTERNET, route("0.0.0.0/1", NatGatewayId="nat-1"), route("128.0.0.0/1", NatGatewayId="nat-1")],
            "warning",
            "no route to an internet gateway",
        ),
    ],
)
def test_latent(nodes: list[Raw], routes: list[Raw], expected: str, reason: str) -> None:
    """Where nobody in the internet can dial a member the finding is one severity lower and says why."""
    (finding,) = found(RULE, outdoors(WORLD, nodes=nodes, routes=routes))

    assert (finding.severity, finding.evidence["latent"]) == (expected, reason)
    assert finding.title.endswith(" (latent)") is bool(reason)


def test_latent_message() -> None:
    """A latent finding says so, with the reason."""
    (finding,) = found(RULE, outdoors(WORLD, nodes=[node("a", "10.0.0.5")]))

    assert finding.message == (
        "sg-a admits tcp 29500,32768-60999 from the whole IPv4 internet by 0.0.0.0/0 (all tcp ports); 1 member "
        "carries it. Latent: no public address, so nobody in the internet can dial it today."
    )


@pytest.mark.parametrize(
    ("routes", "expected"),
    [
        ([TO_INTERNET_6], [("sg-a", "error")]),
        ([route(ANYWHERE_6, EgressOnlyInternetGatewayId="eigw-1")], [("sg-a", "warning")]),
        ([TO_INTERNET], [("sg-a", "warning")]),
    ],
)
def test_ipv6(routes: list[Raw], expected: list[tuple[str, str]]) -> None:
    """Global IPv6 addresses are public; an egress-only gateway lets nobody in, and IPv4's route is no help."""
    assert grave(outdoors(SELF, WORLD_6, nodes=SIX, routes=routes)) == expected


def test_own_ipv6_block_is_not_the_world() -> None:
    """The blocks of the VPC and of a peered one are public by their number, and not the world."""
    blocks = [{"Ipv6CidrBlock": "2600:1f18::/56", "Ipv6CidrBlockState": {"State": "associated"}}]
    far = [{"Ipv6CidrBlock": "2600:1f19::/56", "Ipv6CidrBlockState": {"State": "associated"}}]
    vpcs = [
        {"VpcId": "vpc-1", "CidrBlock": "10.0.0.0/16", "Ipv6CidrBlockAssociationSet": blocks},
        {"VpcId": "vpc-2", "CidrBlock": "10.2.0.0/16", "Ipv6CidrBlockAssociationSet": far},
    ]
    ingress = row("tcp", 29500, cidr6=["2600:1f18::/56", "2600:1f19::/56"])
    joined = [peering("pcx-1", "vpc-1", "vpc-2")]

    assert grave(outdoors(ingress, nodes=SIX, Vpcs=vpcs, VpcPeeringConnections=joined)) == []
    assert grave(outdoors(ingress, nodes=SIX, Vpcs=vpcs)) == [("sg-a", "error")]


@pytest.mark.parametrize(
    ("document", "severity", "unread"),
    [
        (outdoors(WORLD, without=["NetworkAcls"]), "error", ["the network ACL of subnet-1 (DescribeNetworkAcls)"]),
        (outdoors(WORLD, without=["RouteTables"]), "error", ["the route table of subnet-1 (DescribeRouteTables)"]),
        (outdoors(without=["SecurityGroups"]), "error", ["security group sg-a (DescribeSecurityGroups)"]),
        (
            outdoors(row("tcp", 29500, lists=["pl-2"])),
            "error",
            ["prefix list pl-2 (GetManagedPrefixListEntries)"],
        ),
        (
            outdoors(row("tcp", 29500, lists=["pl-2"]), nodes=[node("a", "10.0.0.5")]),
            "warning",
            ["prefix list pl-2 (GetManagedPrefixListEntries)"],
        ),
    ],
)
def test_unread_never_passes(document: Raw, severity: str, unread: list[str]) -> None:
    """What could not be read counts as open, and the finding names the operation that reads it."""
    (finding,) = found(RULE, document)

    assert (finding.severity, finding.evidence["unread"]) == (severity, unread)


def test_unread_message() -> None:
    """A finding that rests on what was not read alone says `may`."""
    (finding,) = found(RULE, outdoors(row("tcp", 29500, lists=["pl-2"])))

    assert finding.message == (
        "sg-a may admit tcp 29500 from the whole IPv4 internet by pl-2 (tcp 29500); 2 members carry it, all of them "
        "with a public address and a route to an internet gateway. Not known: prefix list pl-2 "
        "(GetManagedPrefixListEntries)."
    )
    assert finding.remedy == f"Let sgaudit read what is missing. If it is open: {RULE.remedy}"


def test_groups_not_known() -> None:
    """An interface whose groups AWS did not tell may be open."""
    (finding,) = found(RULE, outdoors(nodes=[public("a", "10.0.0.5", groups=None)]))

    assert (finding.resource.id, finding.evidence["unread"]) == ("", ["which groups they carry"])


def test_each_group_by_itself() -> None:
    """Of several groups on an interface only the open ones are named; groups on no member are not looked at."""
    nodes = [public("a", "10.0.0.5", groups=["sg-a", "sg-b"]), public("b", "10.0.0.6", groups=["sg-c"])]
    groups = [group("sg-b", ingress=[SELF]), group("sg-c", ingress=[WORLD]), group("sg-d", ingress=[WORLD])]

    assert grave(outdoors(WORLD, nodes=nodes, groups=groups)) == [("sg-a", "error"), ("sg-c", "error")]


def test_second_interface_counts() -> None:
    """A member is exposed by any of its interfaces, not only by the one that is judged."""
    first = public("a", "10.0.0.5", groups=["sg-b"])
    second = interface("a2", "10.0.1.5", subnet="subnet-2", device=1, of="a", Association={"PublicIp": "198.51.100.9"})
    first["NetworkInterfaces"].append(second)

    assert grave(outdoors(WORLD, nodes=[first], groups=[group("sg-b", ingress=[SELF])])) == [("sg-a", "error")]


def test_same_group_behind_two_acls() -> None:
    """It is enough that one of the subnets in which the group is used lets the world in."""
    nodes = [public("a", "10.0.0.5"), public("b", "10.0.1.5", subnet="subnet-2")]
    acls = [acl("acl-1", [OUT], subnets=["subnet-1"]), acl("acl-2", allow_all(), subnets=["subnet-2"])]
    (finding,) = found(RULE, outdoors(WORLD, nodes=nodes, acls=acls))

    assert finding.evidence["members"] == ["i-b"]


def test_without_exposures_nothing_is_forbidden() -> None:
    """Ports are forbidden by policies alone."""
    snapshot = parse(outdoors(row(cidr=[ANYWHERE])))
    nothing = Requirements((), (), (), (), (), (), (), frozenset())
    findings = audit(snapshot, EVERYWHERE, select(snapshot, EVERYWHERE), nothing).findings

    assert RULE.id not in {item.rule for item in findings}
    assert [item.evidence["ports"] for item in found(RULE, outdoors(row(cidr=[ANYWHERE])), "all-traffic-mesh")] == [
        {"tcp": "0-21,23-65535", "udp": "0-21,23-65535"}
    ]


@pytest.mark.parametrize(
    ("client", "expected"),
    [("203.0.113.0/24", []), ("203.0.113.0/25", [{"ipv4": 128}]), ("198.51.100.0/24", [{"ipv4": 256}])],
)
def test_named_clients_are_no_exposure(client: str, expected: list[dict[str, int]]) -> None:
    """Who has to dial in by a need of the policy is meant to; on other ports and from elsewhere nobody is."""
    snapshot = parse(outdoors(SELF, row("tcp", 8786, 8787, cidr=["203.0.113.0/24"])))
    members = select(snapshot, EVERYWHERE)
    requirements = resolve([load("dask")], members, settings={"client": client})
    findings = audit(snapshot, EVERYWHERE, members, requirements).findings

    assert [counted(item) for item in findings if item.rule == RULE.id] == expected


def test_udp_needs_no_answer() -> None:
    """The first datagram does the harm, so that an ACL that lets nothing out is no help."""
    closed = guarded(entry(100, "allow", egress=False), entry(100, "deny", egress=True))
    (finding,) = found(RULE, outdoors(row(cidr=[ANYWHERE]), acls=closed), "all-traffic-mesh")

    assert finding.evidence["ports"] == {"udp": "0-21,23-65535"}


def test_fingerprint_is_of_the_group() -> None:
    """One group is one cause, however many members, ports and permissions there are today."""
    one = found(RULE, outdoors(WORLD))
    other = found(RULE, outdoors(row(cidr=["128.0.0.0/1"]), nodes=NODES[:1]))

    assert [item.fingerprint for item in one] == [item.fingerprint for item in other]
