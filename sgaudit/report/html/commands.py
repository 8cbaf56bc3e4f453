"""The operations of a plan as lines for a shell, to be copied from the page."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from sgaudit.fix.emit import shell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.fix.plan import Plan


def commands(plan: Plan, fingerprint: str = "") -> str:
    """
    Write operations as calls of the AWS CLI, one a line.

    Args:
        plan: whose operations.
        fingerprint: of a finding: only what helps to cure it; what that refers to comes along.
    """
    wanted = {item.id for item in plan.operations if not fingerprint or fingerprint in item.findings}
    for item in reversed(plan.operations):
        if item.id in wanted:
            wanted.update(shell.referred(item.call.params))
    return "\n".join(_lines(plan, wanted))


def _lines(plan: Plan, wanted: set[str]) -> Iterator[str]:
    variables = {item.id: f"id_of_{item.id.replace('-', '_')}" for item in plan.operations}
    for item in plan.operations:
        if item.id in wanted:
            name, body = shell.command(item.call.api), shell.word(item.call.params, variables)
            region = f" --region {shlex.quote(plan.region)}" if plan.region else ""
            call = f"aws ec2 {name}{region} --cli-input-json {body}"
            created = item.call.api.startswith("Create") and item.id in _referred(plan)
            yield f'{variables[item.id]}="$({call} --query {_ID[item.call.api]} --output text)"' if created else call


def _referred(plan: Plan) -> set[str]:
    return {name for item in plan.operations for name in shell.referred(item.call.params)}


_ID = {"CreateSecurityGroup": "GroupId", "CreateManagedPrefixList": "PrefixList.PrefixListId"}
