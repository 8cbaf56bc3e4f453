"""Carrying out a plan, one call after the other, with a journal line before and after each."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sgaudit.errors import CallError, Failure, UsageError
from sgaudit.fix.calls import TRIES, Calls, Sleep, wait_before
from sgaudit.fix.changer import Changer, Raw
from sgaudit.fix.effect import Effect, Seen
from sgaudit.fix.effects import check_request, effect_of, references
from sgaudit.fix.journal import Journal, State
from sgaudit.fix.plan import Call, Operation, Plan
from sgaudit.fix.simulate import resolved
from sgaudit.fix.store import Store
from sgaudit.rules import words

LIMIT = 50
"""Operations that one run may carry out unless told otherwise."""
THERE_ALREADY = frozenset({"InvalidPermission.Duplicate", "InvalidGroup.Duplicate", "NetworkAclEntryAlreadyExists"})
NOT_YET_THERE = frozenset(
    {
        "IncorrectState",
        "InvalidGroup.NotFound",
        "InvalidGroupId.NotFound",
        "InvalidPrefixListID.NotFound",
        "InvalidPrefixListId.NotFound",
        "InvalidSecurityGroupID.NotFound",
    }
)
"""What EC2 says of something just created until it is known everywhere (EC2 API, eventual consistency)."""
ON_REQUEST = "stopped on request"
NOT_SEEN, INTERRUPTED, STALE = "NotSeen", "Interrupted", "Stale"


@dataclass(frozen=True, slots=True)
class Applied:
    """How far a plan was carried out, by ids of operations."""

    done: tuple[str, ...]
    already: tuple[str, ...]
    """What was so without the run."""
    failed: str
    """The one at which it stopped; empty when there is none."""
    left: tuple[str, ...]
    """What was not begun."""
    error: str = ""
    hint: str = ""
    code: str = ""
    stale: bool = False
    """It stopped since the account is not as the plan expects."""
    interrupted: bool = False

    @property
    def complete(self) -> bool:
        """Whether everything is as the plan wants it."""
        return not self.failed and not self.left


class _Stop(Exception):  # noqa: N818 - a signal within this module
    def __init__(self, message: str, code: str, *, failed: bool = True, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code
        self.failed = failed


def run(
    plan: Plan,
    changer: Changer,
    store: Store,
    *,
    limit: int = LIMIT,
    resume: bool = False,
    who: str = "",
    sleep: Sleep = time.sleep,
    stopped: Callable[[], bool] = lambda: False,
    progress: Callable[[Operation, str], None] = lambda *_: None,
) -> Applied:
    """
    Carry out a plan in its order, up to the first failure.

    Args:
        plan: what to do.
        changer: the account.
        store: where the journal goes.
        limit: how many operations there may be.
        resume: go on with a run that has a journal.
        who: written to the journal.
        sleep: waits.
        stopped: asked between operations whether a person wants to stop.
        progress: told of each operation how it ended: `done`, `already` or `failed`.

    Raises:
        UsageError: the plan is too long or not one of sgaudit's, or its run was begun before.
        ApplyError: the journal can't be written.
    """
    check(plan, limit)
    with store.lock():
        journal = _journal(plan, store, resume=resume, who=who)
        return _Run(plan, journal, Calls(changer, sleep), stopped, progress).carry_out()


def check(plan: Plan, limit: int) -> None:
    """
    See that a plan can be carried out at all.

    Raises:
        UsageError: it can't.
    """
    if len(plan.operations) > limit:
        raise UsageError(
            f"the plan has {words.number(len(plan.operations), 'operation')}, more than {limit}",
            hint=f"look at it, then allow them with --max-changes {len(plan.operations)}",
        )
    known: set[str] = set()
    for operation in plan.operations:
        check_request(operation)
        unknown = references(operation.call.params) - known
        if unknown or operation.id in known:
            what = f"refers to {', '.join(sorted(unknown))}" if unknown else "is there twice"
            raise UsageError(
                f"operation {operation.id} {what}: the plan can't be carried out in this order",
                hint="make a new plan with sgaudit fix --dry-run --out FILE",
            )
        known.add(operation.id)


def _journal(plan: Plan, store: Store, *, resume: bool, who: str) -> Journal:
    if not store.read(plan.run):
        if resume:
            raise UsageError(f"there is no run {plan.run!r} to go on with", hint="list the runs with sgaudit runs")
        return Journal.begin(store, plan, who)
    journal = Journal.load(store, plan.run)
    if journal.rolling_back:
        raise UsageError(f"run {plan.run} was rolled back", hint="make a new plan with sgaudit fix")
    if journal.plan.to_json() != json.loads(json.dumps(plan.to_json())):
        raise UsageError(f"run {plan.run} applied another plan", hint="make a new plan with sgaudit fix")
    if not resume:
        raise begun_before(journal)
    return journal


def begun_before(journal: Journal) -> UsageError:
    """Say that the run of a journal can only be gone on with or taken back."""
    run = journal.plan.run
    return UsageError(
        f"run {run} was begun before ({journal.state})",
        hint=f"go on with sgaudit apply --resume {run}, or undo it with sgaudit rollback {run}",
    )


class _Run:
    def __init__(
        self,
        plan: Plan,
        journal: Journal,
        calls: Calls,
        stopped: Callable[[], bool],
        progress: Callable[[Operation, str], None],
    ) -> None:
        self._plan = plan
        self._journal = journal
        self._calls = calls
        self._stopped = stopped
        self._progress = progress
        self._interrupted = False

    def carry_out(self) -> Applied:
        done: list[str] = []
        already: list[str] = []
        stop: _Stop | None = None
        operations = self._plan.operations
        for operation in operations:
            try:
                outcome = self._carry(operation)
            except _Stop as signal:
                stop = signal
                break
            except KeyboardInterrupt:
                stop = _Stop(ON_REQUEST, INTERRUPTED)
                break
            (done if outcome == "done" else already).append(operation.id)
            self._progress(operation, outcome)
        number = len(done) + len(already)
        if stop is None:
            self._journal.add("end", state=State.APPLIED)
            return Applied(tuple(done), tuple(already), "", ())
        failed = operations[number].id if stop.failed else ""
        if failed:
            self._progress(operations[number], "failed")
        interrupted = stop.code == INTERRUPTED
        self._journal.add("end", state=State.INTERRUPTED if interrupted else State.PARTIAL, code=stop.code)
        return Applied(
            tuple(done),
            tuple(already),
            failed,
            tuple(item.id for item in operations[number + bool(failed) :]),
            stop.message,
            stop.hint,
            stop.code,
            stale=stop.code == STALE,
            interrupted=interrupted,
        )

    def _carry(self, operation: Operation) -> str:
        """Bring one operation to its end, and tell whether the run did it or it was so already."""
        if self._interrupted or self._stopped():
            raise _Stop(ON_REQUEST, INTERRUPTED, failed=False)
        params = request(operation, self._plan.run, self._journal.created)
        effect = effect_of(operation.call.api)
        seen = self._observe_surely(operation, effect, params)
        unsettled = self._journal.open.get(operation.id)
        if unsettled is None and effect.complete(params, seen):
            return self._standing(operation, seen)
        before: Seen = unsettled["before"] if unsettled is not None else seen
        attempt = _Attempt(self._journal, self._calls, operation, effect, params, before, self._interrupt)
        try:
            return attempt.bring_about(seen)
        except CallError as error:
            # Reading failed: whether the call went through will be told by whoever goes on with the run.
            raise _Stop(f"{operation.id}: {error.message}", error.code, hint=error.hint) from error

    def _interrupt(self) -> None:
        self._interrupted = True

    def _observe(self, operation: Operation, effect: Effect, params: Raw) -> Seen:
        try:
            return effect.observe(self._calls.read, params)
        except CallError as error:
            raise _Stop(f"{operation.id}: {error.message}", error.code, hint=error.hint) from error

    def _observe_surely(self, operation: Operation, effect: Effect, params: Raw) -> Seen:
        """Read what an operation is about, again while it may be too new to be seen."""
        seen = self._observe(operation, effect, params)
        if operation.id in self._journal.finished or operation.id in self._journal.open:
            return seen
        fresh = frozenset(self._journal.created.values())
        for number in range(1, TRIES + 1):
            if not effect.doubtful(params, seen, fresh):
                break
            self._calls.sleep(wait_before(number))
            seen = self._observe(operation, effect, params)
        return seen

    def _standing(self, operation: Operation, seen: Seen) -> str:
        outcome = "done" if operation.id in self._journal.made else "already"
        created = str(seen.get("id", ""))
        if (
            self._journal.finished.get(operation.id) != outcome
            or self._journal.created.get(operation.id, "") != created
        ):
            self._journal.add(outcome, operation=operation.id, created=created)
        return outcome


def request(operation: Operation, run_id: str, created: dict[str, str]) -> dict[str, Any]:
    """Give the request of an operation with the ids of what was created before it."""
    params: dict[str, Any] = resolved(operation.call.params, created)
    if operation.call.api == "CreateManagedPrefixList" and "ClientToken" not in params:
        # Lists may share a name: only the token keeps a repeated request from making a second one.
        params["ClientToken"] = hashlib.sha256(f"{run_id} {operation.id}".encode()).hexdigest()[:64]
    return params


def needed(call: Call) -> str:
    """Tell which IAM actions allow a request; what tags as it creates needs a second one."""
    tags = ", and ec2:CreateTags for the tags in the request" if "TagSpecifications" in call.params else ""
    return f"allow the IAM action ec2:{call.api}{tags}"


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One operation that is not so yet, and what was there before its first call."""

    journal: Journal
    calls: Calls
    operation: Operation
    effect: Effect
    params: dict[str, Any]
    before: Seen
    interrupt: Callable[[], None]
    """Told when a person wants to stop, although the operation was brought to its end."""

    def bring_about(self, seen: Seen) -> str:
        for number in range(1, TRIES + 1):
            if self.effect.complete(self.params, seen):
                return self._done(seen)
            self._check_stale(seen)
            params = self.effect.narrowed(self.params, seen)
            self.journal.add(
                "call", operation=self.operation.id, api=self.operation.call.api, params=params, before=self.before
            )
            try:
                answer = self.calls.change(self.operation.call.api, params)
            except KeyboardInterrupt:
                return self._settle_interrupted()
            except CallError as error:
                if number == TRIES or not self._passing(error, number):
                    raise self._failed(error) from error
                self.calls.sleep(wait_before(number))
                seen = self._observed()
                continue
            told = self.effect.answered(self.params, seen, answer)
            seen = self._seen_in_time() if told is None else told
            return self._done(seen, str(answer.get("RequestId") or ""))
        raise AssertionError  # the last attempt returns or raises

    def _observed(self) -> Seen:
        return self.effect.observe(self.calls.read, self.params)

    def _check_stale(self, seen: Seen) -> None:
        inverse = self.operation.inverse
        # The inverse of a creation names what is not created yet, and expects nothing.
        known = inverse is not None and references(inverse.params) <= set(self.journal.created)
        expected = resolved(inverse.params, self.journal.created) if inverse is not None and known else None
        if words := self.effect.stale(self.params, expected, seen):
            self._note_failure(STALE, words, seen)
            raise _Stop(f"{self.operation.id}: {words}", STALE)

    def _passing(self, error: CallError, number: int) -> bool:
        """Tell whether the same request may go through later, or has gone through already."""
        if error.failure is Failure.UNANSWERED:
            return number < 3
        if error.failure is not Failure.REFUSED:
            return False
        return error.code in THERE_ALREADY or (error.code in NOT_YET_THERE and bool(self.journal.created))

    def _seen_in_time(self) -> Seen:
        """Read until what was answered can be seen; the ids that an answer leaves out are known only then."""
        for number in range(1, TRIES + 1):
            seen = self._observed()
            if self.effect.complete(self.params, seen):
                return seen
            self.calls.sleep(wait_before(number))
        words = f"{self.operation.id}: {self.operation.call.api} was accepted, but its effect can't be seen"
        self._note_failure(NOT_SEEN, words, seen, settled=False)
        raise _Stop(words, NOT_SEEN)

    def _done(self, seen: Seen, request_id: str = "") -> str:
        made = self.effect.made(self.params, self.before, seen)
        outcome = "done" if made or self.operation.id in self.journal.made else "already"
        self.journal.add(
            outcome,
            operation=self.operation.id,
            made=made,
            created=str(seen.get("id", "")),
            request_id=request_id,
        )
        return outcome

    def _settle_interrupted(self) -> str:
        self.interrupt()
        seen = self._observed()
        if self.effect.complete(self.params, seen):
            return self._done(seen)
        self._note_failure(INTERRUPTED, ON_REQUEST, seen, settled=False)
        raise _Stop(ON_REQUEST, INTERRUPTED)

    def _failed(self, error: CallError) -> _Stop:
        # A refused request changes nothing on AWS; emulators leave its first permissions behind.
        settled = error.failure is not Failure.UNANSWERED
        self._note_failure(error.code, error.message, self._observed(), settled=settled, request_id=error.request_id)
        hint = needed(self.operation.call) if error.failure is Failure.DENIED else error.hint
        return _Stop(f"{self.operation.id}: {error.message}", error.code, hint=hint)

    def _note_failure(self, code: str, message: str, seen: Seen, *, settled: bool = True, request_id: str = "") -> None:
        self.journal.add(
            "failed",
            operation=self.operation.id,
            made=self.effect.made(self.params, self.before, seen),
            created=str(seen.get("id", "")) if seen.get("own") else "",
            code=code,
            message=message,
            settled=settled,
            request_id=request_id,
        )
