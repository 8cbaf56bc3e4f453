"""
A slow and plain judge of reachability that reads the raw snapshot, one pair at a time, apart from sgaudit.

It imports nothing of sgaudit, so that an error there can't be an error here. Whatever it decides is one of
three values, `BLOCKED < UNKNOWN < OPEN`: of several things that must all hold the least counts (`min`), of
several of which one is enough the greatest (`max`).

For every protocol the way back is that of an exchange of datagrams: each client port must get back. ICMP has
no client ports, so there its whole space of types and codes must get back.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

Raw = Mapping[str, Any]
Range = tuple[int, int]

BLOCKED, UNKNOWN, OPEN = 0, 1, 2
WORDS = ("blocked", "unknown", "open")

HIGHEST = 65535
CLIENT_PORTS: Range = (32768, 60999)

SHORTEST_PREFIX = {"ipv4": 16, "ipv6": 44}
"""No block of a VPC is larger (VPC user guide, VPC CIDR blocks): a route to a larger one never beats the local one."""

PASS, DROP, PERHAPS, MIDDLEBOX = "pass", "drop", "perhaps", "middlebox"
"""What a route does to a packet: brings it there, loses it, can't be known, hands it to an appliance."""


@dataclass(frozen=True)
class Outcome:
    """The ports that are open and those that are not surely blocked, as sorted ranges that don't touch."""

    open: tuple[Range, ...]
    possible: tuple[Range, ...]

    def verdict(self, wanted: Sequence[Range]) -> str:
        """Tell `open`, `blocked`, `partial` or `unknown` of a set of ports."""
        ends = {end for low, high in (*self.open, *self.possible, *wanted) for end in (low, high + 1)}
        asked = [low for low, _ in pieces(ends) if within(low, wanted)]
        if all(within(port, self.open) for port in asked):
            return "open"
        hopeful = [within(port, self.possible) for port in asked]
        if not any(hopeful):
            return "blocked"
        return "unknown" if all(hopeful) else "partial"


def within(port: int, ranges: Iterable[Range]) -> bool:
    """Tell whether one of the ranges holds a port."""
    return any(low <= port <= high for low, high in ranges)


def judge(
    document: Raw,
    source: str,
    target: str,
    *,
    protocol: str = "tcp",
    family: str = "ipv4",
    client_ports: Range = CLIENT_PORTS,
) -> Outcome:
    """Judge every port from one interface to another."""
    return Network(document).judge(source, target, protocol, family, client_ports)


def judge_port(
    document: Raw,
    source: str,
    target: str,
    protocol: str,
    port: int,
    *,
    family: str = "ipv4",
    client_ports: Range = CLIENT_PORTS,
) -> str:
    """Judge one port from one interface to another: `open`, `blocked` or `unknown`."""
    return WORDS[Network(document).pair(source, target, protocol, family, client_ports).decide(port)]


@cache
def address_of(text: str) -> int:
    return int(ipaddress.ip_address(text))


@cache
def block_of(text: str) -> tuple[str, int, int, int]:
    """Family, lowest address, highest address and prefix length of a CIDR, bits behind the prefix cleared."""
    block = ipaddress.ip_network(text, strict=False)
    family = "ipv4" if block.version == 4 else "ipv6"
    return family, int(block.network_address), int(block.broadcast_address), block.prefixlen


def holds(cidr: str, address: int, family: str) -> bool:
    """Tell whether a CIDR holds an address of that family."""
    its_family, low, high, _ = block_of(cidr)
    return its_family == family and low <= address <= high


def protocol_name(text: str) -> str:
    """Give the name of a protocol that has one here, whether it was given by name or by number."""
    return {"6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6"}.get(str(text).lower(), str(text).lower())


def message_matches(kind: int | None, code: int | None, point: int) -> bool:
    """Tell whether an ICMP type and code, -1 or nothing for any, match the point `type * 256 + code`."""
    if kind is None or kind == -1:
        return True
    return point // 256 == kind and (code is None or code == -1 or point % 256 == code)


def permission_covers(permission: Raw, protocol: str, port: int) -> bool:
    """Tell whether a row of a security group is about this protocol and port, its peers apart."""
    named = protocol_name(permission["IpProtocol"])
    if named == "-1":
        return True
    if named != protocol:
        return False
    low, high = permission.get("FromPort"), permission.get("ToPort")
    if named in ("icmp", "icmpv6"):
        return message_matches(low, high, port)
    if named in ("tcp", "udp"):
        return low is None or high is None or low == -1 or low <= port <= high
    return True


