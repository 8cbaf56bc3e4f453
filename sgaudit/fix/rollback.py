"""Taking back what a run has made: in reverse, by the ids that its journal tells, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sgaudit.errors import CallError, Failure
from sgaudit.fix.apply import INTERRUPTED, ON_REQUEST, request
from sgaudit.fix.calls import TRIES, Calls, Sleep, wait_before
from sgaudit.fix.changer import Changer
from sgaudit.fix.effect import Undo
from sgaudit.fix.effects import effect_of
from sgaudit.fix.journal import Journal, Made, State
from sgaudit.fix.plan import Call, Operation
from sgaudit.fix.store import Store

STILL_IN_USE = frozenset({"DependencyViolation", "IncorrectState", "ResourceInUse"})
"""What EC2 says of something whose users were taken from it a moment ago."""
GONE = frozenset(
    {
        "InvalidGroup.NotFound",
        "InvalidNetworkAclEntry.NotFound",
        "InvalidPermission.Duplicate",
        "InvalidPermission.NotFound",
        "InvalidPrefixListID.NotFound",
        "InvalidSecurityGroupRuleId.NotFound",
        "NetworkAclEntryAlreadyExists",
    }
)
"""What EC2 says when somebody was faster; reading again tells what is left to do."""


@dataclass(frozen=True, slots=True)
class Step:
    """What takes back one operation."""

    operation: str
    call: Call | None
    """None: there is nothing to do any more."""
    left: tuple[str, ...]
    """What stays, and why."""


@dataclass(frozen=True, slots=True)
class RolledBack:
    """How far a run was taken back."""

    undone: tuple[str, ...]
    """Operations, in the order in which they were undone."""
    left: tuple[tuple[str, str], ...]
    """Operation and what stays of it, and why."""
    error: str = ""
    """Why it stopped before its end; empty when it did not."""
    interrupted: bool = False

    @property
    def complete(self) -> bool:
        """Whether nothing of the run is left."""
        return not self.left and not self.error


def plan(journal: Journal, changer: Changer, *, sleep: Sleep = time.sleep) -> tuple[Step, ...]:
    """
    Tell what a rollback would do, by reading only.

    Raises:
        CallError: the account can't be read.
    """
    calls = Calls(changer, sleep)
    steps = []
    found = list(_to_undo(journal, calls))
    own = journal.own_ids | {rule_id for _, made in found for rule_id in made.get("rules", {}).values()}
    for operation, made in found:
        undo = effect_of(operation.call.api).undo(calls.read, made, own)
        steps.append(Step(operation.id, undo.call, undo.left))
    return tuple(steps)


def _to_undo(journal: Journal, calls: Calls) -> Iterator[tuple[Operation, Made]]:
    """Give what the run has made and what is not undone yet, the last first."""
    for operation in reversed(journal.plan.operations):
        if operation.id in journal.undone and not journal.undone[operation.id]:
            continue
        made = settled(journal, calls, operation)
        if made:
            yield operation, made


def settled(journal: Journal, calls: Calls, operation: Operation) -> Made:
    """Tell what the run made for an operation, by reading where a call's end was never written."""
    known = journal.made.get(operation.id, {})
    call = journal.open.get(operation.id)
    if call is None:
        return known
    params = request(operation, journal.run, journal.created)
    effect = effect_of(operation.call.api)
    found = effect.made(params, call["before"], effect.observe(calls.read, params))
    return found or known


def run(
    run_id: str,
    changer: Changer,
    store: Store,
    *,
    sleep: Sleep = time.sleep,
    stopped: Callable[[], bool] = lambda: False,
    progress: Callable[[Step], None] = lambda _: None,
) -> RolledBack:
    """
    Take back what a run has made, as far as nobody has changed it since. It may be repeated.

    Raises:
        UsageError: there is no such run.
        ApplyError: the journal can't be written.
    """
    with store.lock():
        journal = Journal.load(store, run_id)
        journal.add("rollback")
        rollback = _Rollback(journal, Calls(changer, sleep), stopped, progress)
        result = rollback.carry_out()
        state = State.ROLLED_BACK if result.complete else State.PARTIAL
        journal.add("rollback-end", state=State.INTERRUPTED if result.interrupted else state)
        return result


class _Rollback:
    def __init__(
        self, journal: Journal, calls: Calls, stopped: Callable[[], bool], progress: Callable[[Step], None]
    ) -> None:
        self._journal = journal
        self._calls = calls
        self._stopped = stopped
        self._progress = progress
        self._undone: list[str] = []
        self._left: list[tuple[str, str]] = []

    def carry_out(self) -> RolledBack:
        try:
            self._settle_all()
            for operation, made in list(_to_undo(self._journal, self._calls)):
                if self._stopped():
                    return self._result(ON_REQUEST, interrupted=True)
                self._take_back(operation, made)
        except CallError as error:
            return self._result(error.message)
        except KeyboardInterrupt:
            return self._result(ON_REQUEST, interrupted=True)
        return self._result()

    def _result(self, error: str = "", *, interrupted: bool = False) -> RolledBack:
        return RolledBack(tuple(self._undone), tuple(self._left), error, interrupted)

    def _settle_all(self) -> None:
        """Write down first what calls without an end have made: undoing others changes what can be read of them."""
        for operation in self._journal.plan.operations:
            if operation.id in self._journal.open:
                made = settled(self._journal, self._calls, operation)
                self._journal.add(
                    "failed",
                    operation=operation.id,
                    made=made,
                    created=str(made.get("id", "")),
                    code=INTERRUPTED,
                    message="the call was cut off; what it made was read later",
                )

    def _take_back(self, operation: Operation, made: Made) -> None:
        effect = effect_of(operation.call.api)
        own = self._journal.own_ids
        undo = effect.undo(self._calls.read, made, own)
        first = undo
        for attempt in range(1, TRIES + 1):
            if undo.call is None:
                self._finish(operation, first, undo.left)
                return
            self._journal.add("undo-call", operation=operation.id, api=undo.call.api, params=undo.call.params)
            error = self._call(undo.call)
            if error is None:
                self._finish(operation, first, undo.left)
                return
            if not _passing(error, attempt):
                self._journal.add("undo-failed", operation=operation.id, code=error.code, message=error.message)
                if error.code not in STILL_IN_USE:
                    raise error
                self._finish(operation, first, (f"{_thing(made)} is still in use ({error.code})",))
                return
            self._calls.sleep(wait_before(attempt))
            undo = effect.undo(self._calls.read, made, own)

    def _call(self, call: Call) -> CallError | None:
        try:
            self._calls.change(call.api, call.params)
        except CallError as error:
            return error
        return None

    def _finish(self, operation: Operation, first: Undo, left: tuple[str, ...]) -> None:
        self._journal.add("undone", operation=operation.id, left=list(left))
        self._undone.append(operation.id)
        self._left.extend((operation.id, text) for text in left)
        self._progress(Step(operation.id, first.call, left))


def _passing(error: CallError, attempt: int) -> bool:
    if attempt == TRIES:
        return False
    if error.failure is Failure.UNANSWERED:
        return attempt < 3
    return error.failure is Failure.REFUSED and error.code in STILL_IN_USE | GONE


def _thing(made: Made) -> str:
    return str(made.get("id") or made.get("group") or made.get("interface") or "it")
