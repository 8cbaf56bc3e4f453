"""Instances and interfaces: each untidy thing has one reading, or an error that says where it is."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.model import Cidr, Instance, Interface
from sgaudit.snapshot import parse
from tests.unit.snapshot.documents import OWNER, Raw, eni, error_of, everything, instance, only_interface

PRIMARY = {"DeviceIndex": 0}


def test_a_whole_instance() -> None:
    """Every field of an instance and its interface is read, from both descriptions."""
    snapshot = parse(everything())

    assert snapshot.instances == {
        "i-1": Instance(
            instance_id="i-1",
            state="running",
            instance_type="p5.48xlarge",
            vpc_id="vpc-1",
            subnet_id="subnet-1",
            availability_zone="us-east-1a",
            interface_ids=("eni-1",),
            owner_id=OWNER,
            tags={"cluster": "train", "Name": "node-1"},
        ),
        "i-2": Instance("i-2", "terminated", "", "", "", "", (), OWNER),
    }
    assert snapshot.interfaces == {
        "eni-1": Interface(
            interface_id="eni-1",
            instance_id="i-1",
            vpc_id="vpc-1",
            subnet_id="subnet-1",
            availability_zone="us-east-1a",
            interface_type="efa",
            device_index=0,
            network_card_index=0,
            groups=("sg-1",),
            ipv4=("10.0.0.11", "10.0.0.12"),
            ipv6=("2001:db8:1::11", "2001:db8:1::12"),
            prefixes=(Cidr.parse("10.0.0.32/28"), Cidr.parse("2001:db8:1:0:1::/80")),
            public_ip="203.0.113.7",
            status="in-use",
            description="node 1",
            owner_id=OWNER,
            requester_managed=False,
            source_dest_check=True,
            tcp_established_timeout=432000,
            tags={"role": "data"},
        )
    }


def test_the_least_instance() -> None:
    """An instance needs nothing but its id, and an interface its id, subnet and VPC."""
    snapshot = parse({"Reservations": [{"Instances": [{"InstanceId": "i-1"}]}], "NetworkInterfaces": [eni()]})

    assert snapshot.instances == {"i-1": Instance("i-1", "", "", "", "", "", ())}
    assert snapshot.interfaces == {
        "eni-1": Interface("eni-1", "", "vpc-1", "subnet-1", "", "interface", None, 0, None, (), ())
    }


INTERFACE_READINGS: list[tuple[str, Raw, dict[str, Any]]] = [
    ("groups absent", {}, {"groups": None}),
    ("groups empty", {"Groups": []}, {"groups": ()}),
    ("a group twice", {"Groups": [{"GroupId": "sg-2"}, {"GroupId": "sg-2"}]}, {"groups": ("sg-2",)}),
    ("a name that nothing resolves", {"Groups": [{"GroupId": "sg-2"}, {"GroupName": "x"}]}, {"groups": None}),
    ("no address", {"PrivateIpAddresses": [], "InterfaceType": "efa-only"}, {"interface_type": "efa-only"}),
    ("empty address", {"PrivateIpAddress": ""}, {"ipv4": ()}),
    ("null address", {"PrivateIpAddress": None, "PrivateIpAddresses": None}, {"ipv4": ()}),
    ("only the short form", {"PrivateIpAddress": "10.0.0.1"}, {"ipv4": ("10.0.0.1",)}),
    (
        "no mark: the short form is first",
        {
            "PrivateIpAddress": "10.0.0.2",
            "PrivateIpAddresses": [{"PrivateIpAddress": "10.0.0.1"}, {"PrivateIpAddress": "10.0.0.2"}],
        },
        {"ipv4": ("10.0.0.2", "10.0.0.1")},
    ),
    (
        "the mark outweighs the short form",
        {
            "PrivateIpAddress": "10.0.0.1",
            "PrivateIpAddresses": [
                {"PrivateIpAddress": "10.0.0.1", "Primary": False},
                {"PrivateIpAddress": "10.0.0.2", "Primary": True},
            ],
        },
        {"ipv4": ("10.0.0.2", "10.0.0.1")},
    ),
    (
        "a short form that the list lacks",
        {"PrivateIpAddress": "10.0.0.1", "PrivateIpAddresses": [{"PrivateIpAddress": "10.0.0.2", "Primary": True}]},
        {"ipv4": ("10.0.0.2", "10.0.0.1")},
    ),
    ("IPv6 alone", {"Ipv6Addresses": [{"Ipv6Address": "2001:DB8::0:1"}]}, {"ipv4": (), "ipv6": ("2001:db8::1",)}),
    (
        "primary IPv6",
        {"Ipv6Addresses": [{"Ipv6Address": "2001:db8::1"}, {"Ipv6Address": "2001:db8::2", "IsPrimaryIpv6": True}]},
        {"ipv6": ("2001:db8::2", "2001:db8::1")},
    ),
    ("IPv6 in its short form", {"Ipv6Address": "2001:db8::1"}, {"ipv6": ("2001:db8::1",)}),
    ("prefix", {"Ipv4Prefixes": [{"Ipv4Prefix": "10.0.0.17/28"}]}, {"prefixes": (Cidr.parse("10.0.0.16/28"),)}),
    ("a type of the future", {"InterfaceType": "quantum"}, {"interface_type": "quantum"}),
    ("a state of the future", {"Status": "dreaming"}, {"status": "dreaming"}),
    ("requester-managed", {"RequesterManaged": True}, {"requester_managed": True}),
    ("managed by an operator", {"Operator": {"Managed": True}}, {"requester_managed": True}),
    ("unmanaged by an operator", {"Operator": {"Managed": False}}, {"requester_managed": False}),
    ("source check off", {"SourceDestCheck": False}, {"source_dest_check": False}),
    ("time-outs of other protocols", {"ConnectionTrackingConfiguration": {"UdpTimeout": 60}}, {}),
    (
        "card and device",
        {"Attachment": {"DeviceIndex": 1, "NetworkCardIndex": 3, "InstanceId": "i-7"}},
        {"device_index": 1, "network_card_index": 3, "instance_id": "i-7"},
    ),
    ("tags under the other name", {"Tags": [{"Key": "a"}]}, {"tags": {"a": ""}}),
    ("no public address", {"Association": {"IpOwnerId": "amazon"}}, {"public_ip": ""}),
]
PLAIN = Interface("eni-1", "", "vpc-1", "subnet-1", "", "interface", None, 0, None, (), ())


@pytest.mark.parametrize(("_case", "more", "fields"), INTERFACE_READINGS, ids=[row[0] for row in INTERFACE_READINGS])
def test_interface_readings(_case: str, more: Raw, fields: dict[str, Any]) -> None:
    """An untidy interface has exactly one reading."""
    found = only_interface({"NetworkInterfaces": [eni(**more)]})

    assert {name: getattr(found, name) for name in PLAIN.__slots__} == {
        name: fields.get(name, getattr(PLAIN, name)) for name in PLAIN.__slots__
    }


def test_both_descriptions_join_field_by_field() -> None:
    """What the interface says by itself counts more; what it leaves out is taken from the instance's copy."""
    document = instance(
        eni(
            Description="within",
            Groups=[{"GroupId": "sg-1"}],
            PrivateIpAddress="10.0.0.1",
            Attachment={"DeviceIndex": 0, "NetworkCardIndex": 2},
        )
    )
    document["NetworkInterfaces"] = [
        eni(Description="by itself", Groups=[], Attachment={"DeviceIndex": None, "InstanceId": "i-1"})
    ]

    found = only_interface(document)

    assert (found.description, found.groups, found.ipv4) == ("by itself", (), ("10.0.0.1",))
    assert (found.instance_id, found.device_index, found.network_card_index) == ("i-1", 0, 2)
    assert (found.owner_id, found.availability_zone) == (OWNER, "eu-west-1b")


