"""Security groups and their permissions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sgaudit.errors import SnapshotError
from sgaudit.model import Family, GroupPeer, Peer, Permission, PrefixListPeer, SecurityGroup
from sgaudit.snapshot.fields import (
    FieldError,
    Object,
    Within,
    by_id,
    cidr,
    each,
    flag,
    inner,
    missing,
    required,
    tags,
    text,
    whole,
)
from sgaudit.snapshot.protocols import ports, protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

Names = dict[tuple[str, str], str]
"""VPC id and group name to group id."""
RuleKey = tuple[str, bool, str, object, object]
RuleIds = dict[RuleKey, list[tuple[str, str]]]
"""What tells a rule from others, to descriptions and rule ids."""


def group_names(document: Mapping[str, Any]) -> Names:
    """Index the groups by VPC and name; older answers refer to groups by name alone."""
    return dict(each(document, "SecurityGroups", _named))


def _named(item: Object) -> tuple[tuple[str, str], str]:
    return (text(item, "VpcId"), text(item, "GroupName")), required(item, "GroupId")


def security_groups(document: Mapping[str, Any], names: Names) -> dict[str, SecurityGroup] | None:
    """Read the groups; None when they were not read."""
    if document.get("SecurityGroups") is None:
        return None
    rule_ids: RuleIds = {}
    for key, rule in each(document, "SecurityGroupRules", _rule):
        if rule not in rule_ids.setdefault(key, []):
            rule_ids[key].append(rule)
    groups = each(document, "SecurityGroups", partial(_group, names))
    table = by_id(groups, lambda group: group.group_id, "SecurityGroups")
    if not rule_ids:
        return table
    return {group_id: _with_rule_ids(group, rule_ids) for group_id, group in table.items()}


def _group(names: Names, item: Object) -> SecurityGroup:
    vpc_id = required(item, "VpcId")
    return SecurityGroup(
        group_id=required(item, "GroupId"),
        name=text(item, "GroupName"),
        vpc_id=vpc_id,
        owner_id=text(item, "OwnerId"),
        description=text(item, "Description"),
        ingress=_permissions(names, vpc_id, item, "IpPermissions"),
        egress=_permissions(names, vpc_id, item, "IpPermissionsEgress"),
        tags=tags(item),
    )


def requested(rows: list[dict[str, Any]], vpc_id: str) -> tuple[Permission, ...]:
    """
    Read the `IpPermissions` of a request that authorizes or revokes.

    Raises:
        SnapshotError: a row is wrong.
    """
    try:
        return _permissions({}, vpc_id, {"IpPermissions": rows}, "IpPermissions")
    except FieldError as fault:
        raise SnapshotError(f"IpPermissions: {fault}", hint="see the EC2 API reference, IpPermission") from fault


def _permissions(names: Names, vpc_id: str, item: Object, key: str) -> tuple[Permission, ...]:
    rows = each(item, key, partial(_rows, names, vpc_id))
    return tuple(permission for row in rows for permission in row)


def _rows(names: Names, vpc_id: str, item: Object) -> list[Permission]:
    """Make one permission of each peer: EC2 folds all that share protocol and ports into one row."""
    name = protocol(item, "IpProtocol")
    low, high = whole(item, "FromPort"), whole(item, "ToPort")
    admitted = ports(name, low, high, ("FromPort", "ToPort"))
    peers = [
        *each(item, "IpRanges", _ipv4_peer),
        *each(item, "Ipv6Ranges", _ipv6_peer),
        *each(item, "PrefixListIds", _list_peer),
        *each(item, "UserIdGroupPairs", partial(_group_peer, names, vpc_id)),
    ]
    return [Permission(name, admitted, peer, description, low, high) for peer, description in peers]


def _ipv4_peer(item: Object) -> tuple[Peer, str]:
    return cidr(item, "CidrIp", Family.IPV4), text(item, "Description")


def _ipv6_peer(item: Object) -> tuple[Peer, str]:
    return cidr(item, "CidrIpv6", Family.IPV6), text(item, "Description")


def _list_peer(item: Object) -> tuple[Peer, str]:
    return PrefixListPeer(required(item, "PrefixListId")), text(item, "Description")


def _group_peer(names: Names, vpc_id: str, item: Object) -> tuple[Peer, str]:
    peer_vpc_id = text(item, "VpcId")
    group_id, name = text(item, "GroupId"), text(item, "GroupName")
    if not group_id:
        if not name:
            raise missing("GroupId")
        # A name that no group of the VPC has stays as it is: no interface carries it, so the reference is stale.
        group_id = names.get((peer_vpc_id or vpc_id, name), name)
    peer = GroupPeer(
        group_id=group_id,
        owner_id=text(item, "UserId"),
        vpc_id=peer_vpc_id,
        peering_id=text(item, "VpcPeeringConnectionId"),
        peering_status=text(item, "PeeringStatus"),
    )
    return peer, text(item, "Description")


def _rule(item: Object) -> tuple[RuleKey, tuple[str, str]]:
    name = protocol(item, "IpProtocol")
    admitted = ports(name, whole(item, "FromPort"), whole(item, "ToPort"), ("FromPort", "ToPort"))
    key = (required(item, "GroupId"), flag(item, "IsEgress"), name, admitted, _rule_peer(item))
    return key, (text(item, "Description"), required(item, "SecurityGroupRuleId"))


def _rule_peer(item: Object) -> object:
    if item.get("CidrIpv4") is not None:
        return cidr(item, "CidrIpv4", Family.IPV4)
    if item.get("CidrIpv6") is not None:
        return cidr(item, "CidrIpv6", Family.IPV6)
    if item.get("PrefixListId") is not None:
        return PrefixListPeer(required(item, "PrefixListId"))
    group = inner(item, "ReferencedGroupInfo")
    with Within("ReferencedGroupInfo"):
        return required(group, "GroupId")


def _with_rule_ids(group: SecurityGroup, rule_ids: RuleIds) -> SecurityGroup:
    return replace(
        group,
        ingress=_identified(group.group_id, group.ingress, rule_ids, egress=False),
        egress=_identified(group.group_id, group.egress, rule_ids, egress=True),
    )


def _identified(
    group_id: str, permissions: tuple[Permission, ...], rule_ids: RuleIds, *, egress: bool
) -> tuple[Permission, ...]:
    # Rows that differ in nothing but the description are told apart by it, where EC2 gave it.
    out = list(permissions)
    for exact in (True, False):
        for index, permission in enumerate(out):
            if permission.rule_id:
                continue
            peer = permission.peer.group_id if isinstance(permission.peer, GroupPeer) else permission.peer
            rules = rule_ids.get((group_id, egress, permission.protocol, permission.ports, peer), [])
            rule_id = _take(rules, permission.description, exact=exact)
            if rule_id:
                out[index] = replace(permission, rule_id=rule_id)
    return tuple(out)


def _take(rules: list[tuple[str, str]], description: str, *, exact: bool) -> str:
    """Take a rule of this description out of a list; if it need not be exact, also where one of the two has none."""
    for rule in rules:
        if rule[0] == description or not (exact or (rule[0] and description)):
            rules.remove(rule)
            return rule[1]
    return ""
