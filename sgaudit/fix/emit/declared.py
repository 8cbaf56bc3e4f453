"""A plan as resources that are to be there, for tools that are told what should be and not what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sgaudit.errors import UsageError
from sgaudit.fix.plan import Operation, Plan

ANYWHERE = ({"CidrIp": "0.0.0.0/0"}, {"CidrIpv6": "::/0"})
PEERS = (
    ("IpRanges", "CidrIp"),
    ("Ipv6Ranges", "CidrIpv6"),
    ("PrefixListIds", "PrefixListId"),
    ("UserIdGroupPairs", "GroupId"),
)
"""Where a request keeps its peers, and by what each is named."""


@dataclass(frozen=True, slots=True)
class Ref:
    """What another operation creates."""

    position: int
    api: str


@dataclass(frozen=True, slots=True)
class Created:
    """A security group or a prefix list that is created."""

    position: int
    operation: Operation


@dataclass(frozen=True, slots=True)
class Rule:
    """One permission of a group."""

    position: int
    number: int
    """Counts the permissions of the operation, from 1."""
    operation: Operation
    egress: bool
    holder: str | Ref
    protocol: str
    span: tuple[int, int] | None
    """Ports, or ICMP type and code; None for protocols without."""
    kind: str
    """`CidrIp`, `CidrIpv6`, `PrefixListId` or `GroupId`."""
    peer: str | Ref
    owner: str
    """Account of the peer group where that is another; else empty."""
    description: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a network ACL."""

    position: int
    operation: Operation


@dataclass(frozen=True, slots=True)
class Attachment:
    """A group put on an interface."""

    position: int
    number: int
    operation: Operation
    interface_id: str
    group: str | Ref


Resource = Created | Rule | Entry | Attachment


def tags_of(operation: Operation) -> dict[str, str]:
    """Give the tags that a request puts on what it creates."""
    found = [tag for item in operation.call.params.get("TagSpecifications", ()) for tag in item["Tags"]]
    return {tag["Key"]: tag["Value"] for tag in found}


def resources(plan: Plan, form: str) -> tuple[Resource, ...]:
    """
    Give the resources that are there once the plan is carried out.

    Raises:
        UsageError: an operation takes away or replaces something that nobody declared; `form` can't say that.
    """
    reader = _Reader(plan, form)
    found = tuple(resource for position in range(1, len(plan.operations) + 1) for resource in reader.read(position))
    reader.check_new_groups()
    return found


class _Reader:
    def __init__(self, plan: Plan, form: str) -> None:
        self._plan = plan
        self._form = form
        self._refs = {item.id: Ref(number, item.call.api) for number, item in enumerate(plan.operations, 1)}
        self._closed: set[Ref] = set()

    def read(self, position: int) -> Iterator[Resource]:
        operation = self._plan.operations[position - 1]
        match operation.call.api:
            case "CreateSecurityGroup" | "CreateManagedPrefixList":
                yield Created(position, operation)
            case "AuthorizeSecurityGroupIngress" | "AuthorizeSecurityGroupEgress":
                yield from self._rules(position, operation)
            case "CreateNetworkAclEntry":
                yield Entry(position, operation)
            case "ModifyNetworkInterfaceAttribute":
                yield from self._attachments(position, operation)
            case "RevokeSecurityGroupEgress" if self._is_default_of_new(operation):
                self._closed.add(self._refs[operation.call.params["GroupId"]["Ref"]])
            case api:
                raise self._refusal(operation, f"{api} changes what {self._form} did not make")

    def check_new_groups(self) -> None:
        for operation in self._plan.operations:
            if operation.call.api == "CreateSecurityGroup" and self._refs[operation.id] not in self._closed:
                raise self._refusal(operation, "it would take away the egress permissions that the plan keeps")

    def _refusal(self, operation: Operation, why: str) -> UsageError:
        return UsageError(
            f"--emit {self._form} can't write {operation.id}: {why}",
            hint="use --emit aws-cli, or let sgaudit fix do it",
        )

    def _value(self, value: Any) -> str | Ref:
        return self._refs[value["Ref"]] if isinstance(value, Mapping) else str(value)

    def _rules(self, position: int, operation: Operation) -> Iterator[Rule]:
        params = operation.call.params
        number = 0
        for row in params["IpPermissions"]:
            span = (row["FromPort"], row["ToPort"]) if "FromPort" in row else None
            for side, kind in PEERS:
                for item in row.get(side, ()):
                    number += 1
                    owner = str(item.get("UserId", ""))
                    yield Rule(
                        position=position,
                        number=number,
                        operation=operation,
                        egress=operation.call.api.endswith("Egress"),
                        holder=self._value(params["GroupId"]),
                        protocol=row["IpProtocol"],
                        span=span,
                        kind=kind,
                        peer=self._value(item[kind]),
                        owner="" if owner == self._plan.account_id else owner,
                        description=item.get("Description", ""),
                    )

    def _attachments(self, position: int, operation: Operation) -> Iterator[Attachment]:
        before = [] if operation.inverse is None else operation.inverse.params["Groups"]
        after = operation.call.params["Groups"]
        if not before or any(group not in after for group in before):
            raise self._refusal(operation, "it takes groups from an interface")
        added = [group for group in after if group not in before]
        for number, group in enumerate(added, 1):
            interface_id = operation.call.params["NetworkInterfaceId"]
            yield Attachment(position, number, operation, interface_id, self._value(group))

    def _is_default_of_new(self, operation: Operation) -> bool:
        params = operation.call.params
        if not isinstance(params["GroupId"], Mapping):
            return False
        peers = [item for row in params["IpPermissions"] for side, _ in PEERS for item in row.get(side, ())]
        return all(row["IpProtocol"] == "-1" for row in params["IpPermissions"]) and all(
            item in ANYWHERE for item in peers
        )
