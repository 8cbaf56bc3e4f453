"""Python's cycle collector rests while answers pile up."""

from __future__ import annotations

import gc

import pytest

from sgaudit.heap import collector_at_rest


@pytest.mark.parametrize("enabled", [True, False])
def test_collector(enabled: bool) -> None:
    """It is off within the block, and as it was after it, also when the block fails."""
    before = gc.isenabled()
    states = []

    def fail() -> None:
        with collector_at_rest():
            states.append(gc.isenabled())
            raise KeyError

    (gc.enable if enabled else gc.disable)()
    try:
        with pytest.raises(KeyError):
            fail()
        states.append(gc.isenabled())
    finally:
        (gc.enable if before else gc.disable)()

    assert states == [False, enabled]
