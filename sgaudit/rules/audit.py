"""The whole analysis in one page: snapshot, selection and requirements in, findings out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sgaudit.errors import UsageError
from sgaudit.heap import collector_at_rest
from sgaudit.model import Snapshot
from sgaudit.ports import CLIENT_PORTS, PortSet
from sgaudit.reach.matrix import build
from sgaudit.reach.verdict import Verdict, member_counts
from sgaudit.rules import RULES, check, ordered
from sgaudit.rules.context import Context
from sgaudit.rules.finding import Finding, Rule
from sgaudit.rules.suppress import Accepted, suppress
from sgaudit.selection import Selection
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgaudit.config.baseline import Known
    from sgaudit.model import Member
    from sgaudit.policy.model import Requirements

EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE = 0, 1, 4
INHERITED_EXPOSURES = frozenset({"world", "neighbours"})
"""Those of base-cluster, which are about the ports of needs: with no need judged they are no verdict of their own."""
NOTHING_ACCEPTED = Accepted()


@dataclass(frozen=True)
class Audit:
    """What a scan comes to."""

    selection: Selection
    context: Context
    findings: tuple[Finding, ...]
    gone: tuple[Known, ...] = ()
    """What the baseline knows and nothing finds any more."""

    @property
    def snapshot(self) -> Snapshot:
        """What was read."""
        return self.context.snapshot

    @cached_property
    def counts(self) -> Mapping[Verdict, int]:
        """Ordered pairs of members by verdict, all requirements together."""
        return member_counts(self.context.overall)

    @property
    def incomplete(self) -> bool:
        """
        Whether some verdict is unknown, or AWS refused a read.

        Nothing is read that no verdict needs; so what was refused never passes, even where the pairs of
        today can be judged without it.
        """
        unknown = self.counts[Verdict.UNKNOWN] > 0 or any(judged.answer.unknown for judged in self.context.external)
        return unknown or bool(self.snapshot.denied)

    @property
    def status(self) -> str:
        """`pass`, `fail` or `incomplete`."""
        if self.incomplete:
            return "incomplete"
        return "fail" if any(item.severity is Severity.ERROR for item in self.active) else "pass"

    @property
    def active(self) -> list[Finding]:
        """The findings that are not suppressed."""
        return [finding for finding in self.findings if not finding.suppressed]

    def exit_code(self, fail_on: Severity) -> int:
        """Tell the exit code: incomplete outranks findings at or above a severity."""
        if self.incomplete:
            return EXIT_INCOMPLETE
        failed = any(finding.severity.rank >= fail_on.rank for finding in self.active)
        return EXIT_FINDINGS if failed else EXIT_CLEAN

    def coverage(self) -> dict[str, Any]:
        """Tell what was read and what was not, JSON-ready."""
        snapshot, nodes = self.snapshot, self.context.matrix.node_set
        acls = {acl.acl_id for subnet in nodes.subnets if (acl := snapshot.network_acl(*subnet)) is not None}
        return {
            "source": snapshot.source,
            "account_id": snapshot.account_id,
            "region": snapshot.region,
            "collected_at": snapshot.collected_at,
            "members": len(nodes.by_instance),
            "interfaces": len(nodes) - nodes.unseen.bit_count(),
            "security_groups": len(nodes.by_group),
            "network_acls": len(acls),
            "subnets": len(nodes.subnets),
            "vpcs": len(nodes.by_vpc),
            "denied": dict(sorted(snapshot.denied.items())),
            "missing_actions": sorted(f"ec2:{operation}" for operation in snapshot.denied),
            "skipped_needs": [
                {"policy": item.policy, "need": item.need, "reason": item.reason}
                for item in self.context.requirements.skipped
            ],
        }


def audit(
    snapshot: Snapshot,
    selection: Selection,
    members: Sequence[Member],
    requirements: Requirements,
    *,
    client_ports: PortSet = CLIENT_PORTS,
    rules: Sequence[Rule] = RULES,
    accepted: Accepted = NOTHING_ACCEPTED,
) -> Audit:
    """
    Judge a cluster.

    Args:
        snapshot: what was read.
        selection: how the members were picked.
        members: the members, from `selection.select`.
        requirements: what they need, from `policy.resolve`.
        client_ports: the ports from which members dial.
        rules: what to look for.
        accepted: the findings that somebody accepted.

    Raises:
        InternalError: a rule crashed.
        UsageError: no need of any policy could be judged.
    """
    _refuse_nothing(requirements)
    with collector_at_rest():
        matrix = build(snapshot, members, family=selection.family, client_ports=client_ports)
        context = Context(snapshot, matrix, requirements)
        outcome = suppress(check(context, rules), accepted, {rule.id for rule in rules})
    return Audit(selection, context, ordered(outcome.findings), outcome.gone)


def _refuse_nothing(requirements: Requirements) -> None:
    """Stop where every need was skipped and nothing else is left to judge: a pass would be worth nothing."""
    judged = requirements.between or requirements.external
    if judged or not requirements.skipped or any(item.id not in INHERITED_EXPOSURES for item in requirements.exposures):
        return
    named = [f"{item.policy} {item.need}: {item.reason}" for item in requirements.skipped]
    unset = [item.name for item in requirements.parameters if not item.value]
    raise UsageError(
        f"nothing to judge: {'; '.join(named)}",
        hint=" ".join(f"--set {name}=VALUE" for name in unset)
        if unset
        else "give some members the role, or take --head",
    )
