"""A suppression is past its last day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from sgaudit.config.model import Suppression


def finding(suppression: Suppression, concerned: int) -> Finding:
    """Tell that a suppression has expired, and how many findings count again."""
    now = (
        f"{words.number(concerned, 'finding')} {words.verb(concerned, 'counts', 'count')} again"
        if concerned
        else "nothing matches it any more"
    )
    return Finding(
        rule=RULE.id,
        severity=RULE.severity,
        title=f"The suppression of {suppression.label} has expired",
        message=f"{suppression.at}: it held until {suppression.expires}; {now}. Its reason was: {suppression.reason}",
        remedy=f"Cure what it hid, or look at it again{_with(suppression.owner)} and give it a later day."
        if concerned
        else "Delete it.",
        resource=Resource("suppression", suppression.label),
        pairs=0,
        evidence={
            "at": suppression.at,
            "reason": suppression.reason,
            "owner": suppression.owner,
            "expires": str(suppression.expires),
            "findings": concerned,
        },
        identity=(suppression.reason,),
    )


def _with(owner: str) -> str:
    return f" with {owner}" if owner else ""


RULE = Rule(
    id="suppression-expired",
    title="A suppression is past its last day",
    severity=Severity.WARNING,
    why="Somebody accepted a finding for a while. That while is over, so what it hid counts again.",
    remedy="Cure what it hid, or look at it again and give the suppression a later day and a reason that still holds.",
    sources=("sgaudit, Configuration: suppressions",),
    # It is about the configuration, which `suppress` compares with what the other rules found.
    check=lambda _: (),
)
