"""Carrying out a plan from the command line: show, ask, check, apply, read again, judge."""

from __future__ import annotations

import getpass
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sgaudit import snapshot as snapshots
from sgaudit.cli.judging import Judge, selection_of
from sgaudit.errors import ApplyError, SgauditError, StalePlanError, UsageError
from sgaudit.fix import apply, permissions, preconditions, rollback
from sgaudit.fix.journal import Journal, State
from sgaudit.fix.permissions import Permitted
from sgaudit.fix.plan import Operation, Plan, Safety
from sgaudit.fix.store import FolderStore, Store, default_folder
from sgaudit.report import plan_table
from sgaudit.rules import words
from sgaudit.selection import Selection

if TYPE_CHECKING:
    from types import FrameType

    from sgaudit.aws.change import Ec2Changer
    from sgaudit.aws.session import Connection
    from sgaudit.cli.run import Output, Source
    from sgaudit.model import Snapshot

EXIT_DONE, EXIT_PENDING, EXIT_FAILED = 0, 1, 5


@dataclass(frozen=True, slots=True)
class Options:
    """How a plan is to be carried out."""

    yes: bool = False
    unsafe: bool = False
    max_changes: int = apply.LIMIT
    resume: bool = False
    dry_run: bool = False
    check_permissions: bool = True
    undo_on_failure: bool = False
    state_dir: str = ""

    @property
    def store(self) -> Store:
        """Where journals are kept."""
        return store(self.state_dir)


def store(state_dir: str) -> Store:
    """Give the store of journals that `--state-dir` names, or the user's own."""
    return FolderStore(Path(state_dir) if state_dir else default_folder(os.environ))


@dataclass(frozen=True, slots=True)
class Account:
    """The account and Region that is read and changed."""

    connection: Connection
    changer: Ec2Changer

    @classmethod
    def connect(cls, source: Source, region: str = "") -> Account:
        """
        Connect to AWS; a Region that is given nowhere else is that of the plan.

        Raises:
            CollectError: there are no credentials, or no such Region.
            UsageError: a saved snapshot was given.
        """
        from sgaudit.aws.change import Ec2Changer
        from sgaudit.aws.session import AwsOptions, connect

        if source.snapshot_path:
            raise UsageError("a saved snapshot can't be changed", hint="leave --snapshot out, or only plan")
        connection = connect(
            AwsOptions(
                profile=source.profile,
                region=source.region or region,
                role_arn=source.role_arn,
                external_id=source.external_id,
                endpoint_url=source.endpoint_url,
            )
        )
        return cls(connection, Ec2Changer(connection))

    def check(self, account_id: str, region: str, what: str) -> None:
        """
        See that it is the account and Region that something is for.

        Raises:
            UsageError: it is another one.
        """
        mine = (self.connection.account_id() or account_id, self.connection.place.region)
        if mine != (account_id or mine[0], region or mine[1]):
            raise UsageError(
                f"{what} is for account {account_id} in {region}, and the credentials are for {mine[0]} in {mine[1]}",
                hint="choose with --profile, --role-arn and --region",
            )

    def read(self, selection: Selection, *, whole_vpc: bool) -> Snapshot:
        """Read what the plan is about."""
        from sgaudit.aws.collect import collect

        return snapshots.parse(collect(self.connection, selection, whole_vpc=whole_vpc), source="AWS")


def carry_out(plan: Plan, source: Source, options: Options, output: Output) -> int:
    """
    Carry out a plan, and give the exit code: 0 only when reading again shows that it has cured what it is for.

    Raises:
        UsageError: it may not be carried out, or is for another account.
        StalePlanError: the account has changed since it was made.
        ApplyError: a call would be denied, or the journal can't be written.
    """
    apply.check(plan, options.max_changes)
    judge = Judge.of(plan)
    show(plan, output)
    _check_safety(plan, options)
    account = Account.connect(source, plan.region)
    account.check(plan.account_id, plan.region, "the plan")
    journals = options.store
    journal = Journal.load(journals, plan.run) if options.resume else None
    if not options.resume and journals.read(plan.run):
        journal = Journal.load(journals, plan.run)
        if not options.dry_run:
            return _again(judge, journal, account, output)
    if not options.dry_run:
        confirm(f"carry out {words.number(len(plan.operations), 'operation')}?", yes=options.yes)
    check_preconditions(judge, account, journal)
    if options.check_permissions:
        check_permissions(plan, account, output)
    if options.dry_run:
        return EXIT_PENDING if plan.operations else EXIT_DONE
    return _conclude(judge, account, options, output, _apply(judge.plan, account, options, output, journal))


