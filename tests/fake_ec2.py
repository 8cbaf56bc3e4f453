"""
A strict EC2 in memory: what applying and rolling back read and change, with AWS's rules and error codes.

It is built from a snapshot document and gives one. It is stricter than moto where moto is wrong: requests are
atomic, duplicates are told without regard to the description, quotas count per direction and family, the
groups of an interface are replaced and checked, numbers and protocols of ACL entries are, too.
"""

from __future__ import annotations

import copy
import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from sgaudit.errors import CallError, Failure

Raw = dict[str, Any]
Given = Mapping[str, Any]

DESCRIPTION = re.compile(r"[a-zA-Z0-9. _\-:/()#,@\[\]+=;{}!$*]{0,255}")
NAMES = {"6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6"}
WITH_PORTS = ("tcp", "udp")
WITH_MESSAGES = ("icmp", "icmpv6")
HIGHEST_NUMBER = 32766
MOST_TAGS = 50
PEERS = (
    ("IpRanges", "CidrIp", "CidrIpv4"),
    ("Ipv6Ranges", "CidrIpv6", "CidrIpv6"),
    ("PrefixListIds", "PrefixListId", "PrefixListId"),
    ("UserIdGroupPairs", "GroupId", "ReferencedGroupInfo"),
)


def refused(code: str, message: str = "") -> CallError:
    """Give what a caller sees of an error that AWS answers."""
    failure = Failure.DENIED if code == "UnauthorizedOperation" else Failure.REFUSED
    return CallError(message or code, code=code, failure=failure)


