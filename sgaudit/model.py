"""
What AWS says about a network, as frozen values.

Names are AWS's own. A value never refers to another one but by its id; `Snapshot` holds them all by id.
`None` for a collection means that AWS was not asked or did not answer; an empty one means that there is none.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sgaudit.ports import ALL, NONE, PortSet

if TYPE_CHECKING:
    from collections.abc import Mapping


class Family(StrEnum):
    """The two address families that EC2 routes and filters apart."""

    IPV4 = "ipv4"
    IPV6 = "ipv6"

    @property
    def bits(self) -> int:
        """The length of an address."""
        return 32 if self is Family.IPV4 else 128


@dataclass(frozen=True, slots=True)
class Cidr:
    """A CIDR block, canonical: EC2 stores 100.68.0.18/18 as 100.68.0.0/18 (EC2 API reference)."""

    family: Family
    first: int
    prefix: int
    """The prefix length in bits."""

    @classmethod
    def parse(cls, text: str) -> Cidr:
        """
        Read `10.0.0.0/8` or `2001:db8::/32`; bits behind the prefix are cleared.

        Raises:
            ValueError: the text is no CIDR block.
        """
        network = ipaddress.ip_network(text, strict=False)
        family = Family.IPV4 if network.version == 4 else Family.IPV6
        return cls(family, int(network.network_address), network.prefixlen)

    @property
    def last(self) -> int:
        """The highest address of the block."""
        return self.first | ((1 << (self.family.bits - self.prefix)) - 1)

    def __contains__(self, address: int) -> bool:
        return self.first <= address <= self.last

    def __str__(self) -> str:
        return f"{address_text(self.family, self.first)}/{self.prefix}"


def address_text(family: Family, address: int) -> str:
    """Write an address as people do."""
    if family is Family.IPV4:
        return str(ipaddress.IPv4Address(address))
    return str(ipaddress.IPv6Address(address))


def parse_address(text: str) -> tuple[Family, int]:
    """
    Read an IPv4 or IPv6 address.

    Raises:
        ValueError: the text is no address.
    """
    address = ipaddress.ip_address(text)
    return (Family.IPV4 if address.version == 4 else Family.IPV6), int(address)


@dataclass(frozen=True, slots=True)
class PrefixListPeer:
    """A managed prefix list as the peer of a permission: its entries of the packet's family match."""

    prefix_list_id: str

    def __str__(self) -> str:
        return self.prefix_list_id


@dataclass(frozen=True, slots=True)
class GroupPeer:
    """
    A security group as the peer of a permission.

    It matches the private addresses of the interfaces that carry the group, and nothing else of it
    (VPC user guide, security group rules).
    """

    group_id: str
    owner_id: str = ""
    vpc_id: str = ""
    peering_id: str = ""
    peering_status: str = ""
    """`active`, or why the reference is stale (`deleted`, `expired`, ...); empty within one VPC."""

    def __str__(self) -> str:
        return self.group_id


Peer = Cidr | PrefixListPeer | GroupPeer

ALL_PROTOCOLS = "-1"


@dataclass(frozen=True, slots=True)
class Permission:
    """One row of a security group: one protocol, one range, one peer."""

    protocol: str
    """`tcp`, `udp`, `icmp`, `icmpv6`, `-1` for every protocol, else a number in text."""
    ports: PortSet
    """Ports; for ICMP `type * 256 + code`. Everything for `-1` and for protocols without ports."""
    peer: Peer
    description: str = ""
    from_port: int | None = None
    to_port: int | None = None
    """`FromPort` and `ToPort` as EC2 gave them: a request that revokes the permission repeats them."""
    rule_id: str = ""
    """`sgr-...`, where DescribeSecurityGroupRules was read."""

    def admitted(self, protocol: str) -> PortSet:
        """Tell what of a protocol (`tcp`, `udp`, `icmp`, `icmpv6` or a number) the row lets pass."""
        if self.protocol == ALL_PROTOCOLS:
            return ALL
        return self.ports if self.protocol == protocol else NONE


