"""The groups of interfaces, and the entries of network ACLs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sgaudit.fix import rows
from sgaudit.fix.effect import Effect, Made, Raw, Read, Seen, Undo, where
from sgaudit.fix.plan import Call


class SetGroups(Effect):
    """The groups of an interface, which a request replaces as a whole."""

    def observe(self, read: Read, params: Raw) -> Seen:
        """Give the groups that it carries."""
        return {"groups": _groups(read, str(params["NetworkInterfaceId"]))}

    def complete(self, params: Raw, seen: Seen) -> bool:
        """Tell whether it carries just these."""
        return seen["groups"] is not None and set(seen["groups"]) == set(params["Groups"])

    def stale(self, params: Raw, inverse: Raw | None, seen: Seen) -> str:
        """See that it carries what it carried when the plan was made: else somebody's change would be lost."""
        interface_id = params["NetworkInterfaceId"]
        if seen["groups"] is None:
            return f"{interface_id} is gone"
        if inverse is None or set(seen["groups"]) == set(inverse["Groups"]):
            return ""
        expected = ", ".join(inverse["Groups"])
        return f"{interface_id} carries {', '.join(seen['groups'])}, and carried {expected} when the plan was made"

    def answered(self, params: Raw, seen: Seen, answer: Raw) -> Seen | None:  # noqa: ARG002 - as the base has it
        """Take an answer to mean that they are set."""
        return {"groups": list(params["Groups"])}

    def made(self, params: Raw, before: Seen, after: Seen) -> Made:
        """Give the groups before and after, if what the request adds is there, or all is as it asks."""
        previous, current = set(before["groups"] or ()), set(after["groups"] or ())
        added = set(params["Groups"]) - previous
        if previous == current or not (added & current if added else self.complete(params, after)):
            return {}
        return {
            "interface": params["NetworkInterfaceId"],
            "previous": list(before["groups"] or ()),
            "groups": list(params["Groups"]),
        }

    def undo(self, read: Read, made: Made, own: frozenset[str]) -> Undo:  # noqa: ARG002 - as the base has it
        """Set what was there before; where somebody changed the groups since, only take out what was put in."""
        interface_id = str(made["interface"])
        current = _groups(read, interface_id)
        if current is None or set(current) == set(made["previous"]):
            return Undo(None)
        added = [item for item in made["groups"] if item not in made["previous"]]
        left: tuple[str, ...] = ()
        if set(current) == set(made["groups"]):
            groups = list(made["previous"])
        else:
            if not set(added) & set(current):
                return Undo(None, (f"the groups of {interface_id} were changed since: {', '.join(current)}",))
            groups = [item for item in current if item not in added]
            left = (f"groups of {interface_id} that were changed since: {', '.join(groups)}",) if groups else ()
        if not groups:
            return Undo(None, (f"{interface_id} has no other group than {', '.join(current)} any more",))
        return Undo(
            Call("ModifyNetworkInterfaceAttribute", {"NetworkInterfaceId": interface_id, "Groups": groups}), left
        )


def _groups(read: Read, interface_id: str) -> list[str] | None:
    found = read("DescribeNetworkInterfaces", where("network-interface-id", interface_id))
    return [str(item["GroupId"]) for item in found[0].get("Groups") or ()] if found else None


@dataclass(frozen=True, slots=True)
class AclEntry(Effect):
    """An entry of a network ACL that is created, replaced or deleted."""

    api: str

    def observe(self, read: Read, params: Raw) -> Seen:
        """Give the entry that has the number, in the direction."""
        return {"entry": _entry(read, params)}

    def _wanted(self, params: Raw) -> dict[str, Any] | None:
        return None if self.api == "DeleteNetworkAclEntry" else rows.entry(params)

    def complete(self, params: Raw, seen: Seen) -> bool:
        """Tell whether it is the wanted one."""
        return bool(seen["entry"] == self._wanted(params))

    def stale(self, params: Raw, inverse: Raw | None, seen: Seen) -> str:
        """Nothing may have the number, or what is to be replaced or deleted must be what it was."""
        place = f"entry {params['RuleNumber']} ({'egress' if params['Egress'] else 'ingress'})"
        if self.api == "CreateNetworkAclEntry":
            return f"{place} of {params['NetworkAclId']} is taken by another one" if seen["entry"] else ""
        if seen["entry"] is None:
            return f"{place} of {params['NetworkAclId']} is gone"
        if inverse is not None and seen["entry"] != rows.entry(inverse):
            return f"{place} of {params['NetworkAclId']} was changed"
        return ""

    def answered(self, params: Raw, seen: Seen, answer: Raw) -> Seen | None:  # noqa: ARG002 - as the base has it
        """Take an answer to mean that it is so."""
        return {"entry": self._wanted(params)}

    def made(self, params: Raw, before: Seen, after: Seen) -> Made:
        """Give the entry, and the one that was there before."""
        if not self.complete(params, after) or before["entry"] == after["entry"]:
            return {}
        place = {name: params[name] for name in ("NetworkAclId", "RuleNumber", "Egress")}
        return {"place": place, "entry": after["entry"], "previous": before["entry"]}

    def undo(self, read: Read, made: Made, own: frozenset[str]) -> Undo:  # noqa: ARG002 - as the base has it
        """Put back what was there, if what is there is just what the run put there."""
        place, previous = made["place"], made["previous"]
        current = _entry(read, place)
        if current == previous:
            return Undo(None)
        if current != made["entry"]:
            way = "egress" if place["Egress"] else "ingress"
            return Undo(None, (f"entry {place['RuleNumber']} ({way}) of {place['NetworkAclId']} was changed since",))
        if previous is None:
            return Undo(Call("DeleteNetworkAclEntry", place))
        api = "CreateNetworkAclEntry" if current is None else "ReplaceNetworkAclEntry"
        return Undo(Call(api, {"NetworkAclId": place["NetworkAclId"], **previous}))


def _entry(read: Read, place: Raw) -> dict[str, Any] | None:
    acls = read("DescribeNetworkAcls", {"NetworkAclIds": [place["NetworkAclId"]]})
    wanted = (int(place["RuleNumber"]), bool(place["Egress"]))
    for acl in acls:
        for raw in acl.get("Entries") or ():
            if (int(raw["RuleNumber"]), bool(raw["Egress"])) == wanted:
                return rows.entry(raw)
    return None
