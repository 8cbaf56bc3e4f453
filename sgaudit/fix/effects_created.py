"""Security groups and prefix lists that are created."""

from __future__ import annotations

from collections.abc import Sequence

from sgaudit.fix import rows
from sgaudit.fix.effect import Effect, Made, Raw, Read, Seen, Undo, where
from sgaudit.fix.plan import Call


class CreateGroup(Effect):
    """A new security group."""

    def observe(self, read: Read, params: Raw) -> Seen:
        """Look for a group of that name, and tell by its tags whether it is the one that was asked for."""
        named = read("DescribeSecurityGroups", where("group-name", str(params["GroupName"])))
        found = [item for item in named if item.get("VpcId") == params.get("VpcId", item.get("VpcId"))]
        return _created(found, "GroupId", params)

    def complete(self, params: Raw, seen: Seen) -> bool:  # noqa: ARG002 - as the base has it
        """Tell whether it is there."""
        return bool(seen["id"]) and bool(seen["own"])

    def stale(self, params: Raw, inverse: Raw | None, seen: Seen) -> str:  # noqa: ARG002 - as the base has it
        """Another group may have the name."""
        return f"another security group is named {params['GroupName']} ({seen['id']})" if seen["id"] else ""

    def answered(self, params: Raw, seen: Seen, answer: Raw) -> Seen | None:  # noqa: ARG002 - as the base has it
        """Take the id from the answer."""
        return {"id": answer["GroupId"], "own": True} if answer.get("GroupId") else None

    def made(self, params: Raw, before: Seen, after: Seen) -> Made:  # noqa: ARG002 - as the base has it
        """Give the id of the group, if there was none of that name before."""
        return {"id": after["id"]} if after["own"] and not before["id"] else {}

    def undo(self, read: Read, made: Made, own: frozenset[str]) -> Undo:
        """Delete the group unless somebody else has given it permissions since."""
        group_id = str(made["id"])
        if not read("DescribeSecurityGroups", where("group-id", group_id)):
            return Undo(None)
        foreign = [
            rows.rule_key(rule)
            for rule in read("DescribeSecurityGroupRules", where("group-id", group_id))
            if rule["SecurityGroupRuleId"] not in own and not _initial(rule)
        ]
        if foreign:
            return Undo(None, (f"{group_id} has permissions that this run did not add: {', '.join(foreign)}",))
        return Undo(Call("DeleteSecurityGroup", {"GroupId": group_id}))


def _initial(rule: Raw) -> bool:
    """Tell whether a new group begins with it (EC2 API reference, CreateSecurityGroup)."""
    return bool(rule.get("IsEgress")) and rows.rule_key(rule) in {"all from 0.0.0.0/0", "all from ::/0"}


def _created(found: Sequence[Raw], name: str, params: Raw) -> Seen:
    if not found:
        return {"id": "", "own": False}
    wanted = _wanted_tags(params)
    own = [item for item in found if wanted and wanted.items() <= _tags(item.get("Tags")).items()]
    return {"id": str((own or found)[0][name]), "own": bool(own)}


class CreateList(Effect):
    """A new managed prefix list."""

    def observe(self, read: Read, params: Raw) -> Seen:
        """Look for a list of that name; it serves only when it is complete."""
        named = read("DescribeManagedPrefixLists", where("prefix-list-name", str(params["PrefixListName"])))
        found = [item for item in named if not str(item.get("State") or "").startswith("delete")]
        seen = _created(found, "PrefixListId", params)
        states = [str(item.get("State") or "") for item in found if item["PrefixListId"] == seen["id"]]
        return {**seen, "ready": not any(state.endswith("in-progress") for state in states)}

    def complete(self, params: Raw, seen: Seen) -> bool:  # noqa: ARG002 - as the base has it
        """Tell whether it is there."""
        return bool(seen["id"] and seen["own"] and seen["ready"])

    def stale(self, params: Raw, inverse: Raw | None, seen: Seen) -> str:  # noqa: ARG002 - as the base has it
        """Another list may have the name."""
        taken = seen["id"] and not seen["own"]
        return f"another prefix list is named {params['PrefixListName']} ({seen['id']})" if taken else ""

    def answered(self, params: Raw, seen: Seen, answer: Raw) -> Seen | None:  # noqa: ARG002 - as the base has it
        """Take the id from the answer when the list is complete at once."""
        made = answer.get("PrefixList") or {}
        if not made.get("PrefixListId") or str(made.get("State") or "").endswith("in-progress"):
            return None
        return {"id": made["PrefixListId"], "own": True, "ready": True}

    def made(self, params: Raw, before: Seen, after: Seen) -> Made:  # noqa: ARG002 - as the base has it
        """Give the id of the list, if there was none of that name before."""
        return {"id": after["id"]} if after["own"] and not before["id"] else {}

    def undo(self, read: Read, made: Made, own: frozenset[str]) -> Undo:  # noqa: ARG002 - as the base has it
        """Delete the list unless its entries were changed since."""
        found = read("DescribeManagedPrefixLists", where("prefix-list-id", str(made["id"])))
        if not found or str(found[0].get("State") or "").startswith("delete"):
            return Undo(None)
        if int(found[0].get("Version") or 1) != 1:
            return Undo(None, (f"the entries of {made['id']} were changed since",))
        return Undo(Call("DeleteManagedPrefixList", {"PrefixListId": made["id"]}))


def _tags(items: Sequence[Raw] | None) -> dict[str, str]:
    return {str(item["Key"]): str(item.get("Value") or "") for item in items or ()}


def _wanted_tags(params: Raw) -> dict[str, str]:
    found = [tag for item in params.get("TagSpecifications") or () for tag in item.get("Tags") or ()]
    return _tags(found)
