"""An explanation as people read it: the path hop by hop, what blocks, and what to change."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from sgaudit.ports import NONE, PortSet
from sgaudit.reach.causes import Layer
from sgaudit.reach.trace_outside import is_outside
from sgaudit.reach.trace_values import Effect
from sgaudit.reach.verdict import Verdict, verdict_on
from sgaudit.report import explain_words
from sgaudit.report.terminal import WIDEST, display_width
from sgaudit.rules import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgaudit.reach.nodes import Node
    from sgaudit.reach.trace_values import Hop, Trace
    from sgaudit.report.terminal import Style
    from sgaudit.rules.finding import Finding

LOOKS: dict[Verdict, tuple[str, ...]] = {
    Verdict.OPEN: ("green",),
    Verdict.PARTIAL: ("bold", "red"),
    Verdict.BLOCKED: ("bold", "red"),
    Verdict.UNKNOWN: ("bold", "yellow"),
}
MARKS = {
    Verdict.OPEN: ("\u2713", "+"),
    Verdict.PARTIAL: ("\u2717", "X"),
    Verdict.BLOCKED: ("\u2717", "X"),
    Verdict.UNKNOWN: ("?", "?"),
}
ROUTES = (Layer.ROUTE, Layer.RETURN_ROUTE)
SKIPPED = {
    Layer.ACL_OUT: "network ACL out",
    Layer.ROUTE: "route",
    Layer.ACL_IN: "network ACL in",
    Layer.RETURN_OUT: "network ACL out",
    Layer.RETURN_ROUTE: "route",
    Layer.RETURN_IN: "network ACL in",
}
DOT = "\u00b7"
MOST_RULES = 8
LIVE = ("running", "pending", "")


def render(trace: Trace, style: Style) -> Iterator[str]:
    """Write the verdict, the path there and back, and what to change."""
    for block in (_head(trace, style), _path(trace, style), _changes(trace, style)):
        lines = list(block)
        if lines:
            yield "\n".join(lines) + "\n"


def render_finding(finding: Finding, traces: Sequence[Trace], style: Style) -> Iterator[str]:
    """Write the explanations of a finding's examples."""
    yield style.wrap(f"{finding.rule}: {finding.title}", hanging="  ") + "\n"
    for trace in traces:
        yield "\n"
        yield from render(trace, style)


def _head(trace: Trace, style: Style) -> Iterator[str]:
    what = explain_words.traffic(trace.protocol, trace.asked)
    arrow = style.sign("\u2192", "=>")
    yield style.wrap(f"{what}  {_end(trace.source)} {arrow} {_end(trace.target)}", hanging="  ")
    said = [str(trace.verdict).upper()]
    if trace.verdict is Verdict.PARTIAL:
        said.append(_ports(trace, trace.opened, trace.possible))
    stops = sum(blocker.code.certain for blocker in trace.blockers)
    if stops:
        said.append(words.number(stops, "blocker"))
    if doubts := len(trace.blockers) - stops:
        said.append(f"{doubts} not known")
    yield style.paint(style.wrap(said[0] + (": " + "; ".join(said[1:]) if said[1:] else "")), *LOOKS[trace.verdict])
    for node in (trace.source, trace.target):
        if node.instance.state not in LIVE:
            yield style.wrap(f"note: {words.node_label(node)} is {node.instance.state}")
        if is_outside(node):
            yield style.wrap(f"note: {node.address} is outside the cluster; only the other end is judged")


def _end(node: Node) -> str:
    label = explain_words.end_label(node)
    return f"{label} {node.address}" if node.address and node.address != label else label


def _path(trace: Trace, style: Style) -> Iterator[str]:
    numbered = list(enumerate(trace.hops))
    for (back, skipped), group in groupby(numbered, lambda item: (item[1].answer, item[1].skipped)):
        hops = list(group)
        if not hops[0][0] or trace.hops[hops[0][0] - 1].answer != back:
            yield style.paint("back" if back else "there", "bold")
        if skipped:
            names = words.listed([SKIPPED[hop.layer] for _, hop in hops])
            text = f"{style.sign(DOT, '-')} {names}: not asked within one subnet ({_subnet(trace, hops[0][1])})"
            yield style.paint(style.wrap(text, "  ", "    "), "dim")
            continue
        for place, hop in hops:
            yield from _hop(trace, place, hop, style)


