"""What policies say about the world outside the cluster, made ready for `reach.exposure`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.model import Cidr, Family, PrefixListPeer
from sgaudit.policy.model import Protocol
from sgaudit.reach import exposure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgaudit.model import Member, Snapshot
    from sgaudit.policy.model import ExternalRequirement, Requirements
    from sgaudit.reach.exposure import Outside

IN_QUESTION = frozenset({Protocol.TCP, Protocol.UDP, Protocol.ALL})


def invited(requirements: Requirements) -> list[ExternalRequirement]:
    """List the needs by which somebody outside dials members: what they admit by name is no exposure."""
    return [item for item in requirements.external if not item.outbound and item.protocol in IN_QUESTION]


def prepare(snapshot: Snapshot, members: Sequence[Member], requirements: Requirements) -> Mapping[Family, Outside]:
    """Cut the addresses of both families, and part the members, so that every question has one answer a part."""
    guests = invited(requirements)
    asked = [*(item.members for item in requirements.exposures), *(item.members for item in guests)]
    parts = tuple(dict.fromkeys(part for part in asked if len(part) < len(members)))
    cuts = [block for item in requirements.exposures for block in (*item.sources, *item.except_sources)]
    for item in guests:
        if isinstance(item.peer, Cidr):
            cuts.append(item.peer)
        elif isinstance(item.peer, PrefixListPeer):
            cuts += snapshot.prefix_lists.get(item.peer.prefix_list_id, ())
    return {family: exposure.build(snapshot, members, family, cuts=cuts, parts=parts) for family in Family}
