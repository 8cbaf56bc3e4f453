"""Which instances are members, and which of their interfaces are judged."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sgaudit.errors import EmptySelectionError, UsageError
from sgaudit.model import Family, Instance, Interface, Member, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LIVE_STATES = frozenset({"pending", "running"})
STOPPED_STATES = frozenset({"stopping", "stopped"})


class Interfaces(StrEnum):
    """Which interfaces of a member are judged."""

    PRIMARY = "primary"
    """Device 0 on network card 0: the one whose address frameworks use unless told otherwise."""
    ALL = "all"


@dataclass(frozen=True, slots=True)
class TagFilter:
    """One `--tag`: the key must be there, and where values are given one of them must match."""

    key: str
    values: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> TagFilter:
        """
        Read `key=value`, `key=one,other` or `key` alone.

        Raises:
            UsageError: the key or a value is empty.
        """
        key, equals, value = text.partition("=")
        values = tuple(value.split(",")) if equals else ()
        if not key or any(not item for item in values):
            raise UsageError(
                f"--tag {text!r}: expected KEY=VALUE, KEY=VALUE,VALUE or KEY",
                hint="for example --tag cluster=train",
            )
        return cls(key, values)

    def matches(self, instance: Instance) -> bool:
        """Compare as EC2's `tag:KEY` and `tag-key` filters do: `*` is any text, `?` one character."""
        if not self.values:
            return any(wildcard(self.key).fullmatch(key) for key in instance.tags)
        value = instance.tags.get(self.key)
        if value is None:
            return False
        # A value that stands there letter for letter matches, unless its own backslashes make it a pattern.
        literal = value in self.values and "\\" not in value
        return literal or any(wildcard(pattern).fullmatch(value) for pattern in self.values)

    def __str__(self) -> str:
        return f"{self.key}={','.join(self.values)}" if self.values else self.key


@lru_cache(maxsize=1024)
def wildcard(pattern: str) -> re.Pattern[str]:
    r"""Turn the pattern of an EC2 filter into a regular expression; `\*`, `\?` and `\\` are literal."""
    out: list[str] = []
    letters = iter(pattern)
    for letter in letters:
        if letter == "\\":
            out.append(re.escape(next(letters, "\\")))
        elif letter in "*?":
            out.append(".*" if letter == "*" else ".")
        else:
            out.append(re.escape(letter))
    return re.compile("".join(out), re.DOTALL)


@dataclass(frozen=True, slots=True)
class Selection:
    """What a user asked for. All kinds that are given must hold; within one kind, any of its ids."""

    tags: tuple[TagFilter, ...] = ()
    instance_ids: tuple[str, ...] = ()
    vpc_ids: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    """Group ids; an instance matches when any of its interfaces carries one of them."""
    everything: bool = False
    include_stopped: bool = False
    interfaces: Interfaces = Interfaces.PRIMARY
    family: Family = Family.IPV4

    def __post_init__(self) -> None:
        if not all((*self.instance_ids, *self.vpc_ids, *self.security_groups)):
            raise UsageError(
                "an id that picks instances is empty", hint="is a variable behind --instance-id or the like not set?"
            )
        criteria = bool(self.tags or self.instance_ids or self.vpc_ids or self.security_groups)
        if not criteria and not self.everything:
            raise UsageError(
                "nothing says which instances make the cluster",
                hint="pick them with --tag KEY=VALUE, --instance-id, --vpc-id or --security-group, or take --all",
            )
        if criteria and self.everything:
            raise UsageError("--all goes with no other way to pick instances", hint="leave one of them out")

    @property
    def states(self) -> frozenset[str]:
        """The instance states that count."""
        return LIVE_STATES | STOPPED_STATES if self.include_stopped else LIVE_STATES

    def matches(self, instance: Instance, interfaces: Iterable[Interface]) -> bool:
        """Tell whether an instance with these interfaces is a member, its state apart."""
        wanted = frozenset(self.security_groups)
        return (
            (not self.instance_ids or instance.instance_id in self.instance_ids)
            and (not self.vpc_ids or instance.vpc_id in self.vpc_ids)
            and all(tag.matches(instance) for tag in self.tags)
            and (not wanted or any(not wanted.isdisjoint(interface.groups or ()) for interface in interfaces))
        )

    def describe(self) -> str:
        """Say it as it would stand on the command line."""
        parts = [f"--tag {tag}" for tag in self.tags]
        parts += [f"--instance-id {item}" for item in self.instance_ids]
        parts += [f"--vpc-id {item}" for item in self.vpc_ids]
        parts += [f"--security-group {item}" for item in self.security_groups]
        if self.everything:
            parts.append("--all")
        if self.include_stopped:
            parts.append("--include-stopped")
        if self.interfaces is not Interfaces.PRIMARY:
            parts.append(f"--interfaces {self.interfaces}")
        if self.family is not Family.IPV4:
            parts.append(f"--family {self.family}")
        return " ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """Give it as the `selection` object of every JSON output."""
        return {
            "tags": [str(tag) for tag in self.tags],
            "instance_ids": list(self.instance_ids),
            "vpc_ids": list(self.vpc_ids),
            "security_groups": list(self.security_groups),
            "all": self.everything,
            "include_stopped": self.include_stopped,
            "interfaces": str(self.interfaces),
            "family": str(self.family),
        }


def select(snapshot: Snapshot, selection: Selection) -> tuple[Member, ...]:
    """
    Pick the members, in the order of name and id.

    Raises:
        EmptySelectionError: no instance matches; the message tells what came close.
    """
    states = selection.states
    members: list[Member] = []
    left_out: dict[str, int] = {}
    for instance in snapshot.instances.values():
        interfaces = [snapshot.interfaces[i] for i in instance.interface_ids if i in snapshot.interfaces]
        if not selection.matches(instance, interfaces):
            continue
        if instance.state not in states:
            left_out[instance.state] = left_out.get(instance.state, 0) + 1
            continue
        members.append(Member(instance, judged_interfaces(interfaces, selection.interfaces)))
    if not members:
        raise EmptySelectionError(
            f"no running instance matches {selection.describe()}"
            + (f" in {snapshot.source}" if snapshot.source else "")
            + (f" ({_counted(left_out)} left out)" if left_out else ""),
            hint=_hint(snapshot, selection, left_out),
        )
    members.sort(key=lambda member: (member.instance.name, member.instance.instance_id))
    return tuple(members)


def _hint(snapshot: Snapshot, selection: Selection, left_out: Mapping[str, int]) -> str:
    if STOPPED_STATES & left_out.keys():
        return "take stopped ones with --include-stopped"
    names = {instance.name for instance in snapshot.instances.values()} & set(selection.instance_ids)
    if names:
        return f"{min(names)} is a Name: pick it with --tag Name={min(names)}"
    if selection.tags:
        return "check the tag's spelling, the Region and the account"
    return "check the ids, the Region and the account"


def judged_interfaces(interfaces: list[Interface], which: Interfaces) -> tuple[Interface, ...]:
    """Pick the interfaces that are judged: all of them, or device 0 on card 0 (a lone one needs no index)."""
    if which is Interfaces.ALL:
        return tuple(interfaces)
    primary = [i for i in interfaces if i.device_index == 0 and i.network_card_index == 0]
    if not primary and len(interfaces) == 1 and interfaces[0].device_index is None:
        primary = interfaces
    return tuple(primary[:1])


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {state or 'in an unknown state'}" for state, count in sorted(counts.items()))
