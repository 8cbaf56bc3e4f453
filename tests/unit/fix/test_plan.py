"""A plan as JSON and back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sgaudit.errors import UsageError
from sgaudit.fix.plan import SCHEMA_VERSION, Strategy, from_json, loads
from tests.unit.fix.scenes import apart, planned, together


@pytest.mark.parametrize("strategy", [None, *(item for item in Strategy if item not in ("none", "self"))])
def test_a_plan_survives_its_json(strategy: Strategy | None) -> None:
    """What is written is read back equal, operations, references and all."""
    made = planned(apart(), strategy=strategy)

    assert made == loads(json.dumps(made.to_json()).encode(), "plan.json")


def test_the_keys_are_those_of_the_contract() -> None:
    """Programs read these; none goes and none is renamed."""
    document = planned(together()).to_json()

    assert {
        "schema_version",
        "kind",
        "run",
        "created",
        "tool_version",
        "account_id",
        "region",
        "selection",
        "settings",
        "strategy",
        "exact",
        "operations",
        "before",
        "after",
        "opens",
        "unfixable",
        "preconditions",
    } == set(document)
    assert {"required", "extra", "outside_known"} == set(document["opens"])
    assert {
        "id",
        "api",
        "params",
        "reason",
        "findings",
        "class",
        "unsafe_because",
        "inverse",
        "quota",
    } == set(document["operations"][0])
    assert (
        document["schema_version"],
        document["kind"],
        document["operations"][0]["class"],
    ) == (SCHEMA_VERSION, "plan", "safe")


def test_a_plan_is_safe_when_all_of_it_is() -> None:
    """One operation that is not makes the whole plan one to think about."""
    assert planned(together()).safe
    assert not planned(together(WholeVpcs=[])).safe


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "scan"}, "p: not a plan of schema version 1"),
        ({"schema_version": 2}, "p: not a plan of schema version 1"),
        ({"strategy": "magic"}, "p: not a whole plan: ValueError at 'magic' is not a valid Strategy"),
        ({"operations": [{}]}, "p: not a whole plan: KeyError at 'inverse'"),
        ({"opens": None}, "p: not a whole plan: TypeError at 'NoneType' object is not subscriptable"),
    ],
)
def test_what_is_no_plan_is_the_users_mistake(change: dict[str, Any], message: str) -> None:
    """The message names the file and what is wrong."""
    with pytest.raises(UsageError) as caught:
        from_json({**planned(together()).to_json(), **change}, "p")

    assert message == str(caught.value)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_the_users_mistake(data: bytes) -> None:
    """Empty, cut off, not text, nested beyond reason: one message, no traceback."""
    with pytest.raises(UsageError, match=r"p: not JSON"):
        loads(data, "p")
