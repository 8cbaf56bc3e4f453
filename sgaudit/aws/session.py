"""Who reads, and where: profile, role, Region and endpoint, made into one connection."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sgaudit.aws.failures import Place
from sgaudit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

_ROLE = re.compile(r"arn:aws[\w-]*:iam::\d{12}:role/\S+")


@dataclass(frozen=True, slots=True)
class AwsOptions:
    """What the command line says about AWS; what is empty comes from the environment and the AWS files."""

    profile: str = ""
    region: str = ""
    role_arn: str = ""
    external_id: str = field(default="", repr=False)
    endpoint_url: str = ""
    """Where EC2 answers. An emulator's URL serves STS as well, an AWS one (a VPC endpoint) EC2 alone."""

    def __post_init__(self) -> None:
        if self.endpoint_url:
            _check_url(self.endpoint_url)
        if self.role_arn and not _ROLE.fullmatch(self.role_arn):
            raise UsageError(
                f"--role-arn {self.role_arn!r} is not the ARN of an IAM role",
                hint="for example arn:aws:iam::123456789012:role/auditor",
            )
        if self.external_id and not self.role_arn:
            raise UsageError("--external-id goes with --role-arn only", hint="give the role, or leave it out")


@dataclass(frozen=True, slots=True)
class Connection:
    """One account and Region of AWS, ready to be read. botocore's clients may be shared between threads."""

    ec2: Any
    """The one EC2 client: adaptive retries share its rate limiter."""
    place: Place
    failures: tuple[type[Exception], ...]
    """Every exception that a call of the client can raise."""
    account_id: Callable[[], str]
    """Asks STS for the account; empty when it does not tell."""


def connect(options: AwsOptions) -> Connection:
    """
    Find credentials, assume the role and make the client. No EC2 call is made.

    Raises:
        CollectError: no credentials, no such profile or Region, or the role can't be assumed.
        UsageError: the configured endpoint is no URL.
    """
    # Loading boto3 takes longer than many a scan of a snapshot, which needs none of it.
    from sgaudit.aws import boto

    return boto.connect(options)


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise UsageError(f"--endpoint-url {url!r} is not a URL", hint="for example http://127.0.0.1:5000")
