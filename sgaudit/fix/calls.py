"""Calls of AWS that wait: for its rate limits, and for what was created to become visible everywhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from sgaudit.errors import CallError, Failure
from sgaudit.fix.changer import Changer, Raw

Sleep = Callable[[float], None]
TRIES = 5
LONGEST_WAIT = 16.0
BURST = 20
"""Changes that are made without a pause; EC2 lets 50 pass at once and refills 5 a second (API throttling)."""
PAUSE = 0.25


def wait_before(attempt: int) -> float:
    """Tell for how many seconds to wait before the next attempt, the first being 1."""
    return min(LONGEST_WAIT, float(2 ** (attempt - 1)))


class Calls:
    """The calls of one run."""

    def __init__(self, changer: Changer, sleep: Sleep = time.sleep) -> None:
        self._changer = changer
        self.sleep = sleep
        self._changes = 0

    def read(self, api: str, params: Raw) -> Sequence[Raw]:
        """
        Read, again when AWS throttles or does not answer.

        Raises:
            CallError: it could not be read for good.
        """
        for attempt in range(1, TRIES):
            try:
                return self._changer.read(api, params)
            except CallError as error:
                if error.failure not in (Failure.THROTTLED, Failure.UNANSWERED):
                    raise
            self.sleep(wait_before(attempt))
        return self._changer.read(api, params)

    def change(self, api: str, params: Raw) -> Raw:
        """
        Make a change, again when AWS throttles: nothing was changed then.

        Raises:
            CallError: it was refused, or its outcome is unknown.
        """
        self._changes += 1
        if self._changes > BURST:
            self.sleep(PAUSE)
        for attempt in range(1, TRIES):
            try:
                return self._changer.change(api, params)
            except CallError as error:
                if error.failure is not Failure.THROTTLED:
                    raise
            self.sleep(wait_before(attempt))
        return self._changer.change(api, params)
