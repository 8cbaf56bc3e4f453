"""
The process that holds a twin: it takes requests as lines of JSON and answers each with one.

A process of its own, because it steps from namespace to namespace, and because the tests' own process may talk to
loopback alone. The twin goes when this process does.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping
from typing import Any

from tests.packets.dialogue import answer_all
from tests.packets.kernel import die_with_parent
from tests.packets.probes import Probe, try_all
from tests.packets.twin import Twin, end, usable

POLL = 0.02


class Server:
    """The one twin, and what can be asked of it."""

    def __init__(self) -> None:
        self.twin: Twin | None = None

    def answer(self, request: Mapping[str, Any]) -> Any:
        """Carry out one request."""
        match request["do"]:
            case "usable":
                return usable()
            case "build":
                self.close()
                self.twin = Twin(request["document"], request["interfaces"])
                return None
            case "probe":
                assert self.twin is not None
                probes = [Probe(*fields) for fields in request["probes"]]
                return try_all(self.twin, probes, request["quiet"])
            case "machines":
                assert self.twin is not None
                return {name: self.twin.machine(name) for name in self.twin.hosts}
            case "run":
                return self.run(request["programs"], request["seconds"])
            case "close":
                return self.close()
        raise ValueError(request["do"])

    def close(self) -> None:
        """Remove the twin."""
        if self.twin is not None:
            self.twin.close()
        self.twin = None

    def run(self, programs: list[tuple[str, list[str], dict[str, str]]], seconds: float) -> list[Any]:
        """
        Run programs side by side until the last of them has ended, which is the one that decides.

        Give exit code and output of each, None for those that had to be ended.
        """
        assert self.twin is not None
        started = [self.twin.spawn(*program) for program in programs]
        limit = time.monotonic() + seconds
        while started[-1].poll() is None and time.monotonic() < limit:
            time.sleep(POLL)
        late = [child for child in started if child.poll() is None]
        for child in late:
            end(child)
        found: list[Any] = []
        for child in started:
            output, _ = child.communicate()
            found.append([None if child in late else child.returncode, output])
        self.twin.children = [child for child in self.twin.children if child not in started]
        return found


def main() -> None:
    """Answer until the input ends."""
    die_with_parent()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    server = Server()
    answer_all(server.answer)
    server.close()


if __name__ == "__main__":
    main()
