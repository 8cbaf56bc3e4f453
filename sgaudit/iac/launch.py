"""Instances as they are launched, by themselves or in an Auto Scaling group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sgaudit.iac.stack import Instance, Interface
from sgaudit.iac.values import UNKNOWN, Id, Ids, Unknown

if TYPE_CHECKING:
    from sgaudit.iac.stack import Stack

MOST = 100_000
"""Instances of one Auto Scaling group: more are a mistake, or a trap."""


@dataclass(frozen=True, slots=True)
class Card:
    """An interface to be made with an instance."""

    groups: Ids | None
    """None for those that AWS takes when none is given: the VPC's default group."""
    subnet_id: Id
    """Empty for the instance's own."""
    interface_id: str = ""
    device_index: int = 0
    card_index: int = 0
    kind: str = "interface"
    ipv4: tuple[str, ...] | None = None
    ipv6: tuple[str, ...] | None = ()
    public_ip: str = ""


@dataclass(frozen=True, slots=True)
class Launch:
    """How an instance is launched; without cards its interfaces are not known."""

    tags: dict[str, str] = field(default_factory=dict)
    instance_type: str = ""
    cards: tuple[Card, ...] = ()
    state: str = "running"


def launch(stack: Stack, instance_id: str, place: str, settings: Launch, subnet_id: Id) -> None:
    """Add an instance with its interfaces; one in a subnet that is not known has none, so it can't be judged."""
    known = subnet_id if isinstance(subnet_id, str) else ""
    if isinstance(subnet_id, Unknown):
        stack.note(place, "its subnet is not known")
    stack.instances[instance_id] = Instance(instance_id, known, settings.instance_type, settings.tags, settings.state)
    stack.places[instance_id] = place
    for index, card in enumerate(settings.cards):
        where = card.subnet_id or known
        if isinstance(where, Unknown) or not where:
            continue
        name = card.interface_id or f"{instance_id}.interface[{index}]"
        groups = default_groups(stack, where) if card.groups is None else card.groups
        stack.interfaces[name] = Interface(
            interface_id=name,
            subnet_id=where,
            groups=groups,
            ipv4=() if card.kind == "efa-only" else card.ipv4,
            ipv6=card.ipv6 or _ipv6(stack, where, card),
            instance_id=instance_id,
            device_index=card.device_index,
            card_index=card.card_index,
            kind=card.kind,
            public_ip=card.public_ip,
        )
        stack.places[name] = place


def default_groups(stack: Stack, subnet_id: str) -> Ids:
    """Tell the groups of an interface for which none is given: the default group of its VPC (EC2 API reference)."""
    subnet = stack.subnets.get(subnet_id)
    vpc = stack.vpcs.get(subnet.vpc_id) if subnet else None
    return (vpc.default_group,) if vpc else UNKNOWN


def _ipv6(stack: Stack, subnet_id: str, card: Card) -> tuple[str, ...] | None:
    subnet = stack.subnets.get(subnet_id)
    if card.kind == "efa-only" or subnet is None:
        return ()
    return None if card.ipv6 is None or (subnet.ipv6_on_launch and not card.ipv4) else ()


def spread(stack: Stack, place: str, settings: Launch, subnets: Ids, size: int | Unknown | None) -> None:
    """
    Add the instances of an Auto Scaling group, spread evenly over its subnets.

    With fewer instances than subnets AWS chooses among these. So none of them can be judged then; nor can
    any when their number is not known, and one stands for all.
    """
    own = next((card.subnet_id for card in settings.cards if card.subnet_id), "")
    if isinstance(size, Unknown) or size is None or not 0 <= size <= MOST:
        stack.note(place, "how many instances it has is not known")
        size, subnets = 1, UNKNOWN
    elif not isinstance(subnets, Unknown) and not subnets and own:
        subnets = (own,) if isinstance(own, str) else UNKNOWN
    elif not isinstance(subnets, Unknown) and size < len(set(subnets)):
        stack.note(place, "with fewer instances than subnets AWS chooses which of the subnets they are in")
        subnets = UNKNOWN
    ordered: tuple[Id, ...] = (UNKNOWN,) if isinstance(subnets, Unknown) or not subnets else tuple(sorted(set(subnets)))
    for number in range(size):
        launch(stack, f"{place}.instances[{number}]", place, settings, ordered[number % len(ordered)])
