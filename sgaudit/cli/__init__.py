"""The command line: parse, call, print, leave with the right code. Commands are loaded when they are asked for."""

from __future__ import annotations

import importlib
import os
import re
import sys
from typing import TYPE_CHECKING, Any

import click

import sgaudit
from sgaudit.errors import SgauditError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "scan": "Judge a cluster and name what blocks it.",
    "matrix": "Show the exact open ports of every pair.",
    "explain": "Follow packets between two members, hop by hop.",
    "fix": "Plan the least change that cures it, and carry it out.",
    "apply": "Carry out a saved plan, with a journal.",
    "rollback": "Take back what a run has made.",
    "runs": "List what was applied, and how it ended.",
    "snapshot": "Save what AWS says, to judge it later or elsewhere.",
    "policies": "List, explain and check policies.",
    "rules": "List and explain what a scan looks for.",
    "demo": "Diagnose a broken cluster on an embedded AWS.",
    "completion": "Print what makes a shell complete.",
}
"""Name of a command, which is that of its module, and what it does."""
COMPLETION_VARIABLE = "_SGAUDIT_COMPLETE"
"""Set by the shell when it asks what could stand next."""
EXIT_USAGE, EXIT_FAULT, EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 2, 70, 130, 141


class Commands(click.Group):
    """The commands, each imported only when it is run: start-up and completion load click alone."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """List the commands in the order in which one meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"sgaudit.cli.{cmd_name}").command
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and leave with its exit code; every error becomes one clear line."""
        given = list(sys.argv[1:] if args is None else args)
        if sys.stdout is None:
            # Python has none when the descriptor is closed.
            _say("standard output is closed", "send it somewhere, or name a file with -o")
            sys.exit(EXIT_USAGE)
        if COMPLETION_VARIABLE in os.environ:
            from sgaudit.cli import complete

            complete.use()
        try:
            code = super().main(
                args=given,
                prog_name=prog_name or "sgaudit",
                complete_var=complete_var,
                standalone_mode=False,
                windows_expand_args=windows_expand_args,
                **extra,
            )
        except (Exception, KeyboardInterrupt) as error:
            if _debug(given) and not isinstance(error, EXPECTED):
                raise
            code = _told(error)
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)


EXPECTED = (click.ClickException, click.exceptions.Exit, click.Abort, KeyboardInterrupt, BrokenPipeError)
"""What is no fault of anybody's code: --debug has no traceback to show for it."""


def _told(error: BaseException) -> int:
    """Say an error in one clear line, and give the exit code for it."""
    message, hint, code = "", "", EXIT_FAULT
    match error:
        case click.exceptions.Exit():
            code = error.exit_code
        case click.ClickException():
            context = getattr(error, "ctx", None)
            hint = f"see {context.command_path} --help" if context else ""
            message, code = _without_variables(error.format_message()), EXIT_USAGE
        case click.Abort() | KeyboardInterrupt():
            message, code = "interrupted", EXIT_INTERRUPTED
        case SgauditError():
            message, hint, code = error.message, error.hint, error.exit_code
        case BrokenPipeError():
            # The reader went away; nothing more can be said, and the interpreter must not try at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = EXIT_BROKEN_PIPE
        case OSError():
            message = f"{error.filename or 'standard output'}: {error.strerror or error}"
            hint, code = "see that it can be read or written, and that there is room", EXIT_USAGE
        case _:
            # The last door: a fault of ours must not look like a result.
            message = f"a fault of sgaudit itself: {type(error).__name__}: {error}"
            hint = "run it again with --debug and report what it prints"
    if message:
        _say(message, hint)
    return code


def _without_variables(text: str) -> str:
    """Leave out the variables that click names beside an option, unless they are set and may be to blame."""
    return re.sub(r" \(env var: '(\w+)'\)", lambda found: found[0] if found[1] in os.environ else "", text)


def _debug(given: Sequence[str]) -> bool:
    return "--debug" in given or bool(os.environ.get("SGAUDIT_DEBUG"))


def _say(message: str, hint: str = "") -> None:
    from sgaudit.report.terminal import Style

    safe = Style(unicode=True).safe
    for number, line in enumerate(message.splitlines() or [""]):
        click.echo(f"{'error: ' if not number else '  '}{safe(line)}", err=True)
    if hint:
        click.echo(f"hint: {safe(hint)}", err=True)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(sgaudit.__version__, message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks.")
def main() -> None:
    """
    Tell why a training cluster on EC2 hangs.

    sgaudit computes which members of a cluster reach which others, from security groups, network ACLs and
    routes, and names the rules that stop them.
    """