def test_null_is_absent() -> None:
    """A field that is null by itself doesn't hide the one of the instance's copy."""
    document = instance(eni(Groups=[{"GroupId": "sg-1"}]))
    document["NetworkInterfaces"] = [{**eni(), "Groups": None}]

    assert only_interface(document).groups == ("sg-1",)


@pytest.mark.parametrize("listed", [None, [], [{"NetworkInterfaceId": "eni-9", "VpcId": "v", "SubnetId": "s"}]])
def test_an_interface_within_its_instance_alone(listed: list[Raw] | None) -> None:
    """An interface that the list lacks is taken from the instance, and belongs to it."""
    document = instance(eni())
    if listed is not None:
        document["NetworkInterfaces"] = listed

    snapshot = parse(document)

    assert snapshot.instances["i-1"].interface_ids == ("eni-1",)
    assert snapshot.interfaces["eni-1"].instance_id == "i-1"
    assert len(snapshot.interfaces) == 1 + len(listed or [])


def test_an_interface_by_its_attachment_alone() -> None:
    """An instance that lists no interface has those that are attached to it."""
    document = instance()
    document["NetworkInterfaces"] = [eni(Attachment={"InstanceId": "i-1", "DeviceIndex": 0})]

    assert parse(document).instances["i-1"].interface_ids == ("eni-1",)


