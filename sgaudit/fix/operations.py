"""Operations written out of what was decided: requests, reasons, safety and quotas."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sgaudit.fix import requests
from sgaudit.fix.grants import NEW_GROUP, NEW_LIST, Grant, Proposal
from sgaudit.fix.plan import Call, Operation, Safety
from sgaudit.model import Cidr, Family, GroupPeer, Permission, PrefixListPeer
from sgaudit.ports import ALL
from sgaudit.rules import words
from sgaudit.rules.ownership import interface_owner, owner, unsafe_to_widen
from sgaudit.rules.quota_nearly_used import ENTRIES, PERMISSIONS, count
from sgaudit.rules.quota_nearly_used import GROUPS as GROUPS_ON_AN_INTERFACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sgaudit.fix.acl_entries import NewEntry
    from sgaudit.fix.population import Population
    from sgaudit.model import Peer, SecurityGroup
    from sgaudit.rules.context import Context

GROUP_STAND_IN = "sg-00000000000000000"
LIST_STAND_IN = "pl-00000000000000000"
MANAGED_TAG = "sgaudit:managed"
RUN_TAG = "sgaudit:run"
CLUSTER_TAG = "sgaudit:cluster"
FINDING_TAG = "sgaudit:finding"
LONGEST_TAG = 256


@dataclass
class Writer:
    """Numbers operations as they are added. Used up by one plan."""

    context: Context
    population: Population
    run: str
    cluster: str
    """How the members were picked, for tags and descriptions."""

    def __post_init__(self) -> None:
        self.operations: list[Operation] = []
        self._new_group = ""
        self._new_list = ""

    def write(self, proposal: Proposal | None, entries: Sequence[NewEntry]) -> tuple[Operation, ...]:
        """Write all operations, in the order in which they are carried out: what others refer to first."""
        if proposal is not None:
            if proposal.entries:
                self._create_list(proposal)
            if proposal.attach:
                self._create_group(proposal)
            self._authorize(proposal.grants)
            for interface_id in proposal.attach:
                self._attach(interface_id, _findings(proposal.grants))
        for entry in entries:
            self._entry(entry)
        return tuple(self.operations)

    def revoke(
        self, group_id: str, permissions: Sequence[Permission], reason: str, findings: Sequence[str], because: str
    ) -> None:
        """Take ingress permissions from a group: by rule id where that was read, else by what they say."""
        for known in (True, False):
            some = [item for item in permissions if bool(item.rule_id) is known]
            if not some:
                continue
            params: dict[str, Any] = {"GroupId": group_id}
            if known:
                params["SecurityGroupRuleIds"] = [item.rule_id for item in some]
            else:
                params["IpPermissions"] = [requests.row(item, described=False) for item in some]
            again = [requests.row(item, described=True) for item in some]
            self._add(
                Call("RevokeSecurityGroupIngress", params),
                reason,
                findings,
                unsafe=because,
                inverse=Call("AuthorizeSecurityGroupIngress", {"GroupId": group_id, "IpPermissions": again}),
            )

    def _add(self, call: Call, reason: str, findings: Iterable[str], **more: Any) -> str:
        operation_id = f"op-{len(self.operations) + 1}"
        self.operations.append(
            Operation(
                id=operation_id,
                call=call,
                reason=reason,
                findings=tuple(dict.fromkeys(findings)),
                safety=Safety.UNSAFE if more.get("unsafe") else Safety.SAFE,
                unsafe_because=more.get("unsafe", ""),
                inverse=more.get("inverse"),
                quota=more.get("quota", {}),
            )
        )
        return operation_id

    def _tags(self, findings: Iterable[str] = ()) -> dict[str, str]:
        tags = {MANAGED_TAG: "true", RUN_TAG: self.run, CLUSTER_TAG: self.cluster[:LONGEST_TAG]}
        first = next(iter(findings), "")
        return {**tags, FINDING_TAG: first} if first else tags

    def _create_list(self, proposal: Proposal) -> None:
        entries = [
            {"Cidr": str(cidr), "Description": requests.description(f"member of {self.cluster}")}
            for cidr in proposal.entries
        ]
        family = proposal.entries[0].family
        operation_id = f"op-{len(self.operations) + 1}"
        self._new_list = operation_id
        self._add(
            Call(
                "CreateManagedPrefixList",
                {
                    "PrefixListName": f"sgaudit-{self.run}",
                    "MaxEntries": len(entries),
                    "AddressFamily": "IPv4" if family is Family.IPV4 else "IPv6",
                    "Entries": entries,
                    "TagSpecifications": [requests.tag_specification("prefix-list", self._tags())],
                },
            ),
            f"make a prefix list of the members' addresses, {words.number(len(entries), 'block')}",
            _findings(proposal.grants),
            inverse=Call("DeleteManagedPrefixList", {"PrefixListId": {"Ref": operation_id}}),
        )

    def _create_group(self, proposal: Proposal) -> None:
        first = self.context.snapshot.interfaces[proposal.attach[0]]
        operation_id = f"op-{len(self.operations) + 1}"
        self._new_group = operation_id
        findings = _findings(proposal.grants)
        self._add(
            Call(
                "CreateSecurityGroup",
                {
                    "GroupName": f"sgaudit-{self.run}",
                    "Description": requests.description(f"members of {self.cluster} reach one another; sgaudit"),
                    "VpcId": first.vpc_id,
                    "TagSpecifications": [requests.tag_specification("security-group", self._tags())],
                },
            ),
            "make a security group for the cluster alone",
            findings,
            inverse=Call("DeleteSecurityGroup", {"GroupId": {"Ref": operation_id}}),
        )
        vpc = (self.context.snapshot.vpcs or {}).get(first.vpc_id)
        families = {Family.IPV4} | ({cidr.family for cidr in vpc.cidrs} if vpc else set())
        for family in sorted(families):
            anywhere = Cidr(family, 0, 0)
            row = requests.rows("all", ALL, [anywhere], "")[0]
            for side in row.values():
                if isinstance(side, list):
                    side[0].pop("Description")
            self._add(
                Call("RevokeSecurityGroupEgress", {"GroupId": {"Ref": operation_id}, "IpPermissions": [row]}),
                f"take away the egress permission to {anywhere} that a new group begins with",
                findings,
            )

    def _authorize(self, grants: Sequence[Grant]) -> None:
        by_call: dict[tuple[str, bool], list[Grant]] = defaultdict(list)
        for grant in grants:
            by_call[grant.holder, grant.egress].append(grant)
        for (holder, egress), group in sorted(by_call.items(), key=lambda item: (item[0][1], item[0][0])):
            findings = _findings(group)
            reference: Any = {"Ref": self._new_group} if holder == NEW_GROUP else holder
            rows = [row for grant in group for row in self._rows(grant, reference)]
            call, undo = requests.authorize(reference, rows, egress=egress, tags=self._tags(findings))
            self._add(
                call,
                self._reason(holder, group, egress=egress),
                findings,
                unsafe="" if holder == NEW_GROUP else unsafe_to_widen(self.context, holder),
                inverse=undo,
                quota=self._permission_quota(holder, group, egress=egress),
            )

    def _rows(self, grant: Grant, reference: Any) -> list[dict[str, Any]]:
        about = f"sgaudit {self.run}: {self.cluster}"
        rows = requests.rows(grant.protocol, grant.ports, [_stand_in(peer) for peer in grant.peers], about)
        for row in rows:
            for pair in row.get("UserIdGroupPairs", ()):
                if pair["GroupId"] == GROUP_STAND_IN:
                    pair["GroupId"] = reference if grant.holder == NEW_GROUP else {"Ref": self._new_group}
            for item in row.get("PrefixListIds", ()):
                if item["PrefixListId"] == LIST_STAND_IN:
                    item["PrefixListId"] = {"Ref": self._new_list}
        return rows

    def _reason(self, holder: str, grants: Sequence[Grant], *, egress: bool) -> str:
        snapshot = self.context.snapshot
        label = "the new group" if holder == NEW_GROUP else words.group_label(snapshot, holder)
        parts = [
            f"{words.traffic('all' if grant.protocol == 'efa' else grant.protocol, grant.ports)} "
            f"{'to' if egress else 'from'} {words.listed([self._peer_label(holder, peer) for peer in grant.peers])}"
            for grant in grants
        ]
        return f"let {label} {'send' if egress else 'receive'} {words.listed(parts, 4)}"

    def _peer_label(self, holder: str, peer: Peer) -> str:
        match peer:
            case GroupPeer():
                if peer.group_id == holder:
                    return "itself"
                return words.group_label(self.context.snapshot, peer.group_id)
            case PrefixListPeer() if peer.prefix_list_id == NEW_LIST:
                return "the new prefix list"
            case _:
                return str(peer)

    def _permission_quota(self, holder: str, grants: Sequence[Grant], *, egress: bool) -> dict[str, Any]:
        group: SecurityGroup | None = (self.context.snapshot.security_groups or {}).get(holder)
        present = () if group is None else group.egress if egress else group.ingress
        added = [
            Permission(grant.protocol, grant.ports, peer)
            for grant in grants
            for peer in grant.peers
            for _ in grant.ports.ranges
        ]
        before = max(count(self.context, present, family) for family in Family)
        after = max(count(self.context, (*present, *added), family) for family in Family)
        way = "egress" if egress else "ingress"
        return {"name": f"{way} permissions of a group", "before": before, "after": after, "limit": PERMISSIONS}

    def _attach(self, interface_id: str, findings: Sequence[str]) -> None:
        interface = self.context.snapshot.interfaces[interface_id]
        before = list(interface.groups or ())
        instance = self.context.snapshot.instances.get(interface.instance_id)
        label = words.named(instance.name if instance else "", interface.instance_id)
        unsafe = "it changes which groups an interface carries"
        if interface_owner(interface):
            unsafe += f", and {interface_owner(interface)} owns that interface"
        self._add(
            Call(
                "ModifyNetworkInterfaceAttribute",
                {"NetworkInterfaceId": interface_id, "Groups": [*before, {"Ref": self._new_group}]},
            ),
            f"put the new group on {interface_id} of {label}",
            findings,
            unsafe=unsafe,
            inverse=Call("ModifyNetworkInterfaceAttribute", {"NetworkInterfaceId": interface_id, "Groups": before}),
            quota={
                "name": "groups on an interface",
                "before": len(before),
                "after": len(before) + 1,
                "limit": GROUPS_ON_AN_INTERFACE,
            },
        )

    def _entry(self, entry: NewEntry) -> None:
        call, undo = requests.acl_entry(
            entry.acl.acl_id,
            entry.number,
            egress=entry.egress,
            protocol=entry.protocol,
            span=entry.span,
            cidr=entry.cidr,
        )
        label = words.named(entry.acl.tags.get("Name", ""), entry.acl.acl_id)
        what = entry.protocol if entry.span is None else f"{entry.protocol} {entry.span[0]}-{entry.span[1]}"
        unsafe = f"a network ACL guards everything in its subnets, of which it has {max(1, len(entry.acl.subnet_ids))}"
        if owner(entry.acl.tags):
            unsafe += f", and {owner(entry.acl.tags)} owns it"
        self._add(
            call,
            f"let {what} {'out to' if entry.egress else 'in from'} {entry.cidr} at {label}",
            entry.findings,
            unsafe=unsafe,
            inverse=undo,
            quota={
                "name": f"{'egress' if entry.egress else 'ingress'} entries of a network ACL",
                "before": entry.used,
                "after": entry.used + 1,
                "limit": ENTRIES,
            },
        )


def _stand_in(peer: Peer) -> Peer:
    """Put ids in the place of what is yet to be created, so that a request can be written."""
    if isinstance(peer, GroupPeer) and peer.group_id == NEW_GROUP:
        return replace(peer, group_id=GROUP_STAND_IN)
    if isinstance(peer, PrefixListPeer) and peer.prefix_list_id == NEW_LIST:
        return PrefixListPeer(LIST_STAND_IN)
    return peer


def _findings(grants: Iterable[Grant]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(finding for grant in grants for finding in grant.findings))
