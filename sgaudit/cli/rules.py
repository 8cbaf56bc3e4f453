"""`sgaudit rules`."""

from __future__ import annotations

from typing import Any

import click

from sgaudit.cli import complete
from sgaudit.cli.options import output_options, pass_on
from sgaudit.cli.run import Output
from sgaudit.report import catalogue
from sgaudit.rules import RULES
from sgaudit.rules.audit import EXIT_CLEAN
from sgaudit.rules.choose import find


@click.group(name="rules", invoke_without_command=True)
@output_options("table", "json")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """List what a scan looks for, or explain one of its rules."""
    if ctx.invoked_subcommand is None:
        return _list(options)
    pass_on(ctx, options)
    return EXIT_CLEAN


@command.command(name="list")
@output_options("table", "json")
def list_(**options: Any) -> int:
    """List the rules: id, severity and title."""
    return _list(options)


@command.command(name="show")
@click.argument("rule_id", metavar="ID", shell_complete=complete.rules)
@output_options("table", "json")
def show(rule_id: str, **options: Any) -> int:
    """Explain a rule: why it matters, what to do, and where AWS or the framework says so."""
    output = Output.take(options)
    rule = find(rule_id)
    as_json = options["format_"] == "json"
    output.write(catalogue.rule_json(rule) if as_json else catalogue.rule_text(rule, output.style))
    return EXIT_CLEAN


def _list(options: dict[str, Any]) -> int:
    output = Output.take(options)
    as_json = options["format_"] == "json"
    output.write(catalogue.rules_json(RULES) if as_json else catalogue.rules_table(RULES, output.style))
    return EXIT_CLEAN
