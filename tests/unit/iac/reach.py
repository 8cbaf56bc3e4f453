"""What a reading says about who reaches whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgaudit import iac
from sgaudit.iac import terraform
from sgaudit.ports import PortSet
from sgaudit.reach.matrix import build
from sgaudit.selection import Selection, select

if TYPE_CHECKING:
    from sgaudit.iac.values import Reading
    from sgaudit.model import Snapshot

CLIENT_PORTS = PortSet.single(32768, 60999)


def of_plan(content: Any) -> Reading:
    return terraform.reading(content, "plan.json")


def verdicts(snapshot: Snapshot, protocol: str = "tcp") -> dict[str, str]:
    """Each ordered pair of members by name, to the TCP ports that are open; with `?`, those that may be."""
    selection = Selection(everything=True)
    matrix = build(snapshot, select(snapshot, selection), family=selection.family, client_ports=CLIENT_PORTS)
    found: dict[str, str] = {}
    for one in matrix.nodes:
        for other in matrix.nodes:
            if one.index != other.index:
                sure = matrix.open_ports(one.index, other.index, protocol)
                perhaps = matrix.possible_ports(one.index, other.index, protocol)
                text = str(sure) if sure == perhaps else f"{sure}?{perhaps}"
                found[f"{one.label} {other.label}"] = text
    return found


def judged(content: Any) -> dict[str, str]:
    return verdicts(iac.snapshot_of(of_plan(content), "plan.json"))
