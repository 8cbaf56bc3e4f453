"""Pairs that are open in one direction only, where the order of addresses decides who dials."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import TYPE_CHECKING

from sgaudit.reach.causes import Layer
from sgaudit.reach.nodes import bits_of, indexes_of
from sgaudit.reach.verdict import Verdict, own_nodes
from sgaudit.rules import words
from sgaudit.rules.context import MOST_EXAMPLES
from sgaudit.rules.finding import Example, Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgaudit.ports import PortSet
    from sgaudit.reach.causes import Cause
    from sgaudit.rules.context import Context, Judged, Stop

GROUP_LAYERS = (Layer.EGRESS, Layer.INGRESS)
ROUTE_LAYERS = (Layer.ROUTE, Layer.RETURN_ROUTE)
OUTWARD = (Layer.EGRESS, Layer.ACL_OUT, Layer.RETURN_OUT)

MOST_WORK = 100_000
"""Nodes times causes."""

OneWay = dict[int, int]
"""Nodes that are reached and don't reach back, to the nodes that reach all of them."""


def check(context: Context) -> Iterator[Finding]:
    """
    Report one finding for each cause that closes one direction of pairs whose other direction is open.

    Where there are too many to go through, one finding tells of all.
    """
    asked = [judged for judged in context.over_ip if judged.requirement.ip_ordered and judged.verdicts.failing]
    spans = _spans(context) if asked else []
    told: set[int] = set()
    for judged in asked:
        one_way = _one_way(context, judged)
        stops = [
            stop for stop in context.stops if stop.cause.certain and judged.requirement.need in stop.needs and one_way
        ]
        work = sum(len(stop.cause.blocks) for stop in stops) * sum(nodes.bit_count() for nodes in one_way.values())
        if work > MOST_WORK:
            yield from _summary(context, spans, judged, one_way)
            continue
        for stop in stops:
            if id(stop) not in told:
                for finding in _finding(context, spans, stop, one_way):
                    told.add(id(stop))
                    yield finding


def _one_way(context: Context, judged: Judged) -> OneWay:
    """Find for each node the others that it reaches and that surely don't reach it."""
    nodes = context.matrix.node_set
    mutual = context.mutual(judged.requirement)
    both_ways = judged.sources & judged.targets
    doubtful = _doubtful(judged)
    found: dict[int, list[int]] = defaultdict(list)
    for row in judged.verdicts.rows:
        if not row.open & both_ways:
            continue
        for index in indexes_of(row.sources & both_ways):
            own = 1 << index if nodes.one_each else own_nodes(nodes, index)
            reached = row.open & both_ways & ~mutual[index] & ~own & ~doubtful.get(index, 0)
            if reached:
                found[reached].append(index)
    return {reached: bits_of(indexes) for reached, indexes in found.items()}


def _doubtful(judged: Judged) -> Mapping[int, int]:
    """Tell for each node those that may reach it."""
    found: dict[int, int] = defaultdict(int)
    for row in judged.verdicts.rows if judged.verdicts.counts[Verdict.UNKNOWN] else ():
        for index in indexes_of(row.unknown):
            found[index] |= row.sources
    return found


def _spans(context: Context) -> list[tuple[int, int]]:
    """Find the run of nodes that share each node's address: between equal ones the port decides who dials."""
    found: list[tuple[int, int]] = []
    for _, run in groupby(context.matrix.nodes, key=lambda node: node.value):
        size = sum(1 for _ in run)
        found += [(len(found), len(found) + size)] * size
    return found


def _pairs(cause: Cause, one_way: OneWay) -> Iterator[tuple[int, int]]:
    """Go through each node behind the cause, with the nodes that it reaches and that the cause keeps from it."""
    for sources, targets in cause.blocks:
        for reached, nodes in one_way.items():
            closed = reached & sources
            if closed and nodes & targets:
                for index in indexes_of(nodes & targets):
                    yield index, closed