def test_interfaces_in_the_order_of_card_and_device() -> None:
    """The primary interface comes first, wherever EC2 listed it; one without an index comes last of its card."""
    places = [("a", 1, 0), ("b", 0, 1), ("c", None, 0), ("d", 0, None)]
    document = instance(
        *(
            eni(NetworkInterfaceId=name, Attachment={"DeviceIndex": device, "NetworkCardIndex": card})
            for name, device, card in places
        )
    )

    assert parse(document).instances["i-1"].interface_ids == ("d", "a", "c", "b")


def test_an_instance_without_interfaces() -> None:
    """It is there, and has none."""
    document = instance()
    del document["Reservations"][0]["Instances"][0]["NetworkInterfaces"]

    snapshot = parse(document)

    assert snapshot.instances["i-1"].interface_ids == ()
    assert snapshot.interfaces == {}


def test_a_terminated_instance_keeps_nothing() -> None:
    """It keeps its state, and no interface, even where the answer still lists one."""
    document = instance(eni(), State={"Name": "terminated"})
    assert parse(document).interfaces == {}

    document["NetworkInterfaces"] = [eni(Attachment={"InstanceId": "i-1"})]
    snapshot = parse(document)

    assert (snapshot.instances["i-1"].state, snapshot.instances["i-1"].interface_ids) == ("terminated", ())
    assert list(snapshot.interfaces) == ["eni-1"]


@pytest.mark.parametrize("state", ["pending", "shutting-down", "stopped", "levitating"])
def test_other_states_keep_their_interfaces(state: str) -> None:
    """Any other state is kept as it is, with the interfaces."""
    found = parse(instance(eni(), State={"Name": state})).instances["i-1"]

    assert (found.state, found.interface_ids) == (state, ("eni-1",))


@pytest.mark.parametrize(
    ("attachment", "groups"),
    [
        ({"DeviceIndex": 0}, ("sg-1",)),
        ({"DeviceIndex": 0, "NetworkCardIndex": 1}, None),
        ({"DeviceIndex": 1}, None),
        (None, None),
    ],
)
def test_the_groups_of_an_instance_are_those_of_its_primary_interface(
    attachment: Raw | None, groups: tuple[str, ...] | None
) -> None:
    """They stand in for absent groups of device 0 on card 0, and of no other interface."""
    document = instance(eni(Attachment=attachment), SecurityGroups=[{"GroupId": "sg-1", "GroupName": "nodes"}])

    assert only_interface(document).groups == groups


def test_no_groups_of_the_instance_say_nothing() -> None:
    """An instance with an empty list of groups doesn't make those of its interface known."""
    assert only_interface(instance(eni(Attachment=PRIMARY), SecurityGroups=[])).groups is None


def test_group_names_are_resolved_within_the_vpc() -> None:
    """A group that is given by name alone is the one of that name in the interface's VPC."""
    document = instance(eni(Groups=[{"GroupName": "nodes"}]))
    document["SecurityGroups"] = [
        {"GroupId": "sg-2", "GroupName": "nodes", "VpcId": "vpc-2"},
        {"GroupId": "sg-1", "GroupName": "nodes", "VpcId": "vpc-1"},
    ]

    assert only_interface(document).groups == ("sg-1",)


def test_subnet_and_vpc_of_a_primary_interface() -> None:
    """They are the instance's where its primary interface doesn't name them."""
    found = only_interface(instance({"NetworkInterfaceId": "eni-1", "Attachment": PRIMARY}))

    assert (found.subnet_id, found.vpc_id, found.availability_zone) == ("subnet-1", "vpc-1", "eu-west-1b")


def test_vpc_and_zone_by_the_subnet() -> None:
    """They are those of the subnet where the interface doesn't name them."""
    document = {
        "NetworkInterfaces": [eni(VpcId=None)],
        "Subnets": [{"SubnetId": "subnet-1", "VpcId": "vpc-8", "AvailabilityZone": "eu-west-1c"}],
    }
    found = only_interface(document)

    assert (found.vpc_id, found.availability_zone) == ("vpc-8", "eu-west-1c")


