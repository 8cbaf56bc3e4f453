"""Peers outside the cluster: every address, every port, the answers, and the peer's own side where it was read."""

from __future__ import annotations

import random
from collections.abc import Sequence
from ipaddress import ip_address, ip_network

import pytest

from sgaudit import snapshot as snapshots
from sgaudit.model import ALL_PROTOCOLS, Cidr, Family, GroupPeer, Peer, PrefixListPeer
from sgaudit.ports import ALL, PortSet
from sgaudit.reach.external import External, count_members
from sgaudit.reach.external_values import Answer, Place, Question, Side
from sgaudit.reach.far import interfaces_of
from sgaudit.reach.matrix import build
from sgaudit.reach.verdict import Verdict, verdict_on
from sgaudit.selection import Interfaces, Selection, select
from tests import builders
from tests.builders import Raw, acl, allow_all, entry, group, interface, node, peering, route, row, table
from tests.networks import random_network

NFS = PortSet.single(2049)
HERE = node("a", "10.0.0.5")
OPEN, CLOSED, UNKNOWN = "open", "closed", "unknown"


def lone(name: str, address: str, groups: Sequence[str], *, subnet: str = "subnet-2") -> Raw:
    """Give an interface of a service."""
    raw = interface(name, address, groups=groups, subnet=subnet)
    del raw["Attachment"]
    return raw


def ask(
    document: Raw,
    peer: Peer,
    *,
    outbound: bool = True,
    protocol: str = "tcp",
    ports: PortSet = NFS,
    family: Family = Family.IPV4,
    lone: Sequence[Raw] = (),
    interfaces: Interfaces = Interfaces.PRIMARY,
) -> tuple[External, Answer]:
    """Judge all instances of a snapshot."""
    if "NetworkInterfaces" in document:
        document["NetworkInterfaces"] += lone
    snapshot = snapshots.parse(document)
    members = select(snapshot, Selection(everything=True, interfaces=interfaces))
    external = External(build(snapshot, members, family=family))
    question = Question(external.matrix.node_set.everyone, peer, outbound, protocol, ports)
    return external, external.judge(question)


def verdict(answer: Answer) -> tuple[str, list[tuple[str, str]]]:
    """Give the verdict on a lone member, and where it fails."""
    word = OPEN if answer.open else CLOSED if answer.closed else UNKNOWN
    return word, sorted((str(gap.place), str(gap.missing)) for gap in answer.gaps)


def block(text: str) -> Cidr:
    return Cidr.parse(text)


def out(*rows: Raw) -> list[Raw]:
    return [group(egress=rows)]


PERMISSIONS = {
    "the block itself": (out(row("tcp", 2049, cidr=["10.0.1.0/24"])), "10.0.1.0/24", OPEN),
    "two halves": (out(row("tcp", 2049, cidr=["10.0.1.0/25", "10.0.1.128/25"])), "10.0.1.0/24", OPEN),
    "halves of two groups' rows": (
        out(row("tcp", 2049, cidr=["10.0.1.0/25"]), row("-1", cidr=["10.0.1.128/25"])),
        "10.0.1.0/24",
        OPEN,
    ),
    "one address short": (out(row("tcp", 2049, cidr=["10.0.1.0/25", "10.0.1.128/26"])), "10.0.1.0/24", CLOSED),
    "another port": (out(row("tcp", 2048, cidr=["10.0.1.0/24"])), "10.0.1.0/24", CLOSED),
    "another protocol": (out(row("udp", 2049, cidr=["10.0.1.0/24"])), "10.0.1.0/24", CLOSED),
    "nothing": (out(), "10.0.1.0/24", CLOSED),
    "only by IPv6": (out(row("tcp", 2049, cidr6=["::/0"])), "10.0.1.0/24", CLOSED),
    "a group never stands for a block": (out(row("tcp", 2049, groups=["sg-b"])), "10.0.1.0/24", CLOSED),
    "a group may stand for an unread address": (out(row("tcp", 2049, groups=["sg-b"])), "10.0.1.9/32", UNKNOWN),
    "a group with a deleted peering does not": (
        out(row("tcp", 2049, groups=[{"GroupId": "sg-b", "PeeringStatus": "deleted"}])),
        "10.0.1.9/32",
        CLOSED,
    ),
    "an unread prefix list may": (out(row("tcp", 2049, lists=["pl-1"])), "10.0.1.0/24", UNKNOWN),
    "an unread group may": ([], "10.0.1.0/24", UNKNOWN),
}


