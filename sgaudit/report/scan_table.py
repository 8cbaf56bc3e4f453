"""A scan as people read it."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from sgaudit.reach.external import count_members
from sgaudit.reach.verdict import Verdict, count_pairs, member_counts
from sgaudit.report import grid, heat
from sgaudit.report.tables import table
from sgaudit.rules import words
from sgaudit.rules.external_paths import peer_text
from sgaudit.rules.suppress import why

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.reach.nodes import GroupSet
    from sgaudit.reach.verdict import Verdicts
    from sgaudit.report.terminal import Style
    from sgaudit.rules.audit import Audit
    from sgaudit.rules.finding import Finding

MOST_EXAMPLES = 3
SHORT = 8
"""Letters of a fingerprint that are shown; `explain --finding` and suppressions take that many."""
TRUNCATED = "Truncated"
"""What a snapshot says of an answer that was cut off."""


def render(audit: Audit, style: Style) -> Iterator[str]:
    """Write head line, matrix, requirements and findings, then the verdict in one line."""
    for block in (head(audit, style), _matrix(audit, style), _requirements(audit, style), _findings(audit, style)):
        lines = list(block)
        if lines:
            yield "\n".join(lines) + "\n\n"
    yield verdict_line(audit, style) + "\n"


def head(audit: Audit, style: Style) -> Iterator[str]:
    """Say what was looked at."""
    found = audit.coverage()
    place = ", ".join(
        part
        for part in (
            f"account {found['account_id']}" if found["account_id"] else "",
            found["region"],
            f"as of {found['collected_at']}" if found["collected_at"] else "",
        )
        if part
    )
    yield style.paint(style.wrap(audit.selection.describe() + (f" ({place})" if place else "")), "bold")
    yield style.wrap(
        ", ".join(
            (
                words.number(found["members"], "member"),
                words.number(found["subnets"], "subnet"),
                words.number(found["security_groups"], "security group"),
                words.number(found["network_acls"], "network ACL"),
                words.number(found["vpcs"], "VPC"),
                "policy " + ", ".join(audit.context.requirements.policies),
            )
        )
    )
    for operation, code in found["denied"].items():
        cure = "read it again, whole" if code == TRUNCATED else f"allow ec2:{operation}"
        yield style.paint(style.wrap(f"not read: {operation} ({code}); {cure}"), "yellow")


def _matrix(audit: Audit, style: Style) -> Iterator[str]:
    verdicts = audit.context.overall
    if len(verdicts.nodes) < 2:
        return
    used = [verdict for verdict, count in verdicts.counts.items() if count]
    if len(verdicts.nodes) <= grid.LARGEST:
        ordered = sorted(verdicts.nodes, key=lambda node: (node.label, node.index))
        labels = [
            node.label
            if verdicts.nodes.one_each or node.interface is None
            else f"{node.label} {node.interface.interface_id}"
            for node in ordered
        ]

        def cell(row: int, column: int) -> str:
            return grid.sign(style, verdicts.verdict(ordered[row].index, ordered[column].index))

        yield "from (row) to (column)"
        yield from grid.square(style, labels, cell)
    else:
        yield from _grouped(audit, verdicts, style)
        if style.color and style.unicode:
            yield ""
            yield from heat.lines(verdicts, style)
    yield ""
    yield grid.legend(style, used, "of what the policy needs")


def _grouped(audit: Audit, verdicts: Verdicts, style: Style) -> Iterator[str]:
    """Show the worst verdict between members that share subnet and groups."""
    nodes = verdicts.nodes
    kinds: dict[tuple[int, GroupSet], int] = defaultdict(int)
    for index, key in enumerate(zip(nodes.subnet_index_of, nodes.group_set_of, strict=True)):
        kinds[key] |= 1 << index
    ranked = sorted(kinds.items(), key=lambda item: (-item[1].bit_count(), str(item[0])))
    shown = ranked[: grid.LARGEST]
    labels = [
        f"{members.bit_count()} x {words.subnet_label(audit.snapshot, nodes.subnets[subnet][0] if subnet >= 0 else '')}"
        f" / {words.groups_label(audit.snapshot, groups)}"
        for (subnet, groups), members in shown
    ]
    worst = _worst(verdicts, [members for _, members in shown])
    yield "from (row) to (column), members by subnet and security groups, the worst verdict of each"
    yield from grid.square(style, labels, lambda row, column: grid.sign(style, worst.get((row, column))))
    if len(ranked) > len(shown):
        left = sum(members.bit_count() for _, members in ranked[len(shown) :])
        yield style.wrap(
            f"{len(ranked) - len(shown)} smaller kinds with {words.number(left, 'member')} are not shown; "
            "sgaudit matrix has all of them"
        )
    inside = [labels[n] for n in range(len(shown)) if worst.get((n, n)) not in (None, Verdict.OPEN)]
    if inside:
        yield style.wrap(f"not all open inside: {words.listed(inside, 6)}")


def _worst(verdicts: Verdicts, kinds: list[int]) -> dict[tuple[int, int], Verdict]:
    order = (Verdict.BLOCKED, Verdict.PARTIAL, Verdict.UNKNOWN, Verdict.OPEN)
    found: dict[tuple[int, int], Verdict] = {}
    for row in verdicts.rows:
        for source, members in enumerate(kinds):
            if not members & row.sources:
                continue
            for target, others in enumerate(kinds):
                for verdict in order:
                    if count_pairs(verdicts.nodes, members & row.sources, others & row.of(verdict)):
                        known = found.get((source, target), Verdict.OPEN)
                        found[source, target] = min(known, verdict, key=order.index)
                        break
    return found


def _requirements(audit: Audit, style: Style) -> Iterator[str]:
    rows = []
    for judged in audit.context.judged:
        counts = member_counts(judged.verdicts)
        failed = counts[Verdict.PARTIAL] + counts[Verdict.BLOCKED]
        requirement = judged.requirement
        rows.append(
            [
                ", ".join(requirement.policies),
                requirement.need,
                words.traffic(requirement.protocol, requirement.ports),
                f"{sum(counts.values()):,}",
                f"{counts[Verdict.OPEN]:,}",
                style.paint(f"{failed:,}", "red") if failed else "0",
                style.paint(f"{counts[Verdict.UNKNOWN]:,}", "blue") if counts[Verdict.UNKNOWN] else "0",
            ]
        )
    for external in audit.context.external:
        asked, found = external.requirement, count_members(audit.context.matrix, external.answer)
        way = "to" if asked.outbound else "from"
        rows.append(
            [
                ", ".join(asked.policies),
                f"{asked.need} {way} {asked.peer_name} ({peer_text(asked.peer)})",
                words.traffic(asked.protocol, asked.ports),
                f"{sum(found.values()):,}",
                f"{found['open']:,}",
                style.paint(f"{found['closed']:,}", "red") if found["closed"] else "0",
                style.paint(f"{found['unknown']:,}", "blue") if found["unknown"] else "0",
            ]
        )
    headers = ["policy", "need", "traffic", "pairs", "open", "not open", "unknown"]
    # The head names the policies; which one asks for what is worth a column only where there are several.
    first = 0 if len(audit.context.requirements.policies) > 1 else 1
    yield from table(headers[first:], [row[first:] for row in rows], right=tuple(range(3 - first, 7 - first)))
    for skipped in audit.context.requirements.skipped:
        yield style.wrap(f"not judged: {skipped.policy} {skipped.need}: {skipped.reason}", hanging="  ")


def _findings(audit: Audit, style: Style) -> Iterator[str]:
    for count, finding in enumerate(audit.findings):
        if count:
            yield ""
        yield from finding_lines(audit, finding, style)


def finding_lines(audit: Audit, finding: Finding, style: Style) -> Iterator[str]:
    """Write one finding; of one that is suppressed no more than that it is, and why."""
    if finding.suppressed:
        title = f"suppressed {finding.severity} {finding.rule}: {finding.title}"
        yield style.paint(style.wrap(title, hanging="  "), "dim")
        yield style.paint(style.wrap(why(finding), indent="  "), "dim")
        return
    name = f"{finding.rule} [{finding.fingerprint[:SHORT]}]"
    title = style.wrap(f"{finding.severity} {name}: {finding.title}", hanging="  ")
    yield title.replace(str(finding.severity), style.severity(finding.severity), 1)
    yield style.wrap(finding.message, indent="  ")
    names = {instance: audit.snapshot.instances[instance].name for instance in _instances(finding)}
    if finding.examples:
        shown = [
            f"{names[example.source] or example.source} -> {names[example.target] or example.target}"
            for example in finding.examples[:MOST_EXAMPLES]
        ]
        yield style.wrap(f"for example {', '.join(shown)}", indent="  ")
    yield style.wrap(f"{style.sign('→', '=>')} {finding.remedy}", indent="  ", hanging="     ")


def _instances(finding: Finding) -> set[str]:
    return {end for example in finding.examples for end in (example.source, example.target)}


def verdict_line(audit: Audit, style: Style) -> str:
    """Say it in one line."""
    counts = audit.counts
    pairs = sum(counts.values())
    said = [f"{counts[verdict]:,} {verdict}" for verdict in Verdict if counts[verdict]]
    active = Counter(finding.severity for finding in audit.active)
    found = ", ".join(words.number(count, str(severity)) for severity, count in active.items())
    if suppressed := len(audit.findings) - len(audit.active):
        found += f"{', ' if found else ''}{suppressed} suppressed"
    look = {"pass": "green", "fail": "red", "incomplete": "yellow"}[audit.status]
    text = f"{audit.status.upper()}: {words.number(pairs, 'ordered pair')}" + (f", {', '.join(said)}" if said else "")
    if audit.context.external:
        tallies = [count_members(audit.context.matrix, external.answer) for external in audit.context.external]
        total = sum(sum(tally.values()) for tally in tallies)
        text += f"; {sum(tally['open'] for tally in tallies):,} of {words.number(total, 'path')} with peers open"
    return style.paint(style.wrap(text + (f"; {found}" if found else "")), "bold", look)


def gone_line(audit: Audit, style: Style) -> str:
    """Say which findings of the baseline no longer occur."""
    gone = [words.named(item.rule, item.resource) for item in audit.gone]
    what = f"{words.number(len(gone), 'finding')} of the baseline no longer {words.verb(len(gone), 'occurs', 'occur')}"
    return style.safe(f"note: {what}: {words.listed(gone)}; --write-baseline makes a new one")
