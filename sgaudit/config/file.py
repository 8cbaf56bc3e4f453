"""The file `sgaudit.yaml`: which keys it may have, and how they are read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path as FilePath
from typing import Any

from sgaudit.config import values
from sgaudit.config.model import EVERY_RULE, Config, Parameter, Suppression
from sgaudit.config.reader import Part, Reader
from sgaudit.errors import PolicyError
from sgaudit.model import Family
from sgaudit.policy.values import shown
from sgaudit.policy.yaml_text import Document, Mistake, Path, Place, YamlError, read
from sgaudit.selection import Interfaces
from sgaudit.severity import Severity

NAME = "sgaudit.yaml"
SCHEMA_VERSION = 1
LARGEST = 1_000_000
"""Bytes."""
HINT = "docs/config.md explains all that may stand in a configuration file"

SELECTION: Mapping[str, str] = {
    "tags": "filters as after --tag, or a list of them",
    "instance_ids": "ids of instances",
    "vpc_ids": "ids of VPCs",
    "security_groups": "ids of security groups; a member carries one of them",
    "all": "true: every instance is a member",
    "include_stopped": "true: stopped instances count as well",
    "interfaces": "primary or all",
    "family": "ipv4 or ipv6",
}
SUPPRESSION: Mapping[str, str] = {
    "rule": "the id of a rule, or * for every rule",
    "scope": "ids of resources (* and ? match), fingerprints, or a list of them",
    "reason": "why the finding is accepted",
    "owner": "who accepted it",
    "expires": "the last day on which it holds, such as 2027-01-31",
}
TOP: Mapping[str, str] = {
    "schema_version": "1",
    "selection": "which instances are the members",
    "policies": "shipped policies by name, or files by a path relative to this one",
    "parameters": "values for the policies' parameters, by name",
    "head": "id or name of the head (rank 0)",
    "client_ports": "the ports from which members dial",
    "fail_on": "error, warning or note",
    "select": "ids of the rules to ask; left out: all",
    "ignore": "ids of rules not to ask",
    "suppressions": "findings that are accepted, each with its reason",
}
"""The keys at the top, and what each one is."""
PARTS: Mapping[str, Mapping[str, str]] = {"": TOP, "selection": SELECTION, "suppressions": SUPPRESSION}

OPTIONS: Mapping[str, str] = {
    "tags": "tags",
    "instance_ids": "instance_ids",
    "vpc_ids": "vpc_ids",
    "security_groups": "security_groups",
    "all": "everything",
    "include_stopped": "include_stopped",
    "interfaces": "interfaces",
    "family": "family",
    "policies": "policies",
    "head": "head",
    "client_ports": "client_ports",
    "fail_on": "fail_on",
    "select": "select",
    "ignore": "ignore",
}
"""Keys that stand for an option of the command line, and the name under which commands get that."""


def load(path: str, rules: Collection[str]) -> Config:
    """
    Read a configuration file.

    Args:
        path: the file.
        rules: the ids of all rules.

    Raises:
        PolicyError: it can't be read, or is wrong; the message has a line for each mistake.
    """
    return parse(_text(path), path, rules)


def parse(text: str, file: str, rules: Collection[str]) -> Config:
    """
    Read the text of a configuration file.

    Raises:
        PolicyError: a line for each mistake, beginning with file, line and column.
    """
    name = file if file.isprintable() else ascii(file)
    try:
        document = read(text)
    except YamlError as error:
        raise _refuse(name, [error.mistake]) from None
    _check_version(document, name)
    reader = Reader(document)
    top = reader.mapping((), document.value, TOP, ("schema_version",))
    options = _options(top, FilePath(file).parent, rules)
    parameters = _parameters(top, name)
    suppressions = tuple(_suppressions(top, name, rules))
    if reader.mistakes:
        raise _refuse(name, reader.mistakes)
    return Config(name, options, parameters, suppressions)


def _text(path: str) -> str:
    place = FilePath(path)
    name = path if path.isprintable() else ascii(path)
    try:
        if place.is_file() and place.stat().st_size > LARGEST:
            raise PolicyError(f"{name}: too large for a configuration file", hint="is it the right file?")
        return place.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise PolicyError(f"{name}: no such file", hint=f"name a configuration file, or leave it at {NAME}") from None
    except UnicodeDecodeError as error:
        raise PolicyError(
            f"{name}: not UTF-8 text (byte {error.start})", hint="save it as UTF-8; is it the right file?"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PolicyError(f"{name}: can't be read: {reason.lower()}", hint="name a configuration file") from None


def _refuse(file: str, mistakes: list[Mistake]) -> PolicyError:
    # Brings pydantic along, which a file without mistakes need not wait for.
    from sgaudit.policy.mistakes import refuse

    return refuse(file, mistakes, hint=HINT)


def _check_version(document: Document, file: str) -> None:
    value = document.value
    if value is None:
        raise _refuse(file, [Mistake(Place(), "", "the file is empty")])
    if not isinstance(value, dict):
        text = f"{shown(value)} where a mapping with {', '.join(TOP)} is expected"
        raise _refuse(file, [Mistake(document.place(()), "", text)])
    version = value.get("schema_version", SCHEMA_VERSION)
    if version != SCHEMA_VERSION or isinstance(version, bool):
        text = f"version {shown(version)} is unknown; this sgaudit reads {SCHEMA_VERSION}"
        raise _refuse(file, [Mistake(document.place(("schema_version",)), "schema_version", text)])


def _options(top: Part, folder: FilePath, rules: Collection[str]) -> dict[str, Any]:
    selection = top.part("selection", SELECTION)
    rule = values.one_of(rules, what="the id of a rule")
    found = {
        "tags": selection.many("tags", values.tag),
        "instance_ids": selection.many("instance_ids", values.text),
        "vpc_ids": selection.many("vpc_ids", values.text),
        "security_groups": selection.many("security_groups", values.text),
        "all": selection.one("all", values.flag),
        "include_stopped": selection.one("include_stopped", values.flag),
        "interfaces": selection.one("interfaces", values.one_of(map(str, Interfaces))),
        "family": selection.one("family", values.one_of(map(str, Family))),
        "policies": tuple(_beside(name, folder) for name in top.many("policies", values.text)),
        "head": top.one("head", values.text),
        "client_ports": top.one("client_ports", values.ports),
        "fail_on": top.one("fail_on", values.one_of(map(str, Severity))),
        "select": top.many("select", rule),
        "ignore": top.many("ignore", rule),
    }
    if found["all"] and any(found[key] for key in ("tags", "instance_ids", "vpc_ids", "security_groups")):
        top.reader.report(("selection", "all"), "goes with no other way to pick instances", key=True)
    return {OPTIONS[key]: value for key, value in found.items() if value not in (None, ())}


def _beside(name: str, folder: FilePath) -> str:
    """Find a policy's file from where the configuration is; a shipped policy keeps its name."""
    is_path = name.endswith((".yaml", ".yml")) or "/" in name or "\\" in name
    if not is_path or folder == FilePath():
        return name
    return str(folder / name)


