"""Protocols and their ports, which security groups and network ACLs write almost alike."""

from __future__ import annotations

from sgaudit.model import ALL_PROTOCOLS
from sgaudit.ports import ALL, HIGHEST, LOWEST, PortSet
from sgaudit.snapshot.fields import FieldError, Object, missing, wrong

PROTOCOLS = {
    "tcp": "tcp",
    "6": "tcp",
    "udp": "udp",
    "17": "udp",
    "icmp": "icmp",
    "1": "icmp",
    "icmpv6": "icmpv6",
    "58": "icmpv6",
    "-1": ALL_PROTOCOLS,
    "all": ALL_PROTOCOLS,
}
"""What EC2 writes, by name or number, to sgaudit's one word for it."""

PORT_HINT = (
    "EC2 requires both ends of a range within 0-65535 for tcp and udp; every port of every protocol is protocol -1"
)
ICMP_HINT = "EC2 requires a type before a code; -1 is any"


def protocol(item: Object, key: str) -> str:
    """Read a protocol by name or number: `tcp`, `udp`, `icmp`, `icmpv6`, `-1` or another number in text."""
    value = item.get(key)
    if value is None:
        raise missing(key)
    name = str(value) if type(value) is int and -1 <= value <= 255 else value
    if type(name) is str:
        known = PROTOCOLS.get(name.lower())
        if known is not None:
            return known
        if name.isascii() and name.isdigit() and len(name) <= 3 and int(name) <= 255:
            number = str(int(name))
            return PROTOCOLS.get(number, number)
    raise wrong("tcp, udp, icmp, icmpv6, -1 or a protocol number up to 255", value, key)


def ports(name: str, low: int | None, high: int | None, keys: tuple[str, str]) -> PortSet:
    """
    Turn the two numbers of a row into what they admit.

    For ICMP they are the type and the code. Protocols without ports have everything, whatever is given
    (EC2 API reference, IpPermission).

    Args:
        name: the protocol.
        low: the number under the first key.
        high: the number under the second key.
        keys: what the two are called, for errors.
    """
    if name in ("tcp", "udp"):
        return _range(name, low, high, keys)
    if name in ("icmp", "icmpv6"):
        return _messages(low, high, keys)
    return ALL


def _range(name: str, low: int | None, high: int | None, keys: tuple[str, str]) -> PortSet:
    if low is not None and high is not None and LOWEST <= low <= high <= HIGHEST:
        return PortSet(((low, high),))
    for value, key in ((low, keys[0]), (high, keys[1])):
        if value is None:
            raise missing(key, f"EC2 requires {keys[0]} and {keys[1]} for {name}")
        if not LOWEST <= value <= HIGHEST:
            raise wrong("a port from 0 to 65535", value, key, hint=PORT_HINT)
    raise wrong(f"a port not below {keys[0]} {low}", high, keys[1], hint=PORT_HINT)


def _messages(kind: int | None, code: int | None, keys: tuple[str, str]) -> PortSet:
    kind = -1 if kind is None else kind
    code = -1 if code is None else code
    for value, key, what in ((kind, keys[0], "type"), (code, keys[1], "code")):
        if not -1 <= value <= 255:
            raise wrong(f"an ICMP {what} from 0 to 255, or -1", value, key, hint=ICMP_HINT)
    if kind == -1:
        if code != -1:
            raise FieldError(f"ICMP code {code} without a type", keys[1], hint=ICMP_HINT)
        return ALL
    first = kind * 256
    return PortSet(((first, first + 255),)) if code == -1 else PortSet(((first + code, first + code),))
