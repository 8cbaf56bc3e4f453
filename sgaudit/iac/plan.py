"""
The JSON of `terraform show -json`: a plan or a state, as resources whose attributes know what is unknown.

In a plan the values that only the apply will tell are left out of `planned_values`; `after_unknown` says
which these are, and `configuration` which other things their expressions name (Terraform, JSON Output Format).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sgaudit.iac.values import UNKNOWN, ContentError, Raw, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STEP = re.compile(r"(?P<name>[^.\[\]]+)|\[(?P<index>\d+)\]|\[(?P<key>\"(?:[^\"\\]|\\.)*\")\]|\.")
HINT = "write it with `terraform show -json FILE > plan.json`"


@dataclass(frozen=True, slots=True)
class Resource:
    """One instance of a resource, as it will be."""

    address: str
    module: str
    """The address of the module instance; empty at the root."""
    type: str
    name: str
    index: int | str | None
    values: Raw
    unknown: Raw
    expressions: Raw | None
    """What the configuration says; None where there is none."""
    before: Raw | None = None
    """What it was, if the plan changes it or takes it away."""
    created: bool = False
    managed: bool = True
    changed: bool = False

    @property
    def block(self) -> Block:
        """Its attributes."""
        return Block(self, self.values, self.unknown, self.expressions or {})

    @property
    def former(self) -> Block | None:
        """What its attributes were, if the plan changes or removes it."""
        return Block(self, self.before, {}, {}) if self.before is not None else None

    @property
    def config_name(self) -> tuple[str, str, str]:
        """Module path without instance keys, type and name."""
        return config_path(self.module), self.type, self.name


@dataclass(frozen=True, slots=True)
class Block:
    """A resource's attributes, or those of a block within it."""

    resource: Resource
    values: Raw
    unknown: Any
    expressions: Any
    shared: bool = False
    """Whether the expressions are those of several blocks together."""

    def get(self, name: str) -> Any:
        """Give a value; Unknown when only the apply will tell it."""
        return UNKNOWN if self.is_unknown(name) else self.values.get(name)

    def is_unknown(self, name: str) -> bool:
        """Whether an attribute is, in whole or in part, known after apply."""
        return partly(self.unknown.get(name) if isinstance(self.unknown, dict) else self.unknown)

    def left_open(self, name: str) -> bool:
        """Whether the configuration leaves an attribute to the provider, and so its value to the apply."""
        mark = self.unknown.get(name) if isinstance(self.unknown, dict) else self.unknown
        return mark is True and not self.configured(name)

    def text(self, name: str) -> str:
        """Give text; empty when it is not known or not there."""
        value = self.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int | Unknown | None:
        """Give a whole number, which some attributes hold as text."""
        value = self.get(name)
        if isinstance(value, str) and re.fullmatch(r"-?\d{1,9}", value):
            return int(value)
        if value is None or isinstance(value, Unknown) or (type(value) is int):
            return value
        if isinstance(value, float) and value.is_integer():
            return int(value)
        raise ContentError(self.resource.address, f"{name} is not a whole number")

    def texts(self, name: str) -> tuple[str, ...] | Unknown:
        """Give a list of texts; absent is empty."""
        value = self.get(name)
        if isinstance(value, Unknown):
            return value
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ContentError(self.resource.address, f"{name} is not a list of texts")
        return tuple(value)

    def tags(self) -> dict[str, str]:
        """Give the tags, those of the provider included where the plan knows them."""
        found: dict[str, str] = {}
        for name in ("tags", "tags_all"):
            values = self.values.get(name)
            if isinstance(values, dict):
                found |= {key: value for key, value in values.items() if isinstance(value, str)}
        return found

    def configured(self, name: str) -> bool:
        """Whether the configuration gives the attribute; without a configuration, whether there is a value."""
        if self.resource.expressions is None:
            return self.values.get(name) not in (None, [], "")
        expression = self.expressions.get(name) if isinstance(self.expressions, dict) else None
        return expression not in (None, {}, {"constant_value": None})

    def blocks(self, name: str) -> list[Block] | Unknown:
        """Give the blocks of a name; Unknown when not even their number is known."""
        values = self.values.get(name)
        unknown = self.unknown.get(name) if isinstance(self.unknown, dict) else self.unknown
        if unknown is True:
            return UNKNOWN
        if values is None:
            return []
        if isinstance(values, dict):
            values = [values]
        if not isinstance(values, list) or not all(isinstance(item, dict) for item in values):
            # A block that is unknown as a whole is a null in the list.
            if isinstance(values, list) and all(item is None or isinstance(item, dict) for item in values):
                return UNKNOWN
            raise ContentError(self.resource.address, f"{name} is not a list of blocks")
        expressions = self.expressions.get(name) if isinstance(self.expressions, dict) else None
        own = expressions if isinstance(expressions, list) and len(expressions) == len(values) == 1 else None
        merged = own[0] if own else merge(expressions)
        marks = unknown if isinstance(unknown, list) and len(unknown) == len(values) else [unknown or {}] * len(values)
        return [
            Block(self.resource, value, mark, merged, shared=len(values) > 1)
            for value, mark in zip(values, marks, strict=True)
        ]


