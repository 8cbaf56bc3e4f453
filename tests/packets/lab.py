"""The tests' side of a twin: asks the process that holds it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.packets.probes import Probe

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Program:
    """What to run on a host."""

    interface: str
    command: Sequence[str]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Ended:
    """How a program ended."""

    code: int | None
    """None: it had to be ended."""
    output: str


class Peer:
    """A process that answers lines of JSON; a context manager that ends it."""

    module: str
    environment: Mapping[str, str] | None = None

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", self.module],
            cwd=ROOT,
            env=None if self.environment is None else dict(self.environment),
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process, and with it all that it holds."""
        self._process.kill()
        self._process.communicate()

    def _ask(self, **request: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.module} has ended")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["answer"]


class Lab(Peer):
    """One twin at a time."""

    module = "tests.packets.server"

    def why_not(self) -> str:
        """Say why twins can't be made here; empty when they can."""
        return str(self._ask(do="usable"))

    def build(self, document: Mapping[str, Any], interfaces: Sequence[str]) -> None:
        """Make the twin of a snapshot's interfaces, instead of the one before."""
        self._ask(do="build", document=document, interfaces=list(interfaces))

    def probe(self, probes: Sequence[Probe], quiet: float) -> list[bool]:
        """Tell for each probe whether it got an answer."""
        return list(self._ask(do="probe", probes=[astuple(probe) for probe in probes], quiet=quiet))

    def machines(self) -> dict[str, Any]:
        """Give what makes a process one of a host's, by interface: the arguments of `kernel.settle`."""
        return dict(self._ask(do="machines"))

    def run(self, programs: Sequence[Program], seconds: float) -> list[Ended]:
        """Run programs on hosts, side by side, until the last of them has ended."""
        listed = [(item.interface, list(item.command), dict(item.environment)) for item in programs]
        return [Ended(*fields) for fields in self._ask(do="run", programs=listed, seconds=seconds)]
