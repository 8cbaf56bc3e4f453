"""The baseline: findings that were known at some time, by fingerprint."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sgaudit.errors import PolicyError

SCHEMA_VERSION = 1
KIND = "baseline"
KEYS = ("fingerprint", "rule", "resource", "title")
FINGERPRINT = re.compile(r"[0-9a-f]{32}", re.ASCII)
HINT = "--write-baseline writes a right one"


@dataclass(frozen=True, slots=True)
class Known:
    """A finding as a baseline remembers it."""

    fingerprint: str
    rule: str
    resource: str
    """The id of the AWS resource."""
    title: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """A file of known findings."""

    file: str
    findings: tuple[Known, ...]

    @property
    def fingerprints(self) -> frozenset[str]:
        """Those of its findings."""
        return frozenset(item.fingerprint for item in self.findings)


def load(path: str) -> Baseline:
    """
    Read a baseline.

    Raises:
        PolicyError: it can't be read, or is none.
    """
    name = path if path.isprintable() else ascii(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise PolicyError(f"{name}: not UTF-8 text (byte {error.start})", hint=HINT) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PolicyError(f"{name}: can't be read: {reason.lower()}", hint=HINT) from None
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise PolicyError(f"{name}:{error.lineno}:{error.colno}: not JSON: {error.msg}", hint=HINT) from None
    except RecursionError:
        raise PolicyError(f"{name}: nested too deeply for a baseline", hint=HINT) from None
    return Baseline(name, tuple(_findings(document, name)))


def _findings(document: Any, name: str) -> list[Known]:
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise PolicyError(f"{name}: not a baseline: its kind is not {KIND!r}", hint=HINT)
    version = document.get("schema_version")
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise PolicyError(
            f"{name}: schema_version: this sgaudit reads {SCHEMA_VERSION}, not {json.dumps(version)[:40]}", hint=HINT
        )
    entries = document.get("findings")
    if not isinstance(entries, list):
        raise PolicyError(f"{name}: findings: a list is expected", hint=HINT)
    return [_known(entry, f"{name}: findings[{number}]") for number, entry in enumerate(entries)]


def _known(entry: Any, at: str) -> Known:
    if not isinstance(entry, dict):
        raise PolicyError(f"{at}: an object is expected", hint=HINT)
    for key in KEYS:
        if not isinstance(entry.get(key), str):
            raise PolicyError(f"{at}.{key}: text is expected", hint=HINT)
    if not FINGERPRINT.fullmatch(entry["fingerprint"]):
        raise PolicyError(f"{at}.fingerprint: 32 hexadecimal digits are expected", hint=HINT)
    return Known(*(entry[key] for key in KEYS))


def render(findings: Iterable[Known], created: str) -> str:
    """Write a baseline; the same findings give the same text, but for the time."""
    ordered = sorted({item.fingerprint: item for item in findings}.values(), key=lambda item: item.fingerprint)
    ordered.sort(key=lambda item: (item.rule, item.resource))
    document = {
        "schema_version": SCHEMA_VERSION,
        "kind": KIND,
        "created": created,
        "findings": [{key: getattr(item, key) for key in KEYS} for item in ordered],
    }
    return json.dumps(document, indent=2) + "\n"
