"""
Random networks: raw snapshots with all that can decide about a packet, drawn near the boundaries that matter.

`random_network(seed)` gives the same document for the same seed, with no hypothesis involved. `networks()` is the
hypothesis strategy; it draws the same documents choice by choice, so that a failing one shrinks.
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st

Item = TypeVar("Item")
Raw = dict[str, Any]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

OWNER = "111122223333"
PORTS = (0, 1, 22, 80, 1023, 1024, 29500, 32767, 32768, 40000, 49151, 49152, 60999, 61000, 65534, 65535)
USUAL_RANGES = ((0, 65535), (32768, 60999), (1024, 65535), (29500, 29500), (22, 22), (32768, 61000))
PROTOCOLS = ("-1", "tcp", "tcp", "tcp", "tcp", "udp", "udp", "icmp", "6", "17", "1", "58", "icmpv6", "50")
ACL_PROTOCOLS = ("-1", "6", "6", "6", "6", "17", "1", "58", "50", "tcp", "udp")
VPC_BLOCKS = ("10.0.0.0/16", "10.1.0.0/16", "172.31.0.0/16")


class Chooser(Protocol):
    """Where the choices come from. The first of several, the lowest number and `False` are the plainest."""

    def integer(self, low: int, high: int) -> int:
        """Choose a number; both ends count."""

    def pick(self, items: Sequence[Item]) -> Item:
        """Choose one of some things."""

    def chance(self, percent: int) -> bool:
        """Say yes in so many of a hundred cases."""


class Seeded:
    """Choices of Python's own generator."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def pick(self, items: Sequence[Item]) -> Item:
        return items[self._random.randrange(len(items))]

    def chance(self, percent: int) -> bool:
        return self._random.randrange(100) < percent


