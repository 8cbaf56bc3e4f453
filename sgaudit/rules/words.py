"""How rules speak of groups, members and ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.model import ALL_PROTOCOLS, Family
from sgaudit.ports import ALL, PortSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sgaudit.model import Permission, Snapshot
    from sgaudit.reach.matrix import Matrix
    from sgaudit.reach.nodes import GroupSet, Node


def listed(items: Sequence[str], most: int = 3) -> str:
    """Join a few items as one says them, the rest as a number."""
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most} more"
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def number(count: int, noun: str) -> str:
    """Say `1 pair` or `56 pairs`."""
    return f"{count:,} {noun if count == 1 else noun + 's'}"


def named(name: str, identifier: str) -> str:
    """Put the name that people gave before the id that AWS gave."""
    return f"{name} ({identifier})" if name and name != identifier else identifier


def group_label(snapshot: Snapshot, group_id: str) -> str:
    """Name a security group."""
    group = (snapshot.security_groups or {}).get(group_id)
    return named(group.name if group else "", group_id)


def groups_label(snapshot: Snapshot, groups: GroupSet) -> str:
    """Name the groups of an interface."""
    if not groups:
        return "no security group" if groups is not None else "unknown security groups"
    return " + ".join(group_label(snapshot, group) for group in groups)


def subnet_label(snapshot: Snapshot, subnet_id: str) -> str:
    """Name a subnet."""
    subnet = (snapshot.subnets or {}).get(subnet_id)
    return named(subnet.tags.get("Name", "") if subnet else "", subnet_id or "an unknown subnet")


def traffic(protocol: str, ports: PortSet) -> str:
    """Say what passes, or does not: `tcp 22,1024-65535`, `all tcp ports`, `all traffic`."""
    if protocol == "all":
        return "all traffic"
    if protocol in ("tcp", "udp"):
        return f"all {protocol} ports" if ports == ALL else f"{protocol} {ports}"
    if protocol in ("icmp", "icmpv6") and ports != ALL:
        return f"{protocol} {icmp(ports)}"
    return protocol if protocol in ("icmp", "icmpv6", "efa") else f"protocol {protocol}"


def icmp(points: PortSet) -> str:
    """Say ICMP types and codes, which a set holds as `type * 256 + code`."""
    parts: list[str] = []
    for low, high in points.ranges:
        (first, code), (last, end) = divmod(low, 256), divmod(high, 256)
        if code == 0 and end == 255:
            parts.append(f"type {first}" if first == last else f"types {first}-{last}")
        else:
            parts.append(f"type {first} code {code}" if low == high else f"{first}/{code}-{last}/{end}")
    return ", ".join(parts)


def node_label(node: Node) -> str:
    """Name a member."""
    return named(node.instance.name, node.instance.instance_id)


def members_of(matrix: Matrix, nodes: int, most: int | None = None) -> list[Node]:
    """List one node of each member in a set in the order of names; with `most`, of those with the lowest addresses."""
    found: dict[str, Node] = {}
    for node in matrix.node_set.pick(nodes):
        found.setdefault(node.instance.instance_id, node)
        if len(found) == most:
            break
    return sorted(found.values(), key=lambda node: (node.instance.name, node.instance.instance_id))


def member_ids(matrix: Matrix, nodes: int, most: int = 20) -> list[str]:
    """List the instance ids of a few members of a set."""
    return [node.instance.instance_id for node in members_of(matrix, nodes, most)]


def count_members(matrix: Matrix, nodes: int) -> int:
    """Count the members in a set."""
    if matrix.node_set.one_each:
        return nodes.bit_count()
    return len({node.instance.instance_id for node in matrix.node_set.pick(nodes)})


def common_groups(matrix: Matrix, nodes: int) -> tuple[str, ...]:
    """Tell the groups that all nodes of a set carry, the one with the fewest other carriers first."""
    found: set[str] | None = None
    for groups, carriers in matrix.node_set.by_group_set.items():
        if carriers & nodes:
            found = set(groups or ()) if found is None else found & set(groups or ())
    return tuple(sorted(found or (), key=lambda group: (matrix.node_set.by_group[group].bit_count(), group)))


def members_label(matrix: Matrix, nodes: int) -> str:
    """Say who the members of a set are: all, by name, or by the group that they share."""
    count = count_members(matrix, nodes)
    total = len(matrix.node_set.by_instance)
    if count == total and total > 1:
        return f"all {total:,} members"
    if count <= 2:
        return listed([node_label(node) for node in members_of(matrix, nodes)])
    shared = common_groups(matrix, nodes)
    if shared:
        return f"{count:,} members that carry {group_label(matrix.snapshot, shared[0])}"
    names = [node.label for node in members_of(matrix, nodes, 3)]
    return f"{count:,} members ({listed([*names, *[''] * (count - 3)])})"


def members_title(matrix: Matrix, nodes: int) -> str:
    """Say it in a few words, for a title."""
    count = count_members(matrix, nodes)
    if count == len(matrix.node_set.by_instance) > 1:
        return "any member"
    if count == 1:
        return next(node.label for node in matrix.node_set.pick(nodes))
    return f"{count:,} members"


def unique(items: Iterable[str]) -> list[str]:
    """Drop what was said before, keep the order."""
    return list(dict.fromkeys(items))


def sentence(text: str) -> str:
    """Begin a sentence, and leave names as they are."""
    return text if text[:4] not in ("all ", "the ") else text[0].upper() + text[1:]


def verb(count: int, one: str, several: str) -> str:
    """Pick the form of a verb."""
    return one if count == 1 else several


def reason(why: str) -> str:
    """Turn the reason that a policy gives into a sentence."""
    return f"{why[:1].upper()}{why[1:]}{'' if why.endswith('.') else '.'}" if why else ""


def permission(row: Permission, *, egress: bool) -> str:
    """Say what a row of a security group admits: `tcp 22 from 10.0.0.0/8`."""
    name = "all" if row.protocol == ALL_PROTOCOLS else row.protocol
    return f"{traffic(name, row.ports)} {'to' if egress else 'from'} {row.peer}"


def family(name: Family) -> str:
    """Say `IPv4` or `IPv6`."""
    return "IPv4" if name is Family.IPV4 else "IPv6"
