"""One stack three ways: made in the embedded AWS, planned by Terraform, and as a CloudFormation template."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from click.testing import CliRunner
from moto import mock_aws

from sgaudit import iac, snapshot
from sgaudit.aws.collect import collect
from sgaudit.aws.session import AwsOptions, connect
from sgaudit.cli import main
from sgaudit.iac import cloudformation
from sgaudit.selection import Selection
from tests.moto.conftest import IMAGE, REGION
from tests.unit.iac import plans, templates
from tests.unit.iac.reach import judged, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.moto


@pytest.fixture
def account() -> Iterator[None]:
    with mock_aws():
        yield


def collected() -> dict[str, str]:
    document = collect(connect(AwsOptions(region=REGION)), Selection(everything=True))
    return verdicts(snapshot.parse(document))


def template_verdicts(text: str, **parameters: str) -> dict[str, str]:
    reading = cloudformation.reading(text, "stack.yaml", parameters)
    return verdicts(iac.snapshot_of(reading, "stack.yaml"))


def make(ec2: Any) -> None:
    """Make the cluster call by call."""
    vpc = ec2.create_vpc(CidrBlock="10.20.0.0/16")["Vpc"]["VpcId"]
    subnets = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.20.{number}.0/24")["Subnet"]["SubnetId"] for number in (1, 2)
    ]
    group = ec2.create_security_group(GroupName="train", Description="train", VpcId=vpc)["GroupId"]
    ec2.authorize_security_group_ingress(
        GroupId=group,
        IpPermissions=[
            {"IpProtocol": "tcp", "FromPort": 29500, "ToPort": 29500, "UserIdGroupPairs": [{"GroupId": group}]}
        ],
    )
    acl = ec2.create_network_acl(VpcId=vpc)["NetworkAcl"]["NetworkAclId"]
    for number, egress, block, low, high in (
        (100, False, "10.20.0.0/16", 0, 65535),
        (100, True, "0.0.0.0/0", 443, 443),
        (110, True, "10.20.0.0/16", 0, 32767),
    ):
        ec2.create_network_acl_entry(
            NetworkAclId=acl,
            RuleNumber=number,
            Egress=egress,
            Protocol="6",
            RuleAction="allow",
            CidrBlock=block,
            PortRange={"From": low, "To": high},
        )
    found = ec2.describe_network_acls(Filters=[{"Name": "association.subnet-id", "Values": [subnets[1]]}])
    for item in found["NetworkAcls"][0]["Associations"]:
        if item["SubnetId"] == subnets[1]:
            ec2.replace_network_acl_association(AssociationId=item["NetworkAclAssociationId"], NetworkAclId=acl)
    for number in range(4):
        ec2.run_instances(
            ImageId=IMAGE,
            MinCount=1,
            MaxCount=1,
            NetworkInterfaces=[
                {
                    "DeviceIndex": 0,
                    "SubnetId": subnets[number // 2],
                    "Groups": [group],
                    "PrivateIpAddress": f"10.20.{number // 2 + 1}.{11 + number}",
                }
            ],
            TagSpecifications=[
                {"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": f"train-{number}"}]},
            ],
        )


@pytest.mark.parametrize("known", [True, False])
def test_three_ways(account: None, known: bool) -> None:
    """The plan and the template judge every pair as the stack that was made, addresses known or not."""
    make(boto3.client("ec2", region_name=REGION))
    made = collected()
    assert set(made.values()) == {"29500", ""}
    assert judged(plans.cluster(known=known).build()) == made
    assert template_verdicts(templates.cluster(known=known)) == made


@pytest.mark.parametrize("last", ["29500", "65535"])
def test_a_stack_of_the_template(account: None, last: str) -> None:
    """A template read beforehand judges every pair as the stack that CloudFormation makes of it."""
    text = templates.cluster(guarded=False)
    boto3.client("cloudformation", region_name=REGION).create_stack(
        StackName="train", TemplateBody=text, Parameters=[{"ParameterKey": "Last", "ParameterValue": last}]
    )
    ec2 = boto3.client("ec2", region_name=REGION)
    groups = ec2.describe_security_groups()["SecurityGroups"]
    train = next(group["GroupId"] for group in groups if group["GroupName"] != "default")
    for interface in ec2.describe_network_interfaces()["NetworkInterfaces"]:
        # The embedded AWS passes over the SecurityGroupIds of an instance in a template.
        ec2.modify_network_interface_attribute(NetworkInterfaceId=interface["NetworkInterfaceId"], Groups=[train])
    made = collected()
    assert set(made.values()) == {last if last == "29500" else "1024-65535"}
    assert template_verdicts(text, Last=last) == made


@pytest.mark.parametrize(
    ("plan", "code"),
    [
        (plans.cluster(known=False), 1),
        (plans.cluster(known=False, last=65535), 1),
        (plans.cluster(known=False, last=65535, guarded=False), 0),
    ],
    ids=["one port", "ACL", "cured"],
)
def test_pull_request(tmp_path: Path, plan: plans.Plan, code: int) -> None:
    """A plan with the classic fault fails before it is applied; the cured one passes."""
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan.build()), encoding="utf-8")
    result = CliRunner().invoke(main, ["scan", "--terraform-plan", str(path), "--tag", "cluster=train", "-f", "json"])
    assert (result.exit_code, json.loads(result.stdout)["status"]) == (code, "fail" if code else "pass")
