"""
Where the routes of a subnet take a packet.

Inside one subnet no route is asked. Inside one VPC the local route always exists; a route that is more
specific can lead through a middlebox (VPC user guide, route priority and middlebox routes). Between VPCs
the longest prefix must lead over an active peering connection to the VPC of the target.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from sgaudit.model import Cidr, Family, Route, RouteTarget

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sgaudit.model import RouteTable, Snapshot
    from sgaudit.reach.nodes import Nodes

SHORTEST_VPC_PREFIX = {Family.IPV4: 16, Family.IPV6: 44}
"""No VPC has a larger block (VPC user guide, VPC CIDR blocks), so no local route has a shorter prefix."""


@dataclass(frozen=True, slots=True)
class Leads:
    """What becomes of packets from one subnet, as sets of target nodes; those in none are not reached."""

    direct: int
    """Surely and without a detour."""
    middlebox: int
    """At least perhaps through an appliance: what it lets pass can't be read."""
    unknown: int
    """Perhaps without an appliance on the way."""

    @property
    def reached(self) -> int:
        """The targets that may be reached, by whichever way."""
        return self.direct | self.middlebox | self.unknown


@dataclass(frozen=True)
class RouteFilters:
    """The leads of every subnet that holds a node."""

    snapshot: Snapshot
    nodes: Nodes

    @cached_property
    def leads(self) -> tuple[Leads, ...]:
        """One for each of `nodes.subnets`."""
        return tuple(
            self._of_subnet(subnet_id, vpc_id, inside)
            for (subnet_id, vpc_id), inside in zip(self.nodes.subnets, self.nodes.by_subnet, strict=True)
        )

    def _of_subnet(self, subnet_id: str, vpc_id: str, inside: int) -> Leads:
        addressed = self.nodes.addressed
        neighbours = inside & addressed if subnet_id else 0
        open_ended = addressed & ~neighbours
        if not open_ended:
            return Leads(neighbours, 0, 0)
        table = self.snapshot.route_table(subnet_id, vpc_id)
        if table is None:
            return Leads(neighbours, 0, open_ended)
        leads = self._judge(table, vpc_id, neighbours, open_ended)
        for route in table.routes:
            if unreadable(self.snapshot, route):
                leads = self._perhaps(leads, route, vpc_id, open_ended)
        return leads

    def _perhaps(self, leads: Leads, route: Route, vpc_id: str, targets: int) -> Leads:
        """Reckon with a route that may match any target, since its prefix list could not be read."""
        outcome = defaultdict(int, self._outcome(route, targets, vpc_id))
        sure = leads.direct & (outcome["direct"] | ~targets)
        doubtful = (leads.direct | outcome["direct"] | leads.unknown | outcome["unknown"]) & ~sure
        return Leads(sure, leads.middlebox | outcome["middlebox"], doubtful)

    def _judge(self, table: RouteTable, vpc_id: str, neighbours: int, undecided: int) -> Leads:
        own = self.nodes.by_vpc.get(vpc_id, 0)
        routes = list(self._routes(table, vpc_id))
        covered = 0
        for cidr in (*self._blocks(vpc_id), *(cidr for cidr, route in routes if route.target is RouteTarget.LOCAL)):
            covered |= self.nodes.within(cidr)
        direct, middlebox, unknown = neighbours, 0, 0
        for (prefix, _), group in groupby(sorted(routes, key=precedence, reverse=True), precedence):
            now = self._outcomes([(self.nodes.within(cidr) & undecided, route) for cidr, route in group], vpc_id)
            if prefix >= SHORTEST_VPC_PREFIX[self.nodes.family]:
                # Where the local route itself was not read, it may be longer or shorter than this one.
                now["unknown"] |= now["matched"] & own & ~covered
            else:
                now["direct"] |= now["matched"] & own & ~covered
            direct |= now["direct"] & ~now["unknown"]
            middlebox |= now["middlebox"] & ~now["unknown"] & ~now["direct"]
            unknown |= now["unknown"]
            undecided &= ~now["matched"]
        return Leads(direct | undecided & own, middlebox, unknown)

    def _routes(self, table: RouteTable, vpc_id: str) -> Iterator[tuple[Cidr, Route]]:
        taken: set[Cidr] = set()
        for route in table.routes:
            for cidr in self._destinations(route):
                if route.destination is not None:
                    taken.add(cidr)
                yield cidr, route
        for cidr in self._blocks(vpc_id):
            if cidr not in taken:
                yield cidr, Route(cidr, "", RouteTarget.LOCAL, "local", "active")

    def _blocks(self, vpc_id: str) -> list[Cidr]:
        vpc = (self.snapshot.vpcs or {}).get(vpc_id)
        return [cidr for cidr in vpc.cidrs if cidr.family is self.nodes.family] if vpc else []

    def _destinations(self, route: Route) -> Iterable[Cidr]:
        if route.target is RouteTarget.GATEWAY_ENDPOINT:
            return ()
        return (cidr for cidr in destinations(self.snapshot, route) if cidr.family is self.nodes.family)

    def _outcomes(self, rows: list[tuple[int, Route]], vpc_id: str) -> dict[str, int]:
        """Merge the routes of one prefix length; where two of them disagree the outcome is not known."""
        now: dict[str, int] = defaultdict(int)
        for targets, route in rows:
            outcomes = self._outcome(route, targets, vpc_id)
            for word, found in outcomes.items():
                twice = found & now["matched"] & ~now[word]
                now["unknown"] |= twice
                now[word] |= found
            now["matched"] |= targets
        return now

    def _outcome(self, route: Route, targets: int, vpc_id: str) -> dict[str, int]:
        """Tell where one route takes the packets that it matches."""
        if route.state != "active":
            return {"dropped" if route.state == "blackhole" else "unknown": targets}
        match route.target:
            case RouteTarget.LOCAL:
                own = targets & self.nodes.by_vpc.get(vpc_id, 0)
                return {"direct": own, "dropped": targets & ~own}
            case RouteTarget.MIDDLEBOX | RouteTarget.NAT_GATEWAY:
                own = targets if route.target is RouteTarget.MIDDLEBOX else targets & self.nodes.by_vpc.get(vpc_id, 0)
                return {"middlebox": own, "unknown": targets & ~own}
            case RouteTarget.PEERING:
                return self._over_peering(route, targets, vpc_id)
            case RouteTarget.INTERNET_GATEWAY if self.nodes.family is Family.IPV4:
                return {"dropped": targets}
            case _:
                return {"unknown": targets}

    def _over_peering(self, route: Route, targets: int, vpc_id: str) -> dict[str, int]:
        peering = (self.snapshot.peerings or {}).get(route.target_id)
        if peering is None:
            return {"unknown": targets}
        beyond = 0
        if peering.status == "active":
            for side in (peering.requester.vpc_id, peering.accepter.vpc_id):
                if side != vpc_id and peering.joins(side, vpc_id):
                    beyond |= self.nodes.by_vpc.get(side, 0)
        return {"direct": targets & beyond, "dropped": targets & ~beyond}


