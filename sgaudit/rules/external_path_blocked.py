"""Members don't reach a peer outside the cluster that they need, or it does not reach them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.model import Cidr, GroupPeer
from sgaudit.ports import NONE
from sgaudit.reach.external_values import Place
from sgaudit.rules import words
from sgaudit.rules.external_paths import ANSWERS, FAR, FAR_ACLS, NEAR_ACLS, ROUTES, Path, paths, peer_text
from sgaudit.rules.finding import Finding, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.ports import PortSet
    from sgaudit.rules.context import Context

OTHER_REMEDIES = {
    (place, outbound): remedy
    for place, dialling, dialled in (
        (
            Place.PUBLIC_ADDRESS,
            "Route by a NAT gateway, or give these members public addresses.",
            "Dial by a bastion or a VPN and name its address as the peer, or give these members public addresses.",
        ),
        (Place.FABRIC, *["Start these members with an EFA interface, or leave the need out."] * 2),
        (Place.ADDRESS, *["Give these members an address of the family, or name the peer by the other family."] * 2),
    )
    for outbound, remedy in ((True, dialling), (False, dialled))
}


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each filter that fails a need."""
    for path in paths(context, certain=True):
        yield _finding(path)


def _finding(path: Path) -> Finding:
    requirement = path.requirement
    way = "can't dial it" if requirement.outbound else "can't be dialled from there"
    title, cause = _cause(path)
    return Finding(
        rule=RULE.id,
        severity=requirement.severity,
        title=title,
        message=(
            f"{words.sentence(cause)}; {words.number(path.count, 'member')} {way}. "
            f"{words.reason(requirement.why)}{path.unread_side()}"
        ),
        remedy=_remedy(path),
        resource=path.resource,
        pairs=path.count,
        evidence=path.evidence(),
        identity=path.identity,
    )


def _cause(path: Path) -> tuple[str, str]:
    """Say what fails, as a title and as the beginning of the message."""
    place = path.gap.place
    peer = path.requirement.peer_name
    if place in (Place.GROUPS, Place.PEER_GROUPS):
        return _groups(path)
    if place in (*NEAR_ACLS, *FAR_ACLS):
        return _acl(path)
    if place in ROUTES:
        whose = "the peer's" if place is Place.PEER_ROUTE else "their"
        routes = f"the routes of {whose} subnet ({path.resource.id})"
        return (
            f"no route between members and {peer}",
            f"{path.members}: {routes} don't lead to every address of {path.other_end}",
        )
    if place is Place.PUBLIC_ADDRESS:
        return (
            f"no public address on the way to {peer}" if path.requirement.outbound else f"{peer} has nothing to dial",
            f"{path.members}: no public address, and between them and {path.peer} is an internet gateway",
        )
    what = "no EFA interface" if place is Place.FABRIC else "no address of the family that is needed"
    return f"members have {what}", f"{path.members}: {what}, which {path.peer} needs"


def _groups(path: Path) -> tuple[str, str]:
    far = path.gap.place in FAR
    holder = words.groups_label(path.context.snapshot, path.gap.groups)
    way, preposition = ("out", "to") if path.outward else ("in", "from")
    other = "members" if far else path.requirement.peer_name
    behind = f"{path.requirement.peer_name} behind {holder}" if far else f"{path.members} behind {holder}"
    if str(path.requirement.protocol) == "efa":
        lacks = f"no {path.direction} permission for all protocols names a group of {path.other_end}"
        if not far:
            lacks = f"no {path.direction} permission for all protocols names the group of {path.peer}"
    else:
        each = (
            path.other_end if far or isinstance(path.requirement.peer, GroupPeer) else f"every address of {path.peer}"
        )
        lacks = f"no {path.direction} permission admits {path.traffic} {preposition} {each}"
    return f"{holder} lets no {path.traffic} {way} {preposition} {other}", f"{behind}: {lacks}"


