"""
A plan as a value, and its JSON form, which is a contract.

Operations are EC2 requests exactly as boto3 takes them, in the order in which they are carried out. The id
of something that an earlier operation creates is written `{"Ref": "<operation id>"}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sgaudit.errors import UsageError
from sgaudit.fix.fields import FieldError, Fields, number_of, text_of
from sgaudit.ports import PortSet

SCHEMA_VERSION = 1
VERDICTS = ("open", "partial", "blocked", "unknown")
"""What ordered pairs of members are counted by."""


class ResourceType(StrEnum):
    """What a plan can rest on."""

    SECURITY_GROUP = "security-group"
    NETWORK_ACL = "network-acl"
    NETWORK_INTERFACE = "network-interface"
    PREFIX_LIST = "prefix-list"


class Strategy(StrEnum):
    """How the missing permissions are written, in the order in which they are preferred when all else is equal."""

    SELF = "self"
    """A permission of a group that all members share, from the group to itself."""
    PEERS = "peers"
    """Permissions between groups that members already carry."""
    CLUSTER_GROUP = "cluster-group"
    """A new group that admits itself, attached to each member's interface."""
    PREFIX_LIST = "prefix-list"
    """One managed prefix list of the members' addresses."""
    CIDR = "cidr"
    """CIDR blocks that hold just the members' addresses."""
    NONE = "none"
    """No permission of a group is missing."""


class Safety(StrEnum):
    """Whether an operation may be applied without a second thought."""

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True)
class Call:
    """One EC2 request."""

    api: str
    """Name of the operation, for example `AuthorizeSecurityGroupIngress`."""
    params: Mapping[str, Any]
    """The request as boto3 takes it."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One step of a plan."""

    id: str
    """Unique within the plan, for example `op-1`."""
    call: Call
    reason: str
    """One sentence."""
    findings: tuple[str, ...]
    """Fingerprints of what it helps to cure."""
    safety: Safety
    unsafe_because: str
    """Empty when it is safe."""
    inverse: Call | None
    """The request that undoes it, by exact properties; a rollback prefers the ids that were recorded."""
    quota: Mapping[str, Any] = field(default_factory=dict)
    """`{"name", "before", "after", "limit"}` of the quota that it draws on; empty when none."""

    def to_json(self) -> dict[str, Any]:
        """Give it as part of a plan."""
        return {
            "id": self.id,
            "api": self.call.api,
            "params": dict(self.call.params),
            "reason": self.reason,
            "findings": list(self.findings),
            "class": str(self.safety),
            "unsafe_because": self.unsafe_because,
            "inverse": None if self.inverse is None else {"api": self.inverse.api, "params": dict(self.inverse.params)},
            "quota": dict(self.quota),
        }


@dataclass(frozen=True, slots=True)
class Extra:
    """Something that becomes reachable although nothing requires it."""

    source: str
    target: str
    """Who, in words: members, interfaces outside the cluster, or addresses."""
    protocol: str
    ports: str
    pairs: int
    """Ordered pairs of known interfaces; 0 where only addresses are meant."""
    outside: bool
    """One end is no member."""

    def to_json(self) -> dict[str, Any]:
        """Give it as part of `opens.extra`."""
        return {
            "source": self.source,
            "target": self.target,
            "protocol": self.protocol,
            "ports": self.ports,
            "pairs": self.pairs,
            "outside": self.outside,
        }


