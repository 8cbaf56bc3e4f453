"""Ports that a policy keeps to the cluster can be dialled from public addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.rules.exposed import Exposed
from sgaudit.rules.finding import Finding, Rule
from sgaudit.rules.openings import Question, Zone, groups_at, hits
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    """Report each group that lets public addresses in on ports that the policies' exposure sections forbid."""
    questions = [Question.of(item) for item in context.requirements.exposures]
    for group_id in groups_at(context) if questions else ():
        if found := hits(context, group_id, questions, Zone.WORLD):
            yield Exposed(context, group_id, found).finding(RULE)


RULE = Rule(
    id="open-to-world",
    title="Ports of the cluster are open to public addresses",
    severity=Severity.ERROR,
    why=(
        "Cluster frameworks run what they are sent and ask for no password. What counts is what arrives: every "
        "permission of the group by itself, after the network ACL in its order, over the whole address space of "
        "both families. Public is what is not private (RFC 1918, RFC 6598, RFC 4193), loopback, link-local, "
        "multicast or reserved (RFC 6890), nor a block of the VPC or of a peered one. The network ACL must let "
        "the answer of a TCP connection out to one port at least, since a stranger picks the port to dial from; "
        "for UDP the first packet is enough. A member without a public address, or without a route to an internet "
        "gateway, can't be dialled today: then the finding is latent and one severity lower. What could not be "
        "read counts as open, and the finding says so."
    ),
    remedy=(
        "Revoke these permissions. Members reach one another by a permission whose source is the group itself; "
        "whoever else has to dial in is named in the policy, as a peer or an exception."
    ),
    sources=(
        "Amazon VPC User Guide, security group rules",
        "Amazon VPC User Guide, network ACLs",
        "Amazon VPC User Guide, internet gateways",
        "Ray documentation, security",
    ),
    check=check,
)
