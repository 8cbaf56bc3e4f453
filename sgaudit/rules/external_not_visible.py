"""Whether a peer outside the cluster is reached can't be known from what was read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.model import GroupPeer
from sgaudit.reach.external_values import Place
from sgaudit.rules import words
from sgaudit.rules.external_paths import FAR, FAR_ACLS, NEAR_ACLS, ROUTES, Path, paths
from sgaudit.rules.finding import Finding, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.rules.context import Context

LOOK = "Look at it by hand; sgaudit can't see through it and takes neither side."


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each filter that leaves a need in doubt."""
    for path in paths(context, certain=False):
        why, remedy = _doubt(path)
        yield Finding(
            rule=RULE.id,
            severity=RULE.severity,
            title=f"not visible whether {path.traffic} passes between members and {path.requirement.peer_name}",
            message=f"{words.sentence(path.members)} and {path.peer}, {path.traffic}: {why}.",
            remedy=remedy,
            resource=path.resource,
            pairs=path.count,
            evidence=path.evidence(),
            identity=path.identity,
        )


def _doubt(path: Path) -> tuple[str, str]:
    """Say what is not known, and how to make it known."""
    place = path.gap.place
    if place in (Place.GROUPS, Place.PEER_GROUPS):
        return _groups(path)
    if place in (*NEAR_ACLS, *FAR_ACLS):
        if path.resource.type == "network-acl":
            return f"{path.resource.id} admits a part of where the peer may be", LOOK
        return f"the network ACL of {path.resource.id} could not be read", _allow("DescribeNetworkAcls")
    if place not in ROUTES:
        return "their interfaces could not be read", _allow("DescribeNetworkInterfaces")
    if path.resource.type == "route-table":
        whose = "the peer's subnet" if place in FAR else "their subnet"
        return f"the routes of {whose} ({path.resource.id}) lead to where sgaudit can't see", LOOK
    return f"the route table of {path.resource.id} could not be read", _allow("DescribeRouteTables")


def _groups(path: Path) -> tuple[str, str]:
    snapshot, groups = path.context.snapshot, path.gap.groups
    holder = words.groups_label(snapshot, groups)
    if groups is None or any(item not in (snapshot.security_groups or {}) for item in groups):
        return f"{holder} could not be read", _allow("DescribeSecurityGroups")
    if path.gap.place is Place.GROUPS and isinstance(path.requirement.peer, GroupPeer):
        return (
            f"{holder} admits some addresses, and which ones the peer has is not in the snapshot",
            "Admit the peer's group itself, or add the peer's interfaces (DescribeNetworkInterfaces) to the snapshot.",
        )
    return (
        f"what {holder} admits depends on a prefix list or an interface that could not be read",
        "Allow ec2:GetManagedPrefixListEntries to the role that sgaudit runs as, or read the whole VPC; scan again.",
    )


def _allow(operation: str) -> str:
    return f"Allow ec2:{operation} to the role that sgaudit runs as, and scan again."


RULE = Rule(
    id="external-not-visible",
    title="Whether a peer outside the cluster is reached can't be known",
    severity=Severity.ERROR,
    why=(
        "What can't be read is neither open nor blocked. Behind a transit gateway, a virtual private gateway or a "
        "middlebox, and behind a group whose addresses are not in the snapshot, sgaudit does not see the way."
    ),
    remedy="Allow the IAM action that is named and scan again, or look at the resource by hand.",
    sources=(
        "VPC user guide, Security group rules",
        "IAM, Actions, resources, and condition keys for Amazon EC2",
    ),
    check=check,
)
