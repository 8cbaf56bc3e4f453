"""The groups on EFA interfaces don't admit EFA traffic between members."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from sgaudit.model import ALL_PROTOCOLS, GroupPeer
from sgaudit.ports import ALL
from sgaudit.reach.nodes import bits_of, indexes_of
from sgaudit.reach.verdict import count_pairs, iterate_pairs
from sgaudit.rules import words
from sgaudit.rules.context import MOST_EXAMPLES
from sgaudit.rules.finding import Example, Finding, Fix, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.reach.efa import Profile
    from sgaudit.reach.nodes import GroupSet
    from sgaudit.rules.context import Context, Judged

PREPOSITIONS = {"egress": "to", "ingress": "from"}


@dataclass
class _Half:
    """One direction in which a set of groups admits too little."""

    kinds: int = 0
    """The kinds of interface at the other end."""
    rows: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Sources to targets; sets of sources are disjoint."""
    severities: set[Severity] = field(default_factory=set)
    needs: dict[str, None] = field(default_factory=dict)

    def add(self, judged: Judged, kinds: int, sources: int, targets: int) -> None:
        self.kinds |= kinds
        self.rows[sources] |= targets
        self.severities.add(judged.requirement.severity)
        self.needs[judged.requirement.need] = None

    def joined(self, other: _Half) -> _Half:
        """Put two halves together."""
        rows: dict[int, int] = defaultdict(int)
        left = dict(other.rows)
        for own, targets in self.rows.items():
            rest = own
            for sources in [sources for sources in left if sources & own]:
                both, theirs = sources & own, left.pop(sources)
                rows[both] |= targets | theirs
                rest &= ~both
                if sources & ~both:
                    left[sources & ~both] = theirs
            if rest:
                rows[rest] |= targets
        for sources, targets in left.items():
            rows[sources] |= targets
        return _Half(self.kinds | other.kinds, rows, self.severities | other.severities, {**self.needs, **other.needs})


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each set of groups, both halves in one where the same members are at the other end."""
    found: dict[GroupSet, dict[str, _Half]] = defaultdict(lambda: defaultdict(_Half))
    for judged in context.over_efa:
        if judged.verdicts.failing:
            _search(context, judged, found)
    for groups, halves in found.items():
        if len(halves) == 2 and halves["egress"].kinds == halves["ingress"].kinds:
            yield _finding(context, groups, ("ingress", "egress"), halves["egress"].joined(halves["ingress"]))
            continue
        for direction, half in halves.items():
            yield _finding(context, groups, (direction,), half)


def _search(context: Context, judged: Judged, found: dict[GroupSet, dict[str, _Half]]) -> None:
    """Go through the members by what passes from and to their interfaces, which many groups may have in common."""
    fabric, nodes = context.fabric, context.matrix.node_set
    links = fabric.possible
    alike: dict[tuple[tuple[int, int, int], ...], list[Profile]] = defaultdict(list)
    for profile in fabric.profiles:
        alike[tuple((links.near[kind], links.out[kind], links.into[kind]) for kind in profile)].append(profile)
    for ways, profiles in alike.items():
        everyone = 0
        for profile in profiles:
            everyone |= fabric.profiles[profile] & judged.sources
        closed = judged.targets & ~fabric.reached(profiles[0], possible=True) & ~fabric.bare
        if not count_pairs(nodes, everyone, closed):
            continue
        for place, (near, out, into) in enumerate(ways):
            targets = fabric.nodes_of(near & ~out) & closed
            others = _holding(context, near & ~out, targets)
            for profile in profiles:
                sources = fabric.profiles[profile] & judged.sources
                if count_pairs(nodes, sources, targets):
                    found[fabric.kinds[profile[place]].groups]["egress"].add(judged, others, sources, targets)
            own = bits_of([profile[place] for profile in profiles if fabric.profiles[profile] & judged.sources])
            for other in indexes_of(near & ~into):
                targets = fabric.members_of[other] & closed
                if count_pairs(nodes, everyone, targets):
                    found[fabric.kinds[other].groups]["ingress"].add(judged, own, everyone, targets)


def _holding(context: Context, kinds: int, nodes: int) -> int:
    return sum(1 << kind for kind in indexes_of(kinds) if context.fabric.members_of[kind] & nodes)


def _finding(context: Context, groups: GroupSet, directions: tuple[str, ...], half: _Half) -> Finding:
    matrix, snapshot = context.matrix, context.snapshot
    pairs = sum(count_pairs(matrix.node_set, sources, targets) for sources, targets in half.rows.items())
    holders = 0
    for sources, targets in half.rows.items():
        holders |= (sources if "egress" in directions else 0) | (targets if "ingress" in directions else 0)
    holder = words.groups_label(snapshot, groups)
    group_id, peer_id = _ends(context, groups, half.kinds)
    peer = "itself" if len(groups or ()) == 1 else "the group itself"
    if group_id != peer_id:
        peer = words.group_label(snapshot, peer_id) if peer_id else _labels(context, half.kinds)
    lacks = " and ".join(
        f"no {direction} permission for all protocols {PREPOSITIONS[direction]} {peer}" for direction in directions
    )
    way = "in or out" if len(directions) == 2 else "out" if directions == ("egress",) else "in"
    return Finding(
        rule=RULE.id,
        severity=max(half.severities, key=lambda severity: severity.rank),
        title=f"{holder} lets no EFA traffic {way}",
        message=(
            f"{words.sentence(words.members_label(matrix, holders))} behind {holder}: {lacks}; "
            f"{words.number(pairs, 'pair')} can't connect over EFA. {_belief(context, groups, directions)}"
        ),
        remedy=_remedy(context, group_id, peer_id, directions),
        resource=Resource("security-group", group_id),
        pairs=pairs,
        examples=_examples(context, half),
        evidence={
            "directions": list(directions),
            "security_groups": list(groups or ()),
            "protocol": "efa",
            "peer_groups": sorted(_peer_groups(context, half.kinds)),
            "needs": list(half.needs),
        },
        fix=Fix.UNSAFE,
        subject=("security-groups",),
        identity=(*directions, *(groups or ())),
    )


def _peer_groups(context: Context, kinds: int) -> set[str]:
    return {group for kind in indexes_of(kinds) for group in context.fabric.kinds[kind].groups or ()}


def _labels(context: Context, kinds: int) -> str:
    return words.listed([words.group_label(context.snapshot, group) for group in sorted(_peer_groups(context, kinds))])


def _ends(context: Context, groups: GroupSet, kinds: int) -> tuple[str, str]:
    """Pick the group that should hold the permission and the one that should be its peer, if one serves all."""
    fabric = context.fabric
    shared = set.intersection(*(set(fabric.kinds[kind].groups or ()) for kind in indexes_of(kinds)))

    def rank(group_id: str) -> tuple[int, int, str]:
        halves = sum(group_id in (fabric.admitted(group_id, egress=egress) or ()) for egress in (True, False))
        carried = sum(group_id in (kind.groups or ()) for kind in fabric.kinds)
        return halves, carried, group_id

    ours = shared & set(groups or ())
    if ours:
        best = max(ours, key=rank)
        return best, best
    return max(groups or ("",), key=rank), max(shared, key=rank, default="")


def _belief(context: Context, groups: GroupSet, directions: tuple[str, ...]) -> str:
    """Say why what is there does not count."""
    known = context.snapshot.security_groups or {}
    blocks: list[str] = []
    for direction in directions:
        for group_id in groups or ():
            rows = known[group_id].egress if direction == "egress" else known[group_id].ingress
            blocks += [
                f"{direction} {PREPOSITIONS[direction]} {row.peer}"
                for row in rows
                if row.protocol == ALL_PROTOCOLS and not isinstance(row.peer, GroupPeer)
            ]
    blocks = words.unique(blocks)
    said = f"The {words.listed(blocks)} {words.verb(len(blocks), 'does', 'do')} not count"
    said = said if blocks else "No CIDR block would count"
    return f"{said}: EFA addresses are neither IPv4 nor IPv6, so only a security group as peer admits them."


def _remedy(context: Context, group_id: str, peer_id: str, directions: tuple[str, ...]) -> str:
    holder = words.group_label(context.snapshot, group_id)
    if not group_id or not peer_id:
        return (
            "Put one common group on the EFA interfaces of all these members, with an ingress and an egress permission "
            "for all protocols whose peer is the group itself."
        )
    what = " and ".join(f"an {direction} permission" for direction in directions)
    peer = "the group itself" if group_id == peer_id else words.group_label(context.snapshot, peer_id)
    return f"Add to {holder} {what} for all protocols whose peer is {peer}."


def _examples(context: Context, half: _Half) -> tuple[Example, ...]:
    nodes = context.matrix.node_set
    pairs = (pair for sources, targets in half.rows.items() for pair in iterate_pairs(nodes, sources, targets))
    return tuple(
        Example(nodes.items[source].instance.instance_id, nodes.items[target].instance.instance_id, ALL)
        for source, target in islice(pairs, MOST_EXAMPLES)
    )


RULE = Rule(
    id="efa-group-closed",
    title="Security groups don't admit EFA traffic between members",
    severity=Severity.ERROR,
    why=(
        "EFA traffic passes only where a group of the source has an egress permission and a group of the target has an "
        "ingress permission, each for all protocols and with a security group as peer. The default egress to 0.0.0.0/0 "
        "and CIDR blocks don't count, because EFA addresses are neither IPv4 nor IPv6. Libraries then fail with "
        "'unreachable remote' or 'unresponsive receiver', or fall back to TCP without a word."
    ),
    remedy="Let one group that all members' EFA interfaces carry admit all protocols from and to itself.",
    sources=(
        "EC2 user guide, Get started with EFA and MPI, Prepare an EFA-enabled security group",
        "awslabs/awsome-distributed-ai, discussion of EFA and egress to 0.0.0.0/0",
        "open-mpi/ompi, report of EFA with self ingress but no self egress",
    ),
    check=check,
)