def test_the_same_twice_counts_once() -> None:
    """An instance or interface that two answers have in common is one."""
    document = instance(eni())
    document["Reservations"] *= 2
    document["NetworkInterfaces"] = [eni(), eni()]

    snapshot = parse(document)

    assert (list(snapshot.instances), list(snapshot.interfaces)) == (["i-1"], ["eni-1"])
    assert snapshot.instances["i-1"].interface_ids == ("eni-1",)


def within(**more: Any) -> Raw:
    return instance(eni(**more))


def alone(**more: Any) -> Raw:
    return {"NetworkInterfaces": [eni(), eni(NetworkInterfaceId="eni-2", **more)]}


INSIDE = "net.json: Reservations[0].Instances[0]"
ERRORS: list[tuple[Any, str]] = [
    ({"Reservations": {}}, "net.json: Reservations: expected a list, got an object"),
    ({"Reservations": ["i-1"]}, 'net.json: Reservations[0]: expected an object, got "i-1"'),
    ({"Reservations": [{"OwnerId": 1}]}, "net.json: Reservations[0].OwnerId: expected text, got 1"),
    ({"Reservations": [{"Instances": 1}]}, "net.json: Reservations[0].Instances: expected a list, got 1"),
    (
        {"Reservations": [{}, {"Instances": [{"InstanceId": "i-1"}, None]}]},
        "net.json: Reservations[1].Instances[1]: expected an object, got null",
    ),
    ({"Reservations": [{"Instances": [{}]}]}, f"{INSIDE}.InstanceId: missing"),
    (instance(InstanceId=""), f'{INSIDE}.InstanceId: expected text, got ""'),
    (instance(State="running"), f'{INSIDE}.State: expected an object, got "running"'),
    (instance(State={"Name": 16}), f"{INSIDE}.State.Name: expected text, got 16"),
    (instance(Placement=[]), f"{INSIDE}.Placement: expected an object, got a list"),
    (instance(Tags={"a": "b"}), f"{INSIDE}.Tags: expected a list, got an object"),
    (instance(Tags=[{"Value": "b"}]), f"{INSIDE}.Tags[0].Key: missing"),
    (instance(SecurityGroups=[{}]), f"{INSIDE}.SecurityGroups[0].GroupId: missing"),
    (instance(NetworkInterfaces="eni-1"), f'{INSIDE}.NetworkInterfaces: expected a list, got "eni-1"'),
    (instance({}), f"{INSIDE}.NetworkInterfaces[0].NetworkInterfaceId: missing"),
    (within(SubnetId=""), f"{INSIDE}.NetworkInterfaces[0].SubnetId: missing"),
    (
        within(SourceDestCheck="yes"),
        f'{INSIDE}.NetworkInterfaces[0].SourceDestCheck: expected true or false, got "yes"',
    ),
    ({"NetworkInterfaces": [{}]}, "net.json: NetworkInterfaces[0].NetworkInterfaceId: missing"),
    (alone(SubnetId=None), "net.json: NetworkInterfaces[1].SubnetId: missing"),
    (alone(VpcId=None), "net.json: NetworkInterfaces[1].VpcId: missing"),
    (
        alone(PrivateIpAddress="10.0.0.256"),
        'net.json: NetworkInterfaces[1].PrivateIpAddress: expected an IPv4 address, got "10.0.0.256"',
    ),
    (
        alone(PrivateIpAddress="10.0.0.1\n"),
        'net.json: NetworkInterfaces[1].PrivateIpAddress: expected an IPv4 address, got "10.0.0.1\\n"',
    ),
    (
        alone(PrivateIpAddresses=[{"PrivateIpAddress": "2001:db8::1"}]),
        (
            "net.json: NetworkInterfaces[1].PrivateIpAddresses[0].PrivateIpAddress: "
            'expected an IPv4 address, got "2001:db8::1"'
        ),
    ),
    (
        alone(Ipv6Addresses=[{"Ipv6Address": "fe80::1%eth0"}]),
        'net.json: NetworkInterfaces[1].Ipv6Addresses[0].Ipv6Address: expected an IPv6 address, got "fe80::1%eth0"',
    ),
    (alone(Ipv6Addresses={}), "net.json: NetworkInterfaces[1].Ipv6Addresses: expected a list, got an object"),
    (
        alone(Ipv4Prefixes=[{"Ipv4Prefix": "10.0.0.0"}]),
        (
            "net.json: NetworkInterfaces[1].Ipv4Prefixes[0].Ipv4Prefix: "
            'expected an IPv4 CIDR block such as 10.0.0.0/8, got "10.0.0.0"'
        ),
    ),
    (alone(Groups={}), "net.json: NetworkInterfaces[1].Groups: expected a list, got an object"),
    (alone(Groups=["sg-1"]), 'net.json: NetworkInterfaces[1].Groups[0]: expected an object, got "sg-1"'),
    (alone(Groups=[{"GroupId": ["x"]}]), "net.json: NetworkInterfaces[1].Groups[0].GroupId: expected text, got a list"),
    (alone(Attachment="i-1"), 'net.json: NetworkInterfaces[1].Attachment: expected an object, got "i-1"'),
    (
        alone(Attachment={"DeviceIndex": True}),
        "net.json: NetworkInterfaces[1].Attachment.DeviceIndex: expected a whole number, got true",
    ),
    (
        alone(Attachment={"NetworkCardIndex": 0.5}),
        "net.json: NetworkInterfaces[1].Attachment.NetworkCardIndex: expected a whole number, got 0.5",
    ),
    (alone(Operator={"Managed": 1}), "net.json: NetworkInterfaces[1].Operator.Managed: expected true or false, got 1"),
    (alone(Association=["1"]), "net.json: NetworkInterfaces[1].Association: expected an object, got a list"),
    (
        alone(ConnectionTrackingConfiguration={"TcpEstablishedTimeout": "350"}),
        (
            "net.json: NetworkInterfaces[1].ConnectionTrackingConfiguration.TcpEstablishedTimeout: "
            'expected a whole number, got "350"'
        ),
    ),
    (alone(TagSet=[1]), "net.json: NetworkInterfaces[1].TagSet[0]: expected an object, got 1"),
    (
        alone(Description="\x1b[31mred\x7f\x9b", Status=["\x1b"]),
        "net.json: NetworkInterfaces[1].Status: expected text, got a list",
    ),
    (
        alone(SourceDestCheck="\x1b]0;title\x07\x7f\x9b\u202e"),
        (
            "net.json: NetworkInterfaces[1].SourceDestCheck: expected true or false, "
            'got "\\u001b]0;title\\u0007\\u007f\\u009b\\u202e"'
        ),
    ),
    (
        alone(SourceDestCheck="x" * 100),
        f'net.json: NetworkInterfaces[1].SourceDestCheck: expected true or false, got "{"x" * 56}...',
    ),
    (
        alone(SourceDestCheck=10**5000),
        "net.json: NetworkInterfaces[1].SourceDestCheck: expected true or false, got a very long number",
    ),
    (
        {"NetworkInterfaces": [eni(), eni(NetworkInterfaceId="eni-2"), eni(Description="x")]},
        "net.json: NetworkInterfaces[2]: eni-1 is described twice, and differently at net.json: NetworkInterfaces[0]",
    ),
    (
        instance(eni(), eni(Status="available")),
        f"{INSIDE}.NetworkInterfaces[1]: eni-1 is described twice, and differently at {INSIDE}.NetworkInterfaces[0]",
    ),
    (
        {"Reservations": [*instance()["Reservations"], *instance(VpcId="vpc-2")["Reservations"]]},
        (
            "net.json: Reservations[1].Instances[0]: i-1 is described twice, and differently at "
            "net.json: Reservations[0].Instances[0]"
        ),
    ),
]


@pytest.mark.parametrize(("document", "message"), ERRORS)
def test_errors(document: Any, message: str) -> None:
    """What can't be read is refused with the file, the path and the value."""
    assert error_of(document) == message


@pytest.mark.parametrize(
    ("listed", "embedded", "place"),
    [
        ({"Status": 1}, {"Status": "in-use"}, "NetworkInterfaces[0].Status"),
        ({}, {"Status": 1}, "Reservations[0].Instances[0].NetworkInterfaces[0].Status"),
        ({"Attachment": {"DeviceIndex": 1}}, {"Attachment": {"DeviceIndex": "x", "NetworkCardIndex": "x"}}, ""),
    ],
)
def test_the_place_of_a_wrong_field_of_two_descriptions(listed: Raw, embedded: Raw, place: str) -> None:
    """The error points at the description from which the value was taken."""
    document = instance(eni(**embedded))
    document["NetworkInterfaces"] = [eni(**listed)]
    inside = "Reservations[0].Instances[0].NetworkInterfaces[0].Attachment.NetworkCardIndex"

    assert error_of(document).split(": ")[1] == (place or inside)
