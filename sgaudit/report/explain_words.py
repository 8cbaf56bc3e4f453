"""How a trace is told: what each rule did, what blocks, and what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.model import AclEntry, Cidr, GroupPeer, Permission, Route, RouteTarget, address_text
from sgaudit.ports import PortSet
from sgaudit.reach.causes import Layer
from sgaudit.reach.trace_outside import is_outside
from sgaudit.reach.trace_values import Blocker, Code, Decision, Effect, Hop, Miss, Thing, Trace
from sgaudit.rules import words

if TYPE_CHECKING:
    from sgaudit.model import Peer
    from sgaudit.reach.nodes import Node

RETURN = (Layer.RETURN_OUT, Layer.RETURN_ROUTE, Layer.RETURN_IN)
AT_SOURCE = (Layer.EGRESS, Layer.ACL_OUT, Layer.ROUTE, Layer.RETURN_IN)
LAST_ENTRY = 32767
"""From this number on stand the denies that end every network ACL (VPC user guide)."""
END_OF_ACL = "no entry matches, so it is denied"
GROUP_CODES = (
    Code.SG_EGRESS_MISSING,
    Code.SG_INGRESS_MISSING,
    Code.SG_REFERENCE_STALE,
    Code.SG_REFERENCE_LOST,
)
ACL_CODES = (
    Code.ACL_DENIES_OUT,
    Code.ACL_DENIES_IN,
    Code.ACL_DENIES_RETURN_OUT,
    Code.ACL_DENIES_RETURN_IN,
)


def end_label(node: Node) -> str:
    """Name an end: a member, or an address outside the cluster."""
    return node.address if is_outside(node) else words.node_label(node)


def short_label(trace: Trace, node: Node) -> str:
    """Name an end by as little as tells it from the other one."""
    if is_outside(node):
        return node.address
    other = trace.target if node is trace.source else trace.source
    return node.label if node.label != other.label else node.instance.instance_id


def ends_of(trace: Trace, layer: Layer) -> tuple[Node, Node]:
    """Tell at whose end a stage lies, and who is at the other."""
    near = layer in AT_SOURCE
    return (trace.source, trace.target) if near else (trace.target, trace.source)


def traffic(protocol: str, ports: PortSet) -> str:
    """Say what passes, also for the protocol of a rule."""
    return words.traffic("all" if protocol == "-1" else protocol, ports)


def answers(trace: Trace, ports: PortSet) -> str:
    """Say which answers are meant."""
    if trace.protocol in ("tcp", "udp"):
        return f"answers to {trace.protocol} client ports {ports}"
    return f"answers to {traffic(trace.protocol, PortSet(((0, 65535),)))}"


def stopped(trace: Trace, blocker: Blocker) -> str:
    """Say what a blocker stops."""
    if blocker.layer in (Layer.RETURN_OUT, Layer.RETURN_IN) and blocker.code is not Code.NOT_READ:
        return answers(trace, blocker.ports)
    said = traffic(trace.protocol, blocker.ports)
    return f"answers to {said}" if blocker.layer in RETURN else said


def peer_label(trace: Trace, peer: Peer) -> str:
    """Name the peer of a permission."""
    return words.group_label(trace.matrix.snapshot, peer.group_id) if isinstance(peer, GroupPeer) else str(peer)


def thing_label(trace: Trace, thing: Thing) -> str:
    """Name a resource."""
    snapshot = trace.matrix.snapshot
    match thing.type:
        case "security-group":
            return words.group_label(snapshot, thing.id)
        case "subnet":
            return words.subnet_label(snapshot, thing.id)
        case "network-acl":
            acl = (snapshot.network_acls or {}).get(thing.id)
            return words.named(acl.tags.get("Name", "") if acl else "", thing.id)
        case "route-table":
            table = (snapshot.route_tables or {}).get(thing.id)
            return words.named(table.tags.get("Name", "") if table else "", thing.id)
        case _:
            return thing.id


def decision(trace: Trace, hop: Hop, item: Decision) -> str:
    """Say what one rule did."""
    match item.rule:
        case Permission():
            return _permission(trace, hop, item, item.rule)
        case AclEntry():
            return _entry(hop, item.rule) + _share(trace, hop, item)
        case Route():
            return f"{item.destination} leads to {item.rule.target_id or item.rule.target}{_state(item.rule)}"
        case None:
            return _unlisted(trace, hop, item)


def _entry(hop: Hop, entry: AclEntry) -> str:
    if entry.number >= LAST_ENTRY:
        return END_OF_ACL
    verb = "allows" if entry.allow else "denies"
    return f"entry {entry.number} {verb} {traffic(entry.protocol, entry.ports)} {_preposition(hop)} {entry.cidr}"


def _unlisted(trace: Trace, hop: Hop, item: Decision) -> str:
    if item.effect is Effect.UNKNOWN:
        return f"{thing_label(trace, item.holder)} was not read"
    if hop.layer in (Layer.ROUTE, Layer.RETURN_ROUTE):
        return "the local route of the VPC leads there"
    return END_OF_ACL + _share(trace, hop, item)


def _share(trace: Trace, hop: Hop, item: Decision) -> str:
    """Say on which ports an entry decides, where it does not on all."""
    if trace.protocol not in ("tcp", "udp"):
        return ""
    whole = trace.matrix.client_ports if hop.answer else trace.asked
    if item.ports == whole:
        return ""
    return f" (decides on {'client ports ' if hop.answer else ''}{item.ports})"


def _state(route: Route) -> str:
    return "" if route.state == "active" else f" ({route.state})"


def _preposition(hop: Hop) -> str:
    return "to" if hop.egress else "from"


def _permission(trace: Trace, hop: Hop, item: Decision, rule: Permission) -> str:
    holder = thing_label(trace, item.holder)
    parts = [f"{holder}:", *([rule.rule_id] if rule.rule_id else [])]
    verb = "allows " if item.effect is Effect.ALLOWS else ""
    parts.append(f"{verb}{traffic(rule.protocol, rule.ports)} {_preposition(hop)} {peer_label(trace, rule.peer)}")
    if rule.description:
        parts.append(f'"{rule.description}"')
    text = " ".join(parts)
    if item.effect is Effect.UNKNOWN:
        return f"{text}: whether that is {short_label(trace, _other(trace, hop))} was not read"
    if item.misses:
        return f"{text}, but {' and '.join(miss(trace, hop, rule, why) for why in item.misses)}"
    return text


def _other(trace: Trace, hop: Hop) -> Node:
    return ends_of(trace, hop.layer)[1]


def miss(trace: Trace, hop: Hop, rule: Permission, why: Miss) -> str:
    """Say why a permission does not match."""
    other, peer = _other(trace, hop), rule.peer
    stale = f"{peer.peering_id} is {peer.peering_status}" if isinstance(peer, GroupPeer) else ""
    return {
        Miss.PROTOCOL: f"that is not {'all traffic' if trace.protocol == 'all' else trace.protocol}",
        Miss.PORTS: f"not {traffic(trace.protocol, trace.asked - hop.passes)}",
        Miss.FAMILY: f"{other.address} is of the other address family",
        Miss.ADDRESS: f"{other.address} is not in that block",
        Miss.NOT_LISTED: f"that list does not hold {other.address}",
        Miss.NOT_CARRIED: f"{short_label(trace, other)} does not carry that group",
        Miss.STALE: f"that reference is stale: {stale}",
        Miss.LOST: "behind a middlebox a group as peer does not count",
    }[why]


def message(trace: Trace, blocker: Blocker) -> str:
    """Say what a blocker does."""
    label, what = thing_label(trace, blocker.resource), stopped(trace, blocker)
    here, there = ends_of(trace, blocker.layer)
    missing = (
        f"no {'egress' if blocker.layer is Layer.EGRESS else 'ingress'} permission of "
        f"{words.groups_label(trace.matrix.snapshot, trace.matrix.node_set.group_set_of[here.index])} admits {what} "
        f"{'to' if blocker.layer is Layer.EGRESS else 'from'} {short_label(trace, there)}"
    )
    out, into = (
        f"{label} does not let {what} out to {there.address}",
        f"{label} does not let {what} in from {there.address}",
    )
    told = {
        Code.SG_EGRESS_MISSING: missing,
        Code.SG_INGRESS_MISSING: missing,
        Code.SG_REFERENCE_STALE: f"only a stale reference in {label} is there for {what}: it matches nothing",
        Code.SG_REFERENCE_LOST: f"{label} admits {what} by a group as peer, which does not count behind a middlebox",
        Code.ACL_DENIES_OUT: out,
        Code.ACL_DENIES_RETURN_OUT: out,
        Code.ACL_DENIES_IN: into,
        Code.ACL_DENIES_RETURN_IN: into,
        Code.NO_ADDRESS: f"{label} has no {_family(trace)} address",
        Code.NO_PUBLIC_ADDRESS: f"{label} has no public address, so no packet of the internet can reach it",
        Code.NOT_READ: f"{_unread(blocker, label)} was not read",
    }
    return told.get(blocker.code) or _route_message(trace, blocker, label)


def _family(trace: Trace) -> str:
    return "IPv4" if trace.matrix.family.bits == 32 else "IPv6"


def _unread(blocker: Blocker, label: str) -> str:
    match blocker.resource.type:
        case "subnet":
            what = "the route table" if blocker.layer in (Layer.ROUTE, Layer.RETURN_ROUTE) else "the network ACL"
            return f"{what} of {label}"
        case "address":
            return f"what filters packets at {label} itself"
        case "network-interface":
            return f"which groups {label} carries"
        case "instance":
            return f"the judged interface of {label}"
        case "prefix-list":
            return f"what prefix list {label} holds"
        case _:
            return label


def _route_message(trace: Trace, blocker: Blocker, label: str) -> str:
    _, there = ends_of(trace, blocker.layer)
    chosen = _chosen(trace, blocker)
    peering = (trace.matrix.snapshot.peerings or {}).get(blocker.resource.id)
    none = f"{label} has no route to {there.address}"
    blackhole = f"the route of {label} to {there.address} is a blackhole{chosen}"
    elsewhere = f"the route of {label} to {there.address} leads elsewhere{chosen}"
    return {
        Code.NO_ROUTE: none,
        Code.NO_RETURN_ROUTE: none,
        Code.ROUTE_BLACKHOLE: blackhole,
        Code.RETURN_ROUTE_BLACKHOLE: blackhole,
        Code.ROUTE_LEADS_ELSEWHERE: elsewhere,
        Code.RETURN_ROUTE_LEADS_ELSEWHERE: elsewhere,
        Code.PEERING_NOT_ACTIVE: f"peering connection {label} is {peering.status if peering else 'not active'}",
        Code.MIDDLEBOX: f"the way to {there.address} leads through {label}: what it lets pass can't be read{chosen}",
        Code.UNKNOWN_TARGET: f"the way to {there.address} leads to {label}: where it goes on was not read{chosen}",
    }[blocker.code]


def _chosen(trace: Trace, blocker: Blocker) -> str:
    for hop in trace.hops:
        if hop.layer is blocker.layer:
            for item in hop.decisions:
                if isinstance(item.rule, Route):
                    return f" ({item.destination} leads to {item.rule.target_id or item.rule.target})"
    return ""


def remedy(trace: Trace, blocker: Blocker) -> str:
    """Say what to change."""
    label = thing_label(trace, blocker.resource)
    here, there = ends_of(trace, blocker.layer)
    if blocker.code in GROUP_CODES:
        return _group_remedy(trace, blocker, here, there)
    if blocker.code in ACL_CODES:
        return _acl_remedy(trace, blocker, label, there)
    missing = f"Add to {label} a route to {_block(trace, there)}."
    hole = f"Replace or delete the route of {label}{_chosen(trace, blocker)}."
    elsewhere = _elsewhere_remedy(trace, blocker, label, there)
    return {
        Code.NO_ROUTE: missing,
        Code.NO_RETURN_ROUTE: missing,
        Code.ROUTE_BLACKHOLE: hole,
        Code.RETURN_ROUTE_BLACKHOLE: hole,
        Code.ROUTE_LEADS_ELSEWHERE: elsewhere,
        Code.RETURN_ROUTE_LEADS_ELSEWHERE: elsewhere,
        Code.PEERING_NOT_ACTIVE: f"Accept {label}, or make a new peering connection and point the routes at it.",
        Code.NO_ADDRESS: f"Give {label} an {_family(trace)} address, or use the other address family.",
        Code.NO_PUBLIC_ADDRESS: f"Give {label} a public address, or go by a way that needs none (VPN, bastion host).",
        Code.MIDDLEBOX: f"Check what {label} lets pass, or route around it.",
        Code.UNKNOWN_TARGET: f"Check where {label} leads.",
        Code.NOT_READ: f"{_read_remedy(blocker)}.",
    }[blocker.code]


def _group_remedy(trace: Trace, blocker: Blocker, here: Node, there: Node) -> str:
    egress = blocker.layer is Layer.EGRESS
    direction, preposition = ("egress", "to") if egress else ("ingress", "from")
    what = traffic(trace.protocol, blocker.ports)
    if blocker.resource.type != "security-group":
        return f"Put on {blocker.resource.id} a security group that has an {direction} permission for {what}."
    holder, peer = thing_label(trace, blocker.resource), _peer(trace, blocker, here, there)
    return f"Add to {holder} an {direction} permission for {what} {preposition} {peer}."


def _peer(trace: Trace, blocker: Blocker, here: Node, there: Node) -> str:
    theirs = (there.interface.groups if there.interface else None) or ()
    same_vpc = bool(here.interface and there.interface and here.interface.vpc_id == there.interface.vpc_id)
    if not theirs or not same_vpc or blocker.code is Code.SG_REFERENCE_LOST:
        return _block(trace, there)
    if blocker.resource.id in theirs:
        return "the group itself"
    return words.group_label(trace.matrix.snapshot, theirs[0])


def _block(trace: Trace, node: Node) -> str:
    """Name the block of a node's subnet, or the address alone."""
    family, value = trace.matrix.family, node.value or 0
    subnet_id = node.interface.subnet_id if node.interface else ""
    subnet = (trace.matrix.snapshot.subnets or {}).get(subnet_id)
    for cidr in subnet.cidrs if subnet else ():
        if cidr.family is family and value in cidr:
            return str(cidr)
    return str(Cidr(family, value, family.bits)) if node.value is not None else address_text(family, value)


