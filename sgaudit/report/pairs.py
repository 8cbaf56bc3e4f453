"""The exact open ports of all pairs, worked out once for each pair of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgaudit.ports import PortSet
from sgaudit.reach.classes import classes
from sgaudit.reach.nodes import indexes_of
from sgaudit.reach.verdict import Verdict, verdict_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.reach.matrix import Matrix
    from sgaudit.reach.nodes import Node


@dataclass(frozen=True, slots=True)
class Answer:
    """What holds between two classes of nodes."""

    open: PortSet
    verdict: Verdict


@dataclass(frozen=True)
class View:
    """A matrix for one protocol, and the ports by which the verdicts go."""

    matrix: Matrix
    protocol: str
    ports: PortSet
    classes: tuple[tuple[int, ...], ...]
    """Nodes that no rule can tell apart, by index; in the order of names."""

    @classmethod
    def of(cls, matrix: Matrix, protocol: str, ports: PortSet) -> View:
        """Part the nodes into classes."""
        parts = [tuple(indexes_of(part)) for part in classes(matrix, protocol)]
        parts.sort(key=lambda part: min(_order(matrix.nodes[index]) for index in part))
        return cls(matrix, protocol, ports, tuple(parts))

    def answer(self, source: int, target: int) -> Answer | None:
        """Tell what holds from one class to another one; None for a class of one instance with itself."""
        pair = self._representatives(source, target)
        if pair is None:
            return None
        opened = self.matrix.open_ports(*pair, self.protocol)
        possible = opened if self.matrix.complete else self.matrix.possible_ports(*pair, self.protocol)
        return Answer(opened, verdict_on(self.ports, opened, possible))

    def _representatives(self, source: int, target: int) -> tuple[int, int] | None:
        nodes = self.matrix.nodes
        for one in self.classes[source]:
            for other in self.classes[target]:
                if nodes[one].instance is not nodes[other].instance:
                    return one, other
        return None

    def ordered(self) -> list[Node]:
        """List the nodes by name."""
        return sorted(self.matrix.nodes, key=_order)

    def class_of(self) -> dict[int, int]:
        """Map a node's index to the place of its class."""
        return {index: place for place, part in enumerate(self.classes) for index in part}

    def pairs(self) -> Iterator[tuple[Node, Node, Answer]]:
        """Go through all ordered pairs of nodes of different instances, by name."""
        place = self.class_of()
        answers: dict[tuple[int, int], Answer | None] = {}
        nodes = self.ordered()
        for source in nodes:
            here = place[source.index]
            for target in nodes:
                if target.instance is source.instance:
                    continue
                key = (here, place[target.index])
                if key not in answers:
                    answers[key] = self.answer(*key)
                answer = answers[key]
                if answer is not None:
                    yield source, target, answer

    def incomplete(self) -> bool:
        """Tell whether some pair's verdict is unknown."""
        if self.matrix.complete:
            return False
        everybody = self.matrix.node_set.everyone
        counts = self.matrix.judge(self.protocol, self.ports, everybody, everybody).counts
        return counts[Verdict.UNKNOWN] > 0


def _order(node: Node) -> tuple[str, str, str]:
    return node.instance.name, node.instance.instance_id, node.interface.interface_id if node.interface else ""
