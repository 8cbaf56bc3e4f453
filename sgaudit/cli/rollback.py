"""`sgaudit rollback`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from sgaudit.cli.apply import state_dir_option, yes_option
from sgaudit.cli.applying import EXIT_DONE, EXIT_PENDING, Account, confirm, store, undo
from sgaudit.cli.options import aws_options, option
from sgaudit.cli.run import Output, Source
from sgaudit.fix import rollback
from sgaudit.fix.journal import Journal
from sgaudit.rules import words


@click.command(name="rollback")
@click.argument("run")
@option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
@yes_option
@state_dir_option
@aws_options
@option("--quiet", "-q", is_flag=True, help="No progress and no notes.")
@click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks.")
def command(**options: Any) -> int:
    """
    Take back what RUN has made: in reverse, by the ids in its journal, and nothing that was changed since.

    Exit codes: 0 nothing of it is left, 1 with --dry-run: there is something to undo, 2 usage, 5 something is left.
    """
    source = Source.take(options)
    output = Output("-", no_color=False, quiet=options["quiet"])
    journals = store(options["state_dir"])
    journal = Journal.load(journals, options["run"])
    account = Account.connect(source, journal.plan.region)
    account.check(journal.plan.account_id, journal.plan.region, f"run {journal.run}")
    steps = rollback.plan(journal, account.changer)
    output.write([f"run {journal.run}: {words.number(len(steps), 'operation')} to undo\n"])
    output.write(
        output.style.wrap(line, indent, indent + "  ") + "\n" for step in steps for indent, line in _lines(step)
    )
    if options["dry_run"]:
        return EXIT_PENDING if steps else EXIT_DONE
    if steps:
        confirm("undo them?", yes=options["yes"])
    return undo(journal.run, account, journals, output)


def _lines(step: rollback.Step) -> list[tuple[str, str]]:
    """Give the lines about a step, each with its indent."""
    done = f"{step.call.api}: {_parameters(step.call.params)}" if step.call else "nothing is left to do"
    return [("  ", f"{step.operation} {done}"), *(("    ", f"left: {text}") for text in step.left)]


def _parameters(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {_value(value)}" for key, value in params.items())


def _value(value: Any) -> str:
    return (
        " ".join(map(str, value))
        if isinstance(value, list) and all(isinstance(i, str) for i in value)
        else json.dumps(value)
    )
