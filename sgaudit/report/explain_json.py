"""An explanation as programs read it; the form is a contract (docs/schemas/explanation.json)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sgaudit.model import AclEntry, Permission, Route
from sgaudit.reach.causes import Layer
from sgaudit.reach.trace_outside import is_outside
from sgaudit.reach.verdict import verdict_on
from sgaudit.report import explain_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgaudit.reach.nodes import Node
    from sgaudit.reach.trace_values import Blocker, Decision, Hop, Thing, Trace
    from sgaudit.rules.finding import Finding

SCHEMA_VERSION = 1
NOT_ASKED = "not-asked"


def render(trace: Trace) -> Iterator[str]:
    """Write one JSON object."""
    yield json.dumps({"schema_version": SCHEMA_VERSION, **document(trace)}, indent=2)
    yield "\n"


def render_finding(finding: Finding, traces: Sequence[Trace]) -> Iterator[str]:
    """Write the explanations of a finding's examples as one JSON object."""
    whole = {
        "schema_version": SCHEMA_VERSION,
        "kind": "explanations",
        "finding": {"rule": finding.rule, "title": finding.title, "fingerprint": finding.fingerprint},
        "explanations": [document(trace) for trace in traces],
    }
    yield json.dumps(whole, indent=2)
    yield "\n"


def document(trace: Trace) -> dict[str, Any]:
    """Give the object of kind `explanation`."""
    return {
        "kind": "explanation",
        "source": _end(trace.source),
        "target": _end(trace.target),
        "family": str(trace.matrix.family),
        "protocol": trace.protocol,
        "ports": str(trace.asked),
        "client_ports": str(trace.matrix.client_ports),
        "verdict": str(trace.verdict),
        "open": str(trace.opened),
        "possible": str(trace.possible),
        "hops": [_hop(trace, place, hop) for place, hop in enumerate(trace.hops)],
        "blockers": [_blocker(trace, blocker) for blocker in trace.blockers],
    }


def _end(node: Node) -> dict[str, Any]:
    outside = is_outside(node)
    interface = node.interface
    return {
        "instance_id": "" if outside else node.instance.instance_id,
        "name": node.instance.name,
        "interface_id": interface.interface_id if interface else "",
        "address": node.address,
        "subnet_id": interface.subnet_id if interface else "",
        "security_groups": list(interface.groups) if interface and interface.groups is not None else None,
        "outside": outside,
    }


def _thing(thing: Thing) -> dict[str, str]:
    return {"type": thing.type, "id": thing.id}


def _hop(trace: Trace, place: int, hop: Hop) -> dict[str, Any]:
    opened, possible = trace.after(place)
    verdict = NOT_ASKED if hop.skipped else str(verdict_on(trace.asked, hop.passes, hop.may_pass))
    return {
        "stage": str(hop.layer),
        "resource": _thing(hop.resource),
        "direction": "egress" if hop.egress else "ingress",
        "way": "back" if hop.answer else "there",
        "verdict": verdict,
        "passes": str(hop.passes & trace.asked),
        "open": str(opened),
        "possible": str(possible),
        "rules": [_rule(trace, hop, item) for item in hop.decisions],
    }


def _rule(trace: Trace, hop: Hop, item: Decision) -> dict[str, Any]:
    found: dict[str, Any] = {"resource": _thing(item.holder), "effect": str(item.effect), "decides": str(item.ports)}
    match item.rule:
        case Permission() as rule:
            found |= {
                "kind": "permission",
                "id": rule.rule_id,
                "protocol": rule.protocol,
                "ports": str(rule.ports),
                "peer": str(rule.peer),
                "description": rule.description,
                "misses": [str(why) for why in item.misses],
            }
        case AclEntry() as entry:
            found |= {
                "kind": "acl-entry",
                "id": str(entry.number),
                "protocol": entry.protocol,
                "ports": str(entry.ports),
                "peer": str(entry.cidr),
            }
        case Route() as route:
            found |= {
                "kind": "route",
                "id": str(item.destination),
                "target": route.target_id or str(route.target),
                "state": route.state,
            }
        case None:
            found |= {"kind": "none", "id": ""}
            if hop.layer in (Layer.ROUTE, Layer.RETURN_ROUTE):
                found |= {"kind": "route", "id": "", "target": "local", "state": "active"}
    found["text"] = explain_words.decision(trace, hop, item)
    return found


def _blocker(trace: Trace, blocker: Blocker) -> dict[str, Any]:
    return {
        "code": str(blocker.code),
        "certain": blocker.code.certain,
        "stage": str(blocker.layer),
        "resource": _thing(blocker.resource),
        "ports": str(blocker.ports),
        "message": explain_words.message(trace, blocker),
        "remedy": explain_words.remedy(trace, blocker),
    }
