"""The plan itself, as `sgaudit apply` takes it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sgaudit.fix.plan import Plan


def render(plan: Plan) -> Iterator[str]:
    """Write the plan's JSON."""
    yield from json.JSONEncoder(indent=2).iterencode(plan.to_json())
    yield "\n"
