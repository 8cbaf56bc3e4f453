"""
What a plan takes beside the scan that it rests on: both as whole commands, on 1,000 members in 40 groups.

    python -m benchmarks.fixing
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.generate import cluster

ROUNDS = 5
LIMIT = 2.0
"""A plan takes at most twice the time of the scan."""
TAG = ("--tag", "cluster=train", "-f", "json", "--snapshot")
SCAN, FIX = ("scan", *TAG), ("fix", "--dry-run", *TAG)


def seconds(command: tuple[str, ...], path: Path) -> float:
    """Run a command of sgaudit some times and give the best time; both end with 1, as there is something to do."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "sgaudit", *command, str(path)], stdout=subprocess.DEVNULL, check=False
        )
        best = min(best, time.perf_counter() - start)
        if done.returncode != 1:
            raise RuntimeError(f"sgaudit {command[0]} left with {done.returncode}")
    return best


def planning(folder: Path) -> tuple[float, float]:
    """Measure the scan and the plan."""
    path = folder / "plan-1000.json"
    path.write_text(json.dumps(cluster(1_000, 40, 20, 10)), encoding="utf-8")
    return seconds(SCAN, path), seconds(FIX, path)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="sgaudit-bench-") as name:
        scan, fix = planning(Path(name))
    print(f"scan {scan:.2f} s, fix --dry-run {fix:.2f} s, ratio {fix / scan:.2f} (at most {LIMIT:g})")
    return int(fix / scan > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