@pytest.mark.parametrize("case", PERMISSIONS)
def test_every_address_must_be_admitted(case: str) -> None:
    """A need towards a block holds when the permissions together admit each of its addresses."""
    groups, peer, wanted = PERMISSIONS[case]
    document = builders.snapshot([HERE], groups)
    _, answer = ask(document, block(peer))

    assert (verdict(answer)[0], answer.side) == (wanted, Side.NONE)


ACLS = {
    "all": (allow_all(), "10.0.1.0/24", OPEN, []),
    "no answer": (
        [entry(1, "allow", egress=True), entry(1, "allow", egress=False, protocol="6", ports=(0, 1023))],
        "10.0.1.0/24",
        CLOSED,
        [("acl-answer", "32768-60999")],
    ),
    "one address denied first": (
        [entry(1, "deny", egress=True, cidr="10.0.1.77/32"), *allow_all()],
        "10.0.1.0/24",
        CLOSED,
        [("acl", "2049")],
    ),
    "denied after": ([*allow_all(), entry(200, "deny", egress=True)], "10.0.1.0/24", OPEN, []),
    "inside the subnet no ACL is asked": ([], "10.0.0.64/26", OPEN, []),
    "across its border it is": ([], "10.0.0.0/23", CLOSED, [("acl", "2049"), ("acl-answer", "32768-60999")]),
}


@pytest.mark.parametrize("case", ACLS)
def test_network_acl(case: str) -> None:
    """The ACL of the member's subnet must let every address pass, and the answers on all client ports."""
    entries, peer, word, gaps = ACLS[case]
    _, answer = ask(builders.snapshot([HERE], [group()], acls=[acl("acl-1", entries, default=True)]), block(peer))

    assert verdict(answer) == (word, gaps)


def test_answers_to_who_dials_in() -> None:
    """When the peer dials, its packets must come in on the port and the answers go out to its client ports."""
    entries = [entry(1, "allow", egress=False, protocol="6", ports=(22, 22)), entry(1, "deny", egress=True)]
    groups = [group(ingress=[row("tcp", 22, cidr=["10.0.9.0/24"])], egress=[])]
    document = builders.snapshot([HERE], groups, acls=[acl("acl-1", entries, default=True)])
    _, answer = ask(document, block("10.0.9.0/24"), outbound=False, ports=PortSet.single(22))

    assert verdict(answer) == (CLOSED, [("acl-answer", "32768-60999")])


