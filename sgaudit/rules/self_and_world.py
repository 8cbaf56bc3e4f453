"""A group admits itself, and the world on the same ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.model import GroupPeer
from sgaudit.ports import NONE, PortSet
from sgaudit.reach.security_groups import stale
from sgaudit.rules.exposed import Exposed
from sgaudit.rules.finding import Finding, Rule
from sgaudit.rules.openings import Question, Zone, groups_at, hits, wide
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.model import SecurityGroup
    from sgaudit.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    """Report each group whose permission for itself is hidden in, or hides, one for the world."""
    for group_id in groups_at(context):
        group = (context.snapshot.security_groups or {}).get(group_id)
        ports = _from_itself(group) if group else ()
        if not ports:
            continue
        found = wide(hits(context, group_id, [Question("self", ports, RULE.severity)], Zone.WORLD))
        if found:
            yield Exposed(context, group_id, found).finding(RULE, also="itself")


def _from_itself(group: SecurityGroup) -> tuple[tuple[str, PortSet], ...]:
    found = {"tcp": NONE, "udp": NONE}
    for row in group.ingress:
        if isinstance(row.peer, GroupPeer) and row.peer.group_id == group.group_id and not stale(row.peer):
            for protocol in found:
                found[protocol] |= row.admitted(protocol)
    return tuple((protocol, ports) for protocol, ports in found.items() if ports)


RULE = Rule(
    id="self-and-world",
    title="A group is open to itself and, on the same ports, to the world",
    severity=Severity.WARNING,
    why=(
        "The permission for the group itself is what the cluster needs; the one for the world beside it makes it "
        "pointless. A review that stops at the first source, or at `self`, overlooks the other one: each source "
        "counts by itself. Open to the world means more public addresses than one organisation was ever given (an "
        "IPv4 /8, an IPv6 /16), after the network ACL. Where the members can't be dialled from the internet it is "
        "a note."
    ),
    remedy="Revoke the permissions for public addresses and leave the group itself as the source.",
    sources=("bridgecrewio/checkov, self-referencing ingress rules", "Amazon VPC User Guide, security group rules"),
    check=check,
)
