"""Groups that let neighbours in on a policy's ports are found."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.model import Cidr
from sgaudit.policy.model import ExposureRequirement, Protocol, Requirements
from sgaudit.ports import PortSet
from sgaudit.rules.audit import audit
from sgaudit.rules.finding import Finding
from sgaudit.rules.open_beyond_cluster import RULE
from sgaudit.selection import Selection, select
from sgaudit.severity import Severity
from sgaudit.snapshot import parse
from tests.builders import ANYWHERE, entry, group, interface, node, peering, row
from tests.unit.rules.outdoors import SELF, guarded, outdoors
from tests.unit.rules.scene import found

Raw = dict[str, Any]

MEMBERS = Selection(security_groups=("sg-a",))
NODES = [node("a", "10.0.0.5"), node("b", "10.0.0.6")]


def counted(finding: Finding) -> dict[str, int]:
    return {family: int(text) for family, text in finding.evidence["addresses"].items()}


def results(document: Raw) -> list[tuple[str, str, dict[str, int]]]:
    return [(item.resource.id, str(item.severity), counted(item)) for item in found(RULE, document, selection=MEMBERS)]


def test_whole_finding() -> None:
    """It names the group, the traffic, how many addresses, the permission and the members."""
    (finding,) = found(RULE, outdoors(SELF, row("tcp", 0, 65535, cidr=["10.0.0.0/16"])))

    assert finding.severity is Severity.NOTE
    assert finding.title == "sg-a is open to neighbours on tcp 29500,32768-60999"
    assert finding.message == (
        "sg-a admits tcp 29500,32768-60999 from 65,280 neighbouring IPv4 addresses by 10.0.0.0/16 (all tcp ports); "
        "2 members carry it."
    )
    assert finding.remedy == RULE.remedy


@pytest.mark.parametrize(
    ("ingress", "expected"),
    [
        ([row("tcp", 29500, cidr=["10.0.0.0/16"])], [("sg-a", "note", {"ipv4": 65536 - 256})]),
        ([row("tcp", 29500, cidr=["10.0.1.0/24", "10.0.2.0/24"])], [("sg-a", "note", {"ipv4": 512})]),
        ([row("tcp", 29500, cidr=["10.0.0.0/24"])], []),
        ([row("tcp", 29500, cidr=["10.9.0.0/16"])], [("sg-a", "warning", {"ipv4": 65536})]),
        ([row("tcp", 29500, cidr=["10.0.0.0/8"])], [("sg-a", "warning", {"ipv4": (1 << 24) - 256})]),
        ([row("tcp", 22, cidr=["10.0.0.0/8"])], []),
        ([row("tcp", 29500, cidr=[ANYWHERE])], []),
        ([row("tcp", 29500, cidr=["203.0.113.0/24"])], []),
        ([SELF], []),
    ],
)
def test_addresses(ingress: list[Raw], expected: list[tuple[str, str, dict[str, int]]]) -> None:
    """Neighbours outside the members' own subnets count; outside the VPC they weigh more; the world is another rule."""
    assert results(outdoors(*ingress, nodes=NODES)) == expected


def test_world_cut_off_leaves_neighbours() -> None:
    """A permission for the world of which an ACL leaves the VPC is open to neighbours."""
    closed = guarded(entry(100, "allow", egress=False, cidr="10.0.0.0/16"))

    assert results(outdoors(row(cidr=[ANYWHERE]), acls=closed)) == [("sg-a", "note", {"ipv4": 65280})]


def test_other_machines_of_a_group() -> None:
    """Machines outside the cluster that carry a group which a permission names are neighbours."""
    nodes = [*NODES, node("c", "10.0.0.7", groups=["sg-b"]), node("d", "10.0.1.8", groups=["sg-b"], subnet="subnet-2")]
    document = outdoors(SELF, row(groups=["sg-b"]), nodes=nodes, groups=[group("sg-b")])
    (finding,) = found(RULE, document, selection=MEMBERS)

    assert finding.message == (
        "sg-a admits tcp 29500,32768-60999 from 2 interfaces of machines outside the cluster by sg-b (all traffic); "
        "2 members carry it."
    )
    assert finding.evidence["interfaces"] == ["eni-c", "eni-d"]


@pytest.mark.parametrize(
    ("other", "closed", "expected"),
    [
        ({}, (), ["eni-c"]),
        ({"subnet": "subnet-2", "address": "10.0.1.7"}, (), ["eni-c"]),
        ({"subnet": "subnet-2", "address": "10.0.1.7"}, guarded(), []),
        ({}, guarded(), ["eni-c"]),
        ({"groups": ["sg-c"]}, (), []),
    ],
)
def test_other_machines_and_acls(other: Raw, closed: list[Raw], expected: list[str]) -> None:
    """The network ACL stands between them and the members, unless they share the subnet."""
    nodes = [*NODES, node("c", **{"address": "10.0.0.7", "groups": ["sg-b"], **other})]
    groups = [group("sg-b"), group("sg-c")]
    document = outdoors(row(groups=["sg-b"]), nodes=nodes, groups=groups, acls=closed)
    findings = found(RULE, document, selection=MEMBERS)

    assert [name for item in findings for name in item.evidence["interfaces"]] == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"Attachment": {"InstanceId": "i-far"}}, 1),
        ({"Attachment": {"InstanceId": "i-far"}, "RequesterManaged": True}, 0),
        ({"Attachment": None, "Status": "available"}, 0),
    ],
)
def test_interfaces_without_a_known_machine(change: Raw, expected: int) -> None:
    """Interfaces of services and such that are attached to nothing dial nobody."""
    raw = {**interface("x", "10.0.0.9", groups=["sg-b"]), **change}
    if raw["Attachment"] is None:
        del raw["Attachment"]
    document = outdoors(row(groups=["sg-b"]), nodes=NODES, groups=[group("sg-b")])
    document["NetworkInterfaces"].append(raw)

    assert len(found(RULE, document, selection=MEMBERS)) == expected


