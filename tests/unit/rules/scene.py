"""From a raw snapshot to what one rule finds in it."""

from __future__ import annotations

from typing import Any

from sgaudit.policy.load import load
from sgaudit.policy.resolve import resolve
from sgaudit.ports import CLIENT_PORTS, PortSet
from sgaudit.rules.audit import Audit, audit
from sgaudit.rules.finding import Finding, Rule
from sgaudit.selection import Selection, select
from sgaudit.snapshot import parse
from tests import builders

Raw = dict[str, Any]

SELF = [builders.row(groups=["sg-a"])]
"""All traffic from, or to, the group sg-a."""
EVERYWHERE = Selection(everything=True)


def scan(
    document: Raw, *policies: str, selection: Selection = EVERYWHERE, client_ports: PortSet = CLIENT_PORTS
) -> Audit:
    """Judge the instances of a snapshot by some policies, by that for Gloo if none is named."""
    snapshot = parse(document)
    members = select(snapshot, selection)
    requirements = resolve([load(name) for name in policies or ("pytorch-gloo",)], members)
    return audit(snapshot, selection, members, requirements, client_ports=client_ports)


def found(rule: Rule, document: Raw, *policies: str, selection: Selection = EVERYWHERE) -> list[Finding]:
    """Tell what one rule finds."""
    return [item for item in scan(document, *policies, selection=selection).findings if item.rule == rule.id]


def resources(rule: Rule, document: Raw, *policies: str, selection: Selection = EVERYWHERE) -> list[tuple[str, int]]:
    """Tell which resources one rule finds, each with its pairs."""
    return sorted((item.resource.id, item.pairs) for item in found(rule, document, *policies, selection=selection))


def efa_node(name: str, address: str = "", *, kind: str = "efa", **more: Any) -> Raw:
    """Give an instance with one EFA interface."""
    return builders.node(name, address, InterfaceType=kind, **more)
