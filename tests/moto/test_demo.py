"""The demo builds its faults in an embedded AWS, runs the real commands on it, and leaves nothing behind."""

from __future__ import annotations

import logging
import os
import re
import sys
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest

from sgaudit.aws.collect import collect
from sgaudit.aws.session import AwsOptions, Connection, connect
from sgaudit.demo import cluster
from sgaudit.demo.server import EXPORTS, OURS_ALONE, REGION, demo_environment, embedded_aws
from sgaudit.demo.show import STEPS, demo, run_steps, until_interrupted
from sgaudit.errors import UsageError
from sgaudit.policy.load import load
from sgaudit.policy.resolve import resolve
from sgaudit.reach.matrix import build as build_matrix
from sgaudit.reach.verdict import member_counts
from sgaudit.rules import check
from sgaudit.rules.context import Context
from sgaudit.selection import Selection, TagFilter, select
from sgaudit.snapshot import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.moto

URL = re.compile(r"http://127\.0\.0\.1:\d+")


@pytest.fixture(scope="module")
def built() -> Iterator[tuple[Connection, cluster.Cluster]]:
    with demo_environment(), embedded_aws() as url:
        connection = connect(AwsOptions(region=REGION, endpoint_url=url))
        yield connection, cluster.build(connection.ec2)


class Recorder:
    """Stands for the command line and for the terminal; keeps what it was given, in order."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.lines: list[str] = []
        self.commands: list[list[str]] = []
        self.environments: list[dict[str, str]] = []

    def run(self, arguments: list[str]) -> int:
        self.commands.append(arguments)
        self.environments.append(dict(os.environ))
        self.lines.append("(output)")
        return self.codes.pop(0) if self.codes else 0

    @property
    def text(self) -> str:
        return URL.sub("URL", "\n".join(self.lines))


def test_nodes(built: tuple[Connection, cluster.Cluster]) -> None:
    """Eight tagged nodes, half in each subnet, all in the training group alone but one in the default group alone."""
    ec2, ids = built[0].ec2, built[1]
    interfaces = {
        interface["Attachment"]["InstanceId"]: interface
        for interface in ec2.describe_network_interfaces(Filters=[{"Name": "vpc-id", "Values": [ids.vpc_id]}])[
            "NetworkInterfaces"
        ]
    }
    found = []
    for reservation in ec2.describe_instances(Filters=[{"Name": "tag:cluster", "Values": ["train"]}])["Reservations"]:
        for instance in reservation["Instances"]:
            interface = interfaces[instance["InstanceId"]]
            name = next(tag["Value"] for tag in instance["Tags"] if tag["Key"] == "Name")
            groups = [group["GroupId"] for group in interface["Groups"]]
            found.append((name, interface["SubnetId"], groups, interface["PrivateIpAddress"]))
    first, second = ids.subnet_ids
    training, default = [ids.training_group_id], [ids.default_group_id]
    assert sorted(found) == [
        ("train-0", first, training, "10.20.1.11"),
        ("train-1", first, training, "10.20.1.12"),
        ("train-2", first, training, "10.20.1.13"),
        ("train-3", first, training, "10.20.1.14"),
        ("train-4", second, training, "10.20.2.15"),
        ("train-5", second, default, "10.20.2.16"),
        ("train-6", second, training, "10.20.2.17"),
        ("train-7", second, training, "10.20.2.18"),
    ]


def test_groups(built: tuple[Connection, cluster.Cluster]) -> None:
    """The training group admits itself on MASTER_PORT alone, the default group itself on everything."""
    ec2, ids = built[0].ec2, built[1]
    groups = ec2.describe_security_groups(GroupIds=[ids.training_group_id, ids.default_group_id])["SecurityGroups"]
    assert {
        group["GroupName"]: [
            (row["IpProtocol"], row.get("FromPort"), [peer["GroupId"] for peer in row["UserIdGroupPairs"]])
            for row in group["IpPermissions"]
        ]
        for group in groups
    } == {
        "training": [("tcp", 29500, [ids.training_group_id])],
        "default": [("-1", None, [ids.default_group_id])],
    }


def test_acl(built: tuple[Connection, cluster.Cluster]) -> None:
    """The second subnet has an ACL of its own, which lets no answer out to the ports that clients use."""
    ec2, ids = built[0].ec2, built[1]
    acl = ec2.describe_network_acls(NetworkAclIds=[ids.acl_id])["NetworkAcls"][0]
    assert [association["SubnetId"] for association in acl["Associations"]] == [ids.subnet_ids[1]]
    assert sorted(
        (entry["Egress"], entry["RuleNumber"], entry["CidrBlock"], entry["PortRange"])
        for entry in acl["Entries"]
        if entry["RuleAction"] == "allow"
    ) == [
        (False, 100, "10.20.0.0/16", {"From": 0, "To": 65535}),
        (True, 100, "0.0.0.0/0", {"From": 443, "To": 443}),
        (True, 110, "10.20.0.0/16", {"From": 0, "To": 32767}),
    ]


def test_faults_are_found(built: tuple[Connection, cluster.Cluster]) -> None:
    """Nothing is wholly open: MASTER_PORT alone where the paths are, nothing where an answer or the group lacks."""
    selection = Selection(tags=(TagFilter("cluster", ("train",)),))
    snapshot = parse(collect(built[0], selection))
    members = select(snapshot, selection)
    context = Context(snapshot, build_matrix(snapshot, members), resolve([load("pytorch-gloo")], members))
    assert snapshot.denied == {}
    assert {str(verdict): count for verdict, count in member_counts(context.overall).items()} == {
        "open": 0,
        "partial": 30,
        "blocked": 26,
        "unknown": 0,
    }
    found = [(finding.rule, finding.pairs, finding.resource.id) for finding in check(context)]
    ids = built[1]
    assert sorted(found) == sorted(
        [
            ("acl-blocks-path", 16, ids.acl_id),
            ("acl-blocks-return", 16, ids.acl_id),
            ("mesh-path-blocked", 49, ids.training_group_id),
            ("mesh-path-blocked", 7, ids.training_group_id),
            ("mesh-path-blocked", 7, ids.default_group_id),
        ]
    )


def test_ids_are_the_same_in_every_run() -> None:
    """What the documentation shows is what a user sees: each run builds the same ids anew."""
    runs = []
    for _ in range(2):
        with demo_environment(), embedded_aws() as url:
            runs.append(cluster.build(connect(AwsOptions(region=REGION, endpoint_url=url)).ec2))
    assert runs[0] == runs[1]


def test_commands_are_printed_before_their_output() -> None:
    """Each command stands after a dollar sign, as a user would type it, right before its output."""
    recorder = Recorder(1, 0)
    assert demo(recorder.run, recorder.lines.append) == 0
    commands = [
        "scan --tag cluster=train --endpoint-url URL",
        "matrix --tag cluster=train --protocol tcp --endpoint-url URL",
        "explain train-0 train-4 --port 29500 --tag cluster=train --endpoint-url URL",
        "fix --dry-run --tag cluster=train --endpoint-url URL",
    ]
    assert [URL.sub("URL", " ".join(command)) for command in recorder.commands] == commands
    assert recorder.text == (
        "An AWS of its own at URL, in this process; nothing leaves the machine.\n"
        "In it: eight training nodes in two subnets. The job hangs in init_process_group.\n"
        + "\n".join(
            f"\n{said}\n$ sgaudit {command}\n(output)" for (said, _), command in zip(STEPS, commands, strict=True)
        )
    )


@pytest.mark.parametrize(("codes", "expected"), [((0, 0), 0), ((1, 1), 0), ((4, 0), 4), ((1, 70), 70), ((2, 4), 2)])
def test_exit_code(codes: tuple[int, ...], expected: int) -> None:
    """Findings are what the demo is about; any other failure of a command is the demo's own."""
    recorder = Recorder(*codes)
    assert run_steps("http://127.0.0.1:5000", recorder.run, recorder.lines.append) == expected
    assert len(recorder.commands) == len(STEPS)


