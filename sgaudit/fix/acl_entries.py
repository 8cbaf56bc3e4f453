"""The entries that fill the gaps of network ACLs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgaudit.fix import cover
from sgaudit.fix.requests import icmp_messages
from sgaudit.model import Cidr, Family
from sgaudit.ports import ALL, PortSet
from sgaudit.rules.quota_nearly_used import ENTRIES, LAST_ENTRY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sgaudit.fix.gaps import AclGap
    from sgaudit.model import NetworkAcl
    from sgaudit.rules.context import Context

MOST_ENTRIES = 40
"""As far as AWS raises the quota of entries."""


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry to add: it allows."""

    acl: NetworkAcl
    number: int
    egress: bool
    protocol: str
    span: tuple[int, int] | None
    """Ports, or ICMP type and code; None for protocols without."""
    cidr: Cidr
    findings: tuple[str, ...]
    used: int
    """How many entries of its direction and family there are before it, the default deny included."""


@dataclass(frozen=True, slots=True)
class NoEntry:
    """A gap that no entry can fill, and why."""

    findings: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class _Wish:
    protocol: str
    ports: PortSet
    cidr: Cidr
    findings: tuple[str, ...]


def entries(context: Context, gaps: Iterable[AclGap]) -> list[NewEntry | NoEntry]:
    """Plan the entries for all gaps, ACL by ACL and direction by direction."""
    by_acl: dict[tuple[str, bool], list[AclGap]] = defaultdict(list)
    for gap in gaps:
        by_acl[gap.acl.acl_id, gap.egress].append(gap)
    found: list[NewEntry | NoEntry] = []
    for (_, egress), group in by_acl.items():
        found += _for_acl(group[0].acl, _wishes(context, group), egress=egress)
    return found


def _wishes(context: Context, gaps: Sequence[AclGap]) -> list[_Wish]:
    """Say for each CIDR block which ports are wanted; blocks with the same wish are joined where they touch."""
    wanted: dict[tuple[str, Cidr], tuple[PortSet, tuple[str, ...]]] = {}
    for gap in gaps:
        for cidr in blocks_of(context, gap.others):
            ports, findings = wanted.get((gap.protocol, cidr), (PortSet(), ()))
            joined = tuple(dict.fromkeys((*findings, gap.finding)))
            wanted[gap.protocol, cidr] = (ports | gap.missing, joined)
    alike: dict[tuple[str, Family, PortSet], tuple[list[Cidr], dict[str, None]]] = {}
    for (protocol, cidr), (ports, findings) in wanted.items():
        blocks, known = alike.setdefault((protocol, cidr.family, ports), ([], {}))
        blocks.append(cidr)
        known.update(dict.fromkeys(findings))
    return [
        _Wish(protocol, ports, block, tuple(known))
        for (protocol, family, ports), (blocks, known) in alike.items()
        for block in cover.collapsed(family, blocks)
    ]


def blocks_of(context: Context, nodes: int) -> list[Cidr]:
    """
    Give CIDR blocks for the other ends: those of their subnets, else their very addresses.

    An ACL guards subnets, and has room for twenty entries; who may use the path is for groups to say.
    """
    family = context.matrix.family
    found: dict[Cidr, None] = {}
    by_subnet: dict[str, list[int]] = defaultdict(list)
    for node in context.matrix.node_set.pick(nodes):
        if node.value is not None:
            by_subnet[node.interface.subnet_id if node.interface else ""].append(node.value)
    for subnet_id, addresses in by_subnet.items():
        subnet = (context.snapshot.subnets or {}).get(subnet_id)
        blocks = [cidr for cidr in subnet.cidrs if cidr.family is family] if subnet else []
        held = all(any(address in cidr for cidr in blocks) for address in addresses)
        for cidr in blocks if held else cover.blocks(family, addresses):
            found[cidr] = None
    return list(found)


def _for_acl(acl: NetworkAcl, wishes: Sequence[_Wish], *, egress: bool) -> list[NewEntry | NoEntry]:
    present = [entry for entry in acl.entries if entry.egress is egress]
    taken = {entry.number for entry in present}
    counts: dict[object, int] = defaultdict(lambda: 1)
    for entry in present:
        counts[entry.cidr.family] += entry.number <= LAST_ENTRY
    found: list[NewEntry | NoEntry] = []
    for wish in wishes:
        spans = _spans(wish.protocol, wish.ports)
        used = counts[wish.cidr.family]
        raised = used > ENTRIES
        limit = MOST_ENTRIES if raised else ENTRIES
        if used + len(spans) > limit:
            found.append(
                NoEntry(
                    wish.findings,
                    f"{acl.acl_id} has {used} of {limit} {'egress' if egress else 'ingress'} entries (the "
                    f"{'highest' if raised else 'default'} quota) and would need {len(spans)} more; join entries"
                    f"{'' if raised else ', or ask for a higher quota (L-2AEEBF1A)'}",
                )
            )
            continue
        numbers = _numbers(acl, wish, taken, len(spans), egress=egress)
        if numbers is None:
            found.append(
                NoEntry(
                    wish.findings,
                    f"no number is free in {acl.acl_id} before the entry that denies; renumber its entries",
                )
            )
            continue
        for number, span in zip(numbers, spans, strict=True):
            found.append(
                NewEntry(acl, number, egress, wish.protocol, span, wish.cidr, wish.findings, counts[wish.cidr.family])
            )
            counts[wish.cidr.family] += 1
            taken.add(number)
    return found


def _spans(protocol: str, ports: PortSet) -> list[tuple[int, int] | None]:
    if protocol in ("tcp", "udp"):
        return list(ports.ranges)
    if protocol in ("icmp", "icmpv6"):
        return list(icmp_messages(ports))
    return [None]


def _numbers(acl: NetworkAcl, wish: _Wish, taken: set[int], count: int, *, egress: bool) -> list[int] | None:
    """Find free numbers before the first entry that denies some of what is wanted, as high as they can be."""
    before = LAST_ENTRY + 1
    for entry in acl.entries:
        if entry.egress is egress and not entry.allow and _overlaps(entry.cidr, wish.cidr):
            denied = entry.matched(wish.protocol) if wish.protocol != "all" else ALL
            if denied & wish.ports:
                before = min(before, entry.number)
    free: list[int] = []
    number = before - 1
    while number > 0 and len(free) < count:
        if number not in taken:
            free.append(number)
        number -= 1
    return sorted(free) if len(free) == count else None


def _overlaps(one: Cidr, other: Cidr) -> bool:
    return one.family is other.family and one.first <= other.last and other.first <= one.last