class FakeEc2:
    """One account and Region."""

    is_aws = True

    def __init__(
        self,
        document: Given,
        *,
        rules_quota: int = 60,
        groups_quota: int = 5,
        entries_quota: int = 20,
        lag: int = 0,
        denied: Iterable[str] = (),
    ) -> None:
        self._document = copy.deepcopy(dict(document))
        self._rules_quota = rules_quota
        self._groups_quota = groups_quota
        self._entries_quota = entries_quota
        self._lag = lag
        """For how many calls what was created is not found."""
        self._denied = frozenset(denied)
        self._hidden: dict[str, int] = {}
        self._count = 0
        self.log: list[tuple[str, Raw]] = []
        """The changes that were made, with their requests."""
        self.groups: dict[str, Raw] = {}
        self.rules: dict[str, Raw] = {}
        self.acls: dict[str, Raw] = {item["NetworkAclId"]: item for item in self._document.get("NetworkAcls") or ()}
        self.lists: dict[str, Raw] = {}
        self._tokens: dict[str, str] = {}
        for acl in self.acls.values():
            self._close(acl)
        for group in self._document.get("SecurityGroups") or ():
            self._load_group(group)
        self.interfaces = {item["NetworkInterfaceId"]: item for item in self._all_interfaces()}

    # State in and out

    def _close(self, acl: Raw) -> None:
        """Give an ACL the denying last entries that it has on AWS."""
        for egress in (False, True):
            if not any(item["RuleNumber"] == 32767 and item["Egress"] is egress for item in acl["Entries"]):
                acl["Entries"].append(
                    {
                        "RuleNumber": 32767,
                        "RuleAction": "deny",
                        "Egress": egress,
                        "Protocol": "-1",
                        "CidrBlock": "0.0.0.0/0",
                    }
                )

    def _all_interfaces(self) -> Iterator[Raw]:
        yield from self._document.get("NetworkInterfaces") or ()
        for reservation in self._document.get("Reservations") or ():
            for instance in reservation["Instances"]:
                yield from instance.get("NetworkInterfaces") or ()

    def _load_group(self, group: Raw) -> None:
        plain = {key: value for key, value in group.items() if not key.startswith("IpPermissions")}
        self.groups[group["GroupId"]] = {"Tags": [], **plain}
        for egress, name in ((False, "IpPermissions"), (True, "IpPermissionsEgress")):
            for row in group.get(name) or ():
                for rule in self._rules_of(row):
                    self._keep(group["GroupId"], rule, egress=egress)

    def _new_id(self, kind: str) -> str:
        self._count += 1
        return f"{kind}-{self._count:017x}"

    def document(self) -> Raw:
        """Give everything as a snapshot document."""
        document = copy.deepcopy(self._document)
        document["SecurityGroups"] = [self._described(group_id) for group_id in self.groups]
        document["NetworkAcls"] = copy.deepcopy(list(self.acls.values()))
        document["SecurityGroupRules"] = copy.deepcopy(list(self.rules.values()))
        document["PrefixListEntries"] = {
            **(document.get("PrefixListEntries") or {}),
            **{key: copy.deepcopy(item["_entries"]) for key, item in self.lists.items()},
        }
        current = {key: item["Groups"] for key, item in self.interfaces.items()}
        embedded = [
            i for r in document.get("Reservations") or () for n in r["Instances"] for i in n["NetworkInterfaces"]
        ]
        for item in [*embedded, *(document.get("NetworkInterfaces") or ())]:
            item["Groups"] = copy.deepcopy(current[item["NetworkInterfaceId"]])
        return document

    def permissions(self) -> dict[str, Any]:
        """Give all that decides about packets, by names: without ids that differ from run to run, and without order."""
        names = {group_id: str(group["GroupName"]) for group_id, group in self.groups.items()}
        names |= {list_id: str(item["PrefixListName"]) for list_id, item in self.lists.items()}

        def told(rule: Raw) -> str:
            protocol, ports, peer = self._identity(rule).split(" ")
            return f"{rule['IsEgress']} {protocol} {ports} {names.get(peer, peer)} {rule.get('Description', '')}"

        return {
            "groups": {
                name: sorted(told(rule) for rule in self.rules.values() if rule["GroupId"] == group_id)
                for group_id, name in sorted(names.items(), key=lambda item: item[1])
                if group_id in self.groups
            },
            "interfaces": {
                key: [names[group["GroupId"]] for group in item["Groups"]]
                for key, item in sorted(self.interfaces.items())
            },
            "entries": {
                key: sorted(repr(sorted(item.items())) for item in acl["Entries"])
                for key, acl in sorted(self.acls.items())
            },
            "lists": sorted(str(item["PrefixListName"]) for item in self.lists.values()),
        }

    def _described(self, group_id: str) -> Raw:
        group = copy.deepcopy(self.groups[group_id])
        for egress, name in ((False, "IpPermissions"), (True, "IpPermissionsEgress")):
            found = [rule for rule in self.rules.values() if rule["GroupId"] == group_id and rule["IsEgress"] is egress]
            group[name] = [self._row(rule) for rule in found]
        return group

    @staticmethod
    def _row(rule: Raw) -> Raw:
        row: Raw = {"IpProtocol": rule["IpProtocol"], **{plural: [] for plural, _, _ in PEERS}}
        if rule["IpProtocol"] in (*WITH_PORTS, *WITH_MESSAGES):
            row |= {"FromPort": rule["FromPort"], "ToPort": rule["ToPort"]}
        for plural, singular, field in PEERS:
            if field in rule:
                item = dict(rule[field]) if field == "ReferencedGroupInfo" else {singular: rule[field]}
                if rule.get("Description"):
                    item["Description"] = rule["Description"]
                row[plural] = [item]
        return row

    # Reading

    def read(self, api: str, params: Given) -> Sequence[Raw]:
        self._age()
        if api in self._denied:
            raise refused("UnauthorizedOperation")
        name, of, fields = _READS[api]
        items = [copy.deepcopy(item) for item in of(self)]
        items = [item for item in items if self._hidden.get(str(item[name]), 0) <= 0]
        for one in params.get("Filters") or ():
            field = fields.get(one["Name"])
            if field is None:
                raise refused("InvalidParameterValue", f"The filter '{one['Name']}' is invalid")
            items = [item for item in items if item[field] in one["Values"]]
        for key, ids in params.items():
            if key.endswith("Ids"):
                unknown = set(ids) - {item[name] for item in items}
                if unknown:
                    raise refused(f"Invalid{name.removesuffix('Id')}ID.NotFound", str(unknown))
                items = [item for item in items if item[name] in ids]
        return items

    def _age(self) -> None:
        self._hidden = {key: left - 1 for key, left in self._hidden.items() if left > 0}

    # Changing

    def ask(self, api: str, params: Given) -> str:
        del params
        return "UnauthorizedOperation" if api in self._denied else "DryRunOperation"

    def change(self, api: str, params: Given) -> Raw:
        self._age()
        if api in self._denied:
            raise refused("UnauthorizedOperation")
        request = copy.deepcopy(dict(params))
        answer = _CHANGES[api](self, request)
        self.log.append((api, request))
        return {**copy.deepcopy(answer), "RequestId": f"req-{len(self.log)}"}

    def _group(self, group_id: str) -> Raw:
        if not str(group_id).startswith("sg-"):
            raise refused("InvalidGroupId.Malformed", group_id)
        if group_id not in self.groups or self._hidden.get(group_id, 0) > 0:
            raise refused("InvalidGroup.NotFound", f"The security group '{group_id}' does not exist")
        return self.groups[group_id]

    def _authorize(self, params: Raw, *, egress: bool) -> Raw:
        group_id = self._group(params["GroupId"])["GroupId"]
        tags = _tags(params, "security-group-rule")
        new = [rule for row in params["IpPermissions"] for rule in self._rules_of(row, group_id)]
        if not new:
            raise refused("MissingParameter", "no peer")
        identities = [self._identity(rule) for rule in new]
        if len(set(identities)) < len(identities):
            raise refused("InvalidParameterValue", "The same permission must not appear multiple times")
        present = {
            self._identity(rule)
            for rule in self.rules.values()
            if rule["GroupId"] == group_id and rule["IsEgress"] is egress
        }
        for identity in identities:
            if identity in present:
                raise refused("InvalidPermission.Duplicate", f'the specified rule "{identity}" already exists')
        self._check_quota(group_id, new, egress=egress)
        kept = [self._keep(group_id, rule, egress=egress, tags=tags) for rule in new]
        return {"Return": True, "SecurityGroupRules": kept}

    def _keep(self, group_id: str, rule: Raw, *, egress: bool, tags: Sequence[Raw] = ()) -> Raw:
        rule_id = self._new_id("sgr")
        owner = self.groups[group_id].get("OwnerId", "")
        self.rules[rule_id] = {
            "SecurityGroupRuleId": rule_id,
            "GroupId": group_id,
            "GroupOwnerId": owner,
            "IsEgress": egress,
            **rule,
            "Tags": list(tags),
        }
        return self.rules[rule_id]

    def _rules_of(self, row: Raw, group_id: str = "") -> Iterator[Raw]:
        head = _protocol_and_ports(row)
        for plural, singular, field in PEERS:
            for item in row.get(plural) or ():
                if not DESCRIPTION.fullmatch(item.get("Description", "")):
                    raise refused("InvalidParameterValue", "Invalid rule description")
                said = {"Description": item["Description"]} if item.get("Description") else {}
                yield {**head, field: self._peer(singular, item, group_id), **said}

    def _peer(self, singular: str, item: Raw, group_id: str) -> Any:
        value = item[singular]
        if singular in ("CidrIp", "CidrIpv6"):
            return _block(value, 4 if singular == "CidrIp" else 6)
        if singular == "PrefixListId":
            known = [*self.lists, *(self._document.get("PrefixListEntries") or {})]
            if group_id and (value not in known or self._hidden.get(value, 0) > 0):
                raise refused("InvalidPrefixListID.NotFound", value)
            return value
        peer = {key: item[key] for key in ("GroupId", "UserId", "VpcId", "VpcPeeringConnectionId") if key in item}
        if group_id:
            other = self._group(value)
            if other["VpcId"] != self.groups[group_id]["VpcId"] and not self._peered(group_id, value):
                raise refused("InvalidGroup.NotFound", "resources that belong to different networks")
            peer.setdefault("UserId", other.get("OwnerId", ""))
        return peer

    def _peered(self, one: str, other: str) -> bool:
        vpcs = {self.groups[one]["VpcId"], self.groups[other]["VpcId"]}
        return any(
            item["Status"]["Code"] == "active"
            and {item["RequesterVpcInfo"]["VpcId"], item["AccepterVpcInfo"]["VpcId"]} == vpcs
            for item in self._document.get("VpcPeeringConnections") or ()
        )

    @staticmethod
    def _identity(rule: Raw) -> str:
        peer = next(rule[field] for _, _, field in PEERS if field in rule)
        name = peer["GroupId"] if isinstance(peer, dict) else peer
        return f"{rule['IpProtocol']} {rule['FromPort']}-{rule['ToPort']} {name}"

    def _check_quota(self, group_id: str, new: Sequence[Raw], *, egress: bool) -> None:
        present = [r for r in self.rules.values() if r["GroupId"] == group_id and r["IsEgress"] is egress]
        for other in ("CidrIpv6", "CidrIpv4"):
            counted = [rule for rule in [*present, *new] if other not in rule]
            weight = sum(
                self.lists[r["PrefixListId"]]["MaxEntries"] - 1 for r in counted if r.get("PrefixListId") in self.lists
            )
            if len(counted) + weight > self._rules_quota:
                raise refused("RulesPerSecurityGroupLimitExceeded", "The maximum number of rules has been reached")

    def _revoke(self, params: Raw, *, egress: bool) -> Raw:
        group_id = self._group(params["GroupId"])["GroupId"]
        ids = params.get("SecurityGroupRuleIds") or []
        here = {k: r for k, r in self.rules.items() if r["GroupId"] == group_id and r["IsEgress"] is egress}
        for rule_id in ids:
            if rule_id not in here:
                raise refused("InvalidSecurityGroupRuleId.NotFound", rule_id)
        gone = set(ids)
        by_identity = {self._identity(rule): key for key, rule in here.items()}
        for row in params.get("IpPermissions") or ():
            for rule in self._rules_of(row):
                if self._identity(rule) not in by_identity:
                    raise refused("InvalidPermission.NotFound", "The specified rule does not exist")
                gone.add(by_identity[self._identity(rule)])
        if not gone:
            raise refused("MissingParameter", "nothing to revoke")
        revoked = [self.rules.pop(rule_id) for rule_id in sorted(gone)]
        return {"Return": True, "RevokedSecurityGroupRules": revoked}

    def _create_group(self, params: Raw) -> Raw:
        name, about, vpc_id = params["GroupName"], params["Description"], params["VpcId"]
        if name.startswith("sg-") or not 0 < len(name) <= 255 or not DESCRIPTION.fullmatch(about) or not about:
            raise refused("InvalidParameterValue", "GroupName or Description")
        if not any(vpc["VpcId"] == vpc_id for vpc in self._document.get("Vpcs") or ()):
            raise refused("InvalidVpcID.NotFound", vpc_id)
        if any(g["VpcId"] == vpc_id and g["GroupName"].lower() == name.lower() for g in self.groups.values()):
            raise refused("InvalidGroup.Duplicate", f"The security group '{name}' already exists")
        group_id = self._new_id("sg")
        self.groups[group_id] = {
            "GroupId": group_id,
            "GroupName": name,
            "Description": about,
            "VpcId": vpc_id,
            "OwnerId": str(self._document.get("AccountId", "")),
            "Tags": _tags(params, "security-group"),
        }
        self._hidden[group_id] = self._lag
        everything = {"IpProtocol": "-1", "FromPort": -1, "ToPort": -1, "CidrIpv4": "0.0.0.0/0"}
        self._keep(group_id, everything, egress=True)
        return {"GroupId": group_id, "Tags": self.groups[group_id]["Tags"]}

    def _delete_group(self, params: Raw) -> Raw:
        group = self._group(params["GroupId"])
        group_id = group["GroupId"]
        if group["GroupName"] == "default":
            raise refused("CannotDelete", "the default group")
        carried = any(g["GroupId"] == group_id for i in self.interfaces.values() for g in i["Groups"])
        named = any(
            rule["GroupId"] != group_id and (rule.get("ReferencedGroupInfo") or {}).get("GroupId") == group_id
            for rule in self.rules.values()
        )
        if carried or named:
            raise refused("DependencyViolation", f"resource {group_id} has a dependent object")
        del self.groups[group_id]
        self.rules = {key: rule for key, rule in self.rules.items() if rule["GroupId"] != group_id}
        return {"Return": True, "GroupId": group_id}

    def _set_groups(self, params: Raw) -> Raw:
        interface = self.interfaces.get(params["NetworkInterfaceId"])
        if interface is None:
            raise refused("InvalidNetworkInterfaceID.NotFound", params["NetworkInterfaceId"])
        ids = params["Groups"]
        if not ids or len(set(ids)) < len(ids):
            raise refused("InvalidParameterValue", "at least one group, and none twice")
        groups = [self._group(group_id) for group_id in ids]
        if any(group["VpcId"] != interface["VpcId"] for group in groups):
            raise refused("InvalidGroup.NotFound", "resources that belong to different networks")
        if len(ids) > self._groups_quota:
            raise refused("SecurityGroupsPerInterfaceLimitExceeded", str(len(ids)))
        chosen = [{"GroupId": group["GroupId"], "GroupName": group["GroupName"]} for group in groups]
        for item in self._all_interfaces():
            if item["NetworkInterfaceId"] == params["NetworkInterfaceId"]:
                item["Groups"] = copy.deepcopy(chosen)
        return {}

    def _acl(self, params: Raw) -> Raw:
        acl = self.acls.get(params["NetworkAclId"])
        if acl is None:
            raise refused("InvalidNetworkAclID.NotFound", params["NetworkAclId"])
        return acl

    def _entry(self, params: Raw) -> Raw | None:
        place = (params["RuleNumber"], params["Egress"])
        return next((e for e in self._acl(params)["Entries"] if (e["RuleNumber"], e["Egress"]) == place), None)

    def _create_entry(self, params: Raw) -> Raw:
        acl, entry = self._acl(params), _checked_entry(params)
        if self._entry(params) is not None:
            raise refused("NetworkAclEntryAlreadyExists", str(params["RuleNumber"]))
        block = "CidrBlock" if "CidrBlock" in entry else "Ipv6CidrBlock"
        alike = [e for e in acl["Entries"] if e["Egress"] is entry["Egress"] and block in e]
        if len(alike) >= self._entries_quota:
            raise refused("NetworkAclEntryLimitExceeded", str(len(alike)))
        acl["Entries"].append(entry)
        acl["Entries"].sort(key=lambda item: (item["Egress"], item["RuleNumber"]))
        return {}

    def _replace_entry(self, params: Raw) -> Raw:
        entry, present = _checked_entry(params), self._entry(params)
        if present is None:
            raise refused("InvalidNetworkAclEntry.NotFound", str(params["RuleNumber"]))
        present.clear()
        present.update(entry)
        return {}

    def _delete_entry(self, params: Raw) -> Raw:
        present = self._entry(params)
        if present is None or params["RuleNumber"] > HIGHEST_NUMBER:
            raise refused("InvalidNetworkAclEntry.NotFound", str(params["RuleNumber"]))
        self._acl(params)["Entries"].remove(present)
        return {}

    def _create_list(self, params: Raw) -> Raw:
        token = params.get("ClientToken", "")
        if token in self._tokens:
            return {"PrefixList": self._shown(self._tokens[token])}
        family = 4 if params["AddressFamily"] == "IPv4" else 6
        entries = [{**entry, "Cidr": _block(entry["Cidr"], family)} for entry in params.get("Entries") or ()]
        if len(entries) > params["MaxEntries"]:
            raise refused("InvalidParameterValue", "more entries than MaxEntries")
        list_id = self._new_id("pl")
        self.lists[list_id] = {
            "PrefixListId": list_id,
            "PrefixListName": params["PrefixListName"],
            "AddressFamily": params["AddressFamily"],
            "MaxEntries": params["MaxEntries"],
            "OwnerId": str(self._document.get("AccountId", "")),
            "State": "create-complete",
            "Version": 1,
            "Tags": _tags(params, "prefix-list"),
            "_entries": entries,
        }
        self._hidden[list_id] = self._lag
        if token:
            self._tokens[token] = list_id
        return {"PrefixList": {**self._shown(list_id), "State": "create-in-progress"}}

    def _shown(self, list_id: str) -> Raw:
        return {key: value for key, value in self.lists[list_id].items() if key != "_entries"}

    def _delete_list(self, params: Raw) -> Raw:
        list_id = params["PrefixListId"]
        if list_id not in self.lists:
            raise refused("InvalidPrefixListID.NotFound", list_id)
        if any(rule.get("PrefixListId") == list_id for rule in self.rules.values()):
            raise refused("DependencyViolation", list_id)
        return {"PrefixList": {**self.lists.pop(list_id), "State": "delete-in-progress"}}

    def _create_tags(self, params: Raw) -> Raw:
        places = {**self.groups, **self.rules, **self.lists, **self.acls, **self.interfaces}
        tags = _tags({"TagSpecifications": [{"ResourceType": "", "Tags": params["Tags"]}]}, "")
        for resource in params["Resources"]:
            if resource not in places:
                raise refused("InvalidID", resource)
            new = {tag["Key"]: tag for tag in tags}
            places[resource]["Tags"] = [t for t in places[resource].get("Tags") or () if t["Key"] not in new] + tags
        return {}


