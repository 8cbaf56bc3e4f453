"""`sgaudit matrix`."""

from __future__ import annotations

from typing import Any

import click

from sgaudit.cli.options import client_ports_option, option, output_options, selection_options, source_options
from sgaudit.cli.run import Output, Source, client_ports, members, take_selection, traffic_option
from sgaudit.reach.matrix import build
from sgaudit.report import matrix_csv, matrix_json, matrix_table
from sgaudit.report.pairs import View
from sgaudit.rules.audit import EXIT_CLEAN, EXIT_INCOMPLETE


@click.command(name="matrix")
@selection_options
@source_options
@option(
    "--protocol",
    type=click.Choice(["tcp", "udp", "icmp", "icmpv6", "all"]),
    default="tcp",
    show_default=True,
    help="Which traffic to judge; for icmp the ports are types, or TYPE/CODE (in JSON and CSV: type * 256 + code).",
)
@option("--ports", default="", metavar="PORTS", help="Ports by which the verdict goes.  [default: all]")
@option("--pairs", is_flag=True, help="List every pair instead of classes.")
@client_ports_option
@output_options("table", "json", "csv")
def command(**options: Any) -> int:
    """
    Show exactly which ports are open between every two members.

    Exit codes: 0 done, 2 usage, 3 no such members, 4 some verdict is not known.
    """
    source, output = Source.take(options), Output.take(options)
    selection = take_selection(options)
    ports = traffic_option("--ports", options["ports"], options["protocol"])
    client = client_ports(options)
    snapshot = source.load(selection, quiet=output.quiet)
    matrix = build(snapshot, members(snapshot, selection), family=selection.family, client_ports=client)
    view = View.of(matrix, options["protocol"], ports)
    match options["format_"]:
        case "json":
            output.write(matrix_json.render(view, pairs=options["pairs"]))
        case "csv":
            output.write(matrix_csv.render(view))
        case _:
            output.write(matrix_table.render(view, output.style, pairs=options["pairs"]))
    return EXIT_INCOMPLETE if view.incomplete() else EXIT_CLEAN