@dataclass
class _Tally:
    """Counts pairs by whether the side that dials is on the open end."""

    context: Context
    spans: Sequence[tuple[int, int]]
    """For each node the first one with its address, and the first one with a higher address."""
    missing: PortSet
    lucky: int = 0
    unlucky: int = 0
    examples: list[Example] = field(default_factory=list)

    def add(self, index: int, closed: int) -> None:
        """Count a node that reaches all of a set, none of which reaches it."""
        low, high = self.spans[index]
        self.lucky += (closed & ((1 << low) - 1)).bit_count()
        self.unlucky += (closed >> high).bit_count()
        for other in islice(indexes_of(closed), MOST_EXAMPLES - len(self.examples)):
            nodes = self.context.matrix.nodes
            ends = (nodes[other].instance.instance_id, nodes[index].instance.instance_id)
            self.examples.append(Example(*ends, self.missing))

    @property
    def pairs(self) -> int:
        return self.lucky + self.unlucky

    def finding(
        self, said: str, title: str, resource: Resource, identity: tuple[str, ...], needs: list[str]
    ) -> Finding:
        return Finding(
            rule=RULE.id,
            severity=RULE.severity,
            title=f"{words.number(self.pairs, 'pair')} open one way only{title}",
            message=(
                f"{said}. Each pair makes one connection, which the side with the higher address dials: "
                f"{_today(self.lucky, self.unlucky)} New addresses after a restart turn this round."
            ),
            remedy="Open the closed direction as well; the finding on the blocked path says how.",
            resource=resource,
            pairs=self.pairs,
            examples=tuple(self.examples),
            evidence={"works_by_luck": self.lucky, "fails": self.unlucky, "missing": str(self.missing), "needs": needs},
            identity=identity,
        )


def _finding(context: Context, spans: Sequence[tuple[int, int]], stop: Stop, one_way: OneWay) -> Iterator[Finding]:
    cause = stop.cause
    tally = _Tally(context, spans, cause.missing)
    for index, closed in _pairs(cause, one_way):
        tally.add(index, closed)
    if not tally.pairs:
        return
    holder, resource = _holder(context, cause)
    traffic = words.traffic(cause.protocol, cause.missing)
    way = "out" if cause.layer in OUTWARD else "in"
    what = f"answers to {traffic}" if cause.layer in (Layer.RETURN_IN, Layer.RETURN_OUT) else traffic
    closes = f"has no route for {what}" if cause.layer in ROUTE_LAYERS else f"does not let {what} {way}"
    yield tally.finding(
        f"{holder} {closes}, while the other direction of {words.number(tally.pairs, 'pair')} is open",
        f", by {holder}",
        resource,
        (str(cause.layer), str(cause.protocol), str(cause.missing), *(cause.groups or ())),
        list(stop.needs),
    )


def _summary(context: Context, spans: Sequence[tuple[int, int]], judged: Judged, one_way: OneWay) -> Iterator[Finding]:
    requirement = judged.requirement
    tally = _Tally(context, spans, requirement.ports)
    for reached, nodes in one_way.items():
        for index in indexes_of(nodes):
            tally.add(index, reached)
    if not tally.pairs:
        return
    first = min(context.matrix.node_set.subnets)
    yield tally.finding(
        f"{words.number(tally.pairs, 'pair')} are open in one direction and not in the other, for many causes",
        "",
        Resource("vpc", first[1]),
        ("all", requirement.need),
        [requirement.need],
    )


def _today(lucky: int, unlucky: int) -> str:
    if not unlucky:
        return f"today {words.verb(lucky, 'it works', f'all {lucky} work')} by luck, as it is the open direction."
    if not lucky:
        return f"today {words.verb(unlucky, 'it fails', f'all {unlucky} fail')}, as it is the closed direction."
    works, fails = words.verb(lucky, "works", "work"), words.verb(unlucky, "fails", "fail")
    return f"today {lucky} {works} by luck, as it is the open direction, and {unlucky} {fails}."


def _holder(context: Context, cause: Cause) -> tuple[str, Resource]:
    snapshot = context.snapshot
    if cause.layer in GROUP_LAYERS:
        carriers = context.matrix.node_set.by_group
        first = max(cause.groups or ("",), key=lambda group: (carriers.get(group, 0).bit_count(), group))
        return words.groups_label(snapshot, cause.groups), Resource("security-group", first)
    subnet = cause.subnets[0]
    if cause.layer in ROUTE_LAYERS:
        table = snapshot.route_table(*subnet)
        name = table.route_table_id if table else subnet[0]
        return name, Resource("route-table", name)
    acl = snapshot.network_acl(*subnet)
    name = acl.acl_id if acl else subnet[0]
    return words.named(acl.tags.get("Name", "") if acl else "", name), Resource("network-acl", name)


RULE = Rule(
    id="one-way-luck",
    title="A pair works only by the order of its addresses",
    severity=Severity.WARNING,
    why=(
        "Gloo makes one connection for each pair of ranks, and the side with the higher address dials. Where only one "
        "direction is open, a job works or hangs by which addresses its members happened to get."
    ),
    remedy="Open both directions.",
    sources=("pytorch/gloo, gloo/transport/tcp/device.cc (isInitiator)",),
    check=check,
)
