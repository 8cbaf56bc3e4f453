"""A scan as Markdown, for summaries and comments on GitHub and elsewhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sgaudit.report import scan_json
from sgaudit.report.scan_table import verdict_line
from sgaudit.report.terminal import Style
from sgaudit.report.told import clean
from sgaudit.rules.suppress import why

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgaudit.report.told import Told

MARKUP = re.compile(r"[\\`*_\[\]{}|~$<>&@#]|:(?=\S)|(?<=www)\.", re.IGNORECASE)
"""What is markup, a tag, a mention, an emoji or the beginning of an address to click on."""
ENTITIES = "<>&@#:."
"""Of these the ones that a backslash would not tame."""
MOST_FINDINGS = 100
"""GitHub refuses a summary of more than 1 MiB."""


def render(told: Told) -> Iterator[str]:
    """Write a heading with the verdict, a table of the needs, and the findings."""
    audit = told.audit
    document = scan_json.document(audit)
    place = " ".join(part for part in (told.account, told.region) if part)
    yield f"## sgaudit: {document['status']}\n\n"
    yield f"Members: {escape(audit.selection.describe())}{f' ({escape(place)})' if place else ''}\n\n"
    yield f"**{escape(verdict_line(audit, Style()))}**\n\n"
    for operation, code in document["coverage"]["denied"].items():
        yield f"- **not read:** {escape(operation)} ({escape(code)})\n"
    for skipped in document["coverage"]["skipped_needs"]:
        yield f"- not judged: {escape(skipped['policy'])} {escape(skipped['need'])}, {escape(skipped['reason'])}\n"
    yield "\n### Requirements\n\n"
    yield from _table(
        ("policy", "need", "traffic", "pairs", "open", "not open", "unknown"),
        [_need(need) for need in document["requirements"]],
    )
    if audit.findings:
        yield "\n### Findings\n\n"
    yield from _table(
        ("severity", "rule", "resource", "what is wrong", "what to do"),
        [
            (
                f"suppressed {item.severity}" if item.suppressed else f"**{item.severity}**",
                f"`{item.rule}`",
                escape(item.resource.id),
                escape(item.title if item.suppressed else item.message),
                escape(why(item) if item.suppressed else item.remedy),
            )
            for item in audit.findings[:MOST_FINDINGS]
        ],
    )
    if len(audit.findings) > MOST_FINDINGS:
        yield f"\n{len(audit.findings) - MOST_FINDINGS} more findings are not shown here.\n"


def _need(need: Mapping[str, Any]) -> Sequence[str]:
    texts = (need["policy"], need["need"], f"{need['protocol']} {need['ports']}".strip())
    numbers = [f"{need[key]:,}" for key in ("pairs", "satisfied", "unsatisfied", "unknown")]
    return [*map(escape, texts), *numbers]


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    for row in (headers, ["---"] * len(headers), *rows):
        yield f"| {' | '.join(row)} |\n"


def escape(text: str) -> str:
    """Write text that others wrote so that it stays what it is: no markup, no tags, no links, no mentions."""
    return MARKUP.sub(_tamed, clean(text))


def _tamed(found: re.Match[str]) -> str:
    letter = found.group()
    return f"&#{ord(letter)};" if letter in ENTITIES else f"\\{letter}"
