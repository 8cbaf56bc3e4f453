"""Traces on random networks: they agree with the matrix, and the rules that they name are the ones that decide."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgaudit.model import AclEntry, Cidr, Family, Permission, RouteTarget, Snapshot
from sgaudit.ports import ALL, CLIENT_PORTS, NONE, PortSet
from sgaudit.reach.causes import Layer
from sgaudit.reach.matrix import Matrix, build
from sgaudit.reach.trace import trace
from sgaudit.reach.trace_values import Decision, Effect, Hop, Trace
from sgaudit.reach.verdict import Verdict, verdict_on
from sgaudit.selection import Interfaces, Selection, TagFilter, select
from sgaudit.snapshot import parse
from tests.networks import networks, random_network

pytestmark = pytest.mark.slow
CLUSTER = TagFilter.parse("cluster=train")
PROTOCOLS = {
    Family.IPV4: ("tcp", "udp", "icmp", "50", "all"),
    Family.IPV6: ("tcp", "udp", "icmpv6", "50", "all"),
}
ASKED = (ALL, PortSet.single(29500), PortSet.of([(22, 22), (1024, 65535)]), CLIENT_PORTS)
EXAMPLES = int(os.environ.get("SGAUDIT_EXAMPLES", "25"))
GROUPS = (Layer.EGRESS, Layer.INGRESS)
ROUTES = (Layer.ROUTE, Layer.RETURN_ROUTE)
ACLS = (Layer.ACL_OUT, Layer.ACL_IN, Layer.RETURN_OUT, Layer.RETURN_IN)
searching = settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def matrix_of(snapshot: Snapshot, family: Family) -> Matrix:
    chosen = Selection(tags=(CLUSTER,), include_stopped=True, interfaces=Interfaces.ALL, family=family)
    return build(snapshot, select(snapshot, chosen), family=family)


def pairs(matrix: Matrix) -> Iterator[tuple[int, int]]:
    for source in range(len(matrix.nodes)):
        for target in range(len(matrix.nodes)):
            if source != target:
                yield source, target


def disagreements(document: Mapping[str, Any]) -> Iterator[object]:
    """Compare ports and verdict of every trace with those of the matrix."""
    snapshot = parse(document)
    for family in Family:
        matrix = matrix_of(snapshot, family)
        for source, target in pairs(matrix):
            for protocol in PROTOCOLS[family]:
                opened = matrix.open_ports(source, target, protocol)
                possible = matrix.possible_ports(source, target, protocol)
                for ports in ASKED[:1] if protocol == "all" else ASKED:
                    found = trace(matrix, source, target, protocol, ports)
                    ours = (found.opened, found.possible, found.verdict)
                    theirs = (opened & ports, possible & ports, verdict_on(ports, opened, possible))
                    if ours != theirs:
                        yield family, source, target, protocol, str(ports), ours, theirs


@searching
@given(networks())
def test_trace_agrees_with_the_matrix(document: dict[str, Any]) -> None:
    """Open ports, possible ports and verdict of every pair, protocol and set of ports are those of the matrix."""
    assert list(disagreements(document)) == []


@pytest.mark.parametrize("seed", range(12))
def test_trace_agrees_on_fixed_networks(seed: int) -> None:
    """The same holds for networks that stay the same from run to run."""
    assert list(disagreements(random_network(seed))) == []


def mute(found: Trace) -> Iterator[str]:
    """Give the hops that stop something and name no blocker for it, or name one and stop nothing."""
    for hop in found.hops:
        stops = bool(found.asked - hop.passes)
        if stops != bool(hop.blockers):
            yield hop.layer
        sure = bool(found.asked - hop.may_pass)
        if sure != any(blocker.code.certain for blocker in hop.blockers):
            yield f"{hop.layer} for sure"


@searching
@given(networks())
def test_every_stop_has_a_blocker(document: dict[str, Any]) -> None:
    """Each hop that stops ports, or may, names a blocker; no other hop does; codes tell the sure from the unsure."""
    snapshot = parse(document)
    for family in Family:
        matrix = matrix_of(snapshot, family)
        for source, target in pairs(matrix):
            for protocol in PROTOCOLS[family]:
                found = trace(matrix, source, target, protocol, ALL)
                assert list(mute(found)) == []
                assert (found.verdict is Verdict.OPEN) == (not found.blockers)


# Changing rules


def with_permissions(snapshot: Snapshot, keep: Mapping[tuple[str, bool], frozenset[int]]) -> Snapshot:
    """Give the snapshot with those permissions alone, by group, direction and place."""
    groups = {
        group_id: replace(
            group,
            ingress=tuple(row for n, row in enumerate(group.ingress) if n in keep.get((group_id, False), ())),
            egress=tuple(row for n, row in enumerate(group.egress) if n in keep.get((group_id, True), ())),
        )
        for group_id, group in (snapshot.security_groups or {}).items()
    }
    return replace(snapshot, security_groups=groups if snapshot.security_groups is not None else None)


def named(snapshot: Snapshot, hops: list[Hop]) -> dict[tuple[str, bool], frozenset[int]]:
    """Give the places of the permissions that hops name as deciding."""
    found: dict[tuple[str, bool], frozenset[int]] = {}
    for hop in hops:
        for decision in hop.decisions:
            if isinstance(decision.rule, Permission) and decision.effect in (Effect.ALLOWS, Effect.UNKNOWN):
                group = (snapshot.security_groups or {})[decision.holder.id]
                rows = group.egress if hop.egress else group.ingress
                places = {n for n, row in enumerate(rows) if row is decision.rule}
                key = (group.group_id, hop.egress)
                found[key] = found.get(key, frozenset()) | places
    return found


def everything(snapshot: Snapshot) -> dict[tuple[str, bool], frozenset[int]]:
    return {
        (group_id, egress): frozenset(range(len(group.egress if egress else group.ingress)))
        for group_id, group in (snapshot.security_groups or {}).items()
        for egress in (True, False)
    }


def without(
    keep: Mapping[tuple[str, bool], frozenset[int]], drop: Mapping[tuple[str, bool], frozenset[int]]
) -> dict[tuple[str, bool], frozenset[int]]:
    return {key: places - drop.get(key, frozenset()) for key, places in keep.items()}


def ports_of(snapshot: Snapshot, found: Trace) -> tuple[PortSet, PortSet]:
    """Judge the same pair on another snapshot, by the matrix."""
    matrix = matrix_of(snapshot, found.matrix.family)
    ends = found.source.index, found.target.index
    return (
        matrix.open_ports(*ends, found.protocol) & found.asked,
        matrix.possible_ports(*ends, found.protocol) & found.asked,
    )


def some_trace(document: Mapping[str, Any], choose: Any) -> Trace | None:
    """Pick a pair and what is asked of it."""
    matrix = matrix_of(parse(document), choose(st.sampled_from(list(Family))))
    if len(matrix.nodes) < 2:
        return None
    source, target = choose(st.sampled_from(list(pairs(matrix))))
    protocol = choose(st.sampled_from(PROTOCOLS[matrix.family]))
    return trace(matrix, source, target, protocol, choose(st.sampled_from(ASKED)))


def group_hops(found: Trace) -> list[Hop]:
    return [hop for hop in found.hops if hop.layer in GROUPS]


@searching
@given(networks(), st.data())
def test_named_permissions_suffice(document: dict[str, Any], data: st.DataObject) -> None:
    """With every permission gone that a trace does not name, the same ports are open, and may be."""
    found = some_trace(document, data.draw)
    if found is not None:
        snapshot = found.matrix.snapshot
        kept = with_permissions(snapshot, named(snapshot, group_hops(found)))
        assert ports_of(kept, found) == (found.opened, found.possible)


@searching
@given(networks(), st.data())
def test_named_permissions_are_needed(document: dict[str, Any], data: st.DataObject) -> None:
    """With the permissions gone that one hop names, nothing passes that hop; adding them back opens what was open."""
    found = some_trace(document, data.draw)
    for hop in group_hops(found) if found is not None else ():
        assert found is not None
        snapshot = found.matrix.snapshot
        if any(decision.rule is None for decision in hop.decisions):
            continue
        rest = with_permissions(snapshot, without(everything(snapshot), named(snapshot, [hop])))
        assert ports_of(rest, found) == (NONE, NONE)
        again = trace(matrix_of(rest, found.matrix.family), found.source.index, found.target.index, found.protocol, ALL)
        assert hop.layer in {blocker.layer for blocker in again.blockers}


@searching
@given(networks(), st.data())
def test_each_named_permission_holds_its_ports(document: dict[str, Any], data: st.DataObject) -> None:
    """Without one named permission just those ports close that no other named one of its hop lets pass."""
    found = some_trace(document, data.draw)
    for hop in group_hops(found) if found is not None else ():
        assert found is not None
        snapshot = found.matrix.snapshot
        for decision in hop.decisions:
            if decision.effect is not Effect.ALLOWS:
                continue
            others = NONE
            for other in hop.decisions:
                if other is not decision and other.effect is Effect.ALLOWS:
                    others |= other.ports
            drop = named(snapshot, [replace(hop, decisions=(decision,))])
            opened, _ = ports_of(with_permissions(snapshot, without(everything(snapshot), drop)), found)
            # A group that both ends share, in both directions, never counts twice: directions are apart.
            assert opened == found.opened & others


def turned(snapshot: Snapshot, decision: Decision, hop: Hop) -> Snapshot:
    """Give the snapshot with one entry of a network ACL turned from allow to deny or back."""
    acls = dict(snapshot.network_acls or {})
    acl = acls[decision.holder.id]
    if decision.rule is None:
        last = [
            AclEntry(32766, hop.egress, allow=True, protocol="-1", ports=ALL, cidr=cidr)
            for cidr in map(everywhere, Family)
        ]
        entries: tuple[AclEntry, ...] = (*acl.entries, *last)
    else:
        entries = tuple(
            replace(entry, allow=not entry.allow) if entry is decision.rule else entry for entry in acl.entries
        )
    acls[acl.acl_id] = replace(acl, entries=entries)
    return replace(snapshot, network_acls=acls)


def everywhere(family: Family) -> Cidr:
    return Cidr(family, 0, 0)


@searching
@given(networks(), st.data())
def test_named_entries_decide(document: dict[str, Any], data: st.DataObject) -> None:
    """Turning one named entry of an ACL turns, at its hop, the ports for which it is named, and no others."""
    found = some_trace(document, data.draw)
    if found is None or found.protocol == "all":
        return
    for place, hop in enumerate(found.hops):
        for decision in hop.decisions if hop.layer in ACLS else ():
            if decision.effect is Effect.UNKNOWN:
                continue
            after = matrix_of(turned(found.matrix.snapshot, decision, hop), found.matrix.family)
            now = trace(after, found.source.index, found.target.index, found.protocol, found.asked).hops[place]
            before = {allows: union(hop, Effect.ALLOWS if allows else Effect.DENIES) for allows in (True, False)}
            allowed = decision.effect is Effect.ALLOWS
            assert union(now, Effect.DENIES) == (
                before[False] | decision.ports if allowed else before[False] - decision.ports
            )
            assert union(now, Effect.ALLOWS) == (
                before[True] - decision.ports if allowed else before[True] | decision.ports
            )


def with_routes(snapshot: Snapshot, hop: Hop) -> Snapshot:
    """Give the snapshot with the local routes and those alone, in one route table, that a hop names."""
    tables = dict(snapshot.route_tables or {})
    table = tables[hop.resource.id]
    named = [decision.rule for decision in hop.decisions]
    kept = tuple(
        item for item in table.routes if item.target is RouteTarget.LOCAL or any(item is route for route in named)
    )
    tables[table.route_table_id] = replace(table, routes=kept)
    return replace(snapshot, route_tables=tables)


@searching
@given(networks())
def test_named_routes_decide(document: dict[str, Any]) -> None:
    """With every route gone that a hop does not name, local ones apart, the hop comes to the same."""
    for family in Family:
        matrix = matrix_of(parse(document), family)
        for source, target in pairs(matrix):
            found = trace(matrix, source, target, "tcp", CLIENT_PORTS)
            for place, hop in enumerate(found.hops):
                sure = all(blocker.code.certain for blocker in hop.blockers)
                if hop.layer in ROUTES and not hop.skipped and sure:
                    after = matrix_of(with_routes(matrix.snapshot, hop), family)
                    now = trace(after, source, target, "tcp", CLIENT_PORTS).hops[place]
                    assert now == hop


def union(hop: Hop, effect: Effect) -> PortSet:
    found = NONE
    for decision in hop.decisions:
        if decision.effect is effect:
            found |= decision.ports
    return found
