"""Bad input of each kind: the right exit code, one clear line and a hint, no traceback, nothing on standard output."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sgaudit.cli import main

HEALTHY = Path(__file__).resolve().parents[3] / "examples" / "healthy" / "snapshot.json"
TRAIN = ["--tag", "cluster=train"]
HOW_TO_GET = "hint: write one with `sgaudit snapshot -o FILE`, or with `aws ec2 describe-instances > FILE` and the like"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def scan(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["scan", *arguments])


def expect(result: Result, code: int, *lines: str) -> None:
    assert (result.exit_code, result.stdout, result.stderr.splitlines()) == (code, "", list(lines))


def test_a_truncated_file() -> None:
    """The place where it was cut is named."""
    Path("cut.json").write_bytes(HEALTHY.read_bytes()[:3000])

    result = scan("--snapshot", "cut.json", *TRAIN)

    assert result.exit_code == 2
    assert result.stdout == ""
    problem, hint = result.stderr.splitlines()
    assert problem.startswith("error: cut.json: not a JSON snapshot: cut short: line ")
    assert hint == HOW_TO_GET


FILES: list[tuple[str, bytes, list[str]]] = [
    (
        "list",
        b"[1, 2]",
        [
            "error: it.json: expected an object, got a list",
            f"hint: expected EC2 Describe answers such as Reservations: {HOW_TO_GET.removeprefix('hint: ')}",
        ],
    ),
    ("empty", b"", ["error: it.json: empty", HOW_TO_GET]),
    ("deep", b'{"a":' * 100_000, ["error: it.json: not a JSON snapshot: nested too deep", HOW_TO_GET]),
    (
        "binary",
        bytes(range(128, 256)),
        ["error: it.json: not a JSON snapshot: no text in UTF-8, UTF-16 or UTF-32", HOW_TO_GET],
    ),
]


@pytest.mark.parametrize(("content", "lines"), [row[1:] for row in FILES], ids=[row[0] for row in FILES])
def test_files_that_are_no_snapshot(content: bytes, lines: list[str]) -> None:
    """Each says what it is instead."""
    Path("it.json").write_bytes(content)

    expect(scan("--snapshot", "it.json", *TRAIN), 2, *lines)


@pytest.mark.slow
def test_a_hundred_megabytes_of_nonsense() -> None:
    """A huge file of noise is refused like a small one."""
    Path("noise.bin").write_bytes(random.Random(1).randbytes(100_000_000))

    result = scan("--snapshot", "noise.bin", *TRAIN)

    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (2, "", 2)
    assert result.stderr.startswith("error: noise.bin: not a JSON snapshot: ")


def test_a_wrong_type_deep_inside() -> None:
    """File, path and value are named."""
    document = json.loads(HEALTHY.read_bytes())
    document["SecurityGroups"][0]["IpPermissions"][0]["FromPort"] = "abc"
    Path("it.json").write_text(json.dumps(document), encoding="utf-8")

    expect(
        scan("--snapshot", "it.json", *TRAIN),
        2,
        'error: it.json: SecurityGroups[0].IpPermissions[0].FromPort: expected a whole number, got "abc"',
        "hint: correct the value, or collect the snapshot again",
    )


def test_a_folder_without_json() -> None:
    """It says that there is none."""
    Path("empty").mkdir()

    expect(scan("--snapshot", "empty", *TRAIN), 2, "error: empty: the folder has no *.json in it", HOW_TO_GET)


def test_a_policy_with_a_typo() -> None:
    """File, line, column, the key, and what is allowed there; every mistake at once."""
    Path("mine.yaml").write_text(
        "schema_version: 1\nname: mine\nsummary: x\nneeds:\n  - id: a\n    from: member\n    to: member\n"
        "    prots: 22\n    why: because\n    source: me\n",
        encoding="utf-8",
    )

    expect(
        scan("--snapshot", str(HEALTHY), *TRAIN, "--policy", "mine.yaml"),
        2,
        "error: mine.yaml:5:5: needs[0]: tcp needs ports: a port, a range, all, ${parameter}, or a list of them",
        "  mine.yaml:8:5: needs[0].prots: unknown key (did you mean ports?); allowed here: id, from, to, protocol, "
        "ports, topology, severity, why, source, pin, ip_ordered",
        "hint: `sgaudit policies schema` prints all that may stand in a policy",
    )


OPTIONS: list[tuple[list[str], int, list[str]]] = [
    (
        ["--tag", "=x"],
        2,
        ["error: --tag '=x': expected KEY=VALUE, KEY=VALUE,VALUE or KEY", "hint: for example --tag cluster=train"],
    ),
    (
        [],
        2,
        [
            "error: nothing says which instances make the cluster",
            "hint: pick them with --tag KEY=VALUE, --instance-id, --vpc-id or --security-group, or take --all",
        ],
    ),
    (
        [*TRAIN, "--all"],
        2,
        ["error: --all goes with no other way to pick instances", "hint: leave one of them out"],
    ),
    (
        [*TRAIN, "--client-ports", "99-abc"],
        2,
        [
            "error: --client-ports: '99-abc' is not a port or a port range such as 1024-65535",
            "hint: for example --client-ports 32768-60999",
        ],
    ),
    (
        [*TRAIN, "--set", "master_port"],
        2,
        ["error: --set 'master_port': expected NAME=VALUE", "hint: for example --set master_port=29501"],
    ),
    (
        [*TRAIN, "--set", "mastr_port=1"],
        2,
        [
            "error: --set mastr_port: pytorch-gloo has no such parameter (did you mean master_port?)",
            "hint: parameters: client_ports, master_port",
        ],
    ),
    (
        [*TRAIN, "--head", "nobody"],
        2,
        [
            "error: --head 'nobody': no member has that id or name",
            "hint: the head must be one of the selected instances",
        ],
    ),
    (
        [*TRAIN, "--output", "no/such/folder/x"],
        2,
        [
            "error: --output no/such/folder/x: No such file or directory",
            "hint: name a file in a writable folder",
        ],
    ),
    (
        ["--tag", "cluster=\x1b[31mred"],
        3,
        [
            f"error: no running instance matches --tag cluster=\\x1b[31mred in {HEALTHY}",
            "hint: check the tag's spelling, the Region and the account",
        ],
    ),
]


@pytest.mark.parametrize(("options", "code", "lines"), OPTIONS)
def test_options(options: list[str], code: int, lines: list[str]) -> None:
    """Each names the option, what is wrong with it, and what to do."""
    expect(scan("--snapshot", str(HEALTHY), *options), code, *lines)


def test_an_unknown_format() -> None:
    """click's own complaints leave with 2 as well."""
    result = scan("--snapshot", str(HEALTHY), *TRAIN, "-f", "yaml")

    assert (result.exit_code, result.stdout) == (2, "")
    assert "'yaml' is not one of 'table', 'json'" in result.stderr


