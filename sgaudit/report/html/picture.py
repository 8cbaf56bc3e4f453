"""The cluster in one picture: subnets, the groups in them, and who reaches whom, as shapes to draw."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgaudit.reach.verdict import Verdict, count_pairs
from sgaudit.report.terminal import clip
from sgaudit.rules import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sgaudit.model import Snapshot
    from sgaudit.reach.nodes import GroupSet
    from sgaudit.reach.verdict import Verdicts
    from sgaudit.report.html.data import Kind
    from sgaudit.rules.audit import Audit

    Namer = Callable[[Kind], tuple[str, str]]

MOST_BOXES = 24
MOST_LINES = 80
"""Lines in the picture: more would hide one another."""
SHARES = (0.1, 0.35, 0.75)
"""Shares of pairs that are not open, from each of which on a line is drawn more strongly."""
WIDTH, BOX, GAP, HEAD, PAD = 760, 46, 8, 26, 10
COLUMN = 280
LETTERS = 40
WORST = (Verdict.BLOCKED, Verdict.PARTIAL, Verdict.UNKNOWN, Verdict.OPEN)


@dataclass(frozen=True, slots=True)
class Part:
    """Members that are shown as one box."""

    frame: str
    """What holds it: a subnet, or a VPC."""
    label: str
    short_frame: str
    short: str
    """The same without ids where there are names."""
    nodes: int
    members: int


@dataclass(frozen=True, slots=True)
class Link:
    """What holds from one part to another."""

    source: int
    target: int
    counts: Mapping[Verdict, int]

    @property
    def worst(self) -> Verdict:
        """The gravest verdict of its pairs."""
        return next(verdict for verdict in WORST if self.counts.get(verdict))

    @property
    def mixed(self) -> bool:
        """Whether its pairs differ."""
        return sum(1 for count in self.counts.values() if count) > 1

    @property
    def failing(self) -> int:
        """How many of its pairs are not open."""
        return sum(count for verdict, count in self.counts.items() if verdict is not Verdict.OPEN)

    @property
    def strength(self) -> int:
        """How much of it is as its worst says, from 1 to 4."""
        share = self.failing / max(1, sum(self.counts.values()))
        return 4 if not self.failing else 1 + sum(share >= edge for edge in SHARES)

    @property
    def text(self) -> str:
        """Say it."""
        return ", ".join(f"{self.counts[verdict]:,} {verdict}" for verdict in WORST if self.counts.get(verdict))


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with its texts; a frame has no second line."""

    y: int
    height: int
    label: str
    detail: str
    title: str