@dataclass(frozen=True, slots=True)
class SecurityGroup:
    """A security group: stateful, allow only, the union of its rows decides."""

    group_id: str
    name: str
    vpc_id: str
    owner_id: str
    description: str
    ingress: tuple[Permission, ...]
    egress: tuple[Permission, ...]
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AclEntry:
    """One entry of a network ACL, for one direction and one family."""

    number: int
    egress: bool
    allow: bool
    protocol: str
    """As in `Permission`."""
    ports: PortSet
    """The packet's destination ports; for ICMP as in `Permission`."""
    cidr: Cidr

    def matched(self, protocol: str) -> PortSet:
        """Tell what of a protocol the entry decides."""
        if self.protocol == ALL_PROTOCOLS:
            return ALL
        return self.ports if self.protocol == protocol else NONE


@dataclass(frozen=True, slots=True)
class NetworkAcl:
    """A network ACL: stateless, the entry with the lowest number that matches decides, else deny."""

    acl_id: str
    vpc_id: str
    is_default: bool
    entries: tuple[AclEntry, ...]
    """By number, ingress and egress mixed."""
    subnet_ids: tuple[str, ...]
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Subnet:
    """A subnet; it lies in one availability zone."""

    subnet_id: str
    vpc_id: str
    availability_zone: str
    cidrs: tuple[Cidr, ...]
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Vpc:
    """A VPC with its IPv4 and IPv6 blocks."""

    vpc_id: str
    cidrs: tuple[Cidr, ...]
    owner_id: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


class RouteTarget(StrEnum):
    """Where a route leads, by what that means for a packet between two interfaces."""

    LOCAL = "local"
    PEERING = "vpc-peering-connection"
    MIDDLEBOX = "middlebox"
    """A network interface, an instance or a Gateway Load Balancer endpoint: what it does can't be read."""
    NAT_GATEWAY = "nat-gateway"
    """Inside a VPC a middlebox like any other; where it leads beyond can't be read."""
    TRANSIT_GATEWAY = "transit-gateway"
    INTERNET_GATEWAY = "internet-gateway"
    GATEWAY_ENDPOINT = "gateway-endpoint"
    """A gateway endpoint for an AWS service: its prefix list holds public addresses only."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Route:
    """One route. Exactly one of `destination` and `prefix_list_id` is set."""

    destination: Cidr | None
    prefix_list_id: str
    target: RouteTarget
    target_id: str
    state: str
    """`active` or `blackhole`."""


@dataclass(frozen=True, slots=True)
class RouteTable:
    """A route table and the subnets that are associated with it."""

    route_table_id: str
    vpc_id: str
    is_main: bool
    """It serves every subnet of its VPC that has no table of its own."""
    subnet_ids: tuple[str, ...]
    routes: tuple[Route, ...]
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PeeringSide:
    """One of the two VPCs of a peering connection."""

    vpc_id: str
    owner_id: str
    region: str
    cidrs: tuple[Cidr, ...]


@dataclass(frozen=True, slots=True)
class VpcPeeringConnection:
    """A peering connection; it carries packets only while its status is `active`."""

    peering_id: str
    status: str
    requester: PeeringSide
    accepter: PeeringSide

    def joins(self, one: str, other: str) -> bool:
        """Tell whether the two VPCs are its two sides."""
        return {self.requester.vpc_id, self.accepter.vpc_id} == {one, other}


@dataclass(frozen=True, slots=True)
class Interface:
    """
    A network interface (ENI).

    `efa` interfaces carry IP and EFA traffic, `efa-only` ones have no address at all (EC2 user guide).
    """

    interface_id: str
    instance_id: str
    vpc_id: str
    subnet_id: str
    availability_zone: str
    interface_type: str
    """`interface`, `efa`, `efa-only`, `trunk`, `branch`, `lambda`, ...; a value that is new to sgaudit is kept."""
    device_index: int | None
    network_card_index: int
    groups: tuple[str, ...] | None
    """Ids of the groups that it carries; None when AWS did not say."""
    ipv4: tuple[str, ...]
    """Private addresses, the primary one first."""
    ipv6: tuple[str, ...]
    """Addresses, the primary one first where one is marked."""
    prefixes: tuple[Cidr, ...] = ()
    """Delegated prefixes of both families."""
    public_ip: str = ""
    status: str = ""
    description: str = ""
    owner_id: str = ""
    requester_managed: bool = False
    """It belongs to a service: read, never changed."""
    source_dest_check: bool = True
    tcp_established_timeout: int | None = None
    """Seconds, from `ConnectionTrackingConfiguration`; None when AWS's default is in force."""
    tags: Mapping[str, str] = field(default_factory=dict)

    def address(self, family: Family) -> str | None:
        """Tell the address that frameworks use unless told otherwise."""
        addresses = self.ipv4 if family is Family.IPV4 else self.ipv6
        return addresses[0] if addresses else None


