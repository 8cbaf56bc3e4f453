"""
The file format of a policy: pydantic classes, and the JSON Schema that they give.

`python -m sgaudit.policy.schema` prints the schema. Imported only when a policy is loaded.
"""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator
from pydantic.json_schema import WithJsonSchema

from sgaudit.errors import UsageError
from sgaudit.policy.model import ConstraintKind, ParameterKind, PeerSpec, PortSpec, Protocol, Topology
from sgaudit.policy.values import NAME, peer_spec, port_spec, shown
from sgaudit.selection import TagFilter
from sgaudit.severity import Severity

SCHEMA_VERSION = 1
PARAMETER_TEXT = {"type": "string", "pattern": rf"^\$\{{{NAME}\}}$"}
PORT_ITEM = {
    "anyOf": [
        {"type": "integer", "minimum": 0, "maximum": 65535},
        {"type": "string", "pattern": r"^(0|[1-9][0-9]*)(-(0|[1-9][0-9]*))?(, *(0|[1-9][0-9]*)(-(0|[1-9][0-9]*))?)*$"},
        {"const": "all"},
        PARAMETER_TEXT,
    ]
}
EXPOSED_ITEM = {"anyOf": [{"const": "policy"}, PORT_ITEM]}
TEXT_ITEM = {"type": "string", "minLength": 1}


def _one_or_many(item: dict[str, Any]) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]})


def _listed(value: object) -> object:
    return value if isinstance(value, list) or value is None else [value]


def _exposed(value: object) -> object:
    if value == "policy":
        return []
    if value == []:
        raise ValueError("is empty; leave the key out or give it a value")
    return _listed(value)


def _cidr(value: object) -> PeerSpec:
    return peer_spec(value, groups=False)


def _tag(value: object) -> TagFilter:
    try:
        return TagFilter.parse(value if isinstance(value, str) else "")
    except UsageError:
        raise ValueError(f"{shown(value)} is not KEY=VALUE, KEY=VALUE,VALUE or KEY") from None


def _default(value: object) -> str:
    if isinstance(value, list) and value and all(isinstance(item, int | str) for item in value):
        return ",".join(map(str, value))
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"{shown(value)} is not a value; write a port, a range or an address, or a list of them")  # noqa: TRY004 - pydantic turns only ValueError into a report
    return str(value)


Name = Annotated[str, Field(pattern=f"^{NAME}$")]
Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[list[Text], BeforeValidator(_listed), Field(min_length=1), _one_or_many(TEXT_ITEM)]
Names = Annotated[list[Name], BeforeValidator(_listed), Field(min_length=1), _one_or_many(TEXT_ITEM)]
PortItem = Annotated[PortSpec, PlainValidator(port_spec)]
PeerItem = Annotated[PeerSpec, PlainValidator(peer_spec)]
CidrItem = Annotated[PeerSpec, PlainValidator(_cidr)]
TagItem = Annotated[TagFilter, PlainValidator(_tag)]
PortItems = Annotated[list[PortItem], BeforeValidator(_listed), Field(min_length=1), _one_or_many(PORT_ITEM)]
ExposedPorts = Annotated[list[PortItem], BeforeValidator(_exposed), _one_or_many(EXPOSED_ITEM)]
"""Empty: those of the policy."""
PeerItems = Annotated[list[PeerItem], BeforeValidator(_listed), Field(min_length=1), _one_or_many(TEXT_ITEM)]
CidrItems = Annotated[list[CidrItem], BeforeValidator(_listed), Field(min_length=1), _one_or_many(TEXT_ITEM)]
TagItems = Annotated[list[TagItem], BeforeValidator(_listed), Field(min_length=1), _one_or_many(TEXT_ITEM)]
DefaultText = Annotated[
    str, PlainValidator(_default), _one_or_many({"anyOf": [{"type": "integer"}, {"type": "string"}]})
]
SeverityName = Literal["error", "warning", "note"]
ProtocolName = Literal["tcp", "udp", "icmp", "icmpv6", "all", "efa"]
TopologyName = Literal["mesh", "star", "duplex"]
ParameterKindName = Literal["port", "range", "cidr", "peer"]
ConstraintKindName = Literal[
    "same_vpc",
    "same_availability_zone",
    "same_address_family",
    "same_mtu_class",
    "separate_instance_types",
    "every_group_admits_efa",
]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class RoleFile(_Part):
    """Who plays a part. All kinds that are given must hold; of ids any, of tags all."""

    tag: TagItems | None = Field(default=None, description="KEY=VALUE, KEY=VALUE,VALUE or KEY, as after --tag")
    instance_id: Texts | None = Field(default=None, description="ids of instances")
    security_group: Texts | None = Field(
        default=None, description="ids of security groups; an interface carries one of them"
    )
    subnet: Texts | None = Field(default=None, description="ids of subnets")
    default: bool = Field(default=False, description="true: every member that no other role of the policy picks")
    description: Text = Field(default="", description="what the role does, in words")


class ParameterFile(_Part):
    """A value that users may set with --set NAME=VALUE, used as ${NAME}."""

    kind: ParameterKindName = Field(description="port; range (ports and ranges); cidr; peer (CIDR, sg-... or pl-...)")
    default: DefaultText | None = Field(
        default=None, description="without one, what uses the parameter is skipped until it is set"
    )
    description: Text = Field(default="", description="what the value is, and where to find it")


class PeerFile(_Part):
    """Somebody outside the cluster."""

    at: PeerItems = Field(description="CIDR block, address, sg-..., pl-..., ${parameter}, or a list of them")
    description: Text = Field(default="", description="who it is, in words")


