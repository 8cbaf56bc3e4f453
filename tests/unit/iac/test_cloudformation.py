"""CloudFormation templates: what their functions and resources come to, and what stays unknown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sgaudit import iac
from sgaudit.iac import cloudformation
from sgaudit.iac.intrinsics import Template
from sgaudit.iac.template import parse
from sgaudit.iac.values import UNKNOWN, Unknown
from tests.unit.iac import templates
from tests.unit.iac.reach import verdicts

ALL = "0-65535"
MAYBE = f"?{ALL}"
OPEN, SHUT, DOUBT = {"a b": ALL, "b a": ALL}, {"a b": "", "b a": ""}, {"a b": MAYBE, "b a": MAYBE}
BASE = """\
Parameters:
  Answer: {Type: String}
  Existing: {Type: "AWS::EC2::SecurityGroup::Id"}
  Subnets: {Type: CommaDelimitedList, Default: "A, B"}
Conditions:
  Told: !Equals [!Ref Answer, "yes"]
Resources:
  Vpc: {Type: "AWS::EC2::VPC", Properties: {CidrBlock: 10.0.0.0/16}}
  A:
    Type: AWS::EC2::Subnet
    Properties: {VpcId: !Ref Vpc, CidrBlock: !Select [0, !Cidr [!GetAtt Vpc.CidrBlock, 2, 8]]}
  B:
    Type: AWS::EC2::Subnet
    Properties: {VpcId: !Ref Vpc, CidrBlock: !Select [1, !Cidr [!GetAtt Vpc.CidrBlock, 2, 8]]}
  Acl: {Type: "AWS::EC2::NetworkAcl", Properties: {VpcId: !Ref Vpc}}
  G:
    Type: AWS::EC2::SecurityGroup
    Properties:
      GroupDescription: g
      VpcId: !Ref Vpc
      SecurityGroupIngress: [{IpProtocol: -1, CidrIp: 10.0.0.0/16}]
"""
NODES = """\
  NodeA:
    Type: AWS::EC2::Instance
    Properties: {SubnetId: !Ref A, SecurityGroupIds: [GROUP], Tags: [{Key: Name, Value: a}]}
  NodeB:
    Type: AWS::EC2::Instance
    Properties: {SubnetId: !Ref B, SecurityGroupIds: [GROUP], Tags: [{Key: Name, Value: b}]}
"""


def judged(more: str = "", group: str = "!Ref G", **parameters: str) -> dict[str, str]:
    text = BASE + NODES.replace("GROUP", group) + more
    return verdicts(iac.snapshot_of(cloudformation.reading(text, "t.yaml", parameters), "t.yaml"))


ASSOCIATION = """\
  Guard:
    Type: AWS::EC2::SubnetNetworkAclAssociation
    Condition: Told
    Properties: {SubnetId: !Ref B, NetworkAclId: !Ref Acl}
"""
SHUT_GROUP = """\
  H:
    Type: AWS::EC2::SecurityGroup
    Properties: {GroupDescription: h, VpcId: !Ref Vpc}
  More:
    Type: AWS::EC2::SecurityGroupIngress
    Condition: Told
    Properties: {GroupId: !Ref H, IpProtocol: "-1", SourceSecurityGroupId: !Ref H}
"""
OWN_EGRESS = """\
  Out:
    Type: AWS::EC2::SecurityGroupEgress
    Properties: {GroupId: !Ref G, IpProtocol: tcp, FromPort: 22, ToPort: "22", CidrIp: 10.0.0.0/16}
"""
BY_NAME = """\
  Named:
    Type: AWS::EC2::SecurityGroupIngress
    Properties: {GroupName: g, IpProtocol: "-1", CidrIp: 0.0.0.0/0}
"""
NARROW = """\
  N:
    Type: AWS::EC2::SecurityGroup
    Properties:
      GroupDescription: n
      VpcId: !Ref Vpc
      SecurityGroupIngress: {IpProtocol: -1, CidrIp: 10.0.1.0/25}
