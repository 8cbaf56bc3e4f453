"""What shells offer: asked as bash, zsh and fish ask, and once by a real bash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from sgaudit.cli import COMMANDS, COMPLETION_VARIABLE, main
from sgaudit.policy.load import shipped
from sgaudit.rules import RULES

ROOT = Path(__file__).resolve().parents[3]
SNAPSHOT = str(ROOT / "examples" / "one-way-groups" / "snapshot.json")
HERE = ["scan", "--snapshot", SNAPSHOT]
NAMES = ["Name=train-0", "Name=train-1", "Name=train-2", "Name=train-3"]
BASH = shutil.which("bash")
LOADED = (
    "import atexit, sys; heavy = {'boto3', 'botocore', 'moto', 'pydantic', 'yaml'}; "
    "atexit.register(lambda: print(sorted(heavy & set(sys.modules)))); "
    "from sgaudit.cli import main; main()"
)


def asked(shell: str, *words: str) -> str:
    """Answer a shell that asks what the last of some words could be."""
    joined = "\n".join(["sgaudit", *words])
    variables = {COMPLETION_VARIABLE: f"{shell}_complete", "COMP_WORDS": joined, "COMP_CWORD": str(len(words))}
    if shell == "fish":
        variables["COMP_CWORD"] = words[-1]
    result = CliRunner().invoke(main, [], env=variables, prog_name="sgaudit")
    assert not result.stderr, result.stderr
    return result.stdout


def offered(*words: str) -> list[str]:
    return [line.partition(",")[2] for line in asked("bash", *words).splitlines() if line]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([""], list(COMMANDS)),
        (["sc"], ["scan"]),
        (["scan", "--sna"], ["--snapshot"]),
        (["scan", "-f", "s"], ["sarif"]),
        (["scan", "--policy", ""], sorted(shipped())),
        (["scan", "--policy", "pytorch-"], ["pytorch-gloo", "pytorch-nccl"]),
        (["scan", "--policy=pytorch-"], ["pytorch-gloo", "pytorch-nccl"]),
        (["scan", "--policy", "=", "pytorch-"], ["pytorch-gloo", "pytorch-nccl"]),
        (["scan", "--select", ""], [rule.id for rule in RULES]),
        (["scan", "--ignore", "acl-"], ["acl-blocks-path", "acl-blocks-return"]),
        (["rules", "show", "acl-"], ["acl-blocks-path", "acl-blocks-return"]),
        (["policies", "show", "pytorch-g"], ["pytorch-gloo"]),
        ([*HERE, "--tag", ""], [*NAMES, "cluster=train"]),
        ([*HERE, "--tag", "cl"], ["cluster=train"]),
        ([*HERE, "--tag", "cluster", "="], ["train"]),
        ([*HERE, "--tag", "cluster", "=", "t"], ["train"]),
        ([*HERE, "--tag", "cluster", "=", "x"], []),
        (["scan", "--tag", "cluster", "=", "train", "--snapshot", SNAPSHOT, "--tag", "Na"], NAMES),
        (["scan", f"--snapshot={SNAPSHOT}", "--tag", "cl"], ["cluster=train"]),
        ([*HERE, "--instance-id", "i-05"], ["i-05a9cf9debd303ccb"]),
        ([*HERE, "--security-group", "sg-0c"], ["sg-0c29b46f93626af51"]),
        (["scan", "--tag", "cl"], []),
        (["scan", "--snapshot", "nowhere.json", "--tag", "cl"], []),
        (["scan", "--snapshot", "-", "--tag", "cl"], []),
        (["completion", ""], ["bash", "zsh", "fish"]),
    ],
)
def test_offers(words: list[str], expected: list[str]) -> None:
    """Commands, options and their values are offered; tags and ids from a snapshot that is named, never from AWS."""
    assert offered(*words) == expected


@pytest.mark.parametrize("words", [["scan", "--snapshot", "x"], ["scan", "-o", "x"], ["scan", "--policy", "my-"]])
def test_files(words: list[str]) -> None:
    """Where a file can stand, the shell is told to offer files."""
    assert asked("bash", *words).startswith("file,")


def test_one_key_before_many_values(tmp_path: Path) -> None:
    """Of a tag with a value for each instance the key is offered first, and its values behind the sign."""
    tags = [{"Key": "Name", "Value": f"n{number:02}"} for number in range(40)]
    instances = [{"InstanceId": f"i-{n}", "State": {"Name": "running"}, "Tags": [tag]} for n, tag in enumerate(tags)]
    path = tmp_path / "many.json"
    path.write_text(f'{{"Reservations": [{{"Instances": {instances}}}]}}'.replace("'", '"'), encoding="utf-8")
    here = ["scan", "--snapshot", str(path), "--tag"]
    assert offered(*here, "N") == ["Name"]
    assert offered(*here, "Name", "=", "n3") == [f"n{number}" for number in range(30, 40)]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells(shell: str) -> None:
    """They get the titles of rules as well, and whole words."""
    answer = asked(shell, "scan", "--select", "no-r")
    assert "no-route" in answer
    assert next(rule.title for rule in RULES if rule.id == "no-route") in answer
    assert "cluster=train" in asked(shell, *HERE, "--tag", "cluster=t")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_source(shell: str) -> None:
    """The command prints what the shell must run, and it asks by the variable that is looked at."""
    result = CliRunner().invoke(main, ["completion", shell])
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"{COMPLETION_VARIABLE}={shell}_complete" in result.stdout


@pytest.mark.install
@pytest.mark.skipif(BASH is None, reason="bash is not installed")
def test_in_bash(tmp_path: Path) -> None:
    """A real bash that has read the source completes a tag's value."""
    program = tmp_path / "sgaudit"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sgaudit "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    script = (
        'eval "$(sgaudit completion bash)"\n'
        f'COMP_WORDS=(sgaudit scan --snapshot "{SNAPSHOT}" --tag cluster = t) COMP_CWORD=7\n'
        '_sgaudit_completion sgaudit\necho "${COMPREPLY[@]}"\n'
    )
    run = subprocess.run(
        [str(BASH), "--norc", "-c", script],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.stdout, run.stderr) == ("train\n", "")


@pytest.mark.install
@pytest.mark.parametrize("words", ["sgaudit\nscan\n--policy\npy", "sgaudit\nscan\n--select\nno"])
def test_light(words: str) -> None:
    """Completing loads neither the AWS library nor what reads policies."""
    variables = {COMPLETION_VARIABLE: "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "3"}
    run = subprocess.run(
        [sys.executable, "-c", LOADED.replace("main()", "main(prog_name='sgaudit')")],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.splitlines()[-1] == "[]"
    assert len(run.stdout.splitlines()) > 1


def test_every_shell_is_known() -> None:
    """The command takes the shells that click can complete for."""
    command = main.get_command(click.Context(main), "completion")
    assert command is not None
    kind = command.params[0].type
    assert isinstance(kind, click.Choice)
    assert list(kind.choices) == ["bash", "zsh", "fish"]
