"""A network ACL stops the answers to a connection."""

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
    """Report one finding for each ACL, direction and set of missing client ports."""
    return acl_paths.findings(context, RULE.id, (Layer.RETURN_OUT, Layer.RETURN_IN))


RULE = Rule(
    id="acl-blocks-return",
    title="A network ACL forgets the way back",
    severity=Severity.ERROR,
    why=(
        "Network ACLs are stateless. The answer of a connection goes to the port from which the client dialled, "
        "which its kernel picks; where not all of these may pass, connections hang, or hang now and then."
    ),
    remedy="Allow the whole client port range for the answers, out of the target's subnet and into the source's.",
    sources=("VPC user guide, Network ACLs, Ephemeral ports", "Linux kernel, ip-sysctl, ip_local_port_range"),
    check=check,
)
