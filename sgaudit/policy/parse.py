"""The text of a policy file to a `Policy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from sgaudit.errors import PolicyError
from sgaudit.model import Cidr
from sgaudit.policy.check import check
from sgaudit.policy.mistakes import HINT, refuse, translate
from sgaudit.policy.model import (
    EVERYBODY,
    Constraint,
    ConstraintKind,
    Exposure,
    ExternalPeer,
    Need,
    Parameter,
    ParameterKind,
    PeerSpec,
    Policy,
    Protocol,
    Role,
    Topology,
)
from sgaudit.policy.schema import (
    SCHEMA_VERSION,
    ConstraintFile,
    ExceptFile,
    ExposureFile,
    NeedFile,
    PolicyFile,
    RoleFile,
)
from sgaudit.policy.values import join_peers, join_ports, shown
from sgaudit.policy.yaml_text import Document, Mistake, Place, YamlError, read
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from sgaudit.policy.source import Source

T = TypeVar("T")
ANYWHERE = PeerSpec((Cidr.parse("0.0.0.0/0"), Cidr.parse("::/0")))


def parse(source: Source) -> Policy:
    """
    Read a policy and all that it extends.

    Raises:
        PolicyError: a line for each mistake, beginning with file, line and column.
    """
    try:
        document = read(source.text)
    except YamlError as error:
        raise refuse(source.file, [error.mistake]) from None
    _check_shape(document, source.file)
    parents, lost, hints = _parents(document, source)
    # NOTE: with a parent lost, the names that it declares would all be reported as unknown.
    found = [*document.mistakes, *lost, *(() if lost else check(document, parents))]
    hint = hints[0] if hints else HINT
    try:
        content = PolicyFile.model_validate(document.value)
    except ValidationError as error:
        raise refuse(source.file, [*found, *translate(error, document)], hint=hint) from None
    if found:
        raise refuse(source.file, found, hint=hint)
    return _policy(content, source.file, parents)


def _check_shape(document: Document, file: str) -> None:
    value = document.value
    if value is None:
        raise refuse(file, [Mistake(Place(), "", "the file is empty")])
    if not isinstance(value, dict):
        text = f"{shown(value)} where a policy is expected: a mapping with schema_version, name, summary and needs"
        raise refuse(file, [Mistake(document.place(()), "", text)])
    version = value.get("schema_version", SCHEMA_VERSION)
    if isinstance(version, int) and not isinstance(version, bool) and version != SCHEMA_VERSION:
        text = f"version {version} is unknown; this sgaudit reads {SCHEMA_VERSION}"
        raise refuse(file, [Mistake(document.place(("schema_version",)), "schema_version", text)])


def _parents(document: Document, source: Source) -> tuple[tuple[Policy, ...], list[Mistake], list[str]]:
    """Read what a document extends; give also what can't be found, and the hints that help."""
    value = document.value.get("extends")
    parents: list[Policy] = []
    lost: list[Mistake] = []
    hints: list[str] = []
    for number, name in enumerate(value if isinstance(value, list) else [value]):
        if not isinstance(name, str) or not name:
            continue
        try:
            parent = source.extended(name)
        except PolicyError as error:
            place = document.place(("extends", number) if isinstance(value, list) else ("extends",))
            lost.append(Mistake(place, "extends", error.message))
            hints.append(error.hint)
            continue
        parents.append(parse(parent))
    return tuple(parents), lost, hints


def _policy(content: PolicyFile, file: str, parents: tuple[Policy, ...]) -> Policy:
    return Policy(
        name=content.name,
        summary=content.summary,
        path=file,
        frameworks=tuple(content.frameworks or ()),
        notes=tuple(content.notes or ()),
        extends=tuple(content.extends or ()),
        roles=_merge(
            (role for parent in parents for role in parent.roles),
            (_role(name, role) for name, role in content.roles.items()),
            lambda role: role.name,
        ),
        parameters=_merge(
            (item for parent in parents for item in parent.parameters),
            (
                Parameter(name, ParameterKind(item.kind), item.default, item.description)
                for name, item in content.parameters.items()
            ),
            lambda item: item.name,
        ),
        peers=_merge(
            (peer for parent in parents for peer in parent.peers),
            (ExternalPeer(name, join_peers(peer.at), peer.description) for name, peer in content.peers.items()),
            lambda peer: peer.name,
        ),
        needs=_merge(
            (need for parent in parents for need in parent.needs), map(_need, content.needs), lambda need: need.id
        ),
        constraints=_merge(
            (item for parent in parents for item in parent.constraints),
            map(_constraint, content.constraints),
            lambda item: (item.kind, item.roles, item.instance_types),
        ),
        exposures=_merge(
            (item for parent in parents for item in parent.exposures),
            map(_exposure, content.exposure),
            lambda item: item.id,
        ),
    )


def _merge(inherited: Iterable[T], own: Iterable[T], key: Callable[[T], Hashable]) -> tuple[T, ...]:
    """Keep the inherited ones in their places, each replaced by the file's own of the same key."""
    found = {key(item): item for item in inherited}
    found.update((key(item), item) for item in own)
    return tuple(found.values())


def _role(name: str, role: RoleFile) -> Role:
    return Role(
        name,
        tags=tuple(role.tag or ()),
        instance_ids=tuple(role.instance_id or ()),
        security_groups=tuple(role.security_group or ()),
        subnet_ids=tuple(role.subnet or ()),
        default=role.default,
        description=role.description,
    )


def _need(need: NeedFile) -> Need:
    topology = need.topology or ("mesh" if need.from_ == need.to else "star")
    return Need(
        id=need.id,
        source=need.from_,
        target=need.to,
        protocol=Protocol(need.protocol),
        ports=join_ports(need.ports or ()),
        topology=Topology(topology),
        severity=Severity(need.severity),
        why=need.why,
        references=tuple(need.source),
        pin=need.pin,
        ip_ordered=need.ip_ordered,
    )


def _constraint(constraint: ConstraintFile) -> Constraint:
    return Constraint(
        kind=ConstraintKind(constraint.kind),
        roles=tuple(constraint.roles or (EVERYBODY,)),
        severity=Severity(constraint.severity),
        why=constraint.why,
        references=tuple(constraint.source),
        instance_types=tuple(constraint.instance_types or ()),
    )


def _exposure(exposure: ExposureFile) -> Exposure:
    but = exposure.except_ or ExceptFile()
    return Exposure(
        id=exposure.id,
        protocol=Protocol(exposure.protocol or "tcp"),
        ports=join_ports(exposure.ports) if exposure.ports else None,
        sources=join_peers(exposure.from_) if exposure.from_ is not None else ANYWHERE,
        except_ports=join_ports(but.ports or ()),
        except_sources=join_peers(but.cidrs or ()),
        severity=Severity(exposure.severity),
        why=exposure.why,
        references=tuple(exposure.source),
    )
