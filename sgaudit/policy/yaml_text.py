"""
YAML text to plain values, with the place of each.

The subset that a policy needs, read by the rules of YAML 1.2: `no` and `22:22` are text, `010` is text
too, because readers differ on it. Keys that stand twice, aliases and tags are mistakes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from sgaudit.policy.values import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

Path = tuple[str | int, ...]
DEEPEST = 20
INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)", re.ASCII)
PLAIN = re.compile(r"[ -~]{1,60}")
WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line and a column, both counted from 1."""

    line: int = 1
    column: int = 1


@dataclass(frozen=True, slots=True, order=True)
class Mistake:
    """Something wrong in a file: where, at which key, and what is allowed there."""

    place: Place
    key: str
    text: str


class YamlError(Exception):
    """The text is no YAML, or of a kind that policies don't use; nothing after it could be read."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(mistake.text)
        self.mistake = mistake


@dataclass(frozen=True, slots=True)
class Document:
    """What a file holds: dicts, lists, text, numbers, booleans and None."""

    value: Any
    keys: dict[Path, Place] = field(default_factory=dict)
    """Where the key of an entry stands."""
    values: dict[Path, Place] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    """Keys that stand twice."""

    def place(self, path: Path, *, key: bool = False) -> Place:
        """Tell where a value (or its key) stands; for one that is missing, where its surroundings do."""
        if key and path in self.keys:
            return self.keys[path]
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, Place())


def key_text(path: Path) -> str:
    """Write a path as `needs[0].ports`."""
    out = ""
    for step in path:
        if isinstance(step, int):
            out += f"[{step}]"
            continue
        word = step if PLAIN.fullmatch(step) else shown(step)
        out += f".{word}" if out else word
    return out


def read(text: str) -> Document:
    """
    Read one document.

    Raises:
        YamlError: it can't be read; the mistake names the first reason.
    """
    reader = _Reader(text)
    try:
        return reader.document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(mark.line + 1, mark.column + 1) if mark else Place()
        raise YamlError(Mistake(place, "", f"not valid YAML: {_reason(error, text, place)}")) from None
    except yaml.YAMLError as error:
        reason = str(error).splitlines()[0]
        raise YamlError(Mistake(Place(), "", f"not valid YAML: {reason}")) from None


def _reason(error: yaml.MarkedYAMLError, text: str, place: Place) -> str:
    lines = text.splitlines()
    line = lines[place.line - 1] if place.line <= len(lines) else ""
    if line[place.column - 1 : place.column] == "\t":
        return "a tab where YAML allows spaces only"
    reason = ", ".join(part for part in (error.context, error.problem) if part) or "unreadable"
    if "flow" in reason and "${" in line[: place.column + 1]:
        reason += " (within {} or [] a ${parameter} needs quotes)"
    return reason


class _Reader:
    """Build the document from the parser's events."""

    def __init__(self, text: str) -> None:
        self.events: Iterator[Any] = yaml.parse(text, Loader=LOADER)
        self.result = Document(None)

    def document(self) -> Document:
        next(self.events)
        first = next(self.events)
        if isinstance(first, yaml.StreamEndEvent):
            return self.result
        value = self.node(next(self.events), ())
        next(self.events)
        last = next(self.events)
        if not isinstance(last, yaml.StreamEndEvent):
            raise YamlError(Mistake(_place(last), "", "a second document begins here; a file holds one policy"))
        return Document(value, self.result.keys, self.result.values, self.result.mistakes)

    def node(self, event: Any, path: Path) -> Any:
        place = _place(event)
        self.result.values.setdefault(path, place)
        if isinstance(event, yaml.AliasEvent):
            raise YamlError(Mistake(place, key_text(path), f"the alias *{event.anchor} is not used in policies"))
        if event.tag and not (isinstance(event, yaml.ScalarEvent) and event.tag == "!"):
            raise YamlError(Mistake(place, key_text(path), f"the tag {event.tag} is not used in policies"))
        if len(path) > DEEPEST:
            raise YamlError(Mistake(place, "", "nested too deeply for a policy"))
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event.value) if event.implicit[0] else event.value
        if isinstance(event, yaml.SequenceStartEvent):
            return self.sequence(path)
        return self.mapping(path)

    def sequence(self, path: Path) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self.node(event, (*path, len(items))))
        return items

    def mapping(self, path: Path) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            place = _place(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise YamlError(Mistake(place, key_text(path), "a key is a word here, not a list or a mapping"))
            key, at = event.value, (*path, event.value)
            if at in self.result.keys:
                first = self.result.keys[at]
                text = f"stands twice; the first is in line {first.line}"
                self.result.mistakes.append(Mistake(place, key_text(at), text))
            self.result.keys.setdefault(at, place)
            value = self.node(next(self.events), at)
            entries.setdefault(key, value)
        return entries


def _place(event: Any) -> Place:
    return Place(event.start_mark.line + 1, event.start_mark.column + 1)


def _scalar(text: str) -> str | int | bool | None:
    if text in WORDS:
        return WORDS[text]
    if INTEGER.fullmatch(text) and len(text) <= 20:
        return int(text)
    return text
