"""What tests rely on holds: a guarded network, a neutral environment, and no skip where none may be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.conftest import is_loopback

ROOT = Path(__file__).parents[2]
CONFTEST = (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8")
SETTINGS = "[pytest]\naddopts = -p no:cacheprovider -p no:randomly\n"

SKIPS = """
    import pytest

    def test_passes():
        pass

    def test_skips():
        pytest.skip("needs root")

    @pytest.mark.skipif(True, reason="needs a browser")
    def test_is_skipped():
        pass

    @pytest.mark.xfail(reason="moto forgets it", strict=True)
    def test_fails_as_expected():
        assert 0
"""
SKIPPED_MODULE = """
    import pytest

    pytest.importorskip("no_such_module", reason="needs torch")

    def test_passes():
        pass
"""
REACHES = """
    import contextlib
    import socket
    import threading

    def reach(kind=socket.SOCK_STREAM):
        with socket.socket(socket.AF_INET, kind) as sock:
            sock.settimeout(0.2)
            sock.connect(("192.0.2.1", 9))

    def test_connects():
        reach()

    def test_connects_in_a_thread():
        thread = threading.Thread(target=lambda: swallow(reach))
        thread.start()
        thread.join()

    def test_swallows_the_refusal():
        swallow(reach)

    def test_sends_a_datagram():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(b"", ("192.0.2.1", 9))

    def test_looks_up_a_name():
        socket.getaddrinfo("ec2.us-east-1.amazonaws.com", 443)

    def swallow(function):
        with contextlib.suppress(BaseException):
            function()

    def test_loopback_is_fine():
        with socket.create_server(("127.0.0.1", 0)) as server:
            with socket.create_connection(server.getsockname()):
                pass
        with socket.create_server(("::1", 0), family=socket.AF_INET6) if socket.has_ipv6 else server:
            pass

    def test_unix_sockets_are_fine(tmp_path):
        one, other = socket.socketpair()
        one.close()
        other.close()
"""


def outcomes(pytester: pytest.Pytester) -> dict[str, int]:
    pytester.makeconftest(CONFTEST)
    pytester.makeini(SETTINGS)
    return pytester.runpytest_subprocess().parseoutcomes()


@pytest.mark.install
@pytest.mark.parametrize(
    ("everything", "source", "expected"),
    [
        ("", SKIPS, {"passed": 1, "skipped": 2, "xfailed": 1}),
        ("1", SKIPS, {"passed": 1, "failed": 1, "errors": 1, "xfailed": 1}),
        ("", SKIPPED_MODULE, {"skipped": 1}),
        ("1", SKIPPED_MODULE, {"errors": 1}),
    ],
)
def test_a_skip_is_a_failure_where_everything_is_installed(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    everything: str,
    source: str,
    expected: dict[str, int],
) -> None:
    """With SGAUDIT_TEST_ALL=1 every kind of skip fails, and an expected failure stays one."""
    monkeypatch.setenv("SGAUDIT_TEST_ALL", everything)
    pytester.makepyfile(source)
    assert outcomes(pytester) == expected


@pytest.mark.install
def test_the_network_is_guarded(pytester: pytest.Pytester) -> None:
    """Whoever tries to leave the machine fails, even when the refusal is swallowed; loopback works."""
    pytester.makepyfile(REACHES)
    found = outcomes(pytester)
    assert (found["passed"], found["failed"] + found["errors"] >= 5) == (4, True)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        (b"localhost", True),
        (None, True),
        ("", True),
        ("10.0.0.1", False),
        ("fe80::1%eth0", False),
        ("169.254.169.254", False),
        ("localhost.example.org", False),
    ],
)
def test_loopback(host: object, expected: bool) -> None:
    """This machine's own addresses are told from all others."""
    assert is_loopback(host) is expected


def test_the_environment_is_neutral() -> None:
    """No variable of the user's steers AWS or sgaudit."""
    found = {name: value for name, value in os.environ.items() if name.startswith(("AWS_", "SGAUDIT_"))}
    kept = {"SGAUDIT_TEST_ALL", "SGAUDIT_EXAMPLES", "SGAUDIT_GOLDEN"}

    assert {name: value for name, value in found.items() if name not in kept} == {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_SESSION_TOKEN": "testing",
        "AWS_SECURITY_TOKEN": "testing",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/dev/null/aws",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null/aws",
    }


def test_properties_have_no_time_limit() -> None:
    """A slow machine fails no property."""
    assert settings().deadline is None


def test_every_folder_of_tests_is_a_package() -> None:
    """Two test files may have the same name, because each has its folder in its module's name."""
    folders = {path.parent for path in (ROOT / "tests").rglob("*.py")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []
