"""
The text of a CloudFormation template, YAML or JSON, as plain values.

The short forms of functions (`!Ref x`) become the long ones (`{"Ref": "x"}`). Aliases, other tags and keys
that stand twice are refused, as CloudFormation does; so nothing in a file grows when it is read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from sgaudit.iac.values import ContentError, json_of

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 60
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)", re.ASCII)
WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **{word: True for name in ("true", "yes", "on") for word in (name, name.title(), name.upper())},
    **{word: False for name in ("false", "no", "off") for word in (name, name.title(), name.upper())},
}
"""The words of YAML 1.1, which CloudFormation speaks."""
FUNCTIONS = {
    f"!{name}": f"Fn::{name}"
    for name in (
        *("And", "Base64", "Cidr", "Equals", "FindInMap", "GetAZs", "GetAtt", "If", "ImportValue", "Join"),
        *("Length", "Not", "Or", "Select", "Split", "Sub", "ToJsonString", "Transform"),
    )
} | {"!Ref": "Ref", "!Condition": "Condition"}
PLAIN_TAGS = ("!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


def parse(text: str) -> Any:
    """
    Read a template.

    Raises:
        ContentError: it is neither YAML nor JSON, or has something in it that templates can't have.
    """
    if text.lstrip().startswith("{"):
        try:
            return json_of(text)
        except ContentError as error:
            reason = error
        try:
            return _Reader(text).document()
        except (ContentError, yaml.YAMLError):
            raise reason from None
    try:
        return _Reader(text).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ContentError(place, f"not valid YAML: {error.problem or error.context or 'unreadable'}") from None
    except yaml.YAMLError as error:
        raise ContentError("", f"not valid YAML: {str(error).splitlines()[0]}") from None


class _Reader:
    """Build the values from the parser's events."""

    def __init__(self, text: str) -> None:
        self.events: Iterator[Any] = yaml.parse(text, Loader=LOADER)

    def document(self) -> Any:
        next(self.events)
        first = next(self.events)
        if isinstance(first, yaml.StreamEndEvent):
            return None
        value = self.node(next(self.events), 0)
        next(self.events)
        last = next(self.events)
        if not isinstance(last, yaml.StreamEndEvent):
            raise ContentError(_place(last), "a second document begins here")
        return value

    def node(self, event: Any, depth: int) -> Any:
        if isinstance(event, yaml.AliasEvent):
            raise ContentError(_place(event), f"the alias *{event.anchor} is not allowed in templates")
        if depth > DEEPEST:
            raise ContentError(_place(event), "nested too deeply")
        value = self.plain(event, depth)
        tag = event.tag
        if not tag or tag in PLAIN_TAGS:
            return value
        if tag not in FUNCTIONS:
            raise ContentError(_place(event), f"the tag {tag} is not allowed in templates")
        if tag == "!GetAtt" and isinstance(value, str):
            name, _, attribute = value.partition(".")
            value = [name, attribute]
        return {FUNCTIONS[tag]: value}

    def plain(self, event: Any, depth: int) -> Any:
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event.value) if event.implicit[0] else event.value
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            while not isinstance(inner := next(self.events), yaml.SequenceEndEvent):
                items.append(self.node(inner, depth + 1))
            return items
        entries: dict[str, Any] = {}
        while not isinstance(key := next(self.events), yaml.MappingEndEvent):
            if not isinstance(key, yaml.ScalarEvent) or key.value == "<<":
                raise ContentError(_place(key), "a key is a word here")
            if key.value in entries:
                raise ContentError(_place(key), f"{key.value} stands twice")
            entries[key.value] = self.node(next(self.events), depth + 1)
        return entries


def _place(event: Any) -> str:
    return f"line {event.start_mark.line + 1}, column {event.start_mark.column + 1}"


def _scalar(text: str) -> str | int | bool | None:
    if text in WORDS:
        return WORDS[text]
    if INTEGER.fullmatch(text) and len(text) <= 20:
        return int(text)
    return text
