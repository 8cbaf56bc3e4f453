"""Journals are kept durably, for their owner alone, and tell what a run did."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sgaudit.errors import ApplyError, UsageError
from sgaudit.fix import apply, preconditions, rollback
from sgaudit.fix.journal import Journal, State, merged
from sgaudit.fix.store import FolderStore, default_folder
from sgaudit.snapshot import parse
from tests.unit.fix.edits import MISSING, changed, places
from tests.unit.fix.faults import MemoryStore
from tests.unit.fix.plans import PEERS, PLANS, RUN, document, fake

DAMAGED = "the journal of run run-1 is damaged: run-1.jsonl:"
LINE = {"kind": "run", "text": "é\u2028\n"}
HOLD = """
import sys, time
from pathlib import Path
from sgaudit.fix.store import FolderStore
with FolderStore(Path(sys.argv[1])).lock():
    print("held", flush=True)
    time.sleep(60)
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_lines_are_kept(tmp_path: Path) -> None:
    """Lines come back in their order, whatever is in them, and nobody else may read them."""
    folder = tmp_path / "state" / "sgaudit"
    store = FolderStore(folder)

    store.append("r-1", LINE)
    store.append("r-1", {"kind": "end"})

    assert FolderStore(folder).read("r-1") == [LINE, {"kind": "end"}]
    assert (mode(folder), mode(folder / "r-1.jsonl")) == (0o700, 0o600)
    assert store.runs() == ["r-1"]


def test_lines_are_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line is synced before it counts as kept, and a new file's folder, too."""
    synced: list[tuple[bool, int]] = []
    sync = os.fsync

    def recorded(handle: int) -> None:
        sync(handle)
        status = os.fstat(handle)
        synced.append((stat.S_ISDIR(status.st_mode), 0 if stat.S_ISDIR(status.st_mode) else status.st_size))

    monkeypatch.setattr(os, "fsync", recorded)
    store = FolderStore(tmp_path)
    store.append("r-1", {"kind": "run"})
    store.append("r-1", {"kind": "end"})

    assert synced == [(False, 15), (True, 0), (False, 30)]


def test_nothing_is_there(tmp_path: Path) -> None:
    """A folder that is not there holds no runs, and a run that is not there no lines."""
    store = FolderStore(tmp_path / "none")

    assert (store.runs(), store.read("r-1")) == ([], [])


@pytest.mark.parametrize("size", [1, 70_000])
def test_torn_line(tmp_path: Path, size: int) -> None:
    """A last line that a crash cut off was never written; the next one takes its place."""
    store = FolderStore(tmp_path)
    store.append("r-1", LINE)
    with (tmp_path / "r-1.jsonl").open("ab") as file:
        file.write(b"x" * size)

    torn = store.read("r-1")
    store.append("r-1", {"kind": "end"})

    assert (torn, store.read("r-1")) == ([LINE], [LINE, {"kind": "end"}])


def test_torn_beginning(tmp_path: Path) -> None:
    """A journal whose first line was cut off has not begun."""
    store = FolderStore(tmp_path)
    (tmp_path / "r-1.jsonl").write_bytes(b'{"kind"')

    assert store.read("r-1") == []
    store.append("r-1", LINE)
    assert store.read("r-1") == [LINE]


@pytest.mark.parametrize("text", ["nonsense", "[]", "{}", '{"kind": 1}', "[" * 100_000])
def test_damaged(tmp_path: Path, text: str) -> None:
    """A line that is damaged elsewhere than at the end is an error that names it."""
    file = tmp_path / "r-1.jsonl"
    file.write_text(f'{{"kind": "run"}}\n{text}\n{{"kind": "end"}}\n', encoding="utf-8")

    with pytest.raises(UsageError) as caught:
        FolderStore(tmp_path).read("r-1")

    assert caught.value.message == f"the journal of run r-1 is damaged: {file}: line 2: not a JSON object with a kind"


@pytest.mark.parametrize("run", ["", ".", "..", "../x", "a/b", ".hidden", "a\n", "a\0", "x" * 101])
def test_names(tmp_path: Path, run: str) -> None:
    """The id of a run names nothing but a journal."""
    with pytest.raises(UsageError) as caught:
        FolderStore(tmp_path).append(run, LINE)

    assert caught.value.message == f"{run!r} is not the id of a run"
    assert list(tmp_path.iterdir()) == []


def test_no_room(tmp_path: Path) -> None:
    """A journal that can't be written is an error."""
    (tmp_path / "file").touch()

    with pytest.raises(ApplyError, match=r"the journal .*/file/r-1.jsonl can't be written: "):
        FolderStore(tmp_path / "file").append("r-1", LINE)


def test_lock(tmp_path: Path) -> None:
    """Only one run uses a folder at a time; the lock of a process that was killed is free."""
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    with holder, holder.stdout:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(UsageError) as caught, FolderStore(tmp_path).lock():
            pytest.fail("two hold the lock")
        holder.send_signal(signal.SIGKILL)

    assert caught.value.message == f"another run is using {tmp_path} (process {holder.pid})"
    with FolderStore(tmp_path).lock():
        assert (tmp_path / "lock").read_text(encoding="utf-8") == f"{os.getpid()}\n"
    with FolderStore(tmp_path).lock():
        pass


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"XDG_STATE_HOME": "/var/state"}, Path("/var/state/sgaudit")),
        ({"XDG_STATE_HOME": "relative"}, Path.home() / ".local/state/sgaudit"),
        ({"XDG_STATE_HOME": ""}, Path.home() / ".local/state/sgaudit"),
        ({}, Path.home() / ".local/state/sgaudit"),
    ],
)
def test_default_folder(environment: dict[str, str], folder: Path) -> None:
    """Journals are kept where the XDG specification says."""
    assert default_folder(environment) == folder


