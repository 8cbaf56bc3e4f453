"""`sgaudit scan` and `sgaudit matrix` on snapshots: exit codes, where the output goes, and how it looks."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sgaudit.cli import main

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def run(command: str, example: str, *more: str, standard_input: bytes | None = None) -> Result:
    path = "-" if standard_input is not None else str(EXAMPLES / example / "snapshot.json")
    arguments = [command, "--snapshot", path, "--tag", "cluster=train", *more]
    return CliRunner().invoke(main, arguments, input=standard_input)


EXIT_CODES: list[tuple[str, list[str], int]] = [
    ("healthy", [], 0),
    ("only-master-port", [], 1),
    ("acls-not-readable", [], 4),
    ("one-way-groups", ["--fail-on", "note"], 1),
    ("open-to-the-world", [], 0),
    ("open-to-the-world", ["--fail-on", "warning"], 1),
    ("acls-not-readable", ["--fail-on", "note"], 4),
]


@pytest.mark.parametrize(("example", "options", "code"), EXIT_CODES)
def test_exit_codes(example: str, options: list[str], code: int) -> None:
    """0 clean, 1 findings at or above --fail-on, 4 incomplete, which outranks 1."""
    assert run("scan", example, *options).exit_code == code


def test_the_variable_of_an_option_sets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """SGAUDIT_FAIL_ON does what --fail-on does, and the option wins."""
    monkeypatch.setenv("SGAUDIT_FAIL_ON", "warning")

    codes = [run("scan", "open-to-the-world", *more).exit_code for more in ([], ["--fail-on", "error"])]

    assert codes == [1, 0]


def test_standard_input() -> None:
    """A snapshot by standard input gives what the file gives, its name apart."""
    content = (EXAMPLES / "healthy" / "snapshot.json").read_bytes()

    piped = json.loads(run("scan", "", "-f", "json", standard_input=content).stdout)
    read = json.loads(run("scan", "healthy", "-f", "json").stdout)

    assert piped["coverage"].pop("source") == "standard input"
    assert read["coverage"].pop("source").endswith("snapshot.json")
    assert piped == read


def test_a_folder_of_cli_answers(tmp_path: Path) -> None:
    """A folder with one answer a file gives what the one file gives."""
    document = json.loads((EXAMPLES / "acl-forgets-way-back" / "snapshot.json").read_bytes())
    for key, value in document.items():
        (tmp_path / key).mkdir()
        (tmp_path / key / "answer.json").write_text(json.dumps({key: value}), encoding="utf-8")

    folder = CliRunner().invoke(main, ["scan", "--snapshot", str(tmp_path), "--tag", "cluster=train", "-f", "json"])
    found, expected = json.loads(folder.stdout), json.loads(run("scan", "acl-forgets-way-back", "-f", "json").stdout)

    assert folder.exit_code == 1
    assert [found.pop("coverage")["members"], expected.pop("coverage")["members"]] == [4, 4]
    assert found == expected


def test_output_to_a_file(tmp_path: Path) -> None:
    """The result goes to the file, the verdict in one line to standard error, nothing to standard output."""
    target = tmp_path / "result.json"

    result = run("scan", "healthy", "-f", "json", "-o", str(target))

    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "PASS: 12 ordered pairs, 12 open\n"
    assert json.loads(target.read_text(encoding="utf-8"))["status"] == "pass"
    assert stat.S_ISREG(target.stat().st_mode)
    assert list(tmp_path.iterdir()) == [target]


def test_quiet_says_nothing_beside_the_result(tmp_path: Path) -> None:
    """With --quiet the summary line is left out."""
    assert run("scan", "healthy", "-o", str(tmp_path / "x"), "--quiet").stderr == ""


def test_matrix_gives_every_pair() -> None:
    """`matrix --pairs -f json` is the contract's form, with exact ports."""
    found = json.loads(run("matrix", "only-master-port", "--pairs", "-f", "json").stdout)

    assert {key: found[key] for key in ("schema_version", "kind", "protocol")} == {
        "schema_version": 1,
        "kind": "matrix",
        "protocol": "tcp",
    }
    assert len(found["pairs"]) == 12
    assert {(pair["open"], pair["verdict"]) for pair in found["pairs"]} == {("29500", "partial")}


def test_matrix_judges_the_ports_asked_for() -> None:
    """The verdict goes by --ports, the open set stays exact."""
    found = json.loads(run("matrix", "only-master-port", "--pairs", "-f", "json", "--ports", "29500").stdout)

    assert {(pair["open"], pair["verdict"]) for pair in found["pairs"]} == {("29500", "open")}


def test_matrix_of_what_is_not_known_leaves_with_4() -> None:
    """A pair whose verdict is unknown makes the matrix incomplete."""
    assert run("matrix", "acls-not-readable").exit_code == 4


def test_help_names_every_command() -> None:
    """The list of commands and the modules are the same."""
    folder = Path(__file__).resolve().parents[3] / "sgaudit" / "cli"
    with_command = {path.stem for path in folder.glob("*.py") if "\ndef command(" in path.read_text(encoding="utf-8")}
    help_text = CliRunner().invoke(main, ["--help"]).stdout
    listed = {line.split()[0] for line in help_text.split("Commands:")[1].splitlines() if line.strip()}

    assert {name for name in listed if (folder / f"{name}.py").exists()} == with_command
