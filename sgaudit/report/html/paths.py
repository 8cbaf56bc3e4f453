"""
The paths that the page can explain, each worked out once for two classes of members.

Rules treat the members of a class alike, so one path stands for all pairs of two classes. How many are
put into the page is bounded; those that are not open come first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from sgaudit.policy.model import Protocol
from sgaudit.reach.classes import classes
from sgaudit.reach.nodes import columns, indexes_of
from sgaudit.reach.trace import trace
from sgaudit.reach.verdict import Verdict
from sgaudit.report import explain_json, explain_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sgaudit.reach.nodes import Nodes
    from sgaudit.reach.trace_values import Trace
    from sgaudit.rules.context import Context, Judged

MOST = 1600
"""Paths in one page."""
SINGLES = 24
"""Members up to which each of them is a class of its own, so that paths name just those two."""
MOST_RULES = 8
MOST_ROWS = 64
"""Rows of verdicts up to which members that fare alike are told."""
STAGES: Mapping[str, str] = {
    "address": "address of {end}",
    "interface": "interface of {end}",
    "egress": "security groups of {end}, out",
    "acl-out": "network ACL of the source's subnet, out",
    "route": "route from the source's subnet",
    "acl-in": "network ACL of the target's subnet, in",
    "ingress": "security groups of {end}, in",
    "return-out": "network ACL of the target's subnet, out",
    "return-route": "route from the target's subnet",
    "return-in": "network ACL of the source's subnet, in",
}


@dataclass
class Texts:
    """Texts that occur again and again, each once."""

    items: list[str] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)

    def place(self, text: str) -> int:
        """Put a text away, and tell where."""
        found = self._places.get(text)
        if found is None:
            found = self._places[text] = len(self.items)
            self.items.append(text)
        return found


@dataclass(frozen=True)
class Paths:
    """The explanations of one page. Build it with `of`."""

    context: Context
    parts: Mapping[str, tuple[tuple[int, ...], ...]]
    """The classes of each protocol, as indexes of nodes."""

    @classmethod
    def of(cls, context: Context) -> Paths:
        """Part the nodes by what rules can tell apart."""
        nodes = context.matrix.node_set
        protocols = {str(judged.requirement.protocol) for judged in context.over_ip}
        if len(nodes) <= SINGLES:
            alone = tuple((index,) for index in range(len(nodes)))
            return cls(context, dict.fromkeys(sorted(protocols), alone))
        return cls(
            context,
            {
                name: tuple(tuple(indexes_of(part)) for part in classes(context.matrix, name))
                for name in sorted(protocols)
            },
        )

    def document(self) -> dict[str, Any]:
        """Give them as JSON: texts once, and for each path where its two classes and its texts are."""
        texts = Texts()
        known: dict[tuple[str, str, int, int], int] = {}
        paths: list[list[Any]] = []
        places: list[list[int]] = []
        for need, judged, source, target, ends in self._wanted():
            protocol, ports = judged.requirement.protocol, judged.requirement.ports
            key = (str(protocol), str(ports), source, target)
            if key not in known:
                known[key] = len(paths)
                paths.append(_told(trace(self.context.matrix, *ends, protocol, ports), texts))
            places.append([need, source, target, known[key]])
        fares = {} if self._few else {need: _fares(judged) for need, judged in self._needs}
        alike = [
            [need, fares[need][source], fares[need][target], place]
            for need, source, target, place in (
                (need, *paths[place][:2], place) for need, _, _, place in places if fares.get(need)
            )
        ]
        class_of = {name: _class_of(len(self.context.matrix.nodes), parts) for name, parts in self.parts.items()}
        # Protocols part the nodes alike more often than not.
        kept: list[list[int]] = []
        for parts in class_of.values():
            if parts not in kept:
                kept.append(parts)
        return {
            "texts": texts.items,
            "paths": paths,
            "places": places,
            "classes": {name: kept.index(parts) for name, parts in class_of.items()},
            "classOf": kept,
            "whole": self._few,
            "alike": alike,
            "alikeOf": fares,
            "efa": [n for n, judged in enumerate(self.context.judged) if judged.requirement.protocol is Protocol.EFA],
        }

    @property
    def _needs(self) -> list[tuple[int, Judged]]:
        return [
            (number, judged)
            for number, judged in enumerate(self.context.judged)
            if judged.requirement.protocol is not Protocol.EFA
        ]

    @property
    def _few(self) -> bool:
        """Whether all pairs of classes fit."""
        return sum(len(self.parts[str(judged.requirement.protocol)]) ** 2 for _, judged in self._needs) <= MOST

    def _wanted(self) -> Iterator[tuple[int, Judged, int, int, tuple[int, int]]]:
        """Go through the paths that are put into the page: need, classes, and two nodes that stand for them."""
        if self._few:
            for need, judged in self._needs:
                parts = self.parts[str(judged.requirement.protocol)]
                for source in range(len(parts)):
                    for target in range(len(parts)):
                        ends = _ends(self.context.matrix.node_set, parts[source], parts[target])
                        if ends:
                            yield need, judged, source, target, ends
            return
        share = MOST // max(1, len(self._needs))
        for need, judged in self._needs:
            seen: set[tuple[int, int]] = set()
            # One of each way to fare comes first, so that there is something like every pair.
            for item in (*self._each_way(judged), *islice(self._failing(judged), share)):
                if item[:2] not in seen and len(seen) < share:
                    seen.add(item[:2])
                    yield need, judged, *item

    def _each_way(self, judged: Judged) -> Iterator[tuple[int, int, tuple[int, int]]]:
        """Go through one failing pair for every way in which sources and targets fare."""
        nodes = self.context.matrix.node_set
        class_of = _class_of(len(nodes), self.parts[str(judged.requirement.protocol)])
        groups: dict[int, list[int]] = {}
        for index, fare in enumerate(_fares(judged)):
            groups.setdefault(fare, []).append(index)
        for sources in groups.values():
            for targets in groups.values():
                ends = _ends(nodes, tuple(sources[:2]), targets[:2])
                if ends and judged.verdicts.verdict(*ends) not in (None, Verdict.OPEN):
                    yield class_of[ends[0]], class_of[ends[1]], ends

    def _failing(self, judged: Judged) -> Iterator[tuple[int, int, tuple[int, int]]]:
        """Go through the pairs of classes of which some pair is not open."""
        nodes = self.context.matrix.node_set
        class_of = _class_of(len(nodes), self.parts[str(judged.requirement.protocol)])
        seen: set[tuple[int, int]] = set()
        for row in judged.verdicts.rows:
            targets = row.failing | row.unknown
            if not targets:
                continue
            sources = {class_of[index]: index for index in indexes_of(row.sources)}
            others: dict[int, list[int]] = {}
            for index in indexes_of(targets):
                others.setdefault(class_of[index], []).append(index)
            for source, one in sources.items():
                for target, candidates in others.items():
                    ends = _ends(nodes, (one,), candidates[:2])
                    if ends and (source, target) not in seen:
                        seen.add((source, target))
                        yield source, target, ends


def _fares(judged: Judged) -> list[int]:
    """Tell nodes that fare alike, as sources and as targets, by number; none where there are too many of them."""
    rows, size = judged.verdicts.rows, len(judged.verdicts.nodes)
    if len(rows) > MOST_ROWS:
        return []
    own = [-1] * size
    for number, row in enumerate(rows):
        for index in indexes_of(row.sources):
            own[index] = number
    sets = [found for row in rows for found in (row.partial, row.blocked, row.unknown) if found]
    known: dict[tuple[object, ...], int] = {}
    return [known.setdefault(key, len(known)) for key in zip(own, columns(sets, size), strict=True)]


def _class_of(size: int, parts: tuple[tuple[int, ...], ...]) -> list[int]:
    found = [0] * size
    for place, part in enumerate(parts):
        for index in part:
            found[index] = place
    return found


def _ends(nodes: Nodes, sources: tuple[int, ...], targets: list[int] | tuple[int, ...]) -> tuple[int, int] | None:
    """Choose a node of each class, of two instances."""
    for one in sources[:2]:
        for other in targets:
            if nodes.items[one].instance is not nodes.items[other].instance:
                return one, other
    return None


def _told(found: Trace, texts: Texts) -> list[Any]:
    """Write a path with its texts replaced by their places."""
    document = explain_json.document(found)
    stops: dict[str, list[dict[str, Any]]] = {}
    for blocker in document["blockers"]:
        stops.setdefault(blocker["stage"], []).append(blocker)
    hops = []
    for place, (hop, raw) in enumerate(zip(document["hops"], found.hops, strict=True)):
        end = found.source if raw.near_source else found.target
        last = raw.layer not in [later.layer for later in found.hops[place + 1 :]]
        rules = [("close: " if rule["effect"] == "misses" else "") + rule["text"] for rule in hop["rules"]]
        if len(rules) > MOST_RULES:
            rules[MOST_RULES:] = [f"and {len(rules) - MOST_RULES} more"]
        hops.append(
            [
                texts.place(STAGES[hop["stage"]].format(end=explain_words.short_label(found, end))),
                texts.place(explain_words.thing_label(found, raw.resource)),
                texts.place(hop["verdict"]),
                1 if hop["way"] == "back" else 0,
                texts.place(hop["open"]),
                [texts.place(rule) for rule in rules],
                [
                    [texts.place(stop["code"]), texts.place(stop["message"])]
                    for stop in (stops.get(hop["stage"], []) if last else [])
                ],
            ]
        )
    remedies = dict.fromkeys(blocker["remedy"] for blocker in document["blockers"])
    return [
        found.source.index,
        found.target.index,
        texts.place(document["verdict"]),
        texts.place(document["open"]),
        hops,
        [texts.place(remedy) for remedy in remedies],
    ]
