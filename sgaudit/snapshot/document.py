"""Where a document comes from: files, folders, standard input; and back into a file."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgaudit import files
from sgaudit.errors import SnapshotError
from sgaudit.snapshot.fields import FieldError, Step, printable, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

OPERATIONS = {
    "Reservations": "DescribeInstances",
    "NetworkInterfaces": "DescribeNetworkInterfaces",
    "SecurityGroups": "DescribeSecurityGroups",
    "SecurityGroupRules": "DescribeSecurityGroupRules",
    "NetworkAcls": "DescribeNetworkAcls",
    "Subnets": "DescribeSubnets",
    "Vpcs": "DescribeVpcs",
    "RouteTables": "DescribeRouteTables",
    "VpcPeeringConnections": "DescribeVpcPeeringConnections",
    "ManagedPrefixLists": "DescribeManagedPrefixLists",
    "PrefixLists": "DescribeManagedPrefixLists",
    "Entries": "GetManagedPrefixListEntries",
    "PrefixListEntries": "GetManagedPrefixListEntries",
}
"""The keys of EC2's answers that sgaudit reads, and the operation whose answer each is."""

LISTS = OPERATIONS.keys() - {"PrefixListEntries", "Entries"}
TEXTS = ("AccountId", "Region", "CollectedAt")
KNOWN = {*LISTS, *TEXTS, "PrefixListEntries", "Denied", "WholeVpcs"}
TRUNCATED = "Truncated"
STDIN = "standard input"
TOO_DEEP = "nested too deep"
TOO_LARGE = "too large for this machine's memory"
SMALLER = "collect less: pick the cluster's instances with --tag"
WHAT_IT_IS = "expected EC2 Describe answers such as Reservations"
HOW_TO_GET = "write one with `sgaudit snapshot -o FILE`, or with `aws ec2 describe-instances > FILE` and the like"
PREFIX_LIST_ID = re.compile(r"(?<![0-9a-z])pl-[0-9a-f]+(?![0-9a-z])")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a merged value: the place of its first item in the whole, and the piece's own place."""

    start: int
    file: str
    path: str


