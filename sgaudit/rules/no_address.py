"""A member has no address of the family that is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.reach.causes import Layer
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for all members without an address."""
    matrix = context.matrix
    stops = [stop for stop in context.stops if stop.cause.layer is Layer.ADDRESS]
    bare = matrix.node_set.everyone & ~matrix.node_set.addressed & ~matrix.node_set.unseen
    if not stops:
        return
    stop = stops[0]
    family = "IPv4" if matrix.family == "ipv4" else "IPv6"
    other = "ipv6" if matrix.family == "ipv4" else "ipv4"
    nodes = list(matrix.node_set.pick(bare))
    interfaces = words.unique(node.interface.interface_id for node in nodes if node.interface)
    pairs = max(stop.cause.count(matrix) for stop in stops)
    yield Finding(
        rule=RULE.id,
        severity=stop.severity,
        title=f"{words.number(len(interfaces), 'interface')} without an {family} address",
        message=(
            f"{words.sentence(words.members_label(matrix, bare))} can't be dialled over {family}: "
            f"{words.listed(interfaces)} {'has' if len(interfaces) == 1 else 'have'} no {family} address; "
            f"{words.number(pairs, 'pair')} can't connect."
        ),
        remedy=f"Give the interface an {family} address, or judge the other family with --family {other}.",
        resource=Resource("network-interface", interfaces[0]),
        pairs=pairs,
        examples=context.examples(stop.cause, stop.cause.missing),
        evidence={"interfaces": interfaces[:20], "family": str(matrix.family)},
        subject=("members",),
        identity=(str(matrix.family),),
    )


RULE = Rule(
    id="no-address",
    title="A member has no address of the judged family",
    severity=Severity.ERROR,
    why=(
        "An interface in an IPv6-only subnet has no IPv4 address, and an EFA-only interface has no address at all. "
        "Nobody can dial a member that has none."
    ),
    remedy="Give the interface an address of the family, or judge the other one with --family.",
    sources=("EC2 user guide, Elastic network interfaces", "EC2 user guide, Elastic Fabric Adapter"),
    check=check,
)