def _apply(plan: Plan, account: Account, options: Options, output: Output, journal: Journal | None) -> apply.Applied:
    safe = output.style.safe
    try:
        with interruptible(output) as (stopped, sleep):
            return apply.run(
                plan,
                account.changer,
                options.store,
                limit=options.max_changes,
                resume=journal is not None,
                who=_who(),
                sleep=sleep,
                stopped=stopped,
                progress=lambda operation, outcome: output.note(safe(f"{outcome}: {summary(operation)}")),
            )
    except ApplyError as error:
        if not _begun(plan, options):
            raise
        raise ApplyError(error.message, hint=f"{error.hint}; then {going_on(plan.run)}") from error


def _begun(plan: Plan, options: Options) -> bool:
    try:
        return bool(options.store.read(plan.run))
    except UsageError:
        return True


def _again(judge: Judge, journal: Journal, account: Account, output: Output) -> int:
    """
    Answer for a plan that has a journal already: when all of it stands there is nothing to do.

    Raises:
        UsageError: it went through in part only, was taken back, or no longer stands.
    """
    plan = judge.plan
    if journal.rolling_back:
        raise UsageError(f"run {plan.run} was taken back", hint="make a new plan with sgaudit fix")
    if journal.state is not State.APPLIED:
        raise apply.begun_before(journal)
    if judge.verify(lambda: read_for(plan, account)):
        raise UsageError(
            f"run {plan.run} was applied before, and part of it is gone", hint="make a new plan with sgaudit fix"
        )
    output.write([f"run {plan.run} was applied before and stands: nothing to do\n"])
    return EXIT_DONE


def _conclude(judge: Judge, account: Account, options: Options, output: Output, applied: apply.Applied) -> int:
    plan = judge.plan
    counts = f"{len(applied.done)} done, {len(applied.already)} already so, {int(bool(applied.failed))} failed"
    output.write([f"run {plan.run}: {counts}, {len(applied.left)} left\n"])
    if not applied.complete:
        _say(output, f"error: {applied.error}", applied.hint and f"hint: {applied.hint}")
    elif _cured(judge, account, output):
        return EXIT_DONE
    if options.undo_on_failure and not applied.interrupted:
        try:
            undo(plan.run, account, options.store, output)
        except SgauditError as error:
            _say(output, f"error: not taken back: {error.message}", f"hint: {going_on(plan.run)}")
        return EXIT_FAILED
    if applied.stale and not applied.done:
        raise StalePlanError(applied.error, hint="make a new plan with sgaudit fix")
    _say(output, f"hint: {going_on(plan.run)}")
    return EXIT_FAILED


def _cured(judge: Judge, account: Account, output: Output) -> bool:
    """Read again what was changed, and say what is not cured, or why that can't be told."""
    try:
        remaining = judge.verify(lambda: read_for(judge.plan, account))
    except SgauditError as error:
        _say(output, f"error: the changes are made, but can't be judged: {error.message}")
        return False
    if remaining:
        _say(output, f"error: read again, and not cured: {words.listed(remaining, 5)}")
    else:
        output.write(["read again: what the plan is for is cured\n"])
    return not remaining


def going_on(run: str) -> str:
    """Tell what can be done about a run that did not end well."""
    return f"sgaudit apply --resume {run} goes on with it; sgaudit rollback {run} takes it back"


def read_for(plan: Plan, account: Account) -> Snapshot:
    """Read what a plan is about."""
    return account.read(selection_of(plan), whole_vpc=plan.outside_known)


def _say(output: Output, *lines: str) -> None:
    for line in lines:
        if line:
            click.echo(output.style.safe(line), err=True)


