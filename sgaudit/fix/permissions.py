"""Asking EC2 whether each call of a plan would be allowed, without making it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sgaudit.errors import CallError, Failure
from sgaudit.fix.changer import Changer
from sgaudit.fix.effects import references
from sgaudit.fix.plan import Operation, Plan

ALLOWED_CODE = "DryRunOperation"
DENIED_CODES = frozenset({"UnauthorizedOperation", "AccessDenied", "AccessDeniedException"})
HARMLESS_ELSEWHERE = frozenset(
    {
        "AuthorizeSecurityGroupEgress",
        "AuthorizeSecurityGroupIngress",
        "CreateSecurityGroup",
        "ModifyNetworkInterfaceAttribute",
        "RevokeSecurityGroupEgress",
        "RevokeSecurityGroupIngress",
    }
)
"""Calls whose dry run emulators know; others they carry out."""


class Permitted(StrEnum):
    """Whether a call would be allowed."""

    ALLOWED = "allowed"
    DENIED = "denied"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Checked:
    """What EC2 says of one operation."""

    operation: Operation
    permitted: Permitted
    code: str
    """EC2's answer, or why it was not asked."""


def check(plan: Plan, changer: Changer) -> tuple[Checked, ...]:
    """Ask for each operation. EC2 judges the caller's permissions, not whether the request makes sense."""
    return tuple(Checked(operation, *_ask(operation, changer)) for operation in plan.operations)


def _ask(operation: Operation, changer: Changer) -> tuple[Permitted, str]:
    waits_for = references(operation.call.params)
    if waits_for:
        return Permitted.UNKNOWN, f"needs what {', '.join(sorted(waits_for))} creates"
    if not changer.is_aws and operation.call.api not in HARMLESS_ELSEWHERE:
        return Permitted.UNKNOWN, "not asked: this endpoint is not AWS, and might carry it out"
    try:
        code = changer.ask(operation.call.api, operation.call.params)
    except CallError as error:
        denied = error.failure is Failure.DENIED
        return (Permitted.DENIED if denied else Permitted.UNKNOWN), error.code
    if code == ALLOWED_CODE:
        return Permitted.ALLOWED, code
    return (Permitted.DENIED if code in DENIED_CODES else Permitted.UNKNOWN), code
