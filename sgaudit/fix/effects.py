"""Every request that a plan may hold, and what it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sgaudit.errors import UsageError
from sgaudit.fix.effect import Effect
from sgaudit.fix.effects_created import CreateGroup, CreateList
from sgaudit.fix.effects_network import AclEntry, SetGroups
from sgaudit.fix.effects_permissions import Authorize, Revoke
from sgaudit.fix.effects_written import check_entry, check_id, check_permissions, check_place
from sgaudit.fix.fields import FieldError, Fields
from sgaudit.fix.plan import Operation

EFFECTS: Mapping[str, Effect] = {
    "AuthorizeSecurityGroupIngress": Authorize(egress=False),
    "AuthorizeSecurityGroupEgress": Authorize(egress=True),
    "RevokeSecurityGroupIngress": Revoke(egress=False),
    "RevokeSecurityGroupEgress": Revoke(egress=True),
    "CreateSecurityGroup": CreateGroup(),
    "CreateManagedPrefixList": CreateList(),
    "ModifyNetworkInterfaceAttribute": SetGroups(),
    "CreateNetworkAclEntry": AclEntry("CreateNetworkAclEntry"),
    "ReplaceNetworkAclEntry": AclEntry("ReplaceNetworkAclEntry"),
    "DeleteNetworkAclEntry": AclEntry("DeleteNetworkAclEntry"),
}


def effect_of(api: str) -> Effect:
    """
    Tell what a request does.

    Raises:
        UsageError: it is none that sgaudit makes.
    """
    effect = EFFECTS.get(api)
    if effect is None:
        raise UsageError(f"a plan can't hold {api}", hint="make the plan with sgaudit fix --dry-run --out FILE")
    return effect


ENTRY = ("NetworkAclId", "RuleNumber", "Egress")
NEEDS: Mapping[str, tuple[str, ...]] = {
    "AuthorizeSecurityGroupIngress": ("GroupId", "IpPermissions"),
    "AuthorizeSecurityGroupEgress": ("GroupId", "IpPermissions"),
    "RevokeSecurityGroupIngress": ("GroupId",),
    "RevokeSecurityGroupEgress": ("GroupId",),
    "CreateSecurityGroup": ("GroupName", "Description", "VpcId"),
    "CreateManagedPrefixList": ("PrefixListName", "AddressFamily", "MaxEntries"),
    "ModifyNetworkInterfaceAttribute": ("NetworkInterfaceId", "Groups"),
    "CreateNetworkAclEntry": (*ENTRY, "Protocol", "RuleAction"),
    "ReplaceNetworkAclEntry": (*ENTRY, "Protocol", "RuleAction"),
    "DeleteNetworkAclEntry": ENTRY,
}
"""What each request must say."""


def check_request(operation: Operation) -> None:
    """
    See that a request of a plan, which may have been edited, can be read.

    Raises:
        UsageError: it can't; the message names the operation.
    """
    api, params = operation.call.api, operation.call.params
    effect_of(api)
    missing = [name for name in NEEDS[api] if name not in params]
    if api.startswith("Revoke") and not (params.get("IpPermissions") or params.get("SecurityGroupRuleIds")):
        missing.append("SecurityGroupRuleIds")
    problem = f"has no {', '.join(missing)}" if missing else ""
    try:
        if not missing:
            _check_params(api, Fields(dict(params)))
            _check_inverse(operation)
    except FieldError as error:
        problem = f"can't be read: {error}"
    if problem:
        raise UsageError(
            f"operation {operation.id}, {api}, {problem}", hint="make a new plan with sgaudit fix --dry-run --out FILE"
        )


def references(value: Any) -> set[str]:
    """Tell which operations a request refers to."""
    if isinstance(value, dict):
        if set(value) == {"Ref"}:
            return {str(value["Ref"])}
        return {name for item in value.values() for name in references(item)}
    if isinstance(value, list | tuple):
        return {name for item in value for name in references(item)}
    return set()


def _check_params(api: str, found: Fields) -> None:
    if "SecurityGroup" in api and api != "CreateSecurityGroup":
        check_id(found, "GroupId")
    if found.has("IpPermissions"):
        check_permissions(found.raw["IpPermissions"], "IpPermissions")
    if found.has("SecurityGroupRuleIds"):
        found.texts("SecurityGroupRuleIds")
    if api == "ModifyNetworkInterfaceAttribute":
        _check_groups(found)
    elif api.endswith("NetworkAclEntry"):
        check_place(found)
        if not api.startswith("Delete"):
            check_entry(found.raw, "")
    for key in ("GroupName", "VpcId", "PrefixListName", "AddressFamily", "ClientToken"):
        if found.has(key):
            found.text(key)
    for item in found.objects("TagSpecifications") if found.has("TagSpecifications") else ():
        for tag in item.objects("Tags") if item.has("Tags") else ():
            tag.text("Key")
            tag.text("Value")


def _check_groups(found: Fields) -> None:
    found.text("NetworkInterfaceId", filled=True)
    groups = found.any("Groups")
    if not isinstance(groups, list):
        raise FieldError(f"{found.path('Groups')} is not a list")
    for number, item in enumerate(groups):
        check_id(Fields({"group": item}, f"{found.path('Groups')}[{number}]"), "group")


def _check_inverse(operation: Operation) -> None:
    """Check what applying reads of the inverse: what was there when the plan was made."""
    if operation.inverse is None:
        return
    found = Fields(dict(operation.inverse.params), "inverse")
    if operation.call.api == "ModifyNetworkInterfaceAttribute":
        _check_groups(found)
    elif operation.call.api in ("ReplaceNetworkAclEntry", "DeleteNetworkAclEntry"):
        check_place(found)
        check_entry(found.raw, "inverse")
