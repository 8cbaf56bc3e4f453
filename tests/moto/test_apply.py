"""Plans carried out and taken back in the embedded AWS, by the library and by the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError
from click.testing import CliRunner, Result
from moto import mock_aws

from sgaudit.aws.change import Ec2Changer
from sgaudit.aws.session import AwsOptions, connect
from sgaudit.cli import main
from sgaudit.cli.apply import _read as read_plan
from sgaudit.errors import CallError, CollectError, EmptySelectionError, Failure, SgauditError, UsageError
from sgaudit.fix import apply, permissions, rollback
from sgaudit.fix.permissions import Permitted
from sgaudit.fix.plan import Call, Operation, Plan, Precondition, Safety, Strategy
from sgaudit.fix.preconditions import fingerprint_of
from sgaudit.fix.store import FolderStore
from sgaudit.selection import Selection, TagFilter
from sgaudit.snapshot import parse
from tests.moto.faults import Faults

pytestmark = pytest.mark.moto

REGION = "us-east-1"
ACCOUNT = "123456789012"
RUN = "run-7"
TAGS = [{"Key": "sgaudit:run", "Value": RUN}]
Raw = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cluster:
    """Two nodes in a group that lets ssh in and nothing else, so that they can't reach each other."""

    ec2: Any
    vpc: str
    group: str
    acl: str
    interfaces: tuple[str, ...]

    @property
    def changer(self) -> Ec2Changer:
        return Ec2Changer(connect(AwsOptions(region=REGION)))

    def state(self) -> Raw:
        """Give all that decides about packets, as EC2 tells it."""
        groups = self.ec2.describe_security_groups()["SecurityGroups"]
        interfaces = self.ec2.describe_network_interfaces()["NetworkInterfaces"]
        acls = self.ec2.describe_network_acls()["NetworkAcls"]
        return {
            "groups": {g["GroupId"]: (g["IpPermissions"], g["IpPermissionsEgress"]) for g in groups},
            "interfaces": {i["NetworkInterfaceId"]: [g["GroupId"] for g in i["Groups"]] for i in interfaces},
            "acls": {a["NetworkAclId"]: a["Entries"] for a in acls},
        }


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with mock_aws():
        ec2 = boto3.client("ec2", region_name=REGION)
        vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
        group = ec2.create_security_group(GroupName="train", Description="nodes", VpcId=vpc)["GroupId"]
        ssh = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}
        ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[ssh])
        interfaces = []
        for _ in range(2):
            answer = ec2.run_instances(
                ImageId="ami-12c6146b",
                MinCount=1,
                MaxCount=1,
                NetworkInterfaces=[{"DeviceIndex": 0, "SubnetId": subnet, "Groups": [group]}],
                TagSpecifications=[{"ResourceType": "instance", "Tags": [{"Key": "cluster", "Value": "train"}]}],
            )
            interfaces.append(answer["Instances"][0]["NetworkInterfaces"][0]["NetworkInterfaceId"])
        acl = ec2.describe_network_acls(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["NetworkAcls"][0]
        yield Cluster(ec2, vpc, group, acl["NetworkAclId"], tuple(interfaces))


def operation(name: str, api: str, params: Raw, inverse: Call | None = None, **more: Any) -> Operation:
    return replace(Operation(name, Call(api, params), "It is missing.", (), Safety.SAFE, "", inverse), **more)


def plan(*operations: Operation, **more: Any) -> Plan:
    plain = Plan(
        run=RUN,
        created="2026-01-01T00:00:00Z",
        tool_version="1",
        account_id=ACCOUNT,
        region=REGION,
        selection=Selection(tags=(TagFilter("cluster", ("train",)),)).to_json(),
        settings={"policies": ["pytorch-gloo"], "parameters": {}, "head": "", "client_ports": "32768-60999"},
        strategy=Strategy.SELF,
        exact=True,
        operations=operations,
        before={},
        after={},
        required=2,
        extra=(),
        outside_known=False,
        unfixable=(),
        preconditions=(),
    )
    return replace(plain, **more)


def self_rows(group: Any) -> list[Raw]:
    pair = {"UserIdGroupPairs": [{"GroupId": group, "Description": RUN}]}
    return [{"IpProtocol": p, "FromPort": 0, "ToPort": 65535, **pair} for p in ("tcp", "udp")]


def authorize(name: str, group: Any, **more: Any) -> Operation:
    tags = [{"ResourceType": "security-group-rule", "Tags": TAGS}]
    params = {"GroupId": group, "IpPermissions": self_rows(group), "TagSpecifications": tags}
    return operation(name, "AuthorizeSecurityGroupIngress", params, **more)


def cluster_group(cluster: Cluster) -> Plan:
    created = {"Ref": "op-1"}
    api = "ModifyNetworkInterfaceAttribute"
    return plan(
        operation(
            "op-1",
            "CreateSecurityGroup",
            {
                "GroupName": "train-cluster",
                "Description": RUN,
                "VpcId": cluster.vpc,
                "TagSpecifications": [{"ResourceType": "security-group", "Tags": TAGS}],
            },
        ),
        authorize("op-2", created),
        *(
            operation(
                f"op-{number}",
                api,
                {"NetworkInterfaceId": interface, "Groups": [cluster.group, created]},
                Call(api, {"NetworkInterfaceId": interface, "Groups": [cluster.group]}),
            )
            for number, interface in enumerate(cluster.interfaces, start=3)
        ),
    )


def entries(cluster: Cluster) -> Plan:
    return plan(
        *(
            operation(
                f"op-{number}",
                "CreateNetworkAclEntry",
                {
                    "NetworkAclId": cluster.acl,
                    "RuleNumber": 50,
                    "Egress": bool(number),
                    "Protocol": "6",
                    "PortRange": {"From": 0, "To": 65535},
                    "RuleAction": "allow",
                    "CidrBlock": "10.0.0.0/16",
                },
            )
            for number in range(2)
        )
    )


PLANS = {
    "self": lambda cluster: plan(authorize("op-1", cluster.group)),
    "cluster-group": cluster_group,
    "acl-entries": entries,
}


@pytest.mark.parametrize("name", PLANS)
def test_there_and_back(cluster: Cluster, tmp_path: Path, name: str) -> None:
    """A plan is carried out; another run has nothing to do; a rollback restores the exact permissions."""
    before = cluster.state()
    wanted = PLANS[name](cluster)

    first = apply.run(wanted, cluster.changer, FolderStore(tmp_path))
    after = cluster.state()
    second = apply.run(
        replace(wanted, run=f"{RUN}-again") if name == "self" else wanted,
        cluster.changer,
        FolderStore(tmp_path),
        resume=name != "self",
    )
    undone = rollback.run(RUN, cluster.changer, FolderStore(tmp_path))

    ids = tuple(item.id for item in wanted.operations)
    assert (first.done, first.complete, after != before) == (ids, True, True)
    assert (second.done, second.already) == (((), ids) if name == "self" else (ids, ()))
    assert (undone.undone, undone.left, cluster.state()) == (ids[::-1], (), before)


def test_a_refusal_leaves_a_part(cluster: Cluster, tmp_path: Path) -> None:
    """What an emulator keeps of a refused request is recorded and taken back."""
    before = cluster.state()
    unknown = {"IpProtocol": "tcp", "FromPort": 1, "ToPort": 1, "UserIdGroupPairs": [{"GroupId": "sg-00000000"}]}
    rows = [*self_rows(cluster.group), unknown]
    broken = plan(operation("op-1", "AuthorizeSecurityGroupIngress", {"GroupId": cluster.group, "IpPermissions": rows}))

    applied = apply.run(broken, cluster.changer, FolderStore(tmp_path))
    partly = cluster.state()
    rollback.run(RUN, cluster.changer, FolderStore(tmp_path))

    assert (applied.failed, applied.code, partly != before) == ("op-1", "InvalidGroup.NotFound", True)
    assert cluster.state() == before


def test_throttling_is_waited_out(cluster: Cluster, tmp_path: Path) -> None:
    """Calls that AWS throttles are made again until they pass, by sgaudit and not by botocore."""
    before, changer = cluster.state(), cluster.changer
    faults = Faults(changer._connection.ec2)
    faults.answer("AuthorizeSecurityGroupIngress", "RequestLimitExceeded", status=503, times=2)
    waits: list[float] = []

    applied = apply.run(plan(authorize("op-1", cluster.group)), changer, FolderStore(tmp_path), sleep=waits.append)
    rollback.run(RUN, changer, FolderStore(tmp_path))

    # The embedded AWS made the change at once, whatever it was made to answer: the third call finds it done.
    assert (applied.done, faults.sent["AuthorizeSecurityGroupIngress"], waits) == (("op-1",), 3, [1, 2, 1])
    assert cluster.state() == before


def test_a_server_fault_is_no_answer(cluster: Cluster, tmp_path: Path) -> None:
    """After a fault of AWS's own it is read whether the change was made; if so it is not made again."""
    before, changer = cluster.state(), cluster.changer
    faults = Faults(changer._connection.ec2)
    faults.answer("AuthorizeSecurityGroupIngress", "InternalError", status=500, times=1)

    applied = apply.run(plan(authorize("op-1", cluster.group)), changer, FolderStore(tmp_path), sleep=lambda _: None)
    rollback.run(RUN, changer, FolderStore(tmp_path))

    assert (applied.done, faults.sent["AuthorizeSecurityGroupIngress"]) == (("op-1",), 1)
    assert cluster.state() == before


def test_a_refusal_comes_through(cluster: Cluster) -> None:
    """AWS's code, sentence and request id come through; what is denied names the IAM action."""
    changer = cluster.changer
    faults = Faults(changer._connection.ec2)
    request: Raw = {"GroupId": cluster.group, "IpPermissions": self_rows(cluster.group)}

    def failed(call: Callable[[], object]) -> tuple[str, Failure, str, str]:
        with pytest.raises(CallError) as caught:
            call()
        return caught.value.code, caught.value.failure, caught.value.message, caught.value.hint

    malformed = failed(lambda: changer.change("AuthorizeSecurityGroupIngress", {"GroupId": 1}))
    faults.answer("AuthorizeSecurityGroupIngress", "UnauthorizedOperation")
    faults.answer("DescribeSecurityGroups", "UnauthorizedOperation")
    action = "ec2:AuthorizeSecurityGroupIngress"

    assert malformed[:2] == ("ParamValidationError", Failure.REFUSED)
    assert failed(lambda: changer.change("AuthorizeSecurityGroupIngress", request)) == (
        "UnauthorizedOperation",
        Failure.DENIED,
        "AWS refused AuthorizeSecurityGroupIngress (UnauthorizedOperation)",
        f"allow the IAM action {action}",
    )
    assert failed(lambda: changer.read("DescribeSecurityGroups", {}))[1] is Failure.DENIED
    with pytest.raises(UsageError, match="sgaudit does not call TerminateInstances"):
        changer.change("TerminateInstances", {})


def test_is_aws(cluster: Cluster) -> None:
    """AWS is told from an emulator by the endpoint's name."""
    local = connect(AwsOptions(region=REGION, endpoint_url="http://127.0.0.1:9"))

    assert (cluster.changer.is_aws, Ec2Changer(local).is_aws) == (True, False)


def test_a_broken_connection_is_not_repeated_blindly(cluster: Cluster, tmp_path: Path) -> None:
    """A change without an answer is sent again only after it was read whether it was made."""
    changer = cluster.changer
    faults = Faults(changer._connection.ec2)
    faults.breaks("AuthorizeSecurityGroupIngress", ConnectionResetError("reset"))

    applied = apply.run(plan(authorize("op-1", cluster.group)), changer, FolderStore(tmp_path), sleep=lambda _: None)

    assert (applied.failed, applied.done) == ("op-1", ())
    assert faults.sent["AuthorizeSecurityGroupIngress"] == 3
    assert faults.sent["DescribeSecurityGroupRules"] == 4


def test_permissions(cluster: Cluster) -> None:
    """EC2 tells by DryRun what would be allowed, and nothing is changed."""
    before = cluster.state()
    changer = cluster.changer
    wanted = plan(*PLANS["self"](cluster).operations, replace(authorize("op-9", cluster.group), id="op-9"))
    faults = Faults(changer._connection.ec2)

    allowed = permissions.check(wanted, changer)
    faults.answer("AuthorizeSecurityGroupIngress", "UnauthorizedOperation")
    denied = permissions.check(wanted, changer)

    assert [item.permitted for item in allowed] == [Permitted.ALLOWED] * 2
    assert [(item.permitted, item.code) for item in denied] == [(Permitted.DENIED, "UnauthorizedOperation")] * 2
    assert cluster.state() == before


# The command line


def sgaudit(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def saved(path: Path, wanted: Plan) -> str:
    file = path / "plan.json"
    file.write_text(json.dumps(wanted.to_json()), encoding="utf-8")
    return str(file)


def curing(cluster: Cluster, **more: Any) -> Plan:
    """Give the plan that cures what a scan finds."""
    scanned = json.loads(sgaudit("scan", "--tag", "cluster=train", "--region", REGION, "-f", "json").stdout)
    found = tuple(item["fingerprint"] for item in scanned["findings"] if item["rule"] == "mesh-path-blocked")
    assert found
    now = parse({"SecurityGroups": cluster.ec2.describe_security_groups()["SecurityGroups"]})
    rests_on = Precondition("security-group", cluster.group, fingerprint_of(now, "security-group", cluster.group))
    return plan(authorize("op-1", cluster.group, findings=found), preconditions=(rests_on,), **more)


def test_apply_verify_and_roll_back(cluster: Cluster, tmp_path: Path) -> None:
    """The commands cure a cluster, see it, have nothing to do then, and put everything back."""
    before = cluster.state()
    file, folder = saved(tmp_path, curing(cluster)), ["--state-dir", str(tmp_path / "state")]

    preview = sgaudit("apply", file, "--dry-run", *folder)
    assert (preview.exit_code, cluster.state()) == (1, before)
    cured = sgaudit("apply", file, "--yes", *folder)
    after = cluster.state()
    again = sgaudit("apply", file, "--yes", *folder)
    assert (cured.exit_code, again.exit_code, cluster.state()) == (0, 0, after)
    assert (
        "run run-7: 1 done, 0 already so, 0 failed, 0 left\nread again: what the plan is for is cured\n" in cured.stdout
    )
    would = sgaudit("rollback", RUN, "--dry-run", *folder)
    assert (would.exit_code, cluster.state()) == (1, after)
    undone = sgaudit("rollback", RUN, "--yes", *folder)
    assert (undone.exit_code, undone.stdout.splitlines()[-1]) == (0, "run run-7: 1 operation undone")
    assert cluster.state() == before
    (run,) = json.loads(sgaudit("runs", "-f", "json", *folder).stdout)["runs"]
    assert {key: run[key] for key in ("run", "state", "operations", "done", "undone")} == {
        "run": RUN,
        "state": "rolled back",
        "operations": 1,
        "done": 1,
        "undone": 1,
    }


def refused(result: Result, code: int, message: str) -> None:
    first = next(line for line in result.stderr.splitlines() if line.startswith("error: "))
    assert (result.exit_code, first) == (code, f"error: {message}")


def test_refusals(cluster: Cluster, tmp_path: Path) -> None:
    """What must not be carried out is refused with its exit code before anything is changed."""
    before = cluster.state()
    wanted = curing(cluster)
    folder = ["--state-dir", str(tmp_path / "state")]
    unsafe = replace(wanted.operations[0], safety=Safety.UNSAFE, unsafe_because="it is the default group")

    def run(changed: Plan, *more: str) -> Result:
        return sgaudit("apply", saved(tmp_path, changed), *folder, *more)

    refused(run(wanted), 2, "nobody is there to confirm the changes")
    refused(run(wanted, "--yes", "--max-changes", "0"), 2, "the plan has 1 operation, more than 0")
    refused(
        run(replace(wanted, operations=(unsafe,)), "--yes"),
        2,
        "1 operation of the plan is unsafe: op-1: it is the default group",
    )
    refused(
        run(replace(wanted, account_id="999999999999"), "--yes"),
        2,
        "the plan is for account 999999999999 in us-east-1, and the credentials are for 123456789012 in us-east-1",
    )
    refused(
        run(wanted, "--yes", "--region", "eu-west-1"),
        2,
        "the plan is for account 123456789012 in us-east-1, and the credentials are for 123456789012 in eu-west-1",
    )
    refused(sgaudit("apply", *folder), 2, "no plan given")
    refused(sgaudit("apply", "--resume", "run-8", *folder), 2, "there is no run 'run-8'")
    refused(sgaudit("rollback", "../x", *folder), 2, "'../x' is not the id of a run")
    assert cluster.state() == before


def test_stale(cluster: Cluster, tmp_path: Path) -> None:
    """A plan whose group was changed since is not carried out, and one is told what has changed."""
    file = saved(tmp_path, curing(cluster))
    row = {"IpProtocol": "tcp", "FromPort": 9, "ToPort": 9, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}
    cluster.ec2.authorize_security_group_ingress(GroupId=cluster.group, IpPermissions=[row])
    before = cluster.state()

    result = sgaudit("apply", file, "--yes", "--state-dir", str(tmp_path / "state"))

    refused(result, 6, f"the plan is stale: the ingress permissions of security group {cluster.group} have changed")
    assert cluster.state() == before


def test_not_cured(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When reading again shows no cure, the exit code is 5, and `--undo-on-failure` takes everything back."""
    monkeypatch.setattr("sgaudit.cli.judging.LOOKS_AFTER", (0.0,))
    before = cluster.state()
    wanted = curing(cluster)
    params = dict(wanted.operations[0].call.params)
    params["IpPermissions"] = [{**params["IpPermissions"][0], "FromPort": 80, "ToPort": 80}]
    too_little = replace(wanted.operations[0], call=Call(wanted.operations[0].call.api, params))
    file = saved(tmp_path, replace(wanted, operations=(too_little,)))

    result = sgaudit("apply", file, "--yes", "--undo-on-failure", "--state-dir", str(tmp_path / "state"))

    assert (result.exit_code, cluster.state()) == (5, before)
    assert result.stderr.splitlines()[-2].startswith("error: read again, and not cured: ")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "the plan's settings name no policies, so nobody could see whether it cures"),
        ({"policies": ["no-such"]}, ""),
        ({"policies": ["pytorch-gloo"], "parameters": {"no_such": "1"}}, ""),
        ({"policies": ["pytorch-gloo"], "parameters": {"master_port": "x"}}, ""),
        ({"policies": ["pytorch-gloo"], "head": "nobody"}, ""),
    ],
)
def test_what_cannot_be_judged_is_not_begun(cluster: Cluster, tmp_path: Path, settings: Raw, message: str) -> None:
    """Policies and settings are read before the first call: when they are wrong nothing is changed."""
    before = cluster.state()
    file = saved(tmp_path, plan(authorize("op-1", cluster.group), settings=settings))

    result = sgaudit("apply", file, "--yes", "--state-dir", str(tmp_path / "state"))

    assert (result.exit_code, cluster.state(), (tmp_path / "state").exists()) == (2, before, False)
    assert f"error: {message}" in result.stderr


@pytest.mark.parametrize("error", [CollectError("no answer"), EmptySelectionError("nobody"), UsageError("no head")])
@pytest.mark.parametrize("undo", [False, True])
def test_reading_again_fails(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: SgauditError, undo: bool
) -> None:
    """Whatever goes wrong after a change is exit code 5 with what can be done, or is taken back when asked for."""

    def failing(*_: object) -> None:
        raise error

    before, file = cluster.state(), saved(tmp_path, plan(authorize("op-1", cluster.group)))
    monkeypatch.setattr("sgaudit.cli.judging.Judge.audit", failing)
    more = ["--undo-on-failure"] if undo else []
    result = sgaudit("apply", file, "--yes", *more, "--state-dir", str(tmp_path / "state"))

    refused(result, 5, f"the changes are made, but can't be judged: {error.message}")
    assert (cluster.state() == before) is undo
    hint = f"hint: sgaudit apply --resume {RUN} goes on with it; sgaudit rollback {RUN} takes it back"
    assert (hint in result.stderr) is not undo


def test_closed_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan from standard input that is closed is the user's mistake."""
    monkeypatch.setattr("sys.stdin", None)

    with pytest.raises(UsageError) as caught:
        read_plan("-")

    assert caught.value.message == "-: standard input is closed"


def test_edited_requests_are_shown(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a request says is shown, whatever the plan gives as its reason, and whole where words would not do."""
    monkeypatch.setenv("COLUMNS", "80")
    row = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
    params: Raw = {"GroupId": cluster.group, "IpPermissions": [row]}
    api = "AuthorizeSecurityGroupIngress"
    edited = plan(operation("op-1", api, params), operation("op-2", api, {**params, "CidrIp": "::/0"}))

    shown = sgaudit("apply", saved(tmp_path, edited), "--dry-run", "--state-dir", str(tmp_path / "state")).stdout

    assert f"  request: let {cluster.group} receive all traffic from 0.0.0.0/0\n" in shown
    assert '"CidrIp": "::/0"' in " ".join(shown.split())
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_going_on(cluster: Cluster, tmp_path: Path) -> None:
    """A run that stopped is not begun anew but goes on, and is listed."""
    wanted, state = cluster_group(cluster), tmp_path / "state"
    folder = ["--state-dir", str(state)]
    assert sgaudit("runs", *folder).stdout == "no runs\n"
    seen: list[str] = []
    apply.run(
        wanted,
        cluster.changer,
        FolderStore(state),
        stopped=lambda: len(seen) == 2,
        progress=lambda *given: seen.append(given[1]),
    )
    (state / "damaged.jsonl").write_text("x\n", encoding="utf-8")

    listed = sgaudit("runs", *folder).stdout.splitlines()
    refused(sgaudit("apply", saved(tmp_path, wanted), "--yes", *folder), 2, "run run-7 was begun before (interrupted)")
    resumed = sgaudit("apply", "--resume", RUN, "--yes", "--quiet", *folder)

    assert [line.split() for line in (listed[0], listed[3])] == [
        ["run", "account", "region", "state", "done", "already", "undone", "of"],
        ["damaged", "damaged", "0", "0", "0", "0"],
    ]
    cells = listed[2].split()
    assert cells == [RUN, ACCOUNT, REGION, "interrupted", "2", "0", "0", "4"]
    assert (resumed.exit_code, resumed.stderr) == (0, "")
    assert resumed.stdout.splitlines()[-2:] == [
        "run run-7: 4 done, 0 already so, 0 failed, 0 left",
        "read again: what the plan is for is cured",
    ]
    refused(
        sgaudit("apply", saved(tmp_path, replace(wanted, run="other")), "--resume", RUN, *folder),
        2,
        f"{tmp_path / 'plan.json'} is the plan of run other, not run-7",
    )


def test_something_is_left(cluster: Cluster, tmp_path: Path) -> None:
    """A rollback that has to leave something says what and why, and its exit code is 5."""
    state = tmp_path / "state"
    apply.run(cluster_group(cluster), cluster.changer, FolderStore(state))
    groups = cluster.ec2.describe_security_groups(Filters=[{"Name": "group-name", "Values": ["train-cluster"]}])
    (made,) = (item["GroupId"] for item in groups["SecurityGroups"])
    row = {"IpProtocol": "tcp", "FromPort": 9, "ToPort": 9, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}
    cluster.ec2.authorize_security_group_ingress(GroupId=made, IpPermissions=[row])

    result = sgaudit("rollback", RUN, "--yes", "--quiet", "--state-dir", str(state))

    left = f"op-1: {made} has permissions that this run did not add: tcp:9-9 from 10.0.0.0/8"
    assert (result.exit_code, result.stdout.splitlines()[-2:]) == (
        5,
        ["run run-7: 4 operations undone", f"left: {left}"],
    )
    assert cluster.state()["interfaces"] == {name: [cluster.group] for name in cluster.interfaces}


def test_denied_before_anything(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When EC2 says that one call would be denied, none is made, and the IAM actions are named."""
    before, wanted = cluster.state(), cluster_group(cluster)
    call = BaseClient._make_api_call

    def denying(client: BaseClient, name: str, params: Raw) -> Any:
        if name == "CreateSecurityGroup":
            assert params["DryRun"] is True
            raise ClientError({"Error": {"Code": "UnauthorizedOperation", "Message": "no"}}, name)
        return call(client, name, params)

    monkeypatch.setattr(BaseClient, "_make_api_call", denying)
    result = sgaudit("apply", saved(tmp_path, wanted), "--yes", "--state-dir", str(tmp_path / "state"))

    refused(result, 5, "AWS would deny op-1 CreateSecurityGroup train-cluster; nothing was changed")
    assert result.stderr.splitlines()[-1] == (
        "hint: allow the IAM action ec2:CreateSecurityGroup, and ec2:CreateTags for the tags in the request"
    )
    assert (cluster.state(), (tmp_path / "state").exists()) == (before, False)


def test_every_change_can_be_tried() -> None:
    """Every command that changes something has a dry run."""
    for name in ("apply", "rollback"):
        assert "--dry-run" in sgaudit(name, "--help").stdout