@dataclass(frozen=True, slots=True)
class Unfixable:
    """A finding that no operation of the plan cures, and why."""

    finding: str
    """Its fingerprint."""
    rule: str
    title: str
    reason: str
    """Why, and what a person can do."""

    def to_json(self) -> dict[str, Any]:
        """Give it as part of `unfixable`."""
        return {"finding": self.finding, "rule": self.rule, "title": self.title, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Precondition:
    """What must still be so when the plan is applied."""

    resource_type: str
    """One of `ResourceType`."""
    resource_id: str
    fingerprint: str
    """Of everything about the resource that the plan rests on; see `preconditions.fingerprint_of`."""

    def to_json(self) -> dict[str, Any]:
        """Give it as part of `preconditions`."""
        return {"type": self.resource_type, "id": self.resource_id, "fingerprint": self.fingerprint}


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, what holds before and after, and what can't be done."""

    run: str
    """Id of the run, which names the journal and tags what is created."""
    created: str
    """ISO 8601."""
    tool_version: str
    account_id: str
    region: str
    selection: Mapping[str, Any]
    settings: Mapping[str, Any]
    """What is needed to judge the cluster again: policies, parameters, head, client ports."""
    strategy: Strategy
    exact: bool
    """The choice of permissions is the best there is; else it was made greedily."""
    operations: tuple[Operation, ...]
    before: Mapping[str, int]
    """Ordered pairs of members by verdict."""
    after: Mapping[str, int]
    required: int
    """Ordered pairs of members that become open as required."""
    extra: tuple[Extra, ...]
    outside_known: bool
    """All interfaces of the VPCs were read, so that `extra` names all carriers of the groups."""
    unfixable: tuple[Unfixable, ...]
    preconditions: tuple[Precondition, ...]

    @property
    def safe(self) -> bool:
        """Whether every operation is."""
        return all(operation.safety is Safety.SAFE for operation in self.operations)

    def to_json(self) -> dict[str, Any]:
        """Give the object of kind `plan`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": "plan",
            "run": self.run,
            "created": self.created,
            "tool_version": self.tool_version,
            "account_id": self.account_id,
            "region": self.region,
            "selection": dict(self.selection),
            "settings": dict(self.settings),
            "strategy": str(self.strategy),
            "exact": self.exact,
            "operations": [operation.to_json() for operation in self.operations],
            "before": dict(self.before),
            "after": dict(self.after),
            "opens": {
                "required": self.required,
                "extra": [extra.to_json() for extra in self.extra],
                "outside_known": self.outside_known,
            },
            "unfixable": [item.to_json() for item in self.unfixable],
            "preconditions": [item.to_json() for item in self.preconditions],
        }


def from_json(document: Any, name: str) -> Plan:
    """
    Read a plan that was written with `to_json`.

    Raises:
        UsageError: it is no plan of this version; the message names the file and the key.
    """
    try:
        found = Fields(document)
        kind, version = found.raw.get("kind"), found.raw.get("schema_version")
        if kind != "plan" or isinstance(version, bool) or version != SCHEMA_VERSION:
            raise UsageError(
                f"{name}: not a plan of schema version {SCHEMA_VERSION}",
                hint="make one with sgaudit fix --dry-run --out FILE",
            )
        return _plan(found)
    except FieldError as error:
        raise UsageError(
            f"{name}: not a whole plan: {error}", hint="make a new one with sgaudit fix --dry-run --out FILE"
        ) from error


def loads(data: bytes, name: str) -> Plan:
    """
    Read a plan from the content of a file.

    Raises:
        UsageError: it is no plan.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name}: not JSON: {error}", hint="give the file that --out wrote") from error
    return from_json(document, name)


def _plan(found: Fields) -> Plan:
    opens = found.object("opens")
    return Plan(
        run=found.text("run", filled=True),
        created=found.text("created"),
        tool_version=found.text("tool_version"),
        account_id=found.text("account_id"),
        region=found.text("region"),
        selection=_selection(found),
        settings=_settings(found),
        strategy=found.choice("strategy", Strategy),
        exact=found.flag("exact"),
        operations=tuple(_operation(item) for item in found.objects("operations")),
        before=_counts(found, "before"),
        after=_counts(found, "after"),
        required=opens.count("required"),
        extra=tuple(_extra(item) for item in opens.objects("extra")),
        outside_known=opens.flag("outside_known"),
        unfixable=tuple(
            Unfixable(item.text("finding"), item.text("rule"), item.text("title"), item.text("reason"))
            for item in found.objects("unfixable")
        ),
        preconditions=tuple(
            Precondition(str(item.choice("type", ResourceType)), item.text("id", filled=True), item.text("fingerprint"))
            for item in found.objects("preconditions")
        ),
    )


def _selection(found: Fields) -> dict[str, Any]:
    selection = found.object("selection")
    for keys, take in (
        (("tags", "instance_ids", "vpc_ids", "security_groups"), selection.texts),
        (("all", "include_stopped"), selection.flag),
        (("interfaces", "family"), selection.text),
    ):
        for key in keys:
            if selection.has(key):
                take(key)
    return found.plain("selection")


def _settings(found: Fields) -> dict[str, Any]:
    settings = found.object("settings")
    if settings.has("policies"):
        settings.texts("policies")
    if settings.has("parameters"):
        settings.table("parameters", text_of)
    if settings.raw.get("head") is not None:
        settings.text("head")
    if settings.raw.get("client_ports") is not None and (ports := settings.text("client_ports")):
        try:
            PortSet.parse(ports)
        except ValueError as error:
            raise FieldError(f"{settings.path('client_ports')}: {error}") from error
    return found.plain("settings")


def _counts(found: Fields, key: str) -> dict[str, int]:
    table = found.object(key)
    for name in found.table(key, number_of):
        if name not in VERDICTS:
            raise FieldError(f"{table.path(name)} is no verdict: {', '.join(VERDICTS)}")
    return {name: table.count(name) for name in table.raw}


def _extra(item: Fields) -> Extra:
    source, target, protocol, ports = (item.text(key) for key in ("source", "target", "protocol", "ports"))
    return Extra(source, target, protocol, ports, item.count("pairs"), item.flag("outside"))


def _operation(item: Fields) -> Operation:
    inverse = None if item.any("inverse") is None else _call(item.object("inverse"))
    return Operation(
        id=item.text("id", filled=True),
        call=_call(item),
        reason=item.text("reason"),
        findings=item.texts("findings"),
        safety=item.choice("class", Safety),
        unsafe_because=item.text("unsafe_because"),
        inverse=inverse,
        quota=_quota(item),
    )


def _call(item: Fields) -> Call:
    return Call(item.text("api", filled=True), item.plain("params"))


def _quota(item: Fields) -> dict[str, Any]:
    quota = item.object("quota")
    if not quota.raw:
        return {}
    return {"name": quota.text("name"), **{key: quota.count(key) for key in ("before", "after", "limit")}}
