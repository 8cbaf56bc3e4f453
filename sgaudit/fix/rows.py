"""
Permissions and ACL entries as EC2 tells them apart: by all but their description.

A row becomes a short text, such as `tcp:1024-65535 from sg-1`; two rows are the same one exactly when their
texts are. Requests (`IpPermissions`) and answers (`SecurityGroupRules`) give the same text for the same row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sgaudit.model import ALL_PROTOCOLS, Cidr

NAMES = {"6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6", "all": ALL_PROTOCOLS}
NUMBERS = {"tcp": "6", "udp": "17", "icmp": "1", "icmpv6": "58", "all": ALL_PROTOCOLS}
WITH_PORTS = frozenset({"tcp", "udp", "icmp", "icmpv6"})
PEERS = (
    ("IpRanges", "CidrIp"),
    ("Ipv6Ranges", "CidrIpv6"),
    ("PrefixListIds", "PrefixListId"),
    ("UserIdGroupPairs", "GroupId"),
)
"""The lists of peers in an `IpPermission`, and what identifies an item of each."""

Raw = Mapping[str, Any]


def key(protocol: str, low: int | None, high: int | None, peer: str) -> str:
    """Write a row of a security group as a text."""
    name = protocol.lower()
    name = NAMES.get(name, name)
    if name == ALL_PROTOCOLS:
        return f"all from {peer}"
    if name not in WITH_PORTS:
        return f"{name} from {peer}"
    low, high = -1 if low is None else low, -1 if high is None else high
    return f"{name}:{low}-{high} from {peer}"


def split(permissions: Iterable[Raw]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give each row of a request, and the `IpPermission` that holds it alone."""
    for permission in permissions:
        head = {name: permission[name] for name in ("IpProtocol", "FromPort", "ToPort") if name in permission}
        for plural, singular in PEERS:
            for item in permission.get(plural) or ():
                peer = canonical(str(item[singular])) if singular.startswith("Cidr") else str(item[singular])
                protocol = str(permission["IpProtocol"])
                name = key(protocol, permission.get("FromPort"), permission.get("ToPort"), peer)
                yield name, {**head, plural: [dict(item)]}


def without(permissions: Iterable[Raw], names: Iterable[str]) -> list[dict[str, Any]]:
    """Leave rows out of a request, and repeated ones, and keep the others together as they were."""
    gone = set(names)
    out = []
    for permission in permissions:
        kept: dict[str, Any] = {
            name: value for name, value in permission.items() if name not in {plural for plural, _ in PEERS}
        }
        for name, alone in split([permission]):
            if name in gone:
                continue
            gone.add(name)
            plural = next(plural for plural, _ in PEERS if plural in alone)
            kept.setdefault(plural, []).extend(alone[plural])
        if any(plural in kept for plural, _ in PEERS):
            out.append(kept)
    return out


def descriptions(permissions: Iterable[Raw]) -> dict[str, str]:
    """Tell the description that each row of a request is to have."""
    return {
        name: str(item.get("Description") or "")
        for name, alone in split(permissions)
        for plural, _ in PEERS
        for item in alone.get(plural, ())
    }


def rule_key(rule: Raw) -> str:
    """Write an item of `SecurityGroupRules` as a text."""
    return key(str(rule["IpProtocol"]), rule.get("FromPort"), rule.get("ToPort"), rule_peer(rule))


def rule_peer(rule: Raw) -> str:
    """Tell the peer of an item of `SecurityGroupRules`."""
    for name in ("CidrIpv4", "CidrIpv6"):
        if rule.get(name):
            return canonical(str(rule[name]))
    if rule.get("PrefixListId"):
        return str(rule["PrefixListId"])
    return str((rule.get("ReferencedGroupInfo") or {}).get("GroupId") or "")


def permission_of(rule: Raw) -> dict[str, Any]:
    """Give the `IpPermission` that makes an item of `SecurityGroupRules` anew."""
    out: dict[str, Any] = {"IpProtocol": str(rule["IpProtocol"])}
    name = NAMES.get(out["IpProtocol"].lower(), out["IpProtocol"].lower())
    if name in WITH_PORTS:
        out |= {field: rule[field] for field in ("FromPort", "ToPort") if rule.get(field) is not None}
    said = {"Description": rule["Description"]} if rule.get("Description") else {}
    if rule.get("CidrIpv4"):
        return {**out, "IpRanges": [{"CidrIp": rule["CidrIpv4"], **said}]}
    if rule.get("CidrIpv6"):
        return {**out, "Ipv6Ranges": [{"CidrIpv6": rule["CidrIpv6"], **said}]}
    if rule.get("PrefixListId"):
        return {**out, "PrefixListIds": [{"PrefixListId": rule["PrefixListId"], **said}]}
    group = rule.get("ReferencedGroupInfo") or {}
    pair = {name: group[name] for name in ("GroupId", "UserId", "VpcPeeringConnectionId") if group.get(name)}
    return {**out, "UserIdGroupPairs": [{**pair, **said}]}


def entry(raw: Raw) -> dict[str, Any]:
    """Give what a network ACL entry is, in one form for requests and answers."""
    protocol = str(raw["Protocol"]).lower()
    block = "CidrBlock" if raw.get("CidrBlock") else "Ipv6CidrBlock"
    out: dict[str, Any] = {
        "RuleNumber": int(raw["RuleNumber"]),
        "Egress": bool(raw["Egress"]),
        "RuleAction": str(raw["RuleAction"]),
        "Protocol": NUMBERS.get(protocol, protocol),
        block: canonical(str(raw.get(block) or "")),
    }
    for name in ("PortRange", "IcmpTypeCode"):
        if raw.get(name):
            out[name] = {field: int(value) for field, value in raw[name].items()}
    return out


def canonical(block: str) -> str:
    """Write a CIDR block as EC2 keeps it; what is none stays as it is."""
    try:
        return str(Cidr.parse(block))
    except ValueError:
        return block