def test_stopped_machines_dial_nobody() -> None:
    """A stopped node of the cluster, left out of the selection, is no neighbour."""
    stopped = node("c", "10.0.0.7")
    stopped["State"] = {"Code": 80, "Name": "stopped"}

    assert found(RULE, outdoors(SELF, nodes=[*NODES, stopped])) == []


def test_ipv6_block_of_the_vpc() -> None:
    """The VPC's IPv6 block and a peered one's are neighbours, though public by their number."""
    blocks = [{"Ipv6CidrBlock": "2600:1f18::/56", "Ipv6CidrBlockState": {"State": "associated"}}]
    vpcs = [
        {"VpcId": "vpc-1", "CidrBlock": "10.0.0.0/16", "Ipv6CidrBlockAssociationSet": blocks},
        {"VpcId": "vpc-2", "CidrBlock": "10.2.0.0/16"},
    ]
    nodes = [node("a", "10.0.0.5", ipv6=["2600:1f18::5"])]
    document = outdoors(row("tcp", 29500, cidr6=["2600:1f18::/56"]), nodes=nodes, Vpcs=vpcs)
    (finding,) = found(RULE, document)

    assert (finding.severity, counted(finding)) == (Severity.NOTE, {"ipv6": (1 << 72) - 1})


def test_peered_vpc() -> None:
    """The block of a peered VPC lies outside the VPC's own."""
    document = outdoors(
        row("tcp", 29500, cidr=["10.2.0.0/16"]),
        nodes=NODES,
        VpcPeeringConnections=[peering("pcx-1", "vpc-1", "vpc-2")],
    )

    assert results(document) == [("sg-a", "warning", {"ipv4": 65536})]


@pytest.mark.parametrize(
    ("severity", "expected"),
    [
        (Severity.NOTE, []),
        (Severity.WARNING, [("warning", {"ipv4": 254})]),
        (Severity.ERROR, [("error", {"ipv4": 254})]),
    ],
)
def test_graver_exposure_is_meant_to_the_last_address(
    severity: Severity, expected: list[tuple[str, dict[str, int]]]
) -> None:
    """The members' own subnets are left out of notes only, and a policy's severity holds."""
    snapshot = parse(outdoors(row("tcp", 29500, cidr=["10.0.0.0/24"]), nodes=NODES))
    members = select(snapshot, MEMBERS)
    exposure = ExposureRequirement(
        policies=("own",),
        id="subnet",
        ports=((Protocol.TCP, PortSet.single(29500)),),
        sources=(Cidr.parse("10.0.0.0/24"),),
        except_sources=(),
        members=frozenset({"i-a", "i-b"}),
        severity=severity,
        why="",
        source=(),
    )
    requirements = Requirements(("own",), (), (), (), (exposure,), (), (), frozenset())
    findings = audit(snapshot, MEMBERS, members, requirements).findings

    assert [(str(item.severity), counted(item)) for item in findings if item.rule == RULE.id] == expected


def test_exposure_of_some_members_alone() -> None:
    """A policy that forbids ports of some members says nothing of the others."""
    snapshot = parse(outdoors(row("tcp", 29500, cidr=["10.9.0.0/16"]), nodes=NODES))
    members = select(snapshot, MEMBERS)
    exposure = ExposureRequirement(
        policies=("own",),
        id="head",
        ports=((Protocol.TCP, PortSet.single(29500)),),
        sources=(Cidr.parse(ANYWHERE),),
        except_sources=(Cidr.parse("10.9.0.0/24"),),
        members=frozenset({"i-b"}),
        severity=Severity.WARNING,
        why="",
        source=(),
    )
    requirements = Requirements(("own",), (), (), (), (exposure,), (), (), frozenset())
    findings = audit(snapshot, MEMBERS, members, requirements).findings

    assert [(item.evidence["members"], counted(item)) for item in findings if item.rule == RULE.id] == [
        (["i-b"], {"ipv4": 65536 - 256})
    ]


def test_subnet_not_read() -> None:
    """Who is in the members' subnet can't be told then: whoever in the VPC may be, and no ACL stops him."""
    document = outdoors(row("tcp", 29500, cidr=["10.0.0.0/24"]), nodes=NODES, acls=guarded(), without=["Subnets"])
    (finding,) = found(RULE, document, selection=MEMBERS)

    assert finding.message == (
        "sg-a may admit tcp 29500 from 254 neighbouring IPv4 addresses by 10.0.0.0/24 (tcp 29500); 2 members carry it. "
        "Not known: the block of subnet-1 (DescribeSubnets)."
    )
    assert results(outdoors(row("tcp", 29500, cidr=["10.0.0.0/24"]), nodes=NODES, acls=guarded())) == []
