"""Every command of the README is run; output that stands there is the real one. SGAUDIT_GOLDEN=write renews it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from sgaudit.aws.session import AwsOptions, connect
from sgaudit.cli import COMMANDS, main
from sgaudit.demo.cluster import build
from sgaudit.demo.server import REGION, demo_environment, embedded_aws

pytestmark = pytest.mark.moto

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
CUT = "[...]"
"""Stands for lines that the README leaves out."""
SHOWN = {"sgaudit demo": 21}
"""Commands of whose output only the first lines are shown."""
CODES = {0, 1}
WRITE = os.environ.get("SGAUDIT_GOLDEN") == "write"
"""Read here, since the playground takes such variables away."""


def steady(text: str) -> str:
    """Put in the place of what changes from run to run what the README says there."""
    text = re.sub(r"plan \d{8}t\d{6}-[0-9a-f]{6}", "plan RUN", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
    return re.sub(r"as of \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "as of NOW", text)


def blocks() -> list[str]:
    return BLOCK.findall(README.read_text(encoding="utf-8"))


@pytest.fixture
def _playground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stand in a folder with the examples, before the cluster of the demo."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    with demo_environment(), embedded_aws() as url:
        build(connect(AwsOptions(region=REGION, endpoint_url=url)).ec2)
        for name, value in {
            "SGAUDIT_ENDPOINT_URL": url,
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "COLUMNS": "100",
        }.items():
            monkeypatch.setenv(name, value)
        yield


def output_of(command: str) -> str:
    if command == "sgaudit demo":
        # It starts an AWS of its own, and must not be led to this one.
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("SGAUDIT_ENDPOINT_URL")
            result = CliRunner().invoke(main, ["demo"])
    else:
        result = CliRunner().invoke(main, shlex.split(command)[1:])
    assert result.exit_code in CODES, result.output
    lines = steady(result.stdout).splitlines()
    most = SHOWN.get(command)
    return "\n".join(lines if most is None else [*lines[:most], CUT])


def told(block: str) -> list[tuple[str, str]]:
    """Give the commands of a block, each with the output that stands below it."""
    # The demo prints the commands that it runs, in the same form.
    one = any(block.startswith(f"$ {command}\n") for command in SHOWN)
    parts = re.split(r"^\$ ", block, maxsplit=int(one), flags=re.MULTILINE)[1:]
    return [(head, rest.strip("\n")) for head, _, rest in (part.partition("\n") for part in parts)]


@pytest.mark.usefixtures("_playground")
def test_every_command_runs_and_gives_what_is_shown() -> None:
    """In the order in which they stand there, one after the other, on the cluster of the demo."""
    text = README.read_text(encoding="utf-8")
    for block in blocks():
        commands = told(block)
        found = [(command, output_of(command)) for command, _ in commands]
        alone = len(commands) == 1
        if alone and WRITE:
            text = text.replace(block, f"$ {found[0][0]}\n{found[0][1]}\n")
            README.write_text(text, encoding="utf-8")
        elif alone:
            assert found == commands
        else:
            assert [output for _, output in commands] == [""] * len(commands)


def test_every_command_is_known() -> None:
    """No block speaks of a command or an option that is not there, and each begins with a command."""
    commands = [command for block in blocks() for command, _ in told(block)]

    assert all(block.startswith("$ sgaudit ") for block in blocks())
    assert len(commands) >= 12
    assert {shlex.split(command)[1] for command in commands} <= set(COMMANDS)


def test_the_readme_is_short() -> None:
    """Whoever wants to know more follows the links, which lead to files that are there."""
    text = README.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)

    assert len(text.splitlines()) <= 220
    assert [link for link in links if not (ROOT / link).exists()] == []
