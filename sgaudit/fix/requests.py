"""EC2 requests, written as boto3 takes them."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from sgaudit.fix.plan import Call
from sgaudit.model import Cidr, Family, GroupPeer, PrefixListPeer
from sgaudit.ports import ALL, PortSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sgaudit.model import Peer, Permission

PROTOCOL_NUMBERS = {"tcp": "6", "udp": "17", "icmp": "1", "icmpv6": "58", "all": "-1", "efa": "-1"}
_NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9. _\-:/()#,@\[\]+=;{}!$*]")
"""The characters that every kind of description allows (EC2 API reference)."""
LONGEST_DESCRIPTION = 255


def description(text: str) -> str:
    """Make a text fit for a description."""
    return _NOT_ALLOWED.sub("_", text)[:LONGEST_DESCRIPTION]


def rows(protocol: str, ports: PortSet, peers: Iterable[Peer], about: str) -> list[dict[str, Any]]:
    """Write permissions: one `IpPermissions` row for each port range, all peers in each."""
    sides: dict[str, list[dict[str, str]]] = defaultdict(list)
    for peer in peers:
        key, value = _peer(peer)
        sides[key].append({**value, "Description": description(about)})
    return [{**span, **{key: list(found) for key, found in sides.items()}} for span in _spans(protocol, ports)]


def row(permission: Permission, *, described: bool) -> dict[str, Any]:
    """Write a permission that was read just as it was: what revokes it needs no description, what restores it does."""
    key, value = _peer(permission.peer)
    if described and permission.description:
        value["Description"] = permission.description
    spanned = permission.protocol in ("tcp", "udp", "icmp", "icmpv6") and permission.from_port is not None
    span = {"FromPort": permission.from_port, "ToPort": permission.to_port} if spanned else {}
    return {"IpProtocol": permission.protocol, **span, key: [value]}


def _spans(protocol: str, ports: PortSet) -> list[dict[str, Any]]:
    if protocol in ("all", "efa"):
        return [{"IpProtocol": "-1"}]
    if protocol in ("tcp", "udp"):
        return [{"IpProtocol": protocol, "FromPort": low, "ToPort": high} for low, high in ports.ranges]
    if protocol in ("icmp", "icmpv6"):
        return [{"IpProtocol": protocol, "FromPort": kind, "ToPort": code} for kind, code in icmp_messages(ports)]
    return [{"IpProtocol": protocol}]


def icmp_messages(ports: PortSet) -> list[tuple[int, int]]:
    """Give types and codes, -1 for any, that cover just these messages."""
    if ports == ALL:
        return [(-1, -1)]
    found: list[tuple[int, int]] = []
    for low, high in ports.ranges:
        point = low
        while point <= high:
            kind, code = divmod(point, 256)
            if code == 0 and point + 255 <= high:
                found.append((kind, -1))
                point += 256
            else:
                found.append((kind, code))
                point += 1
    return found


def _peer(peer: Peer) -> tuple[str, dict[str, str]]:
    match peer:
        case Cidr(family=Family.IPV4):
            return "IpRanges", {"CidrIp": str(peer)}
        case Cidr():
            return "Ipv6Ranges", {"CidrIpv6": str(peer)}
        case PrefixListPeer():
            return "PrefixListIds", {"PrefixListId": peer.prefix_list_id}
        case GroupPeer():
            pair = {"GroupId": peer.group_id}
            if peer.owner_id:
                pair["UserId"] = peer.owner_id
            if peer.vpc_id:
                pair["VpcId"] = peer.vpc_id
            if peer.peering_id:
                pair["VpcPeeringConnectionId"] = peer.peering_id
            return "UserIdGroupPairs", pair


def tag_specification(resource_type: str, tags: Mapping[str, str]) -> dict[str, Any]:
    """Tag what a request creates, in the request itself: so that a policy by tags can allow it."""
    return {"ResourceType": resource_type, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}


def authorize(
    group_id: Any, permissions: Sequence[Mapping[str, Any]], *, egress: bool, tags: Mapping[str, str]
) -> tuple[Call, Call]:
    """Write the request that adds permissions to a group, and the one that takes them away again."""
    way = "Egress" if egress else "Ingress"
    params: dict[str, Any] = {"GroupId": group_id, "IpPermissions": [dict(row) for row in permissions]}
    undo = Call(f"RevokeSecurityGroup{way}", {**params})
    if tags:
        params["TagSpecifications"] = [tag_specification("security-group-rule", tags)]
    return Call(f"AuthorizeSecurityGroup{way}", params), undo


def acl_entry(
    acl_id: str, number: int, *, egress: bool, protocol: str, span: tuple[int, int] | None, cidr: Cidr
) -> tuple[Call, Call]:
    """Write the request that adds an entry that allows, and the one that deletes it."""
    params: dict[str, Any] = {
        "NetworkAclId": acl_id,
        "RuleNumber": number,
        "Egress": egress,
        "Protocol": PROTOCOL_NUMBERS.get(protocol, protocol),
        "RuleAction": "allow",
        ("CidrBlock" if cidr.family is Family.IPV4 else "Ipv6CidrBlock"): str(cidr),
    }
    if span is not None and protocol in ("icmp", "icmpv6"):
        params["IcmpTypeCode"] = {"Type": span[0], "Code": span[1]}
    elif span is not None:
        params["PortRange"] = {"From": span[0], "To": span[1]}
    undo = {"NetworkAclId": acl_id, "RuleNumber": number, "Egress": egress}
    return Call("CreateNetworkAclEntry", params), Call("DeleteNetworkAclEntry", undo)
