"""
sgaudit's verdicts against real packets: every outcome equals the matrix.

`SGAUDIT_PACKETS_NETWORKS` says how many random networks are tried, `SGAUDIT_PACKETS_SEED` with which one to begin.
A seed that failed is written to `tests/packets/seeds.json` when `SGAUDIT_PACKETS_KEEP` is set, and tried from then on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Lock

import pytest

from tests.networks import random_network
from tests.packets.compare import Compared, compare
from tests.packets.lab import ROOT, Lab

NETWORKS = int(os.environ.get("SGAUDIT_PACKETS_NETWORKS", "300"))
FIRST = int(os.environ.get("SGAUDIT_PACKETS_SEED", "0"))
KEEP = bool(os.environ.get("SGAUDIT_PACKETS_KEEP"))
SEEDS = Path(__file__).with_name("seeds.json")
KEPT: list[int] = json.loads(SEEDS.read_text(encoding="utf-8"))["twin"]
EXAMPLES = sorted((ROOT / "examples").glob("*/snapshot.json"))
LABS = 2
"""Twins at the same time: one waits for what doesn't come while the other is built."""


class Run:
    """Compares random networks until there are enough of them."""

    def __init__(self, seeds: Iterator[int], wanted: int) -> None:
        self.seeds = seeds
        self.wanted = wanted
        self.total = Compared()
        self.failed: list[int] = []
        self.lock = Lock()

    def work(self, _: int) -> None:
        """Take a seed and compare its network, again and again."""
        with Lab() as lab:
            while (seed := self.next()) is not None:
                compared = compare(lab, random_network(seed), seed)
                with self.lock:
                    self.total.add(compared)
                    if compared.disagreements:
                        self.failed.append(seed)

    def next(self) -> int | None:
        """Take the next seed; none when there are enough."""
        with self.lock:
            return next(self.seeds, None) if self.total.networks < self.wanted else None


def run(seeds: Iterator[int], wanted: int) -> Run:
    """Compare the networks of some seeds until so many could be used."""
    made = Run(seeds, wanted)
    with ThreadPoolExecutor(LABS) as pool:
        list(pool.map(made.work, range(LABS)))
    return made


def keep(failed: Sequence[int]) -> None:
    """Remember the seeds that failed."""
    known = sorted({*KEPT, *failed})
    SEEDS.write_text(json.dumps({"twin": known}, indent=2) + "\n", encoding="utf-8")


def first_of(compared: Compared) -> str:
    """Show what disagreed."""
    return "\n".join(str(item) for item in compared.disagreements[:20])


@pytest.mark.usefixtures("lab")
def test_random_networks(capsys: pytest.CaptureFixture[str]) -> None:
    """Real connections and exchanges of datagrams on random networks end as the matrix says."""
    done = run(count(FIRST), NETWORKS)
    with capsys.disabled():
        print(f"\nrandom: {done.total}")  # noqa: T201  # the counts are the result of this test
    if KEEP and done.failed:
        keep(done.failed)

    assert (sorted(done.failed), first_of(done.total)) == ([], "")
    assert done.total.networks >= NETWORKS


@pytest.mark.usefixtures("lab")
def test_kept_seeds() -> None:
    """Networks on which the two have disagreed before agree now."""
    done = run(iter(KEPT), len(KEPT) + 1)

    assert (sorted(done.failed), first_of(done.total)) == ([], "")


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.parent.name for path in EXAMPLES])
def test_examples(lab: Lab, path: Path) -> None:
    """Each example's verdicts hold for real packets."""
    compared = compare(lab, json.loads(path.read_text(encoding="utf-8")), 1)

    assert (compared.networks, first_of(compared)) == (1, "")


def test_failed_seeds_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeds that failed join those that are tried in every run."""
    path = tmp_path / "seeds.json"
    monkeypatch.setattr(f"{__name__}.SEEDS", path)
    monkeypatch.setattr(f"{__name__}.KEPT", [7])

    keep([9, 3, 9])

    assert json.loads(path.read_text(encoding="utf-8")) == {"twin": [3, 7, 9]}
