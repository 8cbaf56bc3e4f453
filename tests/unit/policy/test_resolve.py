"""Policies and members to requirements: who dials whom, what merges, what is skipped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sgaudit.errors import UsageError
from sgaudit.model import Cidr, GroupPeer, PrefixListPeer
from sgaudit.policy.load import load
from sgaudit.policy.model import (
    ConstraintKind,
    ConstraintRequirement,
    ExposureRequirement,
    ExternalRequirement,
    ParameterKind,
    ParameterValue,
    Protocol,
    Requirement,
    Skipped,
    Topology,
)
from sgaudit.policy.resolve import resolve
from sgaudit.ports import ALL, PortSet
from sgaudit.severity import Severity
from tests.unit.policy.cluster import ids, member, policy

A, B, C = member("a"), member("b"), member("c")
ABC = ids("a", "b", "c")
PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
WORDS = "why: because, source: a page"


def requirement(**changes: object) -> Requirement:
    """Give the requirement that the policy `mine` makes of its need `a`: SSH among a, b and c."""
    usual = Requirement(
        policies=("mine",),
        need="a",
        protocol=Protocol.TCP,
        ports=PortSet.single(22),
        sources=ABC,
        targets=ABC,
        topology=Topology.MESH,
        severity=Severity.ERROR,
        why="because",
        source=("a page",),
    )
    return replace(usual, **changes)  # type: ignore[arg-type]  # the tests name fields of their own


def external(**changes: object) -> ExternalRequirement:
    """Give the requirement that the policy `mine` makes of its need `a`: NFS to the group sg-1."""
    usual = ExternalRequirement(
        policies=("mine",),
        need="a",
        protocol=Protocol.TCP,
        ports=PortSet.single(2049),
        members=ABC,
        peer=GroupPeer("sg-1"),
        peer_name="store",
        outbound=True,
        severity=Severity.ERROR,
        why="because",
        source=("a page",),
    )
    return replace(usual, **changes)  # type: ignore[arg-type]  # the tests name fields of their own


def test_the_default_policy() -> None:
    """Without a head, Gloo's mesh and MASTER_PORT are required of every ordered pair."""
    found = resolve([load("pytorch-gloo")], [A, B, C])

    assert [
        (item.policies, item.need, str(item.ports), item.sources, item.targets, item.ip_ordered, item.head_assumed)
        for item in found.between
    ] == [
        (("pytorch-gloo",), "gloo-mesh", "32768-60999", ABC, ABC, True, False),
        (("pytorch-gloo",), "master-port", "29500", ABC, ABC, False, True),
    ]
    assert [item.pairs for item in found.between] == [6, 6]
    assert (found.external, found.skipped, found.heads) == ((), (), frozenset())


@pytest.mark.parametrize("head", ["i-b", "b"])
def test_head(head: str) -> None:
    """With a head, by id or name, MASTER_PORT goes to it alone."""
    found = resolve([load("pytorch-gloo")], [A, B, C], head=head)

    assert [(item.need, item.sources, item.targets, item.head_assumed, item.pairs) for item in found.between] == [
        ("gloo-mesh", ABC, ABC, False, 6),
        ("master-port", ABC, ids("b"), False, 2),
    ]
    assert found.heads == ids("b")


def test_head_by_tag() -> None:
    """A policy's tag tells the head; `--head` outranks it."""
    mine = policy(
        "roles: {head: {tag: Role=head}}\n"
        f"needs: [{{id: a, from: head, to: member, ports: 22, {WORDS}}}]\n"
    )  # fmt: skip
    tagged = [member("a", tags={"Role": "head"}), B, C]

    by_tag, by_option = resolve([mine], tagged), resolve([mine], tagged, head="c")

    assert by_tag.between == (requirement(sources=ids("a"), topology=Topology.STAR),)
    assert by_option.between == (requirement(sources=ids("c"), topology=Topology.STAR),)
    assert (by_tag.heads, by_option.heads) == (ids("a"), ids("c"))


