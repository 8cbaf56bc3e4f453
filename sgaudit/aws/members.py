"""Finding the instances that a selection means, with the filtering done by EC2 where it can."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sgaudit.aws.reader import FILTER_VALUES, Filter, Reader, Request, requests, where
from sgaudit.model import Instance

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from sgaudit.selection import Selection, TagFilter

MOST_CALLS_BY_ID = 10
"""Above that many calls of 200 instance ids, whole VPCs in pages of 1,000 instances are cheaper."""

Raw = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """The members as EC2 gave them."""

    reservations: list[Raw]
    interfaces: list[Raw] | None
    """Every one that carries a group of the selection; None when the selection names no group."""
    live: bool
    """False: no instance in a wanted state matches, and `reservations` are those in other states."""


class MembersUnknown(Exception):  # noqa: N818 - a signal within sgaudit.aws; users see a CollectError
    """The read that would tell the members failed before it gave any."""

    def __init__(self, operation: str, error: Exception) -> None:
        super().__init__(operation)
        self.operation = operation
        self.error = error


def find(reader: Reader, selection: Selection) -> Found:
    """
    Read the selected instances.

    Raises:
        MembersUnknown: nothing could be read, so that nobody knows who the members are.
    """
    interfaces: list[Raw] | None = None
    ids: frozenset[str] | None = frozenset(selection.instance_ids) or None
    vpc_ids: Sequence[str] = selection.vpc_ids
    if selection.security_groups:
        interfaces = _interfaces_of_groups(reader, selection.security_groups)
        carriers = frozenset(_instance_id(item) for item in interfaces) - {""}
        ids = carriers if ids is None else ids & carriers
        vpc_ids = _vpcs_of(interfaces, ids, vpc_ids)
        if not ids:
            return Found([], None, live=False)
    criteria = _criteria(selection.tags, vpc_ids)
    states = where("instance-state-name", sorted(selection.states))
    reservations = _read(reader, selection, ids, [states, *criteria])
    if reservations:
        return Found(reservations, interfaces, live=True)
    try:
        others = _read(reader, selection, ids, criteria, first_page=True)
    except MembersUnknown:
        others = []
    return Found(others, None, live=False)


def _interfaces_of_groups(reader: Reader, groups: Sequence[str]) -> list[Raw]:
    calls = [with_managed(reader, "DescribeNetworkInterfaces", call) for call in requests("group-id", groups)]
    answer = reader.read("DescribeNetworkInterfaces", calls)
    if answer.error and not answer.items:
        raise MembersUnknown("DescribeNetworkInterfaces", answer.error)
    return list({item["NetworkInterfaceId"]: item for item in answer.items}.values())


def _instance_id(interface: Mapping[str, Any]) -> str:
    return str((interface.get("Attachment") or {}).get("InstanceId") or "")


def _vpcs_of(interfaces: Iterable[Raw], ids: AbstractSet[str], wanted: Sequence[str]) -> list[str]:
    found = {str(item["VpcId"]) for item in interfaces if item.get("VpcId") and _instance_id(item) in ids}
    return sorted(found & set(wanted) if wanted else found)


def _criteria(tags: Iterable[TagFilter], vpc_ids: Sequence[str]) -> list[Filter]:
    """
    Write what EC2 can filter.

    The EC2 API reference doesn't say what two filters of one name mean together, so each name goes
    once; `_narrowed` does the rest. So it does for more values than EC2 takes.
    """
    named: dict[str, list[str]] = {}
    if vpc_ids:
        named["vpc-id"] = list(vpc_ids)
    for tag in tags:
        name, values = (f"tag:{tag.key}", tag.values) if tag.values else ("tag-key", (tag.key,))
        named.setdefault(name, list(values))
    room = FILTER_VALUES // 2
    return [where(name, values) for name, values in named.items() if len(values) <= room // len(named)]


def _read(
    reader: Reader,
    selection: Selection,
    ids: frozenset[str] | None,
    filters: list[Filter],
    *,
    first_page: bool = False,
) -> list[Raw]:
    by_vpc = any(item["Name"] == "vpc-id" for item in filters)
    calls: list[Request] = [{"Filters": filters}] if filters else [{}]
    if ids is not None:
        by_id = requests("instance-id", sorted(ids), filters)
        if len(by_id) <= MOST_CALLS_BY_ID or not by_vpc:
            calls = by_id
    calls = [with_managed(reader, "DescribeInstances", call) for call in calls]
    answer = reader.read("DescribeInstances", calls, first_page=first_page)
    if answer.error and not answer.items:
        raise MembersUnknown("DescribeInstances", answer.error)
    return _narrowed(answer.items, selection, ids)


def with_managed(reader: Reader, operation: str, call: Request) -> Request:
    """Ask for instances and interfaces that AWS services manage and hide, too: they carry packets."""
    if reader.accepts(operation, "IncludeManagedResources"):
        return {**call, "IncludeManagedResources": True}
    return call


def _narrowed(reservations: Iterable[Raw], selection: Selection, ids: frozenset[str] | None) -> list[Raw]:
    narrowed = []
    for reservation in reservations:
        instances = reservation.get("Instances") or []
        kept = [item for item in instances if _wanted(item, selection, ids)]
        if len(kept) == len(instances):
            narrowed.append(reservation)
        elif kept:
            narrowed.append({**reservation, "Instances": kept})
    return narrowed


def _wanted(raw: Raw, selection: Selection, ids: frozenset[str] | None) -> bool:
    if ids is not None and raw["InstanceId"] not in ids:
        return False
    vpc_id = raw.get("VpcId") or ""
    if selection.vpc_ids and vpc_id not in selection.vpc_ids:
        return False
    tags = {tag["Key"]: tag.get("Value", "") for tag in raw.get("Tags") or ()}
    instance = Instance(raw["InstanceId"], "", "", vpc_id, "", "", (), tags=tags)
    return all(tag.matches(instance) for tag in selection.tags)
