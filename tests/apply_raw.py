"""
A small and strict EC2 that carries out requests on a raw snapshot, apart from sgaudit.

It imports nothing of sgaudit. Whatever AWS would refuse raises `Refused` with AWS's error code: what is there
already, what is there twice in one request, ids that nothing has, numbers that are taken, quotas.
"""

from __future__ import annotations

import copy
import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Raw = dict[str, Any]

PERMISSIONS, ENTRIES, GROUPS, LAST_ENTRY = 60, 20, 5, 32766
NUMBERS = {"tcp": "6", "udp": "17", "icmp": "1", "icmpv6": "58"}
PEERS = {
    "IpRanges": "CidrIp",
    "Ipv6Ranges": "CidrIpv6",
    "PrefixListIds": "PrefixListId",
    "UserIdGroupPairs": "GroupId",
}
SIDES = {False: "IpPermissions", True: "IpPermissionsEgress"}
CHARACTERS = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789. _-:/()#,@[]+=;{}!$*")


class Refused(Exception):  # noqa: N818  # it is AWS's answer, no error of this program
    """What AWS would answer instead of doing it."""


def apply_raw(document: Mapping[str, Any], operations: Sequence[Mapping[str, Any]], *, quotas: bool = True) -> Raw:
    """
    Carry out operations, each with `id`, `api` and `params`, on a copy.

    Args:
        document: a raw snapshot.
        operations: those of a plan's JSON.
        quotas: refuse what the default quotas don't allow.

    Raises:
        Refused: AWS would refuse one.
    """
    cloud = Cloud(copy.deepcopy(dict(document)), quotas=quotas)
    for operation in operations:
        cloud.call(operation["id"], operation["api"], operation["params"])
    return cloud.document


