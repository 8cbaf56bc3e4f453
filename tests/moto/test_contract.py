"""The strict fake and the embedded AWS behave alike, but for what the latter is known to do otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import boto3
import pytest
from moto import mock_aws

from sgaudit.aws.change import Ec2Changer
from sgaudit.aws.collect import collect
from sgaudit.aws.session import AwsOptions, connect
from sgaudit.errors import CallError
from sgaudit.fix import rows
from sgaudit.fix.changer import Changer
from sgaudit.selection import Selection
from tests.fake_ec2 import FakeEc2

pytestmark = pytest.mark.moto

REGION = "us-east-1"
Raw = dict[str, Any]
names = count(1)


@dataclass(frozen=True, slots=True)
class World:
    """The same account on both sides: one VPC with one instance, a network ACL and a group."""

    ec2: Changer
    vpc: str
    interface: str
    acl: str
    old_group: str

    def change(self, api: str, **params: Any) -> Mapping[str, Any]:
        return self.ec2.change(api, params)

    def group(self, name: str = "") -> str:
        name = name or f"group-{next(names)}"
        params = {"GroupName": name, "Description": "new", "VpcId": self.vpc}
        return str(self.ec2.change("CreateSecurityGroup", params)["GroupId"])

    def authorize(self, group: str, *permissions: Raw, egress: bool = False, **more: Any) -> Mapping[str, Any]:
        api = f"AuthorizeSecurityGroup{'Egress' if egress else 'Ingress'}"
        return self.change(api, GroupId=group, IpPermissions=list(permissions), **more)

    def raw_rules(self, group: str, *, egress: bool = False) -> list[Mapping[str, Any]]:
        found = self.ec2.read("DescribeSecurityGroupRules", {"Filters": [{"Name": "group-id", "Values": [group]}]})
        return [rule for rule in found if bool(rule["IsEgress"]) is egress]

    def rules(self, group: str, *, egress: bool = False) -> list[str]:
        return sorted(rows.rule_key(rule) for rule in self.raw_rules(group, egress=egress))

    def carried(self) -> list[str]:
        request = {"Filters": [{"Name": "network-interface-id", "Values": [self.interface]}]}
        return sorted(item["GroupId"] for item in self.ec2.read("DescribeNetworkInterfaces", request)[0]["Groups"])

    def carry(self, *groups: str) -> None:
        self.change("ModifyNetworkInterfaceAttribute", NetworkInterfaceId=self.interface, Groups=list(groups))

    def entry(self, number: int, **more: Any) -> Mapping[str, Any]:
        return self.change("CreateNetworkAclEntry", **self.entry_params(number, **more))

    def entry_params(self, number: int, **more: Any) -> Raw:
        plain = {"Protocol": "6", "PortRange": {"From": 1, "To": 2}, "RuleAction": "allow", "CidrBlock": "10.0.0.0/8"}
        return {"NetworkAclId": self.acl, "RuleNumber": number, "Egress": False, **plain, **more}

    def entries(self, number: int) -> list[Raw]:
        acl = self.ec2.read("DescribeNetworkAcls", {"NetworkAclIds": [self.acl]})[0]
        return [rows.entry(item) for item in acl["Entries"] if item["RuleNumber"] == number]


def tcp(low: int, high: int | None = None, *, cidr: str = "", group: str = "", about: str = "", **more: Any) -> Raw:
    said = {"Description": about} if about else {}
    row: Raw = {"IpProtocol": "tcp", "FromPort": low, "ToPort": low if high is None else high, **more}
    if cidr:
        row["Ipv6Ranges" if ":" in cidr else "IpRanges"] = [{"CidrIpv6" if ":" in cidr else "CidrIp": cidr, **said}]
    if group:
        row["UserIdGroupPairs"] = [{"GroupId": group, **said}]
    return row


def refuses(code: str, call: Callable[[], object]) -> None:
    with pytest.raises(CallError) as caught:
        call()
    assert caught.value.code == code


def new_group(world: World) -> None:
    """A new group lets everything out and nothing in."""
    group = world.group()
    assert world.rules(group) == []
    assert world.rules(group, egress=True) == ["all from 0.0.0.0/0"]


def group_name_taken(world: World) -> None:
    """Two groups of a VPC have different names."""
    world.group("taken")
    refuses("InvalidGroup.Duplicate", lambda: world.group("taken"))


def group_name_taken_in_capitals(world: World) -> None:
    """Names differ by more than capitals."""
    world.group("alike")
    refuses("InvalidGroup.Duplicate", lambda: world.group("ALIKE"))


def created_tags(world: World) -> None:
    """What is created has its tags at once."""
    tags = [{"Key": "sgaudit:run", "Value": "r"}]
    answer = world.change(
        "CreateSecurityGroup",
        GroupName=f"group-{next(names)}",
        Description="new",
        VpcId=world.vpc,
        TagSpecifications=[{"ResourceType": "security-group", "Tags": tags}],
    )
    group = answer["GroupId"]
    read = world.ec2.read("DescribeSecurityGroups", {"Filters": [{"Name": "group-id", "Values": [group]}]})
    assert list(read[0]["Tags"]) == tags
    kind = [{"ResourceType": "security-group-rule", "Tags": tags}]
    world.authorize(group, tcp(1, cidr="10.0.0.0/8"), TagSpecifications=kind)
    assert [list(rule["Tags"]) for rule in world.raw_rules(group)] == [tags]


def answer_names_all(world: World) -> None:
    """The answer has the id of each permission that was added."""
    group = world.group()
    answer = world.authorize(group, tcp(1, cidr="10.0.0.0/8"), tcp(2, cidr="10.0.0.0/8"), tcp(3, group=group))
    ids = {rule["SecurityGroupRuleId"] for rule in world.raw_rules(group)}
    assert {rule["SecurityGroupRuleId"] for rule in answer["SecurityGroupRules"]} == ids


def both_directions(world: World) -> None:
    """Permissions of each kind are read as they were added, either way."""
    group = world.group()
    for egress in (False, True):
        world.authorize(
            group,
            tcp(1, 9, cidr="10.0.0.0/8"),
            tcp(5, cidr="2001:db8::/32"),
            {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]},
            egress=egress,
        )
    wanted = {"tcp:1-9 from 10.0.0.0/8", "tcp:5-5 from 2001:db8::/32", f"all from {group}"}
    assert set(world.rules(group)) == wanted
    assert set(world.rules(group, egress=True)) == {*wanted, "all from 0.0.0.0/0"}


def duplicate_block(world: World) -> None:
    """A permission with another description is the same one."""
    group = world.group()
    world.authorize(group, tcp(1, cidr="10.0.0.0/8", about="one"))
    refuses("InvalidPermission.Duplicate", lambda: world.authorize(group, tcp(1, cidr="10.0.0.0/8", about="other")))


def duplicate_group(world: World) -> None:
    """So it is for a group as peer."""
    group = world.group()
    world.authorize(group, tcp(1, group=group, about="one"))
    refuses("InvalidPermission.Duplicate", lambda: world.authorize(group, tcp(1, group=group, about="other")))


def duplicate_list(world: World) -> None:
    """So it is for a prefix list as peer."""
    group, prefix_list = world.group(), new_list(world)
    row = {"IpProtocol": "tcp", "FromPort": 1, "ToPort": 1, "PrefixListIds": [{"PrefixListId": prefix_list}]}
    world.authorize(group, row)
    refuses("InvalidPermission.Duplicate", lambda: world.authorize(group, row))


def whole_or_nothing(world: World) -> None:
    """A request of which one permission fails adds none."""
    group = world.group()
    world.authorize(group, tcp(2, cidr="10.0.0.0/8"))
    refuses(
        "InvalidPermission.Duplicate",
        lambda: world.authorize(group, tcp(1, cidr="10.0.0.0/8"), tcp(2, cidr="10.0.0.0/8")),
    )
    assert world.rules(group) == ["tcp:2-2 from 10.0.0.0/8"]


def twice_in_a_request(world: World) -> None:
    """A request may not name a permission twice, however its block is written."""
    group = world.group()
    refuses(
        "InvalidParameterValue",
        lambda: world.authorize(group, tcp(1, cidr="10.0.9.9/16"), tcp(1, cidr="10.0.0.0/16")),
    )


def canonical_block(world: World) -> None:
    """Blocks are kept without the bits behind the prefix."""
    group = world.group()
    world.authorize(group, tcp(1, cidr="10.0.9.9/16"))
    assert [rule["CidrIpv4"] for rule in world.raw_rules(group)] == ["10.0.0.0/16"]


def description_is_read(world: World) -> None:
    """The description of a permission with a group as peer is read back."""
    group = world.group()
    world.authorize(group, tcp(1, group=group, about="why"))
    assert [rule.get("Description") for rule in world.raw_rules(group)] == ["why"]


def bad_ports(world: World) -> None:
    """A range of ports must go upwards."""
    group = world.group()
    refuses("InvalidParameterValue", lambda: world.authorize(group, tcp(9, 1, cidr="10.0.0.0/8")))


def bad_protocol(world: World) -> None:
    """A protocol must be one."""
    group = world.group()
    refuses("InvalidParameterValue", lambda: world.authorize(group, {**tcp(1, cidr="10.0.0.0/8"), "IpProtocol": "foo"}))


def bad_description(world: World) -> None:
    """Descriptions have few characters to choose from."""
    group = world.group()
    refuses("InvalidParameterValue", lambda: world.authorize(group, tcp(1, cidr="10.0.0.0/8", about="<é>")))


def unknown_peer(world: World) -> None:
    """A group that is a peer must be there."""
    group = world.group()
    refuses("InvalidGroup.NotFound", lambda: world.authorize(group, tcp(1, group="sg-0123456789abcdef0")))


def unknown_group(world: World) -> None:
    """A group that is changed must be there."""
    refuses("InvalidGroup.NotFound", lambda: world.authorize("sg-0123456789abcdef0", tcp(1, cidr="10.0.0.0/8")))


def many(first: int, number: int, prefix: str) -> Iterator[Raw]:
    return (
        tcp(first, cidr=f"{prefix}{index}/128" if ":" in prefix else f"{prefix}{index}/32") for index in range(number)
    )


def full(world: World) -> None:
    """A group has at most 60 permissions a direction."""
    group = world.group()
    world.authorize(group, *many(1, 60, "10.0.0."))
    refuses("RulesPerSecurityGroupLimitExceeded", lambda: world.authorize(group, tcp(2, cidr="10.0.0.0/8")))


def full_of_one_family(world: World) -> None:
    """Each family counts for itself."""
    group = world.group()
    world.authorize(group, *many(1, 60, "10.0.0."))
    world.authorize(group, *many(1, 60, "2001:db8::"))
    refuses("RulesPerSecurityGroupLimitExceeded", lambda: world.authorize(group, tcp(1, group=group)))


def revoke(world: World) -> None:
    """Permissions are revoked by id."""
    group = world.group()
    world.authorize(group, tcp(1, cidr="10.0.0.0/8"))
    world.authorize(group, tcp(2, group=group))
    ids = [rule["SecurityGroupRuleId"] for rule in world.raw_rules(group)]
    world.change("RevokeSecurityGroupIngress", GroupId=group, SecurityGroupRuleIds=ids)
    assert world.rules(group) == []


def revoke_twice(world: World) -> None:
    """An id is revoked once."""
    group = world.group()
    world.authorize(group, tcp(1, cidr="10.0.0.0/8"))
    ids = [rule["SecurityGroupRuleId"] for rule in world.raw_rules(group)]
    request: Raw = {"GroupId": group, "SecurityGroupRuleIds": ids}
    world.change("RevokeSecurityGroupIngress", **request)
    refuses("InvalidSecurityGroupRuleId.NotFound", lambda: world.change("RevokeSecurityGroupIngress", **request))


def revoke_egress(world: World) -> None:
    """So it is for egress."""
    group = world.group()
    ids = [rule["SecurityGroupRuleId"] for rule in world.raw_rules(group, egress=True)]
    world.change("RevokeSecurityGroupEgress", GroupId=group, SecurityGroupRuleIds=ids)
    assert world.rules(group, egress=True) == []


def groups_are_replaced(world: World) -> None:
    """The groups of an interface are replaced as a whole."""
    one, other = world.group(), world.group()
    world.carry(one)
    assert world.carried() == [one]
    world.carry(other, one)
    assert world.carried() == sorted([one, other])
    world.carry(world.old_group)
    assert world.carried() == [world.old_group]


def no_groups(world: World) -> None:
    """An interface carries at least one group."""
    refuses("InvalidParameterValue", world.carry)


def unknown_groups(world: World) -> None:
    """An interface carries only groups that are there."""
    refuses("InvalidGroup.NotFound", lambda: world.carry("sg-0123456789abcdef0"))


def too_many_groups(world: World) -> None:
    """An interface carries at most five groups."""
    groups = [world.group() for _ in range(6)]
    refuses("SecurityGroupsPerInterfaceLimitExceeded", lambda: world.carry(*groups))


def unknown_interface(world: World) -> None:
    """An interface that is changed must be there."""
    request = {"NetworkInterfaceId": "eni-0123456789abcdef0", "Groups": [world.old_group]}
    refuses("InvalidNetworkInterfaceID.NotFound", lambda: world.change("ModifyNetworkInterfaceAttribute", **request))


def delete_group(world: World) -> None:
    """A group that nobody uses is deleted, once."""
    group = world.group()
    world.change("DeleteSecurityGroup", GroupId=group)
    refuses("InvalidGroup.NotFound", lambda: world.change("DeleteSecurityGroup", GroupId=group))


def delete_carried_group(world: World) -> None:
    """A group that an interface carries stays."""
    group = world.group()
    world.carry(group)
    refuses("DependencyViolation", lambda: world.change("DeleteSecurityGroup", GroupId=group))


def delete_named_group(world: World) -> None:
    """A group that another one names stays."""
    one, other = world.group(), world.group()
    world.authorize(other, tcp(1, group=one))
    refuses("DependencyViolation", lambda: world.change("DeleteSecurityGroup", GroupId=one))


def dry_run(world: World) -> None:
    """A dry run of an authorize says yes and adds nothing."""
    group = world.group()
    request = {"GroupId": group, "IpPermissions": [tcp(1, cidr="10.0.0.0/8")]}
    assert world.ec2.ask("AuthorizeSecurityGroupIngress", request) == "DryRunOperation"
    assert world.rules(group) == []


def dry_run_of_groups(world: World) -> None:
    """So it does for an interface."""
    group = world.group()
    request = {"NetworkInterfaceId": world.interface, "Groups": [group]}
    assert world.ec2.ask("ModifyNetworkInterfaceAttribute", request) == "DryRunOperation"
    assert world.carried() == [world.old_group]


def dry_run_of_an_entry(world: World) -> None:
    """So it does for a network ACL."""
    assert world.ec2.ask("CreateNetworkAclEntry", world.entry_params(700)) == "DryRunOperation"
    assert world.entries(700) == []


def entry_round(world: World) -> None:
    """An entry is created, replaced and deleted."""
    world.entry(500)
    assert world.entries(500) == [rows.entry(world.entry_params(500))]
    world.change("ReplaceNetworkAclEntry", **world.entry_params(500, RuleAction="deny"))
    assert world.entries(500) == [rows.entry(world.entry_params(500, RuleAction="deny"))]
    world.change("DeleteNetworkAclEntry", NetworkAclId=world.acl, RuleNumber=500, Egress=False)
    assert world.entries(500) == []


def entry_number_taken(world: World) -> None:
    """A number is given once a direction."""
    world.entry(501)
    world.entry(501, Egress=True)
    refuses("NetworkAclEntryAlreadyExists", lambda: world.entry(501, CidrBlock="10.1.0.0/16"))


def entry_number_reserved(world: World) -> None:
    """Numbers end at 32766."""
    refuses("InvalidParameterValue", lambda: world.entry(40000))


def entry_number_zero(world: World) -> None:
    """Numbers begin at 1."""
    refuses("InvalidParameterValue", lambda: world.entry(0))


def entry_protocol(world: World) -> None:
    """The protocol of an entry is a number."""
    refuses("InvalidParameterValue", lambda: world.entry(502, Protocol="tcp"))


def entry_without_ports(world: World) -> None:
    """An entry for tcp has ports."""
    refuses("InvalidParameterValue", lambda: world.entry(503, PortRange={}))


def entry_is_missing(world: World) -> None:
    """Only an entry that is there is deleted."""
    request = {"NetworkAclId": world.acl, "RuleNumber": 999, "Egress": False}
    refuses("InvalidNetworkAclEntry.NotFound", lambda: world.change("DeleteNetworkAclEntry", **request))


def entries_full(world: World) -> None:
    """A network ACL has at most 20 entries a direction and family."""
    for number in range(800, 818):
        world.entry(number, Egress=True)
    refuses("NetworkAclEntryLimitExceeded", lambda: [world.entry(n, Egress=True) for n in range(818, 821)])


def new_list(world: World, **more: Any) -> str:
    request = {"PrefixListName": f"list-{next(names)}", "AddressFamily": "IPv4", "MaxEntries": 2, **more}
    return str(world.change("CreateManagedPrefixList", **request)["PrefixList"]["PrefixListId"])


def list_round(world: World) -> None:
    """A prefix list is found by its name and its id, and deleted."""
    prefix_list = new_list(world, PrefixListName="named", Entries=[{"Cidr": "10.0.0.0/8"}])
    for key, value in (("prefix-list-name", "named"), ("prefix-list-id", prefix_list)):
        found = world.ec2.read("DescribeManagedPrefixLists", {"Filters": [{"Name": key, "Values": [value]}]})
        assert [item["PrefixListId"] for item in found] == [prefix_list]
    world.change("DeleteManagedPrefixList", PrefixListId=prefix_list)
    request = {"Filters": [{"Name": "prefix-list-id", "Values": [prefix_list]}]}
    left = world.ec2.read("DescribeManagedPrefixLists", request)
    assert [item for item in left if not item["State"].startswith("delete")] == []


def list_by_token(world: World) -> None:
    """A request that is repeated with its token makes no second list."""
    request = {"PrefixListName": "token", "ClientToken": "t-1"}
    assert new_list(world, **request) == new_list(world, **request)


def list_too_long(world: World) -> None:
    """A list has room for `MaxEntries`."""
    entries = [{"Cidr": f"10.{number}.0.0/16"} for number in range(3)]
    refuses("InvalidParameterValue", lambda: new_list(world, Entries=entries))


def unknown_list(world: World) -> None:
    """A prefix list that is a peer must be there."""
    group = world.group()
    row = {"IpProtocol": "-1", "PrefixListIds": [{"PrefixListId": "pl-0123456789abcdef0"}]}
    refuses("InvalidPrefixListID.NotFound", lambda: world.authorize(group, row))


CASES: Sequence[tuple[Callable[[World], None], str]] = (
    (new_group, ""),
    (group_name_taken, ""),
    (group_name_taken_in_capitals, "compares names with capitals"),
    (created_tags, ""),
    (answer_names_all, "answers with the last permission only"),
    (both_directions, ""),
    (duplicate_block, ""),
    (duplicate_group, "compares the description of groups as peers, too"),
    (duplicate_list, ""),
    (whole_or_nothing, "keeps the permissions before the one that fails"),
    (twice_in_a_request, "keeps blocks as they are written"),
    (canonical_block, "keeps blocks as they are written"),
    (description_is_read, "forgets the description of groups as peers"),
    (bad_ports, "takes any ports"),
    (bad_protocol, "takes any protocol"),
    (bad_description, "takes any description"),
    (unknown_peer, ""),
    (unknown_group, ""),
    (full, ""),
    (full_of_one_family, "counts both families together"),
    (revoke, ""),
    (revoke_twice, "says so with another code"),
    (revoke_egress, ""),
    (groups_are_replaced, ""),
    (no_groups, "takes an empty list for no change"),
    (unknown_groups, "takes groups that are not there"),
    (too_many_groups, "takes any number of groups"),
    (unknown_interface, ""),
    (delete_group, ""),
    (delete_carried_group, "deletes groups that are in use"),
    (delete_named_group, "deletes groups that are in use"),
    (dry_run, ""),
    (dry_run_of_groups, ""),
    (dry_run_of_an_entry, "carries out dry runs on network ACLs"),
    (entry_round, ""),
    (entry_number_taken, ""),
    (entry_number_reserved, "takes any number"),
    (entry_number_zero, "takes any number"),
    (entry_protocol, "takes names of protocols"),
    (entry_without_ports, "takes tcp without ports"),
    (entry_is_missing, "breaks off"),
    (entries_full, "takes any number of entries"),
    (list_round, ""),
    (list_by_token, "knows no tokens"),
    (list_too_long, "takes any number of entries"),
    (unknown_list, "does not look prefix lists up"),
)
"""What holds, and what moto does instead."""


@pytest.fixture(scope="module")
def embedded() -> Iterator[World]:
    with mock_aws():
        ec2 = boto3.client("ec2", region_name=REGION)
        vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
        acl = ec2.create_network_acl(VpcId=vpc)["NetworkAcl"]["NetworkAclId"]
        group = ec2.create_security_group(GroupName="old", Description="old", VpcId=vpc)["GroupId"]
        started = ec2.run_instances(
            ImageId="ami-12c6146b",
            MinCount=1,
            MaxCount=1,
            NetworkInterfaces=[{"DeviceIndex": 0, "SubnetId": subnet, "Groups": [group]}],
        )
        interface = started["Instances"][0]["NetworkInterfaces"][0]["NetworkInterfaceId"]
        yield World(Ec2Changer(connect(AwsOptions(region=REGION))), vpc, interface, acl, group)


@pytest.fixture(scope="module")
def document(embedded: World) -> Raw:
    return collect(connect(AwsOptions(region=REGION)), Selection(everything=True), whole_vpc=True)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.__name__) for case, _ in CASES])
def test_fake(case: Callable[[World], None], embedded: World, document: Raw) -> None:
    """The fake does as AWS does."""
    case(World(FakeEc2(document), embedded.vpc, embedded.interface, embedded.acl, embedded.old_group))


def _marked(case: Callable[[World], None], gap: str) -> Any:
    marks = [pytest.mark.xfail(strict=True, reason=f"moto {gap}")] if gap else []
    return pytest.param(case, id=case.__name__, marks=marks)


@pytest.mark.parametrize("case", [_marked(case, gap) for case, gap in CASES])
def test_moto(case: Callable[[World], None], embedded: World, document: Raw) -> None:
    """The embedded AWS does so, too, apart from what is said of it."""
    try:
        case(embedded)
    finally:
        embedded.carry(embedded.old_group)
