"""What a network ACL lets out of a subnet and into it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from sgaudit.ports import HIGHEST, LOWEST
from sgaudit.reach.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgaudit.model import AclEntry, Family, NetworkAcl, Snapshot
    from sgaudit.reach.nodes import Nodes
    from sgaudit.reach.steps import Segment

Decision = tuple[int, int]
"""The nodes about which entries decide, and those of them that they let pass."""
UNDECIDED: Decision = (0, 0)


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
        switched: dict[int, list[int]] = {LOWEST: [], HIGHEST + 1: []}
        for number, (ports, _, _) in enumerate(rows):
            for low, high in ports.ranges:
                switched.setdefault(low, []).append(number)
                switched.setdefault(high + 1, []).append(number)
        decisions = [(matched, matched if allow else 0) for _, matched, allow in rows]
        return Steps.join(self._sweep(decisions, switched))

    def _sweep(self, decisions: Sequence[Decision], switched: Mapping[int, Sequence[int]]) -> Iterator[Segment]:
        """
        Go from port to port and keep what the entries say together.

        They are the leaves of a tree, in the order in which they are asked, each switched on at the first
        of its ports and off behind the last: what changes is the way up from it.

        Args:
            decisions: what each entry says.
            switched: the entries that begin or end at a port.
        """
        size = 1 << (len(decisions) - 1).bit_length() if decisions else 1
        tree = [UNDECIDED] * (2 * size)
        for port, end in pairwise(sorted(switched)):
            for number in switched[port]:
                place = size + number
                tree[place] = decisions[number] if tree[place] is UNDECIDED else UNDECIDED
                while place > 1:
                    place >>= 1
                    tree[place] = self._first_match(tree[2 * place], tree[2 * place + 1])
            yield port, end - 1, tree[1][1]

    def _first_match(self, first: Decision, second: Decision) -> Decision:
        """Join what two runs of entries say, the second asked where the first does not decide."""
        if second is UNDECIDED:
            return first
        if first is UNDECIDED:
            return second
        return first[0] | second[0], first[1] | second[1] & ~first[0]
