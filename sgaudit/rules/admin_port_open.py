"""Ports by which machines and frameworks are ruled can be dialled from the world."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sgaudit.ports import PortSet
from sgaudit.rules import words
from sgaudit.rules.exposed import Exposed, permission_label
from sgaudit.rules.finding import Finding, Rule
from sgaudit.rules.openings import Hit, Question, Zone, groups_at, hits, wide
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgaudit.rules.context import Context

SERVICES = (
    ("SSH", PortSet.single(22)),
    ("RDP", PortSet.single(3389)),
    ("etcd", PortSet.single(2379, 2380)),
    ("Ray GCS", PortSet.single(6379)),
    ("Ray dashboard and jobs", PortSet.single(8265)),
    ("Ray client", PortSet.single(10001)),
    ("Dask scheduler and dashboard", PortSet.single(8786, 8787)),
    ("Spark master", PortSet.single(7077)),
    ("Spark REST submission", PortSet.single(6066)),
)
"""TCP services that give control over a machine or run what they are sent."""
ALWAYS = frozenset({"SSH", "RDP"})
"""Services that are reported even where the permission is reported as an exposure of a policy."""


def check(context: Context) -> Iterator[Finding]:
    """Report each group that lets the world in on such ports, services that are open alike together."""
    questions = _questions(context)
    forbidden = [Question.of(item) for item in context.requirements.exposures]
    for group_id in groups_at(context):
        by_service: dict[str, list[Hit]] = defaultdict(list)
        for hit in hits(context, group_id, questions, Zone.WORLD):
            by_service[hit.question.name].append(hit)
        reported = {hit.permission for hit in hits(context, group_id, forbidden, Zone.WORLD)} if by_service else set()
        alike: dict[tuple[object, ...], list[Hit]] = defaultdict(list)
        for name, some in by_service.items():
            found = wide(some)
            if found and (name in ALWAYS or any(hit.permission not in reported for hit in found)):
                alike[_kind(Exposed(context, group_id, found))] += found
        for found in alike.values():
            yield _finding(Exposed(context, group_id, found))


def _questions(context: Context) -> list[Question]:
    """Ask for what no policy forbids: the rest is reported as its exposure."""
    forbidden = PortSet()
    for item in context.requirements.exposures:
        for protocol, ports in item.ports:
            if protocol == "tcp":
                forbidden |= ports
    rest = [(name, ports - forbidden) for name, ports in SERVICES]
    return [Question(name, (("tcp", ports),), RULE.severity) for name, ports in rest if ports]


def _kind(exposed: Exposed) -> tuple[object, ...]:
    return tuple(exposed.permissions), tuple(exposed.sources.items()), frozenset(exposed.members), exposed.latent


def _finding(exposed: Exposed) -> Finding:
    services = list(_services(exposed.hits))
    named = [f"{name} ({ports})" for name, ports in services]
    return exposed.finding(
        RULE,
        what=words.listed(named, len(named)),
        title=words.listed(named),
        identity=[*(name for name, _ in services), *(permission_label(item) for item in exposed.permissions)],
    )


def _services(found: Sequence[Hit]) -> Iterator[tuple[str, PortSet]]:
    for name, _ in SERVICES:
        ports = PortSet.of((hit.low, hit.high) for hit in found if hit.question.name == name)
        if ports:
            yield name, ports


RULE = Rule(
    id="admin-port-open",
    title="Administration ports are open to the world",
    severity=Severity.ERROR,
    why=(
        "Whoever gets through to SSH, RDP or the control port of a framework is one password or one flaw away from "
        "running code on the members; several of these services ask for no password at all. Open to the world means "
        "more public addresses than one organisation was ever given (an IPv4 /8, an IPv6 /16), counted over all "
        "permissions of the group and after the network ACL, so that an office's block is none. Ports that a policy "
        "forbids are left to its exposure, and so are the frameworks' ports where one permission opens both. A "
        "member that can't be dialled from the internet makes it latent and one severity lower."
    ),
    remedy=(
        "Revoke these permissions. Reach the members by AWS Systems Manager Session Manager or EC2 Instance Connect "
        "Endpoint, or name your own addresses as source."
    ),
    sources=(
        "AWS Security Hub user guide, EC2.13, EC2.14 and EC2.19",
        "Ray documentation, security and configuring ports",
        "dask/distributed, distributed/cli/dask_scheduler.py",
        "Apache Spark documentation, security.md",
        "etcd documentation, configuration",
    ),
    check=check,
)
