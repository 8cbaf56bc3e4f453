"""What SOURCE and TARGET of `sgaudit explain` mean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from sgaudit.errors import UsageError
from sgaudit.model import Family, Instance, Interface, Member, Snapshot, parse_address
from sgaudit.reach.trace_outside import is_private, outsider
from sgaudit.rules import words
from sgaudit.selection import Interfaces, Selection, judged_interfaces, select

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

INSTANCE_ID = re.compile(r"i-[0-9a-f]{8,}")
MOST_SUGGESTIONS = 8


@dataclass(frozen=True, slots=True)
class End:
    """One end, as it was found."""

    text: str
    """As it stands on the command line."""
    member: Member
    family: Family | None
    """The family of the address by which it was named; None when it was not named by an address."""
    outside: bool = False


def address_of(text: str) -> tuple[Family, int] | None:
    """Read an address, if it is one."""
    try:
        return parse_address(text)
    except ValueError:
        return None


def selection_for(texts: Sequence[str]) -> Selection:
    """
    Select what must be read of AWS to explain the way between two ends, by these ends alone.

    Raises:
        UsageError: an end is neither an instance id nor an address of the internet.
    """
    for text in texts:
        address = address_of(text)
        if not INSTANCE_ID.fullmatch(text) and (address is None or is_private(text)):
            raise UsageError(
                f"{text!r} can't be looked up without knowing where",
                hint="give instance ids, or say where to look, for example with --tag cluster=train or --all",
            )
    ids = tuple(text for text in texts if INSTANCE_ID.fullmatch(text))
    if not ids:
        raise UsageError("neither end is an instance", hint="one of SOURCE and TARGET must be in the cluster")
    return Selection(instance_ids=ids, include_stopped=True)


def candidates(snapshot: Snapshot, selection: Selection | None) -> list[Member]:
    """List what the ends can be, with all their interfaces: the members, or everything that was read."""
    if selection is not None:
        picked: Iterable[Instance] = [member.instance for member in select(snapshot, selection)]
    else:
        picked = snapshot.instances.values()
    found = [
        Member(instance, tuple(snapshot.interfaces[i] for i in instance.interface_ids if i in snapshot.interfaces))
        for instance in picked
    ]
    if selection is None:
        owned = {interface.interface_id for member in found for interface in member.interfaces}
        found += [alone(item) for item in snapshot.interfaces.values() if item.interface_id not in owned]
    return found


def alone(interface: Interface) -> Member:
    """Make a member of an interface that belongs to no instance, such as that of a file system."""
    name = interface.tags.get("Name") or interface.description
    tags: Mapping[str, str] = {"Name": name} if name else {}
    return Member(Instance("", "", "", interface.vpc_id, interface.subnet_id, "", (), tags=tags), (interface,))


class Finder:
    """Looks ends up among the candidates."""

    def __init__(self, members: Sequence[Member], interfaces: Interfaces) -> None:
        self.members = members
        self.which = interfaces

    def find(self, text: str) -> End:
        """
        Tell what an end is.

        Raises:
            UsageError: it is nothing that was read, or more than one thing.
        """
        address = address_of(text)
        if address is not None:
            return self._by_address(text, *address)
        matches = list(self._named(text))
        if not matches:
            raise UsageError(f"{text!r} is no instance, interface or address that was read", hint=self._hint(text))
        if len(matches) > 1:
            labels = words.listed([_label(member) for member in matches], MOST_SUGGESTIONS)
            raise UsageError(f"{text!r} means more than one: {labels}", hint="name it by its id or its private address")
        return End(text, matches[0], None)

    def _named(self, text: str) -> Iterator[Member]:
        for member in self.members:
            if text and text in (member.instance.instance_id, member.instance.name):
                yield Member(member.instance, self._judged(member))
            for interface in member.interfaces:
                if text == interface.interface_id:
                    yield Member(member.instance, (interface,))

    def _judged(self, member: Member) -> tuple[Interface, ...]:
        """Pick the one interface that speaks for an instance."""
        if not member.instance.instance_id:
            return member.interfaces
        primary = judged_interfaces(list(member.interfaces), Interfaces.PRIMARY)
        if self.which is Interfaces.ALL and len(member.interfaces) > 1:
            ids = words.listed([item.interface_id for item in member.interfaces], MOST_SUGGESTIONS)
            raise UsageError(
                f"{_label(member)} has several interfaces: {ids}", hint="name one of them, or leave --interfaces out"
            )
        return primary

    def _by_address(self, text: str, family: Family, value: int) -> End:
        matches = [
            Member(member.instance, (_speaking_by(interface, family, value),))
            for member in self.members
            for interface in member.interfaces
            if any(parse_address(item)[1] == value for item in _addresses(interface, family))
        ]
        if len(matches) > 1:
            labels = words.listed([_label(member, interface=True) for member in matches], MOST_SUGGESTIONS)
            raise UsageError(f"{text} belongs to more than one: {labels}", hint="name the interface by its id")
        if matches:
            return End(text, matches[0], family)
        for member in self.members:
            for interface in member.interfaces:
                if family is Family.IPV4 and interface.public_ip and parse_address(interface.public_ip)[1] == value:
                    raise UsageError(
                        f"{text} is the public address of {_label(member)}",
                        hint=f"name it by its private address {interface.address(family) or ''}: packets to the "
                        "public one leave through the internet gateway, and groups as peers don't admit them",
                    )
        return End(text, outsider(text), family, outside=True)

    def _hint(self, text: str) -> str:
        names = {
            name
            for member in self.members
            for name in (
                member.instance.instance_id,
                member.instance.name,
                *(interface.interface_id for interface in member.interfaces),
            )
            if name
        }
        close = get_close_matches(text, sorted(names), n=3, cutoff=0.6)
        if close:
            return f"did you mean {words.listed(close)}?"
        labels = sorted(_label(member) for member in self.members)
        return f"there are {words.listed(labels, MOST_SUGGESTIONS)}" if labels else "no instance was read"


def family_of(ends: Sequence[End], default: Family) -> Family:
    """
    Tell the address family of a path.

    Raises:
        UsageError: the ends are named by addresses of both families.
    """
    families = {end.family for end in ends if end.family is not None}
    if len(families) > 1:
        raise UsageError(
            f"{' and '.join(end.text for end in ends)} are of different address families",
            hint="name one of them by its id or name",
        )
    return families.pop() if families else default


def check(source: End, target: End) -> None:
    """
    See that there is a way to explain between two ends.

    Raises:
        UsageError: both are the same, or neither is in the cluster.
    """
    if source.outside and target.outside:
        raise UsageError(
            f"neither {source.text} nor {target.text} belongs to an instance that was read",
            hint="one of SOURCE and TARGET must be in the cluster",
        )
    same = source.member.instance.instance_id
    if (same and same == target.member.instance.instance_id) or source.member == target.member:
        raise UsageError(
            f"SOURCE and TARGET are both {_label(source.member)}", hint="what stays in one instance is not filtered"
        )


def _addresses(interface: Interface, family: Family) -> tuple[str, ...]:
    return interface.ipv4 if family is Family.IPV4 else interface.ipv6


def _speaking_by(interface: Interface, family: Family, value: int) -> Interface:
    """Put one of an interface's addresses first, so that the path is that of packets with it."""
    addresses = _addresses(interface, family)
    ordered = tuple(sorted(addresses, key=lambda item: parse_address(item)[1] != value))
    if ordered == addresses:
        return interface
    return replace(interface, ipv4=ordered) if family is Family.IPV4 else replace(interface, ipv6=ordered)


def _label(member: Member, *, interface: bool = False) -> str:
    identifier = member.instance.instance_id
    if member.interfaces and (interface or not identifier):
        identifier = member.interfaces[0].interface_id
    return words.named(member.instance.name, identifier)
