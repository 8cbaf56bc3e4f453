"""Ctrl-C stops an apply after the call that is under way, and pressed twice at once."""

from __future__ import annotations

import os
import signal

import pytest

from sgaudit.cli.applying import interruptible
from sgaudit.cli.run import Output

QUIET = Output("-", no_color=True, quiet=True)


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_once() -> None:
    """The first is remembered, and ends waiting; afterwards Ctrl-C does what it did before."""
    before = signal.getsignal(signal.SIGINT)

    with interruptible(QUIET) as (stopped, sleep):
        sleep(0)
        assert not stopped()
        press()
        assert stopped()
        with pytest.raises(KeyboardInterrupt):
            sleep(1)

    assert signal.getsignal(signal.SIGINT) is before


def test_twice() -> None:
    """The second one breaks off."""
    with interruptible(QUIET):
        press()
        with pytest.raises(KeyboardInterrupt):
            press()
