"""
What the twin of a raw snapshot is made of: hosts, packet filters as nftables text, routes as iproute2 lines.

It reads the raw document and imports nothing of sgaudit, so that an error there can't be an error here. What the
document doesn't say has no effect in the twin: pairs whose verdict depends on it are not certain and not compared.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Raw = Mapping[str, Any]

NUMBERS = {"tcp": "6", "udp": "17", "icmp": "1", "icmpv6": "58"}
FAMILIES = {4: "ip", 6: "ip6"}
NEIGHBOUR_DISCOVERY = "icmpv6 type { 133, 134, 135, 136 } accept"
NO_TRACKING = "chain untracked { type filter hook prerouting priority -300; notrack; }"
FIRST_TABLE = 100
LARGEST = {4: 16, 6: 44}
"""The shortest prefix that a block of a VPC can have."""


@dataclass(frozen=True)
class Host:
    """One interface of the snapshot."""

    interface_id: str
    vpc_id: str
    subnet_id: str
    addresses: tuple[str, ...]
    """The primary of each family first."""
    groups: tuple[str, ...]


@dataclass(frozen=True)
class Router:
    """What stands between the subnets of a VPC, and between it and those that it is peered with."""

    vpc_id: str
    subnets: tuple[str, ...]
    peers: tuple[str, ...]
    """The VPCs with an active peering connection, each a leg."""


class World:
    """The raw snapshot with its things by id, and the text of every filter and route."""

    def __init__(self, document: Raw, chosen: Sequence[str]) -> None:
        self.document = document
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
        self.lists: Mapping[str, Sequence[Raw]] = document.get("PrefixListEntries") or {}
        self.everyone = {key: self._host(raw) for key, raw in self.interfaces.items() if raw.get("SubnetId")}
        self.hosts = tuple(self.everyone[interface_id] for interface_id in chosen)
        self.peerings = {
            raw["VpcPeeringConnectionId"]: raw for raw in document.get("VpcPeeringConnections") or () if active(raw)
        }
        vpcs = dict.fromkeys(host.vpc_id for host in self.hosts)
        self.routers = tuple(
            Router(
                vpc,
                tuple(dict.fromkeys(host.subnet_id for host in self.hosts if host.vpc_id == vpc)),
                tuple(other for other in vpcs if other != vpc and self.peering(vpc, other)),
            )
            for vpc in vpcs
        )

    def _host(self, raw: Raw) -> Host:
        four = [item["PrivateIpAddress"] for item in by_mark(raw.get("PrivateIpAddresses"), "Primary")]
        if raw.get("PrivateIpAddress"):
            four.insert(0, raw["PrivateIpAddress"])
        six = [item["Ipv6Address"] for item in by_mark(raw.get("Ipv6Addresses"), "IsPrimaryIpv6")]
        return Host(
            raw["NetworkInterfaceId"],
            raw["VpcId"],
            raw["SubnetId"],
            tuple(dict.fromkeys([*four, *six])),
            tuple(self._groups_of(raw)),
        )

    def _groups_of(self, raw: Raw) -> Iterator[str]:
        attachment = raw.get("Attachment") or {}
        listed = raw.get("Groups")
        if listed is None and attachment.get("DeviceIndex") == 0 and attachment.get("NetworkCardIndex", 0) == 0:
            listed = self.instances.get(attachment.get("InstanceId", ""), {}).get("SecurityGroups")
        for group in listed or ():
            yield group["GroupId"]

    def peering(self, one: str, other: str) -> str | None:
        """Give the id of the active peering connection of two VPCs."""
        ends = {one, other}
        found = (
            str(peering_id)
            for peering_id, raw in self.peerings.items()
            if {raw["RequesterVpcInfo"]["VpcId"], raw["AccepterVpcInfo"]["VpcId"]} == ends
        )
        return next(found, None)

    # Security groups

    def host_filter(self, host: Host) -> str:
        """Give the stateful chains of an interface: what its groups let in and out, and the answers."""
        lines = ["table inet twin {"]
        for chain, device, egress in (("input", "iifname", False), ("output", "oifname", True)):
            lines += [
                f"chain {chain} {{",
                f"type filter hook {chain} priority 0; policy drop;",
                f'{device} "lo" accept',
                NEIGHBOUR_DISCOVERY,
                "ct state established,related accept",
            ]
            lines += dict.fromkeys(self.permissions(host, egress=egress))
            lines.append("}")
        return "\n".join([*lines, "}", ""])

    def permissions(self, host: Host, *, egress: bool) -> Iterator[str]:
        """Give an accepting rule for each peer of each row of each group on an interface."""
        side = "daddr" if egress else "saddr"
        for group_id in host.groups:
            holder = self.groups.get(group_id, {})
            for row in holder.get("IpPermissionsEgress" if egress else "IpPermissions") or ():
                kind = permission_match(row)
                for peer in self.peers(row, holder, host, side):
                    yield " ".join(word for word in (peer, kind, "accept") if word)

    def peers(self, row: Raw, holder: Raw, near: Host, side: str) -> Iterator[str]:
        """Give a match for each peer of a row of one of the groups on an interface."""
        blocks = [item["CidrIp"] for item in row.get("IpRanges") or ()]
        blocks += [item["CidrIpv6"] for item in row.get("Ipv6Ranges") or ()]
        for item in row.get("PrefixListIds") or ():
            blocks += [entry["Cidr"] for entry in self.lists.get(item["PrefixListId"]) or ()]
        for block in blocks:
            yield block_match(block, side)
        for reference in row.get("UserIdGroupPairs") or ():
            for version, word in FAMILIES.items():
                found = [item for item in self.carriers(reference, holder, near) if version_of(item) == version]
                if found:
                    yield f"{word} {side} {{ {', '.join(found)} }}"

    def carriers(self, reference: Raw, holder: Raw, near: Host) -> list[str]:
        """Give the private addresses of the interfaces that carry a group, in the VPC or one it is peered with."""
        if reference.get("PeeringStatus", "active") != "active":
            return []
        group_id = reference.get("GroupId")
        if group_id is None:
            named = [
                group["GroupId"]
                for group in self.groups.values()
                if (group["GroupName"], group["VpcId"]) == (reference.get("GroupName"), holder["VpcId"])
            ]
            group_id = next(iter(named), None)
        found = [
            item
            for host in self.everyone.values()
            if group_id in host.groups and (host.vpc_id == near.vpc_id or self.peering(host.vpc_id, near.vpc_id))
            for item in host.addresses
        ]
        return list(dict.fromkeys(found))

    # Network ACLs

    def router_filter(self, router: Router) -> str:
        """
        Give the stateless chains of a router: at each leg, the ACL of its subnet.

        A packet passes the ACL of the subnet that it leaves, then that of the subnet that it enters, each time
        anew: nothing is remembered.
        """
        lines = ["table inet twin {", NO_TRACKING]
        for number, subnet in enumerate(router.subnets):
            for name, egress in (("out", True), ("in", False)):
                lines += [f"chain {name}{number} {{", *self.entries(subnet, router.vpc_id, egress=egress), "}"]
        lines += ["chain forward {", "type filter hook forward priority 0; policy accept;"]
        lines += [f'iifname "br{number}" jump out{number}' for number in range(len(router.subnets))]
        lines += [f'oifname "br{number}" jump in{number}' for number in range(len(router.subnets))]
        return "\n".join([*lines, "}", "}", ""])

    def entries(self, subnet_id: str, vpc_id: str, *, egress: bool) -> Iterator[str]:
        """Give the entries of a subnet's ACL in number order, and the deny at its end."""
        acl = self.acl(subnet_id, vpc_id)
        if acl is None:
            return
        for entry in sorted(acl["Entries"], key=lambda item: int(item["RuleNumber"])):
            if bool(entry["Egress"]) is egress:
                block = block_match(entry.get("CidrBlock") or entry["Ipv6CidrBlock"], "daddr" if egress else "saddr")
                verdict = "return" if entry["RuleAction"] == "allow" else "drop"
                yield " ".join(word for word in (block, entry_match(entry), verdict) if word)
        yield "drop"

    def acl(self, subnet_id: str, vpc_id: str) -> Raw | None:
        """Give the ACL of a subnet: the one associated, else the default one of the VPC."""
        listed = self.document.get("NetworkAcls") or ()
        own = [
            acl for acl in listed if any(item.get("SubnetId") == subnet_id for item in acl.get("Associations") or ())
        ]
        default = [acl for acl in listed if acl["IsDefault"] and acl["VpcId"] == vpc_id]
        return next(iter([*own, *default]), None)

    # Routes

    def routes(self, router: Router, subnet_id: str) -> Iterator[tuple[str, str]]:
        """
        Give destination and target of each route of a subnet: `local`, `blackhole`, or the VPC behind a peering.

        Whatever isn't among these is a blackhole: no pair behind it is certain, or it is lost on AWS as well.
        """
        table = self.route_table(subnet_id, router.vpc_id) or {}
        found: dict[str, str] = {}
        listed = sorted(table.get("Routes") or (), key=lambda route: bool(route.get("DestinationPrefixListId")))
        for route in listed:
            for block in self.destinations(route):
                found.setdefault(canonical(block), self.target(route, router))
        for block in self.local_blocks(router.vpc_id):
            found.setdefault(canonical(block), "local")
        # The local route is there even where the snapshot doesn't list it; no VPC's block is larger than these.
        taken = [block for block in map(ipaddress.ip_network, found) if block.prefixlen >= LARGEST[block.version]]
        for host in self.hosts:
            if host.vpc_id == router.vpc_id:
                for address in host.addresses:
                    if not any(ipaddress.ip_address(address) in block for block in taken):
                        found[canonical(address)] = "local"
        yield from found.items()

    def destinations(self, route: Raw) -> Iterable[str]:
        """Give the blocks that a route is for."""
        if route.get("DestinationPrefixListId"):
            return [entry["Cidr"] for entry in self.lists.get(route["DestinationPrefixListId"]) or ()]
        return [route.get("DestinationCidrBlock") or route["DestinationIpv6CidrBlock"]]

    def target(self, route: Raw, router: Router) -> str:
        """Say where a route leads."""
        if route.get("State", "active") != "active":
            return "blackhole"
        if route.get("GatewayId") == "local":
            return "local"
        peering = self.peerings.get(route.get("VpcPeeringConnectionId") or "", {})
        for side in ("RequesterVpcInfo", "AccepterVpcInfo"):
            other = peering.get(side, {}).get("VpcId")
            if other in router.peers and self.peering(router.vpc_id, other) == route["VpcPeeringConnectionId"]:
                return str(other)
        return "blackhole"

    def route_table(self, subnet_id: str, vpc_id: str) -> Raw | None:
        """Give the route table of a subnet: the one associated, else the main one of the VPC."""
        listed = self.document.get("RouteTables") or ()
        own = [
            table
            for table in listed
            if any(item.get("SubnetId") == subnet_id for item in table.get("Associations") or ())
        ]
        main = [
            table
            for table in listed
            if table["VpcId"] == vpc_id and any(item.get("Main") for item in table.get("Associations") or ())
        ]
        return next(iter([*own, *main]), None)

    def local_blocks(self, vpc_id: str) -> list[str]:
        """Give the blocks of a VPC."""
        vpc: Raw = next((raw for raw in self.document.get("Vpcs") or () if raw["VpcId"] == vpc_id), {})
        blocks = [vpc["CidrBlock"]] if vpc.get("CidrBlock") else []
        blocks += [item["CidrBlock"] for item in vpc.get("CidrBlockAssociationSet") or ()]
        return blocks + [item["Ipv6CidrBlock"] for item in vpc.get("Ipv6CidrBlockAssociationSet") or ()]


