"""Judging a plan's cluster as it was judged when the plan was made; all that it needs is read before any change."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgaudit.errors import UsageError
from sgaudit.model import Family
from sgaudit.ports import CLIENT_PORTS, PortSet
from sgaudit.reach.verdict import Verdict
from sgaudit.rules import words
from sgaudit.rules.audit import Audit, audit
from sgaudit.selection import Interfaces, Selection, TagFilter, select

if TYPE_CHECKING:
    from sgaudit.fix.plan import Plan
    from sgaudit.model import Member, Snapshot
    from sgaudit.policy.model import Policy, Requirements

LOOKS_AFTER = (0.0, 2.0, 4.0, 8.0)
"""Seconds before each look at the result: what was changed becomes visible everywhere with a small delay."""


def selection_of(plan: Plan) -> Selection:
    """
    Give the selection that a plan was made with.

    Raises:
        UsageError: it can't be read.
    """
    raw = plan.selection
    try:
        return Selection(
            tags=tuple(TagFilter.parse(str(text)) for text in raw.get("tags", ())),
            instance_ids=tuple(raw.get("instance_ids", ())),
            vpc_ids=tuple(raw.get("vpc_ids", ())),
            security_groups=tuple(raw.get("security_groups", ())),
            everything=bool(raw.get("all", False)),
            include_stopped=bool(raw.get("include_stopped", False)),
            interfaces=Interfaces(raw.get("interfaces", Interfaces.PRIMARY)),
            family=Family(raw.get("family", Family.IPV4)),
        )
    except (TypeError, ValueError) as error:
        raise UsageError(f"the plan's selection can't be read: {error}", hint="make a new plan") from error


@dataclass(frozen=True, slots=True)
class Judge:
    """What a plan was made for, ready to be asked of any reading of the account."""

    plan: Plan
    selection: Selection
    policies: tuple[Policy, ...]
    parameters: dict[str, str]
    head: str
    client_ports: PortSet

    @classmethod
    def of(cls, plan: Plan) -> Judge:
        """
        Read the selection, the policies and the settings of a plan.

        Raises:
            PolicyError: a policy is missing or wrong.
            UsageError: the plan has none, or a setting is wrong.
        """
        from sgaudit.policy.load import load
        from sgaudit.policy.settings import Settings

        settings = plan.settings
        if not settings.get("policies"):
            raise UsageError(
                "the plan's settings name no policies, so nobody could see whether it cures",
                hint="make a new plan with sgaudit fix --dry-run --out FILE",
            )
        policies = tuple(load(name) for name in settings["policies"])
        parameters = dict(settings.get("parameters") or {})
        Settings.read(policies, parameters)
        ports = settings.get("client_ports")
        try:
            client_ports = PortSet.parse(ports) if ports else CLIENT_PORTS
        except ValueError as error:
            raise UsageError(f"the plan's client ports can't be read: {error}", hint="make a new plan") from error
        return cls(plan, selection_of(plan), policies, parameters, settings.get("head") or "", client_ports)

    def requirements(self, snapshot: Snapshot) -> tuple[tuple[Member, ...], Requirements]:
        """
        Give the members and what they need.

        Raises:
            EmptySelectionError: there are no members.
            UsageError: the head is none of them.
        """
        from sgaudit.policy.resolve import resolve

        members = select(snapshot, self.selection)
        return members, resolve(self.policies, members, settings=self.parameters, head=self.head or None)

    def audit(self, snapshot: Snapshot) -> Audit:
        """
        Judge a reading.

        Raises:
            EmptySelectionError: there are no members any more.
            UsageError: the head is none of them.
        """
        members, requirements = self.requirements(snapshot)
        return audit(snapshot, self.selection, members, requirements, client_ports=self.client_ports)

    def verify(self, read: Callable[[], Snapshot], *, sleep: Callable[[float], None] = time.sleep) -> Sequence[str]:
        """
        Read again and tell what the plan was to cure and did not; nothing when all is cured.

        Raises:
            SgauditError: it can't be read or judged.
        """
        named = {fingerprint for operation in self.plan.operations for fingerprint in operation.findings}
        remaining: list[str] = []
        for seconds in LOOKS_AFTER:
            sleep(seconds)
            result = self.audit(read())
            remaining = [item.title for item in result.findings if item.fingerprint in named]
            unknown = result.counts[Verdict.UNKNOWN] - self.plan.after.get(str(Verdict.UNKNOWN), 0)
            if unknown > 0:
                remaining.append(f"{words.number(unknown, 'pair')} can't be judged any more")
            if not remaining:
                break
        return remaining
