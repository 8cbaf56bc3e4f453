"""
What an EC2 request of a plan does, told by reading the account.

The run of an operation is: observe, call, observe again. What is there afterwards and was not before, the
run has made; that holds whether the call was answered, timed out, or was cut off by a crash.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sgaudit.fix.plan import Call

Raw = Mapping[str, Any]
Read = Callable[[str, Raw], Sequence[Raw]]
Seen = dict[str, Any]
"""What was observed, JSON-ready: it goes to the journal."""
Made = dict[str, Any]
"""What the run has made, by ids; empty when nothing."""


@dataclass(frozen=True, slots=True)
class Undo:
    """What has to be done to take back what an operation has made."""

    call: Call | None
    """None when there is nothing to do (any more)."""
    left: tuple[str, ...] = ()
    """What is left as it is, and why."""


class Effect(ABC):
    """One kind of request."""

    @abstractmethod
    def observe(self, read: Read, params: Raw) -> Seen:
        """Read what the request is about."""

    @abstractmethod
    def complete(self, params: Raw, seen: Seen) -> bool:
        """Tell whether all that the request asks for is so."""

    def stale(self, params: Raw, inverse: Raw | None, seen: Seen) -> str:
        """Tell what stands in the way, in words; empty when the request can be made."""
        del params, inverse, seen
        return ""

    def narrowed(self, params: Raw, seen: Seen) -> Raw:
        """Leave out of the request what is so already."""
        del seen
        return params

    def doubtful(self, params: Raw, seen: Seen, fresh: frozenset[str]) -> bool:
        """Tell whether what was seen may only be that something `fresh` is not known everywhere yet."""
        del params, seen, fresh
        return False

    @abstractmethod
    def answered(self, params: Raw, seen: Seen, answer: Raw) -> Seen | None:
        """Tell what is so by the answer, given what was seen before it; None when only reading tells."""

    @abstractmethod
    def made(self, params: Raw, before: Seen, after: Seen) -> Made:
        """Tell what is so now and was not before."""

    @abstractmethod
    def undo(self, read: Read, made: Made, own: frozenset[str]) -> Undo:
        """Tell how to take back what was made, if it is still as it was made; `own` are ids that the run made."""


def where(name: str, value: str) -> dict[str, Any]:
    """Write a filter that one value passes."""
    return {"Filters": [{"Name": name, "Values": [value]}]}
