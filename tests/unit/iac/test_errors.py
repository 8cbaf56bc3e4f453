"""What is wrong in a plan or a template ends in one line with the file and the place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from sgaudit import iac
from sgaudit.cli import main
from sgaudit.errors import SnapshotError
from tests.unit.iac.plans import NEW, Plan, cluster, network, value

if TYPE_CHECKING:
    from pathlib import Path

EMPTY: dict[str, Any] = {"format_version": "1.2", "planned_values": {"root_module": {}}}
MADE_OF = "Resources: {G: {Type: 'AWS::EC2::SecurityGroup', Properties: {VpcId: v, SecurityGroupIngress: "


def scan(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["scan", "--all", *arguments])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1, column 2: not JSON: Expecting property name enclosed in double quotes"),
        ("[]", "not a Terraform plan or state: expected an object"),
        ("{}", "format_version: missing: not the JSON of a Terraform plan or state"),
        ('{"format_version": 1}', "format_version: missing: not the JSON of a Terraform plan or state"),
        ('{"format_version": "2.0"}', "format_version: 2.0 is newer than what sgaudit knows (1.x)"),
        (json.dumps({**EMPTY, "errored": True}), "errored: the plan failed: what is in it is not all"),
        (json.dumps({**EMPTY, "planned_values": 1}), "planned_values: expected an object"),
        (
            json.dumps({**EMPTY, "planned_values": {}}),
            "planned_values.root_module: missing: not the JSON of a Terraform plan or state",
        ),
        (
            json.dumps({**EMPTY, "planned_values": {"root_module": {"resources": [{"type": "x"}]}}}),
            "root_module: a resource without address, type or name",
        ),
        ("[" * 100_000, "not usable JSON: nested too deep"),
    ],
)
def test_no_plan(tmp_path: Path, text: str, message: str) -> None:
    """What is no plan of a version that is known is refused."""
    path = tmp_path / "plan.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SnapshotError) as caught:
        iac.read_terraform(str(path))
    assert caught.value.message == f"{path}: {message}"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"cidr_ipv4": "10.0.0.0/99"}, 'expected an IPv4 CIDR block such as 10.0.0.0/8, got "10.0.0.0/99"'),
        ({"cidr_ipv4": "10.0.0.0/8", "ip_protocol": "nosuch"}, "expected tcp, udp, icmp, icmpv6, -1"),
        ({"cidr_ipv4": "10.0.0.0/8", "ip_protocol": "tcp", "from_port": 70000}, "expected a port from 0 to 65535"),
    ],
)
def test_wrong_value(tmp_path: Path, rule: dict[str, Any], message: str) -> None:
    """A value that AWS would not take is told with the address of its resource."""
    plan = Plan()
    network(plan)
    plan.add("aws_security_group", "g", {"vpc_id": "vpc-1"}, NEW, {})
    values = {"ip_protocol": "-1", "from_port": 1, "to_port": 2, **rule}
    references = {"security_group_id": {"references": ["aws_security_group.g.id", "aws_security_group.g"]}}
    plan.add("aws_vpc_security_group_ingress_rule", "r", values, NEW | {"security_group_id": True}, references)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan.build()), encoding="utf-8")
    result = scan("--terraform-plan", str(path))
    assert result.exit_code == 2
    assert f"error: {path}: aws_security_group.g: IpPermissions[0]" in result.stderr
    assert message in result.stderr


def test_wrong_kind(tmp_path: Path) -> None:
    """A value of another kind is told with the address of its resource."""
    plan = Plan()
    plan.add("aws_instance", "n", {"vpc_security_group_ids": 7}, {}, {"vpc_security_group_ids": value(7)})
    plan.resources[""][0]["values"]["subnet_id"] = "subnet-1"
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan.build()), encoding="utf-8")
    with pytest.raises(SnapshotError) as caught:
        iac.read_terraform(str(path))
    assert caught.value.message == f"{path}: aws_instance.n: vpc_security_group_ids is not a list of texts"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a template: expected a mapping"),
        ("a: [", "line 2, column 1: not valid YAML: did not find expected node content"),
        ("Resources: {}", "Resources: missing: not a template"),
        ("Resources: []", "Resources: expected a mapping"),
        ("Resources: {A: 1}", "Resources.A: expected a mapping with a Type"),
        ("a: &x [1]\nb: [*x, *x]", "line 2, column 5: the alias *x is not allowed in templates"),
        ("a: !!python/object/apply:os.system [x]", "line 1, column 4: the tag tag:yaml.org,2002:python/"),
        ("a: !Nosuch x", "line 1, column 4: the tag !Nosuch is not allowed in templates"),
        ("a: 1\na: 2", "line 2, column 1: a stands twice"),
        ("a: 1\n---\nb: 2", "line 2, column 1: a second document begins here"),
        ("a: " + "[" * 80 + "]" * 80, "line 1, column 64: nested too deeply"),
        ("Resources: {A: {Type: 'AWS::EC2::VPC', Properties: {CidrBlock: !Ref No}}}", "Ref No: there is no such"),
        (
            "Resources: {A: {Type: 'AWS::EC2::VPC', Condition: Big}}",
            "Conditions.Big: there is no such condition",
        ),
        (MADE_OF + "[{IpProtocol: tcp, FromPort: x}]}}}", "Resources.G.SecurityGroupIngress[0]: FromPort is not a"),
        ("Resources: {A: {Type: 'AWS::EC2::VPC', Condition: no}}", "Resources.A.Condition: expected the name of a"),
        (MADE_OF + "7}}}", "Resources.G: SecurityGroupIngress is not a list of mappings"),
    ],
)
def test_no_template(tmp_path: Path, text: str, message: str) -> None:
    """What is no template, or could do harm when it is read, is refused with its place."""
    path = tmp_path / "stack.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SnapshotError) as caught:
        iac.read_cloudformation(str(path), {})
    assert caught.value.message.startswith(f"{path}: {message}")
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--terraform-plan", "p", "--snapshot", "s"], "don't go together"),
        (["--terraform-plan", "p", "--cloudformation", "t"], "don't go together"),
        (["--terraform-plan", "p", "--parameter", "A=b"], "--parameter needs a template"),
        (["--terraform-plan", "no/such"], "no/such: can't be read: No such file or directory"),
        (["--cloudformation", "no/such"], "no/such: can't be read: No such file or directory"),
    ],
)
def test_usage(arguments: list[str], error: str) -> None:
    """One source at a time, and parameters only for a template."""
    result = scan(*arguments)
    assert result.exit_code == 2
    assert error in result.stderr


@pytest.mark.parametrize(
    ("parameter", "error"),
    [("Nmae=x", "hint: did you mean Name?"), ("Name", "--parameter 'Name': expected NAME=VALUE")],
)
def test_parameters(tmp_path: Path, parameter: str, error: str) -> None:
    """A parameter that the template doesn't have is a mistake."""
    path = tmp_path / "t.yaml"
    path.write_text("Parameters: {Name: {Type: String}}\nResources: {A: {Type: X}}", encoding="utf-8")
    result = scan("--cloudformation", str(path), "--parameter", parameter)
    assert result.exit_code == 2
    assert error in result.stderr


