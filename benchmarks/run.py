"""
Each target for speed and size beside what was measured, in one run on this machine.

    python -m benchmarks.run            prints the tables
    python -m benchmarks.run --strict   and leaves with 1 when a target was missed
    python -m benchmarks.run --full     judges all pairs of 1,000 members one by one instead of a sample

Times are the best of several rounds, because what disturbs a measurement only ever makes it slower.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from tabulate import tabulate

from benchmarks.collecting import calls
from benchmarks.fixing import planning
from benchmarks.generate import KINDS
from sgaudit import snapshot as snapshots
from sgaudit.model import Cidr, Snapshot
from sgaudit.policy.load import DEFAULT, load
from sgaudit.policy.model import Policy
from sgaudit.policy.resolve import resolve
from sgaudit.ports import CLIENT_PORTS, PortSet
from sgaudit.reach import matrix as matrices
from sgaudit.reach.verdict import Verdict
from sgaudit.rules.audit import Audit, audit
from sgaudit.selection import Selection, TagFilter, select
from tests.judge import Network

ROUNDS = 5
STARTS = 15
SAMPLE = 5_000
CLUSTER = Selection(tags=(TagFilter("cluster", ("train",)),))
WANTED = CLIENT_PORTS | PortSet.single(29500)
SCAN = ("-m", "sgaudit", "scan", "--tag", "cluster=train", "-f", "json", "--snapshot")

LAUNCHER = """
import json, os, sys, time
actions = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
start = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=actions)
_, status, usage = os.wait4(child, 0)
seconds = time.perf_counter() - start
print(json.dumps([os.waitstatus_to_exitcode(status), seconds, usage.ru_maxrss]))
"""
"""Runs a command and tells what it took; the parent is small, because Linux counts it into a child's peak."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the first table; `limit` None is a figure without a target."""

    what: str
    measured: float
    unit: str
    limit: float | None = None
    note: str = ""

    @property
    def missed(self) -> bool:
        return self.limit is not None and self.measured > self.limit

    def cells(self) -> tuple[str, str, str, str, str]:
        limit = "" if self.limit is None else f"at most {self.limit:g} {self.unit}".rstrip()
        result = "" if self.limit is None else "MISSED" if self.missed else "ok"
        return self.what, limit, f"{self.measured:.3g} {self.unit}".rstrip(), result, self.note


@dataclass(frozen=True, slots=True)
class Timing:
    """The best times of one snapshot, in seconds."""

    load: float
    parse: float
    analysis: float


@cache
def policy() -> Policy:
    """Load the policy that applies when none is named; a scan does so once, whatever the size."""
    return load(DEFAULT)


def analyse(snapshot: Snapshot, selection: Selection) -> Audit:
    """Do all that a scan does between the parsed snapshot and the findings."""
    members = select(snapshot, selection)
    return audit(snapshot, selection, members, resolve([policy()], members))


def seconds(action: Callable[[], object]) -> tuple[float, Any]:
    """Time one call; what earlier ones left behind is cleared away first."""
    gc.collect()
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def read(path: Path) -> Any:
    with path.open(encoding="utf-8") as file:
        return json.load(file)


def measure(path: Path, rounds: int = ROUNDS) -> Timing:
    """Time reading, parsing and analysing in turn, round after round."""
    policy()
    times: list[tuple[float, float, float]] = []
    for _ in range(rounds):
        load, document = seconds(partial(read, path))
        parse, snapshot = seconds(partial(snapshots.parse, document))
        del document
        analysis, _ = seconds(partial(analyse, snapshot, CLUSTER))
        del snapshot
        times.append((load, parse, analysis))
    return Timing(*(min(column) for column in zip(*times, strict=True)))


def launch(*command: str) -> tuple[int, float, float]:
    """Run a command apart and give its exit code, its seconds and its peak memory in MB."""
    run = subprocess.run([sys.executable, "-c", LAUNCHER, *command], stdout=subprocess.PIPE, text=True, check=True)
    code, took, peak = json.loads(run.stdout)
    return code, took, peak / (1e6 if sys.platform == "darwin" else 1e3)


