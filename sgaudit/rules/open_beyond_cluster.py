"""Ports that a policy keeps to the cluster can be dialled by other machines of the private network."""

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
    """Report each group that lets neighbours in on ports that the policies' exposure sections forbid."""
    questions = [Question.of(item) for item in context.requirements.exposures]
    for group_id in groups_at(context) if questions else ():
        worldly = {hit.permission for hit in hits(context, group_id, questions, Zone.WORLD)}
        near = hits(context, group_id, questions, Zone.NEIGHBOURS)
        if found := [hit for hit in near if hit.permission not in worldly]:
            yield Exposed(context, group_id, found).finding(RULE)


RULE = Rule(
    id="open-beyond-cluster",
    title="Ports of the cluster are open to neighbours",
    severity=Severity.ERROR,
    why=(
        "Other machines of the private network reach ports that only members need. Neighbours are private addresses "
        "(RFC 1918, RFC 6598, RFC 4193), the blocks of the VPC and of peered ones, and machines outside the cluster "
        "that carry a group which a permission names. It is as grave as the policy says (a note in those that are "
        "shipped), and at least a warning where addresses outside the VPC's own blocks are let in. Where the policy "
        "asks for a note only, addresses in the members' own subnets are left out. A permission that lets the world in "
        "as well is reported as that."
    ),
    remedy=(
        "Replace these permissions by one whose source is the group itself, or give the others a group of their own. "
        "Who has to dial in is named in the policy, as a peer or an exception."
    ),
    sources=("Amazon VPC User Guide, security group rules", "Amazon VPC User Guide, VPC peering"),
    check=check,
)