def test_saved_as_a_snapshot(tmp_path: Path) -> None:
    """What a plan was read as can be saved, and judged again with the same result."""
    path, saved = tmp_path / "plan.json", tmp_path / "snapshot.json"
    path.write_text(json.dumps(cluster().build()), encoding="utf-8")
    save = CliRunner().invoke(main, ["snapshot", "--all", "--terraform-plan", str(path), "-o", str(saved)])
    assert save.exit_code == 0, save.stderr
    one, other = (
        json.loads(scan(*source, "-f", "json").stdout)
        for source in (("--terraform-plan", str(path)), ("--snapshot", str(saved)))
    )
    for result in (one, other):
        result["coverage"].pop("source")
    assert one == other


def test_incomplete(tmp_path: Path) -> None:
    """What is not known never passes: the scan ends as incomplete."""
    plan = Plan()
    network(plan)
    for name in "ab":
        given = {"subnet_id": "subnet-1", "vpc_security_group_ids": ["sg-1"], "tags": {"Name": name}}
        plan.add("aws_instance", name, given, {"id": True, "private_ip": True}, {})
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan.build()), encoding="utf-8")
    result = scan("--terraform-plan", str(path), "-f", "json")
    assert (result.exit_code, json.loads(result.stdout)["summary"]["unknown"]) == (4, 2)


def test_not_changed(tmp_path: Path) -> None:
    """A plan can be fixed on paper only, as a saved snapshot."""
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(cluster().build()), encoding="utf-8")
    result = CliRunner().invoke(main, ["fix", "--all", "--terraform-plan", str(path)])
    assert (result.exit_code, "can't be changed" in result.stderr) == (2, True)


def test_notes(tmp_path: Path) -> None:
    """What is not known is said on standard error, with control characters made harmless; --quiet leaves it out."""
    plan = cluster(known=False)
    plan.add("aws_instance", "evil", {}, {}, {}, index="\x1b[2J")
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan.build()), encoding="utf-8")
    loud, quiet = scan("--terraform-plan", str(path)), scan("--terraform-plan", str(path), "--quiet")
    assert "4 addresses are known only after the stack is made" in loud.stderr
    assert "\x1b" not in loud.stderr
    assert quiet.stderr == ""
