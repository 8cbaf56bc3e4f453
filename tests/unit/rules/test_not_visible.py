"""What could not be read makes verdicts unknown, and is named with the action that would allow it."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.ports import PortSet
from sgaudit.rules.finding import Example, Finding, Resource
from sgaudit.rules.not_visible import RULE
from sgaudit.severity import Severity
from tests.builders import EVERYTHING, group, instance, interface, node, pair_of, peering, route, row, snapshot, table
from tests.unit.rules.scene import SELF, found, scan

Raw = dict[str, Any]

NEEDED = PortSet.parse("29500,32768-60999")
TWO = [node("a", "10.0.0.4"), node("b", "10.0.0.5")]
OPEN = [group(ingress=SELF)]
WORLD = [group(ingress=[EVERYTHING]), group("sg-b", ingress=[EVERYTHING], vpc="vpc-2")]
FAR = [node("a", "10.0.0.4"), node("b", "10.2.0.5", subnet="subnet-3", groups=("sg-b",))]
DENIED = {"DescribeNetworkAcls": "UnauthorizedOperation"}


def by_way_of(**target: str) -> list[Raw]:
    """Give the main tables of two VPCs, each with a route to the other over a target."""
    return [
        table("rtb-1", [route("10.2.0.0/16", **target)]),
        table("rtb-2", [route("10.0.0.0/16", **target)], vpc="vpc-2"),
    ]


def test_whole_finding() -> None:
    """A prefix list that is not in the snapshot is one finding, with what would read it."""
    assert found(RULE, snapshot(TWO, [group(ingress=[row(lists=["pl-1"])])])) == [
        Finding(
            rule="not-visible",
            severity=Severity.ERROR,
            title="1 prefix list not visible",
            message="pl-1 is not in the snapshot; at least 2 pairs depend on it.",
            remedy=(
                "Add the answer of GetManagedPrefixListEntries to the snapshot (key PrefixListEntries), or read the "
                "account again with ec2:GetManagedPrefixListEntries allowed."
            ),
            resource=Resource("prefix-list", "pl-1"),
            pairs=2,
            examples=(Example("i-a", "i-b", NEEDED), Example("i-b", "i-a", NEEDED)),
            evidence={
                "operation": "GetManagedPrefixListEntries",
                "error": "",
                "iam_action": "ec2:GetManagedPrefixListEntries",
                "resources": ["pl-1"],
            },
            subject=("prefix-list",),
            identity=("",),
        )
    ]


def test_denied() -> None:
    """A permission that is missing is named, and the verdict is incomplete, not a failure and not a pass."""
    result = scan(snapshot(pair_of({}, {}), OPEN, without=["NetworkAcls"], Denied=DENIED))
    (finding,) = (item for item in result.findings if item.rule == RULE.id)
    assert finding.message.startswith("DescribeNetworkAcls failed with UnauthorizedOperation, so ")
    assert finding.remedy == "Allow ec2:DescribeNetworkAcls to the role that sgaudit runs as, and scan again."
    assert (finding.evidence["error"], finding.evidence["iam_action"]) == (
        "UnauthorizedOperation",
        "ec2:DescribeNetworkAcls",
    )
    assert (result.status, result.exit_code(Severity.ERROR)) == ("incomplete", 4)


def test_out_of_sight() -> None:
    """What routes lead to and can't be seen through is named as such."""
    document = snapshot(FAR, WORLD, tables=by_way_of(TransitGatewayId="tgw-1"))
    (finding,) = found(RULE, document)
    assert finding.title == "1 transit gateway not visible"
    assert finding.message.startswith("tgw-1 is on the way, and sgaudit does not read where it leads; at least ")
    assert finding.remedy == "Look at it by hand; sgaudit can't see through it and takes neither side."
    assert finding.resource == Resource("transit-gateway", "tgw-1")


PCX = {"VpcPeeringConnectionId": "pcx-1"}
BLIND = interface("b", "10.0.0.5", groups=None)


