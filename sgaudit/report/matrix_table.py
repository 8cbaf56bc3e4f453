"""A matrix as people read it: a grid whose letters stand for sets of open ports."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sgaudit.reach.verdict import Verdict
from sgaudit.report import grid
from sgaudit.report.tables import table
from sgaudit.rules import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.report.pairs import Answer, View
    from sgaudit.report.terminal import Style

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWYZ"
"""X is left out: it stands for blocked."""
MOST_PAIRS = 200


def render(view: View, style: Style, *, pairs: bool) -> Iterator[str]:
    """Write the members, then a grid, a table of classes, or one line a pair."""
    nodes = view.ordered()
    asked = words.traffic(view.protocol, view.ports)
    yield style.paint(f"{words.number(len(nodes), 'interface')}, {asked}", "bold") + "\n\n"
    if pairs:
        lines = _pairs(view, style)
    elif len(nodes) <= grid.LARGEST:
        lines = _grid(view, style)
    else:
        lines = _classes(view, style)
    for text in lines:
        yield text + "\n"


def _pairs(view: View, style: Style) -> Iterator[str]:
    rows = [
        [
            style.safe(source.label),
            style.safe(target.label),
            source.address or "no address",
            target.address or "no address",
            style.paint(str(answer.verdict), grid.COLORS[answer.verdict]),
            _open(view, answer),
        ]
        for source, target, answer in view.pairs()
    ]
    yield from table(["source", "target", "source address", "target address", "verdict", "open ports"], rows)


def _grid(view: View, style: Style) -> Iterator[str]:
    nodes = view.ordered()
    place = view.class_of()
    answers: dict[tuple[int, int], Answer | None] = {}
    many = not view.matrix.node_set.one_each

    def answer(row: int, column: int) -> Answer | None:
        source, target = nodes[row], nodes[column]
        if source.instance is target.instance:
            return None
        key = (place[source.index], place[target.index])
        if key not in answers:
            answers[key] = view.answer(*key)
        return answers[key]

    shown = Counter(
        found for row in range(len(nodes)) for column in range(len(nodes)) if (found := answer(row, column))
    )
    letters = _letters(shown)
    labels = [
        f"{node.label} {node.interface.interface_id}" if many and node.interface else node.label for node in nodes
    ]

    def cell(row: int, column: int) -> str:
        found = answer(row, column)
        if found is None:
            return " "
        if found in letters:
            return style.paint(letters[found], grid.COLORS[found.verdict])
        return grid.sign(style, found.verdict)

    yield "from (row) to (column)"
    yield from grid.square(style, labels, cell)
    yield ""
    plain = sorted({found.verdict for found in shown if found not in letters})
    if plain:
        yield grid.legend(style, plain, f"of {words.traffic(view.protocol, view.ports)}")
    rows = [[letter, str(found.verdict), f"{shown[found]:,}", _open(view, found)] for found, letter in letters.items()]
    if rows:
        yield ""
        yield from table(["", "verdict", "pairs", "open ports"], rows, right=(2,))


def _letters(shown: Counter[Answer]) -> dict[Answer, str]:
    """Give a letter to each set of ports that its verdict alone does not tell."""
    told = [found for found, _ in shown.most_common() if found.verdict in (Verdict.PARTIAL, Verdict.UNKNOWN)]
    return dict(zip(told, LETTERS, strict=False))


def _classes(view: View, style: Style) -> Iterator[str]:
    rows: list[list[str]] = []
    nodes = view.matrix.nodes
    for place, part in enumerate(view.classes):
        node = nodes[part[0]]
        groups = view.matrix.node_set.group_set_of[node.index]
        subnet = node.interface.subnet_id if node.interface else ""
        rows.append(
            [
                str(place + 1),
                f"{len(part):,}",
                style.safe(words.listed([nodes[index].label for index in part], 2)),
                style.safe(words.subnet_label(view.matrix.snapshot, subnet)),
                style.safe(words.groups_label(view.matrix.snapshot, groups)),
            ]
        )
    yield "classes: interfaces that no rule can tell apart"
    yield from table(["class", "size", "members", "subnet", "security groups"], rows, right=(0, 1))
    yield ""
    yield from _class_pairs(view, style)


def _class_pairs(view: View, style: Style) -> Iterator[str]:
    found: dict[Answer, list[tuple[int, int]]] = {}
    for source in range(len(view.classes)):
        for target in range(len(view.classes)):
            answer = view.answer(source, target)
            if answer is not None:
                found.setdefault(answer, []).append((source, target))
    rows = [
        [
            style.paint(str(answer.verdict), grid.COLORS[answer.verdict]),
            _open(view, answer),
            f"{sum(_size(view, *pair) for pair in pairs):,}",
            words.listed([f"{source + 1}>{target + 1}" for source, target in pairs], 8),
        ]
        for answer, pairs in sorted(found.items(), key=lambda item: list(Verdict).index(item[0].verdict))
    ]
    yield "pairs of classes by their open ports (source>target)"
    yield from table(["verdict", "open ports", "pairs", "classes"], rows[:MOST_PAIRS], right=(2,))
    if len(rows) > MOST_PAIRS:
        yield f"{len(rows) - MOST_PAIRS:,} more rows; -f json or -f csv has all of them"


def _size(view: View, source: int, target: int) -> int:
    senders, receivers = view.classes[source], view.classes[target]
    return len(senders) * len(receivers) - len(set(senders) & set(receivers))


def _open(view: View, answer: Answer) -> str:
    if not answer.open:
        return "none"
    return words.icmp(answer.open) if view.protocol in ("icmp", "icmpv6") else str(answer.open)
