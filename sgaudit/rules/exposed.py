"""How findings on exposure are worded; the rules on exposure share it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sgaudit.model import ALL_PROTOCOLS, Family
from sgaudit.ports import PortSet
from sgaudit.rules import words
from sgaudit.rules.finding import Finding, Resource, Rule
from sgaudit.rules.openings import Zone

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sgaudit.model import Permission
    from sgaudit.reach.exposure import Outside
    from sgaudit.rules.context import Context
    from sgaudit.rules.openings import Hit
    from sgaudit.severity import Severity

MOST_PERMISSIONS = 4
MOST_BLOCKS = 20
MOST_MEMBERS = 20
FAMILIES = {Family.IPV4: "IPv4", Family.IPV6: "IPv6"}


@dataclass(frozen=True)
class Exposed:
    """All that one group lets in, put together."""

    context: Context
    group_id: str
    hits: Sequence[Hit]

    @property
    def label(self) -> str:
        """Name the group."""
        return words.group_label(self.context.snapshot, self.group_id) if self.group_id else "an unknown security group"

    @property
    def severity(self) -> Severity:
        """Tell the worst."""
        return max((hit.severity for hit in self.hits), key=lambda severity: severity.rank)

    @cached_property
    def latent(self) -> str:
        """Tell why nobody in the internet can dial any of the members today; empty where somebody can."""
        reasons = words.unique(hit.latent for hit in self.hits)
        return words.listed(sorted(reasons)) if all(reasons) else ""

    @cached_property
    def ports(self) -> dict[str, PortSet]:
        """Put together the ports of each protocol."""
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for hit in self.hits:
            found[hit.protocol].append((hit.low, hit.high))
        return {protocol: PortSet.of(found[protocol]) for protocol in sorted(found)}

    @property
    def traffic(self) -> str:
        """Say which traffic gets in."""
        return " and ".join(words.traffic(protocol, ports) for protocol, ports in self.ports.items())

    @cached_property
    def sources(self) -> dict[Family, int]:
        """Put together the addresses of each family."""
        found: dict[Family, int] = defaultdict(int)
        for hit in self.hits:
            if not hit.by_group:
                found[hit.outside.family] |= hit.bits
        return dict(found)

    @cached_property
    def machines(self) -> list[str]:
        """List the interfaces of other machines that are let in by their group."""
        return sorted(
            {
                node.interface.interface_id
                for hit in self.hits
                if hit.by_group
                for node in hit.outside.others.nodes.pick(hit.bits)
                if node.interface
            }
        )

    @cached_property
    def permissions(self) -> list[Permission]:
        """List the permissions that let somebody in, as they stand in the group."""
        found = {hit.permission for hit in self.hits}
        group = (self.context.snapshot.security_groups or {}).get(self.group_id)
        return [permission for permission in dict.fromkeys(group.ingress if group else ()) if permission in found]

    @property
    def members(self) -> set[str]:
        """Give the ids of the members behind it."""
        return {instance_id for hit in self.hits for instance_id in hit.instance_ids}

    @property
    def dialled(self) -> set[str]:
        """Give the ids of those that the internet can dial."""
        return {instance_id for hit in self.hits if not hit.latent for instance_id in hit.instance_ids}

    @property
    def certain(self) -> bool:
        """Tell whether some of it is known to get in."""
        return any(hit.sure for hit in self.hits)

    @property
    def unread(self) -> list[str]:
        """Tell what was not read."""
        return words.unique(item for hit in self.hits for item in hit.unread)

    def finding(
        self, rule: Rule, *, what: str = "", title: str = "", also: str = "", identity: Iterable[str] = ()
    ) -> Finding:
        """
        Put it into words.

        Args:
            rule: the rule that found it.
            what: which traffic, in words, where ports alone don't say it.
            title: the same in short.
            also: to whom else the group is open on these ports.
            identity: what tells the finding from others about the group.
        """
        to = "the world" if self.hits[0].zone is Zone.WORLD else "neighbours"
        to = f"{also} and to {to}" if also else to
        latent = " (latent)" if self.latent else ""
        return Finding(
            rule=rule.id,
            severity=self.severity,
            title=f"{self.label} is open to {to} on {title or self.traffic}{latent}",
            message=" ".join(self._sentences(what or self.traffic, also)),
            remedy=rule.remedy if self.certain else f"Let sgaudit read what is missing. If it is open: {rule.remedy}",
            resource=Resource("security-group", self.group_id),
            pairs=0,
            evidence=self.evidence(),
            identity=("ingress", *identity),
        )

    def _sentences(self, traffic: str, also: str) -> Iterable[str]:
        admits = "admits" if self.certain else "may admit"
        by = words.listed([permission_label(item) for item in self.permissions], MOST_PERMISSIONS)
        members, dialled = len(self.members), len(self.dialled)
        behind = f"{words.number(members, 'member')} {'carries' if members == 1 else 'carry'} it"
        if self.hits[0].zone is Zone.WORLD and dialled:
            who = "all of them" if dialled == members > 1 else "it" if members == 1 else f"{dialled} of them"
            behind += f", {who} with a public address and a route to an internet gateway"
        yield f"{self.label} {admits} {traffic} from {self.who()}{' by ' + by if by else ''}; {behind}."
        if also:
            yield f"It admits {also} on the same ports by a permission of its own."
        if acls := words.unique(hit.acl_id for hit in self.hits if hit.acl_id):
            yield f"Without {words.listed(acls)} it would be more."
        if self.latent:
            yield f"Latent: {self.latent}, so nobody in the internet can dial {'it' if members == 1 else 'them'} today."
        if self.unread:
            yield f"Not known: {words.listed(self.unread, MOST_PERMISSIONS)}."

    def who(self) -> str:
        """Say from where."""
        zone = self.hits[0].zone
        outsides = self.context.outside
        parts: list[str] = []
        if zone is Zone.WORLD:
            whole = [family for family, bits in self.sources.items() if not _world(outsides[family]) & ~bits]
            if len(whole) == len(Family):
                parts.append("the whole internet (IPv4 and IPv6)")
            else:
                parts += [f"the whole {FAMILIES[family]} internet" for family in whole]
            rest = [family for family in self.sources if family not in whole]
        else:
            rest = list(self.sources)
        kind = "public" if zone is Zone.WORLD else "neighbouring"
        parts += [_amount(outsides[family], self.sources[family], kind) for family in rest]
        if self.machines:
            parts.append(f"{words.number(len(self.machines), 'interface')} of machines outside the cluster")
        return words.listed(parts)

    def evidence(self) -> Mapping[str, Any]:
        """Give the facts, JSON-ready."""
        outsides = self.context.outside
        return {
            "direction": "ingress",
            "security_group": self.group_id,
            "ports": {protocol: str(ports) for protocol, ports in self.ports.items()},
            # As text: IPv6 has more addresses than a number in JSON can count.
            "addresses": {str(family): str(outsides[family].count(bits)) for family, bits in self.sources.items()},
            "sources": {
                str(family): list(outsides[family].blocks(bits))[:MOST_BLOCKS] for family, bits in self.sources.items()
            },
            "interfaces": self.machines[:MOST_MEMBERS],
            "permissions": [
                {
                    "protocol": item.protocol,
                    "from_port": item.from_port,
                    "to_port": item.to_port,
                    "peer": str(item.peer),
                    "rule_id": item.rule_id,
                    "description": item.description,
                }
                for item in self.permissions
            ],
            "network_acls": words.unique(hit.acl_id for hit in self.hits if hit.acl_id),
            "members": sorted(self.members)[:MOST_MEMBERS],
            "reachable_members": len(self.dialled),
            "latent": self.latent,
            "unread": self.unread,
            "exposures": words.unique(hit.question.name for hit in self.hits),
        }


def _world(outside: Outside) -> int:
    """Tell the addresses of the internet that are nobody's in the cluster or near it."""
    found = outside.world & outside.inhabited
    for vpc_id in {face.vpc_id for face in outside.faces}:
        found &= ~outside.local(vpc_id)
    return found


def _amount(outside: Outside, bits: int, kind: str) -> str:
    count = outside.count(bits)
    if outside.family is Family.IPV6 and count >= 1 << 64:
        return words.number(count >> 64, f"{kind} IPv6 /64 network")
    if count == 1:
        return f"1 {kind} {FAMILIES[outside.family]} address"
    return f"{count:,} {kind} {FAMILIES[outside.family]} addresses"


def permission_label(permission: Permission) -> str:
    """Name a permission as one finds it in the console: its peer, its traffic, its id where that was read."""
    protocol = "all" if permission.protocol == ALL_PROTOCOLS else permission.protocol
    rule_id = f", {permission.rule_id}" if permission.rule_id else ""
    return f"{permission.peer} ({words.traffic(protocol, permission.ports)}{rule_id})"
