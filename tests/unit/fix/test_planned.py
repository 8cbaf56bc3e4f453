"""The plans for the examples, carried out: the cure is seen, nothing is left to do, and all of it can be undone."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sgaudit.errors import UsageError
from sgaudit.fix import apply, planner, preconditions, rollback
from sgaudit.fix.plan import Plan, Strategy
from sgaudit.policy.load import load
from sgaudit.policy.resolve import resolve
from sgaudit.rules.audit import Audit, audit
from sgaudit.selection import Selection, TagFilter, select
from sgaudit.snapshot import parse
from tests.fake_ec2 import FakeEc2
from tests.unit.fix.faults import MemoryStore

EXAMPLES = sorted(path.parent for path in (Path(__file__).parents[3] / "examples").glob("*/snapshot.json"))


def no_wait(seconds: float) -> None:
    """Wait for nothing."""


def values(command: list[str], option: str) -> list[str]:
    return [value for name, value in pairwise(command) if name == option]


def judged(command: list[str], document: dict[str, Any]) -> Audit:
    tags = tuple(TagFilter.parse(text) for text in values(command, "--tag"))
    selection = Selection(tags=tags, everything=not tags)
    snapshot = parse(document)
    members = select(snapshot, selection)
    policies = [load(name) for name in values(command, "--policy") or ["pytorch-gloo"]]
    return audit(snapshot, selection, members, resolve(policies, members))


def planned(result: Audit, strategy: Strategy | None) -> Plan | None:
    try:
        plan = planner.plan(result, planner.Options(strategy=strategy))
    except UsageError:
        return None
    return plan if plan.operations else None


@pytest.mark.parametrize("strategy", [None, Strategy.CLUSTER_GROUP, Strategy.PREFIX_LIST])
@pytest.mark.parametrize("example", [pytest.param(path, id=path.name) for path in EXAMPLES])
def test_there_and_back(example: Path, strategy: Strategy | None) -> None:
    """What the plan names is cured, a second run changes nothing, and a rollback restores the exact permissions."""
    command = json.loads((example / "expected.json").read_text(encoding="utf-8"))["command"]
    document = json.loads((example / "snapshot.json").read_text(encoding="utf-8"))
    plan = planned(judged(command, document), strategy)
    if plan is None:
        return
    ec2, store = FakeEc2(document), MemoryStore()
    before = ec2.permissions()
    assert preconditions.changed(plan, parse(ec2.document())) == []

    applied = apply.run(plan, ec2, store, sleep=no_wait, limit=len(plan.operations))
    calls = len(ec2.log)
    again = apply.run(plan, ec2, store, resume=True, sleep=no_wait, limit=len(plan.operations))
    cured = judged(command, ec2.document())
    undone = rollback.run(plan.run, ec2, store, sleep=no_wait)

    assert (applied.complete, again.complete, calls) == (True, True, len(plan.operations))
    named = {name for operation in plan.operations for name in operation.findings}
    assert [finding for finding in cured.findings if finding.fingerprint in named] == []
    assert planned(cured, None) is None
    assert (undone.left, undone.error, ec2.permissions()) == ((), "", before)


def test_most_examples_have_a_plan() -> None:
    """The tests above are about something."""
    commands = {path: json.loads((path / "expected.json").read_text(encoding="utf-8"))["command"] for path in EXAMPLES}
    documents = {path: json.loads((path / "snapshot.json").read_text(encoding="utf-8")) for path in EXAMPLES}
    plans = [planned(judged(commands[path], documents[path]), None) for path in EXAMPLES]

    assert sum(plan is not None for plan in plans) >= 15
