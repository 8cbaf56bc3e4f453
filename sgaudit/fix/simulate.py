"""A plan applied to a snapshot in memory: what AWS would say afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sgaudit.errors import InternalError
from sgaudit.model import AclEntry, Cidr, Family, GroupPeer, Permission, SecurityGroup, Snapshot
from sgaudit.ports import ALL, PortSet
from sgaudit.snapshot.groups import requested

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgaudit.fix.plan import Call, Operation

PROTOCOL_NAMES = {"6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6", "-1": "-1"}


def created_id(operation_id: str, kind: str) -> str:
    """Give the id that stands for what an operation will create."""
    return f"{kind}-{operation_id}"


@dataclass(frozen=True, slots=True)
class _State:
    snapshot: Snapshot
    created: Mapping[str, str]
    """Operation id to the id of what it created."""


def simulate(snapshot: Snapshot, operations: Iterable[Operation]) -> Snapshot:
    """
    Carry out operations on a copy.

    Raises:
        InternalError: an operation can't be carried out: AWS would refuse it.
    """
    state = _State(snapshot, {})
    for operation in operations:
        state = _apply(state, operation.id, operation.call)
    return state.snapshot


def _apply(state: _State, operation_id: str, call: Call) -> _State:
    act = _ACTIONS.get(call.api)
    if act is None:
        raise InternalError(f"{operation_id}: no simulation of {call.api}")
    return act(state, operation_id, resolved(call.params, state.created))


def resolved(value: Any, created: Mapping[str, str]) -> Any:
    """Put the ids of what was created in the place of references to operations."""
    if isinstance(value, Mapping):
        if set(value) == {"Ref"}:
            return created[value["Ref"]]
        return {key: resolved(item, created) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [resolved(item, created) for item in value]
    return value


def _group(state: _State, group_id: str) -> SecurityGroup:
    group = (state.snapshot.security_groups or {}).get(group_id)
    if group is None:
        raise InternalError(f"the plan changes {group_id}, which was not read")
    return group


def _with_group(state: _State, group: SecurityGroup) -> _State:
    groups = {**(state.snapshot.security_groups or {}), group.group_id: group}
    return replace(state, snapshot=replace(state.snapshot, security_groups=groups))


def _identity(row: Permission) -> tuple[object, ...]:
    """Give what EC2 tells a row from others by: not the owner of a group, nor the state of a peering."""
    peer: object = row.peer
    if isinstance(row.peer, GroupPeer):
        peer = row.peer.group_id, row.peer.peering_id
    return row.protocol, row.ports, peer


def _authorize(state: _State, _: str, params: Mapping[str, Any], *, egress: bool) -> _State:
    group = _group(state, params["GroupId"])
    present = group.egress if egress else group.ingress
    added = requested(params["IpPermissions"], group.vpc_id)
    known, new = {_identity(row) for row in present}, {_identity(row) for row in added}
    if known & new:
        raise InternalError(f"the plan adds to {group.group_id} a permission that it has")
    if len(new) < len(added):
        raise InternalError(f"the plan adds to {group.group_id} a permission twice")
    if egress:
        return _with_group(state, replace(group, egress=present + added))
    return _with_group(state, replace(group, ingress=present + added))


def _revoke(state: _State, _: str, params: Mapping[str, Any], *, egress: bool) -> _State:
    group = _group(state, params["GroupId"])
    present = group.egress if egress else group.ingress
    gone = set(params.get("SecurityGroupRuleIds", ()))
    named = {_identity(row) for row in requested(params.get("IpPermissions", []), group.vpc_id)}
    left = tuple(row for row in present if _identity(row) not in named and row.rule_id not in gone)
    if len(present) - len(left) < len(named) + len(gone):
        raise InternalError(f"the plan takes from {group.group_id} a permission that it does not have")
    return _with_group(state, replace(group, egress=left) if egress else replace(group, ingress=left))


def _create_group(state: _State, operation_id: str, params: Mapping[str, Any]) -> _State:
    """Make a group; it begins with an egress permission for everything to everywhere (EC2 API reference)."""
    group_id = created_id(operation_id, "sg")
    vpc = (state.snapshot.vpcs or {}).get(params["VpcId"])
    families = {cidr.family for cidr in vpc.cidrs} if vpc else {Family.IPV4}
    egress = tuple(
        Permission("-1", ALL, Cidr(family, 0, 0)) for family in Family if family is Family.IPV4 or family in families
    )
    group = SecurityGroup(
        group_id, params["GroupName"], params["VpcId"], state.snapshot.account_id, params["Description"], (), egress
    )
    made = replace(state, created={**state.created, operation_id: group_id})
    return _with_group(made, group)


def _set_groups(state: _State, _: str, params: Mapping[str, Any]) -> _State:
    interface = state.snapshot.interfaces[params["NetworkInterfaceId"]]
    changed = replace(interface, groups=tuple(params["Groups"]))
    interfaces = {**state.snapshot.interfaces, interface.interface_id: changed}
    return replace(state, snapshot=replace(state.snapshot, interfaces=interfaces))


def _create_list(state: _State, operation_id: str, params: Mapping[str, Any]) -> _State:
    list_id = created_id(operation_id, "pl")
    entries = tuple(Cidr.parse(entry["Cidr"]) for entry in params["Entries"])
    snapshot = replace(
        state.snapshot,
        prefix_lists={**state.snapshot.prefix_lists, list_id: entries},
        prefix_list_sizes={**state.snapshot.prefix_list_sizes, list_id: int(params["MaxEntries"])},
    )
    return _State(snapshot, {**state.created, operation_id: list_id})


def _create_entry(state: _State, _: str, params: Mapping[str, Any]) -> _State:
    acls = state.snapshot.network_acls or {}
    acl = acls[params["NetworkAclId"]]
    entry = _entry(params)
    if any(item.number == entry.number and item.egress is entry.egress for item in acl.entries):
        raise InternalError(f"the plan gives {acl.acl_id} a second entry {entry.number}")
    entries = tuple(sorted((*acl.entries, entry), key=lambda item: item.number))
    changed = {**acls, acl.acl_id: replace(acl, entries=entries)}
    return replace(state, snapshot=replace(state.snapshot, network_acls=changed))


def _entry(params: Mapping[str, Any]) -> AclEntry:
    protocol = PROTOCOL_NAMES.get(params["Protocol"], params["Protocol"])
    ports = ALL
    if "PortRange" in params:
        ports = PortSet.single(params["PortRange"]["From"], params["PortRange"]["To"])
    elif "IcmpTypeCode" in params:
        kind, code = params["IcmpTypeCode"]["Type"], params["IcmpTypeCode"]["Code"]
        if kind >= 0:
            low = kind * 256 + max(code, 0)
            ports = PortSet.single(low, low if code >= 0 else low + 255)
    return AclEntry(
        params["RuleNumber"],
        params["Egress"],
        params["RuleAction"] == "allow",
        protocol,
        ports,
        Cidr.parse(params.get("CidrBlock") or params["Ipv6CidrBlock"]),
    )


_ACTIONS: Mapping[str, Callable[[_State, str, Mapping[str, Any]], _State]] = {
    "AuthorizeSecurityGroupIngress": lambda *given: _authorize(*given, egress=False),
    "AuthorizeSecurityGroupEgress": lambda *given: _authorize(*given, egress=True),
    "RevokeSecurityGroupIngress": lambda *given: _revoke(*given, egress=False),
    "RevokeSecurityGroupEgress": lambda *given: _revoke(*given, egress=True),
    "CreateSecurityGroup": _create_group,
    "ModifyNetworkInterfaceAttribute": _set_groups,
    "CreateManagedPrefixList": _create_list,
    "CreateNetworkAclEntry": _create_entry,
}