def _tags(params: Given, resource_type: str) -> list[Raw]:
    tags = []
    for item in params.get("TagSpecifications") or ():
        if item["ResourceType"] != resource_type:
            raise refused("InvalidParameterValue", f"{item['ResourceType']} is not valid for this request")
        tags += item["Tags"]
    if len(tags) > MOST_TAGS:
        raise refused("TagLimitExceeded", str(len(tags)))
    if any(tag["Key"].lower().startswith("aws:") for tag in tags):
        raise refused("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
    return tags


def _block(text: str, version: int) -> str:
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise refused("InvalidParameterValue", f"CIDR block {text} is malformed") from error
    if network.version != version:
        raise refused("InvalidParameterValue", f"CIDR block {text} is of the other family")
    return str(network)


def _protocol_and_ports(row: Given) -> Raw:
    name = NAMES.get(str(row["IpProtocol"]), str(row["IpProtocol"]))
    low, high = row.get("FromPort"), row.get("ToPort")
    if name in WITH_PORTS:
        if low is None or high is None or not 0 <= low <= high <= 65535:
            raise refused("InvalidParameterValue", f"Invalid value for portRange: {low}-{high}")
    elif name == "icmp" and (low is None or high is None):
        raise refused("MissingParameter", "ICMP type and code")
    elif name in WITH_MESSAGES:
        low, high = -1 if low is None else low, -1 if high is None else high
        if not (-1 <= low <= 255 and -1 <= high <= 255):
            raise refused("InvalidParameterValue", f"ICMP type {low}, code {high}")
    elif name == "-1" or (name.isdigit() and int(name) <= 255):
        low = high = -1
    else:
        raise refused("InvalidParameterValue", f"Invalid value '{name}' for IP protocol. Unknown protocol.")
    return {"IpProtocol": name, "FromPort": low, "ToPort": high}


def _checked_entry(params: Given) -> Raw:
    number, protocol = params["RuleNumber"], str(params["Protocol"])
    if not 1 <= number <= HIGHEST_NUMBER:
        raise refused("InvalidParameterValue", f"rule number {number}")
    if not re.fullmatch(r"-1|\d{1,3}", protocol) or int(protocol) > 255:
        raise refused("InvalidParameterValue", f"protocol {protocol}")
    entry: Raw = {key: params[key] for key in ("RuleNumber", "RuleAction", "Egress")}
    entry["Protocol"] = protocol
    if ("CidrBlock" in params) is ("Ipv6CidrBlock" in params):
        raise refused("InvalidParameterCombination", "one of CidrBlock and Ipv6CidrBlock")
    for key, version in (("CidrBlock", 4), ("Ipv6CidrBlock", 6)):
        if key in params:
            entry[key] = _block(params[key], version)
    if protocol in ("6", "17"):
        span = params.get("PortRange") or {}
        if not 0 <= span.get("From", -1) <= span.get("To", -1) <= 65535:
            raise refused("InvalidParameterValue", f"ports {span}")
        entry["PortRange"] = dict(span)
    if protocol in ("1", "58"):
        if "IcmpTypeCode" not in params:
            raise refused("MissingParameter", "IcmpTypeCode")
        entry["IcmpTypeCode"] = dict(params["IcmpTypeCode"])
    return entry


_READS: Mapping[str, tuple[str, Callable[[FakeEc2], Iterable[Raw]], Mapping[str, str]]] = {
    "DescribeSecurityGroups": (
        "GroupId",
        lambda fake: [fake._described(group_id) for group_id in fake.groups],
        {"group-name": "GroupName", "group-id": "GroupId", "vpc-id": "VpcId"},
    ),
    "DescribeSecurityGroupRules": (
        "GroupId",
        lambda fake: fake.rules.values(),
        {"group-id": "GroupId", "security-group-rule-id": "SecurityGroupRuleId"},
    ),
    "DescribeNetworkInterfaces": (
        "NetworkInterfaceId",
        lambda fake: fake.interfaces.values(),
        {"network-interface-id": "NetworkInterfaceId", "vpc-id": "VpcId"},
    ),
    "DescribeNetworkAcls": ("NetworkAclId", lambda fake: fake.acls.values(), {"vpc-id": "VpcId"}),
    "DescribeManagedPrefixLists": (
        "PrefixListId",
        lambda fake: [fake._shown(list_id) for list_id in fake.lists],
        {"prefix-list-name": "PrefixListName", "prefix-list-id": "PrefixListId"},
    ),
}
_CHANGES: Mapping[str, Callable[[FakeEc2, Raw], Raw]] = {
    "AuthorizeSecurityGroupIngress": lambda fake, params: fake._authorize(params, egress=False),
    "AuthorizeSecurityGroupEgress": lambda fake, params: fake._authorize(params, egress=True),
    "RevokeSecurityGroupIngress": lambda fake, params: fake._revoke(params, egress=False),
    "RevokeSecurityGroupEgress": lambda fake, params: fake._revoke(params, egress=True),
    "CreateSecurityGroup": FakeEc2._create_group,
    "DeleteSecurityGroup": FakeEc2._delete_group,
    "ModifyNetworkInterfaceAttribute": FakeEc2._set_groups,
    "CreateNetworkAclEntry": FakeEc2._create_entry,
    "ReplaceNetworkAclEntry": FakeEc2._replace_entry,
    "DeleteNetworkAclEntry": FakeEc2._delete_entry,
    "CreateManagedPrefixList": FakeEc2._create_list,
    "DeleteManagedPrefixList": FakeEc2._delete_list,
    "CreateTags": FakeEc2._create_tags,
}
