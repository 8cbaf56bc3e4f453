"""What a stack consists of, put together piece by piece, before it becomes a snapshot document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sgaudit.iac.values import UNKNOWN, Entry, Id, Ids, Peer, Row, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_NOTES = 50
Tags = dict[str, str]
Key = tuple[int, bool, bool]


@dataclass(slots=True)
class Vpc:
    """A VPC, and the ids of what AWS makes with it."""

    vpc_id: str
    blocks: list[str]
    tags: Tags
    default_group: str
    default_acl: str
    main_table: str
    ipv6: bool = False
    main_known: bool = True
    """Whether the file tells which table is the main one."""


@dataclass(slots=True)
class Subnet:
    """A subnet; a block of None is not known."""

    subnet_id: str
    vpc_id: str
    block: str | None
    ipv6_block: str | None
    zone: str
    tags: Tags
    ipv6_on_launch: bool = False


@dataclass(slots=True)
class Group:
    """A security group with its rows by direction."""

    group_id: str
    name: str
    vpc_id: str
    description: str
    tags: Tags
    rows: dict[tuple[bool, Row], None] = field(default_factory=dict)


@dataclass(slots=True)
class Acl:
    """A network ACL with its entries."""

    acl_id: str
    vpc_id: str
    tags: Tags
    entries: dict[Key, Entry] = field(default_factory=dict)


@dataclass(slots=True)
class Table:
    """A route table with its routes in EC2's words, by destination."""

    table_id: str
    vpc_id: str
    tags: Tags
    routes: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class Interface:
    """A network interface; addresses of None are not known."""

    interface_id: str
    subnet_id: str
    groups: Ids
    ipv4: tuple[str, ...] | None
    ipv6: tuple[str, ...] | None
    instance_id: str = ""
    device_index: int | None = None
    card_index: int = 0
    kind: str = "interface"
    public_ip: str = ""


@dataclass(slots=True)
class Instance:
    """An instance; an empty subnet is not known."""

    instance_id: str
    subnet_id: str
    instance_type: str
    tags: Tags
    state: str = "running"


@dataclass(slots=True)
class Stack:
    """Everything that a file tells."""

    file: str
    vpcs: dict[str, Vpc] = field(default_factory=dict)
    subnets: dict[str, Subnet] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    acls: dict[str, Acl] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    acl_of: dict[str, Id] = field(default_factory=dict)
    table_of: dict[str, Id] = field(default_factory=dict)
    peerings: dict[str, dict[str, Any]] = field(default_factory=dict)
    prefix_lists: dict[str, list[str] | None] = field(default_factory=dict)
    interfaces: dict[str, Interface] = field(default_factory=dict)
    instances: dict[str, Instance] = field(default_factory=dict)
    region: str = ""
    places: dict[str, str] = field(default_factory=dict)
    """Where the thing with an id stands in the file."""
    notes: dict[str, dict[str, None]] = field(default_factory=dict)
    """What could not be used, and the places in the file that it is about."""
    acls_doubtful: bool = False
    """Whether some association of an ACL could not be placed: it may be that of any subnet."""
    tables_doubtful: bool = False

    def note(self, place: str, text: str) -> None:
        """Say what of the file could not be used."""
        self.notes.setdefault(text, {})[place] = None

    def told(self) -> tuple[str, ...]:
        """Give the notes, one line each: what is said of several places is said once."""
        lines = [
            f"{next(iter(places))}{f' and {len(places) - 1} more' if len(places) > 1 else ''}: {text}"
            for text, places in self.notes.items()
        ]
        left = len(lines) - MOST_NOTES
        return (*lines[:MOST_NOTES], *((f"{self.file}: {left} more notes",) if left > 0 else ()))

    def spoil_groups(self, group_id: Id, place: str, why: str) -> None:
        """Make groups unknown: the rules that they have can't be told."""
        for one in _meant(group_id, self.groups):
            if self.groups.pop(one, None) is not None:
                self.note(place, f"{why}: the group {one} is unknown")

    def spoil_acls(self, acl_id: Id, place: str, why: str) -> None:
        """Make network ACLs unknown."""
        for one in _meant(acl_id, self.acls):
            if self.acls.pop(one, None) is not None:
                self.note(place, f"{why}: the network ACL {one} is unknown")

    def spoil_tables(self, table_id: Id, place: str, why: str) -> None:
        """Make route tables unknown."""
        for one in _meant(table_id, self.tables):
            if self.tables.pop(one, None) is not None:
                self.note(place, f"{why}: the route table {one} is unknown")

    def associate_acl(self, subnet_id: Id, acl_id: Id, place: str) -> None:
        """Put subnets under an ACL; which ones must be known, or any may be."""
        if isinstance(subnet_id, Unknown):
            self.note(place, "the subnet is not known: so is the network ACL of every subnet that it may be")
            self.acls_doubtful |= subnet_id.among is None
        for one in _named(subnet_id):
            doubtful = isinstance(subnet_id, Unknown) or self.acl_of.get(one, acl_id) != acl_id
            self.acl_of[one] = UNKNOWN if doubtful else acl_id

    def associate_table(self, subnet_id: Id, table_id: Id, place: str) -> None:
        """Put a subnet under a route table."""
        if isinstance(subnet_id, Unknown):
            self.note(place, "the subnet is not known: so is the route table of every subnet that it may be")
            self.tables_doubtful |= subnet_id.among is None
        for one in _named(subnet_id):
            doubtful = isinstance(subnet_id, Unknown) or self.table_of.get(one, table_id) != table_id
            self.table_of[one] = UNKNOWN if doubtful else table_id

    def add_rows(self, group_id: Id, rows: Iterable[Row], place: str, *, egress: bool) -> None:
        """Give a group some rows."""
        if isinstance(group_id, Unknown):
            self.spoil_groups(group_id, place, "it is not known whose rule this is")
            return
        group = self.groups.get(group_id)
        if group is not None:
            group.rows |= dict.fromkeys((egress, row) for row in rows)

    def carry(self, interface_id: Id, group_id: Id, place: str) -> None:
        """Put a group on an interface that it names apart."""
        for one in _meant(interface_id, self.interfaces):
            interface = self.interfaces.get(one)
            if interface is None:
                continue
            if isinstance(interface_id, Unknown) or isinstance(group_id, Unknown):
                interface.groups = UNKNOWN
                self.note(place, f"it is not known what this attaches: the groups of {one} are unknown")
            elif not isinstance(interface.groups, Unknown):
                interface.groups = tuple(dict.fromkeys((*interface.groups, group_id)))


def _named(ids: Id | Ids) -> tuple[str, ...]:
    if isinstance(ids, Unknown):
        return ids.among or ()
    return (ids,) if isinstance(ids, str) else ids


def _meant(ids: Id, known: dict[str, Any]) -> tuple[str, ...]:
    """Tell what an id stands for; one that is not known may be any."""
    if isinstance(ids, Unknown) and ids.among is None:
        return tuple(known)
    return _named(ids)


def everything(*, egress: bool, ipv6: bool) -> list[tuple[bool, Row]]:
    """Give the rows that let everything pass."""
    peers = [Peer.of("IpRanges", CidrIp="0.0.0.0/0")]
    if ipv6:
        peers.append(Peer.of("Ipv6Ranges", CidrIpv6="::/0"))
    return [(egress, Row("-1", None, None, peer)) for peer in peers]