WORLD = "198.51.100.0/24"
ROUTES = {
    "no route": ([], WORLD, True, CLOSED, ["route"]),
    "internet gateway without public address": (
        [route("0.0.0.0/0", GatewayId="igw-1")],
        WORLD,
        True,
        CLOSED,
        ["public-address"],
    ),
    "NAT gateway": ([route("0.0.0.0/0", NatGatewayId="nat-1")], WORLD, True, OPEN, []),
    "nobody dials in by a NAT gateway": (
        [route("0.0.0.0/0", NatGatewayId="nat-1")],
        WORLD,
        False,
        CLOSED,
        ["public-address", "route"],
    ),
    "blackhole": ([route("0.0.0.0/0", NatGatewayId="nat-1", state="blackhole")], WORLD, True, CLOSED, ["route"]),
    "a half in a blackhole": (
        [
            route("0.0.0.0/0", NatGatewayId="nat-1"),
            route("198.51.100.128/25", VpcPeeringConnectionId="pcx-9", state="blackhole"),
        ],
        WORLD,
        True,
        CLOSED,
        ["route"],
    ),
    "transit gateway": ([route("10.9.0.0/16", TransitGatewayId="tgw-1")], "10.9.0.0/24", True, UNKNOWN, ["route"]),
    "private addresses by internet gateway": (
        [route("0.0.0.0/0", GatewayId="igw-1")],
        "10.9.0.0/24",
        True,
        CLOSED,
        ["route"],
    ),
    "peering": ([route("10.2.0.0/16", VpcPeeringConnectionId="pcx-1")], "10.2.0.0/24", True, OPEN, []),
    "peering that was not read": (
        [route("10.2.0.0/16", VpcPeeringConnectionId="pcx-2")],
        "10.2.0.0/24",
        True,
        UNKNOWN,
        ["route"],
    ),
    "middlebox": ([route("10.0.1.0/24", NetworkInterfaceId="eni-m")], "10.0.1.0/24", True, UNKNOWN, ["route"]),
    "the VPC itself": ([], "10.0.0.0/16", True, OPEN, []),
    "who writes the whole world does not mean private networks": (
        [route("0.0.0.0/0", NatGatewayId="nat-1")],
        "0.0.0.0/0",
        True,
        OPEN,
        [],
    ),
}


@pytest.mark.parametrize("case", ROUTES)
def test_routes(case: str) -> None:
    """An active route must lead to every address; what lies behind some gateways is not known."""
    routes, peer, outbound, word, places = ROUTES[case]
    document = builders.snapshot(
        [HERE],
        [group(ingress=[builders.EVERYTHING])],
        tables=[table("rtb-1", routes)],
        VpcPeeringConnections=[peering("pcx-1", "vpc-1", "vpc-2")],
    )
    _, answer = ask(document, block(peer), outbound=outbound)

    assert (verdict(answer)[0], sorted(str(gap.place) for gap in answer.gaps)) == (word, places)


def test_public_address() -> None:
    """A member with a public address reaches the world by an internet gateway and is reached from it."""
    here = node("a", "10.0.0.5", Association={"PublicIp": "198.51.100.1"})
    document = builders.snapshot(
        [here],
        [group(ingress=[row("tcp", 22, cidr=[WORLD])])],
        tables=[table("rtb-1", [route("0.0.0.0/0", GatewayId="igw-1")])],
    )
    for outbound, ports in ((True, NFS), (False, PortSet.single(22))):
        assert verdict(ask(document, block(WORLD), outbound=outbound, ports=ports)[1]) == (OPEN, [])


def test_the_family_is_that_of_the_block() -> None:
    """A block of the other family is judged by the members' addresses of that family."""
    groups = [group(ingress=[row("tcp", 22, cidr6=["2001:db8::/32"])])]
    bare = builders.snapshot([HERE], groups)
    both = builders.snapshot(
        [node("a", "10.0.0.5", ipv6=["2001:db8:9::5"])],
        groups,
        tables=[table("rtb-1", [route("::/0", GatewayId="igw-1")])],
    )
    peer, ssh = block("2001:db8::7/128"), PortSet.single(22)

    assert verdict(ask(bare, peer, outbound=False, ports=ssh)[1]) == (CLOSED, [("address", "22")])
    assert verdict(ask(both, peer, outbound=False, ports=ssh)[1]) == (OPEN, [])