def merge(expressions: Any) -> Any:
    """Join what several blocks name: which of them is which in the values can't be told, sets have no order."""
    if isinstance(expressions, dict):
        if "references" not in expressions:
            return expressions
        return _Everywhere(expressions)
    merged: dict[str, Any] = {}
    for one in expressions if isinstance(expressions, list) else ():
        for name, expression in one.items() if isinstance(one, dict) else ():
            references = expression.get("references") if isinstance(expression, dict) else None
            references = references if isinstance(references, list) else []
            merged.setdefault(name, {"references": []})["references"].extend(references)
    return merged


class _Everywhere(dict[str, Any]):
    """Stands for every attribute of a block whose configuration is written as one expression."""

    def get(self, _key: str, _default: Any = None) -> Any:
        return {"references": self["references"]}


def partly(mark: Any) -> bool:
    """Whether anything below a mark of `after_unknown` is unknown."""
    if isinstance(mark, dict):
        return any(map(partly, mark.values()))
    if isinstance(mark, list):
        return any(map(partly, mark))
    return mark is True


def steps(address: str) -> Iterator[str | int]:
    """Take an address apart into names and keys; keys that are text keep their quotes."""
    position = 0
    while position < len(address):
        match = STEP.match(address, position)
        if match is None:
            return
        position = match.end()
        if match["index"] is not None:
            yield int(match["index"])
        elif match["key"] or match["name"]:
            yield match["key"] or match["name"]


def config_path(module: str) -> str:
    """Leave the keys of the instances out of a module's address."""
    return ".".join(str(step) for step in steps(module) if isinstance(step, str) and not step.startswith('"'))


@dataclass(slots=True)
class Plan:
    """A plan or state."""

    resources: dict[str, Resource] = field(default_factory=dict)
    removed: list[Resource] = field(default_factory=list)
    configuration: Raw = field(default_factory=dict)
    is_state: bool = False
    modules: dict[str, Raw] = field(default_factory=dict)
    """The configuration of a module by its path without instance keys."""

    def of_type(self, *types: str) -> list[Resource]:
        """Give the managed resources of some types."""
        return [one for one in self.resources.values() if one.managed and one.type in types]

    def family(self, module: str, type_: str, name: str) -> list[Resource]:
        """Give the instances of one resource of one module instance."""
        return [one for one in self.resources.values() if (one.module, one.type, one.name) == (module, type_, name)]


