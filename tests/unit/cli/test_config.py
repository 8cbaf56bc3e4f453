"""The configuration file, the baseline and the choice of rules, as commands take them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from sgaudit.cli import main
from sgaudit.cli.configuration import CRITERIA
from sgaudit.cli.scan import command as scan_command
from sgaudit.config.file import OPTIONS
from sgaudit.rules import RULES
from sgaudit.rules.finding import Finding, Rule

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
BROKEN, HEALTHY = EXAMPLES / "node-without-group" / "snapshot.json", EXAMPLES / "healthy" / "snapshot.json"
START = "schema_version: 1\n"
TRAIN = f"{START}selection: {{tags: cluster=train}}\n"
SPLIT = "  - {rule: split-cluster, scope: i-*, reason: planned, owner: us}\n"
PATHS = "  - {rule: mesh-path-blocked, scope: sg-*, reason: known}\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(BROKEN, tmp_path / "broken.json")
    shutil.copy(HEALTHY, tmp_path / "healthy.json")


def write(text: str, name: str = "sgaudit.yaml") -> None:
    Path(name).write_text(text, encoding="utf-8")


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(main, arguments, env=environment)


def scan(*arguments: str, snapshot: str = "broken.json", **environment: str) -> dict[str, Any]:
    """Give what a scan finds, with its exit code as `exit`."""
    result = run("scan", "--snapshot", snapshot, "-f", "json", *arguments, **environment)
    assert result.exit_code in (0, 1, 4), result.output
    return {**json.loads(result.stdout), "exit": result.exit_code}


def selected(*arguments: str, **environment: str) -> dict[str, Any]:
    """Give what of the selection is not as it is by default."""
    plain = {"interfaces": "primary", "family": "ipv4"}
    selection = scan(*arguments, **environment)["selection"]
    return {key: value for key, value in selection.items() if value and value != plain.get(key)}


def rules(document: dict[str, Any], *, suppressed: bool = False) -> list[str]:
    return sorted({item["rule"] for item in document["findings"] if item["suppressed"] is suppressed})


def refused(*arguments: str, **environment: str) -> list[str]:
    """Give the lines of a refusal."""
    result = run(*arguments, **environment)
    assert (result.exit_code, result.stdout) == (2, "")
    return result.stderr.splitlines()


# where the file comes from


def test_no_file() -> None:
    """Without a file nothing is selected."""
    assert refused("scan", "--snapshot", "broken.json")[0] == "error: nothing says which instances make the cluster"


@pytest.mark.parametrize("command", ["scan", "matrix"])
def test_the_file_of_the_folder(command: str) -> None:
    """The file in the working folder selects for every command that reads."""
    write(TRAIN)
    result = run(command, "--snapshot", "broken.json", "-f", "json")
    assert result.exit_code in (0, 1), result.output
    assert json.loads(result.stdout)["kind"] == command


@pytest.mark.parametrize("way", ["option", "variable"])
def test_a_named_file(way: str) -> None:
    """A file that is named is read in place of that of the folder."""
    write("not: good\n")
    write(TRAIN, "other.yaml")
    arguments = ("--config", "other.yaml") if way == "option" else ()
    environment = {"SGAUDIT_CONFIG": "other.yaml"} if way == "variable" else {}
    assert selected(*arguments, **environment) == {"tags": ["cluster=train"]}


@pytest.mark.parametrize("way", ["option", "variable"])
def test_no_file_wanted(way: str) -> None:
    """An empty name reads no file."""
    write("not: good\n")
    arguments = ("--config", "") if way == "option" else ()
    environment = {"SGAUDIT_CONFIG": ""} if way == "variable" else {}
    assert selected("--all", *arguments, **environment) == {"all": True}


def test_a_missing_file() -> None:
    """A file that is named and not there is an error, also where an option could do without."""
    assert refused("scan", "--all", "--snapshot", "broken.json", "--config", "none.yaml") == [
        "error: none.yaml: no such file",
        "hint: name a configuration file, or leave it at sgaudit.yaml",
    ]


def test_mistakes() -> None:
    """Mistakes in the file end the command before anything is read, all of them told."""
    write(f"{START}polices: x\nfail_on: bad\n")
    first, second, hint = refused("scan", "--all", "--snapshot", "not-there.json")
    assert first.startswith("error: sgaudit.yaml:2:1: polices: unknown key (did you mean policies?); allowed here: ")
    assert second == "  sgaudit.yaml:3:10: fail_on: 'bad' is not allowed; allowed here: note, warning, error"
    assert hint == "hint: docs/config.md explains all that may stand in a configuration file"


def test_help_needs_no_file() -> None:
    """Help is there whatever the file says."""
    write("not: good\n")
    assert run("scan", "--help").exit_code == 0


# who wins


@pytest.mark.parametrize(
    ("file", "arguments", "environment", "expected"),
    [
        (TRAIN, [], {}, {"tags": ["cluster=train"]}),
        (TRAIN, ["--all"], {}, {"all": True}),
        (TRAIN, ["--tag", "cluster"], {}, {"tags": ["cluster"]}),
        (TRAIN, ["--vpc-id", "vpc-*"], {}, None),
        (TRAIN, [], {"SGAUDIT_ALL": "1"}, {"all": True}),
        (TRAIN, [], {"SGAUDIT_ALL": "0"}, {"tags": ["cluster=train"]}),
        (TRAIN, ["--all"], {"SGAUDIT_TAG": "cluster=none"}, {"all": True}),
        (TRAIN, ["--tag", "cluster"], {"SGAUDIT_ALL": "1"}, {"tags": ["cluster"]}),
        (START, ["--all"], {"SGAUDIT_TAG": "cluster=none"}, {"all": True}),
        (
            f"{START}selection: {{tags: cluster, include_stopped: true, interfaces: all}}\n",
            ["--all"],
            {},
            {"all": True, "include_stopped": True, "interfaces": "all"},
        ),
        (
            f"{START}selection: {{all: true, interfaces: all}}\n",
            ["--interfaces", "primary"],
            {},
            {"all": True},
        ),
        (f"{START}selection: {{all: true, interfaces: all}}\n", [], {"SGAUDIT_INTERFACES": "primary"}, {"all": True}),
    ],
)
def test_selection(
    file: str, arguments: list[str], environment: dict[str, str], expected: dict[str, Any] | None
) -> None:
    """Members are picked as the strongest source says, which never has to agree with a weaker one."""
    write(file)
    if expected is None:
        assert run("scan", "--snapshot", "broken.json", *arguments).exit_code == 3
    else:
        assert selected(*arguments, **environment) == expected


@pytest.mark.parametrize(
    ("file", "arguments", "environment", "expected"),
    [
        ("policies: [efa, pytorch-gloo]\n", [], {}, {"base-cluster", "efa", "pytorch-gloo"}),
        ("policies: efa\n", ["--policy", "torchrun"], {}, {"torchrun"}),
        ("policies: efa\n", [], {"SGAUDIT_POLICY": "torchrun"}, {"torchrun"}),
        ("policies: efa\n", ["--policy", "torchrun"], {"SGAUDIT_POLICY": "ray"}, {"torchrun"}),
    ],
)
def test_policies(file: str, arguments: list[str], environment: dict[str, str], expected: set[str]) -> None:
    """The policies of the strongest source are judged, and no other."""
    write(f"{TRAIN}{file}")
    document = scan(*arguments, **environment)
    found = {name for item in document["requirements"] for name in item["policy"].split(",")}
    assert found
    assert found <= expected


def ports_of(need: str, *arguments: str, **environment: str) -> list[str]:
    return [item["ports"] for item in scan(*arguments, **environment)["requirements"] if item["need"] == need]


@pytest.mark.parametrize(
    ("file", "arguments", "environment", "port"),
    [
        ("", [], {}, "29500"),
        ("parameters: {master_port: 1}\n", [], {}, "1"),
        ("parameters: {master_port: 1}\n", [], {"SGAUDIT_MASTER_PORT": "2"}, "2"),
        ("parameters: {master_port: 1}\n", ["--master-port", "3"], {"SGAUDIT_MASTER_PORT": "2"}, "3"),
        ("parameters: {master_port: 1}\n", ["--set", "master_port=4"], {}, "4"),
        ("parameters: {master_port: 1, client_ports: 5-6}\n", ["--set", "client_ports=7"], {}, "1"),
    ],
)
def test_parameters(file: str, arguments: list[str], environment: dict[str, str], port: str) -> None:
    """A parameter is as the strongest source says, and the others stay as the file sets them."""
    write(f"{TRAIN}{file}")
    assert ports_of("master-port", *arguments, **environment) == [port]


def test_client_ports() -> None:
    """The client ports of the file hold for the policies and for the way back."""
    write(f"{TRAIN}client_ports: 40000-50000\n")
    assert ports_of("gloo-mesh") == ["40000-50000"]
    assert ports_of("gloo-mesh", "--client-ports", "1-2") == ["1-2"]


def test_parameters_of_other_policies() -> None:
    """Parameters that the command line's policies don't have are left out; the file's own policies must have them."""
    write(f"{TRAIN}parameters: {{zone: 1, master_port: x}}\n")
    assert refused("scan", "--snapshot", "broken.json") == [
        "error: sgaudit.yaml:3:20: parameters.zone: pytorch-gloo has no such parameter",
        "  sgaudit.yaml:3:36: parameters.master_port: 'x' is not a port",
        "hint: parameters of these policies: client_ports, master_port",
    ]
    assert scan("--policy", "tcp-full-mesh")["kind"] == "scan"


