"""Permissions that are added to and taken from security groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sgaudit.fix import rows
from sgaudit.fix.effect import Effect, Made, Raw, Read, Seen, Undo, where
from sgaudit.fix.plan import Call


@dataclass(frozen=True, slots=True)
class Authorize(Effect):
    """Permissions that are added to a group."""

    egress: bool

    def rules(self, read: Read, group_id: str) -> list[Raw]:
        """Read the permissions of a group, in this direction."""
        found = read("DescribeSecurityGroupRules", where("group-id", group_id))
        return [rule for rule in found if bool(rule.get("IsEgress")) is self.egress]

    def observe(self, read: Read, params: Raw) -> Seen:
        """Give those of the permissions that the group has."""
        wanted = rows.descriptions(params["IpPermissions"])
        return {"rules": self._seen(self.rules(read, params["GroupId"]), wanted)}

    @staticmethod
    def _seen(found: Sequence[Raw], wanted: Mapping[str, str]) -> dict[str, Any]:
        return {
            name: {"id": rule["SecurityGroupRuleId"], "description": str(rule.get("Description") or "")}
            for rule in found
            if (name := rows.rule_key(rule)) in wanted
        }

    def complete(self, params: Raw, seen: Seen) -> bool:
        """Tell whether it has all of them."""
        return set(rows.descriptions(params["IpPermissions"])) <= set(seen["rules"])

    def narrowed(self, params: Raw, seen: Seen) -> Raw:
        """Ask only for those that it lacks: EC2 refuses a request whole if it has one of them."""
        return {**params, "IpPermissions": rows.without(params["IpPermissions"], seen["rules"])}

    def answered(self, params: Raw, seen: Seen, answer: Raw) -> Seen | None:
        """Take the ids from the answer, when it tells them all."""
        wanted = rows.descriptions(params["IpPermissions"])
        told = {"rules": {**self._seen(answer.get("SecurityGroupRules") or (), wanted), **seen["rules"]}}
        return told if self.complete(params, told) else None

    def made(self, params: Raw, before: Seen, after: Seen) -> Made:
        """Give those that are new, unless their description tells that somebody else added them."""
        wanted = rows.descriptions(params["IpPermissions"])
        new = {
            name: item["id"]
            for name, item in after["rules"].items()
            if name not in before["rules"]
            and (not item["description"] or not wanted[name] or item["description"] == wanted[name])
        }
        return {"group": params["GroupId"], "egress": self.egress, "rules": new} if new else {}

    def undo(self, read: Read, made: Made, own: frozenset[str]) -> Undo:  # noqa: ARG002 - as the base has it
        """Revoke by id what still says what it said."""
        there = {rule["SecurityGroupRuleId"]: rows.rule_key(rule) for rule in self.rules(read, made["group"])}
        left = tuple(
            f"{rule_id} of {made['group']} was changed since: it was {name}, and is {there[rule_id]}"
            for name, rule_id in made["rules"].items()
            if rule_id in there and there[rule_id] != name
        )
        ids = [rule_id for name, rule_id in made["rules"].items() if there.get(rule_id) == name]
        if not ids:
            return Undo(None, left)
        api = f"RevokeSecurityGroup{'Egress' if self.egress else 'Ingress'}"
        return Undo(Call(api, {"GroupId": made["group"], "SecurityGroupRuleIds": ids}), left)


@dataclass(frozen=True, slots=True)
class Revoke(Effect):
    """Permissions that are taken from a group."""

    egress: bool

    def observe(self, read: Read, params: Raw) -> Seen:
        """Give those of the permissions that the group still has, whole."""
        ids = set(params.get("SecurityGroupRuleIds") or ())
        names = set(rows.descriptions(params.get("IpPermissions") or ()))
        found = Authorize(self.egress).rules(read, params["GroupId"])
        return {
            "rules": {
                str(rule["SecurityGroupRuleId"]): rows.permission_of(rule)
                for rule in found
                if rule["SecurityGroupRuleId"] in ids or rows.rule_key(rule) in names
            }
        }

    def complete(self, params: Raw, seen: Seen) -> bool:  # noqa: ARG002 - as the base has it
        """Tell whether it has none of them."""
        return not seen["rules"]

    def doubtful(self, params: Raw, seen: Seen, fresh: frozenset[str]) -> bool:
        """Doubt that a group that was just created lacks what new groups begin with."""
        return params["GroupId"] in fresh and not seen["rules"]

    def narrowed(self, params: Raw, seen: Seen) -> Raw:
        """Ask by id, and only for those that are there."""
        rest = {name: value for name, value in params.items() if name != "IpPermissions"}
        return {**rest, "SecurityGroupRuleIds": sorted(seen["rules"])}

    def answered(self, params: Raw, seen: Seen, answer: Raw) -> Seen | None:  # noqa: ARG002 - as the base has it
        """All that was asked by id is gone, or the call fails."""
        return {"rules": {}}

    def made(self, params: Raw, before: Seen, after: Seen) -> Made:
        """Give what is gone."""
        gone = {name: row for name, row in before["rules"].items() if name not in after["rules"]}
        return {"group": params["GroupId"], "egress": self.egress, "revoked": gone} if gone else {}

    def undo(self, read: Read, made: Made, own: frozenset[str]) -> Undo:
        """Add again what nobody else has added since, and what the run did not add itself."""
        there = {rows.rule_key(rule) for rule in Authorize(self.egress).rules(read, made["group"])}
        missing = rows.without([row for rule_id, row in made["revoked"].items() if rule_id not in own], there)
        if not missing:
            return Undo(None)
        api = f"AuthorizeSecurityGroup{'Egress' if self.egress else 'Ingress'}"
        return Undo(Call(api, {"GroupId": made["group"], "IpPermissions": missing}))
