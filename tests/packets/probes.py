"""Real connections and exchanges of datagrams between the hosts of a twin, all at the same time."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from tests.packets.twin import Twin

RESET_ON_CLOSE = struct.pack("ii", 1, 0)
KINDS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}
LONGEST_WAIT = 20.0


@dataclass(frozen=True)
class Probe:
    """One attempt: from an interface's address and client port to another's port."""

    source: str
    source_address: str
    target: str
    target_address: str
    protocol: str
    port: int
    client_port: int


class Prober:
    """The open sockets of some probes, and which of these got an answer."""

    def __init__(self, twin: Twin, probes: Sequence[Probe], stack: ExitStack) -> None:
        self.twin = twin
        self.stack = stack
        self.poll = stack.enter_context(select.epoll())
        self.sockets: dict[int, socket.socket] = {}
        self.dialling: dict[int, int] = {}
        self.echoing: set[int] = set()
        self.waiting: dict[int, dict[tuple[str, int], int]] = defaultdict(dict)
        self.probes = probes
        self.answered = [False] * len(probes)
        self.left = 0

    def run(self, quiet: float) -> list[bool]:
        """Try all; give up when nothing was heard for so many seconds."""
        for interface, wanted in self._by_host(lambda probe: probe.target).items():
            with self.twin.hosts[interface].entered():
                self._listen(wanted)
        for interface, wanted in self._by_host(lambda probe: probe.source).items():
            with self.twin.hosts[interface].entered():
                self._dial(wanted)
        end = time.monotonic() + LONGEST_WAIT
        while self.left and time.monotonic() < end:
            events = self.poll.poll(quiet)
            if not events:
                break
            for descriptor, _ in events:
                self._handle(descriptor)
        return self.answered

    def _by_host(self, end: Callable[[Probe], str]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for index, probe in enumerate(self.probes):
            found[end(probe)].append(index)
        return found

    def _open(self, protocol: str, address: str, port: int, events: int) -> socket.socket:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        made = self.stack.enter_context(socket.socket(family, KINDS[protocol]))
        made.setblocking(False)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if protocol == "tcp":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        made.bind((address, port))
        self.sockets[made.fileno()] = made
        if events:
            self.poll.register(made, events)
        return made

    def _listen(self, indexes: Sequence[int]) -> None:
        wanted = {(probe.protocol, probe.target_address, probe.port) for probe in self._pick(indexes)}
        for protocol, address, port in sorted(wanted):
            if protocol == "tcp":
                self._open(protocol, address, port, 0).listen(1024)
            else:
                self.echoing.add(self._open(protocol, address, port, select.EPOLLIN).fileno())

    def _pick(self, indexes: Sequence[int]) -> Iterator[Probe]:
        return (self.probes[index] for index in indexes)

    def _dial(self, indexes: Sequence[int]) -> None:
        senders: dict[tuple[str, int], socket.socket] = {}
        for index, probe in zip(indexes, self._pick(indexes), strict=True):
            there = (probe.target_address, probe.port)
            here = (probe.source_address, probe.client_port)
            self.left += 1
            if probe.protocol == "tcp":
                dialler = self._open("tcp", *here, 0)
                dialler.connect_ex(there)
                self.dialling[dialler.fileno()] = index
                self.poll.register(dialler, select.EPOLLOUT)
                continue
            if here not in senders:
                senders[here] = self._open("udp", *here, select.EPOLLIN)
            self.waiting[senders[here].fileno()][there] = index
            try:
                senders[here].sendto(b"?", there)
            except PermissionError:
                self.left -= 1

    def _handle(self, descriptor: int) -> None:
        known = self.sockets[descriptor]
        if descriptor in self.dialling:
            self.poll.unregister(known)
            self.answered[self.dialling[descriptor]] = not known.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            self.left -= 1
            return
        while True:
            try:
                data, sender = known.recvfrom(16)
            except BlockingIOError:
                return
            if descriptor in self.echoing:
                known.sendto(data, sender)
                continue
            index = self.waiting[descriptor].pop((sender[0], sender[1]), None)
            if index is not None:
                self.answered[index] = True
                self.left -= 1


def try_all(twin: Twin, probes: Sequence[Probe], quiet: float) -> list[bool]:
    """Tell for each probe whether it got an answer."""
    with ExitStack() as stack:
        return Prober(twin, probes, stack).run(quiet)