def entry_covers(entry: Raw, protocol: str, port: int) -> bool:
    """Tell whether an entry of a network ACL is about this protocol and port, its block apart."""
    named = protocol_name(entry["Protocol"])
    if named == "-1":
        return True
    if named != protocol:
        return False
    if named in ("icmp", "icmpv6"):
        message = entry.get("IcmpTypeCode") or {}
        return message_matches(message.get("Type"), message.get("Code"), port)
    if named in ("tcp", "udp") and entry.get("PortRange"):
        return bool(entry["PortRange"]["From"] <= port <= entry["PortRange"]["To"])
    return True


def acl_passes(acl: Raw | None, *, egress: bool, protocol: str, port: int, peer: int, family: str) -> int:
    """Let the first entry by number that matches decide; none matches: blocked; no ACL read: unknown."""
    if acl is None:
        return UNKNOWN
    for entry in acl["Entries"]:
        block = entry.get("CidrBlock") or entry.get("Ipv6CidrBlock")
        if entry["Egress"] == egress and holds(block, peer, family) and entry_covers(entry, protocol, port):
            return OPEN if entry["RuleAction"] == "allow" else BLOCKED
    return BLOCKED


def pieces(cuts: Iterable[int], low: int = 0, high: int = HIGHEST) -> Iterator[Range]:
    """Cut a range before each of the numbers: within a piece no rule can tell two ports apart."""
    starts = sorted({low} | {cut for cut in cuts if low < cut <= high})
    for start, following in zip(starts, [*starts[1:], high + 1], strict=True):
        yield start, following - 1


