"""Every request that a plan may hold, and what it does."""

from __future__ import annotations

from collections.abc import Mapping

from sgaudit.errors import UsageError
from sgaudit.fix import rows
from sgaudit.fix.effect import Effect
from sgaudit.fix.effects_created import CreateGroup, CreateList
from sgaudit.fix.effects_network import AclEntry, SetGroups
from sgaudit.fix.effects_permissions import Authorize, Revoke
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
        list(rows.split(params.get("IpPermissions") or ()))
        if "RuleAction" in params and not missing:
            rows.entry(params)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"can't be read: {type(error).__name__} at {error}"
    if problem:
        raise UsageError(
            f"operation {operation.id}, {api}, {problem}", hint="make a new plan with sgaudit fix --dry-run --out FILE"
        )