LISTS = {
    "each entry is admitted": ([{"Cidr": "10.0.1.0/24"}, {"Cidr": "10.0.9.0/24"}], ["10.0.0.0/16"], (), OPEN),
    "one entry is not": ([{"Cidr": "10.0.1.0/24"}, {"Cidr": "10.0.9.0/24"}], ["10.0.1.0/24"], (), CLOSED),
    "by the list itself": ([{"Cidr": "10.0.1.0/24"}], [], ("pl-1",), OPEN),
    "unread, all is admitted": (None, ["0.0.0.0/0"], (), UNKNOWN),
    "unread, something is admitted": (None, ["10.0.0.0/8"], (), UNKNOWN),
    "unread, nothing is admitted": (None, [], (), CLOSED),
    "entries of the other family do not matter": (
        [{"Cidr": "10.0.1.0/24"}, {"Cidr": "2001:db8::/32"}],
        ["10.0.1.0/24"],
        (),
        OPEN,
    ),
}


@pytest.mark.parametrize("case", LISTS)
def test_prefix_list(case: str) -> None:
    """Each entry of a list must be admitted; an unread list is admitted by name, but not seen to be routed."""
    entries, cidrs, lists, word = LISTS[case]
    groups = out(row("tcp", 2049, cidr=cidrs, lists=lists))
    document = builders.snapshot([HERE], groups, PrefixListEntries={} if entries is None else {"pl-1": entries})
    _, answer = ask(document, PrefixListPeer("pl-1"))

    assert verdict(answer)[0] == word


def test_gateway_endpoint() -> None:
    """An unread list to which a gateway endpoint leads is reached when permissions and ACLs admit it by name."""
    endpoint = [route("pl-1", GatewayId="vpce-1")]
    document = builders.snapshot(
        [HERE], out(row("tcp", 443, lists=["pl-1"])), tables=[table("rtb-1", endpoint)], PrefixListEntries={}
    )

    assert verdict(ask(document, PrefixListPeer("pl-1"), ports=PortSet.single(443))[1]) == (OPEN, [])


REFERENCE = row("tcp", 2049, groups=["sg-fs"])
GROUPS = {
    "by reference": (REFERENCE, row("tcp", 2049, groups=["sg-a"]), OPEN, []),
    "the default egress": (builders.EVERYTHING, row("tcp", 2049, groups=["sg-a"]), OPEN, []),
    "by a block that may hold it": (
        row("tcp", 2049, cidr=["10.0.0.0/16"]),
        row("tcp", 2049, groups=["sg-a"]),
        UNKNOWN,
        ["groups"],
    ),
    "by another group": (row("tcp", 2049, groups=["sg-x"]), row("tcp", 2049, groups=["sg-a"]), CLOSED, ["groups"]),
    "its side by a block that holds the member": (REFERENCE, row("tcp", 2049, cidr=["10.0.0.5/32"]), OPEN, []),
    "its side by a block that does not": (REFERENCE, row("tcp", 2049, cidr=["10.0.0.6/32"]), CLOSED, ["peer-groups"]),
    "its side by an unread list": (REFERENCE, row("tcp", 2049, lists=["pl-1"]), UNKNOWN, ["peer-groups"]),
    "neither side": (row("udp", 1), row("udp", 1), CLOSED, ["groups", "peer-groups"]),
}


@pytest.mark.parametrize("case", GROUPS)
def test_group_without_interfaces(case: str) -> None:
    """Of a group whose interfaces are not in the snapshot only its name is known, and its own permissions."""
    ours, theirs, word, places = GROUPS[case]
    document = builders.snapshot([HERE], [group(egress=[ours]), group("sg-fs", ingress=[theirs], egress=[])])
    _, answer = ask(document, GroupPeer("sg-fs"))

    assert (verdict(answer)[0], sorted(str(gap.place) for gap in answer.gaps), answer.side) == (
        word,
        places,
        Side.GROUP,
    )


def test_group_that_was_not_read() -> None:
    """Without the peer's group the member's side decides, and the answer says that the other was not read."""
    _, answer = ask(builders.snapshot([HERE], out(REFERENCE)), GroupPeer("sg-fs"))

    assert (verdict(answer), answer.side) == ((OPEN, []), Side.UNREAD)


