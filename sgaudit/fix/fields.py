"""JSON objects that anybody may have edited: values are taken by key, and each must be of its type."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

Kind = TypeVar("Kind", bound=StrEnum)
Value = TypeVar("Value")
DEEPEST = 30
LONGEST_QUOTE = 60


class FieldError(ValueError):
    """A value is missing or of another type; the message says where and what."""


class Fields:
    """
    One object.

    Raises:
        FieldError: it is no object. Each method raises it for its value.
    """

    def __init__(self, value: Any, where: str = "") -> None:
        if not isinstance(value, dict):
            raise FieldError(f"{where or 'it'} is {_quoted(value)}, not an object")
        self.raw: dict[str, Any] = value
        self._where = where

    def path(self, key: str) -> str:
        """Tell where a value is."""
        return f"{self._where}.{key}" if self._where else key

    def has(self, key: str) -> bool:
        """Tell whether there is a value."""
        return key in self.raw

    def any(self, key: str) -> Any:
        """Give a value of any type."""
        if key not in self.raw:
            raise FieldError(f"{self.path(key)} is missing")
        return self.raw[key]

    def text(self, key: str, *, filled: bool = False) -> str:
        """Give a text."""
        found = text_of(self.any(key), self.path(key))
        if filled and not found:
            raise FieldError(f"{self.path(key)} is empty")
        return found

    def count(self, key: str) -> int:
        """Give a whole number that is not negative."""
        found = number_of(self.any(key), self.path(key))
        if found < 0:
            raise FieldError(f"{self.path(key)} is {found}, below 0")
        return found

    def flag(self, key: str) -> bool:
        """Give true or false."""
        return flag_of(self.any(key), self.path(key))

    def choice(self, key: str, kind: type[Kind]) -> Kind:
        """Give one of some words."""
        found = self.text(key)
        if found not in list(kind):
            raise FieldError(f"{self.path(key)} is {_quoted(found)}, not one of {', '.join(kind)}")
        return kind(found)

    def texts(self, key: str) -> tuple[str, ...]:
        """Give a list of texts."""
        return self._each(key, text_of)

    def objects(self, key: str) -> tuple[Fields, ...]:
        """Give a list of objects."""
        return self._each(key, Fields)

    def object(self, key: str) -> Fields:
        """Give an object."""
        return Fields(self.any(key), self.path(key))

    def table(self, key: str, take: Callable[[Any, str], Value]) -> dict[str, Value]:
        """Give an object whose values are all of one type."""
        found = self.object(key)
        names = {name: text_of(name, f"a key of {self.path(key)}") for name in found.raw}
        return {name: take(found.raw[name], found.path(name)) for name in names}

    def plain(self, key: str) -> dict[str, Any]:
        """Give an object that may hold whatever can be written as JSON again."""
        found = self.object(key).raw
        _check_plain(found, self.path(key))
        return dict(found)

    def _each(self, key: str, take: Callable[[Any, str], Value]) -> tuple[Value, ...]:
        found = self.any(key)
        if not isinstance(found, list):
            raise FieldError(f"{self.path(key)} is {_quoted(found)}, not a list")
        return tuple(take(item, f"{self.path(key)}[{number}]") for number, item in enumerate(found))


def text_of(value: Any, where: str) -> str:
    """
    See that a value is a text that can be written.

    Raises:
        FieldError: it isn't.
    """
    if not isinstance(value, str):
        raise FieldError(f"{where} is {_quoted(value)}, not a text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise FieldError(f"{where} is {_quoted(value)}, which holds half a character") from error
    return value


def number_of(value: Any, where: str) -> int:
    """
    See that a value is a whole number.

    Raises:
        FieldError: it isn't.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise FieldError(f"{where} is {_quoted(value)}, not a whole number")
    return value


def flag_of(value: Any, where: str) -> bool:
    """
    See that a value is true or false.

    Raises:
        FieldError: it isn't.
    """
    if not isinstance(value, bool):
        raise FieldError(f"{where} is {_quoted(value)}, not true or false")
    return value


def _check_plain(value: Any, where: str, depth: int = 0) -> None:
    if depth > DEEPEST:
        raise FieldError(f"{where} is nested too deeply")
    if isinstance(value, str):
        text_of(value, where)
    elif isinstance(value, float) and not math.isfinite(value):
        raise FieldError(f"{where} is {value}, not a number")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            text_of(key, f"a key of {where}")
            _check_plain(item, f"{where}.{key}", depth + 1)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            _check_plain(item, f"{where}[{number}]", depth + 1)


def _quoted(value: Any) -> str:
    if isinstance(value, dict | list) and value:
        return "an object" if isinstance(value, dict) else "a list"
    written = json.dumps(value)
    return written if len(written) <= LONGEST_QUOTE else written[:LONGEST_QUOTE] + "..."
