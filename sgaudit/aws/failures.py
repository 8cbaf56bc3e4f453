"""
What went wrong with AWS, in a sentence.

Errors are told apart by the code that AWS answered or by the name of botocore's class,
so that this module needs no botocore.
"""

from __future__ import annotations

from dataclasses import dataclass

from sgaudit.aws.operations import iam_action
from sgaudit.errors import CollectError

DENIED = frozenset({"UnauthorizedOperation", "AccessDenied", "AccessDeniedException"})
THROTTLED = frozenset(
    {
        "EC2ThrottledException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired", "RequestTimeTooSkewed", "RuntimeError"})
REJECTED = frozenset(
    {
        "AuthFailure",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
SIGNED_OUT = frozenset(
    {
        "LoginRefreshRequired",
        "LoginTokenLoadError",
        "SSOTokenLoadError",
        "TokenRetrievalError",
        "UnauthorizedException",
        "UnauthorizedSSOTokenError",
    }
)
UNREACHABLE = frozenset(
    {
        "ConnectTimeoutError",
        "ConnectionClosedError",
        "EndpointConnectionError",
        "HTTPClientError",
        "ProxyConnectionError",
        "ReadTimeoutError",
        "ResponseParserError",
        "SSLError",
    }
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where sgaudit was reading: what an error message can name."""

    region: str
    endpoint: str = ""
    profile: str = ""
    role_arn: str = ""


def code_of(error: BaseException) -> str:
    """Tell the code that AWS answered, or what kind of failure kept an answer away."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        return str(response.get("Error", {}).get("Code") or type(error).__name__)
    return type(error).__name__


def explain(error: BaseException, operation: str, place: Place) -> CollectError:
    """Turn a failure of botocore into one clear line and what to do about it."""
    code = code_of(error)
    operation = str(getattr(error, "operation_name", operation))
    for judge in (_no_identity, _bad_identity, _no_answer):
        sentence = judge(error, code, operation, place)
        if sentence:
            return CollectError(sentence[0], hint=sentence[1])
    if not operation:
        return CollectError(
            f"could not connect to AWS: {detail(error)}", hint="check the AWS files and the environment"
        )
    return CollectError(f"{operation} failed in {place.region}: {detail(error)}", hint="try again later")


def detail(error: BaseException) -> str:
    """Give what an exception says as one printable line."""
    line = " ".join(str(error).split()) or type(error).__name__
    return "".join(letter if letter.isprintable() else "?" for letter in line)


def _no_identity(error: BaseException, code: str, operation: str, place: Place) -> tuple[str, str] | None:
    del operation
    login = f'"aws sso login{" --profile " + place.profile if place.profile else ""}"'
    if code == "NoCredentialsError":
        return "no AWS credentials found", f'set them up with "aws configure" or {login}, or name a --profile'
    if code in SIGNED_OUT:
        login = '"aws login"' if code.startswith("Login") else login
        return f"the sign-in to AWS is missing or has expired ({code})", f"sign in again with {login}"
    if code in EXPIRED:
        return (
            f"the AWS credentials have expired ({code})",
            f"fetch new ones, for example with {login}; if they are new, set this machine's clock",
        )
    if code in {"PartialCredentialsError", "CredentialRetrievalError", "EOFError"}:
        return f"the AWS credentials could not be loaded: {detail(error)}", "mend the profile, or name another"
    return None


def _bad_identity(error: BaseException, code: str, operation: str, place: Place) -> tuple[str, str] | None:
    del error
    if operation == "AssumeRole" and code in DENIED:
        return (
            f"the role {place.role_arn or 'of the profile'} could not be assumed ({code})",
            "check the role's name, that it trusts you, its external id, and that you may sts:AssumeRole",
        )
    if code in REJECTED:
        return (
            f"AWS does not accept these credentials in {place.region} ({code})",
            "check the keys and the session token, and that the Region is enabled for the account",
        )
    if code == "OptInRequired":
        return (
            f"the Region {place.region} is not enabled for this account ({code})",
            "enable it in the account settings, or name another --region",
        )
    if code in DENIED:
        return (
            f"AWS refused {operation} in {place.region} ({code})",
            f"allow the IAM action {iam_action(operation)} to the user or role that reads",
        )
    return None


def _no_answer(error: BaseException, code: str, operation: str, place: Place) -> tuple[str, str] | None:
    if code in UNREACHABLE:
        endpoint = getattr(error, "kwargs", {}).get("endpoint_url") or place.endpoint
        where = f" at {endpoint}" if endpoint else ""
        return (
            f"no usable answer from AWS in {place.region}{where} ({code})",
            "check the network (proxy, VPN, DNS), --region and --endpoint-url",
        )
    if code in THROTTLED:
        return (
            f"AWS kept throttling {operation} in {place.region} ({code})",
            "something else uses up the account's request rate: try again later",
        )
    return None
