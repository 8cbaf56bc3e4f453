"""The twin of a snapshot, where this machine can make one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packets.lab import Lab

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("packets")


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """The process that holds a twin; the twin goes with it, whatever a test does."""
    if sys.platform != "linux":
        pytest.skip("network namespaces are a thing of Linux")
    with Lab() as made:
        if reason := made.why_not():
            pytest.skip(reason)
        yield made