def test_settings_of_the_user_are_left_out_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Profiles, keys, endpoints and defaults of the user are out of sight while it runs, and unchanged after."""
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_ENDPOINT_URL_EC2", "https://ec2.example.com")
    monkeypatch.setenv("SGAUDIT_TAG", "cluster=other")
    monkeypatch.setenv("NO_PROXY", "intranet.example.com")
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    before = dict(os.environ)
    recorder = Recorder()
    demo(recorder.run, recorder.lines.append)
    assert [
        {name: value for name, value in environment.items() if name.startswith(("AWS_", "SGAUDIT_"))}
        for environment in recorder.environments
    ] == [{name: value for name, value in OURS_ALONE.items() if name.startswith(("AWS_", "SGAUDIT_"))}] * len(STEPS)
    assert dict(os.environ) == before


def test_settings_come_back_after_a_failure() -> None:
    """A command that raises ends the demo, and the environment is as before all the same."""
    before = dict(os.environ)

    def fail(arguments: list[str]) -> int:
        raise RuntimeError(arguments[0])

    with pytest.raises(RuntimeError, match=r"^scan$"):
        demo(fail, Recorder().lines.append)
    assert dict(os.environ) == before


def test_keep_leaves_the_endpoint_up() -> None:
    """With `keep` the endpoint answers until the wait is over, and the lines that a user needs are printed."""
    recorder = Recorder(1, 1)
    answers = []

    def wait() -> None:
        url = URL.findall("\n".join(recorder.lines))[0]
        with urllib.request.urlopen(f"{url}/moto-api/data.json") as answer:  # noqa: S310
            answers.append(answer.status)

    assert demo(recorder.run, recorder.lines.append, keep=True, wait=wait) == 0
    assert answers == [200]
    assert recorder.text.partition("Ctrl-C. ")[2].splitlines() == [
        "In another terminal:",
        *(f"export {name}={value}" for name, value in EXPORTS.items()),
        "sgaudit scan --tag cluster=train --endpoint-url URL",
    ]


def test_ctrl_c_ends_the_wait_quietly() -> None:
    """Ctrl-C is how a user ends `--keep`; anything else that goes wrong while waiting is an error still."""

    def pause(error: BaseException) -> Callable[[], object]:
        def raise_it() -> object:
            raise error

        return raise_it

    until_interrupted(pause(KeyboardInterrupt()))
    with pytest.raises(OSError, match="broken"):
        until_interrupted(pause(OSError("broken")))


def test_server_is_gone_afterwards_and_was_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    """The server listens on loopback alone, logs nothing, and nothing answers once its block is left."""
    level = logging.getLogger("werkzeug").level
    with embedded_aws() as url:
        assert URL.fullmatch(url)
        with urllib.request.urlopen(f"{url}/moto-api/data.json") as answer:  # noqa: S310
            assert answer.status == 200
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{url}/moto-api/data.json")  # noqa: S310
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger("werkzeug").level == level


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without moto the demo says in one line what to install."""
    monkeypatch.setitem(sys.modules, "moto.server", None)
    recorder = Recorder()
    with pytest.raises(UsageError) as caught:
        demo(recorder.run, recorder.lines.append)
    assert caught.value.message == 'the demo needs the extra: pip install "sgaudit[demo]"'
    assert recorder.lines == []
