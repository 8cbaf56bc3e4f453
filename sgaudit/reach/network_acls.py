"""What a network ACL lets out of a subnet and into it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from sgaudit.ports import HIGHEST, LOWEST
from sgaudit.reach.steps import Steps

if TYPE_CHECKING:
    from sgaudit.model import AclEntry, Family, NetworkAcl, Snapshot
    from sgaudit.ports import PortSet
    from sgaudit.reach.nodes import Nodes


def entries_for(acl: NetworkAcl, family: Family, *, egress: bool) -> list[AclEntry]:
    """List the entries that see a packet, in the order in which they are asked."""
    return [entry for entry in acl.entries if entry.egress is egress and entry.cidr.family is family]


def deciding_entry(
    acl: NetworkAcl, family: Family, protocol: str, port: int, address: int, *, egress: bool
) -> AclEntry | None:
    """Tell which entry decides about a packet; None means the deny at the end that every ACL has."""
    for entry in entries_for(acl, family, egress=egress):
        if port in entry.matched(protocol) and address in entry.cidr:
            return entry
    return None


@dataclass(frozen=True)
class AclFilters:
    """The answer of every subnet's network ACL, as functions from ports to nodes."""

    snapshot: Snapshot
    nodes: Nodes
    possible: bool
    """An ACL that could not be read lets everything through, instead of nothing."""
    _known: dict[tuple[str, bool, str], Steps] = field(default_factory=dict, repr=False)

    def steps(self, subnet: tuple[str, str], protocol: str, *, egress: bool) -> Steps:
        """Tell to which nodes a packet may leave a subnet (id and VPC id), or from which it may enter."""
        acl = self.snapshot.network_acl(*subnet)
        if acl is None:
            return Steps.constant(self.nodes.addressed if self.possible else 0)
        key = (acl.acl_id, egress, protocol)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._evaluate(acl, protocol, egress=egress)
        return found

    def _evaluate(self, acl: NetworkAcl, protocol: str, *, egress: bool) -> Steps:
        rows = [
            (entry.matched(protocol), self.nodes.within(entry.cidr), entry.allow)
            for entry in entries_for(acl, self.nodes.family, egress=egress)
        ]
        rows = [row for row in rows if row[0] and row[1]]
        edges = {LOWEST, HIGHEST + 1}
        for ports, _, _ in rows:
            for low, high in ports.ranges:
                edges |= {low, high + 1}
        ordered = sorted(edges)
        return Steps.join((start, end - 1, self._first_match(rows, start)) for start, end in pairwise(ordered))

    def _first_match(self, rows: list[tuple[PortSet, int, bool]], port: int) -> int:
        allowed = 0
        undecided = self.nodes.addressed
        for ports, matched, allow in rows:
            if port in ports:
                if allow:
                    allowed |= undecided & matched
                undecided &= ~matched
        return allowed
