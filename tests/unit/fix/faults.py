"""A store in memory, and an account and a store that fail at a chosen moment."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sgaudit.errors import ApplyError, CallError, Failure
from sgaudit.fix.store import Line
from tests.fake_ec2 import FakeEc2, refused

CHANGE_FAULTS = (
    "error",
    "denied",
    "throttled-once",
    "throttled-for-ever",
    "timeout-before",
    "timeout-after",
    "timeout-late",
    "timeouts-before",
    "timeouts-after",
    "crash-before",
    "crash-after",
    "interrupt-before",
    "interrupt-after",
)
READ_FAULTS = ("error", "throttled-once", "throttled-for-ever", "timeout-before", "crash-before", "interrupt-before")
APPEND_FAULTS = ("crash-before", "crash-torn", "crash-after", "disk-full")


class Crash(BaseException):
    """The end of the process: nothing that catches errors may catch it."""


def throttled() -> CallError:
    return CallError("slow down", code="RequestLimitExceeded", failure=Failure.THROTTLED)


def unanswered() -> CallError:
    return CallError("no answer", code="ReadTimeoutError", failure=Failure.UNANSWERED)


class MemoryStore:
    """Journals as bytes in memory, with lines that a crash can tear."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def append(self, run: str, line: Line) -> None:
        whole = self.files.get(run, b"")
        self.files[run] = whole[: whole.rfind(b"\n") + 1] + json.dumps(line).encode() + b"\n"

    def tear(self, run: str, line: Line) -> None:
        text = json.dumps(line).encode()
        self.files[run] = self.files.get(run, b"") + text[: len(text) // 2]

    def read(self, run: str) -> list[Line]:
        whole = self.files.get(run, b"")
        return [json.loads(text) for text in whole[: whole.rfind(b"\n") + 1].splitlines()]

    def name(self, run: str) -> str:
        return f"{run}.jsonl"

    def runs(self) -> list[str]:
        return sorted(self.files)

    @contextmanager
    def lock(self) -> Iterator[None]:
        yield


class Moment:
    """Counts what happens, and lets one thing go wrong."""

    def __init__(self, at: int = -1, fault: str = "") -> None:
        self.at = at
        self.fault = fault
        self.kinds: list[str] = []
        self._lasting = ""

    def now(self, kind: str) -> str:
        """Tell what is to go wrong with this event."""
        self.kinds.append(kind)
        if len(self.kinds) - 1 == self.at:
            if self.fault in ("throttled-for-ever", "timeouts-before", "timeouts-after"):
                self._lasting = kind
            return self.fault
        return self.fault if kind == self._lasting else ""


def before(fault: str) -> None:
    match fault:
        case "error":
            raise refused("InternalErrorOfTests")
        case "denied":
            raise refused("UnauthorizedOperation")
        case "throttled-once" | "throttled-for-ever":
            raise throttled()
        case "timeout-before" | "timeouts-before":
            raise unanswered()
        case "crash-before":
            raise Crash
        case "interrupt-before":
            raise KeyboardInterrupt


def after(fault: str) -> None:
    match fault:
        case "timeout-after" | "timeouts-after":
            raise unanswered()
        case "crash-after":
            raise Crash
        case "interrupt-after":
            raise KeyboardInterrupt


class FaultyEc2:
    """The account, with faults."""

    is_aws = True

    def __init__(self, ec2: FakeEc2, moment: Moment) -> None:
        self._ec2 = ec2
        self._moment = moment
        self._late: tuple[str, Mapping[str, Any]] | None = None

    def read(self, api: str, params: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        before(self._moment.now("read"))
        answer = self._ec2.read(api, params)
        if self._late is not None:
            self._ec2.change(*self._late)
            self._late = None
        return answer

    def change(self, api: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        fault = self._moment.now("change")
        if fault == "timeout-late":
            self._late = (api, params)
            raise unanswered()
        before(fault)
        answer = self._ec2.change(api, params)
        after(fault)
        return answer

    def ask(self, api: str, params: Mapping[str, Any]) -> str:
        return self._ec2.ask(api, params)


class FaultyStore:
    """The store, with faults."""

    def __init__(self, store: MemoryStore, moment: Moment) -> None:
        self._store = store
        self._moment = moment
        self.read = store.read
        self.runs: Callable[[], list[str]] = store.runs
        self.lock = store.lock

    def name(self, run: str) -> str:
        return self._store.name(run)

    def append(self, run: str, line: Line) -> None:
        fault = self._moment.now("append")
        if fault == "disk-full":
            raise ApplyError("the journal can't be written: No space left on device")
        if fault == "crash-torn":
            self._store.tear(run, line)
            raise Crash
        before(fault)
        self._store.append(run, line)
        after(fault)