class Drawn:
    """Choices of hypothesis."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def pick(self, items: Sequence[Item]) -> Item:
        return items[self._draw(st.integers(0, len(items) - 1))]

    def chance(self, percent: int) -> bool:
        return self._draw(st.integers(0, 99)) >= 100 - percent


def random_network(seed: int) -> Raw:
    """Give the network of a seed."""
    return Builder(Seeded(seed)).build()


@st.composite
def networks(draw: st.DrawFn) -> Raw:
    """Draw a network."""
    return Builder(Drawn(draw)).build()


@dataclass
class Place:
    """A subnet with the addresses that are taken in it."""

    subnet_id: str
    vpc_id: str
    four: ipaddress.IPv4Network
    six: ipaddress.IPv6Network | None
    taken: set[int] = field(default_factory=set)


class Builder:
    """Builds one document, from the VPCs up to the rules."""

    def __init__(self, chooser: Chooser) -> None:
        self.c = chooser
        self.vpcs: dict[str, list[Network]] = {}
        self.places: list[Place] = []
        self.group_ids: list[str] = []
        self.group_vpcs: dict[str, str] = {}
        self.group_names: dict[str, str] = {}
        self.instances: list[Raw] = []
        self.interfaces: list[Raw] = []
        self.addresses: list[ipaddress.IPv4Address | ipaddress.IPv6Address] = []
        self.list_ids: list[str] = []
        self.peered: list[tuple[str, str, str]] = []
        self.six = False
        self.strict_acls = False
        self.friendly = False

    def build(self) -> Raw:
        """Build the document."""
        self.six = self.c.chance(45)
        self.strict_acls = self.c.chance(25)
        self.friendly = self.c.chance(60)
        document: Raw = {"AccountId": OWNER, "Region": "us-east-1", "CollectedAt": "2026-01-01T00:00:00+00:00"}
        document["Vpcs"] = self.make_vpcs()
        document["Subnets"] = self.make_subnets()
        self.list_ids = [f"pl-{number:08x}" for number in range(self.c.integer(0, 2))]
        self.name_groups()
        self.make_instances()
        document["Reservations"] = [
            {"ReservationId": f"r-{number}", "OwnerId": OWNER, "Instances": [instance]}
            for number, instance in enumerate(self.instances)
        ]
        document["NetworkInterfaces"] = self.interfaces
        document["PrefixListEntries"] = {
            list_id: [{"Cidr": self.cidr(self.c.pick((4, 4, 6)))} for _ in range(self.c.integer(0, 3))]
            for list_id in self.list_ids
            if not self.c.chance(20)
        }
        document["SecurityGroups"] = [self.make_group(group_id) for group_id in self.group_ids]
        document["VpcPeeringConnections"] = self.make_peerings()
        document["NetworkAcls"] = self.make_acls()
        document["RouteTables"] = self.make_tables()
        self.forget(document)
        return document

    def forget(self, document: Raw) -> None:
        """Leave out what a reader with too few rights, or a hand-made snapshot, lacks."""
        if not self.c.chance(20):
            return
        keys = (
            "NetworkAcls",
            "RouteTables",
            "NetworkInterfaces",
            "VpcPeeringConnections",
            "PrefixListEntries",
            "SecurityGroups",
            "Vpcs",
            "Subnets",
        )
        for _ in range(self.c.integer(1, 2)):
            key = self.c.pick(keys)
            document.pop(key, None)
            if self.c.chance(30):
                document.setdefault("Denied", {})[f"Describe{key}"] = "UnauthorizedOperation"

    # VPCs and subnets

    def make_vpcs(self) -> list[Raw]:
        out = []
        for number in range(self.c.pick((1, 1, 1, 1, 1, 2, 2, 2, 3))):
            vpc_id = f"vpc-{number}"
            block = VPC_BLOCKS[0] if self.c.chance(15) else VPC_BLOCKS[number]
            blocks: list[Network] = [ipaddress.ip_network(block)]
            if self.c.chance(15):
                blocks.append(ipaddress.ip_network(f"100.6{4 + number}.0.0/16"))
            raw: Raw = {
                "VpcId": vpc_id,
                "OwnerId": OWNER,
                "State": "available",
                "CidrBlock": block,
                "CidrBlockAssociationSet": [
                    {"CidrBlock": str(item), "CidrBlockState": {"State": "associated"}} for item in blocks
                ],
            }
            if self.six:
                six = ipaddress.ip_network(f"2001:db8:{number:x}::/56")
                blocks.append(six)
                raw["Ipv6CidrBlockAssociationSet"] = [
                    {"Ipv6CidrBlock": str(six), "Ipv6CidrBlockState": {"State": "associated"}}
                ]
            self.vpcs[vpc_id] = blocks
            out.append(raw)
        return out

    def make_subnets(self) -> list[Raw]:
        out = []
        count = max(len(self.vpcs), self.c.integer(1, 4))
        for number in range(count):
            vpc_id = f"vpc-{number % len(self.vpcs)}"
            four = [item for item in self.vpcs[vpc_id] if item.version == 4]
            block = self.c.pick(four)
            base = int(block.network_address) + (number // len(self.vpcs)) * 4096
            net = ipaddress.IPv4Network((base, self.c.pick((24, 20, 28))))
            six = None
            for item in self.vpcs[vpc_id]:
                if isinstance(item, ipaddress.IPv6Network):
                    six = list(item.subnets(new_prefix=64))[number]
            place = Place(f"subnet-{number}", vpc_id, net, six)
            self.places.append(place)
            raw: Raw = {
                "SubnetId": place.subnet_id,
                "VpcId": vpc_id,
                "CidrBlock": str(net),
                "AvailabilityZone": f"us-east-1{'abc'[number % 3]}",
                "State": "available",
                "OwnerId": OWNER,
                "Ipv6CidrBlockAssociationSet": [],
            }
            if six is not None:
                raw["Ipv6CidrBlockAssociationSet"] = [
                    {"Ipv6CidrBlock": str(six), "Ipv6CidrBlockState": {"State": "associated"}}
                ]
            out.append(raw)
        return out

    # Instances and interfaces

    def name_groups(self) -> None:
        for number in range(self.c.integer(1, 6)):
            group_id = f"sg-{number}"
            self.group_ids.append(group_id)
            vpc_id = f"vpc-{number}" if number < len(self.vpcs) else self.c.pick(sorted(self.vpcs))
            self.group_names[group_id] = f"g{list(self.group_vpcs.values()).count(vpc_id)}"
            self.group_vpcs[group_id] = vpc_id

    def make_instances(self) -> None:
        for number in range(self.c.integer(2, 8)):
            place = self.c.pick(self.places)
            instance_id = f"i-{number}"
            primary = self.make_interface(instance_id, place, 0)
            own = [primary]
            if self.c.chance(15):
                beside = [item for item in self.places if item.vpc_id == place.vpc_id]
                own.append(self.make_interface(instance_id, self.c.pick(beside), 1))
            raw: Raw = {
                "InstanceId": instance_id,
                "InstanceType": "p5.48xlarge",
                "State": {"Code": 16, "Name": self.c.pick(("running",) * 7 + ("pending", "stopped"))},
                "VpcId": place.vpc_id,
                "SubnetId": place.subnet_id,
                "Placement": {"AvailabilityZone": "us-east-1a"},
                "Tags": [{"Key": "cluster", "Value": "train"}, {"Key": "Name", "Value": f"node-{number}"}],
                "NetworkInterfaces": [embedded(item) for item in own],
            }
            if self.c.chance(90):
                raw["SecurityGroups"] = list(primary.get("Groups") or [{"GroupId": "sg-0", "GroupName": "g0"}])
            self.instances.append(raw)
            self.interfaces += [{**item, "TagSet": []} for item in own]

    def make_interface(self, instance_id: str, place: Place, device: int) -> Raw:
        raw: Raw = {
            "NetworkInterfaceId": f"eni-{len(self.interfaces) + device:x}-{instance_id[2:]}",
            "VpcId": place.vpc_id,
            "SubnetId": place.subnet_id,
            "OwnerId": OWNER,
            "Status": "in-use",
            "InterfaceType": "interface",
            "SourceDestCheck": True,
            "Attachment": {
                "AttachmentId": f"attach-{instance_id}-{device}",
                "InstanceId": instance_id,
                "DeviceIndex": device,
                "NetworkCardIndex": 0,
                "Status": "attached",
            },
            "PrivateIpAddresses": [],
            "Ipv6Addresses": [],
        }
        self.give_addresses(raw, place)
        if not self.c.chance(3):
            raw["Groups"] = [] if self.c.chance(3) else self.carried_groups(place.vpc_id)
        return raw

    def give_addresses(self, raw: Raw, place: Place) -> None:
        if self.c.chance(2):
            raw["InterfaceType"] = "efa-only"
            return
        only_six = place.six is not None and self.c.chance(15)
        if not only_six:
            primary = self.new_address(place)
            others = [self.new_address(place)] if self.c.chance(15) else []
            listed: list[Raw] = [{"PrivateIpAddress": primary, "Primary": True}]
            listed += [{"PrivateIpAddress": item, "Primary": False} for item in others]
            raw["PrivateIpAddresses"] = listed[::-1] if self.c.chance(30) else listed
            if not self.c.chance(5):
                raw["PrivateIpAddress"] = primary
        if place.six is not None and (only_six or self.c.chance(80)):
            offset = self.new_offset(place)
            address = place.six.network_address + offset
            self.addresses.append(address)
            raw["Ipv6Addresses"] = [{"Ipv6Address": str(address)}]
            if self.c.chance(20):
                marked = place.six.network_address + self.new_offset(place)
                self.addresses.append(marked)
                raw["Ipv6Addresses"].append({"Ipv6Address": str(marked), "IsPrimaryIpv6": True})

    def new_offset(self, place: Place) -> int:
        offset = self.c.integer(4, min(place.four.num_addresses - 2, 254))
        while offset in place.taken:
            offset = 4 if offset >= 254 else offset + 1
            if offset >= place.four.num_addresses - 1:
                offset = 4
            if len(place.taken) >= place.four.num_addresses - 6:
                place.taken.clear()
        place.taken.add(offset)
        return offset

    def new_address(self, place: Place) -> str:
        address = place.four.network_address + self.new_offset(place)
        self.addresses.append(address)
        return str(address)

    def carried_groups(self, vpc_id: str) -> list[Raw]:
        usual = [group_id for group_id in self.group_ids if self.group_vpcs[group_id] == vpc_id]
        pool = usual if usual and not self.c.chance(8) else self.group_ids
        chosen = [pool[0] if self.c.chance(80) else self.c.pick(pool)]
        while self.c.chance(30):
            chosen.append(self.c.pick(pool))
        if self.c.chance(3):
            chosen.append("sg-unread")
        return [{"GroupId": item, "GroupName": self.group_names.get(item, "")} for item in dict.fromkeys(chosen)]

    # Rules

    def cidr(self, version: int) -> str:
        """Choose a block near an address that somebody has."""
        if version == 6 and not self.six:
            return "::/0"
        near = [item for item in self.addresses if item.version == version]
        bits = 32 if version == 4 else 128
        if not near:
            return "10.0.0.0/8" if version == 4 else "2001:db8::/32"
        kind = self.c.integer(0, 9)
        if kind <= 2:
            return "0.0.0.0/0" if version == 4 else "::/0"
        address = self.c.pick(near)
        if kind == 3:
            return f"{address}/{bits}"
        if kind <= 5:
            text = f"{address}/{self.c.pick((16, 24, 28, 20, 30) if version == 4 else (56, 64, 60, 48, 124))}"
            return text if kind == 5 else str(ipaddress.ip_network(text, strict=False))
        block = ipaddress.ip_network(f"{address}/{self.c.integer(1, bits)}", strict=False)
        return str(block) if kind <= 7 else self.beside(block, 1 if kind == 8 else -1)

    @staticmethod
    def beside(block: Network, step: int) -> str:
        """Give the block of the same size before or behind, or the block itself where the addresses end."""
        base = int(block.network_address) + step * block.num_addresses
        if not 0 <= base < 1 << block.max_prefixlen:
            return str(block)
        low = ipaddress.IPv4Address(base) if block.version == 4 else ipaddress.IPv6Address(base)
        return f"{low}/{block.prefixlen}"

    def port_range(self) -> tuple[int, int]:
        if self.c.chance(45):
            return self.c.pick(USUAL_RANGES)
        ends = [self.c.integer(0, 65535) if self.c.chance(20) else self.c.pick(PORTS) for _ in range(2)]
        return min(ends), max(ends)

    def message(self) -> tuple[int, int]:
        kind = self.c.pick((-1, 8, 3, 0, 128, 255))
        return kind, -1 if kind == -1 or self.c.chance(50) else self.c.pick((0, 4, 255))

    def permission(self, group_id: str) -> Raw:
        protocol = self.c.pick(PROTOCOLS)
        raw: Raw = {
            "IpProtocol": protocol,
            "IpRanges": [],
            "Ipv6Ranges": [],
            "PrefixListIds": [],
            "UserIdGroupPairs": [],
        }
        if protocol in ("tcp", "udp", "6", "17"):
            raw["FromPort"], raw["ToPort"] = self.port_range()
        elif protocol in ("icmp", "1") or (protocol in ("58", "icmpv6") and self.c.chance(60)):
            raw["FromPort"], raw["ToPort"] = self.message()
        elif protocol in ("-1", "50") and self.c.chance(40):
            raw["FromPort"], raw["ToPort"] = self.c.pick(((-1, -1), (0, 65535), (22, 22)))
        for _ in range(self.c.pick((1, 1, 2, 3))):
            self.add_peer(raw, group_id)
        return raw

    def add_peer(self, raw: Raw, group_id: str) -> None:
        kind = self.c.integer(0, 9)
        if kind <= 3:
            raw["IpRanges"].append({"CidrIp": self.cidr(4)})
        elif kind == 4:
            raw["Ipv6Ranges"].append({"CidrIpv6": self.cidr(6)})
        elif kind == 5:
            pool = [*self.list_ids, "pl-unread"]
            raw["PrefixListIds"].append({"PrefixListId": self.c.pick(pool)})
        else:
            raw["UserIdGroupPairs"].append(self.group_peer(group_id))

    def group_peer(self, group_id: str) -> Raw:
        beside = [item for item in self.group_ids if self.group_vpcs[item] == self.group_vpcs[group_id]]
        if self.c.chance(3):
            return {"UserId": OWNER, "GroupName": self.group_names[self.c.pick(beside)]}
        named = group_id if self.c.chance(40) else self.c.pick([*self.group_ids, *self.group_ids, "sg-unread"])
        raw = {"UserId": OWNER, "GroupId": named}
        if self.group_vpcs.get(named) != self.group_vpcs[group_id] or self.c.chance(4):
            raw["VpcId"] = self.group_vpcs.get(named, "vpc-0")
            raw["VpcPeeringConnectionId"] = "pcx-0"
            raw["PeeringStatus"] = self.c.pick(("active", "active", "active", "deleted", "expired"))
        return raw

    def welcome(self) -> Raw:
        """Give a row that admits much of the network on some ports."""
        raw: Raw = {"IpProtocol": self.c.pick(("tcp", "-1", "6", "udp", "tcp"))}
        if raw["IpProtocol"] != "-1":
            raw["FromPort"], raw["ToPort"] = self.port_range()
        if self.c.chance(50):
            raw["UserIdGroupPairs"] = [
                {"UserId": OWNER, "GroupId": item} for item in self.group_ids if self.c.chance(60)
            ]
        else:
            blocks = self.vpcs[self.c.pick(sorted(self.vpcs))]
            raw["IpRanges"] = [{"CidrIp": str(item)} for item in blocks if item.version == 4]
            raw["Ipv6Ranges"] = [{"CidrIpv6": str(item)} for item in blocks if item.version == 6]
        return raw

    def make_group(self, group_id: str) -> Raw:
        ingress = [self.permission(group_id) for _ in range(self.c.integer(0, 4))]
        if self.friendly:
            ingress.append(self.welcome())
        if self.c.chance(45):
            own = {"UserId": OWNER, "GroupId": group_id}
            ingress.append({"IpProtocol": "-1", "IpRanges": [], "UserIdGroupPairs": [own]})
        egress: list[Raw] = [self.permission(group_id) for _ in range(self.c.integer(0, 4))]
        if self.c.chance(90 if self.friendly else 50):
            default: Raw = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}], "UserIdGroupPairs": []}
            if self.c.chance(70):
                default["Ipv6Ranges"] = [{"CidrIpv6": "::/0"}]
            egress = [default]
        return {
            "GroupId": group_id,
            "GroupName": self.group_names[group_id],
            "VpcId": self.group_vpcs[group_id],
            "OwnerId": OWNER,
            "Description": "",
            "IpPermissions": ingress,
            "IpPermissionsEgress": egress,
            "Tags": [],
        }

    # Network ACLs

    def make_acls(self) -> list[Raw]:
        out = []
        for number, vpc_id in enumerate(sorted(self.vpcs)):
            free = [place.subnet_id for place in self.places if place.vpc_id == vpc_id]
            custom: list[Raw] = []
            for index in range(self.c.pick((0, 0, 1, 2))):
                mine = [item for item in free if self.c.chance(60)]
                free = [item for item in free if item not in mine]
                custom.append(self.acl(f"acl-{number}-{index}", vpc_id, mine, default=False))
            if not self.c.chance(4):
                listed = [item for item in free if not self.c.chance(20)]
                out.append(self.acl(f"acl-{number}-default", vpc_id, listed, default=True))
            out += custom
        return out

    def acl(self, acl_id: str, vpc_id: str, subnet_ids: list[str], *, default: bool) -> Raw:
        entries: list[Raw] = []
        for egress in (False, True):
            taken: set[int] = set()
            entries += self.entries(taken, egress=egress, plain=default and self.c.chance(85))
            if self.c.chance(85):
                entries.append(self.closing(32767, egress=egress, version=4))
                if self.six:
                    entries.append(self.closing(32768, egress=egress, version=6))
        if self.c.chance(60):
            entries = self.shuffled(entries)
        return {
            "NetworkAclId": acl_id,
            "VpcId": vpc_id,
            "IsDefault": default,
            "OwnerId": OWNER,
            "Entries": entries,
            "Associations": [
                {"NetworkAclAssociationId": f"aclassoc-{item}", "NetworkAclId": acl_id, "SubnetId": item}
                for item in subnet_ids
            ],
        }

    def shuffled(self, items: list[Item]) -> list[Item]:
        out = list(items)
        for index in range(len(out) - 1, 0, -1):
            other = self.c.integer(0, index)
            out[index], out[other] = out[other], out[index]
        return out

    @staticmethod
    def closing(number: int, *, egress: bool, version: int) -> Raw:
        block = {"CidrBlock": "0.0.0.0/0"} if version == 4 else {"Ipv6CidrBlock": "::/0"}
        return {"RuleNumber": number, "Egress": egress, "RuleAction": "deny", "Protocol": "-1", **block}

    def entries(self, taken: set[int], *, egress: bool, plain: bool) -> list[Raw]:
        out: list[Raw] = []
        if not plain:
            out = [
                self.entry(self.fresh(taken), egress=egress)
                for _ in range(self.c.integer(0, 5 if self.strict_acls else 2))
            ]
        if plain or self.c.chance(30 if self.strict_acls else 80):
            for block in ({"CidrBlock": "0.0.0.0/0"}, {"Ipv6CidrBlock": "::/0"}):
                number = self.fresh(taken, 20000, 32766)
                raw = {"RuleNumber": number, "Egress": egress, "RuleAction": "allow", "Protocol": "-1"}
                out.append({**raw, **block})
        elif self.c.chance(70):
            low = self.c.pick((1024, 32768, 32769, 0))
            for protocol in ("6", "17"):
                raw = {"RuleNumber": self.fresh(taken), "Egress": egress, "RuleAction": "allow"}
                out.append(
                    {
                        **raw,
                        "Protocol": protocol,
                        "PortRange": {"From": low, "To": self.c.pick((65535, 60999, 60998))},
                        "CidrBlock": "0.0.0.0/0",
                    }
                )
        return out

    def fresh(self, taken: set[int], low: int = 1, high: int = 32766) -> int:
        number = self.c.integer(low, high)
        while number in taken:
            number = number + 1 if number < high else low
        taken.add(number)
        return number

    def entry(self, number: int, *, egress: bool) -> Raw:
        raw: Raw = {"RuleNumber": number, "Egress": egress, "RuleAction": self.c.pick(("allow", "allow", "deny"))}
        raw["Protocol"] = self.c.pick(ACL_PROTOCOLS)
        if raw["Protocol"] in ("6", "17", "tcp", "udp"):
            low, high = self.port_range()
            raw["PortRange"] = {"From": low, "To": high}
        elif raw["Protocol"] in ("1", "58"):
            kind, code = self.message()
            raw["IcmpTypeCode"] = {"Type": kind, "Code": code}
        if self.c.chance(25):
            raw["Ipv6CidrBlock"] = self.cidr(6)
        else:
            raw["CidrBlock"] = self.cidr(4)
        return raw

    # Peering and routes

    def overlap(self, one: str, other: str) -> bool:
        return any(a.overlaps(b) for a in self.vpcs[one] for b in self.vpcs[other] if a.version == b.version)

    def make_peerings(self) -> list[Raw]:
        out = []
        names = sorted(self.vpcs)
        for index, one in enumerate(names):
            for other in names[index + 1 :]:
                if self.overlap(one, other) or not self.c.chance(90):
                    continue
                peering_id = f"pcx-{one[4:]}-{other[4:]}"
                self.peered.append((peering_id, one, other))
                status = "active" if self.c.chance(85) else self.c.pick(("pending-acceptance", "expired"))
                if self.c.chance(10):
                    continue
                ends = (other, one) if self.c.chance(50) else (one, other)
                out.append(
                    {
                        "VpcPeeringConnectionId": peering_id,
                        "Status": {"Code": status, "Message": status},
                        "RequesterVpcInfo": self.side(ends[0]),
                        "AccepterVpcInfo": self.side(ends[1]),
                    }
                )
        return out

    def side(self, vpc_id: str) -> Raw:
        blocks = self.vpcs[vpc_id]
        return {
            "VpcId": vpc_id,
            "OwnerId": OWNER,
            "Region": "us-east-1",
            "CidrBlock": str(blocks[0]),
            "CidrBlockSet": [{"CidrBlock": str(item)} for item in blocks if item.version == 4],
            "Ipv6CidrBlockSet": [{"Ipv6CidrBlock": str(item)} for item in blocks if item.version == 6],
        }

    def make_tables(self) -> list[Raw]:
        out = []
        for number, vpc_id in enumerate(sorted(self.vpcs)):
            free = [place.subnet_id for place in self.places if place.vpc_id == vpc_id]
            if self.c.chance(30):
                mine = [item for item in free if self.c.chance(60)]
                free = [item for item in free if item not in mine]
                out.append(self.table(f"rtb-{number}-own", vpc_id, mine, main=False))
            if not self.c.chance(3):
                listed = [item for item in free if self.c.chance(20)]
                out.append(self.table(f"rtb-{number}-main", vpc_id, listed, main=True))
        return out

    def table(self, table_id: str, vpc_id: str, subnet_ids: list[str], *, main: bool) -> Raw:
        associations: list[Raw] = [{"Main": True, "RouteTableId": table_id}] if main else []
        associations += [{"Main": False, "SubnetId": item, "RouteTableId": table_id} for item in subnet_ids]
        routes: dict[str, Raw] = {}
        for block in self.vpcs[vpc_id]:
            routes[str(block)] = {**destination(str(block)), "GatewayId": "local", "State": "active"}
        if self.c.chance(40):
            routes["0.0.0.0/0"] = {**destination("0.0.0.0/0"), **self.way_out(), "State": "active"}
        if self.six and self.c.chance(40):
            gateway = {"EgressOnlyInternetGatewayId": "eigw-0"} if self.c.chance(50) else {"GatewayId": "igw-0"}
            routes["::/0"] = {**destination("::/0"), **gateway, "State": "active"}
        self.add_peering_routes(routes, vpc_id)
        if self.c.chance(20):
            self.add_odd_routes(routes, vpc_id)
        listed = list(routes.values())
        return {
            "RouteTableId": table_id,
            "VpcId": vpc_id,
            "OwnerId": OWNER,
            "Associations": associations,
            "Routes": self.shuffled(listed) if self.c.chance(30) else listed,
        }

    def way_out(self) -> Raw:
        return self.c.pick(
            (
                {"GatewayId": "igw-0"},
                {"NatGatewayId": "nat-0"},
                {"TransitGatewayId": "tgw-0"},
                {"GatewayId": "vgw-0"},
                {"CoreNetworkArn": "arn:aws:networkmanager::111122223333:core-network/core-network-0"},
                {"NetworkInterfaceId": "eni-appliance", "InstanceId": "i-appliance"},
            )
        )

    def add_peering_routes(self, routes: dict[str, Raw], vpc_id: str) -> None:
        for peering_id, one, other in self.peered:
            if vpc_id not in (one, other):
                continue
            far = other if vpc_id == one else one
            for block in self.vpcs[far]:
                if self.c.chance(90):
                    state = "blackhole" if self.c.chance(5) else "active"
                    route = {**destination(str(block)), "VpcPeeringConnectionId": peering_id, "State": state}
                    routes.setdefault(str(block), route)

    def add_odd_routes(self, routes: dict[str, Raw], vpc_id: str) -> None:
        targets: tuple[Callable[[], Raw], ...] = (
            lambda: {"NetworkInterfaceId": "eni-appliance", "State": "blackhole"},
            lambda: {"NetworkInterfaceId": "eni-appliance", "InstanceId": "i-appliance", "State": "active"},
            lambda: {"GatewayId": "vpce-0", "State": "active"},
            lambda: {"NatGatewayId": "nat-0", "State": "active"},
            lambda: {"TransitGatewayId": "tgw-0", "State": "active"},
            lambda: {"VpcPeeringConnectionId": self.peered[0][0] if self.peered else "pcx-0", "State": "active"},
        )
        for _ in range(self.c.integer(1, 2)):
            target = self.c.pick(targets)()
            if "VpcPeeringConnectionId" in target and not self.peered:
                continue
            kind = self.c.integer(0, 3)
            if kind == 0 and "NetworkInterfaceId" in target:
                block = str(self.vpcs[vpc_id][0])
                routes[block] = {**destination(block), **target}
            elif kind == 3 and "TransitGatewayId" not in target:
                list_id = self.c.pick([*self.list_ids, "pl-unread"])
                routes.setdefault(list_id, {"DestinationPrefixListId": list_id, **target})
            else:
                block = self.odd_destination()
                routes.setdefault(block, {**destination(block), **target})
        if self.c.chance(30):
            routes["pl-s3"] = {"DestinationPrefixListId": "pl-s3", "GatewayId": "vpce-s3", "State": "active"}

    def odd_destination(self) -> str:
        version = 6 if self.six and self.c.chance(30) else 4
        near = [item for item in self.addresses if item.version == version]
        if not near:
            return "10.0.0.0/24"
        prefix = self.c.pick((24, 20, 32, 28, 8)) if version == 4 else self.c.pick((64, 128, 60, 32))
        return str(ipaddress.ip_network(f"{self.c.pick(near)}/{prefix}", strict=False))


def embedded(interface: Raw) -> Raw:
    """Give an interface as DescribeInstances does: its attachment doesn't repeat the instance."""
    attachment = {key: value for key, value in interface["Attachment"].items() if key != "InstanceId"}
    return {**interface, "Attachment": attachment}


def destination(block: str) -> Raw:
    """Give the key that a route to a block has."""
    key = "DestinationIpv6CidrBlock" if ":" in block else "DestinationCidrBlock"
    return {key: block}
