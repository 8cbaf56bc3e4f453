"""`sgaudit policies`."""

from __future__ import annotations

from typing import Any

import click

from sgaudit.cli import complete
from sgaudit.cli.options import output_options, pass_on
from sgaudit.cli.run import Output
from sgaudit.errors import PolicyError
from sgaudit.policy.load import load, shipped
from sgaudit.report import catalogue
from sgaudit.report.terminal import Style
from sgaudit.rules.audit import EXIT_CLEAN


@click.group(name="policies", invoke_without_command=True)
@output_options("table", "json")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """List the policies that ship, explain one, or check a file of yours."""
    if ctx.invoked_subcommand is None:
        return _list(options)
    pass_on(ctx, options)
    return EXIT_CLEAN


@command.command(name="list")
@output_options("table", "json")
def list_(**options: Any) -> int:
    """List the policies: name, summary, and parameters with their defaults."""
    return _list(options)


@command.command(name="show")
@click.argument("name", metavar="NAME|FILE", shell_complete=complete.policies)
@output_options("table", "json")
def show(name: str, **options: Any) -> int:
    """Explain a policy: what must be open or must hold, why, and where that is written."""
    output = Output.take(options)
    policy = load(name)
    as_json = options["format_"] == "json"
    output.write(catalogue.policy_json(policy) if as_json else catalogue.policy_text(policy, output.style))
    return EXIT_CLEAN


@command.command(name="check")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks.")
def check(files: tuple[str, ...]) -> int:
    """
    Check files, and name every mistake with line and column.

    Exit codes: 0 all are right, 2 some are not.
    """
    mistakes: list[PolicyError] = []
    for file in files:
        try:
            policy = load(file)
        except PolicyError as error:
            mistakes.append(error)
        else:
            click.echo(catalogue.checked(file, policy, Style()))
    if mistakes:
        raise PolicyError("\n".join(error.message for error in mistakes), hint=mistakes[0].hint)
    return EXIT_CLEAN


@command.command(name="schema")
@click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks.")
def schema() -> int:
    """Print the JSON Schema of a policy, for editors."""
    from sgaudit.policy.schema import schema_text

    click.echo(schema_text(), nl=False)
    return EXIT_CLEAN


def _list(options: dict[str, Any]) -> int:
    output = Output.take(options)
    policies = [load(name) for name in shipped()]
    as_json = options["format_"] == "json"
    output.write(catalogue.policies_json(policies) if as_json else catalogue.policies_table(policies, output.style))
    return EXIT_CLEAN
