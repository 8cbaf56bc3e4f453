"""
What every test can rely on: the embedded AWS alone, no network but loopback, no settings of the user.

Environment variables that steer a run:
    SGAUDIT_TEST_ALL=1   a skip is a failure: for machines on which everything that tests need is installed
    SGAUDIT_EXAMPLES=n   n random examples a property instead of the few that are the same in every run
    SGAUDIT_GOLDEN=write write the golden outputs instead of comparing them
"""

from __future__ import annotations

import ipaddress
import json
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

pytest_plugins = ["pytester"]

KEPT = frozenset({"SGAUDIT_TEST_ALL", "SGAUDIT_EXAMPLES", "SGAUDIT_GOLDEN"})
REMOVED_PREFIXES = ("AWS_", "SGAUDIT_", "MOTO_", "CLICOLOR")
REMOVED = (
    "COLUMNS",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LINES",
    "NO_COLOR",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "PYTHONWARNINGS",
)
NOWHERE = os.path.join(os.devnull, "aws")  # noqa: PTH118  # no file can be below a device
NEUTRAL = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_SESSION_TOKEN": "testing",
    "AWS_SECURITY_TOKEN": "testing",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": NOWHERE,
    "AWS_SHARED_CREDENTIALS_FILE": NOWHERE,
    "LC_ALL": "C.UTF-8",
    "NO_PROXY": "127.0.0.1,localhost,::1",
    "no_proxy": "127.0.0.1,localhost,::1",
    "TZ": "UTC",
}
LOOPBACK_NAMES = frozenset({"", "localhost"})


def pytest_configure(config: pytest.Config) -> None:
    quiet = [HealthCheck.too_slow]
    settings.register_profile(
        "check",
        deadline=None,
        derandomize=True,
        max_examples=60,
        print_blob=True,
        suppress_health_check=quiet,
    )
    settings.register_profile(
        "full",
        deadline=None,
        max_examples=int(os.environ.get("SGAUDIT_EXAMPLES", "1000")),
        print_blob=True,
        suppress_health_check=quiet,
    )
    settings.load_profile("full" if "SGAUDIT_EXAMPLES" in os.environ else "check")


@pytest.fixture(scope="session", autouse=True)
def _neutral_environment() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name in REMOVED or (name.startswith(REMOVED_PREFIXES) and name not in KEPT):
                patch.delenv(name)
        for name, value in NEUTRAL.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def example() -> Path:
    """The first of the example snapshots, by name: for tests that need any real one."""
    paths = sorted((Path(__file__).parents[1] / "examples").rglob("*.json"))
    return next(path for path in paths if "Reservations" in json.loads(path.read_text(encoding="utf-8")))


def is_loopback(host: object) -> bool:
    """Tell whether a host, as given to a socket, is this machine and no other."""
    if host is None:
        return True
    text = host.decode() if isinstance(host, bytes) else str(host)
    try:
        return ipaddress.ip_address(text.partition("%")[0]).is_loopback
    except ValueError:
        return text in LOOPBACK_NAMES


class Guard:
    """
    Refuses connections to other machines and look-ups of their names, and remembers each attempt.

    A refusal in another thread, or one that the code under test swallows, fails the test all the same
    because of what is remembered.
    """

    def __init__(self) -> None:
        self.attempts: list[str] = []

    def check(self, host: object) -> None:
        if not is_loopback(host):
            self.attempts.append(str(host))
            pytest.fail(f"a test tried to reach {host!r}: tests talk to loopback alone", pytrace=True)

    def check_address(self, family: int, address: Any) -> None:
        if family in (socket.AF_INET, socket.AF_INET6):
            self.check(address[0])


@pytest.fixture(scope="session", autouse=True)
def _network_guard() -> Iterator[Guard]:
    guard = Guard()
    connect, connect_ex, sendto = socket.socket.connect, socket.socket.connect_ex, socket.socket.sendto
    getaddrinfo = socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        guard.check_address(self.family, address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        guard.check_address(self.family, address)
        return connect_ex(self, address)

    def guarded_sendto(self: socket.socket, data: Any, *rest: Any) -> int:
        guard.check_address(self.family, rest[-1])
        return sendto(self, data, *rest)

    def guarded_getaddrinfo(host: Any, *args: Any, **options: Any) -> Any:
        guard.check(host)
        return getaddrinfo(host, *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket.socket, "sendto", guarded_sendto)
        patch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)
        yield guard


@pytest.fixture(autouse=True)
def _loopback_only(_network_guard: Guard) -> Iterator[None]:
    _network_guard.attempts.clear()
    yield
    attempts = sorted(set(_network_guard.attempts))
    _network_guard.attempts.clear()
    if attempts:
        pytest.fail(f"the test tried to reach {', '.join(attempts)}: tests talk to loopback alone", pytrace=False)


def refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure that repeats the skip's reason."""
    if report.outcome == "skipped" and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"nothing may be skipped with SGAUDIT_TEST_ALL=1: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if os.environ.get("SGAUDIT_TEST_ALL") == "1":
        refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if os.environ.get("SGAUDIT_TEST_ALL") == "1":
        refuse_skip(report)
    return report
