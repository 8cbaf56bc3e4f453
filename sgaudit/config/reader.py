"""Take a YAML document apart, and collect everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from sgaudit.config.values import EMPTY
from sgaudit.policy.values import shown
from sgaudit.policy.yaml_text import Document, Mistake, Path, key_text

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")
Convert = Callable[[object], T]
"""Reads one value, or raises ValueError."""


class Reader:
    """One document; what is wrong ends up in `mistakes`, and its value as if it had been left out."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.mistakes: list[Mistake] = list(document.mistakes)

    def report(self, path: Path, text: str, *, key: bool = False) -> None:
        """Add a mistake."""
        self.mistakes.append(Mistake(self.document.place(path, key=key), key_text(path), text))

    def mapping(self, path: Path, value: object, allowed: Mapping[str, str], required: Iterable[str] = ()) -> Part:
        """Read a mapping that may have some keys; `allowed` says what each one is."""
        if not isinstance(value, dict):
            self.report(path, EMPTY if value is None else f"{shown(value)} where a mapping is expected")
            return Part(self, path, {})
        for key in value:
            if key not in allowed:
                self._unknown((*path, key), allowed)
        for key in required:
            if key not in value:
                self.report((*path, key), f"missing: {allowed[key]}")
        return Part(self, path, {key: item for key, item in value.items() if key in allowed})

    def _unknown(self, path: Path, allowed: Iterable[str]) -> None:
        # Brings pydantic along, which a file without mistakes need not wait for.
        from sgaudit.policy.mistakes import did_you_mean

        words = tuple(allowed)
        near = did_you_mean(str(path[-1]), words)
        self.report(path, f"unknown key{near}; allowed here: {', '.join(words)}", key=True)

    def convert(self, path: Path, value: object, convert: Convert[T]) -> T | None:
        """Read one value; None when it is wrong."""
        if value is None:
            self.report(path, EMPTY)
            return None
        try:
            return convert(value)
        except ValueError as error:
            self.report(path, str(error))
            return None


class Part:
    """A mapping in a document, with the keys that are known."""

    def __init__(self, reader: Reader, path: Path, value: dict[str, Any]) -> None:
        self.reader, self.path, self.value = reader, path, value

    def __contains__(self, key: str) -> bool:
        return key in self.value

    def one(self, key: str, convert: Convert[T]) -> T | None:
        """Read the value of a key; None when it is not there, or wrong."""
        return self.reader.convert((*self.path, key), self.value[key], convert) if key in self.value else None

    def many(self, key: str, convert: Convert[T]) -> tuple[T, ...]:
        """Read a value, or a list of them; those that are wrong are left out."""
        value, path = self.value.get(key), (*self.path, key)
        if key not in self.value:
            return ()
        if value == []:
            self.reader.report(path, EMPTY)
        if not isinstance(value, list):
            found = [self.reader.convert(path, value, convert)]
        else:
            found = [self.reader.convert((*path, number), item, convert) for number, item in enumerate(value)]
        return tuple(item for item in found if item is not None)

    def part(self, key: str, allowed: Mapping[str, str], required: Iterable[str] = ()) -> Part:
        """Read a mapping below a key."""
        return self.reader.mapping((*self.path, key), self.value.get(key, {}), allowed, required)

    def entries(self, key: str) -> Iterator[tuple[str, object, Path]]:
        """Go through a mapping whose keys are names."""
        value, path = self.value.get(key, {}), (*self.path, key)
        if not isinstance(value, dict):
            self.reader.report(path, EMPTY if value is None else f"{shown(value)} where a mapping is expected")
            return
        for name, item in value.items():
            yield name, item, (*path, name)

    def parts(self, key: str, allowed: Mapping[str, str], required: Iterable[str] = ()) -> Iterator[Part]:
        """Go through a list of mappings."""
        value, path = self.value.get(key, []), (*self.path, key)
        if not isinstance(value, list):
            self.reader.report(path, EMPTY if value is None else f"{shown(value)} where a list is expected")
            return
        for number, item in enumerate(value):
            yield self.reader.mapping((*path, number), item, allowed, required)
