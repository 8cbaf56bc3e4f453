"""The embedded AWS: moto's server on a free port of loopback."""

from __future__ import annotations

import http.client
import logging
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sgaudit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ADDRESS = "127.0.0.1"
REGION = "us-east-1"

EXPORTS: Mapping[str, str] = {
    "AWS_ACCESS_KEY_ID": "demo",
    "AWS_SECRET_ACCESS_KEY": "demo",
    "AWS_DEFAULT_REGION": REGION,
}
"""What a shell needs in order to talk to the embedded AWS."""

OURS_ALONE: Mapping[str, str] = {
    **EXPORTS,
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    "SGAUDIT_CONFIG": "",
    "NO_PROXY": ADDRESS,
    "no_proxy": ADDRESS,
}
FOREIGN = ("AWS_", "SGAUDIT_", "MOTO_")
"""Prefixes of variables that would lead the demo to somebody's account, or change what it shows."""


@contextmanager
def embedded_aws() -> Iterator[str]:
    """
    Start the server for the duration of the block, and give its URL. Its accounts are empty.

    Raises:
        UsageError: moto is not installed.
    """
    try:
        from moto.server import ThreadedMotoServer
    except ImportError as error:
        raise UsageError(
            'the demo needs the extra: pip install "sgaudit[demo]"',
            hint=f"it brings moto, the embedded AWS (Python says: {error})",
        ) from error
    with _quiet("werkzeug"):
        server = ThreadedMotoServer(ip_address=ADDRESS, port=0, verbose=False)
        server.start()
        try:
            host, port = server.get_host_and_port()
            _prepare(host, port)
            yield f"http://{host}:{port}"
        finally:
            server.stop()


@contextmanager
def demo_environment() -> Iterator[None]:
    """Take AWS settings from the demo alone for the duration of the block; what was there comes back."""
    before = dict(os.environ)
    for name in before:
        if name.startswith(FOREIGN):
            del os.environ[name]
    os.environ.update(OURS_ALONE)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


def _prepare(host: str, port: int) -> None:
    """Forget what this process built before (its servers share it), and draw the same ids in every run."""
    connection = http.client.HTTPConnection(host, port)
    try:
        for path in ("/moto-api/reset", "/moto-api/seed?a=8"):
            connection.request("POST", path)
            connection.getresponse().read()
    finally:
        connection.close()


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