INTERFACES = {
    "by block": ([row("tcp", 2049, cidr=["10.0.1.0/24"])], allow_all(), OPEN, []),
    "one address outside the block": ([row("tcp", 2049, cidr=["10.0.1.8/32"])], allow_all(), CLOSED, ["groups"]),
    "the peer's ACL": ([REFERENCE], [entry(1, "allow", egress=False)], CLOSED, ["peer-acl-answer"]),
}


@pytest.mark.parametrize("case", INTERFACES)
def test_group_with_interfaces(case: str) -> None:
    """Where the interfaces of a group are known, each of their addresses is judged, ACLs of their subnets included."""
    ours, entries, word, places = INTERFACES[case]
    document = builders.snapshot(
        [HERE],
        [group(egress=ours), group("sg-fs", ingress=[row("tcp", 2049, groups=["sg-a"])], egress=[])],
        acls=[acl("acl-2", entries, subnets=["subnet-2"])],
    )
    peers = [lone("f1", "10.0.1.8", ["sg-fs"]), lone("f2", "10.0.1.9", ["sg-fs"])]
    _, answer = ask(document, GroupPeer("sg-fs"), lone=peers)

    assert (verdict(answer)[0], sorted(str(gap.place) for gap in answer.gaps), answer.side) == (
        word,
        places,
        Side.INTERFACES,
    )


def test_group_by_ipv6() -> None:
    """Under the other family a group is judged by the members' and the peer's addresses of that family."""
    here = node("a", "10.0.0.5", ipv6=["2001:db8::5"])
    there = [lone("f1", "10.0.1.8", ["sg-fs"])]
    there[0]["Ipv6Addresses"] = [{"Ipv6Address": "2001:db8:1::8"}]
    groups = [
        group(egress=[row("tcp", 2049, cidr6=["2001:db8:1::/64"])]),
        group("sg-fs", ingress=[row("tcp", 2049, cidr6=["2001:db8::/64"])]),
    ]
    six = ask(builders.snapshot([here], groups), GroupPeer("sg-fs"), family=Family.IPV6, lone=there)[1]
    four = ask(builders.snapshot([here], groups), GroupPeer("sg-fs"), lone=there)[1]

    assert (verdict(six), verdict(four)[0]) == ((OPEN, []), CLOSED)


def test_members_are_not_the_peer() -> None:
    """A member that carries the peer's group itself does not stand for the peer."""
    both = node("a", "10.0.0.5", groups=["sg-a", "sg-fs"])
    document = builders.snapshot([both], [group(egress=[REFERENCE]), group("sg-fs", egress=[])])
    _, answer = ask(document, GroupPeer("sg-fs"))

    assert (verdict(answer)[0], answer.side) == (CLOSED, Side.GROUP)


def test_one_address_is_its_interface() -> None:
    """The address of one known interface is judged at both ends; of one that two VPCs have, only at the member's."""
    groups = [group(), group("sg-fs", egress=[])]
    peer = block("10.0.1.9/32")
    one = [lone("f1", "10.0.1.9", ["sg-fs"])]
    two = [*one, lone("f2", "10.0.1.9", ["sg-fs"], subnet="subnet-4")]

    assert verdict(ask(builders.snapshot([HERE], groups), peer, lone=one)[1]) == (CLOSED, [("peer-groups", "2049")])
    assert verdict(ask(builders.snapshot([HERE], groups), peer, lone=two)[1]) == (OPEN, [])


EFA = {
    "both ends by group": (["sg-fs"], ["sg-a"], OPEN, []),
    "member's end closed": ([], ["sg-a"], CLOSED, ["groups"]),
    "peer's end closed": (["sg-fs"], [], CLOSED, ["peer-groups"]),
    "peer unread": (["sg-fs"], None, OPEN, []),
    "another group": (["sg-x"], ["sg-x"], CLOSED, ["groups", "peer-groups"]),
}


