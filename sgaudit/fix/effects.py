"""Every request that a plan may hold, and what it does."""

from __future__ import annotations

from collections.abc import Mapping

from sgaudit.errors import UsageError
from sgaudit.fix.effect import Effect
from sgaudit.fix.effects_created import CreateGroup, CreateList
from sgaudit.fix.effects_network import AclEntry, SetGroups
from sgaudit.fix.effects_permissions import Authorize, Revoke

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
