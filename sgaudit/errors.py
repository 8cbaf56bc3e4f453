"""
Every error that sgaudit raises on purpose, and the exit code that each stands for.

```
SgauditError
 +-- UsageError               2   options that don't go together, unreadable values
 +-- PolicyError              2   a policy or configuration file is wrong
 +-- SnapshotError            2   a snapshot is unreadable or has a wrong value
 +-- EmptySelectionError      3   no instance matches the selection
 +-- CollectError             4   AWS could not be read at all
 +-- ApplyError               5   a change was refused, or went through in part
 |    +-- CallError           5   one call of AWS did not do what it should
 +-- StalePlanError           6   the account is no longer as it was when the plan was made
 +-- InternalError           70   a fault of sgaudit itself
```

The command line catches `SgauditError` in one place, prints `error: <message>` and `hint: <hint>`,
and leaves with `exit_code`.
"""

from enum import StrEnum
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


class ApplyError(SgauditError):
    """A change was refused, or went through in part; the message says what is left."""

    exit_code = 5


class Failure(StrEnum):
    """How a call of AWS went wrong, by what it means for the account."""

    REFUSED = "refused"
    """AWS answered that it won't: nothing was changed."""
    DENIED = "denied"
    """The caller may not: nothing was changed."""
    THROTTLED = "throttled"
    """Too many calls: nothing was changed, and later it may go through."""
    UNANSWERED = "unanswered"
    """No usable answer came: the change may have been made or not."""


class CallError(ApplyError):
    """One call of AWS did not do what it should."""

    def __init__(self, message: str, *, code: str, failure: Failure, request_id: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code
        """What AWS answered, or the name of what kept an answer away."""
        self.failure = failure
        self.request_id = request_id


class StalePlanError(SgauditError):
    """The account is no longer as it was when the plan was made."""

    exit_code = 6


class InternalError(SgauditError):
    """A promise that sgaudit makes about itself does not hold."""

    exit_code = 70
