"""Writing files so that nothing is ever half-written."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def write(path: str | Path, pieces: Iterable[str]) -> None:
    """
    Write a file that appears whole or not at all: it is written beside its place and then moved there.

    An existing file keeps its mode; a symbolic link stays and its target is replaced.

    Raises:
        OSError: it can't be written.
    """
    target = Path(os.path.realpath(path))
    known = target.stat() if target.exists() else None
    if known is not None and not stat.S_ISREG(known.st_mode):
        # A device or a pipe is written to: another file moved to its place would take it away.
        with target.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
        return
    beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with beside.open("x", encoding="utf-8") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        if known is not None:
            beside.chmod(stat.S_IMODE(known.st_mode))
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
