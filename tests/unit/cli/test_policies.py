"""`sgaudit policies`: the list, one policy in words, files checked, and the schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sgaudit.cli import main
from sgaudit.policy.describe import describe
from sgaudit.policy.load import load, shipped
from sgaudit.policy.schema import json_schema

MINE = "schema_version: 1\nname: mine\nsummary: A test.\n"
SSH = "needs:\n  - {id: ssh, from: member, to: member, ports: 22, why: because, source: a page}\n"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["policies", *arguments])


def document(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments, "-f", "json").stdout)
    return found


@pytest.mark.parametrize("arguments", [[], ["list"]], ids=["no word", "list"])
def test_list(arguments: list[str]) -> None:
    """Without a word, and with `list`, each policy has its name, its summary, and its parameters with defaults."""
    result = run(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    blocks = result.stdout.split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == [*shipped()]
    said = {block.splitlines()[0]: " ".join(block.split()) for block in blocks}
    for name in shipped():
        policy = load(name)
        settings = [
            f"--set {item.name}={item.default or ''}" + (f" ({item.description})" if item.description else "")
            for item in policy.parameters
        ]
        assert said[name] == " ".join([name, policy.summary, *settings])


def test_list_for_programs() -> None:
    """The list as JSON has each policy's parameters with kind and default, null where it must be set."""
    found = document()
    assert (found["schema_version"], found["kind"]) == (1, "policies")
    assert [item["name"] for item in found["policies"]] == [*shipped()]
    admin = next(item for item in found["policies"] if item["name"] == "admin-ssh")
    assert admin["parameters"] == [
        {
            "name": "admin",
            "kind": "cidr",
            "default": None,
            "description": "the address or block that administrators come from, as the members see it",
        },
        {"name": "ssh_port", "kind": "port", "default": "22", "description": "the port of sshd"},
    ]


@pytest.mark.parametrize("name", shipped())
def test_show(name: str) -> None:
    """One policy is told as `describe` does, in what any terminal can show."""
    result = run("show", name)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == describe(load(name)).encode("ascii", "backslashreplace").decode()


def test_show_a_file(tmp_path: Path) -> None:
    """A file is told as well, with what could harm a terminal escaped."""
    path = tmp_path / "mine.yaml"
    path.write_text(MINE.replace("A test.", '"A \\e[31mtest."') + SSH, encoding="utf-8")
    result = run("show", str(path))
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "mine: A \\x1b[31mtest."


def test_show_for_programs() -> None:
    """One policy as JSON has all that it asks, each with why and where that is written."""
    found = document("show", "torch-rpc")
    policy = load("torch-rpc")
    assert (found["schema_version"], found["kind"], found["name"]) == (1, "policy", "torch-rpc")
    assert [(item["id"], item["why"], item["sources"]) for item in found["needs"]] == [
        (need.id, need.why, list(need.references)) for need in policy.needs
    ]
    assert [item["kind"] for item in found["constraints"]] == [item.kind for item in policy.constraints]
    assert [item["id"] for item in found["exposure"]] == [item.id for item in policy.exposures]
    assert set(found["needs"][0]) == {
        "id",
        "from",
        "to",
        "protocol",
        "ports",
        "topology",
        "severity",
        "why",
        "sources",
    }


def test_unknown() -> None:
    """A policy that does not exist is an error with the nearest one."""
    result = run("show", "pytorch-glo")
    assert (result.exit_code, result.stdout) == (2, "")
    first, hint = result.stderr.splitlines()
    assert first == "error: no policy is called 'pytorch-glo'"
    assert hint.startswith("hint: did you mean pytorch-gloo? ")


def test_check(tmp_path: Path) -> None:
    """A right file gives one line and 0."""
    path = tmp_path / "mine.yaml"
    path.write_text(MINE + SSH, encoding="utf-8")
    result = run("check", str(path))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{path}: right: mine, 1 need\n"


def test_check_several(tmp_path: Path) -> None:
    """Of several files the right ones are told, and all mistakes of the others, with 2."""
    good, bad, worse = tmp_path / "good.yaml", tmp_path / "bad.yaml", tmp_path / "worse.yaml"
    good.write_text(MINE + SSH, encoding="utf-8")
    bad.write_text(MINE + SSH + "sumary: x\nroles:\n", encoding="utf-8")
    result = run("check", str(bad), str(good), str(worse))
    assert result.exit_code == 2
    assert result.stdout == f"{good}: right: mine, 1 need\n"
    lines = result.stderr.splitlines()
    assert lines[0].startswith(f"error: {bad}:6:1: sumary: unknown key (did you mean summary?); allowed here: ")
    assert lines[1:3] == [
        f"  {bad}:7:7: roles: is empty; leave the key out or give it a value",
        f"  {worse}: no such file",
    ]
    assert lines[3:] == ["hint: `sgaudit policies schema` prints all that may stand in a policy"]


def test_check_shipped() -> None:
    """Every policy that ships is right."""
    result = run("check", *shipped())
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, len(shipped()))


def test_check_nothing() -> None:
    """Without a file there is nothing to check."""
    assert run("check").exit_code == 2


def test_schema() -> None:
    """The schema that is printed is that of the code."""
    result = run("schema")
    assert (result.exit_code, json.loads(result.stdout)) == (0, json_schema())