def _acl_remedy(trace: Trace, blocker: Blocker, label: str, there: Node) -> str:
    outward = blocker.layer in (Layer.ACL_OUT, Layer.RETURN_OUT)
    direction, preposition = ("egress", "to") if outward else ("ingress", "from")
    denying = [
        item.rule.number
        for hop in trace.hops
        if hop.layer is blocker.layer
        for item in hop.decisions
        if item.effect is Effect.DENIES and isinstance(item.rule, AclEntry) and item.rule.number < LAST_ENTRY
    ]
    before = f", before entry {min(denying)}" if denying else ""
    what = traffic(trace.protocol, blocker.ports)
    return f"Add to {label} an {direction} entry that allows {what} {preposition} {_block(trace, there)}{before}."


def _elsewhere_remedy(trace: Trace, blocker: Blocker, label: str, there: Node) -> str:
    for hop in trace.hops:
        for item in hop.decisions if hop.layer is blocker.layer else ():
            if isinstance(item.rule, Route) and item.rule.target is RouteTarget.LOCAL:
                return f"{there.address} lies in the VPC's own block: give one of the two networks other addresses."
    return f"Add to {label} a route to {_block(trace, there)} that leads there."


def _read_remedy(blocker: Blocker) -> str:
    match blocker.resource.type:
        case "security-group":
            return f"Let sgaudit read {blocker.resource.id} (ec2:DescribeSecurityGroups)"
        case "prefix-list":
            return f"Let sgaudit read {blocker.resource.id} (ec2:GetManagedPrefixListEntries)"
        case "vpc-peering-connection":
            return f"Let sgaudit read {blocker.resource.id} (ec2:DescribeVpcPeeringConnections)"
        case "subnet":
            routes = blocker.layer in (Layer.ROUTE, Layer.RETURN_ROUTE)
            action = "ec2:DescribeRouteTables" if routes else "ec2:DescribeNetworkAcls"
            return f"Let sgaudit read it ({action})"
        case "address":
            return f"Check the other end, or take the instance of {blocker.resource.id} into what is read"
        case _:
            return f"Let sgaudit read {blocker.resource.id} (ec2:DescribeInstances, ec2:DescribeNetworkInterfaces)"