def whole_scan(path: Path) -> Iterator[Row]:
    """Measure a scan as a user runs it."""
    code, took, peak = launch(sys.executable, *SCAN, str(path))
    note = "" if code in (0, 1) else f"exit code {code}: not a measurement"
    failed = math.inf if note else 0.0
    yield Row("10,000 members: whole scan, peak memory", peak + failed, "MB", 600, note)
    yield Row("10,000 members: whole scan", took + failed, "s", note=note)
    run = subprocess.run(
        [sys.executable, "-X", "importtime", *SCAN, str(path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in run.stderr.splitlines()}
    heavy = sorted(loaded & {"boto3", "botocore"})
    yield Row("a run on a snapshot: AWS libraries loaded", len(heavy) + failed, "", 0, ", ".join(heavy) or note)


def startup() -> Row:
    """Compare `sgaudit --version` with an interpreter that loads click, in turn."""
    script = Path(sys.executable).parent / "sgaudit"
    ours = [str(script)] if script.exists() else [sys.executable, "-m", "sgaudit"]
    theirs = [sys.executable, "-c", "import click"]
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(STARTS + 1):
        for command, taken in zip(([*ours, "--version"], theirs), times, strict=True):
            start = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            if number:
                taken.append(time.perf_counter() - start)
    mine, click = (statistics.median(taken) for taken in times)
    return Row("sgaudit --version / import click", mine / click, "x", 2, f"{mine * 1e3:.0f} ms / {click * 1e3:.0f} ms")


def classes(path: Path) -> int:
    """Count the members that differ in groups, subnet or the CIDR permissions that name their addresses."""
    snapshot = snapshots.load(str(path))
    nodes = matrices.build(snapshot, select(snapshot, CLUSTER)).nodes
    groups = (snapshot.security_groups or {}).values()
    peers = {row.peer for group in groups for row in (*group.ingress, *group.egress)}
    blocks = [(peer.first, peer.last) for peer in peers if isinstance(peer, Cidr)]
    found = set()
    for node in nodes:
        address = int.from_bytes(bytes(map(int, node.address.split("."))))
        interface = node.interface
        assert interface is not None
        within = tuple(low <= address <= high for low, high in blocks)
        found.add((interface.groups, interface.subnet_id, within))
    return len(found)


def targets(folder: Path, timings: dict[str, Timing]) -> Iterator[Row]:
    """Measure all that has a target."""
    yield from whole_scan(folder / "large.json")
    yield startup()
    counted = calls(read(folder / "large.json"), CLUSTER)
    note = ", ".join(f"{number} {name}" for name, number in counted.most_common(1))
    yield Row("10,000 members: collecting", counted.total(), "calls", 40, note)
    for kind in ("large", "quarter", "all-different", "many-classes"):
        timings[kind] = measure(folder / f"{kind}.json")
    large, quarter = timings["large"], timings["quarter"]
    yield Row("10,000 members: json.load", large.load, "s")
    yield Row("10,000 members: parsing", large.parse, "s")
    yield Row("10,000 members: analysis", large.analysis, "s", 1)
    yield Row("10,000 members: analysis / json.load", large.analysis / large.load, "x", 1)
    note = f"{quarter.analysis:.3g} s at 2,500"
    yield Row("four times the members: analysis", large.analysis / quarter.analysis, "x", 5, note)
    different = timings["all-different"].analysis
    note = f"{classes(folder / 'all-different.json'):,} classes"
    yield Row("1,000 members, no two alike: analysis", different, "s", 3, note)
    note = f"{classes(folder / 'many-classes.json'):,} classes"
    yield Row("10,000 members, 250 CIDR rows: analysis", timings["many-classes"].analysis, "s", 6, note)
    scan, fix = planning(folder)
    yield Row("1,000 members, 40 groups: fix --dry-run / scan", fix / scan, "x", 2, f"{fix:.3g} s / {scan:.3g} s")


def pair_by_pair(document: Any, pairs: list[tuple[str, str]]) -> tuple[float, int]:
    """Judge pairs one by one, and count those that are open on every wanted port."""

    def judged() -> int:
        network = Network(document)
        return sum(PortSet(network.judge(source, target).open) >= WANTED for source, target in pairs)

    return seconds(judged)


def comparison(folder: Path, *, full: bool) -> Iterator[tuple[str, ...]]:
    """Set the two ways of judging side by side, and tell how each grows."""
    before: tuple[int, float, float] | None = None
    for members in (100, 300, 1_000):
        document = read(folder / f"pairs-{members}.json")
        instances = [item for reservation in document["Reservations"] for item in reservation["Instances"]]
        ids = [item["NetworkInterfaces"][0]["NetworkInterfaceId"] for item in instances]
        pairs = [(source, target) for source in ids for target in ids if source != target]
        sampled = members == 1_000 and not full
        asked = random.Random(members).sample(pairs, SAMPLE) if sampled else pairs
        took, opened = pair_by_pair(document, asked)
        slow = took * len(pairs) / len(asked)
        snapshot = snapshots.parse(document)
        rounds = [seconds(partial(analyse, snapshot, CLUSTER)) for _ in range(ROUNDS)]
        fast, found = min(took for took, _ in rounds), rounds[0][1].counts[Verdict.OPEN]
        agrees = f"{found:,} open" + ("" if sampled else " (the same)" if found == opened else f", NOT {opened:,}")
        growth = ("", "")
        if before:
            steps = math.log(members / before[0])
            growth = (f"n^{math.log(slow / before[1]) / steps:.1f}", f"n^{math.log(fast / before[2]) / steps:.1f}")
        way = f"from {SAMPLE:,} pairs" if sampled else "all pairs"
        yield (
            f"{members:,}", f"{slow:.2f} s ({way})", growth[0],
            f"{fast * 1e3:.1f} ms", growth[1], f"{slow / fast:,.0f} x", agrees,
        )  # fmt: skip
        before = (members, slow, fast)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.run", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--strict", action="store_true", help="leave with 1 when a target was missed")
    parser.add_argument("--full", action="store_true", help="judge all pairs of 1,000 members one by one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sgaudit-bench-") as name:
        folder = Path(name)
        for kind, build in KINDS.items():
            (folder / f"{kind}.json").write_text(json.dumps(build()), encoding="utf-8")
        rows = list(targets(folder, {}))
        headers = ["what", "target", "measured", "", "note"]
        print(tabulate([row.cells() for row in rows], headers, disable_numparse=True), flush=True)
        headers = ["members", "pair by pair", "grows", "by sets", "grows", "ratio", "pairs"]
        print()
        print(tabulate(comparison(folder, full=options.full), headers, disable_numparse=True))
    missed = [row.what for row in rows if row.missed]
    print(f"\n{os.cpu_count()} cores, Python {sys.version.split()[0]}; {len(missed)} targets missed")
    return 1 if missed and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
