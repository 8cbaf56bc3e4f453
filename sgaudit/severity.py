"""How bad a finding is."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """Ordered by weight: `note` < `warning` < `error`."""

    NOTE = "note"
    WARNING = "warning"
    """Works by luck, or will stop working."""
    ERROR = "error"
    """The cluster will not work, or is open to where it must not be."""

    @property
    def rank(self) -> int:
        """A number that grows with the weight."""
        return list(Severity).index(self)
