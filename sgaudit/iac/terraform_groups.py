"""Terraform's security groups, their rules and prefix lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.iac.document import vpc_or_stand_in
from sgaudit.iac.references import KINDS_OF_GROUP, KINDS_OF_LIST, KINDS_OF_VPC
from sgaudit.iac.stack import Group
from sgaudit.iac.values import Id, Peer, Row, Unknown

if TYPE_CHECKING:
    from sgaudit.iac.plan import Block, Plan, Resource
    from sgaudit.iac.references import Resolver
    from sgaudit.iac.stack import Stack

DEFAULT = "aws_default_security_group"
GROUPS = ("aws_security_group", DEFAULT)
OLD_RULE = "aws_security_group_rule"
RULES = {
    "aws_vpc_security_group_ingress_rule": False,
    "aws_vpc_security_group_egress_rule": True,
}
NOT_YET = "a block that is known after apply"


def add(plan: Plan, resolver: Resolver, stack: Stack) -> None:
    """Add the groups, then take away the rules that the plan removes and add those that it leaves."""
    _prefix_lists(plan, resolver, stack)
    for one in plan.of_type(*GROUPS):
        _group(one, resolver, stack)
    rules = (*RULES, OLD_RULE)
    for one in (*plan.of_type(*rules), *(gone for gone in plan.removed if gone.type in rules)):
        if one.former is not None:
            _forget(one, one.former, resolver, stack)
    for one in plan.of_type(*rules):
        _separate(one, resolver, stack)


def _group(one: Resource, resolver: Resolver, stack: Stack) -> None:
    block, group_id = one.block, resolver.id_of(one)
    if isinstance(group_id, Unknown):
        stack.note(one.address, "it is not known of which VPC this is the default group")
        stack.spoil_groups(group_id, one.address, "it may be this group")
        return
    vpc_id = vpc_or_stand_in(resolver.one(block, "vpc_id", *KINDS_OF_VPC), group_id)
    group = Group(group_id, _name(one), vpc_id, block.text("description"), block.tags())
    stack.groups[group_id] = group
    stack.places[group_id] = one.address
    for name, egress in (("ingress", False), ("egress", True)):
        if block.left_open(name):
            # What the plan leaves to the provider is no rule at all: it removes AWS's default egress rule.
            continue
        blocks = block.blocks(name)
        rows = None if isinstance(blocks, Unknown) else _all_rows(blocks, group_id, resolver)
        if rows is None:
            stack.spoil_groups(group_id, one.address, f"{name} is not known")
            return
        group.rows |= dict.fromkeys((egress, row) for row in rows)


def _name(one: Resource) -> str:
    return "default" if one.type == DEFAULT else one.block.text("name") or one.address


def _all_rows(blocks: list[Block], group_id: str, resolver: Resolver) -> list[Row] | None:
    found: list[Row] = []
    for block in blocks:
        rows = _rows(block, group_id, resolver)
        if rows is None:
            return None
        found += rows
    return found


def _rows(block: Block, group_id: Id, resolver: Resolver) -> list[Row] | None:
    """Read a rule with lists of peers; None when its protocol or ports are not known."""
    protocol, low, high = block.get("protocol"), block.number("from_port"), block.number("to_port")
    if isinstance(protocol, Unknown) or isinstance(low, Unknown) or isinstance(high, Unknown):
        return None
    peers: list[Peer] = []
    for name, kind, key in (
        ("cidr_blocks", "IpRanges", "CidrIp"),
        ("ipv6_cidr_blocks", "Ipv6Ranges", "CidrIpv6"),
    ):
        values = block.texts(name)
        peers += [Peer.unknown(NOT_YET)] if isinstance(values, Unknown) else [Peer.of(kind, **{key: v}) for v in values]
    lists = resolver.many(block, "prefix_list_ids", *KINDS_OF_LIST)
    if isinstance(lists, Unknown):
        peers.append(Peer.unknown("a prefix list that is not known"))
    else:
        peers += [Peer.of("PrefixListIds", PrefixListId=one) for one in lists]
    groups = resolver.many(block, "security_groups", *KINDS_OF_GROUP)
    if isinstance(groups, Unknown):
        peers.append(Peer.group(groups))
    else:
        peers += [_group_peer(one) for one in groups]
    source = resolver.one(block, "source_security_group_id", *KINDS_OF_GROUP)
    if source:
        peers.append(_group_peer(source))
    if block.get("self") is True:
        peers.append(Peer.group(group_id))
    return [Row(_protocol(protocol), low, high, peer) for peer in peers]


def _group_peer(group_id: Id) -> Peer:
    """Read `sg-1` or, for one of another account, `123456789012/sg-1`."""
    if isinstance(group_id, str) and group_id.partition("/")[0].isdigit():
        owner, _, rest = group_id.partition("/")
        return Peer.of("UserIdGroupPairs", GroupId=rest, UserId=owner)
    return Peer.group(group_id)


def _protocol(value: object) -> str:
    name = str(value).lower()
    return "-1" if name == "all" else name


def _separate_rows(one: Resource, block: Block, group_id: Id, resolver: Resolver) -> list[Row] | None:
    if one.type == OLD_RULE:
        return _rows(block, group_id, resolver)
    protocol, low, high = block.get("ip_protocol"), block.number("from_port"), block.number("to_port")
    if isinstance(protocol, Unknown) or isinstance(low, Unknown) or isinstance(high, Unknown):
        return None
    peers: list[Peer] = []
    for name, kind, key in (("cidr_ipv4", "IpRanges", "CidrIp"), ("cidr_ipv6", "Ipv6Ranges", "CidrIpv6")):
        if block.is_unknown(name):
            peers.append(Peer.unknown(NOT_YET))
        elif text := block.text(name):
            peers.append(Peer.of(kind, **{key: text}))
    listed = resolver.one(block, "prefix_list_id", *KINDS_OF_LIST)
    if listed:
        unknown = isinstance(listed, Unknown)
        name = "a prefix list that is not known" if isinstance(listed, Unknown) else listed
        peers.append(Peer.unknown(name) if unknown else Peer.of("PrefixListIds", PrefixListId=name))
    source = resolver.one(block, "referenced_security_group_id", *KINDS_OF_GROUP)
    if source:
        peers.append(_group_peer(source))
    return [Row(_protocol(protocol), low, high, peer) for peer in peers]


def _egress(one: Resource, block: Block) -> bool:
    return block.text("type") == "egress" if one.type == OLD_RULE else RULES[one.type]


def _separate(one: Resource, resolver: Resolver, stack: Stack) -> None:
    block = one.block
    group_id = resolver.one(block, "security_group_id", *KINDS_OF_GROUP)
    if one.type == OLD_RULE and block.text("type") not in ("ingress", "egress"):
        stack.spoil_groups(group_id, one.address, "its type is not known")
        return
    rows = _separate_rows(one, block, group_id, resolver)
    if rows is None:
        stack.spoil_groups(group_id, one.address, "protocol or ports are not known")
        return
    stack.add_rows(group_id, rows, one.address, egress=_egress(one, block))


def _forget(one: Resource, former: Block, resolver: Resolver, stack: Stack) -> None:
    """Take a rule that the plan changes or removes out of what the group is known to have."""
    group = stack.groups.get(former.text("security_group_id"))
    if group is not None:
        for row in _separate_rows(one, former, group.group_id, resolver) or ():
            group.rows.pop((_egress(one, former), row), None)


def _prefix_lists(plan: Plan, resolver: Resolver, stack: Stack) -> None:
    for one in plan.of_type("aws_ec2_managed_prefix_list"):
        list_id, blocks = resolver.id_of(one), one.block.blocks("entry")
        if isinstance(list_id, Unknown):
            continue
        items = [] if isinstance(blocks, Unknown) else blocks
        known = not isinstance(blocks, Unknown) and not any(block.is_unknown("cidr") for block in items)
        stack.prefix_lists[list_id] = [block.text("cidr") for block in items] if known else None
        stack.places[list_id] = one.address
        if one.block.left_open("entry"):
            stack.prefix_lists[list_id] = []
    entries = (*plan.of_type("aws_ec2_managed_prefix_list_entry"), *plan.removed)
    for one in entries:
        if one.type != "aws_ec2_managed_prefix_list_entry" or not (one.changed or one.former):
            continue
        list_id = resolver.one(one.former or one.block, "prefix_list_id", *KINDS_OF_LIST)
        for name in stack.prefix_lists if isinstance(list_id, Unknown) else (list_id,):
            if stack.prefix_lists.get(name) is not None:
                stack.prefix_lists[name] = None
                stack.note(one.address, f"separate entries are not read: the prefix list {name} is unknown")
