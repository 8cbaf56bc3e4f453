"""
Permissions that let too many in, replaced by those that the policy needs.

What is needed is added first, then what is too wide is revoked, one permission at a time: whatever else stands in the
same row of the console stays. What was open and is required stays open; a plan of which that can't be shown is not
made.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sgaudit.fix import efa_grants, openings
from sgaudit.fix.grants import Desk, Grant, Proposal, Refusal, merged
from sgaudit.fix.losses import losses
from sgaudit.fix.operations import Writer
from sgaudit.fix.plan import Plan, Strategy, Unfixable
from sgaudit.fix.planner import PREFERENCE, Options, assemble, closed, context_after, new_run, touched, unusable
from sgaudit.fix.population import Population
from sgaudit.fix.simulate import simulate
from sgaudit.model import ALL_PROTOCOLS, GroupPeer, Permission, PrefixListPeer
from sgaudit.policy.model import Protocol
from sgaudit.ports import PortSet
from sgaudit.rules import admin_port_open, open_beyond_cluster, open_to_world, self_and_world, words
from sgaudit.rules.context import Context
from sgaudit.rules.exposed import permission_label
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sgaudit.fix.plan import Extra, Operation
    from sgaudit.model import Snapshot
    from sgaudit.rules.audit import Audit
    from sgaudit.rules.context import Judged
    from sgaudit.rules.finding import Finding

RULES = (open_to_world.RULE, admin_port_open.RULE, self_and_world.RULE, open_beyond_cluster.RULE)
"""The rules whose permissions are replaced. A note is no reason to: it tells of what may well be meant."""
UNSAFE = "it takes access away: whatever came in by it and is not named in the policy can't any more"
MOST_LINES = 4
NO_OPTIONS = Options()
KEEPS_NOTHING_OPEN = "no change keeps open what is required without letting the same ones in again"


@dataclass(frozen=True, slots=True)
class Flag:
    """A permission that lets too many in."""

    group_id: str
    permission: Permission
    findings: tuple[str, ...]
    """Fingerprints of those that name it."""


@dataclass(frozen=True)
class _Change:
    """What replaces some permissions, shown to keep open what is required."""

    strategy: Strategy
    exact: bool
    operations: tuple[Operation, ...]
    judged: Context
    """The cluster after it."""
    added: tuple[Extra, ...]


def plan(audit: Audit, options: Options = NO_OPTIONS) -> Plan:
    """
    Plan to replace what exposure rules flag by what is needed, and prove that what is required stays open.

    Raises:
        UsageError: the strategy asked for can't be used here.
    """
    context, run = audit.context, options.run or new_run()
    found = flagged(context, audit.active)
    tightener = _Tightener(context, options, run, audit.selection.describe())
    change, given_up = tightener.choose(found)
    return assemble(
        audit,
        options,
        run,
        change.judged if change else context,
        strategy=change.strategy if change else Strategy.NONE,
        exact=change.exact if change else True,
        operations=change.operations if change else (),
        extra=change.added if change else (),
        unfixable=_unfixable(audit, found, given_up),
    )


def flagged(context: Context, findings: Iterable[Finding]) -> list[Flag]:
    """List the permissions that findings of a warning or an error name, each once."""
    rules = {rule.id for rule in RULES}
    found: dict[tuple[str, Permission], dict[str, None]] = defaultdict(dict)
    for finding in findings:
        if finding.rule not in rules or finding.severity.rank < Severity.WARNING.rank:
            continue
        group = (context.snapshot.security_groups or {}).get(finding.resource.id)
        named = [_told(item) for item in finding.evidence["permissions"]]
        for permission in group.ingress if group else ():
            if _evidence(permission) in named and _readable(context.snapshot, permission):
                found[finding.resource.id, permission][finding.fingerprint] = None
    return [Flag(group_id, permission, tuple(names)) for (group_id, permission), names in found.items()]


def _told(item: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(item[key] for key in ("protocol", "from_port", "to_port", "peer", "rule_id", "description"))


def _evidence(item: Permission) -> tuple[object, ...]:
    return item.protocol, item.from_port, item.to_port, str(item.peer), item.rule_id, item.description


def _readable(snapshot: Snapshot, permission: Permission) -> bool:
    peer = permission.peer
    return not isinstance(peer, PrefixListPeer) or peer.prefix_list_id in snapshot.prefix_lists


@dataclass(frozen=True)
class _Tightener:
    context: Context
    options: Options
    run: str
    cluster: str

    def choose(self, found: Sequence[Flag]) -> tuple[_Change | None, dict[str, str]]:
        """
        Replace all of it; where that can't be done, as many groups' permissions as can be.

        Returns:
            The change, and why the permissions of some groups stay, by the group's id.

        Raises:
            UsageError: the strategy asked for can't be used for any.
        """
        if not found:
            return None, {}
        change = self.attempt(found)
        if not isinstance(change, str):
            return change, {}
        best: _Change | None = None
        taken: list[Flag] = []
        given_up: dict[str, str] = {}
        for group_id in dict.fromkeys(flag.group_id for flag in found):
            more = [*taken, *(flag for flag in found if flag.group_id == group_id)]
            made = self.attempt(more)
            if isinstance(made, str):
                given_up[group_id] = made
            else:
                best, taken = made, more
        if best is None and self.options.strategy is not None:
            raise unusable(self.options.strategy, change)
        return best, given_up

    def attempt(self, flags: Sequence[Flag]) -> _Change | str:
        """Work out how to do without some permissions, or say why that can't be done."""
        bare = self._after(_without(self.context.snapshot, flags))
        gaps = tuple(losses(self.context, bare, {flag.group_id: flag.findings[0] for flag in flags}))
        population = Population(self.context)
        desk = Desk(bare, population, gaps, self.options.blocks, self.options.widen, self.context.snapshot)
        efa: Proposal | None = None
        pairs = zip(self.context.judged, bare.judged, strict=True)
        if any(was.verdicts.rows != now.verdicts.rows for was, now in pairs if _over_efa(was)):
            efa, _ = efa_grants.propose(bare, population)
        guests = tuple(_guests(self.context, bare, flags))
        refusals: list[str] = []
        for proposal in self._proposals(desk, refusals):
            wanted = efa_grants.joined(proposal, efa)
            if guests:
                wanted = efa_grants.joined(wanted, Proposal(Strategy.NONE, guests, exact=True, cost=0))
            change = self._written(wanted, flags, population, Strategy.NONE if proposal is None else proposal.strategy)
            if change is not None:
                return change
        return "; ".join(refusals) or KEEPS_NOTHING_OPEN

    def _proposals(self, desk: Desk, refusals: list[str]) -> Iterator[Proposal | None]:
        """Go through what could fill the gaps, the best first."""
        if not desk.gaps:
            yield None
            return
        asked = self.options.strategy or (Strategy.CIDR if self.options.blocks else None)
        made = [desk.propose(strategy) for strategy in ((asked,) if asked else PREFERENCE)]
        refusals += [f"{item.strategy}: {item.reason}" for item in made if isinstance(item, Refusal)]
        proposals = [item for item in made if isinstance(item, Proposal)]
        yield from sorted(proposals, key=lambda item: (item.cost, item.steps, PREFERENCE.index(item.strategy)))

    def _written(
        self, wanted: Proposal | None, flags: Sequence[Flag], population: Population, strategy: Strategy
    ) -> _Change | None:
        """Write the operations and prove them; None when they don't keep open what is required, or flag anew."""
        if wanted is not None:
            grants = tuple(_new(_without(self.context.snapshot, flags), merged(wanted.grants)))
            if any(_same(flag, grant) for flag in flags for grant in grants):
                return None
            wanted = replace(wanted, grants=grants)
        adding = Writer(self.context, population, self.run, self.cluster)
        adding.write(wanted, [])
        after = self._after(simulate(self.context.snapshot, adding.operations), less=flags)
        if _closes(self.context, after) or _flags_anew(self.context, after):
            return None
        required = self.context.requirements.between
        closed = openings.closures(population, after.snapshot, _traffic(flags), required)
        for group_id in dict.fromkeys(flag.group_id for flag in flags):
            mine = [flag for flag in flags if flag.group_id == group_id]
            adding.revoke(
                group_id,
                [flag.permission for flag in mine],
                _reason(self.context.snapshot, group_id, mine, closed),
                tuple(dict.fromkeys(name for flag in mine for name in flag.findings)),
                UNSAFE,
            )
        operations = tuple(adding.operations)
        final = simulate(self.context.snapshot, operations)
        added = openings.extras(population, final, touched(operations), required, closing=True)
        return _Change(strategy, wanted is None or wanted.exact, operations, self._after(final), added)

    def _after(self, snapshot: Snapshot, less: Sequence[Flag] = ()) -> Context:
        return context_after(self.context, _without(snapshot, less))


