"""Pairs that are open in one direction only, where the order of addresses decides who dials."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sgaudit.model import Cidr
from sgaudit.reach.causes import Layer
from sgaudit.reach.nodes import bits_of, indexes_of
from sgaudit.reach.verdict import Verdict, own_nodes
from sgaudit.rules import words
from sgaudit.rules.context import MOST_EXAMPLES
from sgaudit.rules.finding import Example, Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sgaudit.reach.causes import Cause
    from sgaudit.rules.context import Context, Judged, Stop

GROUP_LAYERS = (Layer.EGRESS, Layer.INGRESS)
ROUTE_LAYERS = (Layer.ROUTE, Layer.RETURN_ROUTE)
OUTWARD = (Layer.EGRESS, Layer.ACL_OUT, Layer.RETURN_OUT)

OneWay = dict[int, int]
"""Nodes that are reached and don't reach back, to the nodes that reach all of them."""


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each cause that closes one direction of pairs whose other direction is open."""
    seen: dict[int, Stop] = {}
    for judged in context.over_ip:
        if not judged.requirement.ip_ordered or not judged.verdicts.failing:
            continue
        one_way = _one_way(context, judged)
        for stop in context.stops if one_way else ():
            if stop.cause.certain and judged.requirement.need in stop.needs and id(stop) not in seen:
                finding = _finding(context, stop, one_way)
                if finding is not None:
                    seen[id(stop)] = stop
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


def _pairs(cause: Cause, one_way: OneWay) -> Iterator[tuple[int, int]]:
    """Go through each node behind the cause, with the nodes that it reaches and that the cause keeps from it."""
    for sources, targets in cause.blocks:
        for reached, nodes in one_way.items():
            closed = reached & sources
            if closed and nodes & targets:
                for index in indexes_of(nodes & targets):
                    yield index, closed


def _finding(context: Context, stop: Stop, one_way: OneWay) -> Finding | None:
    cause = stop.cause
    lucky = unlucky = 0
    examples: list[Example] = []
    for index, closed in _pairs(cause, one_way):
        lower, higher = _by_order(context, index)
        lucky += (closed & lower).bit_count()
        unlucky += (closed & higher).bit_count()
        for other in indexes_of(closed) if len(examples) < MOST_EXAMPLES else ():
            ends = (context.matrix.nodes[other].instance.instance_id, context.matrix.nodes[index].instance.instance_id)
            examples.append(Example(*ends, cause.missing))
    if not lucky + unlucky:
        return None
    holder, resource = _holder(context, cause)
    traffic = words.traffic(cause.protocol, cause.missing)
    way = "out" if cause.layer in OUTWARD else "in"
    what = f"answers to {traffic}" if cause.layer in (Layer.RETURN_IN, Layer.RETURN_OUT) else traffic
    closes = f"has no route for {what}" if cause.layer in ROUTE_LAYERS else f"does not let {what} {way}"
    pairs = words.number(lucky + unlucky, "pair")
    return Finding(
        rule=RULE.id,
        severity=RULE.severity,
        title=f"{pairs} open one way only, by {holder}",
        message=(
            f"{holder} {closes}, while the other direction of {pairs} is open. Each pair "
            f"makes one connection, which the side with the higher address dials: {_today(lucky, unlucky)} New "
            "addresses after a restart turn this round."
        ),
        remedy="Open the closed direction as well; the finding on the blocked path says how.",
        resource=resource,
        pairs=lucky + unlucky,
        examples=tuple(examples[:MOST_EXAMPLES]),
        evidence={
            "works_by_luck": lucky,
            "fails": unlucky,
            "layer": str(cause.layer),
            "missing": str(cause.missing),
            "needs": list(stop.needs),
        },
        identity=(str(cause.layer), cause.protocol, str(cause.missing), *(cause.groups or ())),
    )


def _today(lucky: int, unlucky: int) -> str:
    if not unlucky:
        return f"today that is the open direction for all {lucky}, by luck."
    if not lucky:
        return f"today that is the closed direction for all {unlucky}, so they fail."
    return f"today {lucky} work by luck, as it is the open direction, and {unlucky} fail."


def _by_order(context: Context, index: int) -> tuple[int, int]:
    """Tell the nodes with a lower and with a higher address; those with the same are neither, as the port decides."""
    nodes = context.matrix.node_set
    value = nodes.items[index].value
    if value is None:
        return 0, 0
    same = nodes.within(Cidr(nodes.family, value, nodes.family.bits))
    lower = (same & -same) - 1
    return lower, nodes.addressed & ~lower & ~same


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
