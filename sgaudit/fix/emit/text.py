"""What all written forms say of a plan, and other people's text made harmless for a comment."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sgaudit.fix.plan import Operation, Plan
from sgaudit.rules.words import listed


def escaped(char: str) -> str:
    """Write one character as an escape that JSON, HCL and YAML share where it is in the basic plane."""
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def one_line(text: str) -> str:
    """Keep text on one line and free of characters that are not seen, so that it can't end a comment."""
    return "".join(char if char.isprintable() else escaped(char) for char in text)


def heading(plan: Plan, *what: str) -> Iterator[str]:
    """Give the lines that open every form: what it does, for which cluster, and what is to be known before."""
    yield f"sgaudit {plan.tool_version}, run {plan.run}, planned at {plan.created}"
    yield from what
    yield ""
    yield f"account {plan.account_id or 'unknown'}, Region {plan.region or 'unknown'}"
    yield f"cluster: {_selected(plan.selection)}"
    yield f"pairs of members before: {_counts(plan.before)}"
    yield f"pairs of members after:  {_counts(plan.after)}"
    yield from _opens(plan)
    unsafe = [operation for operation in plan.operations if operation.unsafe_because]
    if unsafe:
        yield "not safe without a look:"
        for reason in dict.fromkeys(operation.unsafe_because for operation in unsafe):
            alike = [operation.id for operation in unsafe if operation.unsafe_because == reason]
            yield f"  {listed(alike, 8)}: {reason}"
    if plan.unfixable:
        yield "not cured by this:"
        for item in plan.unfixable:
            yield f"  {item.rule}: {item.title}: {item.reason}"


def _selected(selection: Mapping[str, Any]) -> str:
    """Say how the members were picked, leaving out what was not asked for."""
    parts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in selection.items() if value}
    return "; ".join(f"{key} {value}" for key, value in parts.items())


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "none"


def _opens(plan: Plan) -> Iterator[str]:
    if plan.extra:
        yield "opens beyond what is required:"
        for extra in plan.extra:
            pairs = f" ({extra.pairs} pairs)" if extra.pairs else ""
            yield f"  {extra.source} -> {extra.target}: {extra.protocol} {extra.ports}{pairs}"
    elif plan.operations:
        yield "opens nothing beyond what is required"
    if plan.operations and not plan.outside_known:
        yield "whether interfaces outside the cluster carry the same groups was not read"


def comment(lines: Iterable[str]) -> Iterator[str]:
    """Write lines as comments, `#` before each."""
    for line in lines:
        yield f"# {one_line(line)}".rstrip() + "\n"


def step(operation: Operation) -> str:
    """Say what an operation does."""
    return one_line(f"{operation.id}: {operation.reason}")
