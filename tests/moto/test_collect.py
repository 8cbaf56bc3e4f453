"""What is read from an account, what it becomes, and what happens when AWS refuses."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from sgaudit import snapshot
from sgaudit.aws.collect import collect
from sgaudit.errors import CollectError, EmptySelectionError
from sgaudit.selection import Interfaces, Selection, TagFilter, select
from tests.moto.conftest import REGION

if TYPE_CHECKING:
    from sgaudit.aws.session import Connection
    from tests.moto.conftest import Topology
    from tests.moto.faults import Faults

pytestmark = pytest.mark.moto

TRAIN = Selection(tags=(TagFilter("cluster", ("train",)),))

READ_BY_DEFAULT = {
    "DescribeInstances": 1,
    "DescribeManagedPrefixLists": 1,
    "DescribeNetworkAcls": 1,
    "DescribeRouteTables": 1,
    "DescribeSecurityGroups": 2,
    "DescribeSubnets": 1,
    "DescribeVpcPeeringConnections": 2,
    "DescribeVpcs": 1,
    "GetManagedPrefixListEntries": 2,
}


@pytest.fixture
def everything(topology: Topology) -> dict[str, Any]:
    """The whole account, read without any filter and without sgaudit."""
    ec2 = boto3.client("ec2", region_name=REGION)
    document = {
        key: getattr(ec2, method)()[key]
        for key, method in (
            ("Reservations", "describe_instances"),
            ("NetworkInterfaces", "describe_network_interfaces"),
            ("SecurityGroups", "describe_security_groups"),
            ("Subnets", "describe_subnets"),
        )
    }
    loaded: dict[str, Any] = json.loads(json.dumps(document, default=str))
    return loaded


def ids(document: dict[str, Any], key: str, field: str) -> list[str]:
    return sorted(item[field] for item in document[key])


def instances(document: dict[str, Any]) -> list[str]:
    return sorted(one["InstanceId"] for item in document["Reservations"] for one in item["Instances"])


def test_document(connection: Connection, topology: Topology, faults: Faults) -> None:
    """A cluster over two peered VPCs comes with all that its verdicts need, each read once, and no more."""
    document = collect(connection, TRAIN)

    assert json.loads(json.dumps(document)) == document
    assert list(document) == [
        "AccountId",
        "Region",
        "CollectedAt",
        "Reservations",
        "SecurityGroups",
        "Subnets",
        "Vpcs",
        "NetworkAcls",
        "RouteTables",
        "VpcPeeringConnections",
        "ManagedPrefixLists",
        "PrefixListEntries",
        "Denied",
    ]
    assert (document["AccountId"], document["Region"], document["Denied"]) == ("123456789012", REGION, {})
    assert topology.names(instances(document)) == {"train-0", "train-1", "train-2", "train-4"}
    assert topology.names(ids(document, "SecurityGroups", "GroupId")) == {
        "train-sg",
        "head-sg",
        "far-sg",
        "named-sg",
    }
    assert topology.names(ids(document, "Subnets", "SubnetId")) == {"left", "right", "far"}
    assert topology.names(ids(document, "Vpcs", "VpcId")) == {"near", "far-vpc"}
    assert Counter(item["IsDefault"] for item in document["NetworkAcls"]) == {True: 2, False: 1}
    assert {item["VpcId"] for item in document["RouteTables"]} == {topology["near"], topology["far-vpc"]}
    assert topology.names(ids(document, "VpcPeeringConnections", "VpcPeeringConnectionId")) == {"peering"}
    assert topology.names(ids(document, "ManagedPrefixLists", "PrefixListId")) == {"office", "routed"}
    assert document["PrefixListEntries"] == {
        topology["office"]: [{"Cidr": "192.0.2.0/24"}],
        topology["routed"]: [{"Cidr": "198.51.100.0/24"}],
    }
    assert faults.sent == READ_BY_DEFAULT


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("tags", ["cluster=train"]),
        ("tags", ["cluster=train,web"]),
        ("tags", ["cluster=tr*"]),
        ("tags", ["cluster"]),
        ("tags", ["clus*", "only-train-0"]),
        ("tags", ["cluster=t*", "cluster=*n", "Name=train-?"]),
        ("instance_ids", ["train-1", "bare", "nobody"]),
        ("vpc_ids", ["near"]),
        ("vpc_ids", ["near", "far-vpc"]),
        ("security_groups", ["train-sg"]),
        ("security_groups", ["head-sg"]),
        ("security_groups", ["far-sg", "web-sg"]),
        ("everything", []),
    ],
)
@pytest.mark.parametrize("include_stopped", [False, True])
def test_selection(
    connection: Connection,
    topology: Topology,
    everything: dict[str, Any],
    kind: str,
    values: list[str],
    include_stopped: bool,
) -> None:
    """EC2's filters pick the members that `select` picks from the whole account, equal in every field."""
    given: Any = tuple(topology.ids.get(item, item) for item in values)
    if kind == "tags":
        given = tuple(TagFilter.parse(item) for item in values)
    elif kind == "everything":
        given = True
    options: dict[str, Any] = {kind: given}
    selection = Selection(**options, include_stopped=include_stopped, interfaces=Interfaces.ALL)

    document = collect(connection, selection)
    members = select(snapshot.parse(document), selection)

    assert members == select(snapshot.parse(everything), selection)
    assert instances(document) == sorted(member.instance.instance_id for member in members)


