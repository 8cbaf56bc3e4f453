"""Findings about network ACLs; the rules for the path and for the way back share them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.reach.causes import Layer
from sgaudit.reach.network_acls import entries_for
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Fix, Resource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.model import AclEntry, NetworkAcl
    from sgaudit.reach.causes import Cause
    from sgaudit.rules.context import Context, Stop

MOST_ENTRIES = 5
OUTWARD = (Layer.ACL_OUT, Layer.RETURN_OUT)
"""The layers in which the ACL's egress entries are asked."""


def findings(context: Context, rule: str, layers: tuple[Layer, Layer]) -> Iterator[Finding]:
    """Tell which ACL stops which ports, at which entry, for whom."""
    for stop in context.stops:
        cause = stop.cause
        if cause.layer not in layers or not cause.certain:
            continue
        acl = context.snapshot.network_acl(*cause.subnets[0])
        if acl is not None:
            yield finding(context, stop, acl, rule)


def finding(context: Context, stop: Stop, acl: NetworkAcl, rule: str) -> Finding:
    """Tell which ACL stops which ports, at which entry, for whom."""
    cause, matrix = stop.cause, context.matrix
    egress = cause.layer in OUTWARD
    answer = cause.layer in (Layer.RETURN_OUT, Layer.RETURN_IN)
    inside, outside = _ends(cause)
    pairs = cause.count(matrix)
    label = words.named(acl.tags.get("Name", ""), acl.acl_id)
    subnets = words.listed([words.subnet_label(context.snapshot, subnet) for subnet, _ in cause.subnets])
    missing = words.traffic(cause.protocol, cause.missing)
    what = "answers to " + missing if answer else missing
    there = words.members_label(matrix, outside)
    entries = _deciding(context, cause, acl, egress=egress)
    direction, preposition = ("egress", "to") if egress else ("ingress", "from")
    message = (
        f"The {direction} entries of {label} at {subnets} stop {what} {preposition} {there}"
        f" ({_said(entries)}); {words.number(pairs, 'pair')} can't connect."
    )
    if answer:
        message += " Network ACLs are stateless: an answer needs an entry of its own, for the client's port."
    return Finding(
        rule=rule,
        severity=stop.severity,
        title=f"{acl.tags.get('Name') or acl.acl_id} stops {what} {preposition} {words.members_title(matrix, outside)}",
        message=message,
        remedy=(
            f"Add to {label} an {direction} entry that allows {missing} {preposition} "
            f"{_blocks(context, outside)}" + (f", before entry {_first(entries)}." if _first(entries) else ".")
        ),
        resource=Resource("network-acl", acl.acl_id),
        pairs=pairs,
        fix=Fix.UNSAFE,
        examples=context.examples(cause, cause.missing),
        evidence={
            "direction": direction,
            "way": "back" if answer else "there",
            "subnets": [subnet for subnet, _ in cause.subnets],
            "protocol": cause.protocol,
            "missing": str(cause.missing),
            "entries": [entry.number if entry else "default deny" for entry in entries],
            "members_inside": words.member_ids(matrix, inside),
            "needs": list(stop.needs),
        },
        identity=(
            cause.layer,
            cause.protocol,
            str(cause.missing),
            *sorted(subnet for subnet, _ in cause.subnets),
        ),
    )


def _ends(cause: Cause) -> tuple[int, int]:
    """Tell the nodes behind the ACL and those at the other end."""
    if cause.layer in (Layer.ACL_OUT, Layer.RETURN_IN):
        return cause.sources(), cause.targets()
    return cause.targets(), cause.sources()


def _deciding(context: Context, cause: Cause, acl: NetworkAcl, *, egress: bool) -> list[AclEntry | None]:
    """List the entries that decide on the first missing port of each range, for some address at the other end."""
    nodes = context.matrix.node_set
    protocol = cause.protocol if cause.protocol != "all" else "tcp"
    found: dict[AclEntry | None, None] = {}
    for low, _ in cause.missing.ranges:
        undecided = _ends(cause)[1]
        for entry in entries_for(acl, nodes.family, egress=egress):
            matched = nodes.within(entry.cidr) & undecided if low in entry.matched(protocol) else 0
            undecided &= ~matched
            if matched and not entry.allow:
                found[entry] = None
        if undecided:
            found[None] = None
    return list(found)[:MOST_ENTRIES]


def _said(entries: list[AclEntry | None]) -> str:
    if not entries:
        return "no one entry allows all of it"
    return "; ".join(_entry(entry) for entry in entries)


def _entry(entry: AclEntry | None) -> str:
    if entry is None:
        return "no entry allows it"
    protocol = "all" if entry.protocol == "-1" else entry.protocol
    return f"entry {entry.number} denies {words.traffic(protocol, entry.ports)} for {entry.cidr}"


def _first(entries: list[AclEntry | None]) -> int | None:
    return min((entry.number for entry in entries if entry), default=None)


def _blocks(context: Context, nodes: int) -> str:
    subnets = {node.interface.subnet_id for node in context.matrix.node_set.pick(nodes) if node.interface}
    known = [(context.snapshot.subnets or {}).get(subnet) for subnet in sorted(subnets)]
    family = context.matrix.family
    cidrs = [str(cidr) for subnet in known if subnet for cidr in subnet.cidrs if cidr.family is family]
    return words.listed(cidrs) if cidrs else words.members_label(context.matrix, nodes)