@pytest.mark.parametrize(
    ("head", "message", "hint"),
    [
        (
            "elsewhere",
            "--head 'elsewhere': no member has that id or name",
            "the head must be one of the selected instances",
        ),
        ("nod-1", "--head 'nod-1': no member has that id or name", "did you mean node-1?"),
        ("twin", "--head 'twin': 2 members have that name: i-x, i-y", "give the id of one of them"),
        ("", "--head '': no member has that id or name", "the head must be one of the selected instances"),
    ],
)
def test_no_such_head(head: str, message: str, hint: str) -> None:
    """A head that is no member, or two of them, is told with what would do."""
    twins = [
        replace(member(name), instance=replace(member(name).instance, tags={"Name": "twin"})) for name in ("y", "x")
    ]
    with pytest.raises(UsageError) as caught:
        resolve([load("pytorch-gloo")], [member("node-1"), *twins], head=head)

    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("ends", "topology", "ways"),
    [
        ("from: member, to: member", "", [(ABC, ABC, Topology.MESH)]),
        ("from: one, to: other", "", [(ids("a"), ids("b"), Topology.STAR)]),
        ("from: one, to: other", "star", [(ids("a"), ids("b"), Topology.STAR)]),
        ("from: one, to: other", "mesh", [(ids("a", "b"), ids("a", "b"), Topology.MESH)]),
        (
            "from: one, to: other",
            "duplex",
            [(ids("a"), ids("b"), Topology.DUPLEX), (ids("b"), ids("a"), Topology.DUPLEX)],
        ),
        ("from: one, to: one", "duplex", [(ids("a"), ids("a"), Topology.DUPLEX)]),
    ],
)
def test_topology(ends: str, topology: str, ways: list[tuple[frozenset[str], frozenset[str], Topology]]) -> None:
    """A star is one way, a mesh joins both ends, a duplex is two requirements unless both ends are one."""
    key = f"topology: {topology}, " if topology else ""
    mine = policy(
        "roles: {one: {instance_id: i-a}, other: {instance_id: i-b}}\n"
        f"needs: [{{id: a, {ends}, ports: 22, {key}{WORDS}}}]\n"
    )
    found = resolve([mine], [A, B, C])

    assert found.between == tuple(
        requirement(sources=sources, targets=targets, topology=kind) for sources, targets, kind in ways
    )


@pytest.mark.parametrize(
    ("protocol", "ports", "types"),
    [
        ("udp, ports: all", ALL, ()),
        ("udp, ports: [53, 1000-2000]", PortSet.of([(53, 53), (1000, 2000)]), ()),
        ("icmp", ALL, ()),
        ("icmpv6", ALL, ()),
        ("all", ALL, ()),
        ("efa", ALL, ("efa", "efa-only")),
    ],
)
def test_protocol(protocol: str, ports: PortSet, types: tuple[str, ...]) -> None:
    """Protocols without ports stand for all of them; EFA is carried by interfaces of its own."""
    mine = policy(f"needs: [{{id: a, from: member, to: member, protocol: {protocol}, {WORDS}}}]\n")
    found = resolve([mine], [A, B, C])

    kind = Protocol(protocol.partition(",")[0])
    assert found.between == (requirement(protocol=kind, ports=ports),)
    assert found.between[0].interface_types == types


def test_one_member() -> None:
    """A cluster of one has its requirements, about no pair."""
    (found,) = resolve([load("tcp-full-mesh")], [A]).between

    assert (found.sources, found.targets, found.pairs) == (ids("a"), ids("a"), 0)


def test_the_same_requirement_counts_once() -> None:
    """What several policies ask alike is one requirement by all of them, with the worst severity."""
    text = "needs: [{{id: {}, from: member, to: member, ports: {}, severity: {}, {}, why: {}, source: {}}}]\n"
    one = policy(text.format("a", "22", "warning", "ip_ordered: true", "because", "a page"))
    other = replace(policy(text.format("b", "[22]", "error", "pin: x", "so", "a book")), name="other")
    third = replace(policy(text.format("c", "23", "note", "pin: x", "so", "a book")), name="third")

    found = resolve([one, other, third], [A, B, C])

    assert found.policies == ("mine", "other", "third")
    assert found.between == (
        requirement(policies=("mine", "other"), source=("a page", "a book")),
        requirement(
            policies=("third",),
            need="c",
            ports=PortSet.single(23),
            severity=Severity.NOTE,
            why="so",
            source=("a book",),
        ),
    )


