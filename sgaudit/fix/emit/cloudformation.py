"""A CloudFormation template of what the plan adds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sgaudit.errors import UsageError
from sgaudit.fix.emit.declared import Attachment, Created, Entry, Ref, Resource, Rule, resources, tags_of
from sgaudit.fix.emit.text import comment, escaped, heading, step
from sgaudit.fix.plan import Plan

NAME = "cloudformation"
MOST_RESOURCES = 500
"""The quota of resources in one template (CloudFormation quotas)."""
DYNAMIC = "{{resolve:"
"""Opens a dynamic reference: CloudFormation resolves it in every value, and nothing escapes it."""
EGRESS = "adding egress to a group that exists, CloudFormation takes away its egress to everywhere, if it has that"
"""Seen in aws-cloudformation/cfn-language-discussion#157; it is neither announced nor put back."""
NO_EGRESS = {
    "CidrIp": "127.0.0.1/32",
    "Description": "no egress: a group without any egress permission would get one to everywhere",
    "IpProtocol": "-1",
}
CONDITION = "IsPlannedPlace"
PEER_PROPERTIES = {
    "CidrIp": ("CidrIp", "CidrIp"),
    "CidrIpv6": ("CidrIpv6", "CidrIpv6"),
    "PrefixListId": ("SourcePrefixListId", "DestinationPrefixListId"),
    "GroupId": ("SourceSecurityGroupId", "DestinationSecurityGroupId"),
}
"""By kind of peer: the property for ingress and the one for egress."""
PLAIN = re.compile(r"AWS::[A-Za-z0-9:]+|IsPlannedPlace")
Stated = Created | Rule | Entry
"""What a template can say."""
ELSEWHERE = "use --emit aws-cli or --emit terraform, or let sgaudit fix do it"


def render(plan: Plan) -> Iterator[str]:
    """
    Write the template.

    Raises:
        UsageError: the plan holds what no template can say; the message names the operation.
    """
    if not plan.operations:
        raise UsageError(
            "--emit cloudformation: nothing is to be done, and a template can't be empty",
            hint="the cluster needs no change that a plan can make",
        )
    found = _checked(plan, resources(plan, NAME))
    yield from comment(
        heading(
            plan,
            "Adds what the cluster lacks, as a stack of its own:",
            f"  aws cloudformation deploy --template-file FILE --stack-name sgaudit-{plan.run}",
            "Deleting the stack undoes it. In another account or Region it makes nothing.",
            "Permissions and network ACL entries have no tags in CloudFormation; the stack tells what it made.",
        )
    )
    yield 'AWSTemplateFormatVersion: "2010-09-09"\n'
    yield from _yaml("Description", f"sgaudit {plan.tool_version}, run {plan.run}", 0)
    yield from _conditions(plan)
    yield "Resources:\n"
    position = 0
    for resource in found:
        if resource.position != position:
            position = resource.position
            yield from (f"  {line}" for line in comment(_remarks(resource)))
        yield from _yaml(_logical(resource), _resource(plan, resource), 1)


def _checked(plan: Plan, found: Sequence[Resource]) -> list[Stated]:
    """Refuse what CloudFormation can't say, or would take for something else."""
    stated: list[Stated] = []
    if len(found) > MOST_RESOURCES:
        raise UsageError(
            f"--emit cloudformation: {len(found)} resources, and a template may have {MOST_RESOURCES}", hint=ELSEWHERE
        )
    for resource in found:
        problem = ""
        if isinstance(resource, Attachment):
            raise _refusal(resource, "no CloudFormation resource puts a group on an interface that exists")
        if isinstance(resource, Rule) and resource.egress and not isinstance(resource.holder, Ref):
            problem = EGRESS
        elif isinstance(resource, Rule) and resource.egress and resource.owner:
            problem = "egress to a group of another account can't be said in CloudFormation"
        elif DYNAMIC in json.dumps([dict(resource.operation.call.params), plan.run]):
            problem = f"CloudFormation would resolve the text {DYNAMIC}...}}}} in it"
        if problem:
            raise _refusal(resource, problem)
        stated.append(resource)
    return stated


def _refusal(resource: Resource, problem: str) -> UsageError:
    return UsageError(f"--emit cloudformation can't write {resource.operation.id}: {problem}", hint=ELSEWHERE)