@dataclass(slots=True)
class Document:
    """A snapshot as one JSON object, which still knows what came from where."""

    source: str
    values: dict[str, Any] = field(default_factory=dict)
    parts: dict[tuple[str, ...], list[Part]] = field(default_factory=dict)

    def place(self, steps: Sequence[Step]) -> str:
        """Write where a value stands, as `file: path`; the outermost step comes first."""
        for depth in (2, 1):
            parts = self.parts.get(tuple(str(step) for step in steps[:depth]))
            if not parts:
                continue
            rest = list(steps[depth:])
            part = parts[0]
            if rest and isinstance(rest[0], int):
                index = rest[0]
                part = [one for one in parts if one.start <= index][-1]
                rest[0] = index - part.start
            return f"{printable(part.file)}: {part.path}{_path(rest, inner=True)}"
        path = _path(steps, inner=False)
        return f"{printable(self.source)}: {path}" if path else printable(self.source)

    def error(self, fault: FieldError) -> SnapshotError:
        """Turn a wrong field into the error for the user."""
        message = f"{self.place(list(reversed(fault.steps)))}: {fault.problem}"
        if fault.other:
            message = f"{message} {self.place(fault.other)}"
        return SnapshotError(message, hint=fault.hint or "correct the value, or collect the snapshot again")

    def add(self, answer: Mapping[str, Any], file: str) -> None:
        """Merge one answer or snapshot in."""
        if "Account" in answer and "Arn" in answer and KNOWN.isdisjoint(answer):
            # The answer of `aws sts get-caller-identity`.
            self._text("AccountId", answer["Account"], Part(0, file, "Account"))
            return
        for key, value in answer.items():
            if value is None:
                continue
            if key == "NextToken":
                self._truncated(answer, file)
            elif key == "Entries":
                self._entries(value, file)
            elif key in LISTS:
                self._join((key,), self.values, key, value, Part(0, file, key))
            elif key in ("PrefixListEntries", "Denied"):
                self._merge(key, value, file)
            elif key in TEXTS:
                self._text(key, value, Part(0, file, key))
            elif isinstance(value, list) and isinstance(self.values.get(key, value), list):
                self._join((key,), self.values, key, value, Part(0, file, printable(key)))
            else:
                self.values.setdefault(key, value)

    def _truncated(self, answer: Mapping[str, Any], file: str) -> None:
        if answer["NextToken"]:
            for operation in {OPERATIONS[key]: None for key in answer if key in OPERATIONS}:
                self._merge("Denied", {operation: TRUNCATED}, file)

    def _entries(self, value: Any, file: str) -> None:
        found = PREFIX_LIST_ID.search(Path(file).name)
        if found is None:
            raise SnapshotError(
                f"{printable(file)}: Entries: the answer doesn't say whose entries these are",
                hint="put the id of the prefix list into the file's name, such as pl-0123456789abcdef0.json",
            )
        lists = self.values.setdefault("PrefixListEntries", {})
        self._join(("PrefixListEntries", found[0]), lists, found[0], value, Part(0, file, "Entries"))

    def _join(self, steps: tuple[str, ...], into: dict[str, Any], key: str, value: Any, part: Part) -> None:
        if not isinstance(value, list):
            raise SnapshotError(
                f"{printable(part.file)}: {part.path}: expected a list, got {quoted(value)}",
                hint=HOW_TO_GET,
            )
        known = into.get(key)
        if known is None:
            into[key] = value
            self.parts[steps] = [part]
            return
        parts = self.parts[steps]
        if len(parts) == 1:
            # The first answer stays whole: it may be the caller's.
            known = into[key] = list(known)
        parts.append(Part(len(known), part.file, part.path))
        known.extend(value)

    def _merge(self, key: str, value: Any, file: str) -> None:
        if not isinstance(value, dict):
            raise SnapshotError(f"{printable(file)}: {key}: expected an object, got {quoted(value)}", hint=HOW_TO_GET)
        into = self.values.setdefault(key, {})
        for name, item in value.items():
            part = Part(0, file, f"{key}.{printable(name)}")
            if key == "PrefixListEntries" and not isinstance(item, list):
                raise SnapshotError(
                    f"{printable(file)}: {part.path}: expected a list, got {quoted(item)}", hint=HOW_TO_GET
                )
            known = into.setdefault(name, item)
            if known is item:
                self.parts.setdefault((key, name), [part])
            elif key == "Denied":
                continue
            elif known != item:
                raise self._conflict((key, name), item, part)

    def _text(self, key: str, value: Any, part: Part) -> None:
        if not isinstance(value, str):
            raise SnapshotError(
                f"{printable(part.file)}: {part.path}: expected text, got {quoted(value)}", hint=HOW_TO_GET
            )
        known = self.values.setdefault(key, value)
        if known is value:
            self.parts[key,] = [part]
        elif key == "CollectedAt":
            self.values[key] = min(known, value)
        elif known != value:
            raise self._conflict((key,), value, part)

    def _conflict(self, steps: tuple[str, ...], value: Any, part: Part) -> SnapshotError:
        return SnapshotError(
            f"{printable(part.file)}: {part.path}: {quoted(value)} differs from {self.place(steps)}",
            hint="keep the answers of one time, one account and one Region",
        )


def _path(steps: Sequence[Step], *, inner: bool) -> str:
    out: list[str] = []
    for step in steps:
        if isinstance(step, int):
            out.append(f"[{step}]")
        else:
            out.append(f".{printable(step)}" if out or inner else printable(step))
    return "".join(out)


def read(path: str) -> Document:
    """
    Read a file, a folder of files, or standard input (`-`) into one document.

    Raises:
        SnapshotError: something of it can't be read.
    """
    document = Document(STDIN if path == "-" else path)
    for file in _files(path):
        name = STDIN if file == "-" else file
        answer = _decoded(_content(file, name), name)
        if not isinstance(answer, dict):
            raise not_an_object(answer, name)
        document.add(answer, name)
    check(document)
    return document


