"""The script makes the plan's requests and no other, counts as done what is there, and undoes what it made."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgaudit.errors import UsageError
from sgaudit.fix.emit.aws_cli import render
from sgaudit.fix.emit.shell import command, word
from sgaudit.fix.plan import Plan
from tests.fake_ec2 import FakeEc2
from tests.unit.fix.emit_readers import PLANS, document, hostile, operation, planned
from tests.unit.fix.emit_shell import Recorder, Shell
from tests.unit.fix.plans import plan as bare_plan

pytestmark = pytest.mark.slow

SCRIPTS = Path(sysconfig.get_path("scripts"))
SHELLCHECK = shutil.which("shellcheck", path=str(SCRIPTS)) or shutil.which("shellcheck")
needs_shellcheck = pytest.mark.skipif(SHELLCHECK is None, reason="shellcheck (extra emit-test) is not installed")


def written(plan: Plan) -> str:
    return "".join(render(plan))


def shell(folder: Path, name: str) -> Shell:
    return Shell(folder, written(planned(name)), FakeEc2(document(PLANS[name][0])))


def resolved(value: Any, ids: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        if set(value) == {"Ref"}:
            return ids[value["Ref"]]
        return {key: resolved(item, ids) for key, item in value.items()}
    return [resolved(item, ids) for item in value] if isinstance(value, list) else value


def requests(plan: Plan, **ids: str) -> list[tuple[str, Any]]:
    """Give the plan's requests with the ids that EC2 gave."""
    given = {name.replace("_", "-"): value for name, value in ids.items()}
    return [(item.call.api, resolved(item.call.params, given)) for item in plan.operations]


def remarks(script: str, folder: Path) -> set[int]:
    """Give the numbers of ShellCheck's remarks."""
    (folder / "fix.sh").write_text(script, encoding="utf-8")
    command = [str(SHELLCHECK), "--format=json", "fix.sh"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return {remark["code"] for remark in json.loads(done.stdout)}


@pytest.mark.parametrize("name", PLANS)
def test_makes_the_plans_requests(name: str, tmp_path: Path) -> None:
    """Run on a strict EC2, it makes the plan's requests in their order, and no other."""
    ran = shell(tmp_path, name)
    done = ran.run()
    assert (done.returncode, done.stderr) == (0, "")
    made = {**ran.ec2.groups, **ran.ec2.lists}
    created = {"op_1": list(made)[-1]}
    assert ran.ec2.log == requests(planned(name), **created)


@pytest.mark.parametrize("name", PLANS)
def test_undo_restores(name: str, tmp_path: Path) -> None:
    """`--undo` brings back exactly what was there before, and a second one finds nothing to do."""
    ran = shell(tmp_path, name)
    before = ran.ec2.permissions()
    assert ran.run().returncode == 0
    assert ran.ec2.permissions() != before
    done = ran.run("--undo")
    assert (done.returncode, done.stderr) == (0, "")
    assert ran.ec2.permissions() == before
    changed = len(ran.ec2.log)
    again = ran.run("--undo")
    assert (again.returncode, again.stderr, len(ran.ec2.log)) == (0, "", changed)


@pytest.mark.parametrize("name", ["self", "cluster-group", "prefix-list", "acl"])
def test_a_second_run_changes_nothing(name: str, tmp_path: Path) -> None:
    """What is there already counts as done."""
    ran = shell(tmp_path, name)
    assert ran.run().returncode == 0
    once, changed = ran.ec2.permissions(), len(ran.ec2.log)
    done = ran.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert (ran.ec2.permissions(), len(ran.ec2.log)) == (once, changed)


def test_one_of_several_is_there(tmp_path: Path) -> None:
    """Where one permission of a request is there already, the others are added all the same, and only they undone."""
    plan = planned("peers")
    params = dict(plan.operations[0].call.params)
    first = {**params, "IpPermissions": params["IpPermissions"][:1]}
    first.pop("TagSpecifications")
    assert len(params["IpPermissions"]) > 1
    ran, whole = shell(tmp_path, "peers"), FakeEc2(document(PLANS["peers"][0]))
    whole.change("AuthorizeSecurityGroupIngress", params)
    ec2 = ran.ec2
    ec2.change("AuthorizeSecurityGroupIngress", first)
    ran.ec2 = ec2
    before = ec2.permissions()
    assert ran.run().returncode == 0
    assert ran.ec2.permissions() == whole.permissions()
    assert ran.run("--undo").returncode == 0
    assert ran.ec2.permissions() == before


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (
            {"STUB_ACCOUNT": "999999999999"},
            "this is for account 111122223333, and the credentials are of 999999999999",
        ),
        ({"AWS_REGION": "eu-west-1"}, "this is for Region us-east-1, and the Region in use is eu-west-1"),
        ({"AWS_DEFAULT_REGION": "eu-west-1"}, "this is for Region us-east-1, and the Region in use is eu-west-1"),
    ],
)
@pytest.mark.parametrize("arguments", [(), ("--undo",)])
def test_refuses_another_place(
    arguments: tuple[str, ...], environment: dict[str, str], message: str, tmp_path: Path
) -> None:
    """In another account or Region it touches nothing."""
    ran = shell(tmp_path, "self")
    done = ran.run(*arguments, **environment)
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, f"error: {message}")
    assert [call for call in ran.calls if call[0] == "ec2"] == []