def _remarks(resource: Stated) -> Iterator[str]:
    operation = resource.operation
    yield step(operation)
    if operation.unsafe_because:
        yield f"not safe: {operation.unsafe_because}"
    if "CloudFormation" in operation.unsafe_because:
        params = operation.call.params
        yield f"{params.get('GroupId') or params.get('NetworkAclId')} belongs to a stack: put this into its template"


def _conditions(plan: Plan) -> Iterator[str]:
    wanted = {"AWS::AccountId": plan.account_id, "AWS::Region": plan.region}
    checks = [{"Fn::Equals": [{"Ref": name}, value]} for name, value in wanted.items() if value]
    if checks:
        yield from _yaml("Conditions", {CONDITION: checks[0] if len(checks) == 1 else {"Fn::And": checks}}, 0)


def _logical(resource: Stated) -> str:
    number = f"Permission{resource.number}" if isinstance(resource, Rule) else ""
    return f"Step{resource.position}{number}"


def _resource(plan: Plan, resource: Stated) -> dict[str, Any]:
    match resource:
        case Created():
            kind, properties = _created(resource)
        case Rule():
            kind, properties = _rule(resource)
        case Entry():
            kind, properties = "NetworkAclEntry", _entry(resource)
    condition = {"Condition": CONDITION} if plan.account_id or plan.region else {}
    return {"Type": f"AWS::EC2::{kind}", **condition, "Properties": properties}


def _created(resource: Created) -> tuple[str, dict[str, Any]]:
    params = resource.operation.call.params
    tags = [{"Key": key, "Value": value} for key, value in tags_of(resource.operation).items()]
    tagged = {"Tags": tags} if tags else {}
    if resource.operation.call.api == "CreateSecurityGroup":
        return "SecurityGroup", {
            "GroupName": params["GroupName"],
            "GroupDescription": params["Description"],
            "VpcId": params["VpcId"],
            "SecurityGroupEgress": [NO_EGRESS],
            **tagged,
        }
    keys = ("PrefixListName", "AddressFamily", "MaxEntries", "Entries")
    return "PrefixList", {**{key: params[key] for key in keys}, **tagged}


def _rule(rule: Rule) -> tuple[str, dict[str, Any]]:
    properties: dict[str, Any] = {"GroupId": _value(rule.holder), "IpProtocol": rule.protocol}
    if rule.span is not None:
        properties |= {"FromPort": rule.span[0], "ToPort": rule.span[1]}
    properties[PEER_PROPERTIES[rule.kind][rule.egress]] = _value(rule.peer)
    if rule.owner:
        properties["SourceSecurityGroupOwnerId"] = rule.owner
    if rule.description:
        properties["Description"] = rule.description
    return ("SecurityGroupEgress" if rule.egress else "SecurityGroupIngress"), properties


def _entry(resource: Entry) -> dict[str, Any]:
    params = dict(resource.operation.call.params)
    params["Protocol"] = int(params["Protocol"])
    if "IcmpTypeCode" in params:
        params["Icmp"] = params.pop("IcmpTypeCode")
    return params


def _value(value: str | Ref) -> Any:
    if isinstance(value, str):
        return value
    attribute = "GroupId" if value.api == "CreateSecurityGroup" else "PrefixListId"
    return {"Fn::GetAtt": [f"Step{value.position}", attribute]}


def _yaml(key: str, value: Any, depth: int) -> Iterator[str]:
    """Write one pair. Keys are ours; every text is in quotes, so that no reader takes it for anything else."""
    yield f"{'  ' * depth}{key}:{_rest(value, depth + 1)}"


def _rest(value: Any, depth: int) -> str:
    indent = "  " * depth
    if isinstance(value, Mapping):
        return "\n" + "".join("".join(_yaml(key, item, depth)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return "\n" + "".join(f"{indent}-{_item(item, depth)}" for item in value)
    return f" {_scalar(value)}\n"


def _item(value: Any, depth: int) -> str:
    if isinstance(value, Mapping):
        return " " + "".join("".join(_yaml(key, item, depth + 1)) for key, item in value.items()).lstrip(" ")
    return _rest(value, depth + 1)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = str(value)
    if PLAIN.fullmatch(text):
        return text
    return '"' + "".join(_character(char) for char in text) + '"'


def _character(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() else escaped(char)
