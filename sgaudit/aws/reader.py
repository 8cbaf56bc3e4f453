"""Pages of answers, several reads side by side, and every failure kept instead of raised."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Self

from sgaudit.aws.failures import THROTTLED, UNREACHABLE, code_of
from sgaudit.aws.operations import OPERATIONS, Operation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from sgaudit.aws.progress import Progress
    from sgaudit.aws.session import Connection

FILTER_VALUES = 200
"""EC2 takes that many filter values in one call (error FilterLimitExceeded)."""
THREADS = 4
"""Parsing holds the interpreter's lock: more threads hide no more latency, and crowd other callers out."""
TRIES_WITHOUT_ANY_ANSWER = 2
"""An endpoint that has never answered is given up after so many attempts: waiting won't make it right."""

Filter = dict[str, Any]
Request = dict[str, Any]


def where(name: str, values: Iterable[str]) -> Filter:
    """Write an EC2 filter."""
    return {"Name": name, "Values": list(values)}


def requests(name: str, values: Sequence[str], others: Sequence[Filter] = ()) -> list[Request]:
    """Spread the values of one filter over as few calls as EC2's limit allows; the others go with each."""
    room = max(1, FILTER_VALUES - sum(len(other["Values"]) for other in others))
    return [{"Filters": [where(name, values[start : start + room]), *others]} for start in range(0, len(values), room)]


@dataclass(frozen=True, slots=True)
class Answer:
    """What one operation gave, over all its calls and pages."""

    items: list[Any]
    error: Exception | None = None
    """The first failure; `items` is then a part, perhaps none, of what there is."""


@dataclass(frozen=True, slots=True)
class _Job:
    operation: Operation
    call: Request
    first_page: bool
    future: Future[Answer] = field(default_factory=Future)


class Pending:
    """An operation that is being read."""

    def __init__(self, reader: Reader, operation: Operation, parts: list[Future[Answer]]) -> None:
        self._reader = reader
        self._operation = operation
        self._parts = parts

    def answer(self) -> Answer:
        """Wait for all of it. A failure is noted among the reader's denied operations."""
        answers = [part.result() for part in self._parts]
        items = [item for answer in answers for item in answer.items]
        error = next((answer.error for answer in answers if answer.error), None)
        if error is not None:
            self._reader.denied[self._operation.name] = code_of(error)
        return Answer(items, error)


class Reader:
    """Reads from one connection. Use it as a context manager, from one thread."""

    def __init__(self, connection: Connection, progress: Progress, *, threads: int = THREADS) -> None:
        self.denied: dict[str, str] = {}
        """Operation to error code."""
        self._connection = connection
        self._progress = progress
        # An executor's threads are joined when the interpreter leaves. These are daemons, so that an
        # interrupted run does not sit out the waits of a throttled or unreachable endpoint.
        self._threads = [
            threading.Thread(target=self._work, name=f"sgaudit-{number}", daemon=True) for number in range(threads)
        ]
        self._handler_id = f"sgaudit-{id(self)}"
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._stop = threading.Event()
        self._answered = threading.Event()
        self._lock = threading.Lock()
        self._begun = 0
        self._finished = 0

    def __enter__(self) -> Self:
        self._events.register_first("needs-retry.ec2", self._on_attempt, unique_id=self._handler_id)
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._stop.set()
        for _ in self._threads:
            self._queue.put(None)
        interrupted = error is not None and not isinstance(error, Exception)
        if not interrupted:
            for thread in self._threads:
                thread.join()
            self._events.unregister("needs-retry.ec2", self._on_attempt, unique_id=self._handler_id)
        self._progress.close()

    @property
    def _events(self) -> Any:
        return self._connection.ec2.meta.events

    def start(self, name: str, calls: Iterable[Request], *, first_page: bool = False) -> Pending:
        """Begin to read an operation; every call is paged, and each runs beside the others."""
        operation = OPERATIONS[name]
        calls = list(calls)
        with self._lock:
            self._begun += len(calls)
        jobs = [_Job(operation, call, first_page) for call in calls]
        for job in jobs:
            self._queue.put(job)
        return Pending(self, operation, [job.future for job in jobs])

    def read(self, name: str, calls: Iterable[Request], *, first_page: bool = False) -> Answer:
        """Read an operation to its end, or to its first page that isn't empty."""
        return self.start(name, calls, first_page=first_page).answer()

    def accepts(self, name: str, parameter: str) -> bool:
        """Tell whether the installed botocore knows a parameter."""
        shape = self._connection.ec2.meta.service_model.operation_model(name).input_shape
        return parameter in shape.members

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            if self._stop.is_set():
                continue
            try:
                job.future.set_result(self._read(job.operation, job.call, job.first_page))
            except BaseException as error:  # noqa: BLE001 - whoever waits for the answer raises it
                job.future.set_exception(error)

    def _read(self, operation: Operation, call: Request, first_page: bool) -> Answer:
        items: list[Any] = []
        failure: Exception | None = None
        try:
            for page in self._pages(operation, call):
                items += page
                if self._stop.is_set() or (first_page and page):
                    break
        except self._connection.failures as error:
            failure = error
        with self._lock:
            self._finished += 1
        return Answer(items, failure)

    def _pages(self, operation: Operation, call: Request) -> Iterator[list[Any]]:
        paginator = self._connection.ec2.get_paginator(operation.method)
        read = 0
        pages = paginator.paginate(**call, PaginationConfig={"PageSize": operation.page_size})
        for number, page in enumerate(pages, start=1):
            items = page.get(operation.result) or []
            read += _size(operation, items)
            counted = f"{read:,} {operation.noun}" + (f", page {number}" if number > 1 else "")
            self._progress.step(counted, self._finished, self._begun)
            yield items

    def _on_attempt(
        self,
        *,
        response: tuple[Any, Mapping[str, Any]] | None = None,
        caught_exception: Exception | None = None,
        attempts: int = 1,
        **_: Any,
    ) -> None:
        """Watch every attempt (botocore's `needs-retry` event); leaves the decision to botocore's own handler."""
        if self._stop.is_set():
            raise caught_exception or InterruptedError("reading was given up")
        if response is not None:
            self._answered.set()
            if response[1].get("Error", {}).get("Code") in THROTTLED:
                self._progress.throttled()
        elif (
            caught_exception is not None
            and not self._answered.is_set()
            and attempts >= TRIES_WITHOUT_ANY_ANSWER
            and code_of(caught_exception) in UNREACHABLE
        ):
            raise caught_exception


def _size(operation: Operation, items: Sequence[Mapping[str, Any]]) -> int:
    if operation.name != "DescribeInstances":
        return len(items)
    return sum(len(item.get("Instances") or ()) for item in items)
