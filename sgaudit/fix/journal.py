"""
What a run did, as its journal tells.

A journal is a list of JSON objects, one a line:

- `run`: the plan, whole, and when, where and by whom it is applied; the first line.
- `call`: written before a call, with its request and what of it was there `before`.
- `done`, `already`, `failed`: written after it, with what the run has `made`. A failure that is not `settled`
  may have made its change all the same.
- `end`: how the apply ended.
- `rollback`, `undo-call`, `undone`, `undo-failed`, `rollback-end`: the same for taking back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sgaudit.errors import UsageError
from sgaudit.fix.plan import Plan, from_json
from sgaudit.fix.store import Store

SCHEMA_VERSION = 1
Line = Mapping[str, Any]
Made = dict[str, Any]


class State(StrEnum):
    """Where a run stands."""

    APPLIED = "applied"
    PARTIAL = "partial"
    """It stopped at a failure, or a rollback left something."""
    INTERRUPTED = "interrupted"
    """It was stopped by a person or a crash, or still runs."""
    ROLLED_BACK = "rolled back"


def now() -> str:
    """Tell the time as journals write it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Journal:
    """The journal of one run. Lines are kept in the store before they count here."""

    def __init__(self, store: Store, run: str, lines: Iterable[Line]) -> None:
        self._store = store
        self.run = run
        self.header: Line = {}
        self.made: dict[str, Made] = {}
        """Operation id to all that the run has made for it."""
        self.created: dict[str, str] = {}
        """Operation id to the id of what stands for its creation, made by the run or found."""
        self.open: dict[str, Line] = {}
        """Operation id to the first call of which nobody knows how it ended."""
        self.finished: dict[str, str] = {}
        """Operation id to `done` or `already`."""
        self.undone: dict[str, tuple[str, ...]] = {}
        """Operation id to what its undoing left."""
        self._own_ids: set[str] = set()
        self.state = State.INTERRUPTED
        self.rolling_back = False
        """Somebody began to take the run back."""
        for line in lines:
            self._take(line)

    @classmethod
    def load(cls, store: Store, run: str) -> Journal:
        """
        Read the journal of a run.

        Raises:
            UsageError: there is none, or it is damaged.
        """
        lines = store.read(run)
        if not lines:
            raise UsageError(f"there is no run {run!r}", hint="list the runs with sgaudit runs")
        if lines[0]["kind"] != "run":
            raise UsageError(f"the journal of {run!r} has no beginning", hint="restore the file, or undo by hand")
        if lines[0].get("schema_version") != SCHEMA_VERSION:
            raise UsageError(
                f"the journal of {run!r} is of another schema version", hint="use the sgaudit that wrote it"
            )
        return cls(store, run, lines)

    @classmethod
    def begin(cls, store: Store, plan: Plan, who: str) -> Journal:
        """Begin the journal of a plan."""
        journal = cls(store, plan.run, ())
        header = {
            "schema_version": SCHEMA_VERSION,
            "run": plan.run,
            "account_id": plan.account_id,
            "region": plan.region,
            "who": who,
            "plan": plan.to_json(),
        }
        journal.add("run", **header)
        return journal

    @property
    def plan(self) -> Plan:
        """
        The plan that the run applies.

        Raises:
            UsageError: it can't be read.
        """
        return from_json(self.header["plan"], f"run {self.run}")

    @property
    def own_ids(self) -> frozenset[str]:
        """The ids of all permissions that the run ever made."""
        return frozenset(self._own_ids)

    def add(self, kind: str, **fields: Any) -> None:
        """
        Keep a line, durably.

        Raises:
            ApplyError: it could not be kept.
        """
        line = {"kind": kind, "time": now(), **fields}
        self._store.append(self.run, line)
        self._take(line)

    def _take(self, line: Line) -> None:
        operation = str(line.get("operation", ""))
        match line["kind"]:
            case "run":
                self.header = line
            case "call":
                self.open.setdefault(operation, line)
                self.state = State.INTERRUPTED
            case "done" | "already" | "failed":
                self._close(operation, line)
            case "end":
                self.state = State(line["state"])
            case "rollback":
                self.rolling_back = True
                self.state = State.INTERRUPTED
            case "undone":
                self.undone[operation] = tuple(line.get("left") or ())
            case "rollback-end":
                self.state = State(line["state"])

    def _close(self, operation: str, line: Line) -> None:
        if line.get("settled", True):
            self.open.pop(operation, None)
        if line["kind"] != "failed":
            self.finished[operation] = str(line["kind"])
        made = dict(line.get("made") or {})
        self._own_ids.update(made.get("rules", {}).values())
        if made:
            self.made[operation] = merged(self.made.get(operation, {}), made)
        if line.get("created"):
            self.created[operation] = str(line["created"])


def merged(old: Made, new: Made) -> Made:
    """Join what two calls of one operation have made; what was there before the first stays that."""
    joined = {**old, **new}
    for name in ("rules", "revoked"):
        if name in old and name in new:
            joined[name] = {**old[name], **new[name]}
    if "previous" in old:
        joined["previous"] = old["previous"]
    return joined