@pytest.mark.parametrize("outbound", [True, False])
@pytest.mark.parametrize("case", EFA)
def test_efa(case: str, outbound: bool) -> None:
    """EFA traffic passes by all-protocol permissions that name groups, and the default egress does not count."""
    ours, theirs, word, places = EFA[case]
    mine = [row(ALL_PROTOCOLS, groups=ours), builders.EVERYTHING]
    yours = [row(ALL_PROTOCOLS, groups=theirs or ()), builders.EVERYTHING]
    groups = [group(egress=mine) if outbound else group(ingress=mine, egress=[])]
    if theirs is not None:
        there = group("sg-fs", ingress=yours, egress=[]) if outbound else group("sg-fs", egress=yours)
        groups.append(there)
    document = builders.snapshot([node("a", "10.0.0.5", InterfaceType="efa")], groups)
    _, answer = ask(document, GroupPeer("sg-fs"), outbound=outbound, protocol="efa", ports=ALL)

    assert (verdict(answer)[0], sorted(str(gap.place) for gap in answer.gaps)) == (word, places)


def test_efa_needs_the_interface() -> None:
    """A member without an EFA interface does not reach a peer over EFA."""
    document = builders.snapshot([HERE], [group(egress=[row(ALL_PROTOCOLS, groups=["sg-fs"])])])

    assert verdict(ask(document, GroupPeer("sg-fs"), protocol="efa", ports=ALL)[1]) == (CLOSED, [("fabric", "0-65535")])


@pytest.mark.parametrize(("key", "place"), [("NetworkAcls", Place.ACL), ("RouteTables", Place.ROUTE)])
def test_unread_is_unknown(key: str, place: Place) -> None:
    """What was not read neither passes nor blocks."""
    _, answer = ask(builders.snapshot([HERE], [group()], without=[key]), block("10.0.1.0/24"))

    assert (answer.unknown, answer.closed) == (1, 0)
    assert {gap.place for gap in answer.gaps} - {Place.ACL_ANSWER} == {place}


def test_members_with_several_interfaces() -> None:
    """A member counts as open only when all of its judged interfaces are."""
    two = builders.instance(interface("a", "10.0.0.5"), interface("a2", "10.0.0.6", groups=["sg-b"], device=1, of="a"))
    document = builders.snapshot([two, node("c", "10.0.0.7")], [group(), group("sg-b", egress=[])])
    external, answer = ask(document, block("10.0.1.0/24"), interfaces=Interfaces.ALL)

    assert (answer.open.bit_count(), answer.closed.bit_count()) == (2, 1)
    assert count_members(external.matrix, answer) == {"open": 1, "closed": 1, "unknown": 0}


def by_hand(groups: Raw, entries: Sequence[Raw], peer: str, ports: range) -> bool:
    """Judge address by address and port by port, from the raw document."""

    def allowed(address: str, port: int, *, egress: bool) -> bool:
        for item in sorted(entries, key=lambda one: int(one["RuleNumber"])):
            span = item.get("PortRange", {"From": 0, "To": 65535})
            if (
                item["Egress"] is egress
                and span["From"] <= port <= span["To"]
                and ip_address(address) in ip_network(item["CidrBlock"])
            ):
                return bool(item["RuleAction"] == "allow")
        return False

    def admitted(address: str, port: int) -> bool:
        return any(
            line["FromPort"] <= port <= line["ToPort"] and ip_address(address) in ip_network(item["CidrIp"])
            for line in groups["IpPermissionsEgress"]
            for item in line["IpRanges"]
        )

    return all(
        admitted(address, port)
        and allowed(address, port, egress=True)
        and all(allowed(address, client, egress=False) for client in (32768, 40000, 40001, 60999))
        for address in map(str, ip_network(peer))
        for port in ports
    )