def _hop(trace: Trace, place: int, hop: Hop, style: Style) -> Iterator[str]:
    verdict = verdict_on(trace.asked, hop.passes, hop.may_pass)
    head = f"{style.sign(*MARKS[verdict])} {_title(trace, hop)}"
    opened, possible = trace.after(place)
    # What an earlier hop has stopped altogether is not this one's doing.
    stopped_before = verdict is Verdict.OPEN and possible == NONE
    after = "[lets it pass]" if stopped_before else f"[{_ports(trace, opened, possible)}]"
    if verdict is Verdict.OPEN:
        yield _with_ports(style, style.wrap(head, "  ", "    "), after, "      ")
        for line in _rules(trace, hop):
            yield style.wrap(line, "      ", "        ")
        return
    bar = style.sign("\u2502", "|")
    title = style.wrap(head, "  ", f"  {bar}   ")
    yield _painted(style, _with_ports(style, title, after, f"  {bar}   "), verdict)
    for blocker in hop.blockers:
        text = f"{blocker.code}: {explain_words.message(trace, blocker)}"
        yield _painted(style, style.wrap(text, f"  {bar}   ", f"  {bar}     "), verdict)
    for line in _rules(trace, hop) if hop.layer not in ROUTES else ():
        yield style.wrap(line, f"  {bar}     ", f"  {bar}       ")


def _with_ports(style: Style, title: str, after: str, indent: str) -> str:
    """Put the ports behind a title, on a line of their own where they don't fit."""
    last = title.rsplit("\n", maxsplit=1)[-1]
    if display_width(last) + 2 + len(after) <= min(style.width, WIDEST):
        return f"{title}  {after}"
    return f"{title}\n{style.wrap(after, indent, indent + ' ')}"


def _painted(style: Style, text: str, verdict: Verdict) -> str:
    return "\n".join(style.paint(line, *LOOKS[verdict]) for line in text.split("\n"))


def _rules(trace: Trace, hop: Hop) -> Iterator[str]:
    for item in hop.decisions[:MOST_RULES]:
        lead = "close: " if item.effect is Effect.MISSES else ""
        yield lead + explain_words.decision(trace, hop, item)
    if len(hop.decisions) > MOST_RULES:
        yield f"and {len(hop.decisions) - MOST_RULES} more (-f json has all)"


def _subnet(trace: Trace, hop: Hop) -> str:
    here, _ = explain_words.ends_of(trace, hop.layer)
    subnet_id = here.interface.subnet_id if here.interface else ""
    subnet = (trace.matrix.snapshot.subnets or {}).get(subnet_id)
    return (subnet.tags.get("Name", "") if subnet else "") or subnet_id or "an unknown subnet"


def _title(trace: Trace, hop: Hop) -> str:
    here, _ = explain_words.ends_of(trace, hop.layer)
    label = explain_words.thing_label(trace, hop.resource)
    known = f": {label}" if hop.resource.type != "subnet" else ""
    way = "out" if hop.egress else "in"
    match hop.layer:
        case Layer.EGRESS | Layer.INGRESS:
            return f"security groups of {explain_words.short_label(trace, here)}, {way}"
        case Layer.ROUTE | Layer.RETURN_ROUTE:
            return f"route from {_subnet(trace, hop)}{known}"
        case Layer.ADDRESS | Layer.INTERFACE:
            return f"{'source' if hop.near_source else 'target'} {label}"
        case _:
            return f"network ACL of {_subnet(trace, hop)}, {way}{known}"


def _ports(trace: Trace, opened: PortSet, possible: PortSet) -> str:
    """Say which of the ports asked about are open, or may be."""
    single = trace.protocol == "all" or len(trace.asked) == 1
    if opened == trace.asked:
        return "open" if single else "all open"
    said = [f"open: {_short(trace, opened)}"] if opened else []
    if maybe := possible - opened:
        whole = maybe == trace.asked
        said.append("may be open" if whole else f"may be open: {_short(trace, maybe)}")
    if possible == NONE:
        said.append("closed" if single else "none open")
    return "; ".join(said)


def _short(trace: Trace, ports: PortSet) -> str:
    return words.icmp(ports) if trace.protocol in ("icmp", "icmpv6") else str(ports).replace(",", ", ")


def _changes(trace: Trace, style: Style) -> Iterator[str]:
    wanted = words.unique(explain_words.remedy(trace, blocker) for blocker in trace.blockers)
    if not wanted:
        return
    yield style.paint("what to change" if trace.verdict is not Verdict.UNKNOWN else "what to check", "bold")
    for number, text in enumerate(wanted, 1):
        yield style.wrap(f"{number}. {text}", "  ", "     ")