def not_an_object(value: object, name: str) -> SnapshotError:
    """Make the error for JSON that is no object at its top."""
    return SnapshotError(
        f"{printable(name)}: expected an object, got {quoted(value)}", hint=f"{WHAT_IT_IS}: {HOW_TO_GET}"
    )


def check(document: Document) -> None:
    """
    Refuse a document that has nothing of EC2 in it.

    Raises:
        SnapshotError: no key of it is known.
    """
    if KNOWN.isdisjoint(document.values):
        raise SnapshotError(f"{printable(document.source)}: no instances in it: {WHAT_IT_IS}", hint=HOW_TO_GET)


def _files(path: str) -> list[str]:
    if path == "-":
        return [path]
    try:
        is_folder = Path(path).is_dir()
    except OSError as error:
        raise _unreadable(path, error) from None
    if not is_folder:
        return [path]

    def refuse(error: OSError) -> None:
        raise _unreadable(str(error.filename or path), error)

    files = [
        Path(parent, name)
        for parent, _, names in os.walk(path, onerror=refuse)
        for name in names
        if name.endswith(".json")
    ]
    if not files:
        raise SnapshotError(f"{printable(path)}: the folder has no *.json in it", hint=HOW_TO_GET)
    return [str(file) for file in sorted(files)]


def _reason(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def _unreadable(name: str, error: Exception) -> SnapshotError:
    return SnapshotError(
        f"{printable(name)}: can't be read: {_reason(error)}", hint="check the name and who may read it"
    )


def _content(file: str, name: str) -> bytes:
    try:
        if file != "-":
            return Path(file).read_bytes()
        if sys.stdin is None:
            raise SnapshotError(f"{name}: closed", hint="pipe a snapshot into it, or name a file")
        return sys.stdin.buffer.read()
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from None
    except MemoryError:
        raise SnapshotError(f"{printable(name)}: {TOO_LARGE}", hint=SMALLER) from None


def _decoded(data: bytes, name: str) -> Any:
    if not data or data.isspace():
        raise SnapshotError(f"{printable(name)}: empty", hint=HOW_TO_GET)
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        cut = error.msg.startswith("Unterminated") or error.pos >= len(error.doc.rstrip())
        reason = f"line {error.lineno}, column {error.colno}: {error.msg}"
        if cut:
            reason = f"cut short: {reason}"
    except UnicodeDecodeError:
        reason = "no text in UTF-8, UTF-16 or UTF-32"
    except RecursionError:
        reason = TOO_DEEP
    except MemoryError:
        reason = TOO_LARGE
    except ValueError:
        # Python refuses whole numbers of more than 4,300 digits.
        reason = "a number in it is too long"
    raise SnapshotError(f"{printable(name)}: not a JSON snapshot: {reason}", hint=HOW_TO_GET)


def save(document: Mapping[str, Any], path: str) -> None:
    """
    Write a document as JSON, one item a line, keys in order; `-` is standard output.

    A file appears whole or not at all: it is written beside its place and then moved there.

    Raises:
        SnapshotError: it can't be written.
    """
    try:
        if path == "-":
            sys.stdout.write("".join(_pieces(document)))
            sys.stdout.flush()
        else:
            files.write(path, _pieces(document))
    except BrokenPipeError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        reason = TOO_DEEP if isinstance(error, RecursionError) else _reason(error)
        name = "standard output" if path == "-" else printable(path)
        raise SnapshotError(f"{name}: can't be written: {reason}", hint="name another file with -o") from None


def _pieces(document: Mapping[str, Any]) -> Iterator[str]:
    lead = "{\n"
    for key in sorted(document):
        yield f"{lead}{json.dumps(key)}: "
        lead = ",\n"
        value = document[key]
        if not isinstance(value, (list, tuple)) or not value:
            yield _compact(value)
            continue
        separator = "[\n"
        for item in value:
            yield separator + _compact(item)
            separator = ",\n"
        yield "\n]"
    yield "\n}\n" if document else "{}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_plain)


def _plain(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not JSON")
