"""Whatever goes wrong at whatever moment: resuming ends in the whole plan, rolling back in what was before."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from sgaudit.errors import ApplyError, SgauditError
from sgaudit.fix import apply, rollback
from sgaudit.fix.journal import Journal, State
from tests.fake_ec2 import FakeEc2
from tests.unit.fix.faults import (
    APPEND_FAULTS,
    CHANGE_FAULTS,
    READ_FAULTS,
    Crash,
    FaultyEc2,
    FaultyStore,
    MemoryStore,
    Moment,
)
from tests.unit.fix.plans import PLANS, RUN, fake

pytestmark = pytest.mark.slow
FAULTS = {"change": CHANGE_FAULTS, "read": READ_FAULTS, "append": APPEND_FAULTS}
BEFORE = fake().permissions()


def no_wait(seconds: float) -> None:
    """Wait for nothing."""


def applied(ec2: FakeEc2, store: MemoryStore, name: str, moment: Moment, *, resume: bool = False) -> Any:
    with suppress(Crash, ApplyError):
        return apply.run(PLANS[name], FaultyEc2(ec2, moment), FaultyStore(store, moment), resume=resume, sleep=no_wait)
    return None


def rolled_back(ec2: FakeEc2, store: MemoryStore, moment: Moment) -> Any:
    with suppress(Crash, ApplyError):
        return rollback.run(RUN, FaultyEc2(ec2, moment), FaultyStore(store, moment), sleep=no_wait)
    return None


def whole(name: str) -> tuple[dict[str, Any], list[str]]:
    """Give what a plan leads to, and what happens on the way."""
    ec2, moment = fake(), Moment()
    assert applied(ec2, MemoryStore(), name, moment).complete
    return ec2.permissions(), moment.kinds


def moments(kinds: list[str]) -> list[tuple[int, str]]:
    return [(at, fault) for at, kind in enumerate(kinds) for fault in FAULTS[kind]]


def begun(store: MemoryStore) -> bool:
    """Tell whether the journal has its beginning; without it nothing was changed."""
    return bool(store.read(RUN))


@pytest.mark.parametrize("name", PLANS)
def test_resume(name: str) -> None:
    """After a fault at any moment of an apply, going on brings all of the plan, and a rollback what was before."""
    expected, kinds = whole(name)

    for at, fault in moments(kinds):
        ec2, store = fake(), MemoryStore()
        applied(ec2, store, name, Moment(at, fault))
        result = applied(ec2, store, name, Moment(), resume=begun(store))
        assert (result.complete, ec2.permissions()) == (True, expected), (at, fault)
        assert Journal.load(store, RUN).state is State.APPLIED
        result = rolled_back(ec2, store, Moment())
        assert (result.left, ec2.permissions()) == ((), BEFORE), (at, fault)
        assert Journal.load(store, RUN).state is State.ROLLED_BACK


@pytest.mark.parametrize("name", PLANS)
def test_rollback(name: str) -> None:
    """After a fault at any moment of an apply, a rollback brings back exactly what was before."""
    _, kinds = whole(name)

    for at, fault in moments(kinds):
        ec2, store = fake(), MemoryStore()
        applied(ec2, store, name, Moment(at, fault))
        if begun(store):
            result = rolled_back(ec2, store, Moment())
            assert (result.left, result.error) == ((), ""), (at, fault)
            assert Journal.load(store, RUN).open == {}
        assert ec2.permissions() == BEFORE, (at, fault)


@pytest.mark.parametrize("name", PLANS)
def test_faults_while_rolling_back(name: str) -> None:
    """After a fault at any moment of a rollback, a second one ends it."""
    ec2, store, moment = fake(), MemoryStore(), Moment()
    applied(ec2, store, name, Moment())
    rolled_back(ec2, store, moment)

    for at, fault in moments(moment.kinds):
        ec2, store = fake(), MemoryStore()
        applied(ec2, store, name, Moment())
        rolled_back(ec2, store, Moment(at, fault))
        result = rolled_back(ec2, store, Moment())
        assert (result.left, ec2.permissions()) == ((), BEFORE), (at, fault)


@pytest.mark.parametrize("name", PLANS)
def test_two_faults(name: str) -> None:
    """A crash after an apply that timed out, at any moment of going on with it, loses nothing either."""
    expected, kinds = whole(name)
    changes = [at for at, kind in enumerate(kinds) if kind == "change"]

    for at in changes:
        for second in range(len(kinds)):
            ec2, store = fake(), MemoryStore()
            applied(ec2, store, name, Moment(at, "crash-after"))
            applied(ec2, store, name, Moment(second, "crash-after"), resume=True)
            result = applied(ec2, store, name, Moment(), resume=True)
            assert (result.complete, ec2.permissions()) == (True, expected), (at, second)
            rolled_back(ec2, store, Moment())
            assert ec2.permissions() == BEFORE, (at, second)


def test_what_is_tried() -> None:
    """Every call and every journal line of every plan is a moment."""
    found = {name: [kinds.count(kind) for kind in FAULTS] for name, (_, kinds) in ((n, whole(n)) for n in PLANS)}
    operations = {name: len(plan.operations) for name, plan in PLANS.items()}

    assert {name: counts[0] for name, counts in found.items()} == operations
    assert {name: counts[2] for name, counts in found.items()} == {k: 2 * n + 2 for k, n in operations.items()}


def test_nothing_without_a_journal() -> None:
    """When the journal can't be begun, nothing is changed."""
    ec2, store = fake(), MemoryStore()
    call: Callable[[], Any] = lambda: apply.run(  # noqa: E731
        PLANS["peers"], ec2, FaultyStore(store, Moment(0, "disk-full")), sleep=no_wait
    )

    with pytest.raises(SgauditError, match="journal"):
        call()

    assert ec2.log == []
