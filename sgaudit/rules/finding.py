"""What a rule is, and what it finds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sgaudit.severity import Severity

if TYPE_CHECKING:
    from sgaudit.ports import PortSet
    from sgaudit.rules.context import Context


class Fix(StrEnum):
    """Whether sgaudit can cure a finding."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Resource:
    """The AWS resource that a finding is about."""

    type: str
    """`security-group`, `network-acl`, `route-table`, `network-interface`, `instance`, `subnet`, ..."""
    id: str


@dataclass(frozen=True, slots=True)
class Example:
    """One of the pairs that a finding is about, by instance ids."""

    source: str
    target: str
    ports: PortSet
    """Those that are missing between the two at this place."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a rule found: one cause, for all pairs that it concerns."""

    rule: str
    severity: Severity
    title: str
    """One line, without the details."""
    message: str
    """What one would tell a colleague."""
    remedy: str
    """What to do about it."""
    resource: Resource
    pairs: int
    """Ordered pairs of judged interfaces that are concerned."""
    examples: tuple[Example, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    """JSON-ready facts that decided."""
    identity: tuple[str, ...] = ()
    """What tells it from other findings of its rule about its subject, from one run to the next."""
    subject: tuple[str, ...] = ()
    """What it is about, for the fingerprint; the resource, unless that is just one of several to choose from."""
    fix: Fix = Fix.NONE
    suppressed: bool = False

    @property
    def fingerprint(self) -> str:
        """The same for the same cause, however many members it concerns today."""
        subject = self.subject or (self.resource.type, self.resource.id)
        parts = (self.rule, *subject, *self.identity)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing to look for."""

    id: str
    title: str
    severity: Severity
    """The severity that its findings have at most."""
    why: str
    """What it means for the cluster."""
    remedy: str
    """What to do, in general."""
    sources: tuple[str, ...]
    """Where it is written that AWS or the framework behaves so."""
    check: Callable[[Context], Iterable[Finding]]
