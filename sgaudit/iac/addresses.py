"""
Stand-ins for addresses that are not known before the stack is made.

An interface whose address AWS will pick gets one within its subnet's block, so that every rule about a
block which holds the whole subnet, or nothing of it, is judged as it will be. A rule that cuts the subnet
would be judged by chance: `doubtful` tells which these are, and they become unknown.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sgaudit.iac.values import Unknown

if TYPE_CHECKING:
    from sgaudit.iac.stack import Interface, Stack

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
RESERVED = 4
"""AWS keeps the first four addresses of a subnet's block and the last one (VPC user guide, subnet sizing)."""
NOWHERE = {4: ipaddress.ip_network("198.18.0.0/15"), 6: ipaddress.ip_network("2001:db8::/64")}
"""Blocks for tests and documentation: what stands in when not even the subnet's block is known."""
ANYWHERE = {4: ipaddress.ip_network("0.0.0.0/0"), 6: ipaddress.ip_network("::/0")}


def network(text: str) -> Network | None:
    """Read a block; None for what is none, which the snapshot will complain about."""
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


@dataclass(slots=True)
class Addresses:
    """The stand-ins that were given, and the blocks out of which AWS will pick."""

    stack: Stack
    cut: dict[Network, None] = field(default_factory=dict)
    count: int = 0
    _taken: set[str] = field(default_factory=set)
    _next: dict[Network, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for interface in self.stack.interfaces.values():
            self._taken.update(interface.ipv4 or (), interface.ipv6 or ())
        for interface in self.stack.interfaces.values():
            if interface.ipv4 is None and interface.kind != "efa-only":
                interface.ipv4 = self._stand_in(interface, 4)
            if interface.ipv6 is None and interface.kind != "efa-only":
                interface.ipv6 = self._stand_in(interface, 6)

    def _stand_in(self, interface: Interface, version: int) -> tuple[str, ...]:
        subnet = self.stack.subnets.get(interface.subnet_id)
        text = (subnet.block if version == 4 else subnet.ipv6_block) if subnet else None
        block = network(text) if text else None
        if block is None or block.version != version:
            self.cut[ANYWHERE[version]] = None
            return (self._pick(NOWHERE[version]) or str(NOWHERE[version][-1]),)
        picked = self._pick(block)
        if picked is None:
            self.stack.note(interface.interface_id, f"no address is left in {block}")
            self.cut[ANYWHERE[version]] = None
            return (self._pick(NOWHERE[version]) or str(NOWHERE[version][-1]),)
        self.cut[block] = None
        return (picked,)

    def _pick(self, block: Network) -> str | None:
        position = self._next.get(block, RESERVED)
        while position < block.num_addresses - 1:
            address = str(block[position])
            position += 1
            if address not in self._taken:
                self._next[block] = position
                self._taken.add(address)
                self.count += 1
                return address
        return None

    def doubtful(self, text: str) -> bool:
        """Tell whether a block holds a part of what AWS may pick, but not all of it."""
        block = network(text)
        if block is None:
            return False
        return any(
            one.version == block.version and one.prefixlen < block.prefixlen and _within(block, one) for one in self.cut
        )


def _within(inner: Network, outer: Network) -> bool:
    return int(outer.network_address) <= int(inner.network_address) <= int(outer.broadcast_address)


def known_groups(interface: Interface) -> list[dict[str, str]] | None:
    """Give the groups as EC2 does; None when they are not known."""
    if isinstance(interface.groups, Unknown):
        return None
    return [{"GroupId": group_id} for group_id in interface.groups]
