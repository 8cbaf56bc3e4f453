"""Putting the page together: text through the template, data for the script, and a policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

import sgaudit
from sgaudit.fix.planner import context_after
from sgaudit.fix.simulate import simulate
from sgaudit.reach.external import count_members
from sgaudit.reach.verdict import Verdict, member_counts
from sgaudit.report import grid, plan_table, scan_table
from sgaudit.report.html import picture as drawing
from sgaudit.report.html.commands import commands
from sgaudit.report.html.data import Page, clean
from sgaudit.report.terminal import Style
from sgaudit.rules import RULES, words
from sgaudit.rules.context import Context
from sgaudit.rules.external_paths import peer_text
from sgaudit.rules.suppress import why

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sgaudit.fix.plan import Plan
    from sgaudit.rules.audit import Audit
    from sgaudit.rules.finding import Finding

MOST_LINKS = 300
"""Rows of the table of who reaches whom; what is not open comes first."""
SIGNS: Mapping[str, str] = {str(verdict): sign for verdict, (sign, _) in grid.SIGNS.items()}
MEANINGS: Mapping[str, str] = {str(verdict): meaning for verdict, meaning in grid.MEANINGS.items()}


def render(audit: Audit, plan: Plan | None = None) -> Iterator[str]:
    """
    Write the page.

    Args:
        audit: what a scan came to.
        plan: what is going to be done about it; the page then shows before and after.
    """
    after = _after(audit.context, plan) if plan is not None else None
    page = Page(audit, after)
    style, script = _asset("page.css"), _asset("page.js")
    environment = Environment(
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["lines"] = _lines
    template = environment.from_string(_asset("template.html.j2"))
    yield from template.generate(
        _context(audit, page, plan),
        policy=_policy(style, script),
        style=Markup(style),  # noqa: S704  # the package's own file
        script=Markup(script),  # noqa: S704  # the package's own file
        data=Markup(script_safe(page.pieces())),  # noqa: S704  # no `<` is left in it
        version=sgaudit.__version__,
    )


def script_safe(document: Mapping[str, Any]) -> str:
    """Write JSON that can't end the script element that it stands in."""
    text = json.dumps(document, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _shown(value: Any) -> Any:
    """Make control and direction characters of every text visible."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _lines(text: str) -> Markup:
    """Keep the ends of lines, of all control characters alone."""
    return Markup("\n").join(clean(line) for line in text.split("\n"))


def _asset(name: str) -> str:
    return files("sgaudit.report.html").joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _after(context: Context, plan: Plan) -> Context:
    snapshot = simulate(context.snapshot, plan.operations)
    return context_after(context, snapshot)


def _context(audit: Audit, page: Page, plan: Plan | None) -> dict[str, Any]:
    plain = Style(width=120, unicode=True)
    counts = audit.counts
    picture = drawing.picture(audit, page.kinds) if page.kinds else None
    links = sorted(picture.links, key=lambda link: drawing.WORST.index(link.worst)) if picture else []
    return {
        "title": "every instance" if audit.selection.everything else audit.selection.describe(),
        "status": audit.status,
        "verdict": scan_table.verdict_line(audit, plain).partition(": ")[2],
        "coverage": audit.coverage(),
        "policies": ", ".join(audit.context.requirements.policies),
        "pairs": sum(counts.values()),
        "counts": {str(verdict): counts[verdict] for verdict in Verdict},
        "signs": SIGNS,
        "meanings": MEANINGS,
        "requirements": list(_requirements(audit)),
        "findings": [_finding(audit, finding, plan) for finding in audit.findings],
        "gone": [words.named(item.rule, item.resource) for item in audit.gone],
        "picture": picture,
        "links": links[:MOST_LINKS],
        "links_left": len(links) - len(links[:MOST_LINKS]),
        "plan": _plan(plan) if plan is not None else None,
        "geometry": {"width": drawing.WIDTH, "column": drawing.COLUMN, "pad": drawing.PAD},
    }


@dataclass(frozen=True, slots=True)
class Requirement:
    """A line of the table of what is asked."""

    policy: str
    need: str
    traffic: str
    why: str
    pairs: int
    open: int
    failed: int
    unknown: int


def _requirements(audit: Audit) -> Iterator[Requirement]:
    for judged in audit.context.judged:
        asked, counts = judged.requirement, member_counts(judged.verdicts)
        yield Requirement(
            ", ".join(asked.policies),
            asked.need,
            words.traffic(asked.protocol, asked.ports),
            asked.why,
            sum(counts.values()),
            counts[Verdict.OPEN],
            counts[Verdict.PARTIAL] + counts[Verdict.BLOCKED],
            counts[Verdict.UNKNOWN],
        )
    for external in audit.context.external:
        need, found = external.requirement, count_members(audit.context.matrix, external.answer)
        yield Requirement(
            ", ".join(need.policies),
            f"{need.need} {'to' if need.outbound else 'from'} {need.peer_name} ({peer_text(need.peer)})",
            words.traffic(need.protocol, need.ports),
            need.why,
            sum(found.values()),
            found["open"],
            found["closed"],
            found["unknown"],
        )


def _finding(audit: Audit, finding: Finding, plan: Plan | None) -> dict[str, Any]:
    known = {rule.id: rule for rule in RULES}
    rule = known.get(finding.rule)
    instances = audit.snapshot.instances

    def name(instance_id: str) -> str:
        found = instances.get(instance_id)
        return (found.name if found else "") or instance_id

    return {
        "rule": finding.rule,
        "severity": str(finding.severity),
        "title": finding.title,
        "message": finding.message,
        "remedy": finding.remedy,
        "resource": finding.resource,
        "pairs": finding.pairs,
        "fix": str(finding.fix),
        "fingerprint": finding.fingerprint,
        "suppressed": finding.suppressed,
        "suppressed_by": why(finding) if finding.suppressed else "",
        "examples": [
            {"source": name(item.source), "target": name(item.target), "ports": str(item.ports)}
            for item in finding.examples
        ],
        "evidence": [(key.replace("_", " "), _evidence(value)) for key, value in finding.evidence.items()],
        "why": rule.why if rule else "",
        "sources": rule.sources if rule else (),
        "commands": commands(plan, finding.fingerprint) if plan is not None else "",
    }


def _evidence(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(item, str | int) for item in value):
        return ", ".join(map(str, value)) or "none"
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _plan(plan: Plan) -> dict[str, Any]:
    return {
        "run": plan.run,
        "strategy": str(plan.strategy),
        "summary": plan_table.last_line(plan, Style(width=120, unicode=True)),
        "before": plan.before,
        "after": plan.after,
        "operations": [
            {
                "id": item.id,
                "api": item.call.api,
                "safety": str(item.safety),
                "reason": item.reason,
                "unsafe_because": item.unsafe_because,
            }
            for item in plan.operations
        ],
        "commands": commands(plan),
        "extra": plan.extra,
        "outside_known": plan.outside_known,
        "unfixable": plan.unfixable,
    }
