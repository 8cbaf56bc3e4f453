"""What pydantic found, in the words of somebody who writes a policy."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from sgaudit.errors import PolicyError
from sgaudit.policy.schema import PARTS, keys
from sgaudit.policy.values import shown
from sgaudit.policy.yaml_text import Document, Mistake, Path, key_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

HINT = "`sgaudit policies schema` prints all that may stand in a policy"
WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}


def did_you_mean(word: str, allowed: Iterable[str]) -> str:
    """Offer the nearest of the allowed words, in parentheses; nothing when none is near."""
    near = difflib.get_close_matches(word.lower(), list(allowed), n=1, cutoff=0.6)
    return f" (did you mean {near[0]}?)" if near and near[0] != word else ""


def refuse(file: str, found: Iterable[Mistake], *, hint: str = HINT) -> PolicyError:
    """Make one error of all mistakes in a file: a line each, in the order of the file."""
    lines = []
    for mistake in sorted(set(found)):
        key = f"{mistake.key}: " if mistake.key else ""
        lines.append(f"{file}:{mistake.place.line}:{mistake.place.column}: {key}{mistake.text}")
    return PolicyError("\n".join(lines), hint=hint)


def translate(error: ValidationError, document: Document) -> list[Mistake]:
    """Turn pydantic's report into mistakes with their places; values left empty are `check`'s to report."""
    details = error.errors(include_url=False)
    return [_mistake(item, document) for item in details if item["input"] is not None or item["type"] == "missing"]


def _mistake(detail: ErrorDetails, document: Document) -> Mistake:
    path = _path(detail["loc"], document)
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        allowed = keys(_part(path[:-1]))
        text = f"unknown key{did_you_mean(str(path[-1]), allowed)}; allowed here: {', '.join(allowed)}"
        return Mistake(document.place(path, key=True), key_text(path), text)
    if kind == "missing":
        part = _part(path[:-1])
        info = next(i for name, i in part.model_fields.items() if (i.alias or name) == path[-1])
        return Mistake(document.place(path), key_text(path), f"missing: {info.description}")
    if detail["loc"][-1] == "[key]":
        return Mistake(document.place(path, key=True), key_text(path), _name(path[-1]))
    return Mistake(document.place(path), key_text(path), _text(kind, detail["input"], context))


def _text(kind: str, value: Any, context: dict[str, Any]) -> str:
    if kind in WANTED:
        return f"{shown(value)} where {WANTED[kind]} is expected"
    if kind == "literal_error":
        allowed = [word.strip("'") for word in str(context["expected"]).replace(" or ", ", ").split(", ")]
        near = did_you_mean(value, allowed) if isinstance(value, str) else ""
        return f"{shown(value)} is not allowed{near}; allowed here: {', '.join(allowed)}"
    if kind == "string_pattern_mismatch":
        return _name(value)
    if kind in {"too_short", "string_too_short"}:
        return "is empty; leave the key out or give it a value"
    return str(context["error"]) if "error" in context else f"{shown(value)} is not allowed"


def _name(value: Any) -> str:
    return f"{shown(value)} is not a name: a lower-case letter, then lower-case letters, digits, - and _"


def _path(loc: tuple[int | str, ...], document: Document) -> Path:
    """Keep of pydantic's location what stands in the file: it also names branches of unions there."""
    path: Path = ()
    for step in loc:
        value = document.value
        for done in path:
            value = value[done]
        if isinstance(step, int):
            if isinstance(value, list):
                path = (*path, step)
        elif isinstance(value, dict) and step != "[key]":
            path = (*path, step)
            if step not in value:
                break
    return path


def _part(path: Path) -> Any:
    if path and path[-1] == "except":
        return PARTS["except"]
    return PARTS[str(path[0]) if path else ""]
