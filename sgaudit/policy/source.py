"""Find and read policy files: the shipped ones by name, others by path."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from sgaudit.errors import PolicyError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

LARGEST = 1_000_000
"""Bytes. The largest policy that ships has a few thousand."""


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a policy, and how it was come by."""

    text: str
    file: str
    """As messages name it."""
    folder: Path | None
    """Where relative paths in it begin; None for a shipped policy."""
    chain: tuple[str, ...] = ()
    """The files that extend one another down to this one, itself included."""

    def extended(self, name_or_path: str) -> Source:
        """
        Find a policy that this one extends.

        Raises:
            PolicyError: there is none, it can't be read, or it is one of those that led here.
        """
        source = find(name_or_path, self.folder)
        chain = (*self.chain, source.file)
        if _identity(source.file) in map(_identity, self.chain):
            raise PolicyError(f"goes in a circle: {' -> '.join(chain)}", hint="take one of these out of extends")
        return Source(source.text, source.file, source.folder, chain)


def shipped() -> tuple[str, ...]:
    """Name the policies that come with sgaudit, sorted."""
    names = (entry.name for entry in _shipped_folder().iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml")))


def shipped_text(name: str) -> str:
    """
    Give the text of a shipped policy's file.

    Raises:
        PolicyError: none has that name.
    """
    if name not in shipped():
        raise _unknown(f"no policy is called {name!a}", name)
    return (_shipped_folder() / f"{name}.yaml").read_text(encoding="utf-8")


def find(name_or_path: str, folder: Path | None = None) -> Source:
    """
    Read a policy's text; relative paths begin at `folder`, else at the working folder.

    Raises:
        PolicyError: there is none, or it can't be read.
    """
    if not _is_path(name_or_path):
        file = f"{name_or_path}.yaml"
        return Source(shipped_text(name_or_path), file, None, (file,))
    path = (folder or Path()) / name_or_path
    file = _named(path)
    return Source(_read(path, file), file, path.parent, (file,))


def _named(path: Path) -> str:
    """Write a path for a message, which is one line without control characters."""
    return str(path) if str(path).isprintable() else ascii(str(path))


def _is_path(name_or_path: str) -> bool:
    return name_or_path.endswith((".yaml", ".yml")) or "/" in name_or_path or "\\" in name_or_path


def _identity(file: str) -> str:
    return str(Path(file).resolve()) if Path(file).exists() else file


@cache
def _shipped_folder() -> Traversable:
    installed = resources.files("sgaudit") / "policies"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "policies"


def _read(path: Path, file: str) -> str:
    try:
        size = path.stat().st_size
        if path.is_file() and size > LARGEST:
            raise PolicyError(f"{file}: {size} bytes are too many for a policy", hint="is it the right file?")
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise _unknown(f"{file}: no such file", path.stem) from None
    except UnicodeDecodeError as error:
        raise PolicyError(
            f"{file}: not UTF-8 text (byte {error.start})", hint="save it as UTF-8; is it the right file?"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PolicyError(
            f"{file}: can't be read: {reason.lower()}", hint="name a policy file, or a shipped policy"
        ) from None


def _unknown(message: str, name: str) -> PolicyError:
    names = shipped()
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.6)
    meant = f"did you mean {near[0]}? " if near else ""
    return PolicyError(message, hint=f"{meant}shipped policies: {', '.join(names)}; or a path to a .yaml file")