def local_blocks(snapshot: Snapshot, vpc_id: str) -> list[Cidr]:
    """List the blocks of a VPC, as it or its local routes tell them."""
    vpc = (snapshot.vpcs or {}).get(vpc_id)
    found = list(vpc.cidrs) if vpc else []
    for table in (snapshot.route_tables or {}).values():
        if table.vpc_id == vpc_id:
            found += [row.destination for row in table.routes if row.target is RouteTarget.LOCAL and row.destination]
    return list(dict.fromkeys(found))


def destinations(snapshot: Snapshot, route: Route) -> Sequence[Cidr]:
    """List the blocks that a route is for: its own, or those of its prefix list, none where that was not read."""
    if route.destination is not None:
        return (route.destination,)
    return snapshot.prefix_lists.get(route.prefix_list_id, ())


def unreadable(snapshot: Snapshot, route: Route) -> bool:
    """Tell whether a route may match any address, since its prefix list was not read; gateway endpoints take none."""
    return (
        route.destination is None
        and route.target is not RouteTarget.GATEWAY_ENDPOINT
        and route.prefix_list_id not in snapshot.prefix_lists
    )


def precedence(row: tuple[Cidr, Route]) -> tuple[int, bool]:
    """
    Rank a route at one of its destinations; the greatest of those that match takes the packet.

    The longest prefix goes first. Of equal ones a route to a CIDR block goes before one to a prefix list
    (https://docs.aws.amazon.com/vpc/latest/userguide/route-tables-priority.html).
    """
    cidr, route = row
    return cidr.prefix, route.destination is not None


def winning_route(
    snapshot: Snapshot, subnet_id: str, vpc_id: str, family: Family, address: int
) -> tuple[Cidr, Route] | None:
    """Tell which route of a subnet takes a packet to an address, the local route apart where it is not listed."""
    table = snapshot.route_table(subnet_id, vpc_id)
    best: tuple[Cidr, Route] | None = None
    for route in table.routes if table else ():
        for cidr in destinations(snapshot, route):
            row = cidr, route
            if cidr.family is family and address in cidr and (best is None or precedence(row) > precedence(best)):
                best = row
    return best
