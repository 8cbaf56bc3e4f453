"""`sgaudit snapshot`."""

from __future__ import annotations

from typing import Any

import click

from sgaudit import snapshot as snapshots
from sgaudit.cli.options import option, selection_options, source_options
from sgaudit.cli.run import Source, members, take_selection
from sgaudit.rules import words
from sgaudit.rules.audit import EXIT_CLEAN, EXIT_INCOMPLETE


@click.command(name="snapshot")
@selection_options
@source_options
@option("--whole-vpc", is_flag=True, help="Save every interface of the members' VPCs, not the members' alone.")
@option("-o", "--output", default="-", metavar="FILE", help="Where to save it.")
@option("--quiet", "-q", is_flag=True, help="No progress and no notes.")
@click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks.")
def command(**options: Any) -> int:
    """
    Save what AWS says about a cluster; scanning the file gives the same result as scanning AWS.

    With --snapshot it merges a folder of AWS CLI answers into one file; with --terraform-plan or --cloudformation
    it shows what these were read as.

    Exit codes: 0 saved, 2 usage, 3 no such members, 4 saved, but some of it could not be read.
    """
    source = Source.take(options)
    selection = take_selection(options)
    if source.snapshot_path:
        document = source.saved_document(quiet=options["quiet"])
        read = snapshots.parse(document, source=source.snapshot_path)
    else:
        document = source.collect(selection, quiet=options["quiet"], whole_vpc=options["whole_vpc"])
        read = snapshots.parse(document, source=source.described(document))
    picked = members(read, selection)
    snapshots.save(document, options["output"])
    if not options["quiet"]:
        where = "" if options["output"] == "-" else f" to {options['output']}"
        click.echo(f"saved {words.number(len(picked), 'member')} of {read.source}{where}", err=True)
        for operation, code in read.denied.items():
            click.echo(f"not read: {operation} ({code}); allow ec2:{operation}", err=True)
    return EXIT_INCOMPLETE if read.denied else EXIT_CLEAN
