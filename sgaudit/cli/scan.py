"""`sgaudit scan`."""

from __future__ import annotations

from typing import Any

import click

from sgaudit.cli.options import (
    fail_on_option,
    output_options,
    policy_options,
    rule_options,
    selection_options,
    source_options,
)
from sgaudit.cli.run import (
    Output,
    Source,
    client_ports,
    members,
    requirements,
    take_accepted,
    take_selection,
    write_baseline,
)
from sgaudit.report import scan_json, scan_table
from sgaudit.rules.audit import audit
from sgaudit.rules.choose import choose
from sgaudit.severity import Severity


@click.command(name="scan")
@selection_options
@source_options
@policy_options
@rule_options
@fail_on_option
@output_options("table", "json")
def command(**options: Any) -> int:
    """
    Judge a cluster: which members reach which, and what stops them.

    Exit codes: 0 nothing found, 1 findings, 2 usage, 3 no such members, 4 incomplete.
    """
    source, output = Source.take(options), Output.take(options)
    selection = take_selection(options)
    ports = client_ports(options)
    rules, accepted = choose(options["select"], options["ignore"]), take_accepted(options)
    snapshot = source.load(selection, quiet=output.quiet)
    picked = members(snapshot, selection)
    needed = requirements(options, picked)
    result = audit(snapshot, selection, picked, needed, client_ports=ports, rules=rules, accepted=accepted)
    if options["format_"] == "json":
        output.write(scan_json.render(result))
    else:
        output.write(scan_table.render(result, output.style))
    if output.path != "-":
        output.note(scan_table.verdict_line(result, output.style))
    if result.gone:
        output.note(scan_table.gone_line(result, output.style))
    write_baseline(options["write_baseline"], result)
    return result.exit_code(Severity(options["fail_on"]))
