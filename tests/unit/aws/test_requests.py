"""How the values of a filter are spread over calls."""

from __future__ import annotations

import pytest

from sgaudit.aws.members import _criteria
from sgaudit.aws.reader import requests, where
from sgaudit.selection import TagFilter


@pytest.mark.parametrize(
    ("count", "others", "sizes"),
    [
        (0, 0, []),
        (1, 0, [1]),
        (200, 0, [200]),
        (201, 0, [200, 1]),
        (200, 2, [198, 2]),
        (3, 199, [1, 1, 1]),
        (2, 250, [1, 1]),
    ],
)
def test_requests(count: int, others: int, sizes: list[int]) -> None:
    """A call takes 200 values, those of its other filters counted; order and number are kept."""
    values = [f"i-{n}" for n in range(count)]
    other = [where("tag-key", [f"k{n}" for n in range(others)])] if others else []

    calls = requests("instance-id", values, other)

    assert [len(call["Filters"][0]["Values"]) for call in calls] == sizes
    assert [value for call in calls for value in call["Filters"][0]["Values"]] == values
    assert all(call["Filters"][1:] == other for call in calls)


@pytest.mark.parametrize(
    ("tags", "vpc_ids", "filters"),
    [
        ([], [], []),
        (["a=1,2"], ["vpc-1"], [where("vpc-id", ["vpc-1"]), where("tag:a", ["1", "2"])]),
        (["a", "b"], [], [where("tag-key", ["a"])]),
        (["a=1*", "a=*2"], [], [where("tag:a", ["1*"])]),
        (["a=" + ",".join(map(str, range(101)))], [], []),
        (["a=" + ",".join(map(str, range(51))), "b=1"], [], [where("tag:b", ["1"])]),
    ],
)
def test_criteria(tags: list[str], vpc_ids: list[str], filters: list[object]) -> None:
    """Each filter name goes once, and only while all of them leave room for ids."""
    assert _criteria([TagFilter.parse(tag) for tag in tags], vpc_ids) == filters
