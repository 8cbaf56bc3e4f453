"""`sgaudit scan`."""

from __future__ import annotations

from typing import Any

import click

from sgaudit.cli.options import (
    fail_on_option,
    outputs_options,
    policy_options,
    rule_options,
    selection_options,
    source_options,
)
from sgaudit.cli.outputs import OrderedCommand, Outputs
from sgaudit.cli.run import (
    Source,
    client_ports,
    distinct_files,
    members,
    requirements,
    take_accepted,
    take_selection,
    write_baseline,
)
from sgaudit.report import scan_table
from sgaudit.report.formats import FORMATS
from sgaudit.rules import words
from sgaudit.rules.audit import audit
from sgaudit.rules.choose import choose
from sgaudit.severity import Severity


@click.command(name="scan", cls=OrderedCommand)
@selection_options
@source_options
@policy_options
@rule_options
@fail_on_option
@outputs_options(*(format_.name for format_ in FORMATS))
def command(**options: Any) -> int:
    """
    Judge a cluster: which members reach which, and what stops them.

    Exit codes: 0 nothing found, 1 findings, 2 usage, 3 no such members, 4 incomplete.
    """
    source, outputs = Source.take(options), Outputs.take(options)
    distinct_files(
        [*(("--output", place.path) for _, place in outputs.targets), ("--write-baseline", options["write_baseline"])]
    )
    selection = take_selection(options)
    ports = client_ports(options)
    rules, accepted = choose(options["select"], options["ignore"]), take_accepted(options)
    steps = outputs.steps()
    snapshot = source.load(selection, quiet=outputs.quiet)
    steps.done(f"read {snapshot.source}: {words.number(len(snapshot.instances), 'instance')}")
    picked = members(snapshot, selection)
    needed = requirements(options, picked)
    result = audit(snapshot, selection, picked, needed, client_ports=ports, rules=rules, accepted=accepted)
    asked = f"asked {words.number(len(rules), 'rule')} about {words.number(len(picked), 'member')}"
    steps.done(f"{asked}: {words.number(len(result.findings), 'finding')}")
    fail_on = Severity(options["fail_on"])
    outputs.write(result, fail_on)
    steps.done(f"wrote {', '.join(format_.name for format_, _ in outputs.targets)}")
    if not outputs.shown:
        outputs.note(scan_table.verdict_line(result, outputs.style))
    if result.gone:
        outputs.note(scan_table.gone_line(result, outputs.style))
    write_baseline(options["write_baseline"], result)
    return result.exit_code(fail_on)
