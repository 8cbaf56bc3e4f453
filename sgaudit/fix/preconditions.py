"""What a plan rests on, as fingerprints: to see right before applying whether it still is so."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sgaudit.fix import rows
from sgaudit.fix.journal import Journal
from sgaudit.fix.plan import Plan
from sgaudit.model import AclEntry, Interface, NetworkAcl, Permission, SecurityGroup, Snapshot

SECURITY_GROUP, NETWORK_ACL, NETWORK_INTERFACE = "security-group", "network-acl", "network-interface"
PREFIX_LIST = "prefix-list"
HIGHEST_ENTRY = 32766
WORDS = {
    "identity": "the name or the VPC",
    "ingress": "the ingress permissions",
    "egress": "the egress permissions",
    "ingress-entries": "the ingress entries",
    "egress-entries": "the egress entries",
    "subnets": "the subnets that it guards",
    "groups": "the security groups",
    "entries": "the entries",
}
"""Part of a fingerprint to words."""


def fingerprint_of(snapshot: Snapshot, resource_type: str, resource_id: str) -> str:
    """
    Give a fingerprint of all that a plan can rest on of a resource: descriptions, tags and order apart.

    It is a list of `part:sha256`, so that a comparison tells which part has changed; empty when the
    resource is not in the snapshot.
    """
    parts = _parts(snapshot, resource_type, resource_id)
    return ",".join(f"{name}:{_digest(content)}" for name, content in parts.items())


def changed(plan: Plan, snapshot: Snapshot, journal: Journal | None = None) -> list[str]:
    """
    Tell in words what is no longer as it was when the plan was made.

    Args:
        plan: the plan.
        snapshot: what is so now.
        journal: that of the plan's own run so far: what it has made counts as if it weren't there.
    """
    if journal is not None:
        snapshot = without_own(snapshot, journal)
    found = []
    for item in plan.preconditions:
        now = fingerprint_of(snapshot, item.resource_type, item.resource_id)
        if now != item.fingerprint:
            found.append(_difference(item.resource_type, item.resource_id, item.fingerprint, now))
    return found


def _difference(resource_type: str, resource_id: str, before: str, now: str) -> str:
    name = f"{resource_type.replace('-', ' ').replace('acl', 'ACL')} {resource_id}"
    if not now:
        return f"{name} is gone, or could not be read"
    if not before:
        return f"{name} was not there when the plan was made"
    old, new = _split(before), _split(now)
    parts = [WORDS.get(part, part) for part in new if old.get(part) != new[part]]
    return f"{' and '.join(parts or ['something'])} of {name} {'have' if len(parts) != 1 else _verb(parts[0])} changed"


def _verb(words: str) -> str:
    return "has" if words == WORDS["identity"] else "have"


def _split(fingerprint: str) -> dict[str, str]:
    return dict(part.partition(":")[::2] for part in fingerprint.split(","))


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _parts(snapshot: Snapshot, resource_type: str, resource_id: str) -> Mapping[str, Any]:
    if resource_type == SECURITY_GROUP:
        group = (snapshot.security_groups or {}).get(resource_id)
        return {} if group is None else _group(group)
    if resource_type == NETWORK_ACL:
        acl = (snapshot.network_acls or {}).get(resource_id)
        return {} if acl is None else _acl(acl)
    if resource_type == NETWORK_INTERFACE:
        interface = snapshot.interfaces.get(resource_id)
        return {} if interface is None or interface.groups is None else _interface(interface)
    if resource_type == PREFIX_LIST and resource_id in snapshot.prefix_lists:
        return {"entries": sorted(str(cidr) for cidr in snapshot.prefix_lists[resource_id])}
    return {}


def _group(group: SecurityGroup) -> dict[str, Any]:
    return {
        "identity": [group.group_id, group.name, group.vpc_id],
        "ingress": sorted({_row(row) for row in group.ingress}),
        "egress": sorted({_row(row) for row in group.egress}),
    }


def _row(row: Permission) -> str:
    return f"{row.protocol} {row.ports} {row.peer}"


def _acl(acl: NetworkAcl) -> dict[str, Any]:
    # The last entries, which deny, can't be changed, and not everybody who reads an ACL lists them.
    entries = [entry for entry in acl.entries if entry.number <= HIGHEST_ENTRY]
    return {
        "ingress-entries": sorted(_entry(entry) for entry in entries if not entry.egress),
        "egress-entries": sorted(_entry(entry) for entry in entries if entry.egress),
        "subnets": sorted(acl.subnet_ids),
    }


def _entry(entry: AclEntry) -> str:
    return f"{entry.number:05} {entry.allow} {entry.protocol} {entry.ports} {entry.cidr}"


def _interface(interface: Interface) -> dict[str, Any]:
    return {"groups": sorted(interface.groups or ())}


def without_own(snapshot: Snapshot, journal: Journal) -> Snapshot:
    """Take out of a snapshot what a run has made so far."""
    groups = dict(snapshot.security_groups or {})
    interfaces = dict(snapshot.interfaces)
    acls = dict(snapshot.network_acls or {})
    for made in _all_made(journal):
        if "rules" in made and made["group"] in groups:
            groups[made["group"]] = _without_rules(groups[made["group"]], made)
        elif "interface" in made and made["interface"] in interfaces:
            interface = interfaces[made["interface"]]
            if set(interface.groups or ()) == set(made["groups"]):
                interfaces[made["interface"]] = replace(interface, groups=tuple(made["previous"]))
        elif "place" in made and made["place"]["NetworkAclId"] in acls and made["previous"] is None:
            acl_id = made["place"]["NetworkAclId"]
            acls[acl_id] = _without_entry(acls[acl_id], made["place"])
    return replace(
        snapshot,
        security_groups=None if snapshot.security_groups is None else groups,
        interfaces=interfaces,
        network_acls=None if snapshot.network_acls is None else acls,
    )


def _all_made(journal: Journal) -> Iterable[Mapping[str, Any]]:
    """Give what is known to be made, and what calls that never ended may have made."""
    yield from reversed(journal.made.values())
    for call in journal.open.values():
        yield from _perhaps(str(call["api"]), call["params"], call["before"])


def _perhaps(api: str, params: Mapping[str, Any], before: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    if api.startswith("AuthorizeSecurityGroup"):
        names = dict.fromkeys(rows.descriptions(params["IpPermissions"]), "")
        yield {"group": params["GroupId"], "egress": api.endswith("Egress"), "rules": names}
    elif api == "ModifyNetworkInterfaceAttribute":
        previous = before["groups"] or []
        yield {"interface": params["NetworkInterfaceId"], "groups": params["Groups"], "previous": previous}
    elif api == "CreateNetworkAclEntry":
        yield {"place": params, "previous": None}


def _without_rules(group: SecurityGroup, made: Mapping[str, Any]) -> SecurityGroup:
    def kept(permissions: tuple[Permission, ...]) -> tuple[Permission, ...]:
        return tuple(
            row
            for row in permissions
            if rows.key(row.protocol, row.from_port, row.to_port, str(row.peer)) not in made["rules"]
        )

    if made["egress"]:
        return replace(group, egress=kept(group.egress))
    return replace(group, ingress=kept(group.ingress))


def _without_entry(acl: NetworkAcl, place: Mapping[str, Any]) -> NetworkAcl:
    gone = (int(place["RuleNumber"]), bool(place["Egress"]))
    return replace(acl, entries=tuple(entry for entry in acl.entries if (entry.number, entry.egress) != gone))