def read(content: Any) -> Plan:
    """
    Read it.

    Raises:
        ContentError: it is no plan or state, or of a version that is not known.
    """
    if not isinstance(content, dict):
        raise ContentError("", "not a Terraform plan or state: expected an object", HINT)
    version = content.get("format_version")
    if not isinstance(version, str) or not re.fullmatch(r"\d+\.\d+", version):
        raise ContentError("format_version", "missing: not the JSON of a Terraform plan or state", HINT)
    if version.split(".")[0] not in ("0", "1"):
        raise ContentError("format_version", f"{version} is newer than what sgaudit knows (1.x)", "update sgaudit")
    if content.get("errored") is True:
        raise ContentError("errored", "the plan failed: what is in it is not all", "make the plan again")
    plan = Plan(is_state="planned_values" not in content)
    plan.configuration = _object(content, "configuration")
    root = _object(plan.configuration, "root_module")
    _modules(root, "", plan.modules)
    values = _object(content, "values" if plan.is_state else "planned_values")
    if "root_module" not in values:
        if plan.is_state and "values" not in content and set(content) <= {"format_version", "terraform_version"}:
            return plan
        name = "values" if plan.is_state else "planned_values"
        raise ContentError(f"{name}.root_module", "missing: not the JSON of a Terraform plan or state", HINT)
    changes = _changes(content)
    _collect(plan, _object(values, "root_module"), "", changes)
    prior = _object(_object(_object(content, "prior_state"), "values"), "root_module")
    _collect(plan, prior, "", {}, data_only=True)
    for address, change in changes.items():
        before = change.get("change", {}).get("before")
        if address not in plan.resources and isinstance(before, dict) and change.get("mode") != "data":
            module, type_, name = (str(change.get(key) or "") for key in ("module_address", "type", "name"))
            index = change.get("index")
            plan.removed.append(Resource(address, module, type_, name, index, {}, {}, {}, before=before))
    return plan


def _object(value: Mapping[str, Any], key: str) -> Raw:
    found = value.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ContentError(key, "expected an object", HINT)
    return found


def _objects(value: Mapping[str, Any], key: str) -> list[Raw]:
    found = value.get(key)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise ContentError(key, "expected a list of objects", HINT)
    return found


def _modules(module: Raw, path: str, into: dict[str, Raw]) -> None:
    into[path] = module
    for name, call in _object(module, "module_calls").items():
        if isinstance(call, dict) and isinstance(call.get("module"), dict):
            _modules(call["module"], f"{path}.module.{name}".lstrip("."), into)


def _changes(content: Raw) -> dict[str, Raw]:
    found: dict[str, Raw] = {}
    for item in _objects(content, "resource_changes"):
        if isinstance(item.get("address"), str) and "deposed" not in item and isinstance(item.get("change"), dict):
            found[item["address"]] = item
    return found


def _collect(plan: Plan, module: Raw, address: str, changes: Mapping[str, Raw], *, data_only: bool = False) -> None:
    expressions = _expressions(plan.modules.get(config_path(address), {}))
    for item in _objects(module, "resources"):
        managed = item.get("mode") != "data"
        texts = [item.get(key) for key in ("address", "type", "name")]
        if not all(isinstance(one, str) for one in texts):
            raise ContentError(address or "root_module", "a resource without address, type or name", HINT)
        place, type_, name = map(str, texts)
        if (data_only and managed) or place in plan.resources:
            continue
        change = _object(changes.get(place, {}), "change")
        actions = change.get("actions")
        actions = actions if isinstance(actions, list) else []
        unknown = change.get("after_unknown")
        before = change.get("before")
        index = item.get("index")
        plan.resources[place] = Resource(
            address=place,
            module=address,
            type=type_,
            name=name,
            index=index if isinstance(index, int | str) else None,
            values=_object(item, "values"),
            unknown=unknown if isinstance(unknown, dict) else {},
            expressions=expressions.get((type_, name), {}) if plan.configuration else None,
            before=before if isinstance(before, dict) and actions not in (["no-op"], ["read"]) else None,
            created="create" in actions,
            managed=managed,
            changed=bool(actions) and actions != ["no-op"],
        )
    for child in _objects(module, "child_modules"):
        _collect(plan, child, str(child.get("address") or ""), changes, data_only=data_only)


def _expressions(module: Raw) -> dict[tuple[str, str], Raw]:
    return {
        (str(item.get("type")), str(item.get("name"))): _object(item, "expressions")
        for item in _objects(module, "resources")
    }
