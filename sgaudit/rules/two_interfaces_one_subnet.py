"""A member has two interfaces with addresses in one subnet."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgaudit.model import Instance
    from sgaudit.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    """Report one finding for each subnet."""
    found: dict[str, list[tuple[Instance, int]]] = defaultdict(list)
    for member in context.matrix.members:
        if len(member.instance.interface_ids) > 1:
            for subnet, count in _crowded(context, member.instance).items():
                found[subnet].append((member.instance, count))
    for subnet, members in sorted(found.items()):
        yield _finding(context, subnet, members)


def _crowded(context: Context, instance: Instance) -> dict[str, int]:
    """Count the interfaces with an address in each subnet that has several of them."""
    counts: dict[str, int] = defaultdict(int)
    for interface_id in instance.interface_ids:
        interface = context.snapshot.interfaces[interface_id]
        if interface.ipv4 or interface.ipv6:
            counts[interface.subnet_id] += 1
    return {subnet: count for subnet, count in counts.items() if count > 1}


def _finding(context: Context, subnet: str, members: list[tuple[Instance, int]]) -> Finding:
    label = words.subnet_label(context.snapshot, subnet)
    most = max(count for _, count in members)
    names = [words.named(instance.name, instance.instance_id) for instance, _ in members]
    verb = words.verb(len(members), "has", "have")
    return Finding(
        rule=RULE.id,
        severity=RULE.severity,
        title=f"{words.number(len(members), 'member')} with up to {most} addressed interfaces in {label}",
        message=(
            f"{words.listed(names)} {verb} up to {most} interfaces with addresses in {label}. Without policy routing "
            "the kernel sends by the first route that fits, whichever interface was dialled, so that answers leave by "
            "another one, with another address or past the groups that were meant."
        ),
        remedy=(
            "Route by source address on the members (ip rule, or the ec2-net-utils package), or give the further "
            "interfaces a subnet of their own or the type efa-only, which has no address."
        ),
        resource=Resource("subnet", subnet),
        pairs=0,
        evidence={"instances": [instance.instance_id for instance, _ in members[:50]], "interfaces": most},
    )


RULE = Rule(
    id="two-interfaces-one-subnet",
    title="A member has several addressed interfaces in one subnet",
    severity=Severity.WARNING,
    why=(
        "Linux picks the way out by the destination. With two interfaces in one subnet that is the same one for both, "
        "so peers see packets from an address that they did not dial, and NCCL or ping fail between some members."
    ),
    remedy="Route by source address on the members, or put addresses on one interface of each subnet alone.",
    sources=(
        "EC2 user guide, Elastic network interfaces, best practices",
        "NVIDIA/nccl and aws-deep-learning-ami reports of several interfaces in one subnet",
    ),
    check=check,
)
