"""The values that both kinds of files are turned into, and the one that stands for what they don't tell."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sgaudit.errors import SnapshotError
from sgaudit.snapshot.fields import printable

Raw = dict[str, Any]
LARGEST = 256 * 1024 * 1024
"""Bytes. The plan of ten thousand instances has a tenth of it."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that only the finished stack has, or that the file does not tell."""

    among: tuple[str, ...] | None = None
    """The ids of which it is one or several; None when it could be any."""


UNKNOWN = Unknown()
Id = str | Unknown
Ids = tuple[str, ...] | Unknown


@dataclass(frozen=True, slots=True)
class Peer:
    """Whom a permission admits: a key of EC2's `IpPermission`, and an item of the list under it."""

    kind: str
    item: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, kind: str, **item: str) -> Peer:
        """Make one of the fields of its item."""
        return cls(kind, tuple(item.items()))

    @classmethod
    def group(cls, group_id: Id) -> Peer:
        """Make the peer for a group; a group that is not known may be any."""
        if isinstance(group_id, Unknown):
            return cls.unknown("a group that is not known")
        return cls.of("UserIdGroupPairs", GroupId=group_id)

    @classmethod
    def unknown(cls, what: str) -> Peer:
        """
        Make a peer that may or may not match anybody.

        Nobody has read the entries of the list that it names: it is neither open nor closed.
        """
        return cls.of("PrefixListIds", PrefixListId=what)


@dataclass(frozen=True, slots=True)
class Row:
    """One permission: one protocol, one range and one peer."""

    protocol: str
    low: int | None
    high: int | None
    peer: Peer

    def to_json(self) -> Raw:
        """Give it as EC2 would."""
        row: Raw = {"IpProtocol": self.protocol, self.peer.kind: [dict(self.peer.item)]}
        if self.low is not None and self.protocol != "-1":
            row |= {"FromPort": self.low, "ToPort": self.high}
        return row


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a network ACL in EC2's words; its key is number, direction and family."""

    number: int
    egress: bool
    fields: tuple[tuple[str, Any], ...]

    @property
    def key(self) -> tuple[int, bool, bool]:
        """Tell entries apart as EC2 does."""
        return self.number, self.egress, "Ipv6CidrBlock" in dict(self.fields)

    @property
    def cidr(self) -> str:
        """The block that it speaks of."""
        fields = dict(self.fields)
        return str(fields.get("CidrBlock") or fields.get("Ipv6CidrBlock") or "")

    def to_json(self) -> Raw:
        """Give it as EC2 would."""
        fields = {key: dict(value) if isinstance(value, tuple) else value for key, value in self.fields}
        return {"RuleNumber": self.number, "Egress": self.egress, **fields}


def entry(
    number: Any, action: Any, protocol: Any, blocks: dict[str, Any], ports: tuple[Any, Any], icmp: tuple[Any, Any]
) -> dict[str, Any]:
    """Put the fields of an ACL entry together; the direction is for the caller."""
    fields: Raw = {"RuleAction": action, "Protocol": protocol}
    fields |= {key: block for key, block in blocks.items() if block}
    if protocol in ("tcp", "udp", "6", "17"):
        fields["PortRange"] = (("From", ports[0]), ("To", ports[1]))
    elif protocol in ("icmp", "icmpv6", "1", "58"):
        fields["IcmpTypeCode"] = (("Type", icmp[0]), ("Code", icmp[1]))
    return {"number": number, "fields": tuple(fields.items())}


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file says, as a snapshot document."""

    document: Raw
    places: dict[tuple[str, int], str] = field(default_factory=dict)
    """Where an item of one of the document's lists stands in the file."""
    notes: tuple[str, ...] = ()
    """What of the file could not be used, or was added to it; one line each."""


class ContentError(Exception):
    """Something in the file is wrong: the place in it, and the problem."""

    def __init__(self, place: str, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.place = place
        self.problem = problem
        self.hint = hint


def text_of(path: str) -> str:
    """
    Read a file.

    Raises:
        SnapshotError: it can't be read.
    """
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise SnapshotError(f"{printable(path)}: larger than {LARGEST // 2**20} MiB", hint="is it the right file?")
        return data.decode("utf-8-sig")
    except OSError as error:
        reason = error.strerror or str(error)
    except UnicodeDecodeError:
        reason = "no text in UTF-8"
    except ValueError as error:
        reason = str(error)
    raise SnapshotError(f"{printable(path)}: can't be read: {reason}", hint="check the name and who may read it")


def json_of(text: str) -> Any:
    """
    Read JSON.

    Raises:
        ContentError: it is none.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ContentError(f"line {error.lineno}, column {error.colno}", f"not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else "a number in it is too long"
        raise ContentError("", f"not usable JSON: {reason}") from None
