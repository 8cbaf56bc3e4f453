"""The JSON form is the plan."""

from __future__ import annotations

import pytest

from sgaudit.fix.emit import EMITTERS
from sgaudit.fix.plan import loads
from tests.unit.fix.emit_readers import PLANS, hostile, planned


@pytest.mark.parametrize("name", PLANS)
def test_reads_back_as_the_plan(name: str) -> None:
    """What is written reads back as the very plan."""
    plan = planned(name)
    assert loads("".join(EMITTERS["json"](plan)).encode(), "plan.json") == plan


def test_hostile_text() -> None:
    """Text that holds anything comes back as it was."""
    plan = hostile(attach=True)
    assert loads("".join(EMITTERS["json"](plan)).encode(), "plan.json") == plan
