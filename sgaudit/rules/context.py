"""What the rules look at: requirements, verdicts and causes, each computed once."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from sgaudit.model import Family, Interface, SecurityGroup, Snapshot
from sgaudit.policy.model import ExternalRequirement, Protocol, Requirement, Requirements, Topology
from sgaudit.ports import NONE, PortSet
from sgaudit.reach.causes import Cause, find
from sgaudit.reach.efa import Fabric
from sgaudit.reach.exposure import Outside
from sgaudit.reach.external import External
from sgaudit.reach.external_values import Answer, Question
from sgaudit.reach.matrix import Matrix
from sgaudit.reach.verdict import Verdict, Verdicts, together
from sgaudit.rules.finding import Example
from sgaudit.rules.outside import prepare
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Judged:
    """A requirement and the verdicts on its pairs."""

    requirement: Requirement
    sources: int
    targets: int
    verdicts: Verdicts


@dataclass(frozen=True, slots=True)
class JudgedExternal:
    """A requirement towards a peer outside the cluster, and the verdict on its members."""

    requirement: ExternalRequirement
    answer: Answer


@dataclass(frozen=True, slots=True)
class Stop:
    """A cause, with the requirements that it fails; those that fail for the same pairs are one."""

    cause: Cause
    needs: tuple[str, ...]
    severity: Severity


@dataclass(frozen=True)
class Context:
    """All that was worked out before the rules are asked."""

    snapshot: Snapshot
    matrix: Matrix
    requirements: Requirements

    @cached_property
    def judged(self) -> tuple[Judged, ...]:
        """The requirements between members, each with its verdicts."""
        found: list[Judged] = []
        for requirement in self.requirements.between:
            sources = self.matrix.node_set.of_instances(requirement.sources)
            targets = self.matrix.node_set.of_instances(requirement.targets)
            if requirement.protocol is Protocol.EFA:
                verdicts = self.fabric.judge(sources, targets)
            else:
                verdicts = self.matrix.judge(requirement.protocol, requirement.ports, sources, targets)
            found.append(Judged(requirement, sources, targets, verdicts))
        return tuple(found)

    @cached_property
    def external(self) -> tuple[JudgedExternal, ...]:
        """The requirements towards peers outside the cluster, each with its verdict."""
        judge = External(self.matrix).judge
        return tuple(
            JudgedExternal(
                item,
                judge(
                    Question(
                        self.matrix.node_set.of_instances(item.members),
                        item.peer,
                        item.outbound,
                        str(item.protocol),
                        item.ports,
                    )
                ),
            )
            for item in self.requirements.external
        )

    @cached_property
    def over_ip(self) -> tuple[Judged, ...]:
        """The requirements that are about IP traffic."""
        return tuple(judged for judged in self.judged if judged.requirement.protocol is not Protocol.EFA)

    @cached_property
    def over_efa(self) -> tuple[Judged, ...]:
        """The requirements that are about EFA traffic; each node stands for its member."""
        return tuple(judged for judged in self.judged if judged.requirement.protocol is Protocol.EFA)

    @cached_property
    def fabric(self) -> Fabric:
        """The EFA interfaces of the members."""
        return Fabric.of(self.matrix)

    @cached_property
    def interfaces(self) -> tuple[Interface, ...]:
        """All interfaces of all members, judged or not."""
        known = self.snapshot.interfaces
        return tuple(known[item] for member in self.matrix.members for item in member.instance.interface_ids)

    @cached_property
    def group_sets(self) -> Mapping[tuple[str, ...], Interface]:
        """Every set of groups on an interface of a member, and the first interface that carries it."""
        found: dict[tuple[str, ...], Interface] = {}
        for interface in self.interfaces:
            if interface.groups is not None:
                found.setdefault(interface.groups, interface)
        return found

    @cached_property
    def carried(self) -> frozenset[str]:
        """The ids of the groups on any interface that was read, of members and others."""
        return frozenset(group_id for item in self.snapshot.interfaces.values() for group_id in item.groups or ())

    @cached_property
    def strangers(self) -> Mapping[str, int]:
        """How many interfaces of others than members carry each group, as far as they were read."""
        ours = self.matrix.node_set.by_instance
        return Counter(
            group_id
            for item in self.snapshot.interfaces.values()
            if item.instance_id not in ours
            for group_id in item.groups or ()
        )

    @cached_property
    def groups(self) -> tuple[SecurityGroup, ...]:
        """The groups that were read of those on interfaces of members, by id."""
        carried = {group_id for groups in self.group_sets for group_id in groups}
        known = self.snapshot.security_groups or {}
        return tuple(known[group_id] for group_id in sorted(carried) if group_id in known)

    @cached_property
    def outside(self) -> Mapping[Family, Outside]:
        """Who is outside the cluster, for both families: a cluster that uses one is exposed by the other as well."""
        return prepare(self.snapshot, self.matrix.members, self.requirements)

    @cached_property
    def overall(self) -> Verdicts:
        """The verdicts on all pairs, by all that is required of them."""
        return together(self.matrix.node_set, [judged.verdicts for judged in self.judged])

    def mutual(self, requirement: Requirement) -> Sequence[int]:
        """Tell for each node the others with which a requirement over IP surely holds both ways."""
        key = (requirement.protocol, requirement.ports)
        if key not in self._mutual:
            self._mutual[key] = self.matrix.mutual(*key)
        return self._mutual[key]

    @cached_property
    def _mutual(self) -> dict[tuple[Protocol, PortSet], list[int]]:
        return {}

    @cached_property
    def meshes(self) -> tuple[Judged, ...]:
        """The requirements over IP that are about every pair of some members, both ways."""
        return tuple(judged for judged in self.over_ip if judged.requirement.topology is Topology.MESH)

    @cached_property
    def stops(self) -> tuple[Stop, ...]:
        """Every filter that keeps some pair from being open over IP, or may."""
        merged: dict[tuple[object, ...], list[tuple[Cause, Requirement]]] = defaultdict(list)
        for judged in self.over_ip:
            if judged.verdicts.pairs == judged.verdicts.counts[Verdict.OPEN]:
                continue
            requirement = judged.requirement
            for cause in find(self.matrix, requirement.protocol, requirement.ports, judged.sources, judged.targets):
                key = (
                    cause.layer,
                    cause.groups,
                    cause.subnets,
                    cause.protocol,
                    cause.partly,
                    cause.doubt,
                    cause.lost_reference,
                    frozenset(cause.blocks),
                )
                merged[key].append((cause, requirement))
        return tuple(self._merge(group) for group in merged.values())

    @staticmethod
    def _merge(group: Sequence[tuple[Cause, Requirement]]) -> Stop:
        missing = NONE
        for cause, _ in group:
            missing |= cause.missing
        return Stop(
            replace(group[0][0], missing=missing),
            tuple(dict.fromkeys(requirement.need for _, requirement in group)),
            max((requirement.severity for _, requirement in group), key=lambda severity: severity.rank),
        )

    def examples(self, cause: Cause, missing: PortSet) -> tuple[Example, ...]:
        """Give a few of the pairs that a cause concerns."""
        nodes = self.matrix.nodes
        return tuple(
            Example(nodes[source].instance.instance_id, nodes[target].instance.instance_id, missing)
            for source, target in islice(cause.examples(self.matrix), MOST_EXAMPLES)
        )
