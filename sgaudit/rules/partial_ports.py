"""A security group admits only some of the ports that a need asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.rules import group_paths
from sgaudit.rules.finding import Finding, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each set of groups, direction and set of missing ports."""
    for stop in group_paths.stops(context, partly=True):
        yield group_paths.finding(context, stop, RULE.id)


RULE = Rule(
    id="partial-ports",
    title="Only some of the needed ports are permitted",
    severity=Severity.ERROR,
    why=(
        "The kernel picks the ports of most training frameworks anew at each start. Where only a part of its range "
        "is open, a job starts on one day and hangs on the next."
    ),
    remedy="Widen the permission to the whole range, or narrow the kernel's range on every member "
    "(net.ipv4.ip_local_port_range) and tell sgaudit so.",
    sources=("VPC user guide, Security group rules", "Linux kernel, ip-sysctl, ip_local_port_range"),
    check=check,
)
