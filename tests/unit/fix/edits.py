"""JSON with one value changed, for files that anybody may have edited."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

Place = tuple[str | int, ...]
MISSING = object()


def places(value: Any, path: Place = ()) -> Iterator[Place]:
    """Give every place below the top."""
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def changed(value: Any, path: Place, wrong: Any) -> Any:
    """Give a copy with another value in a place, or none."""
    out = copy.deepcopy(value)
    parent = out
    for key in path[:-1]:
        parent = parent[key]
    if wrong is MISSING:
        del parent[path[-1]]
    else:
        parent[path[-1]] = wrong
    return out