def test_two_policies_that_ship() -> None:
    """Gloo and NCCL share their mesh and their store; a policy beside itself adds nothing."""
    gloo, nccl = load("pytorch-gloo"), load("pytorch-nccl")
    both = resolve([gloo, nccl, gloo], [A, B, C])

    assert [(item.policies, item.need, item.ip_ordered) for item in both.between] == [
        (("pytorch-gloo", "pytorch-nccl"), "gloo-mesh", False),
        (("pytorch-gloo", "pytorch-nccl"), "master-port", False),
    ]
    assert resolve([gloo, gloo], [A, B]) == resolve([gloo], [A, B])


def test_two_policies_of_one_name() -> None:
    """Two different policies can't go by one name: settings and results would not tell them apart."""
    text = "needs: [{{id: a, from: member, to: member, ports: {}, why: because, source: a page}}]\n"
    with pytest.raises(UsageError) as caught:
        resolve([policy(text.format(1), file="one.yaml"), policy(text.format(2), file="two.yaml")], [A])

    assert (caught.value.message, caught.value.hint) == (
        "two different policies are called mine: one.yaml and two.yaml",
        "give one of them a name of its own",
    )


def test_role_that_nobody_has() -> None:
    """A need of a role without members is skipped, and says so."""
    mine = policy(
        "roles: {login: {tag: login}}\n"
        f"needs: [{{id: a, from: login, to: member, ports: 22, {WORDS}}}]\n"
    )  # fmt: skip
    found = resolve([mine], [A])

    assert (found.between, found.skipped) == ((), (Skipped("mine", "a", "no member has the role login"),))


STORE = f"""parameters: {{store: {{kind: peer}}}}
peers: {{store: {{at: "${{store}}"}}}}
needs: [{{id: a, from: member, to: store, ports: 2049, {WORDS}}}]
"""


@pytest.mark.parametrize(
    ("value", "peers"),
    [
        ("sg-1", [GroupPeer("sg-1")]),
        ("pl-1", [PrefixListPeer("pl-1")]),
        ("10.9.0.0/16, 2001:db8::/32", [Cidr.parse("10.9.0.0/16"), Cidr.parse("2001:db8::/32")]),
        ("10.9.0.7", [Cidr.parse("10.9.0.7/32")]),
    ],
)
def test_peer_by_parameter(value: str, peers: list[GroupPeer]) -> None:
    """A peer outside the cluster gives one requirement for each of its addresses and groups."""
    found = resolve([policy(STORE)], [A, B, C], settings={"store": value})

    assert found.external == tuple(external(peer=peer) for peer in peers)
    assert (found.between, found.skipped) == ((), ())


def test_peer_that_is_not_set() -> None:
    """A need towards a peer whose parameter is not set is skipped, and says how to set it."""
    found = resolve([policy(STORE)], [A, B, C])

    reason = "the parameter store is not set (--set store=VALUE)"
    assert (found.external, found.skipped) == ((), (Skipped("mine", "a", reason, external=True),))
    assert found.parameters == (ParameterValue("mine", "store", ParameterKind.PEER, "", given=False),)


@pytest.mark.parametrize(
    ("ends", "topology", "outbound"),
    [
        ("from: member, to: store", "star", [True]),
        ("from: store, to: member", "star", [False]),
        ("from: member, to: store", "duplex", [True, False]),
        ("from: store, to: member", "duplex", [False, True]),
    ],
)
def test_peer_directions(ends: str, topology: str, outbound: list[bool]) -> None:
    """A star with a peer has the need's direction, a duplex both."""
    mine = policy(
        "peers: {store: {at: sg-1}}\n"
        f"needs: [{{id: a, {ends}, ports: 2049, topology: {topology}, {WORDS}}}]\n"
    )  # fmt: skip
    found = resolve([mine], [A, B, C])

    assert found.external == tuple(external(outbound=way) for way in outbound)


