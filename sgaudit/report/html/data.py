"""
What the page's script draws: members, their kinds, and the verdicts as packed bits.

Sources that share their targets share a row, as in `Verdicts`, so that the size goes with what can be told
apart and not with the number of pairs. Everything is deflated; the page inflates it.
"""

from __future__ import annotations

import base64
import json
import zlib
from array import array
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sgaudit.policy.model import Protocol
from sgaudit.reach.nodes import bits_of, indexes_of
from sgaudit.reach.verdict import Verdict, member_counts
from sgaudit.report.html.paths import Paths
from sgaudit.report.html.picture import group_names, subnet_name
from sgaudit.report.terminal import Style
from sgaudit.rules import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.reach.nodes import GroupSet, Nodes
    from sgaudit.reach.verdict import Row, Verdicts
    from sgaudit.rules.audit import Audit
    from sgaudit.rules.context import Context

FORMAT = 1
"""Of the data; the script is in the same file, so that the two never part."""
NO_ROW = -1
_STYLE = Style(unicode=True)


@dataclass(frozen=True, slots=True)
class Kind:
    """Nodes in one subnet with the same groups."""

    subnet_id: str
    vpc_id: str
    groups: GroupSet
    nodes: int


def kinds(nodes: Nodes) -> tuple[Kind, ...]:
    """Sort the nodes into kinds, by subnet and groups."""
    parts: dict[tuple[int, GroupSet], list[int]] = defaultdict(list)
    for index, key in enumerate(zip(nodes.subnet_index_of, nodes.group_set_of, strict=True)):
        parts[key].append(index)
    ranked = sorted(parts.items(), key=lambda item: (item[0][0], item[0][1] or ()))
    return tuple(
        Kind(*(nodes.subnets[subnet] if subnet >= 0 else ("", "")), groups, bits_of(members))
        for (subnet, groups), members in ranked
    )


@dataclass
class Planes:
    """Sets of nodes as bytes, a row each; what is the same is kept once."""

    width: int
    """Bytes in a row."""
    data: bytearray = field(default_factory=bytearray)
    _known: dict[bytes, int] = field(default_factory=dict)

    def add(self, rows: list[int]) -> int:
        """Put rows away, and tell where they begin; -1 where nothing is in them."""
        if not any(rows):
            return -1
        packed = b"".join(row.to_bytes(self.width, "little") for row in rows)
        place = self._known.get(packed)
        if place is None:
            place = self._known[packed] = len(self.data)
            self.data += packed
        return place


@dataclass(frozen=True)
class Page:
    """Everything that the page's script is given."""

    audit: Audit
    after: Context | None = None
    """The cluster as it will be once the plan is carried out."""

    @property
    def nodes(self) -> Nodes:
        """Who is judged."""
        return self.audit.context.matrix.node_set

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The nodes by subnet and groups."""
        return kinds(self.nodes)

    def pieces(self) -> dict[str, Any]:
        """Give the JSON for the page: two texts, each deflated and in base64."""
        planes = Planes((len(self.nodes) + 7) // 8)
        paths = Paths.of(self.audit.context)
        document = {
            "members": self._members(),
            "kinds": list(self._kinds()),
            "views": list(self._views(planes)),
            "paths": paths.document(),
            "width": planes.width,
            "selection": self.audit.selection.describe(),
        }
        text = json.dumps(_clean(document), separators=(",", ":"))
        return {"format": FORMAT, "text": _packed(text.encode()), "bits": _packed(bytes(planes.data))}

    def _members(self) -> dict[str, Any]:
        place = {id(kind): number for number, kind in enumerate(self.kinds)}
        kind_of = [0] * len(self.nodes)
        for kind in self.kinds:
            for index in indexes_of(kind.nodes):
                kind_of[index] = place[id(kind)]
        known: dict[str, int] = {}
        instance_of = [known.setdefault(node.instance.instance_id, len(known)) for node in self.nodes]
        return {
            "names": [node.instance.name for node in self.nodes],
            "ids": [node.instance.instance_id for node in self.nodes],
            "interfaces": [node.interface.interface_id if node.interface else "" for node in self.nodes],
            "addresses": [node.address for node in self.nodes],
            "kinds": kind_of,
            "instances": None if self.nodes.one_each else instance_of,
        }

    def _kinds(self) -> Iterator[dict[str, Any]]:
        snapshot = self.audit.snapshot
        for kind in self.kinds:
            subnet = (snapshot.subnets or {}).get(kind.subnet_id)
            yield {
                "subnet": words.subnet_label(snapshot, kind.subnet_id),
                "place": subnet_name(snapshot, kind.subnet_id),
                "zone": subnet.availability_zone if subnet else "",
                "vpc": kind.vpc_id,
                "groups": words.groups_label(snapshot, kind.groups),
                "names": group_names(snapshot, kind.groups),
            }

    def _views(self, planes: Planes) -> Iterator[dict[str, Any]]:
        context = self.audit.context
        if len(context.judged) != 1:
            yield {"label": "everything that is asked", "need": -1, **self._view(context.overall, planes)}
        for number, judged in enumerate(context.judged):
            asked = judged.requirement
            yield {
                "label": f"{asked.need}: {words.traffic(asked.protocol, asked.ports)}",
                "need": number,
                "protocol": str(asked.protocol),
                "ports": [list(span) for span in asked.ports.ranges],
                "pinned": str(asked.ports) if asked.protocol in (Protocol.TCP, Protocol.UDP) else "",
                **self._view(judged.verdicts, planes),
            }
        if self.after is not None:
            yield {
                "label": "after the plan: everything that is asked",
                "need": -2,
                **self._view(self.after.overall, planes),
            }

    def _view(self, verdicts: Verdicts, planes: Planes) -> dict[str, Any]:
        rows: tuple[Row, ...] = verdicts.rows
        row_of = array("i", [NO_ROW]) * len(self.nodes)
        for number, row in enumerate(rows):
            for index in indexes_of(row.sources):
                row_of[index] = number
        counts = member_counts(verdicts)
        return {
            "rows": len(rows),
            "rowOf": row_of.tolist(),
            "scope": planes.add([row.scope for row in rows]),
            "partial": planes.add([row.partial for row in rows]),
            "blocked": planes.add([row.blocked for row in rows]),
            "unknown": planes.add([row.unknown for row in rows]),
            "counts": {str(verdict): counts[verdict] for verdict in Verdict},
        }


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9 if len(data) < 1 << 22 else 6)).decode()


def _clean(value: Any) -> Any:
    """Make control and direction characters of text that others wrote visible."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


def clean(text: str) -> str:
    """Make control and direction characters visible; everything else stays, markup included."""
    return text if text.isascii() and text.isprintable() else _STYLE.safe(text)