@pytest.mark.parametrize(
    ("document", "operations"),
    [
        pytest.param(snapshot(TWO, OPEN), [], id="all is read"),
        pytest.param(snapshot(TWO, OPEN, without=["SecurityGroups"]), ["DescribeSecurityGroups"], id="no groups"),
        pytest.param(snapshot(TWO, [], without=["SecurityGroups"]), ["DescribeSecurityGroups"], id="no such group"),
        pytest.param(snapshot(TWO, OPEN, without=["NetworkAcls"]), [], id="no ACLs, one subnet"),
        pytest.param(snapshot(pair_of({}, {}), OPEN, without=["NetworkAcls"]), ["DescribeNetworkAcls"], id="no ACLs"),
        pytest.param(snapshot(TWO, OPEN, without=["RouteTables"]), [], id="no routes, one subnet"),
        pytest.param(snapshot(pair_of({}, {}), OPEN, without=["RouteTables"]), ["DescribeRouteTables"], id="no routes"),
        pytest.param(
            snapshot(FAR, WORLD, without=["VpcPeeringConnections"], tables=by_way_of(**PCX)),
            ["DescribeVpcPeeringConnections"],
            id="no peerings",
        ),
        pytest.param(
            snapshot(FAR, WORLD, VpcPeeringConnections=[peering("pcx-1", "vpc-1", "vpc-2")], tables=by_way_of(**PCX)),
            [],
            id="a peering that is read",
        ),
        pytest.param(
            snapshot([TWO[0], instance(BLIND)], OPEN), ["DescribeNetworkInterfaces"], id="no groups of an interface"
        ),
        pytest.param(
            snapshot(
                [TWO[0], instance(interface("b", "10.0.0.5"), NetworkInterfaces=[])],
                OPEN,
                NetworkInterfaces=[interface("a", "10.0.0.4")],
            ),
            ["DescribeNetworkInterfaces"],
            id="no interface of a member",
        ),
        pytest.param(
            snapshot(TWO, [group(ingress=[row(lists=["pl-1"]), EVERYTHING])]), [], id="a list that does not matter"
        ),
        pytest.param(
            snapshot(TWO, [group(ingress=[row(lists=["pl-1"])])], PrefixListEntries={"pl-1": [{"Cidr": "10.0.0.0/8"}]}),
            [],
            id="a list that is read",
        ),
        pytest.param(
            snapshot(TWO, [group(ingress=[row("tcp", 22, lists=["pl-1"])])]), [], id="a list for ports nobody needs"
        ),
        pytest.param(
            snapshot(pair_of({}, {}), [group()], without=["NetworkAcls"]), ["DescribeNetworkAcls"], id="blocked too"
        ),
    ],
)
def test_operations(document: Raw, operations: list[str]) -> None:
    """It names the operation that would tell, and only where some verdict depends on it."""
    assert [item.evidence["operation"] for item in found(RULE, document)] == operations


@pytest.mark.parametrize("target", [{"NetworkInterfaceId": "eni-fw"}, {"NatGatewayId": "nat-1"}])
def test_middlebox(target: dict[str, str]) -> None:
    """A middlebox on the way is named; what it lets pass is not guessed."""
    tables = [table("rtb-1", [route("10.0.1.0/24", **target)], subnets=["subnet-1"])]
    (finding,) = found(RULE, snapshot(pair_of({}, {}), WORLD, tables=tables))
    (name,) = target.values()
    assert finding.resource == Resource("middlebox", name)
    assert finding.message.startswith(f"{name} is a middlebox on the way, and what it lets pass can't be read; ")


def test_one_finding_a_kind() -> None:
    """Several things of one kind are one finding; another kind is another."""
    rows = [group(ingress=[row(lists=["pl-1"]), row(lists=["pl-2"])])]
    findings = found(RULE, snapshot(pair_of({}, {}), rows, without=["NetworkAcls"]))
    assert sorted((item.resource.type, len(item.evidence["resources"])) for item in findings) == [
        ("network-acl", 2),
        ("prefix-list", 2),
    ]
    assert len({item.fingerprint for item in findings}) == 2


def test_fingerprint_stays() -> None:
    """More members make no new finding."""
    rows = [group(ingress=[row(lists=["pl-1"])])]
    (before,) = found(RULE, snapshot(TWO, rows))
    (after,) = found(RULE, snapshot([node("0", "10.0.0.3"), *TWO], rows))
    assert (after.fingerprint, after.pairs) == (before.fingerprint, 6)
