"""What journals keep of requests, `before` and `made`: whether it can be what this version has written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sgaudit.fix import rows
from sgaudit.fix.fields import FieldError, Fields, flag_of, number_of, text_of

Check = Callable[[Fields], None]


def check_before(api: str, before: Fields) -> None:
    """
    Check what was there before a call.

    Raises:
        FieldError: no request of this kind sees that.
    """
    _BEFORE[_kind(api)](before)


def check_made(api: str, made: Fields) -> None:
    """
    Check what a call has made; an empty object is nothing.

    Raises:
        FieldError: no request of this kind makes that.
    """
    if made.raw:
        _MADE[_kind(api)](made)
        if "egress" in made.raw and made.raw["egress"] is not api.endswith("Egress"):
            raise FieldError(f"{made.path('egress')} is not that of {api}")


def check_permissions(value: Any, where: str) -> None:
    """
    Check a list of permissions as requests write it.

    Raises:
        FieldError: it can't be read.
    """
    if not isinstance(value, list):
        raise FieldError(f"{where} is not a list")
    for number, item in enumerate(value):
        permission = Fields(item, f"{where}[{number}]")
        permission.text("IpProtocol")
        for key in ("FromPort", "ToPort"):
            if permission.has(key):
                number_of(permission.raw[key], permission.path(key))
        for plural, singular in rows.PEERS:
            for peer in permission.objects(plural) if permission.has(plural) else ():
                check_id(peer, singular)
                if peer.has("Description"):
                    peer.text("Description")


def check_id(found: Fields, key: str) -> None:
    """
    Check an id, or a reference to an operation that creates what has one.

    Raises:
        FieldError: it is something else.
    """
    value = found.any(key)
    if isinstance(value, dict) and set(value) == {"Ref"}:
        text_of(value["Ref"], f"{found.path(key)}.Ref")
    else:
        found.text(key, filled=True)


def check_entry(value: Any, where: str) -> None:
    """
    Check an entry of a network ACL as requests write it.

    Raises:
        FieldError: it can't be read.
    """
    found = Fields(value, where)
    _place(found)
    found.text("Protocol")
    found.text("RuleAction")
    for key in ("CidrBlock", "Ipv6CidrBlock"):
        if found.has(key):
            found.text(key)
    for key, ends in (("PortRange", ("From", "To")), ("IcmpTypeCode", ("Type", "Code"))):
        if found.raw.get(key):
            table = found.table(key, number_of)
            if set(table) != set(ends):
                raise FieldError(f"{found.path(key)} has not just {' and '.join(ends)}")


def check_place(found: Fields) -> None:
    """
    Check what names an entry of a network ACL.

    Raises:
        FieldError: it doesn't.
    """
    found.text("NetworkAclId", filled=True)
    _place(found)


def _place(found: Fields) -> None:
    found.count("RuleNumber")
    found.flag("Egress")


def _perhaps_entry(found: Fields, key: str) -> None:
    if found.any(key) is not None:
        check_entry(found.raw[key], found.path(key))


def _kind(api: str) -> str:
    for kind in ("AuthorizeSecurityGroup", "RevokeSecurityGroup"):
        if api.startswith(kind):
            return kind
    return "NetworkAclEntry" if api.endswith("NetworkAclEntry") else api


def _rules_before(found: Fields) -> None:
    for rule in found.table("rules", Fields).values():
        rule.text("id")
        rule.text("description")


def _permission(value: Any, where: str) -> None:
    check_permissions([value], where)
    if len(list(rows.split([value]))) != 1:
        raise FieldError(f"{where} is not one permission")


def _revoked_before(found: Fields) -> None:
    found.table("rules", _permission)


def _created_before(found: Fields) -> None:
    found.text("id")
    found.flag("own")


def _groups_before(found: Fields) -> None:
    if found.any("groups") is not None:
        found.texts("groups")


def _rules_made(found: Fields) -> None:
    found.text("group", filled=True)
    flag_of(found.any("egress"), found.path("egress"))
    found.table("rules", text_of)


def _revoked(found: Fields) -> None:
    found.text("group", filled=True)
    flag_of(found.any("egress"), found.path("egress"))
    found.table("revoked", _permission)


def _groups_made(found: Fields) -> None:
    found.text("interface", filled=True)
    found.texts("previous")
    found.texts("groups")


def _entry_made(found: Fields) -> None:
    check_place(found.object("place"))
    _perhaps_entry(found, "entry")
    _perhaps_entry(found, "previous")


def _created(found: Fields) -> None:
    found.text("id", filled=True)


_BEFORE: Mapping[str, Check] = {
    "AuthorizeSecurityGroup": _rules_before,
    "RevokeSecurityGroup": _revoked_before,
    "CreateSecurityGroup": _created_before,
    "CreateManagedPrefixList": _created_before,
    "ModifyNetworkInterfaceAttribute": _groups_before,
    "NetworkAclEntry": lambda found: _perhaps_entry(found, "entry"),
}
_MADE: Mapping[str, Check] = {
    "AuthorizeSecurityGroup": _rules_made,
    "RevokeSecurityGroup": _revoked,
    "CreateSecurityGroup": _created,
    "CreateManagedPrefixList": _created,
    "ModifyNetworkInterfaceAttribute": _groups_made,
    "NetworkAclEntry": _entry_made,
}
