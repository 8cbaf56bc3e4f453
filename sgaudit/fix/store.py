"""Where journals are kept: one small interface, and a folder that keeps it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from sgaudit.errors import ApplyError, UsageError

Line = Mapping[str, Any]
RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""What a run may be called: it is the name of a file."""
SUFFIX = ".jsonl"
LOCK = "lock"


class Store(Protocol):
    """Keeps the journals of runs, line by line."""

    def append(self, run: str, line: Line) -> None:
        """
        Keep a line; when this returns, it outlives a crash. The first line of a run makes its journal.

        Raises:
            ApplyError: it could not be kept.
        """

    def read(self, run: str) -> list[Line]:
        """
        Give the lines of a run, the oldest first; none when there is no such run.

        Raises:
            UsageError: the journal is damaged, or can't be read.
        """

    def name(self, run: str) -> str:
        """Tell where the lines of a run are, for messages."""

    def runs(self) -> list[str]:
        """List the runs."""

    def lock(self) -> AbstractContextManager[None]:
        """
        Keep others from changing anything meanwhile.

        Raises:
            UsageError: somebody else does.
        """


def default_folder(environment: Mapping[str, str]) -> Path:
    """Tell where journals are kept unless told otherwise (XDG Base Directory Specification)."""
    base = environment.get("XDG_STATE_HOME") or ""
    # The specification says to ignore a path that is not absolute.
    root = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state"
    return root / "sgaudit"


def checked(run: str) -> str:
    """
    See that a run's name names nothing but a journal.

    Raises:
        UsageError: it could name something else.
    """
    if not RUN.fullmatch(run):
        raise UsageError(f"{run!r} is not the id of a run", hint="list the runs with sgaudit runs")
    return run


class FolderStore:
    """A folder with one file of JSON Lines for each run, for its owner's eyes only."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, run: str, line: Line) -> None:
        """Do what `Store.append` promises."""
        data = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        try:
            self._make()
            file = self._file(run)
            new = not file.exists()
            handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                os.lseek(handle, _whole(handle), os.SEEK_SET)
                _write(handle, data)
                os.fsync(handle)
            finally:
                os.close(handle)
            if new:
                _sync_folder(self._path)
        except OSError as error:
            raise ApplyError(
                f"the journal {self._path / run}{SUFFIX} can't be written: {error.strerror or error}",
                hint="nothing is changed without a journal: make room, or name another folder with --state-dir",
            ) from error

    def read(self, run: str) -> list[Line]:
        """Do what `Store.read` promises; a last line that a crash cut off counts as never written."""
        file = self._file(run)
        try:
            data = file.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UsageError(f"{file}: {error.strerror}", hint="check --state-dir and who owns the file") from error
        whole = data[: data.rfind(b"\n") + 1]
        return [_line(text, self, run, number) for number, text in enumerate(whole.splitlines(), start=1)]

    def name(self, run: str) -> str:
        """Do what `Store.name` promises."""
        return str(self._file(run))

    def runs(self) -> list[str]:
        """Do what `Store.runs` promises."""
        try:
            names = sorted(item.name for item in self._path.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UsageError(f"{self._path}: {error.strerror}", hint="check --state-dir") from error
        return [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)]

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Do what `Store.lock` promises; the lock of a process that died is free."""
        handle = self._locked()
        try:
            yield
        finally:
            os.close(handle)

    def _locked(self) -> int:
        try:
            self._make()
            handle = os.open(self._path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise UsageError(
                f"the state folder {self._path} can't be used: {error.strerror}",
                hint="name another one with --state-dir",
            ) from error
        try:
            _hold(handle)
        except OSError as error:
            holder = os.pread(handle, 100, 0).decode(errors="replace").strip()
            os.close(handle)
            raise UsageError(
                f"another run is using {self._path}" + (f" (process {holder})" if holder.isdigit() else ""),
                hint="wait until it is done",
            ) from error
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        return handle

    def _make(self) -> None:
        if not self._path.is_dir():
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            _sync_folder(self._path.parent)

    def _file(self, run: str) -> Path:
        return self._path / f"{checked(run)}{SUFFIX}"


def _whole(handle: int) -> int:
    """Cut off a last line that a crash tore: its call was never made. Give the length of what is whole."""
    length = os.fstat(handle).st_size
    end = length
    while end:
        start = max(0, end - 65536)
        found = os.pread(handle, end - start, start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    if end < length:
        os.ftruncate(handle, end)
    return end


def _write(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]


def _hold(handle: int) -> None:
    """Lock an open file until it is closed, by whatever end of the process."""
    if sys.platform == "win32":
        import msvcrt

        # Nobody can read a byte that is locked, so it is one behind the text.
        os.lseek(handle, 4096, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sync_folder(path: Path) -> None:
    # Some systems can't sync a folder, and need not.
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def damaged(store: Store, run: str, number: int, what: str) -> UsageError:
    """Give the error that says which line of a journal is wrong, and what about it."""
    return UsageError(
        f"the journal of run {run} is damaged: {store.name(run)}: line {number}: {what}",
        hint="restore the file, or undo by hand what its lines tell",
    )


def _line(text: bytes, store: Store, run: str, number: int) -> Line:
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        line = None
    if not isinstance(line, dict) or not isinstance(line.get("kind"), str):
        raise damaged(store, run, number, "not a JSON object with a kind")
    return line
