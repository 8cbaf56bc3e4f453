"""
A snapshot as JSON in the shape of EC2's own Describe answers, read into the model and written back.

`parse` reads one JSON object, `load` a file, a folder of AWS CLI answers or standard input. Whatever is
wrong ends in a `SnapshotError` that names the file, the path in the JSON and the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sgaudit.errors import SnapshotError
from sgaudit.heap import collector_at_rest
from sgaudit.model import Instance, Interface, SecurityGroup, Snapshot, Subnet, Vpc
from sgaudit.snapshot import groups, instances, network
from sgaudit.snapshot.document import HOW_TO_GET, TOO_DEEP, Document, check, not_an_object, read, save
from sgaudit.snapshot.fields import EMPTY, FieldError, inner, printable, text, wrong

__all__ = ["load", "parse", "read_document", "save"]

REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-\d+")
"""How the name of a zone begins: `us-east-1a`, `us-west-2-lax-1a`."""


def parse(document: Mapping[str, Any], *, source: str = "snapshot", keep_document: bool = False) -> Snapshot:
    """
    Read one JSON object.

    Args:
        document: EC2's answers by their top-level keys; an absent key was not read.
        source: where it came from, for messages.
        keep_document: keep the JSON in the snapshot.

    Raises:
        SnapshotError: something in it is wrong; the message names the path and the value.
    """
    if not isinstance(document, Mapping):
        raise not_an_object(document, source)
    with _reading(source):
        whole = Document(source)
        whole.add(document, source)
        check(whole)
        return _parsed(whole, keep_document=keep_document)


def load(path: str, *, keep_document: bool = False) -> Snapshot:
    """
    Read a file, a folder of AWS CLI answers, or standard input (`-`).

    Raises:
        SnapshotError: something of it can't be read or is wrong.
    """
    with _reading(path):
        return _parsed(read(path), keep_document=keep_document)


def read_document(path: str) -> dict[str, Any]:
    """
    Read the same as `load`, as one JSON object with everything that is in it.

    Raises:
        SnapshotError: something of it can't be read.
    """
    with _reading(path):
        return read(path).values


@contextmanager
def _reading(source: str) -> Iterator[None]:
    with collector_at_rest():
        try:
            yield
        except RecursionError:
            raise SnapshotError(f"{printable(source)}: {TOO_DEEP}", hint=HOW_TO_GET) from None


def _parsed(document: Document, *, keep_document: bool) -> Snapshot:
    try:
        return _snapshot(document.values, document.source, keep_document=keep_document)
    except FieldError as fault:
        raise document.error(fault) from None


def _snapshot(values: dict[str, Any], source: str, *, keep_document: bool) -> Snapshot:
    names = groups.group_names(values)
    security_groups = groups.security_groups(values, names)
    subnets, vpcs = network.subnets(values), network.vpcs(values)
    members, interfaces = instances.read(values, names, subnets or {})
    return Snapshot(
        account_id=text(values, "AccountId") or _account(members, interfaces, security_groups or {}, vpcs or {}),
        region=text(values, "Region") or _region(members, interfaces, subnets or {}),
        collected_at=text(values, "CollectedAt"),
        instances=members,
        interfaces=interfaces,
        security_groups=security_groups,
        network_acls=network.network_acls(values),
        subnets=subnets,
        vpcs=vpcs,
        route_tables=network.route_tables(values),
        peerings=network.peerings(values),
        prefix_lists=network.prefix_lists(values),
        prefix_list_sizes=network.prefix_list_sizes(values),
        whole_vpcs=_whole_vpcs(values),
        denied=_denied(values),
        source=source,
        document=values if keep_document else EMPTY,
    )


def _whole_vpcs(values: dict[str, Any]) -> frozenset[str]:
    """Read which VPCs are there with every interface: sgaudit's own key, since no answer of EC2 tells."""
    found = values.get("WholeVpcs", [])
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise wrong("a list of VPC ids", found, "WholeVpcs")
    return frozenset(found)


def _denied(values: dict[str, Any]) -> dict[str, str]:
    denied = inner(values, "Denied")
    try:
        return {operation: text(denied, operation) for operation in denied}
    except FieldError as fault:
        raise fault.inside("Denied") from None


def _account(
    members: Mapping[str, Instance],
    interfaces: Mapping[str, Interface],
    security_groups: Mapping[str, SecurityGroup],
    vpcs: Mapping[str, Vpc],
) -> str:
    """Take the owner of what was read: what is shared with an account has another one, instances never."""
    collections: tuple[Iterable[Instance | Interface | SecurityGroup | Vpc], ...] = (
        members.values(),
        interfaces.values(),
        security_groups.values(),
        vpcs.values(),
    )
    for collection in collections:
        owners = {item.owner_id for item in collection if item.owner_id}
        if owners:
            return owners.pop() if len(owners) == 1 else ""
    return ""


def _region(members: Mapping[str, Instance], interfaces: Mapping[str, Interface], subnets: Mapping[str, Subnet]) -> str:
    zones = {item.availability_zone for item in members.values()}
    zones.update(item.availability_zone for item in interfaces.values())
    zones.update(item.availability_zone for item in subnets.values())
    found = {match[0] for match in map(REGION.match, zones) if match}
    return found.pop() if len(found) == 1 else ""
