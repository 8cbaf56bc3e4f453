"""`sgaudit explain` on saved snapshots: what its ends may be, its mistakes, its exit codes, findings."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from sgaudit.cli import main
from sgaudit.cli.ends import selection_for
from sgaudit.cli.run import traffic_option
from sgaudit.errors import UsageError
from sgaudit.reach.causes import Layer
from sgaudit.reach.trace_values import Code, Effect, Miss
from sgaudit.report.explain_table import render
from sgaudit.report.terminal import Style
from sgaudit.selection import Selection
from tests.builders import ANYWHERE, acl, allow_all, entry, group, instance, interface, route, row, snapshot, table
from tests.unit.reach.test_trace import follow

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "docs" / "schemas" / "explanation.json").read_text(encoding="utf-8"))


def named(name: str, *interfaces: Any, state: str = "running") -> dict[str, Any]:
    return instance(*interfaces, state=state, Tags=[{"Key": "Name", "Value": name}, {"Key": "cluster", "Value": "x"}])


def network() -> dict[str, Any]:
    """Give three nodes in two subnets, of which two share a name, and a file system; tcp 22 and ping are open."""
    second = {"PrivateIpAddress": "10.0.0.9", "Primary": False}
    first = interface("a", "10.0.0.5", ipv6=["2001:db8::5"])
    first["PrivateIpAddresses"].append(second)
    first["Association"] = {"PublicIp": "198.51.100.7"}
    files = {**interface("files", "10.0.1.77", subnet="subnet-2"), "Description": "EFS mount target"}
    del files["Attachment"]
    ends = [
        named("node-a", first),
        named("twin", interface("b", "10.0.1.5", subnet="subnet-2"), interface("b2", "10.0.1.6", of="b", device=1)),
        named("twin", interface("c", "10.0.1.7", subnet="subnet-2"), state="stopped"),
    ]
    ingress = [row("tcp", 22, groups=["sg-a"]), row("icmp", 8, -1, groups=["sg-a"]), row("tcp", 80, cidr6=["::/0"])]
    document = snapshot(ends, [group(ingress=ingress)], tables=[table("rtb-1", [route(ANYWHERE, GatewayId="igw-1")])])
    document["NetworkInterfaces"].append(files)
    return document


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(network()), encoding="utf-8")
    return path


def run(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments, "--snapshot", str(path)])


def document(path: Path, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(path, *arguments, "-f", "json").stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    return found


ENDS = [
    ("i-a", "i-a", "eni-a", "10.0.0.5"),
    ("node-a", "i-a", "eni-a", "10.0.0.5"),
    ("eni-a", "i-a", "eni-a", "10.0.0.5"),
    ("10.0.0.5", "i-a", "eni-a", "10.0.0.5"),
    ("10.0.0.9", "i-a", "eni-a", "10.0.0.9"),
    ("2001:db8::5", "i-a", "eni-a", "2001:db8::5"),
    ("2001:0db8:0::5", "i-a", "eni-a", "2001:db8::5"),
    ("eni-b2", "i-b", "eni-b2", "10.0.1.6"),
    ("i-b", "i-b", "eni-b", "10.0.1.5"),
    ("i-c", "i-c", "eni-c", "10.0.1.7"),
    ("10.0.1.77", "", "eni-files", "10.0.1.77"),
    ("EFS mount target", "", "eni-files", "10.0.1.77"),
    ("203.0.113.9", "", "", "203.0.113.9"),
]


@pytest.mark.parametrize(("text", "instance_id", "interface_id", "address"), ENDS)
def test_ends(text: str, instance_id: str, interface_id: str, address: str, saved: Path) -> None:
    """An end is found by instance id, name, interface id, any private address, or is an address outside."""
    other = "i-a" if instance_id != "i-a" else "i-b"
    found = document(saved, other, text)["target"]
    assert (found["instance_id"], found["interface_id"], found["address"]) == (instance_id, interface_id, address)


MISTAKES: list[tuple[Sequence[str], str, str]] = [
    (
        ["node-a", "twin"],
        "'twin' means more than one: twin (i-b) and twin (i-c)",
        "name it by its id or its private address",
    ),
    (["node-a", "node-b"], "'node-b' is no instance, interface or address that was read", "did you mean node-a?"),
    (
        ["i-a", "elsewhere"],
        "'elsewhere' is no instance, interface or address that was read",
        "there are EFS mount target (eni-files), node-a (i-a), twin (i-b) and twin (i-c)",
    ),
    (
        ["node-a", "10.0.0.9"],
        "SOURCE and TARGET are both node-a (i-a)",
        "what stays in one instance is not filtered",
    ),
    (
        ["198.51.100.7", "i-b"],
        "198.51.100.7 is the public address of node-a (i-a)",
        (
            "name it by its private address 10.0.0.5: packets to the public one leave through the internet gateway, "
            "and groups as peers don't admit them"
        ),
    ),
    (
        ["203.0.113.9", "203.0.113.10"],
        "neither 203.0.113.9 nor 203.0.113.10 belongs to an instance that was read",
        "one of SOURCE and TARGET must be in the cluster",
    ),
    (
        ["2001:db8::5", "10.0.1.5"],
        "2001:db8::5 and 10.0.1.5 are of different address families",
        "name one of them by its id or name",
    ),
    (["i-a"], "TARGET is missing", "for example sgaudit explain node-1 node-2 --port 29500 --tag cluster=train"),
    (
        [],
        "explain takes SOURCE and TARGET or --finding, and neither is given",
        "for example sgaudit explain node-1 node-2 --port 29500 --tag cluster=train",
    ),
    (
        ["i-a", "i-b", "--port", "x"],
        "--port: 'x' is not a port or a port range such as 1024-65535",
        "for example --port 32768-60999",
    ),
    (
        ["i-a", "i-b", "--port", "1", "--protocol", "all"],
        "--port goes with no --protocol all",
        "all traffic is every protocol on every port",
    ),
    (
        ["i-a", "i-b", "--port", "256", "--protocol", "icmp"],
        "--port '256' is not an ICMP type or TYPE/CODE",
        "for example --port 8 or --port 3/4",
    ),
    (
        ["10.0.0.5", "i-b", "--protocol", "icmpv6"],
        "icmpv6 is not spoken over ipv4",
        "choose the other --protocol",
    ),
    (
        ["i-a", "i-b", "--interfaces", "all"],
        "twin (i-b) has several interfaces: eni-b and eni-b2",
        "name one of them, or leave --interfaces out",
    ),
    (
        ["--finding", "abc", "--all"],
        "--finding 'abc' is too short",
        "give at least 6 characters of the fingerprint that scan -f json shows",
    ),
    (
        ["--finding", "abcdef", "--all"],
        "no finding has a fingerprint that begins with abcdef",
        "sgaudit scan -f json lists those of this cluster and these policies",
    ),
]


@pytest.mark.parametrize(("arguments", "message", "hint"), MISTAKES)
def test_mistakes(arguments: Sequence[str], message: str, hint: str, saved: Path) -> None:
    """Whatever is wrong is told in one line with a hint, and nothing else is printed."""
    result = run(saved, *arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"error: {message}\nhint: {hint}\n")


EXITS = [
    (["i-a", "i-b", "--port", "22"], 0, "open"),
    (["i-a", "i-b", "--port", "22-23"], 1, "partial"),
    (["i-a", "i-b"], 1, "partial"),
    (["i-a", "i-b", "--port", "23"], 1, "blocked"),
    (["i-a", "i-b", "--protocol", "udp"], 1, "blocked"),
    (["i-a", "i-b", "--protocol", "icmp", "--port", "8"], 0, "open"),
    (["i-a", "i-b", "--protocol", "icmp", "--port", "8/0,3/4"], 1, "partial"),
    (["i-a", "i-b", "--protocol", "all"], 1, "blocked"),
    (["i-a", "203.0.113.9"], 0, "open"),
    (["203.0.113.9", "i-a", "--port", "22"], 1, "blocked"),
    (["i-a", "10.0.7.7"], 4, "unknown"),
    (["i-a", "i-c", "--port", "22", "--tag", "cluster=x", "--include-stopped"], 0, "open"),
]


@pytest.mark.parametrize(("arguments", "code", "verdict"), EXITS)
def test_exit_codes(arguments: Sequence[str], code: int, verdict: str, saved: Path) -> None:
    """0 is open, 1 blocked or partial, 4 not known."""
    assert (run(saved, *arguments).exit_code, document(saved, *arguments)["verdict"]) == (code, verdict)


def test_selection_limits_the_ends(saved: Path) -> None:
    """With a selection, ends are looked up among its members alone."""
    assert run(saved, "i-a", "i-c", "--tag", "cluster=x").exit_code == 2
    assert run(saved, "i-a", "i-b", "--tag", "cluster=y").exit_code == 3


def test_one_address_twice(tmp_path: Path) -> None:
    """An address of two VPCs is ambiguous; the interfaces are listed."""
    ends = [instance(interface("a", "10.0.0.5")), instance(interface("d", "10.0.0.5", subnet="subnet-4"))]
    path = tmp_path / "s.json"
    path.write_text(json.dumps(snapshot([*ends, instance(interface("b", "10.0.0.6"))], [group()])), encoding="utf-8")
    result = run(path, "i-b", "10.0.0.5")
    assert result.stderr == (
        "error: 10.0.0.5 belongs to more than one: eni-a and eni-d\nhint: name the interface by its id\n"
    )


def test_client_ports(tmp_path: Path) -> None:
    """The way back is judged on the client ports that are given."""
    entries = [
        entry(10, "allow", egress=True, protocol="6", ports=(1024, 2000)),
        *(item for item in allow_all() if not item["Egress"]),
    ]
    ends = [instance(interface("a", "10.0.0.5")), instance(interface("b", "10.0.1.5", subnet="subnet-2"))]
    raw = snapshot(ends, [group(ingress=[row(groups=["sg-a"])])], acls=[acl("acl-x", entries, subnets=["subnet-2"])])
    path = tmp_path / "s.json"
    path.write_text(json.dumps(raw), encoding="utf-8")
    assert document(path, "i-a", "i-b", "--client-ports", "1024-2000")["verdict"] == "open"
    blockers = document(path, "i-a", "i-b", "--client-ports", "1500-2500")["blockers"]
    assert [(item["code"], item["ports"]) for item in blockers] == [("ACL_DENIES_RETURN_OUT", "2001-2500")]


READS = [
    (("i-0123456789abcdef0", "i-0123456789abcdef1"), ("i-0123456789abcdef0", "i-0123456789abcdef1")),
    (("203.0.113.9", "i-0123456789abcdef1"), ("i-0123456789abcdef1",)),
]


@pytest.mark.parametrize(("ends", "ids"), READS)
def test_what_is_read_for_instance_ids(ends: tuple[str, str], ids: tuple[str, ...]) -> None:
    """Of AWS just the two instances are read when both ends are clear without a selection."""
    assert selection_for(ends) == Selection(instance_ids=ids, include_stopped=True)


@pytest.mark.parametrize(
    "ends", [("i-0123456789abcdef0", "node-a"), ("i-0123456789abcdef0", "10.0.0.5"), ("203.0.113.9", "203.0.113.10")]
)
def test_what_cannot_be_read_without_a_selection(ends: tuple[str, str]) -> None:
    """Names and private addresses need a selection, and so do two addresses outside."""
    with pytest.raises(UsageError):
        selection_for(ends)


@pytest.mark.parametrize(
    ("text", "protocol", "ports"),
    [
        ("", "tcp", "0-65535"),
        ("22,80-90", "tcp", "22,80-90"),
        ("8", "icmp", "2048-2303"),
        ("3/4,8/0", "icmp", "772,2048"),
        ("128", "icmpv6", "32768-33023"),
    ],
)
def test_ports(text: str, protocol: str, ports: str) -> None:
    """Ports are ports of tcp and udp, and types with or without a code of ICMP."""
    assert str(traffic_option("--port", text, protocol)) == ports


# Findings


def scan(path: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(main, ["scan", "--snapshot", path, "--tag", "cluster=train", "-f", "json"])
    found: list[dict[str, Any]] = json.loads(result.stdout)["findings"]
    return found


def example(name: str) -> str:
    return str(ROOT / "examples" / name / "snapshot.json")


FINDINGS = [
    ("node-without-group", "mesh-path-blocked", {"SG_INGRESS_MISSING"}),
    ("acl-forgets-way-back", "acl-blocks-return", {"ACL_DENIES_RETURN_OUT"}),
]


@pytest.mark.parametrize(("name", "rule", "codes"), FINDINGS)
def test_finding(name: str, rule: str, codes: set[str]) -> None:
    """The examples of a finding are explained on the ports that it misses, by any beginning of its fingerprint."""
    path = example(name)
    finding = next(item for item in scan(path) if item["rule"] == rule)
    arguments = ["explain", "--finding", finding["fingerprint"][:8], "--snapshot", path, "--tag", "cluster=train"]
    result = CliRunner().invoke(main, [*arguments, "-f", "json"])
    found = json.loads(result.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    pairs = [(item["source"]["instance_id"], item["target"]["instance_id"]) for item in found["explanations"]]
    assert pairs == [(item["source"], item["target"]) for item in finding["examples"]][:3]
    for item in found["explanations"]:
        assert item["verdict"] != "open"
        assert codes <= {blocker["code"] for blocker in item["blockers"]}
    assert result.exit_code == 1


def test_every_finding_about_pairs_can_be_explained() -> None:
    """Of each finding with examples, in each of these clusters, the text and the JSON can be written."""
    for name in ("node-without-group", "acl-forgets-way-back", "several-group-pairs", "middlebox-group-reference"):
        for finding in scan(example(name)):
            if finding["examples"]:
                arguments = ["--finding", finding["fingerprint"], "--snapshot", example(name), "--tag", "cluster=train"]
                result = CliRunner().invoke(main, ["explain", *arguments])
                assert result.exit_code in (1, 4), result.output


# Words


def words_of(section: str) -> list[str]:
    """Give the first column of the table of a section of docs/codes.md."""
    text = (ROOT / "docs" / "codes.md").read_text(encoding="utf-8")
    part = text.partition(f"## {section}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", part, re.MULTILINE)


def test_words_are_documented() -> None:
    """docs/codes.md and the schema have each code, near miss and stage that there is, and no other."""
    defined = SCHEMA["$defs"]
    assert words_of("Surely stopped") == [code for code in Code if code.certain]
    assert words_of("Not known") == [code for code in Code if not code.certain]
    assert sorted(words_of("Rules that came close")) == sorted(Miss)
    assert defined["blocker"]["properties"]["code"]["enum"] == list(Code)
    assert sorted(defined["rule"]["properties"]["misses"]["items"]["enum"]) == sorted(Miss)
    assert sorted(defined["rule"]["properties"]["effect"]["enum"]) == sorted(Effect)
    assert sorted(defined["hop"]["properties"]["stage"]["enum"]) == sorted(Layer)


# Looks


def test_hostile_text_is_harmless(tmp_path: Path) -> None:
    """Names and descriptions can't steer the terminal."""
    bad = "\x1b[31m\u202eevil\nline"
    ingress = row("tcp", 1, groups=["sg-a"])
    ingress["UserIdGroupPairs"][0]["Description"] = bad
    ends = [named(bad, interface("a", "10.0.0.5")), named("b", interface("b", "10.0.0.6"))]
    path = tmp_path / "s.json"
    path.write_text(json.dumps(snapshot(ends, [group(ingress=[ingress], name=bad)])), encoding="utf-8")
    text = run(path, "i-a", "i-b").stdout
    assert "evil" in text
    assert [letter for letter in text if letter in "\x1b\u202e"] == []


def test_blocking_hops_stand_out_in_color() -> None:
    """Each line that tells of a blocker is painted, and nothing but looks is added by colors and signs."""
    trace = follow(snapshot([instance(interface("a", "10.0.0.5")), instance(interface("b", "10.0.0.6"))], [group()]))
    plain = "".join(render(trace, Style(width=80)))
    colored = "".join(render(trace, Style(width=80, color=True)))
    red = [line for line in colored.splitlines() if line.startswith("\x1b[1;31m")]
    assert [line.removeprefix("\x1b[1;31m").removesuffix("\x1b[0m") for line in red] == [
        "BLOCKED: 1 blocker",
        "  X security groups of i-b, in  [closed]",
        "  |   SG_INGRESS_MISSING: no ingress permission of sg-a admits tcp 29500 from",
        "  |     i-a",
    ]
    for look in ("1;31", "1", "2", "0"):
        colored = colored.replace(f"\x1b[{look}m", "")
    assert colored == plain
