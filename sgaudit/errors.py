"""
Every error that sgaudit raises on purpose, and the exit code that each stands for.

```
SgauditError
 +-- UsageError               2   options that don't go together, unreadable values
 +-- PolicyError              2   a policy or configuration file is wrong
 +-- SnapshotError            2   a snapshot is unreadable or has a wrong value
 +-- EmptySelectionError      3   no instance matches the selection
 +-- CollectError             4   AWS could not be read at all
 +-- InternalError           70   a fault of sgaudit itself
```

The command line catches `SgauditError` in one place, prints `error: <message>` and `hint: <hint>`,
and leaves with `exit_code`.
"""

from typing import ClassVar


class SgauditError(Exception):
    """The root: a message that says what is wrong and where, and a hint that says what to do."""

    exit_code: ClassVar[int] = 70

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(SgauditError):
    """Options that don't go together, or a value on the command line that can't be read."""

    exit_code = 2


class PolicyError(SgauditError):
    """A policy file is wrong; the message begins with `file:line:column`."""

    exit_code = 2


class SnapshotError(SgauditError):
    """A snapshot can't be read; the message names the file, the path in the JSON and the value."""

    exit_code = 2


class EmptySelectionError(SgauditError):
    """No instance matches the selection."""

    exit_code = 3


class CollectError(SgauditError):
    """AWS could not be read at all: no credentials, no such region, no answer."""

    exit_code = 4


class InternalError(SgauditError):
    """A promise that sgaudit makes about itself does not hold."""

    exit_code = 70