@dataclass(frozen=True, slots=True)
class Line:
    """A link as a curve."""

    path: str
    verdict: Verdict
    mixed: bool
    strength: int
    title: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything to draw: the boxes stand on the left as sources and on the right as targets."""

    height: int
    frames: tuple[Box, ...]
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    what: str
    """What a box stands for."""
    parts: tuple[Part, ...]
    links: tuple[Link, ...]
    left_out: int
    """Links that are not drawn: those with the fewest pairs that are not open."""


def picture(audit: Audit, kinds: Sequence[Kind]) -> Picture:
    """Draw the finest picture that people can still read."""
    what, parts, links = min(
        ((what, parts, _links(audit.context.overall, parts)) for what, parts in _ways(audit, kinds)),
        key=lambda found: sum(link.mixed for link in found[2]) / max(1, len(found[2])),
    )
    frames: list[Box] = []
    boxes: list[Box] = []
    y = 0
    by_frame: dict[str, list[Part]] = defaultdict(list)
    for part in parts:
        by_frame[part.frame].append(part)
    for frame, inside in by_frame.items():
        top, y = y, y + HEAD
        for part in inside:
            boxes.append(Box(y, BOX, clip(part.short, LETTERS, "…"), words.number(part.members, "member"), part.label))
            y += BOX + GAP
        frames.append(Box(top, y - top + PAD - GAP, clip(inside[0].short_frame, LETTERS, "…"), "", frame))
        y += PAD + GAP
    gravest = sorted(links, key=lambda link: (link.failing, link.strength), reverse=True)[:MOST_LINES]
    drawn = sorted(gravest, key=lambda link: (-WORST.index(link.worst), link.strength))
    return Picture(
        y,
        tuple(frames),
        tuple(boxes),
        tuple(_line(link, parts, boxes) for link in drawn),
        what,
        tuple(parts),
        links,
        len(links) - len(drawn),
    )


def _ways(audit: Audit, kinds: Sequence[Kind]) -> Iterator[tuple[str, list[Part]]]:
    """Go through what boxes can stand for, the finest first: subnet and groups, a subnet, groups, a VPC."""
    snapshot, matrix = audit.snapshot, audit.context.matrix

    def subnet(kind: Kind) -> tuple[str, str]:
        known = (snapshot.subnets or {}).get(kind.subnet_id)
        where = f", {known.availability_zone}" if known and known.availability_zone else ""
        return words.subnet_label(snapshot, kind.subnet_id) + where, subnet_name(snapshot, kind.subnet_id) + where

    def groups(kind: Kind) -> tuple[str, str]:
        return words.groups_label(snapshot, kind.groups), group_names(snapshot, kind.groups)

    def vpc(kind: Kind) -> tuple[str, str]:
        known = (snapshot.vpcs or {}).get(kind.vpc_id)
        label = words.named(known.tags.get("Name", "") if known else "", kind.vpc_id or "an unknown VPC")
        return label, label

    ways: tuple[tuple[str, Namer, Namer], ...] = (
        ("members of one subnet with the same groups", subnet, groups),
        ("the members of one subnet", vpc, subnet),
        ("members with the same groups", vpc, groups),
        ("the members of one VPC", lambda _: ("all members", "all members"), vpc),
    )
    for what, frame, label in ways:
        found: dict[tuple[str, str, str, str], int] = defaultdict(int)
        for kind in kinds:
            (holder, short_holder), (name, short) = frame(kind), label(kind)
            found[holder, name, short_holder, short] |= kind.nodes
        if len(found) <= MOST_BOXES:
            yield what, [Part(*key, nodes, words.count_members(matrix, nodes)) for key, nodes in sorted(found.items())]
    everyone = matrix.node_set.everyone
    name = "all members"
    yield name, [Part(name, name, name, name, everyone, words.count_members(matrix, everyone))]


def subnet_name(snapshot: Snapshot, subnet_id: str) -> str:
    """Name a subnet by as little as people need."""
    known = (snapshot.subnets or {}).get(subnet_id)
    return (known.tags.get("Name", "") if known else "") or words.subnet_label(snapshot, subnet_id)


def group_names(snapshot: Snapshot, groups: GroupSet) -> str:
    """Name the groups of a kind by as little as people need."""
    known = snapshot.security_groups or {}
    if not groups:
        return words.groups_label(snapshot, groups)
    return " + ".join(known[group].name or group if group in known else group for group in groups)


def _links(verdicts: Verdicts, parts: Sequence[Part]) -> tuple[Link, ...]:
    counts: dict[tuple[int, int], dict[Verdict, int]] = defaultdict(dict)
    for row in verdicts.rows:
        for source, one in enumerate(parts):
            sources = one.nodes & row.sources
            for target, other in enumerate(parts) if sources else ():
                for verdict in Verdict:
                    found = count_pairs(verdicts.nodes, sources, other.nodes & row.of(verdict))
                    if found:
                        counts[source, target][verdict] = counts[source, target].get(verdict, 0) + found
    return tuple(Link(*key, found) for key, found in sorted(counts.items()))


def _line(link: Link, parts: Sequence[Part], boxes: Sequence[Box]) -> Line:
    here, there = (boxes[place].y + BOX // 2 for place in (link.source, link.target))
    left, right = PAD + COLUMN, WIDTH - PAD - COLUMN
    bend = (right - left) // 2
    path = f"M{left} {here}C{left + bend} {here} {right - bend} {there} {right} {there}"
    title = f"{parts[link.source].label} to {parts[link.target].label}: {link.text}"
    return Line(path, link.worst, link.mixed, link.strength, title)