def _acl(path: Path) -> tuple[str, str]:
    place = path.gap.place
    acl = words.named("", path.resource.id)
    way, preposition = ("out", "to") if path.outward else ("in", "from")
    what = "the answers" if place in ANSWERS else path.traffic
    asked = f"{what} ({path.traffic})" if place in ANSWERS else what
    subnets = words.listed([words.subnet_label(path.context.snapshot, subnet) for subnet, _ in path.gap.subnets])
    other = "members" if place in FAR else path.requirement.peer_name
    return (
        f"{acl} stops {what} {preposition} {other}",
        f"{acl} of {subnets} does not let {asked} {way} {preposition} {path.other_end}",
    )


def _remedy(path: Path) -> str:
    place = path.gap.place
    if place in (Place.GROUPS, Place.PEER_GROUPS):
        return _permission(path)
    if place in (*NEAR_ACLS, *FAR_ACLS):
        peer = path.requirement.peer
        preposition = "to" if path.outward else "from"
        toward = peer_text(peer) if isinstance(peer, Cidr) and place not in FAR else path.other_end
        return (
            f"Add to {path.resource.id} an {path.direction} entry that allows {path.traffic} {preposition} {toward}, "
            "with a number below those that deny it."
        )
    if place in ROUTES:
        return f"Give {path.resource.id} an active route to {path.other_end}."
    return OTHER_REMEDIES[place, path.requirement.outbound]


def _permission(path: Path) -> str:
    snapshot, peer = path.context.snapshot, path.requirement.peer
    holder = words.group_label(snapshot, path.resource.id) if path.resource.id else ""
    preposition = "to" if path.outward else "from"
    if path.gap.place in FAR:
        shared = words.common_groups(path.context.matrix, path.gap.members)
        toward = words.group_label(snapshot, shared[0]) if shared else "the groups of these members"
    else:
        toward = words.group_label(snapshot, peer.group_id) if isinstance(peer, GroupPeer) else peer_text(peer)
    if not holder:
        return f"Put a security group that admits {path.traffic} {preposition} {toward} on these interfaces."
    what = "all protocols" if str(path.requirement.protocol) in ("efa", "all") else path.traffic
    add = f"dd to {holder} an {path.direction} permission for {what} {preposition} {toward}."
    welcome = _welcome(path)
    if welcome:
        return f"Put {words.group_label(snapshot, welcome)}, which {holder} admits, on these interfaces; or a{add}"
    return f"A{add}"


def _welcome(path: Path) -> str:
    """Name a group that the peer admits and other members carry; nothing if there is none."""
    group = (path.context.snapshot.security_groups or {}).get(path.resource.id)
    if group is None or path.gap.place is not Place.PEER_GROUPS or str(path.requirement.protocol) in ("efa", "all"):
        return ""
    admitted: dict[str, PortSet] = {}
    for row in group.egress if path.outward else group.ingress:
        if isinstance(row.peer, GroupPeer):
            known = admitted.get(row.peer.group_id, NONE)
            admitted[row.peer.group_id] = known | row.admitted(str(path.requirement.protocol))
    carriers = path.context.matrix.node_set.by_group
    found = [item for item in sorted(admitted) if path.gap.missing <= admitted[item] and carriers.get(item)]
    return found[0] if found else ""


RULE = Rule(
    id="external-path-blocked",
    title="A peer outside the cluster is cut off",
    severity=Severity.ERROR,
    why=(
        "File systems, control planes and administrators are no members, and jobs hang without them all the same. The "
        "need holds only when every port is open to every address of the peer, and the answers come back: the "
        "security groups of both ends, the network ACLs both ways, and a route that is active. An active route to a "
        "gateway or a peered VPC counts as leading to the addresses that it names; by an internet gateway only members "
        "with a public address pass. Where no interface of a peer's group was read, that group alone stands for it."
    ),
    remedy="Add the permission, ACL entry or route that is named, at the end that is named.",
    sources=(
        "VPC user guide, Security group rules",
        "VPC user guide, Network ACLs, ephemeral ports",
        "FSx for Lustre user guide, File system access control with Amazon VPC",
        "EFS user guide, Using VPC security groups",
    ),
    check=check,
)
