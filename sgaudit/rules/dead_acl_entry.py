"""An entry of a network ACL is never asked."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sgaudit.model import ALL_PROTOCOLS, Cidr
from sgaudit.ports import FULL, first_holders
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgaudit.model import AclEntry, NetworkAcl
    from sgaudit.ports import Range
    from sgaudit.rules.context import Context

Kind = tuple[bool, Cidr, str]
"""Direction (egress or not), block and protocol."""
LAST_ENTRY = 32766
"""The highest number of an entry that is not the deny at the end."""


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each ACL of the members' subnets."""
    seen: set[str] = set()
    for subnet in context.matrix.node_set.subnets:
        acl = context.snapshot.network_acl(*subnet)
        if acl is None or acl.acl_id in seen:
            continue
        seen.add(acl.acl_id)
        found = list(dead(acl))
        if found:
            yield _finding(acl, found)


def dead(acl: NetworkAcl) -> Iterator[tuple[AclEntry, AclEntry]]:
    """Find the entries of which an earlier one decides everything, the deny at the end apart."""
    held: dict[Kind, list[tuple[Range, int]]] = defaultdict(list)
    for position, entry in enumerate(acl.entries):
        held[entry.egress, entry.cidr, entry.protocol] += ((span, position) for span in _spans(entry))
    prefixes = {entry.cidr.prefix for entry in acl.entries}
    kinds = [[kind for kind in _wider(entry, prefixes) if kind in held] for entry in acl.entries]
    asked: dict[Kind, list[Range]] = defaultdict(list)
    for entry, wider in zip(acl.entries, kinds, strict=True):
        for kind in wider:
            asked[kind] += _spans(entry)
    holders = {kind: first_holders(held[kind], spans) for kind, spans in asked.items()}
    for position, (entry, wider) in enumerate(zip(acl.entries, kinds, strict=True)):
        if entry.number > LAST_ENTRY:
            break
        first = min((holders[kind].get(span, position) for kind in wider for span in _spans(entry)), default=position)
        if first < position:
            yield entry, acl.entries[first]


def _spans(entry: AclEntry) -> Sequence[Range]:
    return FULL if entry.protocol == ALL_PROTOCOLS else entry.ports.ranges


def _wider(entry: AclEntry, prefixes: set[int]) -> Iterator[Kind]:
    """Go through the kinds of entries that may take all packets of one."""
    cidr = entry.cidr
    for prefix in prefixes:
        if prefix <= cidr.prefix:
            host_bits = cidr.family.bits - prefix
            block = Cidr(cidr.family, cidr.first >> host_bits << host_bits, prefix)
            for protocol in {entry.protocol, ALL_PROTOCOLS}:
                yield entry.egress, block, protocol


def _finding(acl: NetworkAcl, dead: list[tuple[AclEntry, AclEntry]]) -> Finding:
    label = words.named(acl.tags.get("Name", ""), acl.acl_id)
    said = [
        f"{'egress' if entry.egress else 'ingress'} entry {entry.number} ({'allow' if entry.allow else 'deny'}) behind "
        f"entry {first.number} ({'allow' if first.allow else 'deny'})"
        for entry, first in dead
    ]
    return Finding(
        rule=RULE.id,
        severity=RULE.severity,
        title=f"{label} has {len(dead)} {words.verb(len(dead), 'entry', 'entries')} that never {_decide(len(dead))}",
        message=f"{label}: {words.listed(said, 5)}. All that it would match is decided before it.",
        remedy="Give the entry a lower number if it was meant to decide, else delete it.",
        resource=Resource("network-acl", acl.acl_id),
        pairs=0,
        evidence={"entries": [{"egress": e.egress, "number": e.number, "behind": f.number} for e, f in dead]},
    )


def _decide(count: int) -> str:
    return words.verb(count, "decides", "decide")


RULE = Rule(
    id="dead-acl-entry",
    title="An entry of a network ACL never decides",
    severity=Severity.NOTE,
    why="Entries are asked by number and the first that matches decides. One behind a wider entry does nothing.",
    remedy="Give the entry a lower number if it was meant to decide, else delete it.",
    sources=("VPC user guide, Network ACLs, Network ACL rules",),
    check=check,
)
