"""Every command says what it does, and every option what it is for and how else it can be given."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from sgaudit.cli import COMMANDS, main
from sgaudit.rules import audit

ROOT = Path(__file__).resolve().parents[3]
NO_VARIABLE = {"--debug", "--help", "--keep", "--version"}
"""`--debug` has one that is read before options are; the others are no settings."""
EXIT_CODES = set(COMMANDS) - {"policies", "rules", "demo"}
"""Commands with more to say by their exit code than whether they were called rightly."""
WIDTH = 100
REPEATED_BY_SCAN = {"--format", "--output"}
"""Options that other commands take once: a scan writes several results at a time."""


def commands() -> dict[str, click.Command]:
    context = click.Context(main)
    found: dict[str, click.Command] = {"": main}
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        found[name] = command
        if isinstance(command, click.Group):
            found |= {f"{name} {sub}": item for sub, item in command.commands.items()}
    return found


ALL = commands()
every_command = pytest.mark.parametrize("name", list(ALL))


def options(name: str) -> dict[str, click.Option]:
    return {
        item.opts[-1] if len(item.opts) == 1 else next(o for o in item.opts if o.startswith("--")): item
        for item in ALL[name].params
        if isinstance(item, click.Option)
    }


def test_every_command_is_imported() -> None:
    """Each name in the list of commands is a command of that name."""
    assert [name for name in ALL if " " not in name and name] == list(COMMANDS)
    assert [ALL[name].name for name in COMMANDS] == list(COMMANDS)


@every_command
def test_help_is_shown(name: str) -> None:
    """`--help` and `-h` of every command give the same text with usage, purpose and options, and exit with 0."""
    shown = [CliRunner().invoke(main, [*name.split(), flag]) for flag in ("--help", "-h")]
    assert [result.exit_code for result in shown] == [0, 0]
    assert shown[0].stdout == shown[1].stdout
    assert shown[0].stdout.startswith("Usage: ")
    assert "Options:\n" in shown[0].stdout
    assert max(len(line) for line in shown[0].stdout.splitlines()) <= WIDTH


@every_command
def test_command_has_help(name: str) -> None:
    """Each command says in whole sentences what it does."""
    text = " ".join((ALL[name].help or "").split())
    assert re.match(r"[A-Z].*[.]$", text), name


@every_command
def test_options_have_help(name: str) -> None:
    """Each option says in a sentence what it is for."""
    without = [long for long, item in options(name).items() if not re.match(r"[A-Z].*[.\]]$", item.help or "")]
    assert without == []


@every_command
def test_options_have_variables(name: str) -> None:
    """Each option can be given as the environment variable of its name, and help shows which."""
    rest = {long: item for long, item in options(name).items() if long not in NO_VARIABLE}
    assert {long: item.envvar for long, item in rest.items()} == {
        long: "SGAUDIT_" + long.removeprefix("--").replace("-", "_").upper() for long in rest
    }
    assert [long for long, item in rest.items() if not item.show_envvar] == []


@every_command
def test_values_have_names(name: str) -> None:
    """What takes a value says in capitals which, and not merely TEXT, or lists what can be chosen."""
    plain = [
        long
        for long, item in options(name).items()
        if not item.is_flag and not isinstance(item.type, click.Choice | click.IntRange) and not item.metavar
    ]
    assert plain == []


@every_command
def test_same_option_same_meaning(name: str) -> None:
    """An option of several commands is read from the same variable and takes values of the same kind everywhere."""
    for long, item in options(name).items():
        others = [options(other)[long] for other in ALL if long in options(other)]
        assert {other.envvar for other in others} == {item.envvar}
        assert {other.is_flag for other in others} == {item.is_flag}
        if long not in REPEATED_BY_SCAN:
            assert {other.multiple for other in others} == {item.multiple}


@pytest.mark.parametrize("name", sorted(EXIT_CODES))
def test_help_tells_exit_codes(name: str) -> None:
    """Help says what the exit codes mean, beginning with 0."""
    text = " ".join((ALL[name].help or "").split())
    assert re.search(r"Exit codes: 0 \w+", text)


def test_options_by_environment() -> None:
    """Options that are given as variables only are taken."""
    path = str(ROOT / "examples" / "only-master-port" / "snapshot.json")
    by_option = CliRunner().invoke(main, ["scan", "--snapshot", path, "--tag", "cluster=train", "--fail-on", "note"])
    by_variable = CliRunner().invoke(
        main, ["scan"], env={"SGAUDIT_SNAPSHOT": path, "SGAUDIT_TAG": "cluster=train", "SGAUDIT_FAIL_ON": "note"}
    )
    assert (by_variable.exit_code, by_variable.stdout) == (by_option.exit_code, by_option.stdout)
    assert by_option.exit_code == audit.EXIT_FINDINGS


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [(["--debug"], {}), ([], {"SGAUDIT_DEBUG": "1"})],
    ids=["option", "variable"],
)
def test_debug(arguments: list[str], variables: dict[str, str]) -> None:
    """With `--debug`, or its variable, an error shows where it came from."""
    result = CliRunner().invoke(main, ["scan", "--snapshot", "nowhere.json", "--all", *arguments], env=variables)
    assert type(result.exception).__name__ == "SnapshotError"
