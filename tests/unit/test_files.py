"""Files appear whole or not at all."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sgaudit import files


def test_a_new_file_is_whole(tmp_path: Path) -> None:
    """All pieces are there, and nothing else is in the folder."""
    files.write(tmp_path / "x", ["one\n", "two\n"])

    assert (tmp_path / "x").read_text(encoding="utf-8") == "one\ntwo\n"
    assert list(tmp_path.iterdir()) == [tmp_path / "x"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    """When a piece can't be made, the old file stays and no half-written one is left."""
    target = tmp_path / "x"
    target.write_text("old", encoding="utf-8")

    def pieces() -> Iterator[str]:
        yield "new"
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        files.write(target, pieces())

    assert target.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_the_mode_of_a_file_is_kept(tmp_path: Path) -> None:
    """A private file stays private."""
    target = tmp_path / "x"
    target.touch(mode=0o600)

    files.write(target, ["secret"])

    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """What it points to is replaced."""
    (tmp_path / "real").write_text("old", encoding="utf-8")
    (tmp_path / "link").symlink_to("real")

    files.write(tmp_path / "link", ["new"])

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text(encoding="utf-8") == "new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """Devices and pipes stay what they are; moving a file to their place would take them away."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text(encoding="utf-8")), daemon=True)
    reader.start()

    files.write(pipe, ["hello"])
    reader.join(30)

    assert read == ["hello"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
