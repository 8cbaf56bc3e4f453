"""`sgaudit runs`."""

from __future__ import annotations

import json
from typing import Any

import click

from sgaudit.cli.apply import state_dir_option
from sgaudit.cli.applying import store
from sgaudit.cli.options import output_options
from sgaudit.cli.run import Output
from sgaudit.errors import UsageError
from sgaudit.fix.journal import Journal
from sgaudit.fix.store import Store

SCHEMA_VERSION = 1
DAMAGED = "damaged"


@click.command(name="runs")
@state_dir_option
@output_options("table", "json")
def command(**options: Any) -> int:
    """
    List what was applied, the latest first.

    Exit codes: 0 listed, 2 the folder can't be read.
    """
    output = Output.take(options)
    journals = store(options["state_dir"])
    runs = sorted((_described(journals, run) for run in journals.runs()), key=lambda item: item["time"], reverse=True)
    if options["format_"] == "json":
        document = {"schema_version": SCHEMA_VERSION, "kind": "runs", "runs": runs}
        output.write([json.dumps(document, indent=2), "\n"])
    else:
        output.write(_table(runs, output))
    return 0


def _described(journals: Store, run: str) -> dict[str, Any]:
    unknown = {"run": run, "time": "", "account_id": "", "region": "", "state": DAMAGED}
    counts = {"operations": 0, "done": 0, "already": 0, "undone": 0}
    try:
        journal = Journal.load(journals, run)
        plan = journal.plan
    except UsageError:
        return {**unknown, **counts}
    return {
        "run": run,
        "time": str(journal.header.get("time", "")),
        "account_id": plan.account_id,
        "region": plan.region,
        "state": str(journal.state),
        "operations": len(plan.operations),
        "done": len(journal.made),
        "already": sum(outcome == "already" for outcome in journal.finished.values()),
        "undone": sum(not left for left in journal.undone.values()),
    }


def _table(runs: list[dict[str, Any]], output: Output) -> list[str]:
    from sgaudit.report.tables import table

    if not runs:
        return ["no runs\n"]
    headers = ["run", "account", "region", "state", "done", "already", "undone", "of"]
    rows = [
        [
            output.style.safe(str(run[name]))
            for name in ("run", "account_id", "region", "state", "done", "already", "undone", "operations")
        ]
        for run in runs
    ]
    # The id of a run begins with its time.
    return [f"{line}\n" for line in table(headers, rows, right=(4, 5, 6, 7))]
