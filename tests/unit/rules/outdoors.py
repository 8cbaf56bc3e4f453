"""Small clusters that the internet can dial, unless the caller closes something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.builders import ANYWHERE, ANYWHERE_6, acl, entry, group, node, route, row, snapshot, table

Raw = dict[str, Any]

SELF = row(groups=["sg-a"])
WORLD = row("tcp", 0, 65535, cidr=[ANYWHERE])
TO_INTERNET = route(ANYWHERE, GatewayId="igw-1")
TO_INTERNET_6 = route(ANYWHERE_6, GatewayId="igw-1")
OUT = entry(100, "allow", egress=True)


def public(name: str, address: str, **more: Any) -> Raw:
    """Give a node with a public address."""
    return node(name, address, Association={"PublicIp": f"198.51.100.{address.rpartition('.')[2]}"}, **more)


NODES = [public("a", "10.0.0.5"), public("b", "10.0.0.6")]


def outdoors(
    *ingress: Raw, nodes: Sequence[Raw] = NODES, routes: Sequence[Raw] = (TO_INTERNET, TO_INTERNET_6), **more: Any
) -> Raw:
    """Give a cluster in a public subnet with one group and its ingress rows."""
    groups = [group("sg-a", ingress=ingress), *more.pop("groups", ())]
    return snapshot(nodes, groups, tables=[table("rtb-1", routes)], **more)


def guarded(*entries: Raw) -> list[Raw]:
    """Give the ACL of subnet-1: these entries, and all that is let out unless one says something about it."""
    outward = [] if any(item["Egress"] for item in entries) else [OUT]
    return [acl("acl-1", [*entries, *outward], subnets=["subnet-1"])]
