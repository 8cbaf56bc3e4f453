"""Single values of a configuration file: each function reads one, or says what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date

from sgaudit.errors import UsageError
from sgaudit.policy.values import port_set, shown
from sgaudit.selection import TagFilter

DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
EMPTY = "is empty; leave the key out or give it a value"


def text(value: object) -> str:
    """
    Read text that is not empty.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} where text is expected")  # noqa: TRY004 - the reader collects ValueError alone
    if not value.strip():
        raise ValueError(EMPTY)
    return value


def flag(value: object) -> bool:
    """
    Read true or false.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(value, bool):
        raise ValueError(f"{shown(value)} where true or false is expected")  # noqa: TRY004 - as above
    return value


def plain(value: object) -> str:
    """
    Read a port, a range or an address as text: what may stand after `--set NAME=`.

    Raises:
        ValueError: it is something else.
    """
    items = value if isinstance(value, list) and value else [value]
    if any(isinstance(item, bool) or not isinstance(item, int | str) or item == "" for item in items):
        raise ValueError(f"{shown(value)} is not a value; write a port, a range or an address, or a list of them")
    return ",".join(map(str, items))


def ports(value: object) -> str:
    """
    Read ports as `--client-ports` takes them.

    Raises:
        ValueError: it is something else.
    """
    written = plain(value)
    port_set(written)
    return written


def tag(value: object) -> str:
    """
    Read a filter as `--tag` takes it.

    Raises:
        ValueError: it is something else.
    """
    try:
        return str(TagFilter.parse(value if isinstance(value, str) else ""))
    except UsageError:
        raise ValueError(f"{shown(value)} is not KEY=VALUE, KEY=VALUE,VALUE or KEY") from None


def day(value: object) -> date:
    """
    Read a date.

    Raises:
        ValueError: it is something else, or no day of the calendar.
    """
    wrong = ValueError(f"{shown(value)} is not a day such as 2027-01-31")
    if not isinstance(value, str) or not DAY.fullmatch(value):
        raise wrong
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise wrong from None


def one_of(words: Iterable[str], *, what: str = "") -> Callable[[object], str]:
    """Make a function that reads one of some words; its error lists them unless they are called something."""
    allowed = tuple(words)

    def read(value: object) -> str:
        if isinstance(value, str) and value in allowed:
            return value
        from sgaudit.policy.mistakes import did_you_mean

        near = did_you_mean(value, allowed) if isinstance(value, str) else ""
        if what:
            raise ValueError(f"{shown(value)} is not {what}{near}")
        raise ValueError(f"{shown(value)} is not allowed{near}; allowed here: {', '.join(allowed)}")

    return read