class NeedFile(_Part):
    """Who must be able to dial whom, on what."""

    id: Name = Field(description="a name of its own; the same id in a policy that extends this one replaces the need")
    from_: Name = Field(alias="from", description="who dials: member, head, a role or a peer")
    to: Name = Field(description="who is dialled: member, head, a role or a peer")
    protocol: ProtocolName = Field(
        default="tcp", description="all: every IP protocol; efa: Elastic Fabric Adapter traffic"
    )
    ports: PortItems | None = Field(
        default=None, description="port, range, all, ${parameter}, or a list; for tcp and udp"
    )
    topology: TopologyName | None = Field(
        default=None,
        description="mesh: every ordered pair among both ends; star: from dials to; duplex: both dial. "
        "Left out: mesh when from and to are the same, else star",
    )
    severity: SeverityName = Field(default="error", description="how bad it is when the need is not met")
    why: Text = Field(description="what the traffic is, in words")
    source: Texts = Field(description="where that is written: a project's file, or the name of a page")
    pin: Text = Field(default="", description="how to make the framework use fewer ports")
    ip_ordered: bool = Field(default=False, description="true: one connection a pair, dialled by the higher address")


class ConstraintFile(_Part):
    """Something beside ports that must hold."""

    kind: ConstraintKindName = Field(description="what must hold")
    roles: Names | None = Field(default=None, description="whom it binds; left out: every member")
    severity: SeverityName = Field(default="error", description="how bad it is when it does not hold")
    why: Text = Field(description="what goes wrong otherwise, in words")
    source: Texts = Field(description="where that is written")
    instance_types: Texts | None = Field(
        default=None, description="for separate_instance_types: patterns such as p4d.*"
    )


class ExceptFile(_Part):
    """What an exposure does not mean."""

    ports: PortItems | None = Field(default=None, description="ports that may be open")
    cidrs: CidrItems | None = Field(default=None, description="addresses from which everything may be open")


class ExposureFile(_Part):
    """What must not be open to somebody outside the cluster."""

    id: Name = Field(description="a name of its own; the same id in a policy that extends this one replaces it")
    ports: ExposedPorts = Field(
        default_factory=list,
        description="policy (the default): the ports of all needs of the policy; else as in a need",
    )
    protocol: Literal["tcp", "udp"] | None = Field(
        default=None, description="for ports that are written out; left out: tcp"
    )
    from_: CidrItems | None = Field(
        default=None, alias="from", description="CIDR blocks or ${parameter}; left out: 0.0.0.0/0 and ::/0"
    )
    except_: ExceptFile | None = Field(default=None, alias="except", description="ports and addresses that are allowed")
    severity: SeverityName = Field(default="error", description="how bad it is when it is open")
    why: Text = Field(description="what could happen, in words")
    source: Texts = Field(description="where that is written")


class PolicyFile(_Part):
    """A policy of sgaudit: what a cluster needs from its network, and what must not be open."""

    schema_version: Literal[1] = Field(description="1")
    name: Name = Field(description="lower-case letters, digits, - and _")
    summary: Text = Field(description="one sentence")
    frameworks: Texts | None = Field(default=None, description="what it is for, in words")
    notes: Texts | None = Field(default=None, description="what it does not know or cannot promise")
    extends: Texts | None = Field(
        default=None, description="shipped policies by name, or files by a path relative to this one"
    )
    roles: dict[Name, RoleFile] = Field(default_factory=dict, description="who plays which part")
    parameters: dict[Name, ParameterFile] = Field(default_factory=dict, description="values that users may set")
    peers: dict[Name, PeerFile] = Field(default_factory=dict, description="who matters outside the cluster")
    needs: list[NeedFile] = Field(default_factory=list, description="what must be open")
    constraints: list[ConstraintFile] = Field(default_factory=list, description="what must hold beside ports")
    exposure: list[ExposureFile] = Field(default_factory=list, description="what must not be open")


PARTS: dict[str, type[_Part]] = {
    "": PolicyFile,
    "roles": RoleFile,
    "parameters": ParameterFile,
    "peers": PeerFile,
    "needs": NeedFile,
    "constraints": ConstraintFile,
    "exposure": ExposureFile,
    "except": ExceptFile,
}
"""The class of what stands under each key."""

CLOSED_SETS = (
    (Severity, SeverityName),
    (Protocol, ProtocolName),
    (Topology, TopologyName),
    (ParameterKind, ParameterKindName),
    (ConstraintKind, ConstraintKindName),
)
"""An enum of the model and the words for it in a file: a test compares them."""


def keys(part: type[_Part]) -> tuple[str, ...]:
    """Tell the keys that may stand in a part, as they are written in a file."""
    return tuple(info.alias or name for name, info in part.model_fields.items())


def json_schema() -> dict[str, Any]:
    """Give the JSON Schema of a policy file."""
    schema = _without_nothing(PolicyFile.model_json_schema(by_alias=True))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "sgaudit policy", **schema}


def _without_nothing(schema: Any) -> Any:
    """Leave out `null`, which no key takes, and the titles and defaults that say nothing."""
    if isinstance(schema, list):
        return [_without_nothing(item) for item in schema if item != {"type": "null"}]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: _without_nothing(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str)) and not (key == "default" and value in (None, ""))
    }
    if len(kept.get("anyOf", "--")) == 1:
        kept |= kept.pop("anyOf")[0]
    return kept


def schema_text() -> str:
    """Give it as the text of `schema.json`."""
    return json.dumps(json_schema(), indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
