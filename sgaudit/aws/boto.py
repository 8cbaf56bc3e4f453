"""The one door to boto3: sessions, roles and clients."""

from __future__ import annotations

import difflib
import os
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import boto3
import botocore.session
from botocore.config import Config
from botocore.credentials import (
    AssumeRoleCredentialFetcher,
    CredentialProvider,
    CredentialResolver,
    DeferredRefreshableCredentials,
)
from botocore.exceptions import BotoCoreError, ClientError, ProfileNotFound
from botocore.parsers import DEFAULT_TIMESTAMP_PARSER, ResponseParserError

from sgaudit import __version__
from sgaudit.aws.failures import Place, explain
from sgaudit.aws.session import AwsOptions, Connection
from sgaudit.errors import CollectError

if TYPE_CHECKING:
    from collections.abc import Sequence

FAILURES: tuple[type[Exception], ...] = (
    BotoCoreError,
    ClientError,
    ResponseParserError,
    OSError,
    RuntimeError,
)
"""
What a call can raise. Credentials are renewed within calls: OSError comes from unreadable files, and
RuntimeError is how botocore says that new credentials are out of date already.
"""
CONNECT_FAILURES: tuple[type[Exception], ...] = (*FAILURES, EOFError, ValueError)
"""What connecting can raise besides: a prompt without a terminal, a bad URL in the environment."""
SESSION_NAME = "sgaudit"
MAX_CONNECTIONS = 16

# botocore's default loses calls under throttling. Adaptive mode measures the rate that the account
# allows and keeps to it (AWS SDKs reference, "Retry behavior").
READING = Config(
    retries={"mode": "adaptive", "total_max_attempts": 10},
    max_pool_connections=MAX_CONNECTIONS,
    connect_timeout=5,
    read_timeout=60,
    user_agent_extra=f"sgaudit/{__version__}",
)
IDENTIFYING = Config(
    retries={"mode": "standard", "total_max_attempts": 3},
    connect_timeout=5,
    read_timeout=15,
    user_agent_extra=f"sgaudit/{__version__}",
)


def connect(options: AwsOptions) -> Connection:
    """Do what `sgaudit.aws.session.connect` promises."""
    place = Place(options.region, options.endpoint_url, options.profile, options.role_arn)
    try:
        core = _session(options)
        place = Place(_region(core, options), options.endpoint_url, options.profile, options.role_arn)
        if options.role_arn:
            core = _assumed(core, options, place)
        session = boto3.Session(botocore_session=core, region_name=place.region)
        client = session.client("ec2", config=READING, endpoint_url=options.endpoint_url or None)
        _check_region(session, client.meta.endpoint_url, place.region)
        credentials = session.get_credentials()
        if credentials is None:
            raise CollectError(
                "no AWS credentials found",
                hint='set them up with "aws configure" or "aws sso login", or name a --profile',
            )
        credentials.get_frozen_credentials()
    except CONNECT_FAILURES as error:
        raise explain(error, "", place) from error
    place = Place(place.region, client.meta.endpoint_url, options.profile, options.role_arn)
    return Connection(client, place, FAILURES, partial(_account_id, session, options))


def _session(options: AwsOptions) -> Any:
    try:
        core = botocore.session.Session(profile=options.profile or None)
        core.get_scoped_config()
    except ProfileNotFound as error:
        name = str(error.kwargs["profile"])
        known = sorted(botocore.session.Session().available_profiles)
        listed = f"the AWS files have {', '.join(known)}" if known else "the AWS files have none at all"
        raise CollectError(f"unknown AWS profile {name!r}", hint=_suggestion(name, known) or listed) from error
    # A timestamp is passed on as the text that it was; parsing it takes a third of the whole reading.
    core.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=_timestamp)
    return core


def _timestamp(value: Any) -> Any:
    return value if isinstance(value, str) else DEFAULT_TIMESTAMP_PARSER(value)


def _region(core: Any, options: AwsOptions) -> str:
    region = options.region or core.get_config_variable("region") or os.environ.get("AWS_REGION", "")
    if not region:
        raise CollectError(
            "no AWS Region given",
            hint="name one with --region or AWS_DEFAULT_REGION, or set one in the profile",
        )
    return str(region)


def _check_region(session: Any, endpoint: str, region: str) -> None:
    """Refuse a misspelled Region at once: its host name would be looked up for minutes."""
    host = urlsplit(endpoint).hostname or ""
    if not host.startswith(f"ec2.{region}."):
        return
    known = [
        name
        for partition in session.get_available_partitions()
        for name in session.get_available_regions("ec2", partition_name=partition)
    ]
    if region not in known:
        raise CollectError(
            f"unknown AWS Region {region!r}",
            hint=_suggestion(region, known) or "if it is a new one, update boto3 or give its --endpoint-url",
        )


def _suggestion(name: str, known: Sequence[str]) -> str:
    swapped = [other for other in known if sorted(other) == sorted(name)]
    close = swapped or difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else ""


class _AssumedRole(CredentialProvider):  # type: ignore[misc]  # botocore has no types
    """Hands out the credentials of a role, fetched anew before they expire."""

    METHOD = "sgaudit-assume-role"

    def __init__(self, fetcher: AssumeRoleCredentialFetcher) -> None:
        super().__init__()
        self._fetcher = fetcher

    def load(self) -> Any:
        return DeferredRefreshableCredentials(method=self.METHOD, refresh_using=self._fetcher.fetch_credentials)


def _assumed(core: Any, options: AwsOptions, place: Place) -> Any:
    source = core.get_credentials()
    if source is None:
        raise CollectError(
            f"no AWS credentials found to assume {options.role_arn} with",
            hint='set them up with "aws configure" or "aws sso login", or name a --profile',
        )
    extra = {"RoleSessionName": SESSION_NAME}
    if options.external_id:
        extra["ExternalId"] = options.external_id
    fetcher = AssumeRoleCredentialFetcher(
        client_creator=partial(
            core.create_client,
            region_name=place.region,
            endpoint_url=_sts_url(options),
            config=IDENTIFYING,
        ),
        source_credentials=source,
        role_arn=options.role_arn,
        extra_args=extra,
    )
    assumed = _session(options)
    assumed.register_component("credential_provider", CredentialResolver([_AssumedRole(fetcher)]))
    return assumed


def _sts_url(options: AwsOptions) -> str | None:
    host = urlsplit(options.endpoint_url).hostname or ""
    ours = host.endswith((".amazonaws.com", ".amazonaws.com.cn", ".api.aws"))
    return None if ours or not host else options.endpoint_url


def _account_id(session: Any, options: AwsOptions) -> str:
    try:
        sts = session.client("sts", config=IDENTIFYING, endpoint_url=_sts_url(options))
        return str(sts.get_caller_identity().get("Account", ""))
    except FAILURES:
        return ""
