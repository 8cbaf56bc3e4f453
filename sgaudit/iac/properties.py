"""The properties of a template's resources, worked out and typed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sgaudit.iac.values import UNKNOWN, ContentError, Id, Ids, Raw, Unknown

if TYPE_CHECKING:
    from sgaudit.iac.intrinsics import Template
    from sgaudit.iac.stack import Stack

DIGITS = re.compile(r"-?\d{1,9}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Properties:
    """Some properties, of a resource or below one."""

    values: Raw
    place: str

    def get(self, name: str) -> Any:
        """Give a value; Unknown when it can't be told, in whole or in part."""
        value = self.values.get(name)
        return UNKNOWN if _partly(value) and not isinstance(value, Unknown) else value

    def text(self, name: str) -> str:
        """Give text; empty when it is not known or not there."""
        value = self.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return value if isinstance(value, str) else ""

    def flag(self, name: str) -> bool | Unknown:
        """Give true or false; absent is false."""
        value = self.get(name)
        if isinstance(value, Unknown):
            return value
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        if value is None or isinstance(value, bool):
            return bool(value)
        raise ContentError(self.place, f"{name} is not true or false")

    def number(self, name: str) -> int | Unknown | None:
        """Give a whole number, which templates may hold as text."""
        value = self.get(name)
        if isinstance(value, str) and DIGITS.fullmatch(value):
            return int(value)
        if value is None or isinstance(value, Unknown) or type(value) is int:
            return value
        raise ContentError(self.place, f"{name} is not a whole number")

    def one(self, name: str) -> Id:
        """Give an id; empty when there is none."""
        value = self.get(name)
        if value is None:
            return ""
        if isinstance(value, str | Unknown):
            return value
        raise ContentError(self.place, f"{name} is not an id")

    def many(self, name: str) -> Ids:
        """Give a list of ids; absent is empty."""
        value = self.get(name)
        if isinstance(value, Unknown):
            return value
        if isinstance(value, str):
            return (value,)
        if value is None or (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            return tuple(value or ())
        raise ContentError(self.place, f"{name} is not a list of ids")

    def items(self, name: str) -> list[Properties] | Unknown:
        """Give the mappings of a list; Unknown when not even their number is known."""
        value = self.values.get(name)
        if value is None:
            return []
        if isinstance(value, dict):
            value = [value]
        if isinstance(value, Unknown) or (isinstance(value, list) and any(isinstance(one, Unknown) for one in value)):
            return UNKNOWN
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise ContentError(self.place, f"{name} is not a list of mappings")
        return [Properties(item, f"{self.place}.{name}[{index}]") for index, item in enumerate(value)]

    def inner(self, name: str) -> Properties | Unknown:
        """Give the mapping below a name; absent is an empty one."""
        value = self.values.get(name)
        if isinstance(value, Unknown):
            return value
        if not isinstance(value or {}, dict):
            raise ContentError(self.place, f"{name} is not a mapping")
        return Properties(value or {}, f"{self.place}.{name}")

    def tags(self, *, launched: bool = False) -> dict[str, str]:
        """Give the tags that are known; of a group, those that its instances get."""
        found: dict[str, str] = {}
        items = self.items("Tags")
        for item in () if isinstance(items, Unknown) else items:
            key, value = item.text("Key"), item.get("Value")
            if key and not isinstance(value, Unknown) and (not launched or item.flag("PropagateAtLaunch") is True):
                found[key] = str(value).lower() if isinstance(value, bool) else str(value if value is not None else "")
        return found


def _partly(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_partly, value.values()))
    if isinstance(value, list):
        return any(map(_partly, value))
    return isinstance(value, Unknown)


@dataclass(frozen=True, slots=True)
class One:
    """A resource of a template."""

    name: str
    type: str
    properties: Properties
    sure: bool
    """Whether its condition holds; else whether it will be made can't be told."""

    @property
    def place(self) -> str:
        """Where it stands in the template."""
        return f"Resources.{self.name}"


@dataclass(frozen=True, slots=True)
class Made:
    """The resources that the template makes, or may make."""

    template: Template
    stack: Stack

    def of_type(self, *types: str) -> list[One]:
        """Give the resources of some types, those left out whose condition does not hold."""
        found: list[One] = []
        for name, resource in self.template.resources.items():
            if resource["Type"] not in types:
                continue
            made = self.template.made(name)
            if made is False:
                continue
            if isinstance(made, Unknown):
                self.stack.note(f"Resources.{name}", "whether it is made depends on what is not known")
            value = self.template.value(resource.get("Properties") or {})
            if not isinstance(value, dict):
                self.stack.note(f"Resources.{name}", "its properties are not known")
                value, made = {}, False
            found.append(One(name, resource["Type"], Properties(value, f"Resources.{name}"), made is True))
        return found

    def sure(self, *types: str) -> list[One]:
        """Give the resources of some types that are made for sure: what else there may be is unknown."""
        return [one for one in self.of_type(*types) if one.sure]
