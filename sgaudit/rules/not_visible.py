"""Something that a verdict needs could not be read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgaudit.model import PrefixListPeer, RouteTarget
from sgaudit.reach.causes import Cause, Doubt, Layer
from sgaudit.reach.routes import unreadable, winning_route
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.rules.context import Context

OPERATION_OF = {
    "security-group": "DescribeSecurityGroups",
    "prefix-list": "GetManagedPrefixListEntries",
    "network-acl": "DescribeNetworkAcls",
    "route-table": "DescribeRouteTables",
    "vpc-peering-connection": "DescribeVpcPeeringConnections",
    "network-interface": "DescribeNetworkInterfaces",
}
"""The EC2 operation that reads a kind of resource."""
KEY_OF = {
    "security-group": "SecurityGroups",
    "prefix-list": "PrefixListEntries",
    "network-acl": "NetworkAcls",
    "route-table": "RouteTables",
    "vpc-peering-connection": "VpcPeeringConnections",
    "network-interface": "NetworkInterfaces",
}
"""The key of a snapshot that holds it."""


@dataclass(frozen=True, slots=True)
class _Blind:
    """A resource that is not known well enough."""

    type: str
    id: str
    why: str = ""
    """In words, where it is not simply that it was not read."""
    said: str = ""
    """How to speak of it, where its id alone would not do."""

    @property
    def label(self) -> str:
        """What a person would call it."""
        return self.said or self.id


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each kind of resource that is missing, and each thing that can't be seen through."""
    causes: dict[tuple[str, str], list[tuple[_Blind, Cause]]] = defaultdict(list)
    for stop in context.stops:
        if not stop.cause.certain:
            for blind in _blinds(context, stop.cause):
                causes[blind.type, blind.why].append((blind, stop.cause))
    for group in causes.values():
        yield _finding(context, group)


def _finding(context: Context, group: list[tuple[_Blind, Cause]]) -> Finding:
    matrix, snapshot = context.matrix, context.snapshot
    blinds = list(dict.fromkeys(blind for blind, _ in group))
    first = blinds[0]
    # The same pairs can be in doubt at several places; the largest place is a safe lower bound.
    pairs = max(cause.count(matrix) for _, cause in group)
    labels = words.unique(blind.label for blind in blinds)
    names = words.listed(labels)
    operation = OPERATION_OF.get(first.type, "")
    code = snapshot.denied.get(operation)
    if first.why:
        what = f"{names} {first.why}"
        remedy = "Look at it by hand; sgaudit can't see through it and takes neither side."
    elif code:
        what = f"{operation} failed with {code}, so {names} could not be read"
        remedy = f"Allow ec2:{operation} to the role that sgaudit runs as, and scan again."
    else:
        what = f"{names} {words.verb(len(labels), 'is', 'are')} not in the {'snapshot' if snapshot.source else 'data'}"
        remedy = (
            f"Add the answer of {operation} to the snapshot (key {KEY_OF[first.type]}), or read the account again "
            f"with ec2:{operation} allowed."
        )
    return Finding(
        rule=RULE.id,
        severity=RULE.severity,
        title=f"{words.number(len(labels), first.type.replace('-', ' '))} not visible",
        message=(
            f"{what}; at least {words.number(pairs, 'pair')} {words.verb(pairs, 'depends', 'depend')} "
            f"on {'it' if len(labels) == 1 else 'them'}."
        ),
        remedy=remedy,
        resource=Resource(first.type, first.id),
        pairs=pairs,
        examples=context.examples(group[0][1], group[0][1].missing),
        evidence={
            "operation": operation,
            "error": code or "",
            "iam_action": f"ec2:{operation}" if operation else "",
            "resources": words.unique(blind.id for blind in blinds)[:50],
        },
        subject=(first.type,),
        identity=(first.why,),
    )


def _blinds(context: Context, cause: Cause) -> Iterator[_Blind]:
    match cause.layer:
        case Layer.INTERFACE:
            for node in context.matrix.node_set.pick(context.matrix.node_set.unseen):
                yield _Blind(
                    "network-interface",
                    node.instance.instance_id,
                    said=f"the primary interface of {words.node_label(node)}",
                )
        case Layer.EGRESS | Layer.INGRESS:
            yield from _blind_groups(context, cause)
        case Layer.ROUTE | Layer.RETURN_ROUTE:
            yield from _blind_routes(context, cause)
        case _:
            for subnet, _ in cause.subnets:
                label = words.subnet_label(context.snapshot, subnet)
                yield _Blind("network-acl", subnet, said=f"the network ACL of {label}")


def _blind_groups(context: Context, cause: Cause) -> Iterator[_Blind]:
    snapshot, nodes = context.snapshot, context.matrix.node_set
    ungrouped = nodes.by_group_set.get(None, 0) & (cause.sources() | cause.targets())
    for node in nodes.pick(ungrouped):
        name = node.interface.interface_id if node.interface else node.instance.instance_id
        yield _Blind("network-interface", name, said=f"the groups of {words.node_label(node)}")
    known = snapshot.security_groups or {}
    for group_id in cause.groups or ():
        group = known.get(group_id)
        if group is None:
            yield _Blind("security-group", group_id)
            continue
        for permission in group.egress if cause.layer is Layer.EGRESS else group.ingress:
            peer = permission.peer
            if isinstance(peer, PrefixListPeer) and peer.prefix_list_id not in snapshot.prefix_lists:
                yield _Blind("prefix-list", peer.prefix_list_id)


def _blind_routes(context: Context, cause: Cause) -> Iterator[_Blind]:
    snapshot, matrix = context.snapshot, context.matrix
    others = cause.targets() if cause.layer is Layer.ROUTE else cause.sources()
    for subnet_id, vpc_id in cause.subnets:
        table = snapshot.route_table(subnet_id, vpc_id)
        if table is None:
            label = words.subnet_label(snapshot, subnet_id)
            yield _Blind("route-table", subnet_id, said=f"the route table of {label}")
            continue
        unread = [route.prefix_list_id for route in table.routes if unreadable(snapshot, route)]
        for prefix_list_id in unread:
            yield _Blind("prefix-list", prefix_list_id)
        for node in matrix.node_set.pick(0 if unread else others):
            yield _out_of_sight(context, subnet_id, vpc_id, node.value or 0, cause.doubt)


def _out_of_sight(context: Context, subnet_id: str, vpc_id: str, address: int, doubt: Doubt) -> _Blind:
    found = winning_route(context.snapshot, subnet_id, vpc_id, context.matrix.family, address)
    if found is None:
        return _Blind("route-table", vpc_id, said=f"the local route of {vpc_id}")
    route = found[1]
    if route.target is RouteTarget.PEERING:
        return _Blind("vpc-peering-connection", route.target_id)
    if doubt is Doubt.MIDDLEBOX:
        return _Blind("middlebox", route.target_id, "is a middlebox on the way, and what it lets pass can't be read")
    return _Blind(
        str(route.target) if route.target is not RouteTarget.OTHER else "route-target",
        route.target_id or "a target of a kind that is new to sgaudit",
        "is on the way, and sgaudit does not read where it leads",
    )


RULE = Rule(
    id="not-visible",
    title="A verdict needs something that could not be read",
    severity=Severity.ERROR,
    why="What can't be read is neither open nor blocked. A scan that passes over it would be worth nothing.",
    remedy="Allow the IAM action that is named and scan again, or look at the resource by hand.",
    sources=("IAM, Actions, resources, and condition keys for Amazon EC2",),
    check=check,
)
