"""`sgaudit fix`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from sgaudit.cli import configuration
from sgaudit.cli.apply import change_options
from sgaudit.cli.options import option, output_options, policy_options, selection_options, source_options
from sgaudit.cli.run import Asked, Output, Source, distinct_files, members, take_selection, write_file
from sgaudit.errors import UsageError
from sgaudit.fix import planner
from sgaudit.fix.emit import EMITTERS
from sgaudit.fix.plan import Strategy
from sgaudit.model import Cidr
from sgaudit.report import plan_table
from sgaudit.rules.audit import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE, Audit, audit
from sgaudit.rules.suppress import Accepted
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Callable

    from sgaudit.fix.plan import Plan

STRATEGIES = [str(strategy) for strategy in Strategy if strategy is not Strategy.NONE]


@click.command(name="fix")
@selection_options
@source_options
@policy_options
@option("--strategy", type=click.Choice(STRATEGIES), default=None, help="How to write permissions.  [default: best]")
@option("--cidr", "cidrs", multiple=True, metavar="CIDR", help="Blocks for the strategy cidr; the members' else.")
@option("--widen", is_flag=True, help="Write the fewest permissions, even where they cover ports in between.")
@option("--tighten", "tightens", is_flag=True, help="Replace permissions that are too open by what the policy needs.")
@option("--dry-run", is_flag=True, help="Show the plan and change nothing.")
@option("--check-permissions", is_flag=True, help="With --dry-run: ask EC2 whether each call would be allowed.")
@option("--out", default="", metavar="FILE", help="Save the plan for sgaudit apply.")
@option("--emit", type=click.Choice(sorted(EMITTERS)), default=None, help="Write the plan for another tool instead.")
@change_options
@output_options("table", "json")
def command(**options: Any) -> int:
    """
    Plan the least change that opens what the cluster needs, prove it, and carry it out.

    Without --dry-run or --emit it shows the plan, asks, writes a journal, makes the changes, reads again and
    judges again.

    Exit codes: 0 no change is pending, or cured (scan tells whether the cluster works); 1 changes are pending;
    2 usage; 3 no such members; 4 incomplete;
    5 an apply failed; 6 AWS changed meanwhile.
    """
    source, output = Source.take(options), Output.take(options)
    distinct_files([("--output", output.path), ("--out", options["out"])])
    selection = take_selection(options)
    asked = Asked.take(options)
    _check_options(options)
    if source.snapshot_path and options["check_permissions"]:
        raise UsageError(
            "--check-permissions asks EC2, and a saved snapshot is no account", hint="leave one of them out"
        )
    if source.snapshot_path and not (options["dry_run"] or options["emit"]):
        raise UsageError(
            "a saved snapshot can't be changed", hint="look with --dry-run, or write the change with --emit"
        )
    snapshot = source.load(selection, quiet=output.quiet, whole_vpc=True, rule_ids=options["tightens"])
    picked = members(snapshot, selection)
    accepted = Accepted(configuration.current().suppressions, None)
    needed = asked.resolve(picked)
    result = audit(snapshot, selection, picked, needed, client_ports=asked.client_ports, accepted=accepted)
    plan = _planner(tightens=options["tightens"])(
        result,
        planner.Options(
            strategy=Strategy(options["strategy"]) if options["strategy"] else None,
            blocks=tuple(_cidr(text) for text in options["cidrs"]),
            settings=asked.to_json(),
            widen=options["widen"],
        ),
    )
    if options["out"]:
        write_file("--out", options["out"], [json.dumps(plan.to_json(), indent=2) + "\n"])
    if options["emit"]:
        output.write(EMITTERS[options["emit"]](plan))
        return _pending_code(result, pending=False)
    if options["dry_run"]:
        _show(plan, output, options["format_"])
        if options["check_permissions"]:
            _check(plan, source, output)
        return _pending_code(result, pending=bool(plan.operations))
    return _carry_out(plan, result, source, output, options)


def _check_options(options: dict[str, Any]) -> None:
    """
    See that options go together.

    Raises:
        UsageError: two of them don't.
    """
    if options["cidrs"] and options["strategy"] not in (None, str(Strategy.CIDR)):
        raise UsageError(f"--cidr goes with no --strategy {options['strategy']}", hint="leave one of them out")
    if options["emit"] and options["check_permissions"]:
        raise UsageError("--check-permissions goes with no --emit", hint="look with --dry-run first")


def _planner(*, tightens: bool) -> Callable[[Audit, planner.Options], Plan]:
    if not tightens:
        return planner.plan
    from sgaudit.fix import tighten

    return tighten.plan


def _pending_code(result: Audit, *, pending: bool) -> int:
    if result.incomplete:
        return EXIT_INCOMPLETE
    return EXIT_FINDINGS if pending else EXIT_CLEAN


def _cidr(text: str) -> Cidr:
    try:
        return Cidr.parse(text)
    except ValueError as error:
        raise UsageError(f"--cidr {text!r} is no CIDR block", hint="for example --cidr 10.0.0.0/16") from error


def _show(plan: Plan, output: Output, form: str) -> None:
    if form == "json":
        output.write([json.dumps(plan.to_json(), indent=2), "\n"])
    else:
        output.write(plan_table.render(plan, output.style))


def _check(plan: Plan, source: Source, output: Output) -> None:
    from sgaudit.cli import applying

    account = applying.Account.connect(source, plan.region)
    applying.check_permissions(plan, account, output)


def _carry_out(plan: Plan, result: Audit, source: Source, output: Output, options: dict[str, Any]) -> int:
    from sgaudit.cli import applying

    if not plan.operations:
        _show(plan, output, options["format_"])
        return result.exit_code(Severity.ERROR)
    return applying.carry_out(
        plan,
        source,
        applying.Options(
            yes=options["yes"],
            unsafe=options["unsafe"],
            max_changes=options["max_changes"],
            check_permissions=True,
            undo_on_failure=options["undo_on_failure"],
            state_dir=options["state_dir"],
        ),
        output,
    )