class Cloud:
    """The document and what was made in it."""

    def __init__(self, document: Raw, *, quotas: bool) -> None:
        self.document = document
        self.quotas = quotas
        self.made: dict[str, str] = {}

    def call(self, operation_id: str, api: str, params: Mapping[str, Any]) -> None:
        acts = {
            "AuthorizeSecurityGroupIngress": lambda given: self.authorize(given, egress=False),
            "AuthorizeSecurityGroupEgress": lambda given: self.authorize(given, egress=True),
            "RevokeSecurityGroupIngress": lambda given: self.revoke(given, egress=False),
            "RevokeSecurityGroupEgress": lambda given: self.revoke(given, egress=True),
            "CreateSecurityGroup": lambda given: self.create_group(operation_id, given),
            "ModifyNetworkInterfaceAttribute": self.set_groups,
            "CreateManagedPrefixList": lambda given: self.create_list(operation_id, given),
            "CreateNetworkAclEntry": self.create_entry,
        }
        acts[api](self.resolved(params))

    def resolved(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            if set(value) == {"Ref"}:
                return self.made[value["Ref"]]
            return {key: self.resolved(item) for key, item in value.items()}
        return [self.resolved(item) for item in value] if isinstance(value, list | tuple) else value

    def item(self, collection: str, key: str, name: str) -> Raw:
        for raw in self.document.get(collection) or ():
            if raw[key] == name:
                return raw  # type: ignore[no-any-return]
        raise Refused(f"{collection} NotFound: {name}")

    def group(self, params: Mapping[str, Any], keys: set[str]) -> Raw:
        unknown = set(params) - keys
        if unknown:
            raise Refused(f"UnknownParameter: {unknown}")
        return self.item("SecurityGroups", "GroupId", params["GroupId"])

    # Permissions

    def authorize(self, params: Mapping[str, Any], *, egress: bool) -> None:
        group = self.group(params, {"GroupId", "IpPermissions", "TagSpecifications"})
        side = group.setdefault(SIDES[egress], [])
        present = {name for row in side for name, _ in singles(row)}
        asked = [(name, one) for row in params["IpPermissions"] for name, one in singles(row)]
        if not asked:
            raise Refused("MissingParameter: IpPermissions")
        names = [name for name, _ in asked]
        if len(set(names)) < len(names):
            raise Refused("InvalidParameterValue: The same permission must not appear multiple times")
        for name, one in asked:
            if name in present:
                raise Refused(f"InvalidPermission.Duplicate: {group['GroupId']} {name}")
            self.check(group, one)
        side += [one for _, one in asked]
        if self.quotas:
            for version in (4, 6):
                if self.counted(side, version) > PERMISSIONS:
                    raise Refused(f"RulesPerSecurityGroupLimitExceeded: {group['GroupId']}")

    def counted(self, side: Sequence[Raw], version: int) -> int:
        total = 0
        for row in side:
            total += len(row.get("IpRanges" if version == 4 else "Ipv6Ranges") or ())
            total += len(row.get("UserIdGroupPairs") or ())
            for item in row.get("PrefixListIds") or ():
                total += max(1, len((self.document.get("PrefixListEntries") or {}).get(item["PrefixListId"], ())))
        return total

    def check(self, group: Raw, row: Raw) -> None:
        check_span(row["IpProtocol"], row.get("FromPort"), row.get("ToPort"))
        for plural in PEERS:
            for item in row.get(plural) or ():
                check_description(item.get("Description", ""))
        for item in row.get("IpRanges") or ():
            ipaddress.IPv4Network(item["CidrIp"])
        for item in row.get("Ipv6Ranges") or ():
            ipaddress.IPv6Network(item["CidrIpv6"])
        for item in row.get("PrefixListIds") or ():
            if item["PrefixListId"] not in (self.document.get("PrefixListEntries") or {}):
                raise Refused(f"InvalidPrefixListId.NotFound: {item['PrefixListId']}")
        for item in row.get("UserIdGroupPairs") or ():
            self.check_reference(group, item)

    def check_reference(self, group: Raw, pair: Raw) -> None:
        other = next((it for it in self.document["SecurityGroups"] if it["GroupId"] == pair["GroupId"]), None)
        if other is None or other["VpcId"] == group["VpcId"]:
            return
        peering = self.item("VpcPeeringConnections", "VpcPeeringConnectionId", pair["VpcPeeringConnectionId"])
        ends = {peering["RequesterVpcInfo"]["VpcId"], peering["AccepterVpcInfo"]["VpcId"]}
        if peering["Status"]["Code"] != "active" or ends != {group["VpcId"], other["VpcId"]}:
            raise Refused(f"InvalidGroup.NotFound: {pair}")
        if pair["VpcId"] != other["VpcId"]:
            raise Refused(f"InvalidParameterValue: {pair}")

    def revoke(self, params: Mapping[str, Any], *, egress: bool) -> None:
        group = self.group(params, {"GroupId", "IpPermissions", "SecurityGroupRuleIds"})
        asked = {name for row in params.get("IpPermissions") or () for name, _ in singles(row)}
        for rule_id in params.get("SecurityGroupRuleIds") or ():
            rule = self.item("SecurityGroupRules", "SecurityGroupRuleId", rule_id)
            if rule["GroupId"] != group["GroupId"] or rule["IsEgress"] != egress:
                raise Refused(f"InvalidSecurityGroupRuleId.NotFound: {rule_id}")
            asked.add(rule_name(rule))
            self.document["SecurityGroupRules"] = [
                it for it in self.document["SecurityGroupRules"] if it["SecurityGroupRuleId"] != rule_id
            ]
        if not asked:
            raise Refused("MissingParameter: IpPermissions")
        present = [item for row in group.get(SIDES[egress]) or () for item in singles(row)]
        if asked - {name for name, _ in present}:
            raise Refused(f"InvalidPermission.NotFound: {sorted(asked - {name for name, _ in present})}")
        group[SIDES[egress]] = [one for name, one in present if name not in asked]

    # Groups, lists and entries

    def create_group(self, operation_id: str, params: Mapping[str, Any]) -> None:
        name = params["GroupName"]
        known = self.document.get("SecurityGroups") or ()
        taken = {it["GroupName"].lower() for it in known if it["VpcId"] == params["VpcId"]}
        if name.lower() in taken or name.startswith("sg-") or len(name) > 255:
            raise Refused(f"InvalidGroup.Duplicate: {name}")
        check_description(params["Description"])
        vpc: Raw = next((it for it in self.document.get("Vpcs") or () if it["VpcId"] == params["VpcId"]), {})
        everywhere: list[Raw] = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
        if vpc.get("Ipv6CidrBlockAssociationSet"):
            everywhere.append({"IpProtocol": "-1", "Ipv6Ranges": [{"CidrIpv6": "::/0"}]})
        self.made[operation_id] = group_id = f"sg-made-{operation_id}"
        self.document.setdefault("SecurityGroups", []).append(
            {
                "GroupId": group_id,
                "GroupName": name,
                "VpcId": params["VpcId"],
                "OwnerId": self.document.get("AccountId", ""),
                "Description": params["Description"],
                "IpPermissions": [],
                "IpPermissionsEgress": everywhere,
                "Tags": params["TagSpecifications"][0]["Tags"],
            }
        )

    def set_groups(self, params: Mapping[str, Any]) -> None:
        groups = [{"GroupId": it, "GroupName": it} for it in params["Groups"]]
        if self.quotas and len(groups) > GROUPS:
            raise Refused(f"SecurityGroupsPerInterfaceLimitExceeded: {params['NetworkInterfaceId']}")
        if not groups or len({it["GroupId"] for it in groups}) < len(groups):
            raise Refused(f"InvalidParameterValue: {params['Groups']}")
        named = list(self.interfaces(params["NetworkInterfaceId"]))
        if not named:
            raise Refused(f"InvalidNetworkInterfaceID.NotFound: {params['NetworkInterfaceId']}")
        for raw in named:
            if raw.get("RequesterManaged"):
                raise Refused(f"OperationNotPermitted: {params['NetworkInterfaceId']}")
            raw["Groups"] = groups

    def interfaces(self, name: str) -> Iterator[Raw]:
        for raw in self.document.get("NetworkInterfaces") or ():
            if raw["NetworkInterfaceId"] == name:
                yield raw
        for reservation in self.document.get("Reservations") or ():
            for instance in reservation["Instances"]:
                for raw in instance.get("NetworkInterfaces") or ():
                    if raw["NetworkInterfaceId"] == name:
                        yield raw

    def create_list(self, operation_id: str, params: Mapping[str, Any]) -> None:
        version = {"IPv4": 4, "IPv6": 6}[params["AddressFamily"]]
        blocks = [ipaddress.ip_network(it["Cidr"]) for it in params["Entries"]]
        if len(blocks) > params["MaxEntries"] or len(set(blocks)) < len(blocks) or not blocks:
            raise Refused("InvalidParameterValue: Entries")
        if any(block.version != version for block in blocks):
            raise Refused("InvalidParameterValue: AddressFamily")
        self.made[operation_id] = list_id = f"pl-made-{operation_id}"
        self.document.setdefault("PrefixListEntries", {})[list_id] = [{"Cidr": str(block)} for block in blocks]

    def create_entry(self, params: Mapping[str, Any]) -> None:
        acl = self.item("NetworkAcls", "NetworkAclId", params["NetworkAclId"])
        same = [it for it in acl["Entries"] if it["Egress"] == params["Egress"]]
        number = params["RuleNumber"]
        if any(it["RuleNumber"] == number for it in same):
            raise Refused(f"NetworkAclEntryAlreadyExists: {number}")
        if not 1 <= number <= LAST_ENTRY:
            raise Refused(f"InvalidParameterValue: {number}")
        block = "CidrBlock" if "CidrBlock" in params else "Ipv6CidrBlock"
        ipaddress.ip_network(params[block])
        if params["Protocol"] in ("6", "17"):
            check_span(params["Protocol"], params["PortRange"]["From"], params["PortRange"]["To"])
        if params["Protocol"] in ("1", "58"):
            check_span(params["Protocol"], params["IcmpTypeCode"]["Type"], params["IcmpTypeCode"]["Code"])
        # The deny at the end counts, whether it is listed or not.
        used = 1 + sum(block in it and it["RuleNumber"] <= LAST_ENTRY for it in same)
        if self.quotas and used >= ENTRIES:
            raise Refused(f"NetworkAclEntryLimitExceeded: {acl['NetworkAclId']}")
        acl["Entries"].append({key: value for key, value in params.items() if key != "NetworkAclId"})


def check_span(protocol: str, low: int | None, high: int | None) -> None:
    """Refuse numbers that EC2 doesn't take for a protocol."""
    number = NUMBERS.get(protocol, protocol)
    if number in ("6", "17"):
        if low is None or high is None or not 0 <= low <= high <= 65535:
            raise Refused(f"InvalidParameterValue: ports {low}-{high}")
    elif number in ("1", "58"):
        if low is None or high is None or not (-1 <= low <= 255 and -1 <= high <= 255) or (low == -1 and high != -1):
            raise Refused(f"InvalidParameterValue: message {low}/{high}")
    elif low is not None or high is not None:
        raise Refused(f"InvalidParameterValue: ports of protocol {protocol}")


def check_description(text: str) -> None:
    """Refuse what EC2 doesn't take as a description."""
    if len(text) > 255 or set(text) - CHARACTERS:
        raise Refused(f"InvalidParameterValue: description {text!r}")


def singles(row: Raw) -> Iterator[tuple[str, Raw]]:
    """Give each rule of a row, with what EC2 tells it from others by: protocol, numbers and peer."""
    protocol = str(row["IpProtocol"]).lower()
    number = NUMBERS.get(protocol, protocol)
    head: Raw = {key: row[key] for key in ("IpProtocol", "FromPort", "ToPort") if key in row}
    span = f"{row.get('FromPort', -1)}-{row.get('ToPort', -1)}" if number in NUMBERS.values() else "all"
    for plural, singular in PEERS.items():
        for item in row.get(plural) or ():
            peer = str(item.get(singular) or item.get("GroupName"))
            if singular.startswith("Cidr"):
                peer = str(ipaddress.ip_network(peer, strict=False))
            if item.get("VpcPeeringConnectionId"):
                peer += f" over {item['VpcPeeringConnectionId']}"
            yield f"{number} {span} {peer}", {**head, plural: [item]}


def rule_name(rule: Raw) -> str:
    """Name an item of `SecurityGroupRules` as `singles` does."""
    row: Raw = {key: rule[key] for key in ("IpProtocol", "FromPort", "ToPort") if rule.get(key) is not None}
    if rule.get("CidrIpv4"):
        row["IpRanges"] = [{"CidrIp": rule["CidrIpv4"]}]
    elif rule.get("CidrIpv6"):
        row["Ipv6Ranges"] = [{"CidrIpv6": rule["CidrIpv6"]}]
    elif rule.get("PrefixListId"):
        row["PrefixListIds"] = [{"PrefixListId": rule["PrefixListId"]}]
    else:
        row["UserIdGroupPairs"] = [dict(rule["ReferencedGroupInfo"])]
    return next(name for name, _ in singles(row))
