"""
Which ids an attribute will have that is known after apply only.

The configuration tells the names in an expression, not the expression. So a reference counts only where it
can mean one thing; where the names leave a choice, what comes out is unknown, among those it could be.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sgaudit.iac.plan import config_path, partly, steps
from sgaudit.iac.values import UNKNOWN, Id, Ids, Unknown

if TYPE_CHECKING:
    from sgaudit.iac.plan import Block, Plan, Resource

KEYS = ("each.key", "count.index")
HARMLESS = ("path.", "terraform.", "self.")
MADE = {
    ("aws_vpc", "default_security_group_id"),
    ("aws_vpc", "default_network_acl_id"),
    ("aws_vpc", "main_route_table_id"),
    ("aws_vpc", "default_route_table_id"),
    ("aws_instance", "primary_network_interface_id"),
}
"""Ids of things that AWS makes along with others."""
ALIASES = {
    ("aws_default_security_group", "id"): ("vpc_id", "default_security_group_id"),
    ("aws_default_network_acl", "id"): ("default_network_acl_id", ""),
    ("aws_default_route_table", "id"): ("default_route_table_id", ""),
}
"""Resources that adopt what AWS made: the attribute that tells it, and what of that attribute's thing it is."""
KINDS_OF_VPC = ("aws_vpc",)
KINDS_OF_SUBNET = ("aws_subnet",)
KINDS_OF_GROUP = ("aws_security_group", "aws_vpc.default_security_group_id", "aws_default_security_group")
KINDS_OF_ACL = ("aws_network_acl", "aws_vpc.default_network_acl_id", "aws_default_network_acl")
KINDS_OF_TABLE = (
    "aws_route_table",
    "aws_vpc.main_route_table_id",
    "aws_vpc.default_route_table_id",
    "aws_default_route_table",
)
KINDS_OF_LIST = ("aws_ec2_managed_prefix_list",)
KINDS_OF_INTERFACE = ("aws_network_interface", "aws_instance.primary_network_interface_id")
DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Found:
    """The ids behind an expression; `exact` when it has just these, `bounded` when no others."""

    ids: tuple[str, ...] = ()
    exact: bool = True
    bounded: bool = True
    ordered: bool = False
    """Whether they are those of one resource with `count`, in its order: an index into the list means something."""

    def __or__(self, other: Found) -> Found:
        ids = tuple(dict.fromkeys((*self.ids, *other.ids)))
        ordered = not (self.ids and other.ids) and (self.ordered or other.ordered)
        return Found(ids, self.exact and other.exact, self.bounded and other.bounded, ordered)


NOTHING_KNOWN = Found((), exact=False, bounded=False)


