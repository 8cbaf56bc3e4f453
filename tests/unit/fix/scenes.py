"""From a small raw snapshot to a plan, and the plan to what one compares of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sgaudit.fix.plan import Plan
from sgaudit.fix.planner import Options, plan
from sgaudit.selection import Selection, TagFilter
from tests.builders import Raw, group, node, snapshot
from tests.unit.rules.scene import scan

RUN = Options(run="20260101t000000-abcdef", created="2026-01-01T00:00:00Z")
ABOUT = "sgaudit 20260101t000000-abcdef: --tag cluster=train"
CLUSTER = Selection(tags=(TagFilter("cluster", ("train",)),))
WHOLE: dict[str, Any] = {"WholeVpcs": ["vpc-1", "vpc-2", "vpc-3"]}
MESH = "tcp-full-mesh"
TAGS = {
    "sgaudit:managed": "true",
    "sgaudit:run": "20260101t000000-abcdef",
    "sgaudit:cluster": "--tag cluster=train",
}


def planned(document: Raw, *policies: str, selection: Selection = CLUSTER, **options: Any) -> Plan:
    """Plan for the cluster of a snapshot, by the full mesh of TCP if no policy is named."""
    return plan(scan(document, *(policies or (MESH,)), selection=selection), replace(RUN, **options))


def together(*groups: Raw, carried: Sequence[str] = ("sg-a",), **more: Any) -> Raw:
    """Give two members in one subnet that carry the same groups."""
    nodes = [node("a", "10.0.0.5", groups=carried), node("b", "10.0.0.6", groups=carried)]
    return snapshot(nodes, groups or [group()], **{**WHOLE, **more})


def apart(*groups: Raw, **more: Any) -> Raw:
    """Give a member with sg-a and one with sg-b."""
    nodes = [node("a", "10.0.0.5"), node("b", "10.0.0.6", groups=["sg-b"])]
    return snapshot(nodes, groups or [group(), group("sg-b")], **{**WHOLE, **more})


def stranger(name: str, address: str = "", **more: Any) -> Raw:
    """Give an instance that is no member."""
    return {**node(name, address, **more), "Tags": []}


def calls(made: Plan) -> list[tuple[str, str, list[str]]]:
    """Tell the operations as API, holder and rows in short: `tcp 0-65535 sg-a`."""
    return [
        (item.call.api, holder(item.call.params), [text for row in content(item.call.params) for text in row])
        for item in made.operations
    ]


def holder(params: Any) -> str:
    found = next(
        (params[key] for key in ("GroupId", "NetworkInterfaceId", "NetworkAclId", "VpcId") if key in params), ""
    )
    return str(found["Ref"] if isinstance(found, dict) else found)


def content(params: Any) -> list[list[str]]:
    """Say each row of a request in short."""
    found = [[f"{span(row)} {said(peer)}" for peer in peers(row)] for row in params.get("IpPermissions", ())]
    if "Groups" in params:
        found.append([said(item) for item in params["Groups"]])
    if "RuleNumber" in params:
        block = params.get("CidrBlock") or params.get("Ipv6CidrBlock")
        way = "out" if params["Egress"] else "in"
        ports = params.get("PortRange") or params.get("IcmpTypeCode") or {}
        found.append(
            [f"{params['RuleNumber']} {way} {params['Protocol']} {'-'.join(map(str, ports.values()))} {block}"]
        )
    return found


def span(row: Any) -> str:
    return str(row["IpProtocol"]) + (f" {row['FromPort']}-{row['ToPort']}" if "FromPort" in row else "")


def peers(row: Any) -> list[Any]:
    keys = {
        "IpRanges": "CidrIp",
        "Ipv6Ranges": "CidrIpv6",
        "PrefixListIds": "PrefixListId",
        "UserIdGroupPairs": "GroupId",
    }
    return [item[name] for key, name in keys.items() for item in row.get(key, ())]


def said(peer: Any) -> str:
    return f"@{peer['Ref']}" if isinstance(peer, dict) else str(peer)
