"""A plan as JSON and back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sgaudit.errors import UsageError
from sgaudit.fix.apply import check
from sgaudit.fix.plan import SCHEMA_VERSION, Strategy, from_json, loads
from tests.unit.fix.edits import MISSING, changed, places
from tests.unit.fix.plans import PLANS
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
        ({"strategy": "magic"}, 'p: not a whole plan: strategy is "magic", not one of ' + ", ".join(Strategy)),
        ({"operations": [{}]}, "p: not a whole plan: operations[0].inverse is missing"),
        ({"settings": {"client_ports": "xx"}}, "p: not a whole plan: settings.client_ports: "),
        ({"settings": {"client_ports": 7}}, "p: not a whole plan: settings.client_ports is 7, not a text"),
        ({"settings": {"policies": 5}}, "p: not a whole plan: settings.policies is 5, not a list"),
        ({"settings": {"parameters": [1]}}, "p: not a whole plan: settings.parameters is a list, not an object"),
        ({"after": {"unknown": "x"}}, 'p: not a whole plan: after.unknown is "x", not a whole number'),
        ({"after": {"unknown": True}}, "p: not a whole plan: after.unknown is true, not a whole number"),
        ({"after": {"open": -1}}, "p: not a whole plan: after.open is -1, below 0"),
        ({"preconditions": [{"type": 5}]}, "p: not a whole plan: preconditions[0].type is 5, not a text"),
        ({"run": "\ud800"}, 'p: not a whole plan: run is "\\ud800", which holds half a character'),
        ({"opens": None}, "p: not a whole plan: opens is null, not an object"),
    ],
)
def test_what_is_no_plan_is_the_users_mistake(change: dict[str, Any], message: str) -> None:
    """The message names the file and what is wrong."""
    with pytest.raises(UsageError) as caught:
        from_json({**planned(together()).to_json(), **change}, "p")

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_the_users_mistake(data: bytes) -> None:
    """Empty, cut off, not text, nested beyond reason: one message, no traceback."""
    with pytest.raises(UsageError, match=r"p: not JSON"):
        loads(data, "p")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("findings", "abc", 'operations[0].findings is "abc", not a list'),
        ("findings", [1], "operations[0].findings[0] is 1, not a text"),
        ("reason", "\ud800", 'operations[0].reason is "\\ud800", which holds half a character'),
        ("params", {"a": ["\ud800"]}, 'operations[0].params.a[0] is "\\ud800", which holds half a character'),
        ("params", {"a": float("nan")}, "operations[0].params.a is nan, not a number"),
        ("quota", {"name": 1}, "operations[0].quota.name is 1, not a text"),
        ("inverse", {"api": "x"}, "operations[0].inverse.params is missing"),
        ("class", "fine", 'operations[0].class is "fine", not one of safe, unsafe'),
    ],
)
def test_operations_are_read_strictly(key: str, value: Any, message: str) -> None:
    """A value of an operation that is of another type is named."""
    document = planned(together()).to_json()
    document["operations"][0][key] = value

    with pytest.raises(UsageError) as caught:
        from_json(document, "p")

    assert caught.value.message == f"p: not a whole plan: {message}"


WRONG: tuple[Any, ...] = (None, True, 0, -1, 1.5, "", "x", "\ud800", [], [None], ["x"], {}, {"a": 1}, float("nan"))


@pytest.mark.parametrize("name", PLANS)
def test_whatever_is_edited(name: str) -> None:
    """Any value may be any other or missing: it is the user's mistake, or a plan that can be written and checked."""
    good = PLANS[name].to_json()
    refused = 0
    for number, path in enumerate(places(good)):
        for wrong in (*WRONG[number % 4 :: 4], MISSING):
            try:
                edited = from_json(changed(good, path, wrong), "p")
                check(edited, 50)
            except UsageError:
                refused += 1
            else:
                json.dumps(edited.to_json(), ensure_ascii=False, allow_nan=False).encode()

    assert refused > 100