@dataclass(slots=True)
class Resolver:
    """Looks attributes up across resources and modules."""

    plan: Plan
    kinds: dict[str, str] = field(default_factory=dict)
    """Stand-in id to the kind of thing that it stands for: the type, or type and attribute."""
    _families: dict[tuple[bool, str, str, str], dict[int | str | None, Resource]] = field(default_factory=dict)
    """The instances of each resource by their key."""
    _alike: dict[tuple[int, int], bool] = field(default_factory=dict)
    """Whether two resources, by the identity of their instances here, have the same keys."""

    def __post_init__(self) -> None:
        for one in self.plan.resources.values():
            self._families.setdefault((one.managed, one.module, one.type, one.name), {})[one.index] = one

    def id_of(self, resource: Resource) -> Id:
        """Tell the id of a resource: AWS's where it has one, else a stand-in made of its address."""
        return self.attribute(resource, "id")

    def attribute(self, resource: Resource, name: str) -> Id:
        """Tell an attribute of a resource that holds one id."""
        return single(self._attribute(resource, name, 0))

    def one(self, block: Block, name: str, *kinds: str) -> Id:
        """Tell the one id in an attribute; empty when there is none."""
        value = block.values.get(name)
        if not block.is_unknown(name):
            return value if isinstance(value, str) else ""
        return single(self._wanted(block, name, kinds))

    def many(self, block: Block, name: str, *kinds: str) -> Ids:
        """Tell the ids in an attribute that holds a list."""
        if not block.is_unknown(name):
            return block.texts(name)
        found = self._wanted(block, name, kinds, several=True)
        value, mark = block.values.get(name), block.unknown.get(name) if isinstance(block.unknown, dict) else True
        if isinstance(value, list) and isinstance(mark, list):
            # What the list knows by itself stands beside the rest, whose number is known: more names are a choice.
            fits = len(found.ids) <= sum(map(partly, mark))
            found = replace(found, exact=found.exact and fits)
            found = Found(tuple(item for item in value if isinstance(item, str))) | found
        if found.exact and found.ids and not (block.shared and len(found.ids) > 1):
            return found.ids
        return Unknown(found.ids) if found.bounded and found.ids else UNKNOWN

    def _wanted(self, block: Block, name: str, kinds: tuple[str, ...], *, several: bool = False) -> Found:
        expression = block.expressions.get(name) if isinstance(block.expressions, dict) else None
        found = self._expression(expression, block.resource, block.resource.module, 0, several=several)
        fitting = tuple(one for one in found.ids if one not in self.kinds or self.kinds[one] in kinds)
        if len(fitting) < len(found.ids) and not block.shared:
            return NOTHING_KNOWN
        return Found(fitting, found.exact, found.bounded)

    def _attribute(self, resource: Resource, name: str, depth: int) -> Found:
        value = resource.values.get(name)
        if isinstance(value, str) and value:
            return self._kept(value, resource.type, name)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return Found(tuple(value))
        return self._to_come(resource, name, depth)

    def _to_come(self, resource: Resource, name: str, depth: int) -> Found:
        """Stand in for an attribute that has no value yet, or follow what it is made of."""
        alias = ALIASES.get((resource.type, name))
        if alias and depth < DEEPEST:
            return self._alias(resource, *alias, depth=depth)
        if name == "id":
            return self._kept(resource.address, resource.type, name) if resource.managed else NOTHING_KNOWN
        if (resource.type, name) in MADE:
            name = "main_route_table_id" if name == "default_route_table_id" else name
            return self._kept(f"{resource.address}.{name}", resource.type, name)
        expression = (resource.expressions or {}).get(name)
        if expression is None or depth >= DEEPEST:
            return NOTHING_KNOWN
        return self._expression(expression, resource, resource.module, depth + 1)

    def _kept(self, value: str, type_: str, name: str) -> Found:
        kind = type_ if name == "id" else f"{type_}.{name}"
        if name == "id" or (type_, name) in MADE:
            self.kinds.setdefault(value, kind)
        return Found((value,))

    def _alias(self, resource: Resource, attribute: str, made: str, *, depth: int) -> Found:
        found = self._attribute(resource, attribute, depth + 1)
        if not made or not found.exact or len(found.ids) != 1:
            return found
        for one in self.plan.resources.values():
            if one.type == "aws_vpc" and found.ids[0] in (one.values.get("id"), one.address):
                return self._attribute(one, made, depth + 1)
        return Found((resource.address,))

    def _expression(
        self, expression: Any, resource: Resource | None, module: str, depth: int, *, several: bool = False
    ) -> Found:
        if not isinstance(expression, dict) or depth > DEEPEST:
            return NOTHING_KNOWN
        if "constant_value" in expression:
            return _literal(expression["constant_value"])
        listed = expression.get("references")
        references = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
        keyed = any(one in KEYS for one in references)
        found, seen = Found(), False
        for reference in chains(references):
            if reference in KEYS or reference.startswith(HARMLESS):
                continue
            if not several and self._settled(reference, module):
                # A variable of the root is known: what is unknown comes from another name.
                continue
            seen = True
            found |= self._reference(reference, resource, module, depth + 1, keyed=keyed)
        return found if seen else NOTHING_KNOWN

    @staticmethod
    def _settled(reference: str, module: str) -> bool:
        return not module and reference.startswith("var.")

    def _reference(self, reference: str, resource: Resource | None, module: str, depth: int, *, keyed: bool) -> Found:
        path = list(steps(reference))
        match path:
            case ["module", str(call), *rest]:
                return self._output(call, rest, module, depth)
            case ["var", str(name), *rest] if module:
                return _at(self._variable(name, module, depth), rest)
            case ["data", str(type_), str(name), *rest]:
                return self._family(f"{module}", type_, name, rest, resource, depth, keyed=keyed, managed=False)
            case [str(type_), str(name), *rest] if "_" in type_:
                return self._family(module, type_, name, rest, resource, depth, keyed=keyed, managed=True)
        return NOTHING_KNOWN

    def _family(
        self,
        module: str,
        type_: str,
        name: str,
        rest: list[str | int],
        resource: Resource | None,
        depth: int,
        *,
        keyed: bool,
        managed: bool,
    ) -> Found:
        family = self._families.get((managed, module, type_, name), {})
        if rest and (isinstance(rest[0], int) or str(rest[0]).startswith('"')):
            index = _key(rest[0])
            chosen = [family[index]] if index in family else []
            return self._all(chosen, rest[1:], depth, exact=True)
        if keyed and len(family) > 1:
            own = self._families.get((True, resource.module, resource.type, resource.name)) if resource else None
            if resource is None or own is None or not self._same_keys(own, family):
                return self._all(list(family.values()), rest, depth, exact=False)
            return self._all([family[resource.index]], rest, depth, exact=True)
        return self._all(list(family.values()), rest, depth, exact=True)

    def _same_keys(self, own: dict[int | str | None, Resource], other: dict[int | str | None, Resource]) -> bool:
        key = (id(own), id(other))
        if key not in self._alike:
            self._alike[key] = own.keys() == other.keys()
        return self._alike[key]

    def _all(self, family: list[Resource], rest: list[str | int], depth: int, *, exact: bool) -> Found:
        name = str(rest[0]) if rest else "id"
        found = Found(exact=exact)
        for one in sorted(family, key=lambda one: (str(type(one.index)), one.index or 0)):
            found |= _at(self._attribute(one, name, depth), rest[1:])
        counted = exact and len(found.ids) == len(family) and all(isinstance(one.index, int) for one in family)
        return replace(found, ordered=counted)

    def _output(self, call: str, rest: list[str | int], module: str, depth: int) -> Found:
        inner = f"{module}.module.{call}".lstrip(".")
        if rest and (isinstance(rest[0], int) or str(rest[0]).startswith('"')):
            inner, rest = f"{inner}[{rest[0]}]", rest[1:]
        if not rest:
            return NOTHING_KNOWN
        outputs = self.plan.modules.get(config_path(inner), {}).get("outputs")
        output = outputs.get(rest[0]) if isinstance(outputs, dict) else None
        expression = output.get("expression") if isinstance(output, dict) else None
        return _at(self._expression(expression, None, inner, depth), rest[1:])

    def _variable(self, name: str, module: str, depth: int) -> Found:
        *_, call = steps(config_path(module))
        parent = parent_of(module)
        calls = self.plan.modules.get(config_path(parent), {}).get("module_calls")
        known = calls.get(call) if isinstance(calls, dict) else None
        expressions = known.get("expressions") if isinstance(known, dict) else None
        expression = expressions.get(name) if isinstance(expressions, dict) else None
        if expression is None:
            variables = self.plan.modules.get(config_path(module), {}).get("variables")
            variable = variables.get(name) if isinstance(variables, dict) else None
            return _literal(variable.get("default") if isinstance(variable, dict) else None)
        return self._expression(expression, None, parent, depth, several=True)