def test_stops_at_the_first_error(tmp_path: Path) -> None:
    """After a refusal nothing more is asked for, and AWS's own words are shown."""
    plan = planned("cluster-group")
    ran = Shell(tmp_path, written(plan), FakeEc2(document(PLANS["cluster-group"][0]), groups_quota=1))
    done = ran.run()
    assert done.returncode == 1
    assert "SecurityGroupsPerInterfaceLimitExceeded" in done.stderr
    assert "error: modify-network-interface-attribute was refused" in done.stderr
    assert ran.calls[-1][1] == "modify-network-interface-attribute"
    before = FakeEc2(document(PLANS["cluster-group"][0])).permissions()
    assert ran.run("--undo").returncode == 0
    assert ran.ec2.permissions() == before


def test_changed_interface_is_left_alone(tmp_path: Path) -> None:
    """An interface that carries other groups than the plan saw is not touched: its list would be replaced."""
    plan = planned("cluster-group")
    ran, ec2 = shell(tmp_path, "cluster-group"), FakeEc2(document(PLANS["cluster-group"][0]))
    attach = next(item for item in plan.operations if item.call.api == "ModifyNetworkInterfaceAttribute")
    interface = ec2.interfaces[attach.call.params["NetworkInterfaceId"]]
    other = next(g for g in ec2.groups.values() if g["GroupId"] not in {i["GroupId"] for i in interface["Groups"]})
    params = {"NetworkInterfaceId": interface["NetworkInterfaceId"], "Groups": [other["GroupId"]]}
    ec2.change("ModifyNetworkInterfaceAttribute", params)
    ran.ec2 = ec2
    done = ran.run()
    assert done.returncode == 1
    assert f"the interface carries other groups than when this was planned: {other['GroupId']}" in done.stderr
    assert [item["GroupId"] for item in ran.ec2.interfaces[params["NetworkInterfaceId"]]["Groups"]] == params["Groups"]


