"""A network ACL stops the packets that open a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.reach.causes import Layer
from sgaudit.rules import acl_paths
from sgaudit.rules.finding import Finding, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each ACL, direction and set of missing ports."""
    return acl_paths.findings(context, RULE.id, (Layer.ACL_OUT, Layer.ACL_IN))


RULE = Rule(
    id="acl-blocks-path",
    title="A network ACL stops a path that the cluster needs",
    severity=Severity.ERROR,
    why=(
        "Between two subnets a packet passes the egress entries of the one ACL and the ingress entries of the other. "
        "Entries are asked by number and the first that matches decides, so an allow behind a deny does nothing."
    ),
    remedy="Add an entry that allows the ports, with a number below that of the entry that denies.",
    sources=("VPC user guide, Network ACLs",),
    check=check,
)