def test_a_fault_of_our_own_is_told_and_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that nobody foresaw leaves with 70, not with a code that means something else."""
    monkeypatch.setattr("sgaudit.report.scan_table.head", lambda *_: 1 / 0)

    expect(
        scan("--snapshot", str(HEALTHY), *TRAIN),
        70,
        "error: a fault of sgaudit itself: ZeroDivisionError: division by zero",
        "hint: run it again with --debug and report what it prints",
    )


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """With --debug the error itself comes through."""
    monkeypatch.setattr("sgaudit.report.scan_table.head", lambda *_: 1 / 0)

    result = CliRunner().invoke(main, ["--debug", "scan", "--snapshot", str(HEALTHY), *TRAIN])

    assert isinstance(result.exception, ZeroDivisionError)


def test_two_results_for_one_file(tmp_path: Path) -> None:
    """The second would take the place of the first, so neither is written."""
    expect(
        scan("--snapshot", str(HEALTHY), *TRAIN, "-o", "x", "--write-baseline", str(tmp_path / "x")),
        2,
        f"error: --write-baseline and --output both name {tmp_path / 'x'}",
        "hint: name two files",
    )
    assert list(tmp_path.iterdir()) == []


def test_an_empty_id() -> None:
    """A variable that is not set does not read as a cluster that is not there."""
    expect(
        scan("--snapshot", str(HEALTHY), "--instance-id", ""),
        2,
        "error: an id that picks instances is empty",
        "hint: is a variable behind --instance-id or the like not set?",
    )


def test_a_configuration_that_is_no_file() -> None:
    """A folder of its name is not skipped in silence: what it should say would be missed."""
    Path("sgaudit.yaml").mkdir()

    assert scan("--snapshot", str(HEALTHY), *TRAIN).exit_code == 2


def test_icmp_ports_of_the_matrix_are_types() -> None:
    """`matrix` reads ICMP types and codes as `explain` does, and refuses ports for all traffic."""
    found = CliRunner().invoke(
        main, ["matrix", "--snapshot", str(HEALTHY), *TRAIN, "--protocol", "all", "--ports", "22"]
    )

    expect(
        found,
        2,
        "error: --ports goes with no --protocol all",
        "hint: all traffic is every protocol on every port",
    )
    asked = CliRunner().invoke(
        main,
        ["matrix", "--snapshot", str(HEALTHY), *TRAIN, "--protocol", "icmp", "--ports", "8/0", "--pairs", "-f", "json"],
    )
    assert json.loads(asked.stdout)["ports"] == "2048"