def parent_of(module: str) -> str:
    """Give the address of the module instance around one."""
    parts: list[str] = []
    for step in steps(module):
        if step == "module" or isinstance(step, int) or str(step).startswith('"'):
            parts.append(f"[{step}]" if step != "module" else ".module")
        else:
            parts.append(f".{step}")
    text = "".join(parts).lstrip(".")
    return text.rpartition("module.")[0].rstrip(".")


def chains(references: list[str]) -> list[str]:
    """
    Pick the full names out of a list in which each is followed by its own beginnings.

    Terraform writes `aws_subnet.a[0].id`, `aws_subnet.a[0]`, `aws_subnet.a` for one of them.
    """
    found: list[str] = []
    last = ""
    for reference in references:
        if not (last and len(reference) < len(last) and last.startswith((f"{reference}.", f"{reference}["))):
            found.append(reference)
        last = reference
    return list(dict.fromkeys(found))


def single(found: Found) -> Id:
    """Take the one id there must be."""
    if found.exact and len(found.ids) == 1:
        return found.ids[0]
    return Unknown(found.ids) if found.bounded and found.ids else UNKNOWN


def _key(step: str | int) -> str | int:
    """Read the key of an instance; one that is written in a way of its own is nobody's."""
    if isinstance(step, int):
        return step
    try:
        return str(json.loads(step))
    except ValueError:
        return step


def _literal(value: Any) -> Found:
    if isinstance(value, str):
        return Found((value,))
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return Found(tuple(value))
    return Found() if value is None else NOTHING_KNOWN


def _at(found: Found, rest: list[str | int]) -> Found:
    """Follow an index into a list."""
    if not rest:
        return found
    index = rest[0]
    if len(rest) == 1 and isinstance(index, int) and found.exact and found.ordered and index < len(found.ids):
        return Found((found.ids[index],))
    return Found(found.ids, exact=False, bounded=found.bounded)