def test_efa_with_an_address() -> None:
    """EFA towards an address can't be judged, and says so."""
    found = resolve([load("fsx-lustre")], [A], settings={"efa_file_system": "sg-1,10.0.0.0/8"})

    assert [(item.protocol, item.peer, item.outbound, item.interface_types) for item in found.external] == [
        (Protocol.EFA, GroupPeer("sg-1"), True, ("efa", "efa-only")),
        (Protocol.EFA, GroupPeer("sg-1"), False, ("efa", "efa-only")),
    ]
    assert found.skipped == (
        Skipped(
            "fsx-lustre", "lustre", "the parameter file_system is not set (--set file_system=VALUE)", external=True
        ),
        Skipped(
            "fsx-lustre",
            "lustre-efa",
            "EFA traffic is admitted by security group only, and efa-file-system is 10.0.0.0/8",
            external=True,
        ),
    )


def test_constraints() -> None:
    """A constraint binds the members of its roles, and several policies state it once."""
    text = """roles: {one: {instance_id: i-a}, other: {instance_id: i-b}}
constraints:
  - {kind: same_vpc, severity: warning, why: because, source: a page}
  - {kind: separate_instance_types, roles: [one, other], instance_types: p4d.*, why: because, source: a page}
"""
    one, other = policy(text), replace(policy(text.replace("warning", "error")), name="other")
    found = resolve([one, other], [A, B, C])

    both = ("mine", "other")
    assert found.constraints == (
        ConstraintRequirement(both, ConstraintKind.SAME_VPC, ABC, Severity.ERROR, "because", ("a page",)),
        ConstraintRequirement(
            both,
            ConstraintKind.SEPARATE_INSTANCE_TYPES,
            ids("a", "b"),
            Severity.ERROR,
            "because",
            ("a page",),
            ("p4d.*",),
        ),
    )


def exposed(text: str, needs: str = "", settings: dict[str, str] | None = None) -> tuple[ExposureRequirement, ...]:
    mine = policy(
        "parameters: {office: {kind: cidr}, extra: {kind: range}}\npeers: {store: {at: sg-1}}\n"
        f"exposure: [{{id: out, {text}, {WORDS}}}]\nneeds: [{needs}]\n"
    )
    return resolve([mine], [A, B, C], settings=settings or {}).exposures


def exposure(
    *ports: tuple[Protocol, PortSet],
    sources: tuple[str, ...] = ("0.0.0.0/0", "::/0"),
    spared: tuple[str, ...] = (),
) -> ExposureRequirement:
    return ExposureRequirement(
        ("mine",),
        "out",
        ports,
        tuple(map(Cidr.parse, sources)),
        tuple(map(Cidr.parse, spared)),
        ABC,
        Severity.ERROR,
        "because",
        ("a page",),
    )


TCP, UDP = Protocol.TCP, Protocol.UDP
SSH = PortSet.single(22)
NEEDS = ", ".join(
    f"{{id: n{number}, {text}, {WORDS}}}"
    for number, text in enumerate(
        [
            "from: member, to: member, ports: [22, 80]",
            "from: head, to: member, protocol: udp, ports: 53",
            "from: member, to: store, ports: 2049",
            "from: store, to: member, ports: 988",
            "from: member, to: store, ports: 1018, topology: duplex",
            "from: member, to: member, protocol: efa",
            "from: member, to: member, protocol: icmp",
        ]
    )
)


@pytest.mark.parametrize(
    ("text", "needs", "settings", "result"),
    [
        ("ports: 22", "", {}, (exposure((TCP, SSH)),)),
        ("ports: 22, protocol: udp", "", {}, (exposure((UDP, SSH)),)),
        ("ports: 22, from: 10.0.0.0/8", "", {}, (exposure((TCP, SSH), sources=("10.0.0.0/8",)),)),
        ("ports: 21-23, except: {ports: [21, 23]}", "", {}, (exposure((TCP, SSH)),)),
        ("ports: 22, except: {cidrs: 10.0.0.0/8}", "", {}, (exposure((TCP, SSH), spared=("10.0.0.0/8",)),)),
        ("ports: 22, except: {ports: '${extra}', cidrs: '${office}'}", "", {}, (exposure((TCP, SSH)),)),
        (
            "ports: [22, 23], except: {ports: '${extra}', cidrs: '${office}'}",
            "",
            {"extra": "23", "office": "203.0.113.9"},
            (exposure((TCP, SSH), spared=("203.0.113.9/32",)),),
        ),
        ("ports: 22, except: {ports: 22}", "", {}, ()),
        ("ports: policy", "", {}, ()),
        (
            "ports: policy",
            NEEDS,
            {},
            (exposure((TCP, PortSet.of([(22, 22), (80, 80), (988, 988), (1018, 1018)])), (UDP, PortSet.single(53))),),
        ),
        (
            "severity: error",
            f"{{id: n, from: member, to: member, protocol: all, {WORDS}}}",
            {},
            (exposure((TCP, ALL), (UDP, ALL)),),
        ),
    ],
)
def test_exposure(text: str, needs: str, settings: dict[str, str], result: tuple[ExposureRequirement, ...]) -> None:
    """An exposure has its own ports or those on which members listen, less its exceptions; none is no exposure."""
    assert exposed(text, needs, settings) == result


