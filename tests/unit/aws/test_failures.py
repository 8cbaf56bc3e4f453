"""Every kind of failure in one printable line, with what to do."""

from __future__ import annotations

import pytest

from sgaudit.aws.failures import Place, code_of, explain

HERE = Place("us-east-1", "https://ec2.example", profile="training", role_arn="arn:aws:iam::1:role/r")
LOGIN = '"aws sso login --profile training"'
NETWORK = "check the network (proxy, VPN, DNS), --region and --endpoint-url"


class Answered(Exception):  # noqa: N818 - stands in for botocore's ClientError
    """An answer of AWS with an error code."""

    def __init__(self, code: str, operation: str = "DescribeInstances", message: str = "no") -> None:
        super().__init__(message)
        self.response = {"Error": {"Code": code, "Message": message}}
        self.operation_name = operation


def raised(name: str, message: str = "") -> Exception:
    """Give an exception of a class of botocore's."""
    error: Exception = type(name, (Exception,), {})(message)
    return error


@pytest.mark.parametrize(
    ("error", "operation", "message", "hint"),
    [
        (
            raised("NoCredentialsError"),
            "DescribeInstances",
            "no AWS credentials found",
            f'set them up with "aws configure" or {LOGIN}, or name a --profile',
        ),
        (
            raised("LoginRefreshRequired"),
            "",
            "the sign-in to AWS is missing or has expired (LoginRefreshRequired)",
            'sign in again with "aws login"',
        ),
        (
            raised("UnauthorizedSSOTokenError"),
            "",
            "the sign-in to AWS is missing or has expired (UnauthorizedSSOTokenError)",
            f"sign in again with {LOGIN}",
        ),
        (
            Answered("ExpiredToken"),
            "DescribeInstances",
            "the AWS credentials have expired (ExpiredToken)",
            f"fetch new ones, for example with {LOGIN}; if they are new, set this machine's clock",
        ),
        (
            EOFError("no terminal"),
            "",
            "the AWS credentials could not be loaded: no terminal",
            "mend the profile, or name another",
        ),
        (
            Answered("AccessDenied", "AssumeRole"),
            "",
            "the role arn:aws:iam::1:role/r could not be assumed (AccessDenied)",
            "check the role's name, that it trusts you, its external id, and that you may sts:AssumeRole",
        ),
        (
            Answered("UnauthorizedOperation"),
            "DescribeInstances",
            "AWS refused DescribeInstances in us-east-1 (UnauthorizedOperation)",
            "allow the IAM action ec2:DescribeInstances to the user or role that reads",
        ),
        (
            Answered("AuthFailure"),
            "DescribeInstances",
            "AWS does not accept these credentials in us-east-1 (AuthFailure)",
            "check the keys and the session token, and that the Region is enabled for the account",
        ),
        (
            raised("SSLError"),
            "DescribeInstances",
            "no usable answer from AWS in us-east-1 at https://ec2.example (SSLError)",
            NETWORK,
        ),
        (
            Answered("RequestLimitExceeded"),
            "DescribeInstances",
            "AWS kept throttling DescribeInstances in us-east-1 (RequestLimitExceeded)",
            "something else uses up the account's request rate: try again later",
        ),
        (
            Answered("InternalError", message="so\n\tmuch \x1b[31mtext"),
            "DescribeInstances",
            "DescribeInstances failed in us-east-1: so much ?[31mtext",
            "try again later",
        ),
        (
            raised("ConfigParseError"),
            "",
            "could not connect to AWS: ConfigParseError",
            "check the AWS files and the environment",
        ),
    ],
)
def test_explain(error: Exception, operation: str, message: str, hint: str) -> None:
    """Message and hint, whole; nothing that AWS wrote reaches a terminal as a control character."""
    explained = explain(error, operation, HERE)

    assert (explained.exit_code, explained.message, explained.hint) == (4, message, hint)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Answered("Throttling"), "Throttling"),
        (Answered(""), "Answered"),
        (raised("ReadTimeoutError"), "ReadTimeoutError"),
    ],
)
def test_code(error: Exception, code: str) -> None:
    """The code is AWS's where it gave one, else the kind of failure."""
    assert code_of(error) == code