def undo(run: str, account: Account, journals: Store, output: Output) -> int:
    """Take a run back, and give the exit code: 0 only when nothing of it is left."""
    with interruptible(output) as (stopped, sleep):
        result = rollback.run(
            run,
            account.changer,
            journals,
            sleep=sleep,
            stopped=stopped,
            progress=lambda step: output.note(
                output.style.safe(f"undone: {step.operation} {step.call.api if step.call else ''}".rstrip())
            ),
        )
    output.write([f"run {run}: {words.number(len(result.undone), 'operation')} undone\n"])
    output.write(f"left: {output.style.safe(f'{name}: {reason}')}\n" for name, reason in result.left)
    if result.error:
        _say(output, f"error: {result.error}", f"hint: sgaudit rollback {run} goes on with it")
    return EXIT_DONE if result.complete else EXIT_FAILED


def _check_safety(plan: Plan, options: Options) -> None:
    unsafe = [operation for operation in plan.operations if operation.safety is Safety.UNSAFE]
    if unsafe and not options.unsafe and not options.dry_run:
        first = unsafe[0]
        raise UsageError(
            f"{words.number(len(unsafe), 'operation')} of the plan {'is' if len(unsafe) == 1 else 'are'} unsafe: "
            f"{first.id}: {first.unsafe_because}",
            hint="look at the plan, then allow them with --unsafe",
        )


def confirm(question: str, *, yes: bool) -> None:
    """
    Ask a person.

    Raises:
        UsageError: there is nobody to ask.
    """
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError("nobody is there to confirm the changes", hint="look at the plan, then give --yes")
    click.confirm(question, abort=True, err=True)


def summary(operation: Operation) -> str:
    """Say in one line what an operation does."""
    params = operation.call.params
    names = ("NetworkInterfaceId", "NetworkAclId", "GroupId", "GroupName", "PrefixListName")
    target = next((params[name] for name in names if name in params), "")
    if isinstance(target, dict):
        target = f"what {target.get('Ref')} creates"
    return f"{operation.id} {operation.call.api} {target}".rstrip()


def show(plan: Plan, output: Output) -> None:
    """Show what a plan is going to do."""
    output.write(plan_table.render(plan, output.style, requests=True))


def check_preconditions(judge: Judge, account: Account, journal: Journal | None) -> None:
    """
    Read the account and see that it is as the plan expects, and that it can be judged.

    Raises:
        EmptySelectionError: there are no members.
        StalePlanError: it is not as the plan expects.
        UsageError: it is another account, or the plan's head is no member.
    """
    plan = judge.plan
    snapshot = read_for(plan, account)
    if snapshot.account_id and plan.account_id and snapshot.account_id != plan.account_id:
        raise UsageError(
            f"the plan is for account {plan.account_id}, and this is {snapshot.account_id}",
            hint="choose with --profile, --role-arn and --region",
        )
    changed = preconditions.changed(plan, snapshot, journal)
    if changed:
        raise StalePlanError("the plan is stale: " + "; ".join(changed), hint="make a new plan with sgaudit fix")
    judge.requirements(snapshot)


def check_permissions(plan: Plan, account: Account, output: Output) -> None:
    """
    Ask EC2 whether each call would be allowed.

    Raises:
        ApplyError: one would not.
    """
    checked = permissions.check(plan, account.changer)
    denied = [item.operation for item in checked if item.permitted is Permitted.DENIED]
    unknown = [item for item in checked if item.permitted is Permitted.UNKNOWN]
    for item in unknown:
        output.note(output.style.safe(f"permission not known: {summary(item.operation)}: {item.code}"))
    allowed = len(checked) - len(denied) - len(unknown)
    output.note(f"permissions: {allowed} allowed, {len(denied)} denied, {len(unknown)} not known")
    if denied:
        raise ApplyError(
            f"AWS would deny {words.listed([summary(operation) for operation in denied], 5)}; nothing was changed",
            hint="; ".join(dict.fromkeys(apply.needed(operation.call) for operation in denied)),
        )


@contextmanager
def interruptible(output: Output) -> Iterator[tuple[Callable[[], bool], Callable[[float], None]]]:
    """Let the first Ctrl-C stop after the call that is under way, and the second at once."""
    pressed = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            signal.default_int_handler(number, frame)
        pressed = True
        output.note("stopping after this call; press Ctrl-C again to stop at once")

    def sleep(seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if pressed:
                raise KeyboardInterrupt
            time.sleep(min(left, 0.2))

    previous = signal.signal(signal.SIGINT, stop)
    try:
        yield (lambda: pressed), sleep
    finally:
        signal.signal(signal.SIGINT, previous)


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""
