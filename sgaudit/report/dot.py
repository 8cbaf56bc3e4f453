"""The cluster as a graph for Graphviz."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.reach.verdict import Verdict
from sgaudit.report.picture import draw
from sgaudit.rules import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.report.picture import Edge
    from sgaudit.report.told import Told

LOOKS = {
    Verdict.OPEN: 'color="#2e7d32"',
    Verdict.PARTIAL: 'color="#b26a00" style="dashed"',
    Verdict.BLOCKED: 'color="#c62828" style="bold" arrowhead="tee"',
    Verdict.UNKNOWN: 'color="#1565c0" style="dotted"',
}


def render(told: Told) -> Iterator[str]:
    """Write a directed graph with a box for each subnet; an edge shows the worst verdict of its pairs."""
    picture = draw(told.audit)
    yield "digraph sgaudit {\n"
    yield f"  label={quoted(picture.title)};\n"
    yield '  labelloc="t"; rankdir="LR"; compound=true;\n'
    yield '  graph [fontname="Helvetica"]; node [fontname="Helvetica" shape="box" style="rounded"];\n'
    yield '  edge [fontname="Helvetica" fontsize=10];\n'
    for number, (subnet, places) in enumerate(picture.subnets.items()):
        indent = "    " if subnet else "  "
        if subnet:
            yield f"  subgraph cluster_{number} {{\n    label={quoted(subnet)};\n"
        for place in places:
            yield f"{indent}k{place} [label={quoted(picture.kinds[place].label)}];\n"
        if subnet:
            yield "  }\n"
    for edge in picture.edges:
        yield f"  k{edge.source} -> k{edge.target} [{_look(edge)} label={quoted(edge_label(edge))}];\n"
    yield "}\n"


def edge_label(edge: Edge) -> str:
    """Say what the edge shows."""
    return f"{edge.verdict}, {words.number(edge.pairs, 'pair')}"


def _look(edge: Edge) -> str:
    look = LOOKS[edge.verdict]
    if not edge.mutual:
        return look
    return f'{look} dir="both"' + (' arrowtail="tee"' if edge.verdict is Verdict.BLOCKED else "")


def quoted(text: str) -> str:
    """
    Write a string of the DOT language, with line ends as its own.

    Graphviz reads entities in every string, and a backslash before a letter as an escape.
    """
    text = text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'
