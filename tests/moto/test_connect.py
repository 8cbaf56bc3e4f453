"""Who connects, and where to: what works, and the one line for everything that does not."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError
from moto import mock_aws

from sgaudit import __version__
from sgaudit.aws.collect import collect
from sgaudit.aws.session import AwsOptions, connect
from sgaudit.errors import CollectError, SgauditError, UsageError
from sgaudit.selection import Selection
from tests.moto.conftest import REGION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sgaudit.aws.session import Connection
    from tests.moto.faults import Faults

pytestmark = pytest.mark.moto

ROLE = "arn:aws:iam::210987654321:role/auditor"
EVERYTHING = Selection(everything=True)

CONFIG = """\
[default]
region = eu-west-1
[profile training]
region = eu-central-1
aws_access_key_id = testing
aws_secret_access_key = testing
[profile broken]
region = eu-central-1
credential_process = /nowhere/credentials
[profile failing]
region = eu-central-1
credential_process = false
[profile signed-in]
region = eu-central-1
sso_session = company
sso_account_id = 123456789012
sso_role_name = auditor
[sso-session company]
sso_region = eu-central-1
sso_start_url = https://company.example/start
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An AWS configuration file of the user."""
    path = tmp_path / "config"
    path.write_text(CONFIG, encoding="utf-8")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(path))
    monkeypatch.setenv("HOME", str(tmp_path))
    return path


@pytest.fixture
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)


def said(error: SgauditError) -> tuple[int, str, str]:
    """Give all that a user sees of an error."""
    assert error.message.isprintable()
    return error.exit_code, error.message, error.hint


def test_client(config: Path) -> None:
    """The client keeps to the rate that the account allows, and says who it is."""
    connection = connect(AwsOptions(profile="training"))

    settings = connection.ec2.meta.config
    assert settings.retries == {"mode": "adaptive", "total_max_attempts": 10}
    assert settings.user_agent_extra == f"sgaudit/{__version__}"
    assert connection.place.region == "eu-central-1"
    assert connection.ec2.meta.endpoint_url == "https://ec2.eu-central-1.amazonaws.com"


@pytest.mark.parametrize(
    ("options", "environment", "region"),
    [
        (AwsOptions(region="us-west-2"), {"AWS_DEFAULT_REGION": "us-west-1"}, "us-west-2"),
        (AwsOptions(), {"AWS_DEFAULT_REGION": "us-west-1", "AWS_REGION": "us-east-2"}, "us-west-1"),
        (AwsOptions(profile="training"), {}, "eu-central-1"),
        (AwsOptions(), {}, "eu-west-1"),
        (AwsOptions(region="cn-north-1"), {}, "cn-north-1"),
        (AwsOptions(region="us-gov-west-1"), {}, "us-gov-west-1"),
        (AwsOptions(region="moon-1", endpoint_url="http://127.0.0.1:1"), {}, "moon-1"),
        (AwsOptions(region="moon-1"), {"AWS_ENDPOINT_URL_EC2": "http://127.0.0.1:1"}, "moon-1"),
    ],
)
@pytest.mark.usefixtures("config")
def test_region(monkeypatch: pytest.MonkeyPatch, options: AwsOptions, environment: dict[str, str], region: str) -> None:
    """The Region comes from the option, the environment or the profile; any name will do with an endpoint."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert connect(options).place.region == region


