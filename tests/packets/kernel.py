"""The few calls into the kernel that make and fill network namespaces. Linux, as root."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

NEW_NET = 0x40000000
NEW_MOUNTS = 0x00020000
NEW_NAMES = 0x04000000
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 0x40000
DIE_WITH_PARENT = 1
SIGKILL = 9
IP = shutil.which("ip", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") or "ip"
SCRATCH = Path("/mnt")
"""A folder that every Linux has, hidden for the processes that settle."""
HERE = "/proc/thread-self/ns/net"


@cache
def libc() -> ctypes.CDLL:
    """Give the C library."""
    return ctypes.CDLL(None, use_errno=True)


@cache
def libnftables() -> ctypes.CDLL:
    """Give the library behind the command `nft`; a process for each ruleset would take most of the time."""
    found = ctypes.CDLL("libnftables.so.1")
    found.nft_ctx_new.restype = ctypes.c_void_p
    found.nft_ctx_new.argtypes = [ctypes.c_uint32]
    found.nft_ctx_get_error_buffer.restype = ctypes.c_char_p
    for name in ("nft_ctx_buffer_error", "nft_ctx_free", "nft_ctx_get_error_buffer"):
        getattr(found, name).argtypes = [ctypes.c_void_p]
    found.nft_run_cmd_from_buffer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    return found


def checked(result: int) -> None:
    """Turn the -1 of a C call into its error."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class Namespace:
    """
    A network namespace without a name: it goes with the last process and descriptor that hold it.

    Nothing is left behind, whatever ends the process.
    """

    def __init__(self) -> None:
        home = os.open(HERE, os.O_RDONLY | os.O_CLOEXEC)
        try:
            checked(libc().unshare(NEW_NET))
            self.descriptor = os.open(HERE, os.O_RDONLY | os.O_CLOEXEC)
            checked(libc().setns(home, NEW_NET))
        finally:
            os.close(home)

    @property
    def path(self) -> str:
        """Name it for other programs."""
        return f"/proc/{os.getpid()}/fd/{self.descriptor}"

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Let this thread, its new sockets and its children be inside."""
        home = os.open(HERE, os.O_RDONLY | os.O_CLOEXEC)
        try:
            checked(libc().setns(self.descriptor, NEW_NET))
            yield
        finally:
            checked(libc().setns(home, NEW_NET))
            os.close(home)

    def close(self) -> None:
        """Let go of it."""
        os.close(self.descriptor)


def sysctl(name: str, value: object) -> None:
    """Set a value of the namespace that this thread is in, where the kernel has it."""
    path = Path("/proc/sys", *name.split("/"))
    if path.exists():
        path.write_text(str(value), encoding="ascii")


def ip_batch(lines: list[str], *options: str) -> None:
    """Run lines of iproute2 in the namespace that this thread is in."""
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run([IP, *options, "-batch", "-"], input=text, text=True, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"ip: {done.stderr}\n{text}")


def nftables(ruleset: str) -> None:
    """Load a ruleset into the namespace that this thread is in."""
    library = libnftables()
    context = library.nft_ctx_new(0)
    try:
        library.nft_ctx_buffer_error(context)
        if library.nft_run_cmd_from_buffer(context, ruleset.encode()):
            raise RuntimeError(f"nft: {library.nft_ctx_get_error_buffer(context).decode()}\n{ruleset}")
    finally:
        library.nft_ctx_free(context)


def die_with_parent() -> None:
    """End this process when the one that started it ends, however that happens."""
    checked(libc().prctl(DIE_WITH_PARENT, SIGKILL, 0, 0, 0))


def settle(namespace: str, name: str, files: Mapping[str, str]) -> None:
    """
    Let this process be a machine of its own, for good; what it sees goes with it.

    Args:
        namespace: path of its network namespace.
        name: its host name.
        files: what stands in some files of this machine, for this process alone.
    """
    checked(libc().setns(os.open(namespace, os.O_RDONLY | os.O_CLOEXEC), NEW_NET))
    checked(libc().unshare(NEW_MOUNTS | NEW_NAMES))
    checked(libc().mount(b"none", b"/", None, RECURSIVE | PRIVATE, None))
    checked(libc().mount(b"none", os.fsencode(SCRATCH), b"tmpfs", 0, None))
    for place, text in files.items():
        instead = SCRATCH / Path(place).name
        instead.write_text(text, encoding="ascii")
        checked(libc().mount(os.fsencode(instead), place.encode(), None, BIND, None))
    socket.sethostname(name)