def test_selection_of_all_kinds(connection: Connection, topology: Topology) -> None:
    """All kinds that are given must hold."""
    selection = Selection(
        tags=TRAIN.tags,
        vpc_ids=(topology["near"],),
        instance_ids=tuple(topology[name] for name in ("train-0", "train-2", "train-4", "bare")),
        security_groups=(topology["head-sg"],),
    )

    document = collect(connection, selection)

    assert topology.names(instances(document)) == {"train-0"}


def test_groups_of_changed_interface(connection: Connection, topology: Topology) -> None:
    """The groups of an interface are those that it has now, also after they were replaced."""
    ec2 = connection.ec2
    interface = topology["second"]
    ec2.modify_network_interface_attribute(NetworkInterfaceId=interface, Groups=[topology["web-sg"]])
    try:
        parsed = snapshot.parse(collect(connection, TRAIN))
    finally:
        ec2.modify_network_interface_attribute(NetworkInterfaceId=interface, Groups=[topology["head-sg"]])

    assert parsed.interfaces[interface].groups == (topology["web-sg"],)
    assert parsed.instances[topology["train-1"]].interface_ids[1] == interface


def test_interfaces_of_selected_groups(connection: Connection, topology: Topology, faults: Faults) -> None:
    """Members found by group come with their interfaces in full, and nobody else's."""
    document = collect(connection, Selection(security_groups=(topology["head-sg"],)))

    assert topology.names(instances(document)) == {"train-0", "train-1"}
    assert len(document["NetworkInterfaces"]) == 2
    assert topology["second"] in ids(document, "NetworkInterfaces", "NetworkInterfaceId")
    assert all("RequesterManaged" in item for item in document["NetworkInterfaces"])
    assert faults.sent["DescribeNetworkInterfaces"] == 1


def test_whole_vpc(connection: Connection, topology: Topology, faults: Faults) -> None:
    """The members' VPCs come with every interface and subnet, and with the groups of strangers too."""
    document = collect(connection, TRAIN, whole_vpc=True)

    attached = {item["Attachment"]["InstanceId"] for item in document["NetworkInterfaces"]}
    assert topology.names(list(attached)) == {f"train-{n}" for n in range(5)} | {"web", "bare"}
    assert topology.names(instances(document)) == {"train-0", "train-1", "train-2", "train-4"}
    assert topology.names(ids(document, "Subnets", "SubnetId")) == {"left", "right", "unused", "far"}
    assert topology["web-sg"] in ids(document, "SecurityGroups", "GroupId")
    assert faults.sent == READ_BY_DEFAULT | {"DescribeNetworkInterfaces": 1}


def test_rule_ids(connection: Connection, topology: Topology, faults: Faults) -> None:
    """The ids of permissions are read when they are asked for, of the carried groups."""
    document = collect(connection, TRAIN, rule_ids=True)

    groups = {item["GroupId"] for item in document["SecurityGroupRules"]}
    assert topology.names(list(groups)) == {"train-sg", "head-sg", "far-sg"}
    assert faults.sent == READ_BY_DEFAULT | {"DescribeSecurityGroupRules": 1}