@pytest.mark.parametrize("arguments", [(), ("--undo",)])
def test_another_entry_is_left_alone(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """An entry of the same number that is another stops the script, and stays."""
    ran, ec2 = shell(tmp_path, "acl"), FakeEc2(document(PLANS["acl"][0]))
    params = {**planned("acl").operations[0].call.params, "PortRange": {"From": 1, "To": 2}}
    ec2.change("CreateNetworkAclEntry", params)
    ran.ec2 = ec2
    done = ran.run(*arguments)
    assert (done.returncode, ran.ec2.permissions()) == (1, ec2.permissions())
    assert "error: another entry has its number: 6 allow" in done.stderr


def test_foreign_permissions_stay(tmp_path: Path) -> None:
    """`--undo` leaves what somebody else has added to the same group since."""
    ran = shell(tmp_path, "self")
    group_id = planned("self").operations[0].call.params["GroupId"]
    row = {"IpProtocol": "tcp", "FromPort": 9, "ToPort": 9, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}
    foreign = {"GroupId": group_id, "IpPermissions": [row]}
    expected = FakeEc2(document(PLANS["self"][0]))
    expected.change("AuthorizeSecurityGroupIngress", foreign)
    assert ran.run().returncode == 0
    ec2 = ran.ec2
    ec2.change("AuthorizeSecurityGroupIngress", foreign)
    ran.ec2 = ec2
    assert ran.run("--undo").returncode == 0
    assert ran.ec2.permissions() == expected.permissions()


def test_hostile_text(tmp_path: Path) -> None:
    """Text that holds anything reaches AWS as it is, and no part of it is run."""
    plan = hostile(attach=True)
    ran = Shell(tmp_path, written(plan), Recorder())
    done = ran.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert ran.ec2.log == requests(plan, op_1="sg-new", op_3="pl-new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "calls", "ec2", "fix.sh"]


def test_every_call_names_the_region(tmp_path: Path) -> None:
    """No call depends on the Region of the environment."""
    ran = shell(tmp_path, "acl")
    ran.run(AWS_REGION="us-east-1")
    calls = [call for call in ran.calls if call[0] != "configure"]
    assert calls
    assert all(call[call.index("--region") + 1] == "us-east-1" for call in calls)


def test_undoes_by_exact_properties_what_has_no_tag(tmp_path: Path) -> None:
    """A request that can't be undone by tag is undone by the plan's inverse; one without an inverse stays."""
    params = {"GroupId": "sg-a", "SecurityGroupRuleIds": ["sgr-1", "sgr-2"]}
    ran = Shell(tmp_path, written(bare_plan(operation(1, "RevokeSecurityGroupIngress", params))), Recorder())
    assert ran.run().returncode == 0
    assert ran.ec2.log == [("RevokeSecurityGroupIngress", params)]
    done = ran.run("--undo")
    assert (done.returncode, done.stdout.splitlines()[-2:]) == (0, ["  stays", "undone"])
    assert len(ran.ec2.log) == 1


@pytest.mark.parametrize(("arguments", "code"), [(("--help",), 0), (("--force",), 2), (("--undo", "x"), 2)])
def test_usage(arguments: tuple[str, ...], code: int, tmp_path: Path) -> None:
    """Arguments that it does not know are no reason to start."""
    ran = shell(tmp_path, "self")
    done = ran.run(*arguments)
    assert (done.returncode, done.stderr, ran.calls) == (code, "usage: bash fix.sh [--undo]\n", [])


def test_nothing_to_do(tmp_path: Path) -> None:
    """A plan without operations is a script that changes nothing."""
    ran = Shell(tmp_path, written(bare_plan(account_id="", region="us-east-1")), Recorder())
    done = ran.run()
    assert (done.returncode, done.stdout, ran.ec2.log) == (0, "done: 0 steps\n", [])


def test_refuses_without_a_region() -> None:
    """A script that could run anywhere is not written."""
    with pytest.raises(UsageError, match="the snapshot does not say its Region"):
        written(bare_plan(region=""))


@pytest.mark.parametrize(
    ("api", "expected"),
    [
        ("AuthorizeSecurityGroupIngress", "authorize-security-group-ingress"),
        ("CreateManagedPrefixList", "create-managed-prefix-list"),
        ("DescribeNetworkAcls", "describe-network-acls"),
    ],
)
def test_commands(api: str, expected: str) -> None:
    """Requests are called as the AWS CLI calls them."""
    assert command(api) == expected


@given(st.text(), st.text())
def test_any_word(key: str, text: str) -> None:
    """Whatever a text is, it is one word of a shell, with nothing but the ids to expand."""
    value = {key: [text, {"Ref": "op-1"}, 1, True, None]}
    (found,) = shlex.split(word(value, {"op-1": "id_1"}))
    assert json.loads(found) == {key: [text, "$id_1", 1, True, None]}


@needs_shellcheck
@pytest.mark.parametrize("name", PLANS)
def test_shellcheck(name: str, tmp_path: Path) -> None:
    """ShellCheck has nothing to say, not even for style."""
    assert remarks(written(planned(name)), tmp_path) == set()


@needs_shellcheck
def test_shellcheck_of_hostile_text(tmp_path: Path) -> None:
    """All that ShellCheck remarks of hostile text is that it does not expand within its quotes."""
    assert remarks(written(hostile(attach=True)), tmp_path) == {2016}
