"""Plans to write out, and readers that give back the change that a written form makes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import hcl2
import yaml

from sgaudit import snapshot
from sgaudit.fix.emit.shell import singles
from sgaudit.fix.plan import Call, Operation, Plan, Safety, Strategy
from sgaudit.fix.planner import Options
from sgaudit.fix.planner import plan as make
from sgaudit.model import Family
from sgaudit.policy.load import load
from sgaudit.policy.resolve import resolve
from sgaudit.rules.audit import audit
from sgaudit.selection import Selection, TagFilter, select
from tests.unit.fix.plans import plan as bare_plan

Raw = dict[str, Any]
Change = tuple[str, Raw]

ROOT = Path(__file__).resolve().parents[3]
RUN = "20261201t093000-abc123"
CREATED = "2026-12-01T09:30:00Z"
PLANS: Mapping[str, tuple[str, str, Strategy | None, Family]] = {
    "self": ("self-reference-missing", "pytorch-gloo", Strategy.SELF, Family.IPV4),
    "peers": ("one-way-groups", "pytorch-gloo", Strategy.PEERS, Family.IPV4),
    "peering": ("peering-stale-reference", "pytorch-gloo", Strategy.PEERS, Family.IPV4),
    "cluster-group": ("node-without-group", "pytorch-gloo", Strategy.CLUSTER_GROUP, Family.IPV4),
    "prefix-list": ("one-way-groups", "pytorch-gloo", Strategy.PREFIX_LIST, Family.IPV4),
    "cidr": ("one-way-groups", "pytorch-gloo", Strategy.CIDR, Family.IPV4),
    "ipv6": ("ipv6-cluster-ipv4-rules", "pytorch-gloo", Strategy.CIDR, Family.IPV6),
    "acl": ("acl-forgets-way-back", "pytorch-gloo", None, Family.IPV4),
    "acl-denies": ("acl-deny-between-allows", "pytorch-gloo", None, Family.IPV4),
    "efa": ("efa-cidr-only", "efa", None, Family.IPV4),
}
"""Name to example, policy, strategy and address family; between them every strategy and every kind of change."""
TEMPLATED = ("self", "peers", "peering", "prefix-list", "cidr", "acl", "acl-denies")
"""The plans that a CloudFormation template can hold: they put no group on an interface, and add no egress."""
HOSTILE = (
    'it\'s "quoted" $(touch owned) `touch owned` ${file("/etc/passwd")} %{ if true }x%{ endif } $${a} %%{b} \\ '
    "!Ref X: &a *b # [c] {d} - | > \n!Sub ${AWS::AccountId}\nend\r\n\tEOF\x00\x07\x1b[31m\x7f\x85\u2028\u202e"
    "\U0001f600 é '; touch owned; '"
)
"""What people and attackers write into names, tags and descriptions."""


def document(example: str) -> Raw:
    return dict(json.loads((ROOT / "examples" / example / "snapshot.json").read_text(encoding="utf-8")))


@cache
def planned(name: str) -> Plan:
    """Make the plan of an example."""
    example, policy, strategy, family = PLANS[name]
    read = snapshot.parse(document(example))
    selection = Selection(tags=(TagFilter("cluster", ("train",)),), family=family)
    members = select(read, selection)
    judged = audit(read, selection, members, resolve([load(policy)], members))
    return make(judged, Options(strategy=strategy, run=RUN, created=CREATED))


def operation(number: int, api: str, params: Raw, inverse: Call | None = None) -> Operation:
    return Operation(f"op-{number}", Call(api, params), HOSTILE, ("f",), Safety.UNSAFE, HOSTILE, inverse)


def tags(kind: str, run: str = RUN, text: str = HOSTILE) -> list[Raw]:
    return [{"ResourceType": kind, "Tags": [{"Key": "sgaudit:run", "Value": run}, {"Key": text, "Value": text}]}]


def hostile(*, attach: bool, text: str = HOSTILE) -> Plan:
    """Give a plan in which every text that can hold anything does."""
    made, listed = {"Ref": "op-1"}, {"Ref": "op-3"}
    everything = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
    group = {"GroupName": text, "Description": text, "VpcId": "vpc-1", "TagSpecifications": tags("security-group")}
    entries = [{"Cidr": "10.0.0.5/32", "Description": text}, {"Cidr": "10.0.0.6/32", "Description": text}]
    prefixes = {"PrefixListName": text, "MaxEntries": 2, "AddressFamily": "IPv4", "Entries": entries}
    prefixes["TagSpecifications"] = tags("prefix-list")
    peers = {
        "IpRanges": [{"CidrIp": "10.0.0.0/24", "Description": text}],
        "PrefixListIds": [{"PrefixListId": listed, "Description": text}],
        "UserIdGroupPairs": [{"GroupId": made, "Description": text}],
    }
    rows = [
        {"IpProtocol": "tcp", "FromPort": 0, "ToPort": 80, **peers},
        {"IpProtocol": "icmp", "FromPort": 8, "ToPort": -1, "IpRanges": [{"CidrIp": "10.0.0.0/24"}]},
    ]
    rules = {"GroupId": made, "IpPermissions": rows, "TagSpecifications": tags("security-group-rule")}
    before = {"NetworkInterfaceId": "eni-1", "Groups": ["sg-a"]}
    after = {"NetworkInterfaceId": "eni-1", "Groups": ["sg-a", made]}
    operations = [
        operation(1, "CreateSecurityGroup", group, Call("DeleteSecurityGroup", {"GroupId": made})),
        operation(2, "RevokeSecurityGroupEgress", {"GroupId": made, "IpPermissions": everything}),
        operation(3, "CreateManagedPrefixList", prefixes, Call("DeleteManagedPrefixList", {"PrefixListId": listed})),
        operation(4, "AuthorizeSecurityGroupIngress", rules, Call("RevokeSecurityGroupIngress", {"GroupId": made})),
        operation(5, "AuthorizeSecurityGroupEgress", rules, Call("RevokeSecurityGroupEgress", {"GroupId": made})),
    ]
    if attach:
        call = Call("ModifyNetworkInterfaceAttribute", before)
        operations.append(operation(6, "ModifyNetworkInterfaceAttribute", after, call))
    return bare_plan(*operations, run=RUN, selection={"tags": [text]}, strategy=Strategy.CLUSTER_GROUP)


def ordered(changes: Iterable[Change]) -> list[Change]:
    return sorted(changes, key=lambda change: json.dumps(change, sort_keys=True))


def changes(plan: Plan, *, rule_tags: bool = True) -> list[Change]:
    """
    Give the change that a plan makes, one permission, entry or attachment at a time.

    The default egress of a new group is one thing, however many requests take it away.
    """
    found: list[Change] = []
    for item in plan.operations:
        api, params = item.call.api, dict(item.call.params)
        if api.startswith("Authorize"):
            for call in singles(item.call):
                single = dict(call.params)
                if not rule_tags:
                    single.pop("TagSpecifications", None)
                _forget_own_account(single, plan.account_id)
                found.append((api, single))
        elif api == "ModifyNetworkInterfaceAttribute":
            before = item.inverse.params["Groups"] if item.inverse else []
            found += [
                (api, {"NetworkInterfaceId": params["NetworkInterfaceId"], "Add": group})
                for group in params["Groups"]
                if group not in before
            ]
        elif api == "RevokeSecurityGroupEgress":
            change = (api, {"GroupId": params["GroupId"], "Default": True})
            found += [] if change in found else [change]
        else:
            found.append((api, params))
    return ordered(found)


def _forget_own_account(params: Raw, account_id: str) -> None:
    """Drop what the declared forms have no word for where it says what is so anyway."""
    row = params["IpPermissions"][0]
    for pair in row.get("UserIdGroupPairs", ()):
        kept = {key: value for key, value in pair.items() if key in ("GroupId", "Description")}
        if pair.get("UserId", account_id) != account_id:
            kept["UserId"] = pair["UserId"]
        row["UserIdGroupPairs"] = [kept]


# Terraform

_HCL = re.compile(r'\\(?:(["\\nrt])|u([0-9a-f]{4})|U([0-9a-f]{8}))|(\$\$|%%)\{|([$%]\{)')
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t"}


def unquoted(text: str) -> str:
    """Read a string of HCL, in which nothing may be evaluated."""

    def plain(match: re.Match[str]) -> str:
        simple, short, long, doubled, evaluated = match.groups()
        assert evaluated is None, f"Terraform would evaluate {text}"
        if doubled:
            return f"{doubled[0]}{{"
        return _SIMPLE.get(simple, simple) if simple else chr(int(short or long, 16))

    assert text[0] == text[-1] == '"', text
    return _HCL.sub(plain, text[1:-1])


def _hcl(value: Any) -> Any:
    if isinstance(value, str):
        reference = re.fullmatch(r"\$\{(aws_[a-z0-9_]+\.sgaudit_[A-Za-z0-9_]+_(\d+)\.id)\}", value)
        return {"Ref": f"op-{reference[2]}"} if reference else unquoted(value)
    if isinstance(value, Mapping):
        return {_key(key): _hcl(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_hcl(item) for item in value]
    return value


def _key(key: str) -> str:
    return unquoted(key) if key.startswith('"') else key


def _tagged(kind: str, found: Mapping[str, str] | None) -> Raw:
    pairs = [{"Key": key, "Value": value} for key, value in (found or {}).items()]
    return {"TagSpecifications": [{"ResourceType": kind, "Tags": pairs}]} if pairs else {}


def read_terraform(text: str) -> list[Change]:
    """Read a configuration back with python-hcl2."""
    found: list[Change] = []
    for block in hcl2.loads(text).get("resource", []):
        ((kind, named),) = block.items()
        ((_, body),) = named.items()
        values = {key: _hcl(value) for key, value in body.items() if not key.startswith("__")}
        found += _TERRAFORM[kind.strip('"')](values)
    return ordered(found)


def _tf_group(body: Raw) -> list[Change]:
    ref = {"Ref": "op-1"}
    params = {"GroupName": body["name"], "Description": body["description"], "VpcId": body["vpc_id"]}
    made = ("CreateSecurityGroup", {**params, **_tagged("security-group", body.get("tags"))})
    return [made, ("RevokeSecurityGroupEgress", {"GroupId": ref, "Default": True})]


def _tf_list(body: Raw) -> list[Change]:
    params = {
        "PrefixListName": body["name"],
        "MaxEntries": body["max_entries"],
        "AddressFamily": body["address_family"],
        "Entries": [{"Cidr": item["cidr"], "Description": item["description"]} for item in body["entry"]],
    }
    return [("CreateManagedPrefixList", {**params, **_tagged("prefix-list", body.get("tags"))})]


def _tf_rule(way: str) -> Any:
    def read(body: Raw) -> list[Change]:
        row: Raw = {"IpProtocol": body["ip_protocol"]}
        if "from_port" in body:
            row |= {"FromPort": body["from_port"], "ToPort": body["to_port"]}
        about = {"Description": body["description"]} if "description" in body else {}
        for argument, side, key in (
            ("cidr_ipv4", "IpRanges", "CidrIp"),
            ("cidr_ipv6", "Ipv6Ranges", "CidrIpv6"),
            ("prefix_list_id", "PrefixListIds", "PrefixListId"),
        ):
            if argument in body:
                row[side] = [{key: body[argument], **about}]
        if "referenced_security_group_id" in body:
            peer = body["referenced_security_group_id"]
            owner, _, group = peer.rpartition("/") if isinstance(peer, str) else ("", "", peer)
            row["UserIdGroupPairs"] = [{"GroupId": group, **about, **({"UserId": owner} if owner else {})}]
        params = {"GroupId": body["security_group_id"], "IpPermissions": [row]}
        return [(f"AuthorizeSecurityGroup{way}", {**params, **_tagged("security-group-rule", body.get("tags"))})]

    return read


def _tf_entry(body: Raw) -> list[Change]:
    params: Raw = {
        "NetworkAclId": body["network_acl_id"],
        "RuleNumber": body["rule_number"],
        "Egress": body["egress"],
        "Protocol": body["protocol"],
        "RuleAction": body["rule_action"],
    }
    for argument, key in (("cidr_block", "CidrBlock"), ("ipv6_cidr_block", "Ipv6CidrBlock")):
        if argument in body:
            params[key] = body[argument]
    if "from_port" in body:
        params["PortRange"] = {"From": body["from_port"], "To": body["to_port"]}
    if "icmp_type" in body:
        params["IcmpTypeCode"] = {"Type": body["icmp_type"], "Code": body["icmp_code"]}
    return [("CreateNetworkAclEntry", params)]


def _tf_attachment(body: Raw) -> list[Change]:
    params = {"NetworkInterfaceId": body["network_interface_id"], "Add": body["security_group_id"]}
    return [("ModifyNetworkInterfaceAttribute", params)]


_TERRAFORM: Mapping[str, Any] = {
    "aws_security_group": _tf_group,
    "aws_ec2_managed_prefix_list": _tf_list,
    "aws_vpc_security_group_ingress_rule": _tf_rule("Ingress"),
    "aws_vpc_security_group_egress_rule": _tf_rule("Egress"),
    "aws_network_acl_rule": _tf_entry,
    "aws_network_interface_sg_attachment": _tf_attachment,
}


# CloudFormation


def read_cloudformation(text: str) -> list[Change]:
    """Read a template back with PyYAML, which knows no tags of CloudFormation."""
    found: list[Change] = []
    for name, resource in yaml.safe_load(text)["Resources"].items():
        kind = resource["Type"].removeprefix("AWS::EC2::")
        body = _resolved(resource["Properties"])
        if kind in ("SecurityGroup", "PrefixList"):
            pairs = {tag["Key"]: tag["Value"] for tag in body.pop("Tags", ())}
            body |= _tagged("security-group" if kind == "SecurityGroup" else "prefix-list", pairs)
        if kind == "SecurityGroup":
            (nothing,) = body.pop("SecurityGroupEgress")
            assert (nothing["CidrIp"], nothing["IpProtocol"]) == ("127.0.0.1/32", "-1")
            body["Description"] = body.pop("GroupDescription")
            ref = {"Ref": f"op-{name.removeprefix('Step')}"}
            found.append(("CreateSecurityGroup", body))
            found.append(("RevokeSecurityGroupEgress", {"GroupId": ref, "Default": True}))
        elif kind == "PrefixList":
            found.append(("CreateManagedPrefixList", body))
        elif kind == "NetworkAclEntry":
            body["Protocol"] = str(body["Protocol"])
            if "Icmp" in body:
                body["IcmpTypeCode"] = body.pop("Icmp")
            found.append(("CreateNetworkAclEntry", body))
        else:
            found.append((f"Authorize{kind}", {"GroupId": body.pop("GroupId"), "IpPermissions": [_row(body)]}))
    return ordered(found)


def _resolved(value: Any) -> Any:
    if isinstance(value, Mapping):
        if set(value) == {"Fn::GetAtt"}:
            return {"Ref": f"op-{value['Fn::GetAtt'][0].removeprefix('Step')}"}
        return {key: _resolved(item) for key, item in value.items()}
    return [_resolved(item) for item in value] if isinstance(value, list) else value


def _row(body: Raw) -> Raw:
    about = {"Description": body.pop("Description")} if "Description" in body else {}
    owner = {"UserId": body.pop("SourceSecurityGroupOwnerId")} if "SourceSecurityGroupOwnerId" in body else {}
    for name, side, key in (
        ("CidrIp", "IpRanges", "CidrIp"),
        ("CidrIpv6", "Ipv6Ranges", "CidrIpv6"),
        ("SourcePrefixListId", "PrefixListIds", "PrefixListId"),
        ("DestinationPrefixListId", "PrefixListIds", "PrefixListId"),
        ("SourceSecurityGroupId", "UserIdGroupPairs", "GroupId"),
        ("DestinationSecurityGroupId", "UserIdGroupPairs", "GroupId"),
    ):
        if name in body:
            body[side] = [{key: body.pop(name), **about, **owner}]
    return body
