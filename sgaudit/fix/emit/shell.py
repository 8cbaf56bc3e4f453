"""Requests as words of a shell: JSON in quotes, with variables for the ids of what is created."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sgaudit.fix.plan import Call

ALREADY: Mapping[str, str] = {
    "AuthorizeSecurityGroupIngress": "InvalidPermission.Duplicate",
    "AuthorizeSecurityGroupEgress": "InvalidPermission.Duplicate",
    "RevokeSecurityGroupIngress": "InvalidPermission.NotFound InvalidSecurityGroupRuleId.NotFound",
    "RevokeSecurityGroupEgress": "InvalidPermission.NotFound InvalidSecurityGroupRuleId.NotFound",
    "CreateNetworkAclEntry": "NetworkAclEntryAlreadyExists",
    "DeleteNetworkAclEntry": "InvalidNetworkAclEntry.NotFound",
    "DeleteSecurityGroup": "InvalidGroup.NotFound",
    "DeleteManagedPrefixList": "InvalidPrefixListID.NotFound",
}
"""By request: the errors by which EC2 says that it is so already (EC2 API reference, error codes)."""
PEER_SIDES = ("IpRanges", "Ipv6Ranges", "PrefixListIds", "UserIdGroupPairs")


def command(api: str) -> str:
    """Give the name by which the AWS CLI calls a request."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", api).lower()


def word(value: Any, ids: Mapping[str, str]) -> str:
    """Write JSON as one word of a shell; `ids` names the variable for each `Ref`."""
    return _joined(_json(value, ids))


def references(values: Iterable[Any], ids: Mapping[str, str]) -> str:
    """Write ids, known or to be created, as one word of a shell, with spaces between."""
    return _joined(_spaced(values, ids))


def referred(value: Any) -> list[str]:
    """List the operations whose results something refers to."""
    if isinstance(value, Mapping):
        if set(value) == {"Ref"}:
            return [value["Ref"]]
        return [name for item in value.values() for name in referred(item)]
    if isinstance(value, list | tuple):
        return [name for item in value for name in referred(item)]
    return []


def singles(call: Call) -> list[Call]:
    """Split a request into one for each permission: EC2 refuses the whole where one of them is there already."""
    params = call.params
    if "SecurityGroupRuleIds" in params:
        return [Call(call.api, {**params, "SecurityGroupRuleIds": [name]}) for name in params["SecurityGroupRuleIds"]]
    rows = [single for row in params.get("IpPermissions", ()) for single in _single_rows(row)]
    return [Call(call.api, {**params, "IpPermissions": [row]}) for row in rows]


def _single_rows(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    span = {key: value for key, value in row.items() if key not in PEER_SIDES}
    for side in PEER_SIDES:
        for item in row.get(side, ()):
            yield {**span, side: [item]}


def _joined(pieces: Iterable[tuple[str, bool]]) -> str:
    """Join what is meant literally and what names a variable."""
    words: list[str] = []
    literal = ""
    for piece, is_variable in pieces:
        if is_variable:
            words += [shlex.quote(literal), f'"${piece}"'] if literal else [f'"${piece}"']
            literal = ""
        else:
            literal += piece
    return "".join([*words, shlex.quote(literal)] if literal or not words else words)


def _spaced(values: Iterable[Any], ids: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    for number, value in enumerate(values):
        yield " " if number else "", False
        yield (ids[value["Ref"]], True) if isinstance(value, Mapping) else (str(value), False)


def _json(value: Any, ids: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    if isinstance(value, Mapping) and set(value) == {"Ref"}:
        yield '"', False
        yield ids[value["Ref"]], True
        yield '"', False
    elif isinstance(value, Mapping):
        yield "{", False
        for number, (key, item) in enumerate(value.items()):
            yield f"{', ' if number else ''}{json.dumps(str(key))}: ", False
            yield from _json(item, ids)
        yield "}", False
    elif isinstance(value, list | tuple):
        yield "[", False
        for number, item in enumerate(value):
            yield ", " if number else "", False
            yield from _json(item, ids)
        yield "]", False
    else:
        yield json.dumps(value), False
