"""A CloudFormation template as a stack."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from sgaudit.iac import cloudformation_instances, cloudformation_network
from sgaudit.iac.document import finish
from sgaudit.iac.intrinsics import Template
from sgaudit.iac.properties import Made
from sgaudit.iac.stack import Stack
from sgaudit.iac.template import parse
from sgaudit.iac.values import UNKNOWN, ContentError, Raw, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

LAUNCHERS = (
    "AWS::EC2::SpotFleet",
    "AWS::EC2::EC2Fleet",
    "AWS::EKS::Nodegroup",
    "AWS::EMR::Cluster",
    "AWS::Batch::ComputeEnvironment",
    "AWS::CloudFormation::Stack",
    "AWS::CloudFormation::Macro",
)
"""Resources that make instances, or their network, in a way that is not read."""
HINT = "templates have a mapping Resources with a Type for each"


def reading(text: str, file: str, parameters: Mapping[str, str]) -> Reading:
    """
    Turn a template into a snapshot document.

    Args:
        text: YAML or JSON.
        file: its name, for notes.
        parameters: what is given for the template's parameters.

    Raises:
        ContentError: it is no template, or something in it is wrong.
    """
    content = parse(text)
    if not isinstance(content, dict):
        raise ContentError("", "not a template: expected a mapping", HINT)
    resources = _section(content, "Resources")
    if not resources:
        raise ContentError("Resources", "missing: not a template", HINT)
    for name, item in resources.items():
        if not isinstance(item, dict) or not isinstance(item.get("Type"), str):
            raise ContentError(f"Resources.{name}", "expected a mapping with a Type", HINT)
        if not isinstance(item.get("Properties") or {}, dict):
            raise ContentError(f"Resources.{name}.Properties", "expected a mapping", HINT)
    template = Template(
        resources,
        _parameters(_section(content, "Parameters"), parameters),
        _section(content, "Mappings"),
        _section(content, "Conditions"),
    )
    stack = Stack(file)
    if "Transform" in content:
        stack.note(file, "it is transformed before use: what a macro adds or changes is not seen")
    made = Made(template, stack)
    cloudformation_network.add(made)
    cloudformation_instances.add(made)
    for one in made.of_type(*LAUNCHERS):
        stack.note(one.place, f"{one.type} is not read: what it makes is unknown")
    return finish(stack)


def _section(content: Raw, name: str) -> Raw:
    found = content.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ContentError(name, "expected a mapping", HINT)
    return found


def _parameters(declared: Raw, given: Mapping[str, str]) -> dict[str, Any]:
    for name in given:
        if name not in declared:
            close = get_close_matches(name, declared, 1)
            hint = f"did you mean {close[0]}?" if close else "its parameters are under Parameters"
            raise ContentError("", f"--parameter {name}: the template has no such parameter", hint)
    found: dict[str, Any] = {}
    for name, item in declared.items():
        if not isinstance(item, dict):
            raise ContentError(f"Parameters.{name}", "expected a mapping", HINT)
        kind = str(item.get("Type", "String"))
        value: Any = given.get(name, item.get("Default"))
        if value is None or kind.startswith("AWS::SSM::"):
            # The value of an SSM parameter is not in the template, only its name.
            found[name] = UNKNOWN
        elif kind == "CommaDelimitedList" or kind.startswith("List<"):
            found[name] = [part.strip() for part in str(value).split(",")]
        else:
            found[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return found
