"""The page about the rules: `python -m sgaudit.rules.docs > docs/rules.md`."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sgaudit.rules import RULES
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from sgaudit.rules.finding import Rule

EXAMPLES = Path(__file__).parents[2] / "examples"
WIDTH = 120
INTRODUCTION = """\
# Rules

What `sgaudit scan` looks for. `sgaudit rules` lists the same in a terminal, and `sgaudit rules show ID` explains one.
`--select ID` asks for some rules only, `--ignore ID` leaves some out, and [configuration](config.md) accepts single
findings with a reason.

The severity is the highest that a rule gives: an **error** means that the cluster will not work, or is open to where it
must not be; a **warning** that it works by luck, or will stop working; a **note** that something is untidy. `--fail-on`
says from which one on the exit code is 1.

A rule that crashes ends the scan with exit code 70 and its name: what it would have found is not known, so nothing
passes.
"""


def render(rules: Sequence[Rule], examples: Mapping[str, Sequence[str]]) -> str:
    """
    Write the page.

    Args:
        rules: what to explain, in this order within a severity.
        examples: the folders of `examples/` in which a rule finds something, by its id.
    """
    return "\n".join([INTRODUCTION, *_overview(rules), *(_section(rule, examples.get(rule.id, ())) for rule in rules)])


def examples_by_rule(folder: Path = EXAMPLES) -> dict[str, list[str]]:
    """Look up which examples promise findings of which rule."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*/expected.json")):
        for rule_id in json.loads(path.read_text(encoding="utf-8"))["rules"]:
            found.setdefault(rule_id, []).append(path.parent.name)
    return found


def _overview(rules: Sequence[Rule]) -> Iterator[str]:
    yield "| rule | severity | what it means |"
    yield "|---|---|---|"
    for severity in reversed(Severity):
        for rule in rules:
            if rule.severity is severity:
                yield f"| [{rule.id}](#{rule.id}) | {rule.severity} | {_cell(rule.title)} |"
    yield ""


def _section(rule: Rule, examples: Sequence[str]) -> str:
    paragraphs = [
        f"**{rule.title}** ({rule.severity})",
        rule.why,
        f"*What to do:* {rule.remedy}",
        f"*Sources:* {'; '.join(rule.sources)}",
    ]
    if examples:
        paragraphs.append("*Examples:* " + ", ".join(f"[{name}](../examples/{name}/README.md)" for name in examples))
    return "\n\n".join([f"## {rule.id}", *(_wrapped(text) for text in paragraphs)]) + "\n"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(render(RULES, examples_by_rule()))
