"""The show: build the cluster, then run the real commands on it, each printed before its output."""

from __future__ import annotations

import contextlib
import shlex
import threading
from typing import TYPE_CHECKING

from sgaudit.demo.cluster import build
from sgaudit.demo.server import EXPORTS, REGION, demo_environment, embedded_aws

if TYPE_CHECKING:
    from collections.abc import Callable

SELECTION = ("--tag", "cluster=train")

STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Can every node reach every other one as PyTorch's Gloo needs it? If not, what stops it?", ("scan", *SELECTION)),
    ("Which ports are open from whom to whom?", ("matrix", *SELECTION, "--protocol", "tcp")),
    (
        "Why can train-0 not reach train-4, although the port is open?",
        ("explain", "train-0", "train-4", "--port", "29500", *SELECTION),
    ),
    ("What is the least change that cures it, and what else would it open?", ("fix", "--dry-run", *SELECTION)),
)
"""What is said, and the command that is run after it."""

FINDINGS = 1


def demo(
    run_command: Callable[[list[str]], int],
    echo: Callable[[str], None],
    *,
    keep: bool = False,
    wait: Callable[[], None] | None = None,
) -> int:
    """
    Show sgaudit on a broken cluster in an embedded AWS.

    Args:
        run_command: runs `sgaudit` with these arguments in this process and gives the exit code.
        echo: prints a line.
        keep: leave the embedded AWS up after the commands, until `wait` returns.
        wait: returns when the user has had enough; Ctrl-C unless given.

    Returns:
        0, or the first exit code that says more than that there are findings.

    Raises:
        UsageError: moto is not installed.
    """
    from sgaudit.aws.session import AwsOptions, connect

    with demo_environment(), embedded_aws() as url:
        echo(f"An AWS of its own at {url}, in this process; nothing leaves the machine.")
        build(connect(AwsOptions(region=REGION, endpoint_url=url)).ec2)
        echo("In it: eight training nodes in two subnets. The job hangs in init_process_group.")
        code = run_steps(url, run_command, echo)
        if keep:
            _invite(url, echo)
            (wait or until_interrupted)()
    return code


def run_steps(url: str, run_command: Callable[[list[str]], int], echo: Callable[[str], None]) -> int:
    """Run the commands on an endpoint; give 0, or the first exit code that says more than that there are findings."""
    failures = []
    for words, arguments in STEPS:
        command = [*arguments, "--endpoint-url", url]
        echo(f"\n{words}\n$ sgaudit {shlex.join(command)}")
        code = run_command(command)
        if code not in (0, FINDINGS):
            failures.append(code)
    return failures[0] if failures else 0


def until_interrupted(pause: Callable[[], object] | None = None) -> None:
    """Return on Ctrl-C, which is no error here."""
    with contextlib.suppress(KeyboardInterrupt):
        (pause or threading.Event().wait)()


def _invite(url: str, echo: Callable[[str], None]) -> None:
    echo("\nThe embedded AWS stays up until Ctrl-C. In another terminal:")
    for name, value in EXPORTS.items():
        echo(f"export {name}={value}")
    echo(f"sgaudit scan {shlex.join(SELECTION)} --endpoint-url {url}")
