"""A matrix as programs read it; the form is a contract."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.reach.nodes import Node
    from sgaudit.report.pairs import Answer, View

SCHEMA_VERSION = 1


def render(view: View, *, pairs: bool) -> Iterator[str]:
    """
    Write one JSON object, piece by piece: a thousand members have a million pairs.

    Args:
        view: the matrix.
        pairs: give every pair of interfaces; else classes and the pairs of classes.
    """
    opening = {
        "schema_version": SCHEMA_VERSION,
        "kind": "matrix",
        "protocol": view.protocol,
        "ports": str(view.ports),
        "members": [member(node) for node in view.ordered()],
    }
    if not pairs:
        opening["classes"] = [
            {"id": place, "interfaces": [interface_id(view.matrix.nodes[index]) for index in part]}
            for place, part in enumerate(view.classes)
        ]
    yield json.dumps(opening, indent=2).removesuffix("\n}") + ',\n  "pairs": ['
    yield from _joined(_pairs(view) if pairs else _class_pairs(view))
    yield "\n  ]\n}\n"


def member(node: Node) -> dict[str, Any]:
    """Give one judged interface."""
    interface = node.interface
    return {
        "instance_id": node.instance.instance_id,
        "name": node.instance.name,
        "interface_id": interface_id(node),
        "address": node.address,
        "subnet_id": interface.subnet_id if interface else node.instance.subnet_id,
        "security_groups": list(interface.groups or ()) if interface else [],
    }


def interface_id(node: Node) -> str:
    """Tell the interface's id; empty where it could not be seen."""
    return node.interface.interface_id if node.interface else ""


def _joined(items: Iterator[str]) -> Iterator[str]:
    comma = "\n    "
    for item in items:
        yield comma + item
        comma = ",\n    "


def _pairs(view: View) -> Iterator[str]:
    ends = {node.index: (json.dumps(interface_id(node)), json.dumps(node.address)) for node in view.matrix.nodes}
    endings: dict[int, tuple[Answer, str]] = {}
    for source, target, answer in view.pairs():
        known = endings.get(id(answer))
        if known is None:
            known = endings[id(answer)] = (answer, f'"open": "{answer.open}", "verdict": "{answer.verdict}"}}')
        (source_id, source_address), (target_id, target_address) = ends[source.index], ends[target.index]
        yield (
            f'{{"source": {source_id}, "target": {target_id}, "source_address": {source_address}, '
            f'"target_address": {target_address}, {known[1]}'
        )


def _class_pairs(view: View) -> Iterator[str]:
    for source, senders in enumerate(view.classes):
        for target, receivers in enumerate(view.classes):
            answer = view.answer(source, target)
            if answer is None:
                continue
            count = len(senders) * len(receivers) - len(set(senders) & set(receivers))
            yield json.dumps(
                {
                    "source_class": source,
                    "target_class": target,
                    "pairs": count,
                    "open": str(answer.open),
                    "verdict": str(answer.verdict),
                }
            )
