"""A suppression hides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from sgaudit.config.model import Suppression


def finding(suppression: Suppression) -> Finding:
    """Tell that a suppression matches no finding."""
    return Finding(
        rule=RULE.id,
        severity=RULE.severity,
        title=f"The suppression of {suppression.label} matches nothing",
        message=f"{suppression.at}: no finding matches it. Its reason is: {suppression.reason}",
        remedy="Delete it, or correct its rule or its scope.",
        resource=Resource("suppression", suppression.label),
        pairs=0,
        evidence={
            "at": suppression.at,
            "reason": suppression.reason,
            "owner": suppression.owner,
            "expires": str(suppression.expires or ""),
        },
        identity=(suppression.reason,),
    )


RULE = Rule(
    id="suppression-unused",
    title="A suppression matches no finding",
    severity=Severity.NOTE,
    why=(
        "What it was written for is cured, or it is misspelt. Left in place it may one day hide something that "
        "nobody has looked at."
    ),
    remedy="Delete it, or correct its rule or its scope.",
    sources=("sgaudit, Configuration: suppressions",),
    # It is about the configuration, which `suppress` compares with what the other rules found.
    check=lambda _: (),
)