def joined(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Join sorted ranges that touch."""
    out: list[Range] = []
    for low, high in ranges:
        if out and out[-1][1] + 1 == low:
            out[-1] = (out[-1][0], high)
        else:
            out.append((low, high))
    return tuple(out)


def boundaries(low: int | None, high: int | None) -> set[int]:
    """Give the numbers at which a range begins and has ended, read as ports and as an ICMP type and code."""
    if low is None or low < 0:
        return set()
    code = -1 if high is None else high
    ends = {low, code + 1, low * 256, (low + 1) * 256, low * 256 + code, low * 256 + code + 1}
    return {end for end in ends if 0 <= end <= HIGHEST}


class Network:
    """The raw snapshot with its things by id. A key that is absent was not read: None."""

    def __init__(self, document: Raw) -> None:
        self.instances: dict[str, Raw] = {}
        self.interfaces: dict[str, Raw] = {}
        for reservation in document.get("Reservations") or ():
            for instance in reservation["Instances"]:
                self.instances[instance["InstanceId"]] = instance
                for interface in instance.get("NetworkInterfaces") or ():
                    attachment = {"InstanceId": instance["InstanceId"], **(interface.get("Attachment") or {})}
                    self.interfaces[interface["NetworkInterfaceId"]] = {**interface, "Attachment": attachment}
        for interface in document.get("NetworkInterfaces") or ():
            self.interfaces[interface["NetworkInterfaceId"]] = interface
        self.groups = {group["GroupId"]: group for group in document.get("SecurityGroups") or ()}
        self.acls = [
            {**acl, "Entries": sorted(acl["Entries"], key=lambda entry: int(entry["RuleNumber"]))}
            for acl in document.get("NetworkAcls") or ()
        ]
        self.tables: Sequence[Raw] = document.get("RouteTables") or ()
        self.vpcs = {vpc["VpcId"]: vpc for vpc in document.get("Vpcs") or ()}
        self.peerings = {
            peering["VpcPeeringConnectionId"]: peering for peering in document.get("VpcPeeringConnections") or ()
        }
        self.prefix_lists: Mapping[str, Sequence[Raw]] = document.get("PrefixListEntries") or {}

    def judge(
        self,
        source: str,
        target: str,
        protocol: str = "tcp",
        family: str = "ipv4",
        client_ports: Range = CLIENT_PORTS,
    ) -> Outcome:
        """Judge every port from one interface to another, one port for each piece between two boundaries."""
        pair = self.pair(source, target, protocol, family, client_ports)
        decided = [(piece, pair.decide(piece[0])) for piece in pieces(pair.cuts())]
        return Outcome(
            open=joined(piece for piece, value in decided if value == OPEN),
            possible=joined(piece for piece, value in decided if value != BLOCKED),
        )

    def pair(self, source: str, target: str, protocol: str, family: str, client_ports: Range) -> Pair:
        """Look up what doesn't depend on the port."""
        return Pair(
            self,
            (self.interfaces[source], self.interfaces[target]),
            protocol=protocol_name(protocol),
            family=family,
            client_ports=client_ports,
        )

    def address(self, interface: Raw, family: str) -> int | None:
        """Give the primary address of a family."""
        if family == "ipv6":
            six = interface.get("Ipv6Addresses") or ()
            first = [item for item in six if item.get("IsPrimaryIpv6")] + list(six)
            return address_of(first[0]["Ipv6Address"]) if first else None
        if interface.get("PrivateIpAddress"):
            return address_of(interface["PrivateIpAddress"])
        four = interface.get("PrivateIpAddresses") or ()
        first = [item for item in four if item.get("Primary")] + list(four)
        return address_of(first[0]["PrivateIpAddress"]) if first else None

    def groups_of(self, interface: Raw) -> Sequence[str] | None:
        """Give the ids of the groups on an interface; a primary one without its own has its instance's."""
        if interface.get("Groups") is not None:
            return [group["GroupId"] for group in interface["Groups"]]
        attachment = interface.get("Attachment") or {}
        instance = self.instances.get(attachment.get("InstanceId", ""), {})
        primary = attachment.get("DeviceIndex") == 0 and attachment.get("NetworkCardIndex", 0) == 0
        if primary and instance.get("SecurityGroups") is not None:
            return [group["GroupId"] for group in instance["SecurityGroups"]]
        return None

    def acl(self, interface: Raw) -> Raw | None:
        """Give the ACL of an interface's subnet: the one associated, else the default one of the VPC."""
        for acl in self.acls:
            if any(item["SubnetId"] == interface["SubnetId"] for item in acl.get("Associations") or ()):
                return acl
        for acl in self.acls:
            if acl["IsDefault"] and acl["VpcId"] == interface["VpcId"]:
                return acl
        return None

    def route_table(self, interface: Raw) -> Raw | None:
        """Give the route table of an interface's subnet: the one associated, else the main one of the VPC."""
        for table in self.tables:
            if any(item.get("SubnetId") == interface["SubnetId"] for item in table.get("Associations") or ()):
                return table
        for table in self.tables:
            main = any(item.get("Main") for item in table.get("Associations") or ())
            if main and table["VpcId"] == interface["VpcId"]:
                return table
        return None

    def admitted(self, pair: Pair, port: int, *, egress: bool) -> int:
        """Let the best of all rows of all groups of one end decide about the other end."""
        mine, theirs, peer = pair.ends(egress=egress)
        if mine is None:
            return UNKNOWN
        best = BLOCKED
        for group_id in mine:
            group = self.groups.get(group_id)
            if group is None:
                best = max(best, UNKNOWN)
                continue
            for permission in group.get("IpPermissionsEgress" if egress else "IpPermissions") or ():
                if permission_covers(permission, pair.protocol, port):
                    best = max(best, self.peer_matches(permission, group, theirs, peer, pair))
        return best

    def peer_matches(self, permission: Raw, holder: Raw, theirs: Sequence[str] | None, peer: int, pair: Pair) -> int:
        """Tell whether any of a row's peers is the other interface."""
        cidrs = [item["CidrIp"] for item in permission.get("IpRanges") or ()]
        cidrs += [item["CidrIpv6"] for item in permission.get("Ipv6Ranges") or ()]
        if any(holds(cidr, peer, pair.family) for cidr in cidrs):
            return OPEN
        best = BLOCKED
        for item in permission.get("PrefixListIds") or ():
            entries = self.prefix_lists.get(item["PrefixListId"])
            if entries is None:
                best = max(best, UNKNOWN)
            elif any(holds(entry["Cidr"], peer, pair.family) for entry in entries):
                best = OPEN
        if not pair.groups_lost:
            for reference in permission.get("UserIdGroupPairs") or ():
                best = max(best, self.group_matches(reference, holder, theirs))
        return best

    def group_matches(self, reference: Raw, holder: Raw, theirs: Sequence[str] | None) -> int:
        """Tell whether the other interface carries the group; a stale reference matches nothing."""
        if reference.get("PeeringStatus", "active") != "active":
            return BLOCKED
        group_id = reference.get("GroupId")
        if group_id is None:
            named = [
                group["GroupId"]
                for group in self.groups.values()
                if group["GroupName"] == reference["GroupName"] and group["VpcId"] == holder["VpcId"]
            ]
            if not named:
                return UNKNOWN
            group_id = named[0]
        if theirs is None:
            return UNKNOWN
        return OPEN if group_id in theirs else BLOCKED

    def hop(self, here: Raw, there: Raw, address: int, family: str) -> set[str]:
        """Tell all that the routes of one interface's subnet may do to a packet for the other's address."""
        table = self.route_table(here)
        if table is None:
            return {PERHAPS}
        routes = [route for route in table.get("Routes") or () if route.get("GatewayId") != "local"]
        found = [
            (block_of(cidr)[3], not route.get("DestinationPrefixListId"), route)
            for route in routes
            for cidr in self.destinations(route) or ()
            if holds(cidr, address, family)
        ]
        local = [block_of(cidr)[3] for cidr in self.local_blocks(table, here["VpcId"]) if holds(cidr, address, family)]
        best = max(found, key=lambda item: item[:2], default=None)
        same_vpc = here["VpcId"] == there["VpcId"]
        if best is None or (local and (max(local), True) > best[:2]):
            known = PASS if same_vpc else DROP
        elif same_vpc and not local and best[0] < SHORTEST_PREFIX[family]:
            known = PASS
        elif same_vpc and not local:
            known = PERHAPS
        else:
            known = self.carried(best[2], here["VpcId"], there["VpcId"], family)
        unread = [
            route
            for route in routes
            if self.destinations(route) is None and not (route.get("GatewayId") or "").startswith("vpce-")
        ]
        return {known} | {self.carried(route, here["VpcId"], there["VpcId"], family) for route in unread}

    def destinations(self, route: Raw) -> Sequence[str] | None:
        """Give the blocks that a route is for; None when they are in a prefix list that was not read."""
        if route.get("DestinationPrefixListId"):
            entries = self.prefix_lists.get(route["DestinationPrefixListId"])
            return None if entries is None else [entry["Cidr"] for entry in entries]
        return [route.get("DestinationCidrBlock") or route["DestinationIpv6CidrBlock"]]

    def local_blocks(self, table: Raw, vpc_id: str) -> list[str]:
        """Give the blocks that are local to a VPC, as the table lists them and as the VPC has them."""
        blocks = [
            route.get("DestinationCidrBlock") or route["DestinationIpv6CidrBlock"]
            for route in table.get("Routes") or ()
            if route.get("GatewayId") == "local"
        ]
        vpc = self.vpcs.get(vpc_id, {})
        blocks += [vpc["CidrBlock"]] if vpc.get("CidrBlock") else []
        blocks += [item["CidrBlock"] for item in vpc.get("CidrBlockAssociationSet") or ()]
        blocks += [item["Ipv6CidrBlock"] for item in vpc.get("Ipv6CidrBlockAssociationSet") or ()]
        return blocks

    def carried(self, route: Raw, here: str, there: str, family: str) -> str:
        """Tell what a route that isn't local does to a packet from one VPC to another, or within one."""
        gateway = route.get("GatewayId") or ""
        if route.get("State") == "blackhole":
            return DROP
        if route.get("NetworkInterfaceId") or route.get("InstanceId"):
            return MIDDLEBOX
        if gateway.startswith("vpce-"):
            # Only a Gateway Load Balancer endpoint can have a private address among its destinations.
            return MIDDLEBOX
        if here == there and not route.get("VpcPeeringConnectionId"):
            return MIDDLEBOX if route.get("NatGatewayId") else PERHAPS
        if gateway.startswith("igw-") or route.get("EgressOnlyInternetGatewayId"):
            return DROP if family == "ipv4" else PERHAPS
        return self.peered(route.get("VpcPeeringConnectionId"), here, there)

    def peered(self, peering_id: str | None, here: str, there: str) -> str:
        """Tell what a peering connection does to a packet from one VPC to another; none: can't be known."""
        peering = self.peerings.get(peering_id or "")
        if peering is None:
            return PERHAPS
        ends = {peering["RequesterVpcInfo"]["VpcId"], peering["AccepterVpcInfo"]["VpcId"]}
        return PASS if peering["Status"]["Code"] == "active" and ends == {here, there} else DROP


class Pair:
    """One interface that dials and one that is dialled."""

    def __init__(
        self, network: Network, ends: tuple[Raw, Raw], *, protocol: str, family: str, client_ports: Range
    ) -> None:
        source, target = ends
        self.network = network
        self.protocol = protocol
        self.family = family
        self.client_ports = (0, HIGHEST) if protocol in ("icmp", "icmpv6") else client_ports
        self.source_address = network.address(source, family)
        self.target_address = network.address(target, family)
        self.source_groups = network.groups_of(source)
        self.target_groups = network.groups_of(target)
        self.crosses = source["SubnetId"] != target["SubnetId"]
        self.source_acl = network.acl(source) if self.crosses else None
        self.target_acl = network.acl(target) if self.crosses else None
        self.routed, self.groups_lost = OPEN, False
        if self.source_address is None or self.target_address is None:
            self.routed = BLOCKED
        elif self.crosses:
            there = network.hop(source, target, self.target_address, family)
            back = network.hop(target, source, self.source_address, family)
            self.routed = min(self.known(there), self.known(back), self.returned())
            self.groups_lost = there - {DROP} == {MIDDLEBOX}

    @staticmethod
    def known(outcomes: set[str]) -> int:
        """Say what is sure whichever of the outcomes is the true one."""
        if outcomes == {PASS}:
            return OPEN
        return BLOCKED if outcomes == {DROP} else UNKNOWN

    def ends(self, *, egress: bool) -> tuple[Sequence[str] | None, Sequence[str] | None, int]:
        """Give the groups of the end that decides, those of the other end, and the other end's address."""
        assert self.source_address is not None
        assert self.target_address is not None
        if egress:
            return self.source_groups, self.target_groups, self.target_address
        return self.target_groups, self.source_groups, self.source_address

    def decide(self, port: int) -> int:
        """Decide one port: the routes and the way back, both ends' groups, and the ACLs between subnets."""
        if self.source_address is None or self.target_address is None:
            return BLOCKED
        out = self.network.admitted(self, port, egress=True)
        into = self.network.admitted(self, port, egress=False)
        return min(self.routed, out, into, self.forward(port) if self.crosses else OPEN)

    def forward(self, port: int) -> int:
        """Let both subnets' ACLs decide about the packet that opens the connection."""
        assert self.source_address is not None
        assert self.target_address is not None
        return min(
            self.passes(self.source_acl, port, self.target_address, egress=True),
            self.passes(self.target_acl, port, self.source_address, egress=False),
        )

    def returned(self) -> int:
        """Let both subnets' ACLs decide about the answers: to each of the client ports."""
        assert self.source_address is not None
        assert self.target_address is not None
        worst = OPEN
        for port, _ in pieces(self.cuts(), *self.client_ports):
            worst = min(
                worst,
                self.passes(self.target_acl, port, self.source_address, egress=True),
                self.passes(self.source_acl, port, self.target_address, egress=False),
            )
        return worst

    def passes(self, acl: Raw | None, port: int, peer: int, *, egress: bool) -> int:
        """Let one ACL decide about one port in one direction."""
        return acl_passes(acl, egress=egress, protocol=self.protocol, port=port, peer=peer, family=self.family)

    def cuts(self) -> set[int]:
        """Give every port at which a rule that is about this pair may begin to decide otherwise."""
        ranges: list[tuple[int | None, int | None]] = []
        for group_id in (*(self.source_groups or ()), *(self.target_groups or ())):
            group = self.network.groups.get(group_id, {})
            rows = (*(group.get("IpPermissions") or ()), *(group.get("IpPermissionsEgress") or ()))
            ranges += [(row.get("FromPort"), row.get("ToPort")) for row in rows]
        for acl in (self.source_acl, self.target_acl):
            for entry in (acl or {}).get("Entries") or ():
                ports, message = entry.get("PortRange") or {}, entry.get("IcmpTypeCode") or {}
                ranges += [(ports.get("From"), ports.get("To")), (message.get("Type"), message.get("Code"))]
        return {cut for low, high in ranges for cut in boundaries(low, high)}
