"""A Terraform configuration of what the plan adds, one resource a permission, laid out as `terraform fmt` would."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sgaudit.fix.emit.declared import Attachment, Created, Entry, Ref, Resource, Rule, resources, tags_of
from sgaudit.fix.emit.text import comment, escaped, heading, step
from sgaudit.fix.plan import Plan

NAME = "terraform"
OWNER = "Terraform"
PEER_ARGUMENTS = {
    "CidrIp": "cidr_ipv4",
    "CidrIpv6": "cidr_ipv6",
    "PrefixListId": "prefix_list_id",
    "GroupId": "referenced_security_group_id",
}
RESOURCE_TYPES = {"CreateSecurityGroup": "aws_security_group", "CreateManagedPrefixList": "aws_ec2_managed_prefix_list"}
ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Section:
    """What stands in braces within a block."""

    head: str
    """`tags =` for a map, `entry` for a nested block."""
    pairs: Pairs


def render(plan: Plan) -> Iterator[str]:
    """
    Write the configuration.

    Raises:
        UsageError: the plan takes something away, which a configuration can't say.
    """
    found = resources(plan, NAME)
    names = _Names(plan.run)
    yield from comment(
        heading(
            plan,
            "Adds what the cluster lacks. Put it into a configuration with the AWS provider (5.0 or newer), then",
            "terraform plan and terraform apply; to undo it, take it out again and apply.",
            "Where Terraform manages what this adds to, its own lists take it away again: inline ingress and egress",
            "blocks of a group or an ACL, vpc_security_group_ids of an instance, security_groups of an interface.",
        )
    )
    yield from _guards(plan, names)
    position = 0
    for resource in found:
        yield "\n"
        if resource.position != position:
            position = resource.position
            yield from comment(_remarks(resource))
        yield from names.block(resource)


def quoted(text: str) -> str:
    """Write a string of HCL in which nothing is evaluated."""
    safe = text.replace("${", "$${").replace("%{", "%%{")
    pieces = [ESCAPES.get(char) or (char if char.isprintable() else escaped(char)) for char in safe]
    return f'"{"".join(pieces)}"'


def _remarks(resource: Resource) -> Iterator[str]:
    operation = resource.operation
    yield step(operation)
    if operation.unsafe_because:
        yield f"not safe: {operation.unsafe_because}"
    if OWNER in operation.unsafe_because:
        yield from _belongs(resource)


def _belongs(resource: Resource) -> Iterator[str]:
    params = resource.operation.call.params
    thing = params.get("GroupId") or params.get("NetworkAclId") or params.get("NetworkInterfaceId")
    yield f"{thing} belongs to Terraform: put this into the configuration that manages it, and as one of its"
    yield "inline rules where it has such: they take away what they don't list"


def _guards(plan: Plan, names: _Names) -> Iterator[str]:
    for kind, attribute, wanted, noun in (
        ("aws_caller_identity", "account_id", plan.account_id, "account"),
        ("aws_region", "id", plan.region, "Region"),
    ):
        if wanted:
            yield f'\ndata "{kind}" "{names.base}" {{\n  lifecycle {{\n    postcondition {{\n'
            yield f"      condition     = self.{attribute} == {quoted(wanted)}\n"
            yield f"      error_message = {quoted(f'This was planned for {noun} {wanted}.')}\n"
            yield "    }\n  }\n}\n"


@dataclass(frozen=True, slots=True)
class _Names:
    """Writes blocks, and names them so that the configurations of two runs can stand side by side."""

    run: str

    @property
    def base(self) -> str:
        return "sgaudit_" + re.sub(r"[^A-Za-z0-9_]", "_", self.run)

    def block(self, resource: Resource) -> Iterator[str]:
        match resource:
            case Created():
                yield from self._created(resource)
            case Rule():
                yield from self._rule(resource)
            case Entry():
                yield from self._entry(resource)
            case Attachment():
                yield from _block(
                    "aws_network_interface_sg_attachment",
                    self._name(resource.position, resource.number),
                    [
                        ("security_group_id", self._value(resource.group)),
                        ("network_interface_id", quoted(resource.interface_id)),
                    ],
                )

    def _name(self, *parts: int) -> str:
        return "_".join([self.base, *map(str, parts)])

    def _value(self, value: str | Ref) -> str:
        if isinstance(value, Ref):
            return f"{RESOURCE_TYPES[value.api]}.{self._name(value.position)}.id"
        return quoted(value)

    def _created(self, resource: Created) -> Iterator[str]:
        params, tags = resource.operation.call.params, _tags(tags_of(resource.operation))
        kind = RESOURCE_TYPES[resource.operation.call.api]
        if kind == "aws_security_group":
            pairs = [
                ("name", quoted(params["GroupName"])),
                ("description", quoted(params["Description"])),
                ("vpc_id", quoted(params["VpcId"])),
            ]
            yield from _block(kind, self._name(resource.position), pairs, *tags)
            return
        pairs = [
            ("name", quoted(params["PrefixListName"])),
            ("address_family", quoted(params["AddressFamily"])),
            ("max_entries", str(params["MaxEntries"])),
        ]
        entries = [
            Section("entry", [("cidr", quoted(entry["Cidr"])), ("description", quoted(entry.get("Description", "")))])
            for entry in params["Entries"]
        ]
        yield from _block(kind, self._name(resource.position), pairs, *entries, *tags)

    def _rule(self, rule: Rule) -> Iterator[str]:
        way = "egress" if rule.egress else "ingress"
        peer = f"{rule.owner}/{rule.peer}" if rule.owner else rule.peer
        pairs = [("security_group_id", self._value(rule.holder)), ("ip_protocol", quoted(rule.protocol))]
        if rule.span is not None:
            pairs += [("from_port", str(rule.span[0])), ("to_port", str(rule.span[1]))]
        pairs.append((PEER_ARGUMENTS[rule.kind], self._value(peer)))
        if rule.description:
            pairs.append(("description", quoted(rule.description)))
        name = self._name(rule.position, rule.number)
        yield from _block(f"aws_vpc_security_group_{way}_rule", name, pairs, *_tags(tags_of(rule.operation)))

    def _entry(self, resource: Entry) -> Iterator[str]:
        yield from _block("aws_network_acl_rule", self._name(resource.position), _entry_pairs(resource))


def _entry_pairs(resource: Entry) -> list[tuple[str, str]]:
    params: Mapping[str, Any] = resource.operation.call.params
    pairs = [
        ("network_acl_id", quoted(params["NetworkAclId"])),
        ("rule_number", str(params["RuleNumber"])),
        ("egress", "true" if params["Egress"] else "false"),
        ("protocol", quoted(params["Protocol"])),
        ("rule_action", quoted(params["RuleAction"])),
    ]
    for key, argument in (("CidrBlock", "cidr_block"), ("Ipv6CidrBlock", "ipv6_cidr_block")):
        if key in params:
            pairs.append((argument, quoted(params[key])))
    for key, names in (
        ("PortRange", (("From", "from_port"), ("To", "to_port"))),
        ("IcmpTypeCode", (("Type", "icmp_type"), ("Code", "icmp_code"))),
    ):
        pairs += [(argument, str(params[key][part])) for part, argument in names if key in params]
    return pairs


def _tags(tags: Mapping[str, str]) -> list[Section]:
    return [Section("tags =", [(quoted(key), quoted(value)) for key, value in tags.items()])] if tags else []


def _block(kind: str, name: str, pairs: Pairs, *sections: Section) -> Iterator[str]:
    yield f'resource "{kind}" "{name}" {{\n'
    yield from _aligned(pairs, "  ")
    for section in sections:
        yield f"\n  {section.head} {{\n"
        yield from _aligned(section.pairs, "    ")
        yield "  }\n"
    yield "}\n"


def _aligned(pairs: Pairs, indent: str) -> Iterator[str]:
    width = max(len(key) for key, _ in pairs)
    for key, value in pairs:
        yield f"{indent}{key.ljust(width)} = {value}\n"