def _without(snapshot: Snapshot, flags: Iterable[Flag]) -> Snapshot:
    groups = dict(snapshot.security_groups or {})
    for flag in flags:
        group = groups[flag.group_id]
        groups[flag.group_id] = replace(group, ingress=tuple(row for row in group.ingress if row != flag.permission))
    return replace(snapshot, security_groups=groups)


def _guests(before: Context, bare: Context, flags: Sequence[Flag]) -> Iterator[Grant]:
    """Let those outside in whom the policy names, where what let them in goes."""
    holders = {flag.group_id: flag.findings for flag in flags}
    for was, now in zip(before.external, bare.external, strict=True):
        lost = was.answer.open & ~now.answer.open
        if was.requirement.outbound or not lost:
            continue
        for groups, carriers in before.matrix.node_set.by_group_set.items():
            holder = next((group for group in groups or () if group in holders), None)
            if carriers & lost and holder is not None:
                item = was.requirement
                yield Grant(holder, False, str(item.protocol), item.ports, (item.peer,), holders[holder])


def _new(snapshot: Snapshot, grants: Iterable[Grant]) -> Iterator[Grant]:
    """Leave out the ports of which a group has the very same permission."""
    known = snapshot.security_groups or {}
    for grant in grants:
        group = known.get(grant.holder)
        rows = () if group is None else group.egress if grant.egress else group.ingress
        for peer in grant.peers:
            have = {row.ports.ranges for row in rows if _alike(row.peer, peer) and row.protocol == grant.protocol}
            ports = PortSet.of(span for span in grant.ports.ranges if (span,) not in have)
            if ports:
                yield replace(grant, peers=(peer,), ports=ports)