def test_header() -> None:
    """A journal begins with the whole plan, and when, where and by whom it is applied."""
    store = MemoryStore()
    journal = Journal.begin(store, PEERS, "me")
    (header,) = store.read(RUN)

    assert {key: header[key] for key in header if key not in ("time", "plan")} == {
        "kind": "run",
        "schema_version": 1,
        "run": RUN,
        "account_id": "111122223333",
        "region": "us-east-1",
        "who": "me",
    }
    assert journal.plan == PEERS
    assert Journal.load(store, RUN).plan == PEERS


CALL = {"kind": "call", "operation": "op-1", "before": {}}
DONE = {"kind": "done", "operation": "op-1", "made": {"rules": {"a": "sgr-1"}}}
LEFT = {"kind": "undone", "operation": "op-1", "left": ["x"]}
UNDONE = {"kind": "undone", "operation": "op-1", "left": []}


@pytest.mark.parametrize(
    ("lines", "state", "open_", "finished"),
    [
        ([], State.INTERRUPTED, [], {}),
        ([CALL], State.INTERRUPTED, ["op-1"], {}),
        ([CALL, DONE], State.INTERRUPTED, [], {"op-1": "done"}),
        ([CALL, DONE, {"kind": "end", "state": "applied"}], State.APPLIED, [], {"op-1": "done"}),
        ([CALL, {"kind": "failed", "operation": "op-1"}, {"kind": "end", "state": "partial"}], State.PARTIAL, [], {}),
        ([CALL, {"kind": "failed", "operation": "op-1", "settled": False}], State.INTERRUPTED, ["op-1"], {}),
        ([{"kind": "end", "state": "applied"}, CALL], State.INTERRUPTED, ["op-1"], {}),
        ([{"kind": "end", "state": "applied"}, {"kind": "rollback"}], State.INTERRUPTED, [], {}),
        ([LEFT, {"kind": "rollback-end", "state": "partial"}], State.PARTIAL, [], {}),
        ([UNDONE, {"kind": "rollback-end", "state": "rolled back"}], State.ROLLED_BACK, [], {}),
        ([{"kind": "of a later version"}], State.INTERRUPTED, [], {}),
    ],
)
def test_states(lines: list[dict[str, Any]], state: State, open_: list[str], finished: dict[str, str]) -> None:
    """The lines tell where a run stands, and which calls have no end."""
    journal = Journal(MemoryStore(), RUN, lines)

    assert (journal.state, list(journal.open), journal.finished) == (state, open_, finished)


def test_merged() -> None:
    """What several calls of an operation made is one; what was there before the first stays that."""
    first = {"group": "sg-1", "rules": {"a": "sgr-1"}, "previous": ["sg-1"]}
    second = {"group": "sg-1", "rules": {"b": "sgr-2"}, "previous": ["sg-2"]}

    assert merged(first, second) == {"group": "sg-1", "rules": {"a": "sgr-1", "b": "sgr-2"}, "previous": ["sg-1"]}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "there is no run 'run-1'"),
        ([{"kind": "call"}], f"{DAMAGED} line 1: the journal has no beginning"),
        (
            [{"kind": "run", "time": "", "schema_version": 2}],
            f"{DAMAGED} line 1: schema_version is not 1: use the sgaudit that wrote it",
        ),
    ],
)
def test_no_journal(lines: list[dict[str, Any]], message: str) -> None:
    """What is no journal is an error that says so."""
    store = MemoryStore()
    store.files[RUN] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    with pytest.raises(UsageError) as caught:
        Journal.load(store, RUN)

    assert caught.value.message == message


def written(name: str) -> list[dict[str, Any]]:
    """Give the journal of a plan that was carried out and taken back."""
    store, ec2 = MemoryStore(), fake()
    apply.run(PLANS[name], ec2, store, sleep=lambda _: None)
    rollback.run(RUN, ec2, store, sleep=lambda _: None)
    return [dict(line) for line in store.read(RUN)]


def load(lines: Any) -> Journal:
    store = MemoryStore()
    store.files[RUN] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return Journal.load(store, RUN)


def tried(lines: Any) -> tuple[Journal | None, str]:
    try:
        return load(lines), ""
    except UsageError as error:
        return None, error.message


WRONG: tuple[Any, ...] = (None, True, -1, "", "x", "\ud800", [], [1], {}, {"a": 1}, MISSING)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_whatever_is_damaged(name: str) -> None:
    """Any value of a line may be any other or missing: it is named, or the run can still be gone through."""
    good = written(name)
    load(good)
    now, damaged = parse(document()), 0
    for number, path in enumerate(places(good)):
        if path[0] == 0 and path[1:2] == ("plan",):
            continue
        for wrong in WRONG[number % 3 :: 3]:
            journal, message = tried(changed(good, path, wrong))
            if journal is None:
                assert message.startswith(f"the journal of run {RUN} is damaged: {RUN}.jsonl: line ")
                damaged += 1
            else:
                rollback.plan(journal, fake(), sleep=lambda _: None)
                preconditions.changed(journal.plan, now, journal)

    assert damaged > 20


@pytest.mark.parametrize("name", PLANS)
def test_cut_short(name: str) -> None:
    """A journal that lacks lines is damaged, or a run that can be gone through."""
    good = written(name)
    for number in range(len(good)):
        for lines in (good[:number], good[:number] + good[number + 1 :]):
            try:
                journal = load(lines)
            except UsageError:
                continue
            rollback.plan(journal, fake(), sleep=lambda _: None)
            assert journal.plan == PLANS[name]
