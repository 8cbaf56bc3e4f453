"""The cluster as a Mermaid flowchart, which GitHub and GitLab show in Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgaudit.reach.verdict import Verdict
from sgaudit.report.dot import edge_label
from sgaudit.report.picture import draw

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.report.told import Told

ONE_WAY = {Verdict.OPEN: "-->", Verdict.PARTIAL: "-.->", Verdict.BLOCKED: "--x", Verdict.UNKNOWN: "-.->"}
BOTH_WAYS = {Verdict.OPEN: "<-->", Verdict.PARTIAL: "<-.->", Verdict.BLOCKED: "x--x", Verdict.UNKNOWN: "<-.->"}
COLORS = {
    Verdict.OPEN: "#2e7d32",
    Verdict.PARTIAL: "#b26a00",
    Verdict.BLOCKED: "#c62828",
    Verdict.UNKNOWN: "#1565c0",
}
SYNTAX = re.compile(r"[^\w ,./()+\-]|_|^[+\-]|(?<=^\d)\.")
"""Whatever could be syntax, a tag or Markdown; a list begins with a dash or a digit and a dot."""


def render(told: Told) -> Iterator[str]:
    """Write a flowchart with a box for each subnet; an edge shows the worst verdict of its pairs."""
    picture = draw(told.audit)
    yield "flowchart LR\n"
    yield f"  %% {re.sub(r'[{}]', '', picture.title)}\n"
    for number, (subnet, places) in enumerate(picture.subnets.items()):
        indent = "    " if subnet else "  "
        if subnet:
            yield f"  subgraph s{number} [{quoted(subnet)}]\n"
        for place in places:
            yield f"{indent}k{place}[{quoted(picture.kinds[place].label)}]\n"
        if subnet:
            yield "  end\n"
    for edge in picture.edges:
        arrow = (BOTH_WAYS if edge.mutual else ONE_WAY)[edge.verdict]
        yield f"  k{edge.source} {arrow}|{quoted(edge_label(edge))}| k{edge.target}\n"
    for verdict, color in COLORS.items():
        numbers = [str(number) for number, edge in enumerate(picture.edges) if edge.verdict is verdict]
        if numbers:
            yield f"  linkStyle {','.join(numbers)} stroke:{color}\n"


def quoted(text: str) -> str:
    """Write a label in which every letter stays what it is: Mermaid reads entities as `#number;`."""
    lines = [SYNTAX.sub(_entity, line) for line in text.split("\n")]
    return f'"{"<br/>".join(lines)}"'


def _entity(found: re.Match[str]) -> str:
    return f"#{ord(found.group())};"