def _parameters(top: Part, file: str) -> dict[str, Parameter]:
    found: dict[str, Parameter] = {}
    for name, item, path in top.entries("parameters"):
        value = top.reader.convert(path, item, values.plain)
        if value is not None:
            place = top.reader.document.place(path)
            found[name] = Parameter(value, f"{file}:{place.line}:{place.column}")
    return found


def _suppressions(top: Part, file: str, rules: Collection[str]) -> list[Suppression]:
    rule = values.one_of((EVERY_RULE, *rules), what="the id of a rule, or *")
    found: list[Suppression] = []
    for part in top.parts("suppressions", SUPPRESSION, ("rule", "scope", "reason")):
        suppression = Suppression(
            rule=part.one("rule", rule) or "",
            scope=part.many("scope", values.text),
            reason=part.one("reason", values.text) or "",
            owner=part.one("owner", values.text) or "",
            expires=part.one("expires", values.day),
            at=f"{file}:{top.reader.document.place(part.path).line}",
        )
        if suppression.rule == EVERY_RULE and any(not scope.strip("*?") for scope in suppression.scope):
            _too_wide(part.reader, (*part.path, "scope"))
        found.append(suppression)
    return found


def _too_wide(reader: Reader, path: Path) -> None:
    reader.report(path, "suppresses every finding there is; name a rule or a resource")