def test_exposures_of_several_policies() -> None:
    """Exposures of the same kind join their ports."""
    found = resolve([load("pytorch-gloo"), load("eks-nodes")], [A, B])

    assert [(item.policies, item.id, item.ports) for item in found.exposures] == [
        (
            ("pytorch-gloo", "eks-nodes"),
            name,
            ((TCP, ~PortSet.single(22)), (UDP, PortSet.single(53))),
        )
        for name in ("world", "neighbours")
    ]
    world, neighbours = found.exposures
    assert tuple(map(str, world.except_sources)) == tuple(map(str, neighbours.sources)) == PRIVATE
    assert (world.severity, neighbours.severity) == (Severity.ERROR, Severity.NOTE)


@pytest.mark.parametrize(
    ("settings", "message", "hint"),
    [
        (
            {"master-prt": "1"},
            "--set master-prt: pytorch-gloo, tcp-full-mesh have no such parameter (did you mean master_port?)",
            "parameters: client_ports, master_port",
        ),
        (
            {"zzz": "1"},
            "--set zzz: pytorch-gloo, tcp-full-mesh have no such parameter",
            "parameters: client_ports, master_port",
        ),
        (
            {"master_port": "80-90"},
            "--set master_port: '80-90' is not one port",
            "it holds a port; master_port is MASTER_PORT",
        ),
        (
            {"master_port": "http"},
            "--set master_port: 'http' is not a port",
            "it holds a port; master_port is MASTER_PORT",
        ),
        (
            {"client_ports": "1-70000"},
            "--set client_ports: 1-70000 is not within 0-65535, or its ends are swapped",
            (
                "it holds a range; client_ports is the ports that the kernel picks, net.ipv4.ip_local_port_range "
                "on the nodes"
            ),
        ),
    ],
)
def test_wrong_setting(settings: dict[str, str], message: str, hint: str) -> None:
    """A setting that no policy knows, or with a value of the wrong kind, names itself."""
    with pytest.raises(UsageError) as caught:
        resolve([load("pytorch-gloo"), load("tcp-full-mesh")], [A], settings=settings)

    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_setting_where_there_is_nothing_to_set() -> None:
    """A policy without parameters says so."""
    with pytest.raises(UsageError) as caught:
        resolve([load("tcp-full-mesh")], [A], settings={"a": "1"})

    assert (caught.value.message, caught.value.hint) == (
        "--set a: tcp-full-mesh has no such parameter",
        "there are no parameters to set",
    )


def test_settings() -> None:
    """A setting goes to each policy that has the parameter; ranges may be lists; the rest keeps its default."""
    found = resolve([load("pytorch-gloo"), load("torchrun")], [A, B], settings={"client_ports": "50000-50100, 60000"})

    assert [(item.need, str(item.ports)) for item in found.between] == [
        ("gloo-mesh", "50000-50100,60000"),
        ("master-port", "29500"),
        ("rendezvous", "29400"),
    ]
    assert found.between[0].policies == ("pytorch-gloo", "torchrun")
    assert found.parameters == (
        ParameterValue("pytorch-gloo", "client_ports", ParameterKind.RANGE, "50000-50100,60000", given=True),
        ParameterValue("pytorch-gloo", "master_port", ParameterKind.PORT, "29500", given=False),
        ParameterValue("torchrun", "client_ports", ParameterKind.RANGE, "50000-50100,60000", given=True),
        ParameterValue("torchrun", "rendezvous_port", ParameterKind.PORT, "29400", given=False),
    )