"""
ROUTE = """\
  Table: {Type: "AWS::EC2::RouteTable", Properties: {VpcId: !Ref Vpc}}
  Mine: {Type: "AWS::EC2::SubnetRouteTableAssociation", Properties: {SubnetId: !Ref A, RouteTableId: !Ref Table}}
  Way:
    Type: AWS::EC2::Route
    Properties: {RouteTableId: !Ref Table, DestinationCidrBlock: !GetAtt B.CidrBlock, NetworkInterfaceId: eni-1}
"""


@pytest.mark.parametrize(
    ("more", "group", "parameters", "expected"),
    [
        ("", "!Ref G", {}, OPEN),
        ("", "!GetAtt G.GroupId", {}, OPEN),
        ("", "!Ref Existing", {}, DOUBT),
        ("", "!Ref Existing", {"Existing": "sg-1"}, DOUBT),
        ("", "!If [Told, !Ref G, !Ref Existing]", {"Answer": "yes"}, OPEN),
        ("", "!If [Told, !Ref G, !Ref Existing]", {}, DOUBT),
        ("", "!If [Told, !Ref G, !Ref G]", {}, OPEN),
        ("", "!ImportValue elsewhere", {}, DOUBT),
        ("", "!GetAtt Vpc.DefaultSecurityGroup", {}, OPEN),
        (ASSOCIATION, "!Ref G", {"Answer": "yes"}, SHUT),
        (ASSOCIATION, "!Ref G", {"Answer": "no"}, OPEN),
        (ASSOCIATION, "!Ref G", {}, DOUBT),
        (SHUT_GROUP, "!Ref H", {"Answer": "yes"}, OPEN),
        (SHUT_GROUP, "!Ref H", {"Answer": "no"}, SHUT),
        (SHUT_GROUP, "!Ref H", {}, DOUBT),
        (OWN_EGRESS, "!Ref G", {}, {"a b": "22?0-65535", "b a": "22?0-65535"}),
        (NARROW, "!Ref N", {}, DOUBT),
        (BY_NAME, "!Ref G", {}, DOUBT),
        (ROUTE, "!Ref G", {}, DOUBT),
    ],
)
def test_two_nodes(more: str, group: str, parameters: dict[str, str], expected: dict[str, str]) -> None:
    """What a template makes of two nodes: open, shut, or unknown where it does not tell."""
    assert judged(more, group, **parameters) == expected


def test_json() -> None:
    """The same template as JSON is the same."""
    text = BASE + NODES.replace("GROUP", "!Ref G")
    assert parse(json.dumps(parse(text))) == parse(text)


def template(**parameters: Any) -> Template:
    resources = {
        "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}},
        "Loop": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": {"Fn::GetAtt": ["Loop", "CidrBlock"]}}},
    }
    mappings = {"Map": {"one": {"two": "three"}}}
    conditions = {
        "Sure": {"Fn::Equals": ["a", "a"]},
        "Never": {"Fn::Not": [{"Condition": "Sure"}]},
        "Perhaps": {"Fn::Equals": ["a", {"Ref": "Secret"}]},
        "Circle": {"Fn::Not": [{"Condition": "Circle"}]},
    }
    return Template(resources, {"Name": "x", "Secret": UNKNOWN, **parameters}, mappings, conditions)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("!Ref Name", "x"),
        ("!Ref Secret", UNKNOWN),
        ("!Ref AWS::Region", UNKNOWN),
        ("!Ref Vpc", "Vpc"),
        ("{a: !Ref AWS::NoValue, b: 1}", {"b": 1}),
        ("!Sub ${Name}-${!Name}-${Vpc.CidrBlock}", "x-${Name}-10.0.0.0/16"),
        ("!Sub ['${k}', {k: !Ref Name}]", "x"),
        ("!Sub ${Secret}", UNKNOWN),
        ("!Join [',', [a, !Ref Name]]", "a,x"),
        ("!Join [',', [a, !Ref Secret]]", UNKNOWN),
        ("!Split [',', 'a,b']", ["a", "b"]),
        ("!Select [1, !Split [',', 'a,b']]", "b"),
        ("!Select ['0', [!Ref Name, !Ref Secret]]", "x"),
        ("!Select [5, [a]]", UNKNOWN),
        ("!FindInMap [Map, one, two]", "three"),
        ("!FindInMap [Map, one, !Ref Secret]", UNKNOWN),
        ("!Select [1, !Cidr [10.0.0.0/16, 2, 8]]", "10.0.1.0/24"),
        ("!Cidr [no, 2, 8]", UNKNOWN),
        ("!If [Sure, 1, 2]", 1),
        ("!If [Never, 1, 2]", 2),
        ("!If [Perhaps, 1, 2]", UNKNOWN),
        ("!If [Circle, 1, 2]", UNKNOWN),
        ("!And [{Condition: Sure}, {Condition: Perhaps}]", UNKNOWN),
        ("!And [{Condition: Never}, {Condition: Perhaps}]", False),
        ("!Or [{Condition: Sure}, {Condition: Perhaps}]", True),
        ("!Or [{Condition: Never}, {Condition: Perhaps}]", UNKNOWN),
        ("!GetAtt Loop.CidrBlock", UNKNOWN),
        ("!Base64 x", UNKNOWN),
        ("010", "010"),
        ("'22'", "22"),
        ("yes", True),
    ],
)
def test_functions(text: str, expected: Any) -> None:
    """Each function gives what it says as far as its arguments are known."""
    found = template().value(parse(text))
    assert found == expected
    assert isinstance(found, Unknown) == isinstance(expected, Unknown)


def test_nothing_grows() -> None:
    """A text that doubles with every attribute ends as unknown instead of filling the memory."""
    resources = {
        f"V{number}": {
            "Type": "AWS::EC2::VPC",
            "Properties": {"CidrBlock": {"Fn::Sub": f"${{V{number + 1}.CidrBlock}}${{V{number + 1}.CidrBlock}}"}},
        }
        for number in range(30)
    }
    resources["V30"] = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "xx"}}
    assert Template(resources, {}, {}, {}).value({"Fn::GetAtt": ["V0", "CidrBlock"]}) == UNKNOWN


LAUNCH = """\
  Lt:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        InstanceType: p5.48xlarge
        NetworkInterfaces:
          - {DeviceIndex: 0, NetworkCardIndex: 0, InterfaceType: efa, Groups: [!Ref G]}
          - {DeviceIndex: 1, NetworkCardIndex: 1, InterfaceType: efa-only, Groups: [!Ref G]}
        TagSpecifications: [{ResourceType: instance, Tags: [{Key: cluster, Value: train}]}]
  Workers:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties:
      VPCZoneIdentifier: [!Ref A, !Ref B]
      DesiredCapacity: "4"
      MinSize: "0"
      LaunchTemplate: {LaunchTemplateId: !Ref Lt, Version: !GetAtt Lt.LatestVersionNumber}
"""


def test_scaling_group() -> None:
    """A group of N is N instances with all the interfaces of its template; EFA-only ones have no address."""
    document = cloudformation.reading(BASE + LAUNCH, "t.yaml", {}).document
    found = [
        (one["SubnetId"], one["InterfaceType"], one["Groups"], len(one["PrivateIpAddresses"]), one["Attachment"])
        for one in document["NetworkInterfaces"]
    ]
    expected = []
    for number in range(4):
        name = f"Resources.Workers.instances[{number}]"
        for index, (kind, addresses) in enumerate((("efa", 1), ("efa-only", 0))):
            attachment = {"InstanceId": name, "DeviceIndex": index, "NetworkCardIndex": index}
            expected.append(("AB"[number % 2], kind, [{"GroupId": "G"}], addresses, attachment))
    assert found == expected


def test_cluster() -> None:
    """The cluster of the tests is read whole: nothing of it is unknown, so there is nothing to note."""
    reading = cloudformation.reading(templates.cluster(), "t.yaml", {})
    assert reading.notes == ()
    assert [one["CidrBlock"] for one in reading.document["Subnets"]] == ["10.20.1.0/24", "10.20.2.0/24"]
