"""What the request of an operation says, told from its parameters alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sgaudit.fix.rows import NAMES, PEERS

if TYPE_CHECKING:
    from sgaudit.fix.plan import Operation

ENTRY = frozenset(
    {
        "NetworkAclId",
        "RuleNumber",
        "Egress",
        "Protocol",
        "RuleAction",
        "CidrBlock",
        "Ipv6CidrBlock",
        "PortRange",
        "IcmpTypeCode",
    }
)
RULES = frozenset({"GroupId", "IpPermissions", "SecurityGroupRuleIds", "TagSpecifications"})
KNOWN: Mapping[str, frozenset[str]] = {
    "AuthorizeSecurityGroupIngress": RULES - {"SecurityGroupRuleIds"},
    "AuthorizeSecurityGroupEgress": RULES - {"SecurityGroupRuleIds"},
    "RevokeSecurityGroupIngress": RULES - {"TagSpecifications"},
    "RevokeSecurityGroupEgress": RULES - {"TagSpecifications"},
    "CreateSecurityGroup": frozenset({"GroupName", "Description", "VpcId", "TagSpecifications"}),
    "CreateManagedPrefixList": frozenset(
        {"PrefixListName", "AddressFamily", "MaxEntries", "Entries", "TagSpecifications", "ClientToken"}
    ),
    "ModifyNetworkInterfaceAttribute": frozenset({"NetworkInterfaceId", "Groups"}),
    "CreateNetworkAclEntry": ENTRY,
    "ReplaceNetworkAclEntry": ENTRY,
    "DeleteNetworkAclEntry": frozenset({"NetworkAclId", "RuleNumber", "Egress"}),
}
"""The parameters that are told in words; a request with any other is shown whole."""
PERMISSION = frozenset({"IpProtocol", "FromPort", "ToPort", *(plural for plural, _ in PEERS)})
PEER = frozenset({"Description", *(singular for _, singular in PEERS)})


def of(operation: Operation) -> str:
    """Tell in words what is asked for; as JSON where there is anything that words would leave out."""
    if known(operation):
        try:
            return _told(operation)
        except (AttributeError, KeyError, TypeError, ValueError):
            pass
    return f"{operation.call.api} {json.dumps(operation.call.params, ensure_ascii=False)}"


def known(operation: Operation) -> bool:
    """Tell whether the request has no parameters but those that are told in words."""
    params = operation.call.params
    if not set(params) <= KNOWN.get(operation.call.api, frozenset()):
        return False
    return all(_known_row(row) for row in params.get("IpPermissions") or ())


def _known_row(row: Any) -> bool:
    return set(row) <= PERMISSION and all(set(peer) <= PEER for plural, _ in PEERS for peer in row.get(plural) or ())


def of_groups(operation: Operation) -> str:
    """Tell which groups an interface is to carry, up to the interface's name, against what it carried."""
    groups = operation.call.params["Groups"]
    before = operation.inverse.params.get("Groups") if operation.inverse else None
    if not isinstance(before, list):
        return f"set the groups to {_names(groups)} on"
    added = [item for item in groups if item not in before]
    removed = [item for item in before if item not in groups]
    parts = [f"add {_names(added)}"] * bool(added) + [f"take away {_names(removed)}"] * bool(removed)
    return f"{' and '.join(parts) or 'leave the groups as they are'} on"


def _told(operation: Operation) -> str:
    api, params = operation.call.api, operation.call.params
    if api == "ModifyNetworkInterfaceAttribute":
        return f"{of_groups(operation)} {_name(params['NetworkInterfaceId'])}"
    if api == "CreateSecurityGroup":
        return f"a new security group {params['GroupName']} in {params['VpcId']}"
    if api == "CreateManagedPrefixList":
        blocks = ", ".join(str(item["Cidr"]) for item in params.get("Entries") or ())
        return f"a new prefix list {params['PrefixListName']} of {blocks or 'nothing'}"
    if api.endswith("NetworkAclEntry"):
        return _entry(api, params)
    egress = api.endswith("Egress")
    rows = [text for row in params.get("IpPermissions") or () for text in _row(row, "to" if egress else "from")]
    ids = [str(name) for name in params.get("SecurityGroupRuleIds") or ()]
    group = _name(params["GroupId"])
    verb = f"let {group} {'send' if egress else 'receive'}" if api.startswith("Authorize") else f"take from {group}"
    return f"{verb} {'; '.join([*rows, *ids])}"


def _row(row: Mapping[str, Any], way: str) -> Iterator[str]:
    traffic = _traffic(str(row["IpProtocol"]), row.get("FromPort"), row.get("ToPort"))
    peers = [_name(peer[singular]) for plural, singular in PEERS for peer in row.get(plural) or ()]
    yield f"{traffic} {way} {', '.join(peers) or 'nobody'}"


def _traffic(protocol: str, low: Any, high: Any) -> str:
    name = NAMES.get(protocol.lower(), protocol.lower())
    if name == "-1":
        return "all traffic"
    if name in ("icmp", "icmpv6"):
        return name if low in (None, -1) else f"{name} type {low} code {-1 if high is None else high}"
    if name not in ("tcp", "udp"):
        return f"protocol {name}"
    if low in (None, -1):
        return f"{name} on all ports"
    return f"{name} {low}" if low == high else f"{name} {low}-{high}"


def _entry(api: str, params: Mapping[str, Any]) -> str:
    egress = params["Egress"]
    place = f"{'egress' if egress else 'ingress'} entry {params['RuleNumber']} of {params['NetworkAclId']}"
    if api == "DeleteNetworkAclEntry":
        return f"delete {place}"
    ports, messages = params.get("PortRange") or {}, params.get("IcmpTypeCode") or {}
    low, high = ports.get("From", messages.get("Type")), ports.get("To", messages.get("Code"))
    blocks = [str(params[key]) for key in ("CidrBlock", "Ipv6CidrBlock") if params.get(key)]
    traffic = f"{_traffic(str(params['Protocol']), low, high)} {'to' if egress else 'from'} {' and '.join(blocks)}"
    return f"{'new' if api.startswith('Create') else 'replace'} {place}: {params['RuleAction']} {traffic}"


def _names(items: Any) -> str:
    return ", ".join(_name(item) for item in items)


def _name(item: Any) -> str:
    return f"what {item['Ref']} creates" if isinstance(item, Mapping) else str(item)