@dataclass(frozen=True, slots=True)
class Instance:
    """An EC2 instance."""

    instance_id: str
    state: str
    instance_type: str
    vpc_id: str
    subnet_id: str
    availability_zone: str
    interface_ids: tuple[str, ...]
    """In the order of network card and device index."""
    owner_id: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The `Name` tag, or nothing."""
        return self.tags.get("Name", "")


@dataclass(frozen=True, slots=True)
class Member:
    """An instance that the selection picked, and those of its interfaces that are judged."""

    instance: Instance
    interfaces: tuple[Interface, ...]
    """Empty when the instance has no such interface, or none could be read."""


@dataclass(frozen=True)
class Snapshot:
    """Everything that was read of one account and Region at one time. Collections map an id to its value."""

    account_id: str = ""
    region: str = ""
    collected_at: str = ""
    """ISO 8601."""
    instances: Mapping[str, Instance] = field(default_factory=dict)
    interfaces: Mapping[str, Interface] = field(default_factory=dict)
    security_groups: Mapping[str, SecurityGroup] | None = None
    network_acls: Mapping[str, NetworkAcl] | None = None
    subnets: Mapping[str, Subnet] | None = None
    vpcs: Mapping[str, Vpc] | None = None
    route_tables: Mapping[str, RouteTable] | None = None
    peerings: Mapping[str, VpcPeeringConnection] | None = None
    prefix_lists: Mapping[str, tuple[Cidr, ...]] = field(default_factory=dict)
    """The entries of the prefix lists that were read; a list that is not here is unknown."""
    prefix_list_sizes: Mapping[str, int] = field(default_factory=dict)
    """`MaxEntries` of the lists that were described: what one counts against a group's quota."""
    whole_vpcs: frozenset[str] = frozenset()
    """The VPCs of which every interface was read, not the members' alone."""
    denied: Mapping[str, str] = field(default_factory=dict)
    """Operation to error code: reads that AWS refused or that failed."""
    source: str = ""
    """Where it came from, in words: a file name, or account and Region."""
    document: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The JSON that it was read from, whole; empty unless it was asked for (it is large)."""

    @cached_property
    def acl_of_subnet(self) -> Mapping[str, NetworkAcl]:
        """Subnet id to its associated network ACL; a subnet that is not here has its VPC's default ACL."""
        acls = self.network_acls or {}
        return {subnet_id: acl for acl in acls.values() for subnet_id in acl.subnet_ids}

    @cached_property
    def default_acl_of_vpc(self) -> Mapping[str, NetworkAcl]:
        """VPC id to its default network ACL."""
        return {acl.vpc_id: acl for acl in (self.network_acls or {}).values() if acl.is_default}

    @cached_property
    def table_of_subnet(self) -> Mapping[str, RouteTable]:
        """Subnet id to its associated route table; a subnet that is not here has its VPC's main table."""
        tables = self.route_tables or {}
        return {subnet_id: table for table in tables.values() for subnet_id in table.subnet_ids}

    @cached_property
    def main_table_of_vpc(self) -> Mapping[str, RouteTable]:
        """VPC id to its main route table."""
        return {table.vpc_id: table for table in (self.route_tables or {}).values() if table.is_main}

    def network_acl(self, subnet_id: str, vpc_id: str) -> NetworkAcl | None:
        """Tell which network ACL guards a subnet; None when that was not read."""
        return self.acl_of_subnet.get(subnet_id) or self.default_acl_of_vpc.get(vpc_id)

    def route_table(self, subnet_id: str, vpc_id: str) -> RouteTable | None:
        """Tell which route table serves a subnet; None when that was not read."""
        return self.table_of_subnet.get(subnet_id) or self.main_table_of_vpc.get(vpc_id)
