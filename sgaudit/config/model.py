"""What a configuration file says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

EVERY_RULE = "*"


@dataclass(frozen=True, slots=True)
class Suppression:
    """Findings that somebody looked at and accepted."""

    rule: str
    """A rule's id, or `*`."""
    scope: tuple[str, ...]
    """Fingerprints, and ids of resources with `*` and `?` as in EC2 filters; any of them."""
    reason: str
    owner: str = ""
    expires: date | None = None
    """The last day on which it holds, in UTC."""
    at: str = ""
    """File and line."""

    @property
    def label(self) -> str:
        """What it is about, in a few words."""
        return f"{'every rule' if self.rule == EVERY_RULE else self.rule} for {', '.join(self.scope)}"


@dataclass(frozen=True, slots=True)
class Parameter:
    """The value of a policies' parameter, and where it stands."""

    value: str
    at: str
    """File, line and column."""


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration file; empty where there is none."""

    file: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What stands for options of the command line, by the names of `file.OPTIONS`; only what is given."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    suppressions: tuple[Suppression, ...] = ()