@pytest.mark.parametrize("seed", range(150))
def test_against_a_judge_by_hand(seed: int) -> None:
    """On small random networks the verdict is that of judging every address and port one by one."""
    draw = random.Random(seed)
    blocks = ["10.0.1.0/28", "10.0.1.0/29", "10.0.1.8/29", "10.0.1.0/30", "10.0.1.4/30", "10.0.1.8/31", "10.0.1.3/32"]
    spans = [(10, 13), (10, 11), (12, 13), (10, 10), (0, 65535)]
    rows = [row("tcp", *draw.choice(spans), cidr=[draw.choice(blocks)]) for _ in range(draw.randint(1, 4))]
    entries = [
        entry(
            number,
            draw.choice(["allow", "allow", "allow", "deny"]),
            egress=egress,
            ports=draw.choice([(0, 65535), (10, 12), (0, 40000)]),
            protocol="6",
            cidr=draw.choice([*blocks, "0.0.0.0/0", "0.0.0.0/0"]),
        )
        for egress in (True, False)
        for number in range(1, draw.randint(2, 4))
    ]
    ours = group(egress=rows)
    peer = draw.choice(["10.0.1.0/29", "10.0.1.8/31", "10.0.1.0/30", "10.0.1.4/30"])
    ports = draw.choice([range(10, 12), range(10, 14), range(10, 11)])
    document = builders.snapshot([HERE], [ours], acls=[acl("acl-1", entries, default=True)])
    _, answer = ask(document, block(peer), ports=PortSet.single(ports[0], ports[-1]))

    assert bool(answer.open) is by_hand(ours, entries, peer, ports)
    assert answer.unknown == 0


@pytest.mark.parametrize("outbound", [True, False])
@pytest.mark.parametrize("chunk", range(10))
def test_against_the_matrix(chunk: int, outbound: bool) -> None:
    """A peer whose interfaces are known is judged like one more member, for every group of random networks."""
    asked = PortSet.single(32768, 60999)
    wrong: list[object] = []
    words: set[str] = set()
    for seed in range(chunk * 40, chunk * 40 + 40):
        snapshot = snapshots.parse(random_network(seed))
        everybody = select(snapshot, Selection(everything=True, interfaces=Interfaces.ALL, include_stopped=True))
        ours = everybody[::2]
        whole, part = build(snapshot, everybody), External(build(snapshot, ours))
        names = {member.instance.instance_id for member in ours}
        peers: dict[str, list[int]] = {}
        for one in whole.nodes:
            if one.instance.instance_id not in names and one.interface and len(one.interface.ipv4) == 1:
                for group_id in one.interface.groups or ():
                    peers.setdefault(group_id, []).append(one.index)
        for group_id, theirs in peers.items():
            meant = sorted(item.ipv4[0] for item in interfaces_of(part.matrix, GroupPeer(group_id)))
            if meant != sorted(whole.nodes[index].address for index in theirs):
                continue
            question = Question(part.matrix.node_set.everyone, GroupPeer(group_id), outbound, "tcp", asked)
            answer = part.judge(question)
            for mine in part.matrix.nodes:
                (here,) = [
                    node.index
                    for node in whole.nodes
                    if (node.interface or node.instance) == (mine.interface or mine.instance)
                ]
                each = set()
                for there in theirs:
                    ends = (here, there) if outbound else (there, here)
                    opened, possible = whole.open_ports(*ends, "tcp"), whole.possible_ports(*ends, "tcp")
                    each.add(verdict_on(asked, opened, possible))
                closed = not each.isdisjoint({Verdict.BLOCKED, Verdict.PARTIAL})
                word = CLOSED if closed else UNKNOWN if Verdict.UNKNOWN in each else OPEN
                words.add(word)
                bit = 1 << mine.index
                found = OPEN if answer.open & bit else CLOSED if answer.closed & bit else UNKNOWN
                if found != word:
                    wrong.append((seed, group_id, mine.label, found, word))
    assert wrong == []
    assert {OPEN, CLOSED} <= words
