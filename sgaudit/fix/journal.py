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

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sgaudit.errors import UsageError
from sgaudit.fix.effects import check_request, references
from sgaudit.fix.effects_written import check_before, check_made
from sgaudit.fix.fields import FieldError, Fields
from sgaudit.fix.plan import Call, Operation, Plan, from_json
from sgaudit.fix.store import Store, damaged

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
        check = _Check(run)
        for number, line in enumerate(lines, start=1):
            try:
                check.line(line, first=number == 1)
            except FieldError as error:
                raise damaged(store, run, number, str(error)) from error
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


class _Check:
    """Sees line by line that a journal can be what this version has written, for somebody may have edited it."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._operations: dict[str, Operation] = {}
        self._created: set[str] = set()
        self._others: Mapping[str, Callable[[Fields], None]] = {
            "call": self._call,
            "done": self._end_of_call,
            "already": self._end_of_call,
            "failed": self._failed,
            "end": _state,
            "rollback": lambda _: None,
            "undo-call": self._undo_call,
            "undone": self._undone,
            "undo-failed": self._undo_failed,
            "rollback-end": _state,
        }

    def line(self, line: Line, *, first: bool) -> None:
        """
        Check a line.

        Raises:
            FieldError: it is damaged.
        """
        found = Fields(line)
        kind = found.text("kind")
        if first != (kind == "run"):
            raise FieldError("the journal does not begin with it" if kind == "run" else "the journal has no beginning")
        found.text("time")
        if kind == "run":
            self._header(found)
        elif kind in self._others:
            self._others[kind](found)
        else:
            raise FieldError(f"{kind!r} is not a kind of line")

    def _header(self, found: Fields) -> None:
        version = found.any("schema_version")
        if isinstance(version, bool) or version != SCHEMA_VERSION:
            raise FieldError(f"schema_version is not {SCHEMA_VERSION}: use the sgaudit that wrote it")
        for key in ("run", "account_id", "region", "who"):
            found.text(key)
        try:
            plan = from_json(found.any("plan"), "plan")
        except UsageError as error:
            raise FieldError(error.message) from error
        if {found.raw["run"], plan.run} != {self._run}:
            raise FieldError("it is the journal of another run")
        self._operations = {operation.id: operation for operation in plan.operations}
        if len(self._operations) != len(plan.operations):
            raise FieldError("plan.operations: an operation is there twice")
        for operation in plan.operations:
            _check_request(operation)

    def _operation(self, found: Fields) -> Operation:
        name = found.text("operation")
        if name not in self._operations:
            raise FieldError(f"operation {name!r} is not in the plan")
        return self._operations[name]

    def _call(self, found: Fields) -> None:
        operation = self._operation(found)
        if found.text("api") != operation.call.api:
            raise FieldError(f"api is not {operation.call.api}, that of {operation.id}")
        if absent := references(operation.call.params) - self._created:
            raise FieldError(f"{operation.id} is called before there is what {', '.join(sorted(absent))} creates")
        params = found.plain("params")
        _check_request(replace(operation, call=Call(operation.call.api, params)))
        check_before(operation.call.api, found.object("before"))

    def _end_of_call(self, found: Fields) -> None:
        operation = self._operation(found)
        if found.has("made"):
            check_made(operation.call.api, found.object("made"))
        if found.has("request_id"):
            found.text("request_id")
        if found.text("created"):
            self._created.add(operation.id)

    def _failed(self, found: Fields) -> None:
        self._end_of_call(found)
        found.text("code")
        found.text("message")
        if found.has("settled"):
            found.flag("settled")

    def _undo_call(self, found: Fields) -> None:
        self._operation(found)
        found.text("api", filled=True)
        found.plain("params")

    def _undone(self, found: Fields) -> None:
        self._operation(found)
        found.texts("left")

    def _undo_failed(self, found: Fields) -> None:
        self._operation(found)
        found.text("code")
        found.text("message")


def _state(found: Fields) -> None:
    found.choice("state", State)


def _check_request(operation: Operation) -> None:
    try:
        check_request(operation)
    except UsageError as error:
        raise FieldError(error.message) from error
