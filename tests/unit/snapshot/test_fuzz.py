"""Whatever is done to a good document, it reads or is refused in one line: never another exception."""

from __future__ import annotations

import copy
import gc
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgaudit.errors import SnapshotError
from sgaudit.snapshot import load, parse, save
from tests.networks import networks
from tests.unit.snapshot.documents import Raw, everything

Path_ = tuple[str | int, ...]


def paths(value: Any, at: Path_ = ()) -> list[Path_]:
    """List where all the values of a document stand, the document itself left out."""
    if isinstance(value, dict):
        steps: list[tuple[str | int, Any]] = list(value.items())
    elif isinstance(value, list):
        steps = list(enumerate(value))
    else:
        return []
    return [found for step, inner in steps for found in ((*at, step), *paths(inner, (*at, step)))]


PLACES = paths(everything())
WRONG = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["-1", "0.0.0.0/0", "::/0", "tcp", "10.0.0.1", "2001:db8::1", "i-1", "eni-1", "sg-1", 10**400]),
    st.sampled_from([[], {}, [{}], [[]], [None], {"a": 1}, [1, "x"], {"State": 3}, [{"Key": 1}]]),
)


@st.composite
def damaged(draw: st.DrawFn) -> Raw:
    """Replace or remove one to three values of a good document."""
    document = everything()
    for _ in range(draw(st.integers(1, 3))):
        *parents, last = draw(st.sampled_from(PLACES))
        owner: Any = document
        try:
            for step in parents:
                owner = owner[step]
            if isinstance(owner, str):
                continue
            if draw(st.booleans()):
                owner[last] = copy.deepcopy(draw(WRONG))
            else:
                del owner[last]
        except (KeyError, IndexError, TypeError):
            continue
    return document


def refusal(document: Any) -> SnapshotError | None:
    """Give the error with which a document is refused; any other exception fails the test."""
    try:
        parse(document, source="net.json")
    except SnapshotError as error:
        return error
    return None


def survives(document: Any) -> bool:
    """Tell whether a document reads; one that doesn't is refused in one printable line."""
    error = refusal(document)
    if error is None:
        return True
    assert error.message.startswith("net.json: ")
    assert error.hint
    assert (error.message + error.hint).isprintable()
    return False


@given(damaged())
def test_a_damaged_document_reads_or_is_refused(document: Raw) -> None:
    """No wrong or missing value leads to anything but a reading or a `SnapshotError`."""
    survives(document)


KINDS: tuple[Any, ...] = (None, True, -7, 0.5, "\x1b[31m", [], {}, [[]], [{}], {"x": {}}, ...)
"""One value of each kind; the last stands for none at all."""


@pytest.mark.slow
def test_every_value_replaced_or_removed_once() -> None:
    """The same for each value of the document in turn, and one of every kind in its place."""
    outcomes = set()
    for *parents, last in PLACES:
        for wrong in KINDS:
            document = everything()
            owner: Any = document
            for step in parents:
                owner = owner[step]
            if wrong is ...:
                del owner[last]
            else:
                owner[last] = wrong
            outcomes.add(survives(document))

    assert outcomes == {True, False}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(sorted(everything())), inner),
    max_leaves=20,
)


@given(JSON)
def test_any_json_reads_or_is_refused(document: Any) -> None:
    """The same for JSON that never was a snapshot."""
    survives(document)


@pytest.mark.slow
@given(networks())
def test_random_networks_survive_json(network: Raw) -> None:
    """A network reads the same before it is written as JSON and after."""
    assert parse(json.loads(json.dumps(network))) == parse(network)


def test_a_saved_document_reads_the_same(tmp_path: Path) -> None:
    """So does one that is saved and loaded, and the cycle collector runs again afterwards."""
    path = str(tmp_path / "net.json")
    save(everything(), path)

    assert load(path) == parse(everything(), source=path)
    assert gc.isenabled()