def test_region_of_other_sdks(monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS_REGION counts where nothing else says a Region."""
    monkeypatch.setenv("AWS_REGION", "us-east-2")

    assert connect(AwsOptions()).place.region == "us-east-2"


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (
            AwsOptions(profile="trainning"),
            "unknown AWS profile 'trainning'",
            "did you mean 'training'?",
        ),
        (
            AwsOptions(profile="xyz"),
            "unknown AWS profile 'xyz'",
            "the AWS files have broken, default, failing, signed-in, training",
        ),
        (AwsOptions(region="us-esat-1"), "unknown AWS Region 'us-esat-1'", "did you mean 'us-east-1'?"),
        (
            AwsOptions(region="xyz"),
            "unknown AWS Region 'xyz'",
            "if it is a new one, update boto3 or give its --endpoint-url",
        ),
        (
            AwsOptions(profile="broken"),
            "could not connect to AWS: [Errno 2] No such file or directory: '/nowhere/credentials'",
            "check the AWS files and the environment",
        ),
        (
            AwsOptions(profile="failing"),
            "the AWS credentials could not be loaded: Error when retrieving credentials from custom-process:",
            "mend the profile, or name another",
        ),
        (
            AwsOptions(profile="signed-in"),
            "the sign-in to AWS is missing or has expired (SSOTokenLoadError)",
            'sign in again with "aws sso login --profile signed-in"',
        ),
    ],
)
@pytest.mark.usefixtures("config", "_no_keys")
def test_refused(options: AwsOptions, message: str, hint: str) -> None:
    """What is misspelled or broken is told at once, with what was probably meant."""
    with pytest.raises(CollectError) as caught:
        connect(options)

    assert said(caught.value) == (4, message, hint)


def test_no_region() -> None:
    """Without any Region the error says where to put one."""
    with pytest.raises(CollectError) as caught:
        connect(AwsOptions())

    assert said(caught.value) == (
        4,
        "no AWS Region given",
        "name one with --region or AWS_DEFAULT_REGION, or set one in the profile",
    )


def test_no_profiles() -> None:
    """Without AWS files there is no profile to suggest."""
    with pytest.raises(CollectError) as caught:
        connect(AwsOptions(profile="training"))

    assert said(caught.value) == (4, "unknown AWS profile 'training'", "the AWS files have none at all")


def test_broken_file(config: Path) -> None:
    """A file that AWS's tools can't read is named."""
    config.write_text("[[[", encoding="utf-8")

    with pytest.raises(CollectError) as caught:
        connect(AwsOptions())

    assert said(caught.value) == (
        4,
        f"could not connect to AWS: Unable to parse config file: {config}",
        "check the AWS files and the environment",
    )


@pytest.mark.usefixtures("_no_keys")
@pytest.mark.parametrize(
    ("role_arn", "message"),
    [("", "no AWS credentials found"), (ROLE, f"no AWS credentials found to assume {ROLE} with")],
)
def test_no_credentials(role_arn: str, message: str) -> None:
    """Without credentials there is one line, whether a role is wanted or not."""
    with pytest.raises(CollectError) as caught:
        connect(AwsOptions(region=REGION, role_arn=role_arn))

    assert said(caught.value) == (
        4,
        message,
        'set them up with "aws configure" or "aws sso login", or name a --profile',
    )


def test_half_of_the_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key without its secret is told as such."""
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")

    with pytest.raises(CollectError) as caught:
        connect(AwsOptions(region=REGION))

    assert said(caught.value) == (
        4,
        "the AWS credentials could not be loaded: Partial credentials found in env, missing: AWS_SECRET_ACCESS_KEY",
        "mend the profile, or name another",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"endpoint_url": "127.0.0.1:5000"}, "--endpoint-url '127.0.0.1:5000' is not a URL"),
        ({"endpoint_url": "ftp://127.0.0.1"}, "--endpoint-url 'ftp://127.0.0.1' is not a URL"),
        ({"endpoint_url": "http://[::1"}, "--endpoint-url 'http://[::1' is not a URL"),
        ({"endpoint_url": "http://host:99999"}, "--endpoint-url 'http://host:99999' is not a URL"),
        ({"role_arn": "auditor"}, "--role-arn 'auditor' is not the ARN of an IAM role"),
        ({"external_id": "x1"}, "--external-id goes with --role-arn only"),
    ],
)
def test_unusable_options(options: dict[str, str], message: str) -> None:
    """A value that can't be one is refused before anything is asked."""
    with pytest.raises(UsageError) as caught:
        AwsOptions(**options)

    assert caught.value.message == message


