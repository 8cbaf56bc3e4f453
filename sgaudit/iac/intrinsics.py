"""The functions of CloudFormation, worked out as far as the template and the parameters tell."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from sgaudit.iac.values import UNKNOWN, ContentError, Raw, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NOTHING = object()
"""`AWS::NoValue`: as if the property were not there."""
IN_SUB = re.compile(r"\$\{(!?)([A-Za-z0-9:._]+)\}")
GROUP, SUBNET, VPC = "AWS::EC2::SecurityGroup", "AWS::EC2::Subnet", "AWS::EC2::VPC"
IDS = {
    (GROUP, "GroupId"),
    (GROUP, "Id"),
    (SUBNET, "SubnetId"),
    (VPC, "VpcId"),
    ("AWS::EC2::NetworkAcl", "Id"),
    ("AWS::EC2::RouteTable", "RouteTableId"),
    ("AWS::EC2::NetworkInterface", "Id"),
    ("AWS::EC2::Instance", "InstanceId"),
    ("AWS::EC2::InternetGateway", "InternetGatewayId"),
    ("AWS::EC2::PrefixList", "PrefixListId"),
    ("AWS::EC2::VPCPeeringConnection", "Id"),
    ("AWS::EC2::LaunchTemplate", "LaunchTemplateId"),
}
"""Attributes that are the id which `Ref` gives as well."""
MADE = {(VPC, "DefaultSecurityGroup"), (VPC, "DefaultNetworkAcl")}
PROPERTIES = {
    (VPC, "CidrBlock"): "CidrBlock",
    (SUBNET, "CidrBlock"): "CidrBlock",
    (SUBNET, "VpcId"): "VpcId",
    (SUBNET, "AvailabilityZone"): "AvailabilityZone",
    (GROUP, "VpcId"): "VpcId",
    ("AWS::EC2::Instance", "PrivateIp"): "PrivateIpAddress",
    ("AWS::EC2::NetworkInterface", "PrimaryPrivateIpAddress"): "PrivateIpAddress",
}
"""Attributes that are a property of the same resource."""
DEEPEST = 120
MOST_BLOCKS = 256
"""Parts that `Fn::Cidr` makes (CloudFormation, Fn::Cidr)."""
LONGEST = 10_000
"""Letters of a text that a function makes; what grows beyond is no id and no address."""


@dataclass(slots=True)
class Template:
    """A template whose functions can be worked out."""

    resources: dict[str, Raw]
    parameters: dict[str, Any]
    """By name: a value, or Unknown."""
    mappings: Raw
    conditions: Raw
    _known: dict[str, bool | Unknown] = field(default_factory=dict)
    _attributes: dict[tuple[str, str], Any] = field(default_factory=dict)
    _depth: int = 0

    def condition(self, name: str) -> bool | Unknown:
        """Tell whether a condition holds."""
        if name not in self._known:
            if name not in self.conditions:
                raise ContentError(f"Conditions.{name}", "there is no such condition")
            # A condition that needs itself is never known.
            self._known[name] = UNKNOWN
            self._known[name] = _truth(self.value(self.conditions[name]))
        return self._known[name]

    def made(self, name: str) -> bool | Unknown:
        """Tell whether a resource will be there."""
        condition = self.resources[name].get("Condition")
        if condition is None:
            return True
        if not isinstance(condition, str):
            raise ContentError(f"Resources.{name}.Condition", "expected the name of a condition")
        return self.condition(condition)

    def value(self, value: Any) -> Any:
        """Work a value out; what can't be is Unknown."""
        self._depth += 1
        try:
            if self._depth > DEEPEST:
                return UNKNOWN
            return self._value(value)
        finally:
            self._depth -= 1

    def _value(self, value: Any) -> Any:
        if isinstance(value, list):
            items = [self.value(item) for item in value]
            return [item for item in items if item is not NOTHING]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((name, argument),) = value.items()
            if name == "Ref":
                return self._ref(argument)
            if name == "Condition" and isinstance(argument, str):
                return self.condition(argument)
            if name.startswith("Fn::"):
                function = FUNCTIONS.get(name)
                return function(self, argument) if function else UNKNOWN
        entries = {key: self.value(item) for key, item in value.items()}
        return {key: item for key, item in entries.items() if item is not NOTHING}

    def _ref(self, name: Any) -> Any:
        if name == "AWS::NoValue":
            return NOTHING
        if not isinstance(name, str):
            return UNKNOWN
        if name in self.parameters:
            return self.parameters[name]
        if name in self.resources:
            return name if self.made(name) is True else Unknown((name,))
        if name.startswith("AWS::"):
            return UNKNOWN
        raise ContentError(f"Ref {name}", "there is no such resource or parameter")

    def attribute(self, argument: Any) -> Any:
        """Work `Fn::GetAtt` out."""
        if isinstance(argument, str):
            argument = argument.split(".", 1)
        if not (isinstance(argument, list) and len(argument) == 2 and all(isinstance(one, str) for one in argument)):
            return UNKNOWN
        name, attribute = argument
        resource = self.resources.get(name)
        if resource is None:
            raise ContentError(f"Fn::GetAtt {name}", "there is no such resource")
        key = (str(resource.get("Type")), attribute)
        if key in IDS:
            return self._ref(name)
        if key in MADE:
            return f"{name}.{attribute}"
        if key not in PROPERTIES or not isinstance(resource.get("Properties"), dict):
            return UNKNOWN
        if (name, attribute) not in self._attributes:
            # An attribute that needs itself is never known.
            self._attributes[name, attribute] = UNKNOWN
            value = self.value(resource["Properties"].get(PROPERTIES[key], UNKNOWN))
            self._attributes[name, attribute] = value
        return self._attributes[name, attribute]

    def sub(self, argument: Any) -> Any:
        """Work `Fn::Sub` out."""
        names: Mapping[str, Any] = {}
        if isinstance(argument, list) and len(argument) == 2 and isinstance(argument[1], dict):
            argument, names = argument[0], argument[1]
        if not isinstance(argument, str):
            return UNKNOWN
        out, position = "", 0
        for match in IN_SUB.finditer(argument):
            out += argument[position : match.start()]
            position = match.end()
            literal, name = match.groups()
            if literal:
                out += f"${{{name}}}"
                continue
            if name in names:
                value = self.value(names[name])
            else:
                value = self.attribute(name) if "." in name else self._ref(name)
            if isinstance(value, bool) or not isinstance(value, str | int):
                return UNKNOWN
            out += str(value)
            if len(out) > LONGEST:
                return UNKNOWN
        return out + argument[position:]

    def join(self, argument: Any) -> Any:
        """Work `Fn::Join` out."""
        pair = self._list(argument, 2)
        if pair is None or not isinstance(pair[0], str) or not isinstance(pair[1], list):
            return UNKNOWN
        if not all(isinstance(item, str | int) for item in pair[1]):
            return UNKNOWN
        out = pair[0].join(map(str, pair[1]))
        return out if len(out) <= LONGEST else UNKNOWN

    def split(self, argument: Any) -> Any:
        """Work `Fn::Split` out."""
        pair = self._list(argument, 2)
        if pair is None or not isinstance(pair[0], str) or not pair[0] or not isinstance(pair[1], str):
            return UNKNOWN
        return pair[1].split(pair[0])

    def select(self, argument: Any) -> Any:
        """Work `Fn::Select` out; with one item only, the index is its own."""
        if not isinstance(argument, list) or len(argument) != 2:
            return UNKNOWN
        index, items = self.value(argument[0]), self.value(argument[1])
        if isinstance(index, str) and index.isdecimal():
            index = int(index)
        if not isinstance(items, list) or type(index) is not int or not 0 <= index < len(items):
            return UNKNOWN
        return items[index]

    def blocks(self, argument: Any) -> Any:
        """Work `Fn::Cidr` out: the first of the equal parts of a block, with so many bits for hosts."""
        triple = self._list(argument, 3)
        if triple is None or not isinstance(triple[0], str):
            return UNKNOWN
        try:
            block = ipaddress.ip_network(triple[0])
            count, bits = int(triple[1]), int(triple[2])
            parts = block.subnets(new_prefix=block.max_prefixlen - bits)
            return [str(part) for part in islice(parts, min(count, MOST_BLOCKS))]
        except (ValueError, TypeError):
            return UNKNOWN

    def find(self, argument: Any) -> Any:
        """Work `Fn::FindInMap` out."""
        path = self._list(argument, 3)
        found: Any = self.mappings
        for step in path or (None,):
            if not isinstance(step, str | int) or not isinstance(found, dict) or str(step) not in found:
                return UNKNOWN
            found = found[str(step)]
        return found

    def choose(self, argument: Any) -> Any:
        """Work `Fn::If` out."""
        if not isinstance(argument, list) or len(argument) != 3 or not isinstance(argument[0], str):
            return UNKNOWN
        holds = self.condition(argument[0])
        if isinstance(holds, Unknown):
            one, other = self.value(argument[1]), self.value(argument[2])
            return one if one is other or (one == other and one is not NOTHING) else UNKNOWN
        return self.value(argument[1 if holds else 2])

    def equals(self, argument: Any) -> Any:
        """Work `Fn::Equals` out."""
        pair = self._list(argument, 2)
        if pair is None or any(not isinstance(item, str | int) for item in pair):
            return UNKNOWN
        return _word(pair[0]) == _word(pair[1])

    def negate(self, argument: Any) -> Any:
        """Work `Fn::Not` out."""
        one = self._list(argument, 1)
        holds = _truth(one[0]) if one else UNKNOWN
        return holds if isinstance(holds, Unknown) else not holds

    def every(self, argument: Any) -> Any:
        """Work `Fn::And` out."""
        items = [_truth(item) for item in self._list(argument) or [UNKNOWN]]
        if False in items:
            return False
        return UNKNOWN if any(isinstance(item, Unknown) for item in items) else True

    def some(self, argument: Any) -> Any:
        """Work `Fn::Or` out."""
        items = [_truth(item) for item in self._list(argument) or [UNKNOWN]]
        if True in items:
            return True
        return UNKNOWN if any(isinstance(item, Unknown) for item in items) else False

    def _list(self, argument: Any, length: int = 0) -> list[Any] | None:
        value = self.value(argument)
        return value if isinstance(value, list) and length in (0, len(value)) else None


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _truth(value: Any) -> bool | Unknown:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return value if isinstance(value, bool) else UNKNOWN


FUNCTIONS: dict[str, Callable[[Template, Any], Any]] = {
    "Fn::And": Template.every,
    "Fn::Cidr": Template.blocks,
    "Fn::Equals": Template.equals,
    "Fn::FindInMap": Template.find,
    "Fn::GetAtt": Template.attribute,
    "Fn::If": Template.choose,
    "Fn::Join": Template.join,
    "Fn::Not": Template.negate,
    "Fn::Or": Template.some,
    "Fn::Select": Template.select,
    "Fn::Split": Template.split,
    "Fn::Sub": Template.sub,
}
