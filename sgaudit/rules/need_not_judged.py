"""Something that a policy asks for could not be judged, or there was nothing to judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each need that was skipped, and one where no pair of members was judged at all."""
    for skipped in context.requirements.skipped:
        yield Finding(
            rule=RULE.id,
            severity=Severity.NOTE if skipped.external else RULE.severity,
            title=f"{skipped.need} of {skipped.policy} was not judged",
            message=f"The policy {skipped.policy} asks for {skipped.need}, and that was not judged: {skipped.reason}.",
            remedy="Set what is missing, or accept that it is not judged with a suppression.",
            resource=Resource("need", f"{skipped.policy}/{skipped.need}"),
            pairs=0,
            evidence={"policy": skipped.policy, "need": skipped.need, "reason": skipped.reason},
        )
    if any(judged.verdicts.pairs for judged in context.judged) or context.external:
        return
    members = len(context.matrix.node_set.by_instance)
    policies = words.listed(context.requirements.policies)
    if members == 1:
        why, remedy = "there is one member", "Check that the selection picks the whole cluster."
    else:
        why, remedy = f"{policies} asks for nothing between members", "Take the policy of a framework beside it."
    yield Finding(
        rule=RULE.id,
        severity=RULE.severity,
        title="No pair of members was judged",
        message=f"No pair of members was judged, since {why}.",
        remedy=remedy,
        resource=Resource("cluster", policies),
        pairs=0,
        evidence={"members": members, "policies": list(context.requirements.policies)},
    )


RULE = Rule(
    id="need-not-judged",
    title="Something that a policy asks for was not judged",
    severity=Severity.WARNING,
    why=(
        "A need between members whose parameter is not set, or whose role nobody has, says nothing about the "
        "cluster. A scan that passes has not looked at it; --fail-on warning makes that count. For a peer outside "
        "the cluster it is a note."
    ),
    remedy="Set the parameter that is named with --set, give members the role, or suppress the finding with a reason.",
    sources=("sgaudit documentation, Policies",),
    check=check,
)