def _alike(one: object, other: object) -> bool:
    if isinstance(one, GroupPeer) and isinstance(other, GroupPeer):
        return (one.group_id, one.peering_id) == (other.group_id, other.peering_id)
    return one == other


def _same(flag: Flag, grant: Grant) -> bool:
    row = flag.permission
    protocol = ALL_PROTOCOLS if grant.protocol in ("all", "efa") else grant.protocol
    return (
        (flag.group_id, row.protocol) == (grant.holder, protocol)
        and not grant.egress
        and (protocol == ALL_PROTOCOLS or row.ports.ranges[0] in grant.ports.ranges)
        and any(_alike(row.peer, peer) for peer in grant.peers)
    )


def _over_efa(judged: Judged) -> bool:
    return judged.requirement.protocol is Protocol.EFA


def _closes(before: Context, after: Context) -> bool:
    """Tell whether something that is required was open and is not any more."""
    return next(closed(before, after), None) is not None or any(
        was.answer.open & ~now.answer.open for was, now in zip(before.external, after.external, strict=True)
    )


def _flags_anew(before: Context, after: Context) -> bool:
    """Tell whether a permission that was added lets too many in itself."""
    known = {
        (group.group_id, row) for group in (before.snapshot.security_groups or {}).values() for row in group.ingress
    }
    found = flagged(after, (finding for rule in RULES for finding in rule.check(after)))
    return any((flag.group_id, flag.permission) not in known for flag in found)


def _traffic(flags: Iterable[Flag]) -> list[tuple[str, PortSet]]:
    found: dict[str, PortSet] = {}
    for flag in flags:
        name = "all" if flag.permission.protocol == ALL_PROTOCOLS else flag.permission.protocol
        found[name] = found.get(name, PortSet()) | flag.permission.ports
    return list(found.items())


def _reason(snapshot: Snapshot, group_id: str, flags: Sequence[Flag], closed: Iterable[Extra]) -> str:
    label = words.group_label(snapshot, group_id)
    rows = words.listed([permission_label(flag.permission) for flag in flags], MOST_LINES)
    peers = words.listed(words.unique(str(flag.permission.peer) for flag in flags), MOST_LINES)
    text = f"take {rows} from {label}: closes it to {peers}, but for what the policy names"
    lines = [
        f"{line.source} lose {line.protocol} {line.ports} to {line.target} ({words.number(line.pairs, 'pair')})"
        for line in closed
        if line.outside and label in line.target
    ]
    return f"{text}; of known interfaces {words.listed(lines, MOST_LINES)}" if lines else text


def _unfixable(audit: Audit, found: Sequence[Flag], given_up: Mapping[str, str]) -> Iterator[Unfixable]:
    """List the findings of the rules that stay, and why."""
    rules = {rule.id for rule in RULES}
    taken = {name for flag in found if flag.group_id not in given_up for name in flag.findings}
    for finding in audit.active:
        if finding.rule not in rules or finding.fingerprint in taken:
            continue
        reason = given_up.get(finding.resource.id, "")
        if not reason and finding.severity.rank < Severity.WARNING.rank:
            continue
        yield Unfixable(
            finding.fingerprint, finding.rule, finding.title, reason or "what it rests on was not read whole"
        )