def test_role() -> None:
    """With a role the account is the role's."""
    with mock_aws():
        connection = connect(AwsOptions(region=REGION, role_arn=ROLE, external_id="secret"))
        vpc = connection.ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]

        assert connection.account_id() == "210987654321"
        assert vpc["OwnerId"] == "210987654321"


class Sts:
    """Answers AssumeRole, and writes down who was asked for what."""

    def __init__(self, expiration: str) -> None:
        self.expiration = expiration
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def answer(self, client: Any, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        assert operation == "AssumeRole"
        self.requests.append((client.meta.endpoint_url, request))
        credentials = {"AccessKeyId": "key", "SecretAccessKey": "secret", "SessionToken": "token"}
        return {
            "Credentials": {**credentials, "Expiration": self.expiration},
            "AssumedRoleUser": {"AssumedRoleId": "AROA:sgaudit", "Arn": ROLE},
        }


@pytest.fixture
def sts(monkeypatch: pytest.MonkeyPatch) -> Sts:
    fake = Sts("2999-01-01T00:00:00Z")

    def call(client: Any, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return fake.answer(client, operation, request)

    monkeypatch.setattr(BaseClient, "_make_api_call", call)
    return fake


@pytest.mark.parametrize(
    ("endpoint_url", "asked"),
    [
        ("", "https://sts.us-east-1.amazonaws.com"),
        ("http://127.0.0.1:5000", "http://127.0.0.1:5000"),
        ("https://vpce-1.ec2.us-east-1.vpce.amazonaws.com", "https://sts.us-east-1.amazonaws.com"),
    ],
)
def test_role_request(sts: Sts, endpoint_url: str, asked: str) -> None:
    """STS is asked once, where it answers, under sgaudit's name, with the external id."""
    connect(AwsOptions(region=REGION, role_arn=ROLE, external_id="secret", endpoint_url=endpoint_url))

    request = {"RoleArn": ROLE, "RoleSessionName": "sgaudit", "ExternalId": "secret"}
    assert sts.requests == [(asked, request)]


def test_role_is_renewed(sts: Sts) -> None:
    """Credentials of a role that are about to expire are fetched anew before they are used."""
    soon = datetime.now(UTC) + timedelta(minutes=5)
    sts.expiration = soon.isoformat()
    connection = connect(AwsOptions(region=REGION, role_arn=ROLE))
    assert len(sts.requests) == 1

    connection.ec2.generate_presigned_url("describe_instances")

    assert [request for _, request in sts.requests] == [{"RoleArn": ROLE, "RoleSessionName": "sgaudit"}] * 2


def test_wrong_clock(sts: Sts) -> None:
    """Fresh credentials that this machine takes for expired point to its clock."""
    sts.expiration = "2020-01-01T00:00:00Z"

    with pytest.raises(CollectError) as caught:
        connect(AwsOptions(region=REGION, role_arn=ROLE))

    assert said(caught.value) == (
        4,
        "the AWS credentials have expired (RuntimeError)",
        'fetch new ones, for example with "aws sso login"; if they are new, set this machine\'s clock',
    )


@pytest.mark.parametrize(
    ("code", "message", "hint"),
    [
        (
            "AccessDenied",
            f"the role {ROLE} could not be assumed (AccessDenied)",
            "check the role's name, that it trusts you, its external id, and that you may sts:AssumeRole",
        ),
        (
            "ExpiredToken",
            "the AWS credentials have expired (ExpiredToken)",
            'fetch new ones, for example with "aws sso login"; if they are new, set this machine\'s clock',
        ),
        (
            "InvalidClientTokenId",
            "AWS does not accept these credentials in us-east-1 (InvalidClientTokenId)",
            "check the keys and the session token, and that the Region is enabled for the account",
        ),
    ],
)
def test_role_refused(monkeypatch: pytest.MonkeyPatch, code: str, message: str, hint: str) -> None:
    """A role that can't be assumed ends in a line that says whose fault it may be."""

    def refuse(client: Any, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        raise ClientError({"Error": {"Code": code, "Message": "no\nand no"}}, operation)

    monkeypatch.setattr(BaseClient, "_make_api_call", refuse)

    with pytest.raises(CollectError) as caught:
        connect(AwsOptions(region=REGION, role_arn=ROLE))

    assert said(caught.value) == (4, message, hint)


INVALID = (
    "DescribeInstances failed in us-east-1: An error occurred (InvalidParameterValue) when calling the "
    "DescribeInstances operation: InvalidParameterValue was injected"
)


@pytest.mark.parametrize(
    ("code", "message", "hint"),
    [
        (
            "RequestExpired",
            "the AWS credentials have expired (RequestExpired)",
            'fetch new ones, for example with "aws sso login"; if they are new, set this machine\'s clock',
        ),
        (
            "AuthFailure",
            "AWS does not accept these credentials in us-east-1 (AuthFailure)",
            "check the keys and the session token, and that the Region is enabled for the account",
        ),
        (
            "SignatureDoesNotMatch",
            "AWS does not accept these credentials in us-east-1 (SignatureDoesNotMatch)",
            "check the keys and the session token, and that the Region is enabled for the account",
        ),
        (
            "OptInRequired",
            "the Region us-east-1 is not enabled for this account (OptInRequired)",
            "enable it in the account settings, or name another --region",
        ),
        (
            "InvalidParameterValue",
            INVALID,
            "try again later",
        ),
    ],
)
def test_first_read_fails(connection: Connection, faults: Faults, code: str, message: str, hint: str) -> None:
    """What only the first call brings to light ends the run in one line."""
    faults.answer("DescribeInstances", code, status=400)

    with pytest.raises(CollectError) as caught:
        collect(connection, EVERYTHING)

    assert said(caught.value) == (4, message, hint)


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_closed_port(monkeypatch: pytest.MonkeyPatch, closed_port: int) -> None:
    """An endpoint that nobody listens at is given up soon, and named; the account stays unknown."""
    monkeypatch.setattr(time, "sleep", lambda _: None)
    connection = connect(AwsOptions(region=REGION, endpoint_url=f"http://127.0.0.1:{closed_port}"))

    with pytest.raises(CollectError) as caught:
        collect(connection, EVERYTHING)

    assert said(caught.value) == (
        4,
        f"no usable answer from AWS in us-east-1 at http://127.0.0.1:{closed_port}/ (EndpointConnectionError)",
        "check the network (proxy, VPN, DNS), --region and --endpoint-url",
    )
    assert connection.account_id() == ""


@pytest.fixture
def web_page() -> Iterator[str]:
    """The URL of a server that knows nothing of EC2."""

    class Page(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html><p>It works!")

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_not_aws(monkeypatch: pytest.MonkeyPatch, web_page: str) -> None:
    """An answer that isn't EC2's ends in the same line as none."""
    monkeypatch.setattr(time, "sleep", lambda _: None)

    with pytest.raises(CollectError) as caught:
        collect(connect(AwsOptions(region=REGION, endpoint_url=web_page)), EVERYTHING)

    assert said(caught.value) == (
        4,
        f"no usable answer from AWS in us-east-1 at {web_page} (ResponseParserError)",
        "check the network (proxy, VPN, DNS), --region and --endpoint-url",
    )


INTERRUPTED = """
import sys
from sgaudit.aws.collect import collect
from sgaudit.aws.session import AwsOptions, connect
from sgaudit.selection import Selection
try:
    collect(connect(AwsOptions(region="us-east-1", endpoint_url=sys.argv[1])), Selection(everything=True))
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_interrupted() -> None:
    """Ctrl-C ends a run that waits for an answer, at once and without a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        command = [sys.executable, "-c", INTERRUPTED, url]
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process,
            listener.accept()[0] as call,
        ):
            call.recv(1)
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate()

    assert (process.returncode, output) == (130, b"")
