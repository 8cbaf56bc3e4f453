"""Pick rules by their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.errors import UsageError
from sgaudit.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgaudit.rules.finding import Rule


def find(rule_id: str, option: str = "") -> Rule:
    """
    Give the rule of an id.

    Raises:
        UsageError: there is none; the message begins with the option that named it.
    """
    for rule in RULES:
        if rule.id == rule_id:
            return rule
    # Brings pydantic along, which only a mistake pays for.
    from sgaudit.policy.mistakes import did_you_mean

    near = did_you_mean(rule_id, [rule.id for rule in RULES])
    raise UsageError(
        f"{option}{' ' if option else ''}{rule_id!a}: no rule has this id{near}", hint="`sgaudit rules` lists them"
    )


def choose(select: Sequence[str], ignore: Sequence[str]) -> tuple[Rule, ...]:
    """
    Give the rules to ask: those selected, or all, without those ignored.

    Raises:
        UsageError: an id is unknown, or no rule is left.
    """
    wanted = {find(rule_id, "--select").id for rule_id in select} or {rule.id for rule in RULES}
    wanted -= {find(rule_id, "--ignore").id for rule_id in ignore}
    if not wanted:
        raise UsageError("--select and --ignore leave no rule to ask", hint="select one that is not ignored")
    return tuple(rule for rule in RULES if rule.id in wanted)
