"""
A slow and plain judge of exposure: one address, one port, one interface at a time, on the raw snapshot.

It imports nothing of sgaudit and nothing of the tests, so that an error there can't be an error here. Values are
`BLOCKED < UNKNOWN < OPEN`: of things that must all hold the least counts, of alternatives the greatest.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

Raw = Mapping[str, Any]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Block = ipaddress.IPv4Network | ipaddress.IPv6Network

BLOCKED, UNKNOWN, OPEN = 0, 1, 2

NAMES = {"6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6"}
NOT_PUBLIC = [
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
]


@cache
def block(text: str) -> Block:
    return ipaddress.ip_network(text, strict=False)


def name(protocol: str) -> str:
    return NAMES.get(str(protocol).lower(), str(protocol).lower())


def public_number(address: Address) -> bool:
    """Tell whether an address is one of the internet's, by its number."""
    if address.version == 6:
        return int(address) >> 125 == 1
    return not any(address in item for item in NOT_PUBLIC)


class World:
    """A raw snapshot, asked about strangers."""

    def __init__(self, document: Raw) -> None:
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
        self.subnets = {subnet["SubnetId"]: subnet for subnet in document.get("Subnets") or ()}
        self.lists: Mapping[str, Any] = document.get("PrefixListEntries") or {}

    def groups_of(self, interface: Raw) -> list[str] | None:
        """Give the ids of an interface's groups; the primary one may have them from its instance."""
        if interface.get("Groups") is not None:
            return [group["GroupId"] for group in interface["Groups"]]
        attachment = interface["Attachment"]
        instance = self.instances.get(attachment.get("InstanceId"), {})
        primary = attachment.get("DeviceIndex") == 0 and attachment.get("NetworkCardIndex", 0) == 0
        if primary and instance.get("SecurityGroups") is not None:
            return [group["GroupId"] for group in instance["SecurityGroups"]]
        return None

    def addresses(self, interface: Raw) -> list[Address]:
        """List the private addresses of an interface, those of both families, and its public one."""
        texts = [item["PrivateIpAddress"] for item in interface.get("PrivateIpAddresses") or ()]
        texts += [interface[key] for key in ("PrivateIpAddress",) if interface.get(key)]
        texts += [item["Ipv6Address"] for item in interface.get("Ipv6Addresses") or ()]
        texts += [interface["Association"]["PublicIp"]] if interface.get("Association") else []
        return [ipaddress.ip_address(text) for text in texts]

    def of_subnet(self, key: str, interface: Raw) -> Raw | None:
        """Give the network ACL or the route table of an interface's subnet, else its VPC's default or main one."""
        items = self.document.get(key) or ()
        for item in items:
            if any(one.get("SubnetId") == interface["SubnetId"] for one in item.get("Associations") or ()):
                return dict(item)
        for item in items:
            main = item.get("IsDefault") or any(one.get("Main") for one in item.get("Associations") or ())
            if main and item["VpcId"] == interface["VpcId"]:
                return dict(item)
        return None

    def local_blocks(self, vpc_id: str) -> list[Block]:
        """List the blocks of a VPC, as it says itself or as its route tables do, and of those peered with it."""
        texts = self.blocks_of(vpc_id)
        for table in self.document.get("RouteTables") or ():
            if table["VpcId"] == vpc_id:
                for route in table["Routes"]:
                    text = route.get("DestinationCidrBlock") or route.get("DestinationIpv6CidrBlock")
                    texts += [text] if text and route.get("GatewayId") == "local" else []
        for peering in self.document.get("VpcPeeringConnections") or ():
            sides = [peering["RequesterVpcInfo"], peering["AccepterVpcInfo"]]
            if peering["Status"]["Code"] == "active" and vpc_id in [side["VpcId"] for side in sides]:
                for side in sides:
                    texts += [side["CidrBlock"]] if side.get("CidrBlock") else []
                    texts += [item["CidrBlock"] for item in side.get("CidrBlockSet") or ()]
                    texts += [item["Ipv6CidrBlock"] for item in side.get("Ipv6CidrBlockSet") or ()]
                    texts += self.blocks_of(side["VpcId"])
        return [block(text) for text in texts]

    def blocks_of(self, vpc_id: str) -> list[str]:
        texts: list[str] = []
        for vpc in self.document.get("Vpcs") or ():
            if vpc["VpcId"] == vpc_id:
                texts += [vpc["CidrBlock"]]
                texts += [item["CidrBlock"] for item in vpc.get("CidrBlockAssociationSet") or ()]
                texts += [item["Ipv6CidrBlock"] for item in vpc.get("Ipv6CidrBlockAssociationSet") or ()]
        return texts

    # One question at a time

    def group_admits(self, group_id: str, source: Address, protocol: str, port: int) -> int:
        """Tell whether a group's ingress permissions admit a stranger. Groups as peers don't."""
        if group_id not in self.groups:
            return UNKNOWN
        best = BLOCKED
        for row in self.groups[group_id].get("IpPermissions") or ():
            named = name(row["IpProtocol"])
            if named not in ("-1", protocol):
                continue
            low, high = row.get("FromPort"), row.get("ToPort")
            if named != "-1" and not (low is None or high is None or low == -1 or low <= port <= high):
                continue
            texts = [item["CidrIp"] for item in row.get("IpRanges") or ()]
            texts += [item["CidrIpv6"] for item in row.get("Ipv6Ranges") or ()]
            for item in row.get("PrefixListIds") or ():
                entries = self.lists.get(item["PrefixListId"])
                if entries is None:
                    best = max(best, UNKNOWN)
                else:
                    texts += [entry["Cidr"] for entry in entries]
            if any(source in block(text) for text in texts):
                return OPEN
        return best

    def names(self, group_id: str, other: Raw, protocol: str, port: int) -> bool:
        """Tell whether a permission of a group names a group that another interface carries."""
        theirs = self.groups_of(other) or []
        for row in self.groups.get(group_id, {}).get("IpPermissions") or ():
            named, low, high = name(row["IpProtocol"]), row.get("FromPort"), row.get("ToPort")
            if named != "-1" and (named != protocol or not (low is None or low == -1 or low <= port <= high)):
                continue
            for pair in row.get("UserIdGroupPairs") or ():
                found = [pair.get("GroupId")] if pair.get("GroupId") else self.named(pair, group_id)
                if pair.get("PeeringStatus", "active") == "active" and set(found) & set(theirs):
                    return True
        return False

    def named(self, pair: Raw, holder: str) -> list[str]:
        """Give the ids of the groups that a reference by name means: those of the holder's VPC."""
        vpc_id = self.groups[holder]["VpcId"]
        return [
            group["GroupId"]
            for group in self.groups.values()
            if group["GroupName"] == pair.get("GroupName") and group["VpcId"] == vpc_id
        ]

    def acl_passes(self, acl: Raw, egress: bool, peer: Address, protocol: str, port: int) -> bool:
        """Let the entry with the lowest number that matches decide."""
        for entry in sorted(acl["Entries"], key=lambda one: int(one["RuleNumber"])):
            text = entry.get("CidrBlock") or entry.get("Ipv6CidrBlock")
            named = name(entry["Protocol"])
            if entry["Egress"] is not egress or peer not in block(text) or named not in ("-1", protocol):
                continue
            ports = entry.get("PortRange") if named != "-1" else None
            if ports is None or ports["From"] <= port <= ports["To"]:
                return bool(entry["RuleAction"] == "allow")
        return False

    def border(self, interface: Raw, source: Address, protocol: str, port: int, other: Raw | None = None) -> int:
        """Tell whether a stranger's packet gets into the subnet, and an answer out of it where one is needed."""
        if other is not None and (other["SubnetId"], other["VpcId"]) == (interface["SubnetId"], interface["VpcId"]):
            return OPEN
        subnet = self.subnets.get(interface["SubnetId"])
        near = BLOCKED
        if other is not None:
            near = BLOCKED
        elif subnet is None:
            blocks = [item for item in self.local_blocks(interface["VpcId"]) if item.version == source.version]
            near = UNKNOWN if not blocks or any(source in item for item in blocks) else BLOCKED
        else:
            texts = [subnet["CidrBlock"]] if subnet.get("CidrBlock") else []
            texts += [item["Ipv6CidrBlock"] for item in subnet.get("Ipv6CidrBlockAssociationSet") or ()]
            if any(source in block(text) for text in texts):
                return OPEN
        acl = self.of_subnet("NetworkAcls", interface)
        if acl is None:
            return UNKNOWN
        passes = self.acl_passes(acl, False, source, protocol, port)
        if passes and protocol == "tcp":
            ends = {1, 65535}
            for entry in acl["Entries"]:
                ports = entry.get("PortRange") or {"From": 1, "To": 65535}
                ends |= {ports["From"], ports["To"] + 1}
            passes = any(self.acl_passes(acl, True, source, protocol, end) for end in ends if 1 <= end <= 65535)
        return max(near, OPEN if passes else BLOCKED)

    def gets_in(self, interface: Raw, source: Address, protocol: str, port: int) -> int:
        """Tell whether a stranger gets through to an interface on a port."""
        groups = self.groups_of(interface)
        if groups is None:
            admitted = UNKNOWN
        else:
            admitted = max([BLOCKED, *(self.group_admits(one, source, protocol, port) for one in groups)])
        return min(admitted, self.border(interface, source, protocol, port))

    def internet(self, interface: Raw, source: Address) -> int:
        """Tell whether the routes lead to an address of the internet by a gateway that lets in as well."""
        table = self.of_subnet("RouteTables", interface)
        if table is None:
            return UNKNOWN
        best: tuple[int, bool, int] = (-1, False, BLOCKED)
        for route in table["Routes"]:
            texts = [route[key] for key in ("DestinationCidrBlock", "DestinationIpv6CidrBlock") if route.get(key)]
            gateway = str(route.get("GatewayId") or "")
            if route.get("DestinationPrefixListId"):
                entries = self.lists.get(route["DestinationPrefixListId"])
                if entries is None and gateway.startswith("vpce-"):
                    continue
                if entries is None:
                    return UNKNOWN
                texts = [entry["Cidr"] for entry in entries]
            appliance = gateway.startswith("vpce-") or route.get("NetworkInterfaceId") or route.get("InstanceId")
            value = OPEN if gateway.startswith("igw-") else UNKNOWN if appliance else BLOCKED
            if route["State"] != "active":
                value = BLOCKED
            for text in texts:
                if source in block(text):
                    best = max(best, (block(text).prefixlen, not route.get("DestinationPrefixListId"), value))
        return best[2]

    def boundaries(self, version: int) -> Iterator[Address]:
        """Go through one address of each piece of the space that anything here can tell apart."""
        bits = 32 if version == 4 else 128
        edges = {0}
        texts = ["2000::/3", "fc00::/7", *(str(item) for item in NOT_PUBLIC)]
        for item in walk(self.document):
            try:
                texts.append(str(block(item)))
            except ValueError:
                continue
        for found in map(block, texts):
            if found.version == version:
                edges |= {int(found.network_address), int(found.broadcast_address) + 1}
        make = ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address
        yield from (make(edge) for edge in sorted(edges) if edge < 1 << bits)


def walk(value: object) -> Iterator[str]:
    """Go through all text in a document that may be an address or a block."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from walk(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from walk(inner)
    elif isinstance(value, str) and ("." in value or ":" in value):
        yield value