EXPIRED = "  - {rule: no-route, scope: x, reason: over, expires: 2020-01-01}\n"


@pytest.mark.parametrize(
    ("file", "arguments", "environment", "exit_code"),
    [
        ("", [], {}, 0),
        ("fail_on: warning\n", [], {}, 1),
        ("fail_on: warning\n", ["--fail-on", "error"], {}, 0),
        ("fail_on: warning\n", [], {"SGAUDIT_FAIL_ON": "error"}, 0),
        ("fail_on: error\n", ["--fail-on", "note"], {"SGAUDIT_FAIL_ON": "error"}, 1),
    ],
)
def test_fail_on(file: str, arguments: list[str], environment: dict[str, str], exit_code: int) -> None:
    """The file's severity holds unless another is given; here the one finding is a warning."""
    write(f"{TRAIN}select: suppression-expired\nsuppressions:\n{EXPIRED}{file}")
    assert scan(*arguments, **environment)["exit"] == exit_code


# rules


@pytest.mark.parametrize(
    ("file", "arguments", "expected"),
    [
        ("", [], ["mesh-path-blocked", "split-cluster"]),
        ("", ["--select", "split-cluster"], ["split-cluster"]),
        ("", ["--select", "split-cluster", "--select", "no-route"], ["split-cluster"]),
        ("", ["--ignore", "split-cluster", "--ignore", "mesh-path-blocked"], []),
        ("select: split-cluster\n", [], ["split-cluster"]),
        ("select: split-cluster\n", ["--select", "mesh-path-blocked"], ["mesh-path-blocked"]),
        ("ignore: [split-cluster, no-route]\n", [], ["mesh-path-blocked"]),
        ("ignore: split-cluster\n", ["--select", "mesh-path-blocked"], ["mesh-path-blocked"]),
    ],
)
def test_choice(file: str, arguments: list[str], expected: list[str]) -> None:
    """Only the rules that are chosen find something."""
    write(f"{TRAIN}{file}")
    assert rules(scan(*arguments)) == expected


