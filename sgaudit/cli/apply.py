"""`sgaudit apply`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from sgaudit.cli.applying import Options, carry_out, store
from sgaudit.cli.options import aws_options, option, stack
from sgaudit.cli.run import Output, Source
from sgaudit.errors import UsageError
from sgaudit.fix.apply import LIMIT
from sgaudit.fix.journal import Journal
from sgaudit.fix.plan import Plan, loads

state_dir_option = option(
    "--state-dir",
    default="",
    metavar="FOLDER",
    help="Where journals are kept.  [default: $XDG_STATE_HOME/sgaudit or ~/.local/state/sgaudit]",
)
yes_option = option("--yes", is_flag=True, help="Do not ask.")

change_options: Callable[[Callable[..., Any]], Callable[..., Any]] = stack(
    yes_option,
    option("--unsafe", is_flag=True, help="Carry out operations that the plan calls unsafe, too."),
    option(
        "--max-changes",
        type=click.IntRange(min=0),
        default=LIMIT,
        show_default=True,
        metavar="N",
        help="Refuse a plan with more operations.",
    ),
    option("--undo-on-failure", is_flag=True, help="Take everything back when it fails or does not cure."),
    state_dir_option,
)
"""What `fix` and `apply` have in common."""

apply_options: Callable[[Callable[..., Any]], Callable[..., Any]] = stack(
    change_options,
    option("--no-check-permissions", is_flag=True, help="Do not ask EC2 first whether each call would be allowed."),
)


def take_options(options: dict[str, Any], *, resume: bool = False, dry_run: bool = False) -> Options:
    """Take what `apply_options` declares out of the options of a command."""
    return Options(
        yes=options.pop("yes"),
        unsafe=options.pop("unsafe"),
        max_changes=options.pop("max_changes"),
        resume=resume,
        dry_run=dry_run,
        check_permissions=not options.pop("no_check_permissions"),
        undo_on_failure=options.pop("undo_on_failure"),
        state_dir=options.pop("state_dir"),
    )


@click.command(name="apply")
@click.argument("plan_path", default="", metavar="[PLAN]")
@option("--resume", default="", metavar="RUN", help="Go on with a run that stopped; its journal has the plan.")
@option("--dry-run", is_flag=True, help="Check everything, and change nothing.")
@apply_options
@aws_options
@option("--quiet", "-q", is_flag=True, help="No progress and no notes.")
@click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks.")
def command(**options: Any) -> int:
    """
    Carry out a PLAN that sgaudit fix --out has written.

    Every call is in a journal before it is made: sgaudit rollback takes back what a run has made, and --resume
    goes on after a failure or a crash.

    Exit codes: 0 done and cured, 1 with --dry-run: changes are pending, 2 usage, 4 AWS could not be read,
    5 it failed or went through in part, 6 the plan is stale.
    """
    source = Source.take(options)
    output = Output("-", no_color=False, quiet=options.pop("quiet"))
    run = options.pop("resume")
    how = take_options(options, resume=bool(run), dry_run=options.pop("dry_run"))
    return carry_out(_plan(options.pop("plan_path"), run, how), source, how, output)


def _plan(path: str, run: str, options: Options) -> Plan:
    if not path and not run:
        raise UsageError("no plan given", hint="name a file that sgaudit fix --out has written, or --resume RUN")
    plan = _read(path) if path else Journal.load(store(options.state_dir), run).plan
    if run and plan.run != run:
        raise UsageError(f"{path} is the plan of run {plan.run}, not {run}", hint="leave the file out")
    return plan


def _read(path: str) -> Plan:
    if path == "-" and (sys.stdin is None or sys.stdin.closed):
        raise UsageError("-: standard input is closed", hint="give it the plan, or name a file")
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", hint="name a file that sgaudit fix --out has written") from error
    return loads(data, path)
