"""`sgaudit explain`."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import click

from sgaudit.cli.ends import Finder, candidates, check, family_of, selection_for
from sgaudit.cli.options import option, output_options, policy_options, selection_options, source_options
from sgaudit.cli.run import Output, Source, client_ports, members, requirements, take_selection, traffic_option
from sgaudit.errors import UsageError
from sgaudit.model import Family, Member
from sgaudit.ports import ALL, NONE, PortSet
from sgaudit.reach.matrix import build
from sgaudit.reach.trace import trace
from sgaudit.reach.verdict import Verdict
from sgaudit.report import explain_json, explain_table
from sgaudit.rules.audit import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE
from sgaudit.selection import Interfaces, Selection

if TYPE_CHECKING:
    from sgaudit.reach.trace_values import Trace
    from sgaudit.rules.audit import Audit
    from sgaudit.rules.finding import Example, Finding

PROTOCOLS = ("tcp", "udp", "icmp", "icmpv6", "all")
SHORTEST_FINGERPRINT = 6
MOST_EXAMPLES = 3
EXITS = {
    Verdict.OPEN: EXIT_CLEAN,
    Verdict.PARTIAL: EXIT_FINDINGS,
    Verdict.BLOCKED: EXIT_FINDINGS,
    Verdict.UNKNOWN: EXIT_INCOMPLETE,
}


@click.command(name="explain")
@click.argument("source", default="", metavar="[SOURCE")
@click.argument("target", default="", metavar="TARGET]")
@option("--port", default="", metavar="PORTS", help="Port, range or list.  [default: all ports]")
@option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
    default="tcp",
    show_default=True,
    help="Which traffic to follow; for icmp the ports are types, or TYPE/CODE.",
)
@option("--finding", default="", metavar="FINGERPRINT", help="Explain the examples of a finding of sgaudit scan.")
@selection_options
@source_options
@policy_options
@output_options("table", "json")
def command(**options: Any) -> int:
    """
    Follow packets from SOURCE to TARGET and back, hop by hop.

    An end is an instance id, a Name tag, an interface id, a private address, or an address outside the
    cluster. Each hop shows the rules that decided, or those that came close, and the ports open after it.

    Exit codes: 0 open, 1 blocked or partial, 2 usage, 3 no such members, 4 not known.
    """
    source, output = Source.take(options), Output.take(options)
    finding = options.pop("finding")
    if bool(finding) == bool(options["source"] or options["target"]):
        raise UsageError(
            "explain takes SOURCE and TARGET or --finding, " + ("not both" if finding else "and neither is given"),
            hint="for example sgaudit explain node-1 node-2 --port 29500 --tag cluster=train",
        )
    if finding:
        return _finding(finding, options, source, output)
    found = _pair(options, source, output)
    as_json = options["format_"] == "json"
    output.write(explain_json.render(found) if as_json else explain_table.render(found, output.style))
    return EXITS[found.verdict]


def _pair(options: dict[str, Any], source: Source, output: Output) -> Trace:
    texts = (options.pop("source"), options.pop("target"))
    if not all(texts):
        raise UsageError(
            "TARGET is missing", hint="for example sgaudit explain node-1 node-2 --port 29500 --tag cluster=train"
        )
    protocol, default, which = options["protocol"], Family(options["family"]), Interfaces(options["interfaces"])
    ports, client = traffic_option("--port", options.pop("port"), protocol), client_ports(options)
    selection = _selection(options, texts, saved=bool(source.snapshot_path))
    snapshot = source.load(selection or Selection(everything=True), quiet=output.quiet, rule_ids=True)
    finder = Finder(candidates(snapshot, selection), which)
    one, other = (finder.find(text) for text in texts)
    check(one, other)
    family = family_of((one, other), Family.IPV6 if protocol == "icmpv6" else default)
    if protocol in ("icmp", "icmpv6") and (protocol == "icmpv6") != (family is Family.IPV6):
        raise UsageError(f"{protocol} is not spoken over {family}", hint="choose the other --protocol")
    matrix = build(snapshot, (one.member, other.member), family=family, client_ports=client)
    here, there = (_index(matrix.nodes, end.member) for end in (one, other))
    return trace(matrix, here, there, protocol, ports)


def _selection(options: dict[str, Any], texts: tuple[str, str], *, saved: bool) -> Selection | None:
    """Tell what to read; None for all of a saved snapshot."""
    if any(options[name] for name in ("tags", "instance_ids", "vpc_ids", "security_groups", "everything")):
        return take_selection(options)
    return None if saved else selection_for(texts)


def _index(nodes: Any, member: Member) -> int:
    for node in nodes:
        if node.instance is member.instance:
            return int(node.index)
    raise AssertionError(member.instance.instance_id)


def _finding(fingerprint: str, options: dict[str, Any], source: Source, output: Output) -> int:
    from sgaudit.rules.audit import audit

    if len(fingerprint) < SHORTEST_FINGERPRINT:
        raise UsageError(
            f"--finding {fingerprint!r} is too short",
            hint=f"give at least {SHORTEST_FINGERPRINT} characters of the fingerprint that scan -f json shows",
        )
    selection, client = take_selection(options), client_ports(options)
    snapshot = source.load(selection, quiet=output.quiet, rule_ids=True)
    picked = members(snapshot, selection)
    result = audit(snapshot, selection, picked, requirements(options, picked), client_ports=client)
    finding = _pick(result, fingerprint)
    traces = [_example(result, finding, example) for example in finding.examples[:MOST_EXAMPLES]]
    if not traces:
        raise UsageError(f"{finding.rule} is not about a pair of members", hint="there is no path to explain")
    if options["format_"] == "json":
        output.write(explain_json.render_finding(finding, traces))
    else:
        output.write(explain_table.render_finding(finding, traces, output.style))
    return max(EXITS[found.verdict] for found in traces)


def _pick(result: Audit, fingerprint: str) -> Finding:
    found = [finding for finding in result.findings if finding.fingerprint.startswith(fingerprint.lower())]
    if not found:
        raise UsageError(
            f"no finding has a fingerprint that begins with {fingerprint}",
            hint="sgaudit scan -f json lists those of this cluster and these policies",
        )
    if len({finding.fingerprint for finding in found}) > 1:
        raise UsageError(f"{len(found)} fingerprints begin with {fingerprint}", hint="give more of it")
    return found[0]


def _example(result: Audit, finding: Finding, example: Example) -> Trace:
    """Follow the pair of interfaces that is the least open of those of the two members."""
    protocol, ports = _traffic(result, finding, example)
    matrix = result.context.matrix
    own = matrix.node_set.by_instance
    ends = product(*(matrix.node_set.pick(own[item]) for item in (example.source, example.target)))
    traces = [trace(matrix, one.index, other.index, protocol, ports) for one, other in ends]
    order = (Verdict.BLOCKED, Verdict.PARTIAL, Verdict.UNKNOWN, Verdict.OPEN)
    return min(traces, key=lambda found: order.index(found.verdict))


def _traffic(result: Audit, finding: Finding, example: Example) -> tuple[str, PortSet]:
    """Tell what the finding misses; what it misses on the way back is told by the needs that fail for it."""
    protocol = str(finding.evidence.get("protocol", "tcp"))
    if finding.evidence.get("way") != "back":
        return protocol, example.ports or ALL
    ports = NONE
    for requirement in result.context.requirements.between:
        if requirement.need in finding.evidence.get("needs", ()) and str(requirement.protocol) == protocol:
            ports |= requirement.ports
    return protocol, ports or ALL
