"""The formats in which a scan can be told, all of them written out here. Each is loaded when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sgaudit.report.told import Told


@dataclass(frozen=True, slots=True)
class Format:
    """One of them."""

    name: str
    endings: tuple[str, ...]
    """Names of files that mean it when no format is named."""
    about: str
    render: Callable[[Told], Iterator[str]]


def _table(told: Told) -> Iterator[str]:
    from sgaudit.report import scan_table

    return scan_table.render(told.audit, told.style)


def _json(told: Told) -> Iterator[str]:
    from sgaudit.report import scan_json

    return scan_json.render(told.audit)


def _html(told: Told) -> Iterator[str]:
    from sgaudit.report.html import render

    return render.render(told.audit)


def _of(module: str) -> Callable[[Told], Iterator[str]]:
    def render(told: Told) -> Iterator[str]:
        found: Iterator[str] = import_module(f"sgaudit.report.{module}").render(told)
        return found

    return render


FORMATS: tuple[Format, ...] = (
    Format("table", (".txt",), "for people at a terminal", _table),
    Format("json", (".json",), "one JSON object with everything", _json),
    Format("jsonl", (".jsonl", ".ndjson"), "the same, an object a line", _of("jsonl")),
    Format("csv", (".csv",), "for spreadsheets", _of("scan_csv")),
    Format("html", (".html", ".htm"), "one page to look at, with a map of who reaches whom", _html),
    Format("markdown", (".md", ".markdown"), "for summaries and comments", _of("markdown")),
    Format("sarif", (".sarif", ".sarif.json"), "SARIF 2.1.0, for code scanning", _of("sarif")),
    Format("junit", (".xml",), "JUnit XML, for the test view of pipelines", _of("junit")),
    Format("github", (), "annotations of GitHub Actions", _of("github")),
    Format("asff", (".asff", ".asff.json"), "AWS Security Finding Format, for Security Hub", _of("asff")),
    Format("ocsf", (".ocsf", ".ocsf.json"), "OCSF Compliance Findings", _of("ocsf")),
    Format("dot", (".dot", ".gv"), "the cluster as a graph, for Graphviz", _of("dot")),
    Format("mermaid", (".mmd", ".mermaid"), "the cluster as a Mermaid flowchart", _of("mermaid")),
)
BY_NAME = {format_.name: format_ for format_ in FORMATS}
DEFAULT = FORMATS[0]


def by_ending(path: str) -> Format | None:
    """Tell the format that the name of a file means: of several endings that fit, the longest."""
    fitting = [
        (len(ending), format_) for format_ in FORMATS for ending in format_.endings if path.lower().endswith(ending)
    ]
    return max(fitting, key=lambda item: item[0])[1] if fitting else None