def test_unknown_rule() -> None:
    """A rule that is not there is an error with the nearest one."""
    assert refused("scan", "--snapshot", "broken.json", "--all", "--ignore", "split-clusters") == [
        "error: --ignore 'split-clusters': no rule has this id (did you mean split-cluster?)",
        "hint: `sgaudit rules` lists them",
    ]


@pytest.fixture
def _broken_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(_: object) -> list[Finding]:
        raise ZeroDivisionError("by design")

    rule = Rule("breaks", "It breaks", RULES[0].severity, "Why.", "What.", ("nowhere",), crash)
    monkeypatch.setattr("sgaudit.rules.choose.RULES", (*RULES, rule))


@pytest.mark.usefixtures("_broken_rule")
@pytest.mark.parametrize("snapshot", ["broken.json", "healthy.json"])
def test_a_rule_that_crashes(snapshot: str) -> None:
    """A rule that crashes leaves with 70 and its name, with no result and no traceback."""
    result = run("scan", "--snapshot", snapshot, "--all")
    assert (result.exit_code, result.stdout) == (70, "")
    assert result.stderr.splitlines() == [
        "error: the rule breaks failed: ZeroDivisionError: by design",
        "hint: report what --debug prints; --ignore breaks judges without the rule",
    ]


@pytest.mark.usefixtures("_broken_rule")
def test_a_rule_that_crashes_with_debug() -> None:
    """With --debug the fault itself comes out, with its cause."""
    result = run("scan", "--snapshot", "healthy.json", "--all", "--debug")
    assert result.exception is not None
    assert isinstance(result.exception.__cause__, ZeroDivisionError)


@pytest.mark.usefixtures("_broken_rule")
def test_a_rule_that_would_crash_can_be_ignored() -> None:
    """Without the broken rule the others judge."""
    assert scan("--all", "--ignore", "breaks", snapshot="healthy.json")["status"] == "pass"


# suppressions


@pytest.mark.parametrize(
    ("suppressions", "exit_code", "status", "active", "suppressed"),
    [
        (SPLIT, 1, "fail", ["mesh-path-blocked"], ["split-cluster"]),
        (SPLIT + PATHS, 0, "pass", [], ["mesh-path-blocked", "split-cluster"]),
    ],
)
def test_suppressed(suppressions: str, exit_code: int, status: str, active: list[str], suppressed: list[str]) -> None:
    """Suppressed findings are listed as such and change neither status nor exit code."""
    write(f"{TRAIN}suppressions:\n{suppressions}")
    document = scan()
    assert (document["exit"], document["status"]) == (exit_code, status)
    assert rules(document) == active
    assert rules(document, suppressed=True) == suppressed
    assert [item["suppressed"] for item in document["findings"]] == sorted(
        item["suppressed"] for item in document["findings"]
    )


