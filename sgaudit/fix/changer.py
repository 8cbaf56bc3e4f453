"""What applying and rolling back need of AWS; `sgaudit.aws.change` gives it, and tests give another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Raw = Mapping[str, Any]


class Changer(Protocol):
    """One account and Region that can be read and changed. Every failure is a `CallError`."""

    @property
    def is_aws(self) -> bool:
        """Whether it is AWS itself that answers: emulators carry out some calls that ask for a dry run."""

    def read(self, api: str, params: Raw) -> Sequence[Raw]:
        """
        Read one kind of thing, whole.

        Raises:
            CallError: it could not be read.
        """

    def change(self, api: str, params: Raw) -> Raw:
        """
        Make one change, and give the answer with the request id under `RequestId`.

        Raises:
            CallError: it was refused, or nobody knows whether it was made.
        """

    def ask(self, api: str, params: Raw) -> str:
        """
        Ask whether a change would be allowed, and give the code of the answer; `DryRunOperation` means yes.

        Raises:
            CallError: no answer came.
        """