def active(peering: Raw) -> bool:
    """Tell whether a peering connection carries packets."""
    return bool((peering.get("Status") or {}).get("Code") == "active")


def by_mark(items: Iterable[Raw] | None, mark: str) -> list[Raw]:
    """Put what is marked first."""
    return sorted(items or (), key=lambda item: not item.get(mark))


def version_of(address: str) -> int:
    """Tell 4 or 6."""
    return 6 if ":" in address else 4


def canonical(block: str) -> str:
    """Give a block without the bits behind its prefix."""
    return str(ipaddress.ip_network(block, strict=False))


def block_match(block: str, side: str) -> str:
    """Match the addresses of a block."""
    found = ipaddress.ip_network(block, strict=False)
    if not found.prefixlen:
        return f"meta nfproto ipv{found.version}"
    return f"{FAMILIES[found.version]} {side} {found}"


def permission_match(row: Raw) -> str:
    """Match the protocol and ports of a row of a security group."""
    return traffic_match(row["IpProtocol"], row.get("FromPort"), row.get("ToPort"))


def entry_match(entry: Raw) -> str:
    """Match the protocol and ports of an entry of a network ACL."""
    ports, message = entry.get("PortRange") or {}, entry.get("IcmpTypeCode") or {}
    if NUMBERS.get(entry["Protocol"], entry["Protocol"]) in ("1", "58"):
        return traffic_match(entry["Protocol"], message.get("Type"), message.get("Code"))
    return traffic_match(entry["Protocol"], ports.get("From"), ports.get("To"))


def traffic_match(protocol: str, low: int | None, high: int | None) -> str:
    """Match a protocol, by name or number, and its ports or its type and code."""
    number = NUMBERS.get(str(protocol).lower(), str(protocol))
    if number == "-1":
        return ""
    known = f"meta l4proto {number}"
    if low is None or low == -1:
        return known
    if number in ("6", "17") and high is not None:
        return f"{known} th dport {low}-{high}" if low < high else f"{known} th dport {low}"
    if number in ("1", "58"):
        word = "icmp" if number == "1" else "icmpv6"
        return f"{known} {word} type {low}" + ("" if high in (None, -1) else f" {word} code {high}")
    return known
