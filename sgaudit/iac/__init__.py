"""
Terraform plans and states, and CloudFormation templates, read as snapshots before anything is made.

Values that are known are used, what follows from AWS's defaults is added, and what only the finished stack
will tell is unknown: it never passes and never fails.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sgaudit import snapshot as snapshots
from sgaudit.errors import SnapshotError
from sgaudit.heap import collector_at_rest
from sgaudit.iac import terraform
from sgaudit.iac.values import ContentError, Reading, json_of, text_of
from sgaudit.snapshot.fields import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sgaudit.model import Snapshot

__all__ = ["read_cloudformation", "read_terraform", "snapshot_of"]

PLACE = re.compile(r"(\w+)\[(\d+)\]")


def read_terraform(path: str) -> Reading:
    """
    Read the output of `terraform show -json`.

    Raises:
        SnapshotError: it can't be read, is none, or something in it is wrong.
    """
    return _read(path, lambda text: terraform.reading(json_of(text), printable(path)))


def read_cloudformation(path: str, parameters: Mapping[str, str]) -> Reading:
    """
    Read a CloudFormation template in YAML or JSON.

    Raises:
        SnapshotError: it can't be read, is none, or something in it is wrong.
    """
    from sgaudit.iac.cloudformation import reading

    return _read(path, lambda text: reading(text, printable(path), parameters))


def _read(path: str, reading: Callable[[str], Reading]) -> Reading:
    text = text_of(path)
    try:
        with collector_at_rest():
            found = reading(text)
    except ContentError as error:
        place = f"{printable(error.place)}: " if error.place else ""
        raise SnapshotError(
            f"{printable(path)}: {place}{error.problem}", hint=error.hint or "correct the file"
        ) from None
    except RecursionError:
        raise SnapshotError(f"{printable(path)}: nested too deep", hint="correct the file") from None
    return replace(found, notes=tuple(printable(note) for note in found.notes))


def snapshot_of(reading: Reading, path: str) -> Snapshot:
    """
    Parse what was read.

    Raises:
        SnapshotError: a value in the file is none that AWS would take; the message names where it stands.
    """
    try:
        return snapshots.parse(reading.document, source=path)
    except SnapshotError as error:
        raise _placed(error, reading, path) from None


def _placed(error: SnapshotError, reading: Reading, path: str) -> SnapshotError:
    start = f"{printable(path)}: "
    rest = error.message.removeprefix(start)
    match = PLACE.match(rest)
    place = reading.places.get((match[1], int(match[2]))) if match else None
    if match is None or place is None:
        return error
    found: Any = rest[match.end() :].lstrip(".")
    return SnapshotError(f"{start}{printable(place)}: {found}", hint="correct the value")