def test_suppressed_in_the_table() -> None:
    """The table shows suppressed findings at its end, with the reason, and counts them apart."""
    write(f"{TRAIN}suppressions:\n{SPLIT}{PATHS}")
    lines = run("scan", "--snapshot", "broken.json").stdout.splitlines()
    found = [line for line in lines if line.startswith(("error", "warning", "note", "suppressed"))]
    assert [line.partition(":")[0] for line in found] == [
        "suppressed error split-cluster",
        "suppressed error mesh-path-blocked",
        "suppressed error mesh-path-blocked",
    ]
    assert lines[lines.index(found[0]) + 1] == "  planned (us)"
    assert lines[lines.index(found[1]) + 1] == "  known"
    assert lines[-1] == "PASS: 12 ordered pairs, 6 open, 6 blocked; 3 suppressed"


def test_expired_and_unused() -> None:
    """An expired suppression counts as a warning, an unused one as a note."""
    write(
        f"{TRAIN}select: [no-route, suppression-expired, suppression-unused]\nsuppressions:\n"
        f"{EXPIRED}"
        "  - {rule: no-route, scope: y, reason: nothing}\n"
    )
    document = scan()
    assert [(item["rule"], item["evidence"]["at"]) for item in document["findings"]] == [
        ("suppression-expired", "sgaudit.yaml:5"),
        ("suppression-unused", "sgaudit.yaml:6"),
    ]
    assert [scan("--fail-on", level)["exit"] for level in ("error", "warning", "note")] == [0, 1, 1]


# baseline


def test_baseline() -> None:
    """What a baseline knows is suppressed, in the next run and from then on."""
    first = scan("--all", "--write-baseline", "known.json")
    second = scan("--all", "--baseline", "known.json", "--write-baseline", "known.json")
    third = scan("--all", "--baseline", "known.json")
    assert (first["exit"], second["exit"], third["exit"]) == (1, 0, 0)
    assert rules(first) == rules(second, suppressed=True) == rules(third, suppressed=True)
    assert rules(third) == []
    assert {item["evidence"]["suppression"]["reason"] for item in third["findings"]} == {"in the baseline"}


def test_new_findings_fail() -> None:
    """A finding that the baseline does not know counts."""
    scan("--all", "--write-baseline", "known.json", "--select", "split-cluster")
    document = scan("--all", "--baseline", "known.json")
    assert document["exit"] == 1
    assert rules(document, suppressed=True) == ["split-cluster"]


def test_gone_findings_are_told() -> None:
    """What no longer occurs is told beside the result, unless nothing is to be told."""
    scan("--all", "--write-baseline", "known.json", "--select", "split-cluster")
    command = ("scan", "--snapshot", "healthy.json", "--all", "--baseline", "known.json")
    (line,) = run(*command).stderr.splitlines()
    assert line == (
        "note: 1 finding of the baseline no longer occurs: split-cluster (i-06615864c0aca04b4); "
        "--write-baseline makes a new one"
    )
    assert run(*command, "--quiet").stderr == ""
    assert run(*command, "--ignore", "split-cluster").stderr == ""


def test_suppressed_findings_are_not_written() -> None:
    """What the configuration suppresses is not put in the baseline."""
    write(f"{TRAIN}suppressions:\n{SPLIT}")
    scan("--write-baseline", "known.json")
    known = json.loads(Path("known.json").read_text(encoding="utf-8"))
    assert {item["rule"] for item in known["findings"]} == {"mesh-path-blocked"}
    assert set(known) == {"schema_version", "kind", "created", "findings"}


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (["--baseline", "none.json"], "error: none.json: can't be read: no such file or directory"),
        (["--baseline", "broken.json"], "error: broken.json: not a baseline: its kind is not 'baseline'"),
        (["--write-baseline", "-"], "error: --write-baseline -: the result is written there"),
    ],
)
def test_wrong_baselines(arguments: list[str], first: str) -> None:
    """A baseline that can't be read or written is an error before anything is judged."""
    assert refused("scan", "--snapshot", "broken.json", "--all", *arguments)[0] == first


def test_baseline_in_no_folder() -> None:
    """A baseline that can't be written is an error with its option, and leaves nothing behind."""
    result = run("scan", "--snapshot", "broken.json", "--all", "--write-baseline", "no/such/known.json")
    assert result.exit_code == 2
    assert "error: --write-baseline no/such/known.json: No such file or directory" in result.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["broken.json", "healthy.json"]


# the table of options


def test_every_key_is_an_option() -> None:
    """Each key that stands for an option has one of its name in `scan`."""
    names = {parameter.name for parameter in scan_command.params if isinstance(parameter, click.Option)}
    assert sorted(set(OPTIONS.values()) - names) == []
    assert set(CRITERIA) <= set(OPTIONS.values())