def test_nothing_matches(connection: Connection, faults: Faults) -> None:
    """A selection without a match reads nothing else, and still names the account."""
    document = collect(connection, Selection(tags=(TagFilter("cluster", ("none",)),)))

    document.pop("CollectedAt")
    assert document == {"AccountId": "123456789012", "Region": REGION, "Reservations": [], "Denied": {}}
    assert faults.sent == {"DescribeInstances": 2}


def test_only_stopped_match(connection: Connection, topology: Topology) -> None:
    """When only stopped instances match, the error tells so."""
    selection = Selection(instance_ids=(topology["train-3"],))

    with pytest.raises(EmptySelectionError) as caught:
        select(snapshot.parse(collect(connection, selection)), selection)

    assert caught.value.message.endswith("(1 stopped left out)")
    assert caught.value.hint == "take stopped ones with --include-stopped"


KEYS = {
    "DescribeSecurityGroups": "SecurityGroups",
    "DescribeSecurityGroupRules": "SecurityGroupRules",
    "DescribeNetworkAcls": "NetworkAcls",
    "DescribeSubnets": "Subnets",
    "DescribeVpcs": "Vpcs",
    "DescribeRouteTables": "RouteTables",
    "DescribeVpcPeeringConnections": "VpcPeeringConnections",
    "DescribeManagedPrefixLists": "ManagedPrefixLists",
    "DescribeNetworkInterfaces": "NetworkInterfaces",
}


@pytest.mark.parametrize("code", ["UnauthorizedOperation", "AccessDenied"])
@pytest.mark.parametrize("operation", KEYS)
def test_denied(connection: Connection, faults: Faults, operation: str, code: str) -> None:
    """A refused read leaves its key out and is listed; the rest of the document is as it was."""
    whole = collect(connection, TRAIN, whole_vpc=True, rule_ids=True)
    faults.answer(operation, code)

    document = collect(connection, TRAIN, whole_vpc=True, rule_ids=True)

    assert document["Denied"] == {operation: code}
    # Without all interfaces no VPC is there as a whole.
    along = {"WholeVpcs"} if operation == "DescribeNetworkInterfaces" else set()
    assert whole.keys() - document.keys() == {KEYS[operation], *along}
    for key in ("Reservations", "NetworkAcls", "Vpcs", "VpcPeeringConnections"):
        assert document.get(key) == (None if key == KEYS[operation] else whole[key])
    assert snapshot.parse(document).denied == {operation: code}


def test_denied_entries(connection: Connection, faults: Faults, topology: Topology) -> None:
    """A prefix list whose entries are refused isn't among the entries: it is unknown, not empty."""
    faults.answer("GetManagedPrefixListEntries", "UnauthorizedOperation", times=1)

    document = collect(connection, TRAIN)

    assert document["Denied"] == {"GetManagedPrefixListEntries": "UnauthorizedOperation"}
    assert len(document["PrefixListEntries"]) == 1
    assert len(document["ManagedPrefixLists"]) == 2


def test_half_of_the_peerings(connection: Connection, faults: Faults) -> None:
    """Half of the peering connections is none: a missing one would look like a missing peering."""
    faults.answer("DescribeVpcPeeringConnections", "InternalFailure", status=400, times=1)

    document = collect(connection, TRAIN)

    assert document["Denied"] == {"DescribeVpcPeeringConnections": "InternalFailure"}
    assert "VpcPeeringConnections" not in document


@pytest.mark.parametrize(
    ("selection", "operation"),
    [(TRAIN, "DescribeInstances"), (Selection(security_groups=("sg-1",)), "DescribeNetworkInterfaces")],
    ids=["instances", "interfaces of a group"],
)
def test_members_denied(connection: Connection, faults: Faults, selection: Selection, operation: str) -> None:
    """When nobody can tell the members the run ends, and says which IAM action is missing."""
    faults.answer(operation, "UnauthorizedOperation")

    with pytest.raises(CollectError) as caught:
        collect(connection, selection)

    assert (caught.value.exit_code, caught.value.message, caught.value.hint) == (
        4,
        f"AWS refused {operation} in us-east-1 (UnauthorizedOperation)",
        f"allow the IAM action ec2:{operation} to the user or role that reads",
    )
