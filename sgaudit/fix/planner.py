"""From an audit to a plan that is proven on the snapshot."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sgaudit
from sgaudit.errors import InternalError, UsageError
from sgaudit.fix import efa_grants, openings
from sgaudit.fix.acl_entries import NewEntry, NoEntry, entries
from sgaudit.fix.gaps import GroupGap, acl_gaps, group_gaps
from sgaudit.fix.grants import Desk, Proposal, Refusal
from sgaudit.fix.operations import Writer
from sgaudit.fix.plan import Operation, Plan, Precondition, Strategy, Unfixable
from sgaudit.fix.population import Population
from sgaudit.fix.preconditions import fingerprint_of
from sgaudit.fix.simulate import simulate
from sgaudit.ports import ALL, PortSet
from sgaudit.reach.matrix import build
from sgaudit.reach.verdict import Verdict, member_counts
from sgaudit.rules.context import Context

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sgaudit.fix.plan import Extra
    from sgaudit.model import Cidr, Snapshot
    from sgaudit.rules.audit import Audit

NO_SETTINGS: Mapping[str, Any] = {}
PREFERENCE = (Strategy.SELF, Strategy.PEERS, Strategy.CLUSTER_GROUP, Strategy.PREFIX_LIST, Strategy.CIDR)
"""Among strategies that open as little and take as few operations, the first one wins."""
CURED_ALONG = frozenset({"split-cluster"})
"""Rules whose findings follow from others, and go with them."""
PATH_RULES = frozenset(
    {
        "mesh-path-blocked",
        "partial-ports",
        "acl-blocks-path",
        "acl-blocks-return",
        "no-route",
        "no-address",
        "not-visible",
        "efa-group-closed",
        "efa-missing-interface",
        "efa-split-placement",
        "efa-not-visible",
        "external-path-blocked",
    }
)
"""The rules whose findings keep a requirement from being met."""


CHANGED_BY_KEY = {
    "GroupId": "security-group",
    "NetworkAclId": "network-acl",
    "NetworkInterfaceId": "network-interface",
}
"""The parameter of a request that names what it changes, and its kind."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may say about a plan."""

    strategy: Strategy | None = None
    """None: the best of all that can be used."""
    blocks: tuple[Cidr, ...] = ()
    """CIDR blocks for the strategy `cidr`."""
    widen: bool = False
    """Write the fewest permissions, even where they cover ports in between that nothing needs."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """As in `Plan.settings`."""
    run: str = ""
    """Id of the run; made up when empty."""
    created: str = ""
    """ISO 8601; now when empty."""


def plan(audit: Audit, options: Options = Options()) -> Plan:
    """
    Plan the least change that opens what is required, and prove it.

    Raises:
        UsageError: the strategy asked for can't be used here; the message says why.
        InternalError: the plan does not keep its promise. It is not given out.
    """
    context = audit.context
    run = options.run or new_run()
    population = Population(context)
    accepted = {finding.fingerprint for finding in audit.findings if finding.suppressed}
    gaps = tuple(gap for gap in group_gaps(context) if gap.finding not in accepted)
    desk = Desk(context, population, gaps, options.blocks, options.widen)
    proposal, refusals = choose(desk, options.strategy)
    efa, efa_refusals = efa_grants.propose(context, population, accepted)
    wanted = entries(context, (gap for gap in acl_gaps(context) if gap.finding not in accepted))
    writer = Writer(context, population, run, audit.selection.describe())
    operations = writer.write(efa_grants.joined(proposal, efa), [item for item in wanted if isinstance(item, NewEntry)])
    after = simulate(context.snapshot, operations)
    judged = context_after(context, after)
    hopeless = [item for item in wanted if isinstance(item, NoEntry)]
    given_up = accepted | {finding for item in hopeless for finding in item.findings}
    _prove(context, judged, gaps if proposal is not None else (), efa, given_up)
    return assemble(
        audit,
        options,
        run,
        judged,
        strategy=_strategy(proposal, efa),
        exact=(proposal is None or proposal.exact),
        operations=operations,
        extra=(
            *openings.extras(population, after, touched(operations), context.requirements.between),
            *openings.unheld(population, operations),
        ),
        unfixable=_unfixable(audit, operations, [*refusals, *efa_refusals], hopeless),
    )


def assemble(
    audit: Audit,
    options: Options,
    run: str,
    judged: Context,
    *,
    strategy: Strategy,
    exact: bool,
    operations: tuple[Operation, ...],
    extra: tuple[Extra, ...],
    unfixable: Iterable[Unfixable],
) -> Plan:
    """Put a plan together: what was decided, beside the cluster before and, as judged, after."""
    context = audit.context
    before, now = member_counts(context.overall), member_counts(judged.overall)
    return Plan(
        run=run,
        created=options.created or datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        tool_version=sgaudit.__version__,
        account_id=context.snapshot.account_id,
        region=context.snapshot.region,
        selection=audit.selection.to_json(),
        settings=dict(options.settings),
        strategy=strategy,
        exact=exact,
        operations=operations,
        before={str(verdict): before[verdict] for verdict in Verdict},
        after={str(verdict): now[verdict] for verdict in Verdict},
        required=now[Verdict.OPEN] - before[Verdict.OPEN],
        extra=extra,
        outside_known=all(vpc in context.snapshot.whole_vpcs for vpc in context.matrix.node_set.by_vpc),
        unfixable=tuple(unfixable),
        preconditions=preconditions(context.snapshot, operations),
    )


def new_run() -> str:
    """Make up the id of a run: its time, and a few letters that tell it from others of the same second."""
    return f"{datetime.now(UTC):%Y%m%dt%H%M%S}-{secrets.token_hex(3)}"


def choose(desk: Desk, asked: Strategy | None) -> tuple[Proposal | None, list[Refusal]]:
    """
    Choose the strategy that opens least to others, then the one with the fewest operations.

    One that adds to a VPC's default group, or lets it in, comes behind those that don't: who carries that
    group tomorrow is not known today.

    Raises:
        UsageError: the one asked for can't be used.
    """
    if not desk.gaps:
        return None, []
    if asked is not None:
        made = desk.propose(asked)
        if isinstance(made, Refusal):
            raise unusable(asked, made.reason)
        return made, []
    if desk.blocks:
        return choose(desk, Strategy.CIDR)
    proposals: list[Proposal] = []
    refusals: list[Refusal] = []
    for strategy in PREFERENCE:
        made = desk.propose(strategy)
        if isinstance(made, Refusal):
            refusals.append(made)
        else:
            proposals.append(made)
            if made.cost == 0 and made.steps == 1 and not desk.leans_on_default(made):
                break
    if not proposals:
        return None, refusals
    return min(proposals, key=lambda made: _rank(desk, made)), []


def _rank(desk: Desk, proposal: Proposal) -> tuple[int, bool, int, int]:
    order = PREFERENCE.index(proposal.strategy)
    return proposal.cost, desk.leans_on_default(proposal), proposal.steps, order


def _strategy(proposal: Proposal | None, efa: Proposal | None) -> Strategy:
    if proposal is not None:
        return proposal.strategy
    return efa.strategy if efa is not None else Strategy.NONE


def context_after(context: Context, after: Snapshot) -> Context:
    """Judge the same members and needs by what a simulated snapshot says."""
    own = context.matrix
    known = after.interfaces
    members = [
        type(member)(member.instance, tuple(known[item.interface_id] for item in member.interfaces))
        for member in own.members
    ]
    matrix = build(after, members, family=own.family, client_ports=own.client_ports)
    return Context(after, matrix, context.requirements)


def closed(before: Context, after: Context) -> Iterator[str]:
    """Name the needs between members of which something was open and is not any more."""
    for was, now in zip(before.judged, after.judged, strict=True):
        rows = now.verdicts.row_of
        if any(row.open & ~rows[index].open for index, row in was.verdicts.row_of.items()):
            yield was.requirement.need


def unusable(strategy: Strategy, reason: str) -> UsageError:
    """Say that the strategy that was asked for does not serve."""
    return UsageError(
        f"--strategy {strategy} can't be used here: {reason}",
        hint="leave --strategy out to take the best one that can",
    )


def _prove(
    before: Context,
    after: Context,
    gaps: Sequence[GroupGap],
    efa: Proposal | None,
    given_up: AbstractSet[str],
) -> None:
    """
    Check what the plan promises: every gap that it set out to fill is filled, and nothing is closed.

    Raises:
        InternalError: it does not.
    """
    if not all(_filled(after, gap) for gap in gaps):
        raise InternalError("the plan leaves a gap of a security group that it set out to fill")
    if any(gap.finding not in given_up for gap in acl_gaps(after)):
        raise InternalError("the plan leaves a gap of a network ACL that it set out to fill")
    if efa is not None and efa_grants.gaps_left(after, given_up):
        raise InternalError("the plan leaves EFA traffic closed that it set out to open")
    for need in closed(before, after):
        raise InternalError(f"the plan would close paths of {need}")


def _filled(after: Context, gap: GroupGap) -> bool:
    """Tell whether the groups that the holders carry now let everything pass that was missing."""
    matrix = after.matrix
    for groups, carriers in matrix.node_set.by_group_set.items():
        if carriers & gap.holder_nodes:
            for protocol, ports in matrix.traffic(gap.protocol, gap.missing):
                steps = matrix.sure.groups.steps(groups, protocol, egress=gap.egress)
                if gap.peer_nodes & ~steps.every(ports, gap.peer_nodes):
                    return False
    return True


def preconditions(snapshot: Snapshot, operations: Sequence[Operation]) -> tuple[Precondition, ...]:
    """Fingerprint each resource that operations change, as long as it is there already."""
    wanted: dict[tuple[str, str], None] = {}
    for operation in operations:
        for key, kind in CHANGED_BY_KEY.items():
            resource_id = operation.call.params.get(key)
            if isinstance(resource_id, str):
                wanted[kind, resource_id] = None
    return tuple(Precondition(kind, name, fingerprint_of(snapshot, kind, name)) for kind, name in wanted)


def touched(operations: Sequence[Operation]) -> list[tuple[str, PortSet]]:
    """Tell the traffic that operations let pass, by protocol."""
    found: dict[str, PortSet] = {}
    for operation in operations:
        params = operation.call.params
        if operation.call.api.startswith("Authorize"):
            for row in params["IpPermissions"]:
                _note(found, row["IpProtocol"], row.get("FromPort"), row.get("ToPort"))
        elif operation.call.api == "CreateNetworkAclEntry":
            # An entry for the answers lets each port through on which nothing but the way back was missing.
            _note(found, params["Protocol"], None, None)
    return list(found.items())


def _note(found: dict[str, PortSet], protocol: str, low: int | None, high: int | None) -> None:
    name = {"6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6", "-1": "all"}.get(protocol, protocol)
    whole = name not in ("tcp", "udp") or low is None or high is None
    ports = ALL if whole else PortSet.single(low or 0, high or 0)
    found[name] = found.get(name, PortSet()) | ports


def _unfixable(
    audit: Audit, operations: Sequence[Operation], refusals: Sequence[Refusal], hopeless: Sequence[NoEntry]
) -> list[Unfixable]:
    """List the findings on paths that no operation cures, each with what a person can do."""
    cured = {finding for operation in operations for finding in operation.findings}
    reasons = {finding: item.reason for item in hopeless for finding in item.findings}
    refused = "; ".join(f"{refusal.strategy}: {refusal.reason}" for refusal in refusals)
    found: list[Unfixable] = []
    for finding in audit.active:
        name = finding.fingerprint
        if finding.rule not in PATH_RULES or (name in cured and name not in reasons):
            continue
        reason = reasons.get(name) or (refused if finding.resource.type == "security-group" and refused else "")
        found.append(Unfixable(name, finding.rule, finding.title, reason or finding.remedy))
    return found
