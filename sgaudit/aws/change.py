"""The only place that changes anything in AWS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sgaudit.aws.failures import DENIED, THROTTLED, code_of, detail, explain
from sgaudit.aws.operations import OPERATIONS, iam_action
from sgaudit.errors import CallError, Failure, UsageError

if TYPE_CHECKING:
    from sgaudit.aws.session import Connection

CHANGES: Mapping[str, str] = {
    "AuthorizeSecurityGroupEgress": "authorize_security_group_egress",
    "AuthorizeSecurityGroupIngress": "authorize_security_group_ingress",
    "CreateManagedPrefixList": "create_managed_prefix_list",
    "CreateNetworkAclEntry": "create_network_acl_entry",
    "CreateSecurityGroup": "create_security_group",
    "DeleteManagedPrefixList": "delete_managed_prefix_list",
    "DeleteNetworkAclEntry": "delete_network_acl_entry",
    "DeleteSecurityGroup": "delete_security_group",
    "ModifyNetworkInterfaceAttribute": "modify_network_interface_attribute",
    "ReplaceNetworkAclEntry": "replace_network_acl_entry",
    "RevokeSecurityGroupEgress": "revoke_security_group_egress",
    "RevokeSecurityGroupIngress": "revoke_security_group_ingress",
}
"""Every change that sgaudit can make, to the method of the boto3 client; nothing else is ever called."""
AWS_HOSTS = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")
SERVER_FAULT = 500
NEVER_SENT = frozenset({"ParamValidationError", "UnknownParameterError"})
"""Classes of botocore for requests that it refuses to send."""

Raw = Mapping[str, Any]


class Ec2Changer:
    """One account and Region that can be read and changed."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        events = connection.ec2.meta.events
        for name in CHANGES:
            events.register_first(f"needs-retry.ec2.{name}", _never_blindly, unique_id=f"sgaudit-change-{name}")

    @property
    def is_aws(self) -> bool:
        """Whether AWS itself answers, and not an emulator."""
        return (urlsplit(self._connection.place.endpoint).hostname or "").endswith(AWS_HOSTS)

    def read(self, api: str, params: Raw) -> Sequence[Raw]:
        """
        Read one kind of thing, whole.

        Raises:
            CallError: it could not be read.
        """
        operation = OPERATIONS[api]
        client = self._connection.ec2
        items: list[Raw] = []
        try:
            # Page sizes don't go with ids.
            by_id = any(name.endswith("Ids") for name in params)
            config = {} if by_id else {"PageSize": operation.page_size}
            for page in client.get_paginator(operation.method).paginate(**params, PaginationConfig=config):
                items += page.get(operation.result) or []
        except self._connection.failures as error:
            raise self._failed(api, error) from error
        return items

    def change(self, api: str, params: Raw) -> Raw:
        """
        Make one change, and give the answer with its `RequestId`.

        Raises:
            CallError: it was refused, or nobody knows whether it was made.
            UsageError: it is none of `CHANGES`.
        """
        try:
            answer = self._method(api)(**params)
        except self._connection.failures as error:
            raise self._failed(api, error) from error
        metadata = answer.pop("ResponseMetadata", {})
        return {**answer, "RequestId": str(metadata.get("RequestId", ""))}

    def ask(self, api: str, params: Raw) -> str:
        """
        Ask whether a change would be allowed, and give the code that EC2 answers.

        Raises:
            CallError: no answer came.
            UsageError: it is none of `CHANGES`.
        """
        try:
            self._method(api)(**params, DryRun=True)
        except self._connection.failures as error:
            failed = self._failed(api, error)
            if failed.failure is Failure.UNANSWERED:
                raise failed from error
            return failed.code
        return ""

    def _method(self, api: str) -> Any:
        if api not in CHANGES:
            raise UsageError(f"sgaudit does not call {api}", hint="make the plan with sgaudit fix")
        return getattr(self._connection.ec2, CHANGES[api])

    def _failed(self, api: str, error: Exception) -> CallError:
        code, failure = code_of(error), failure_of(error)
        response = getattr(error, "response", None)
        metadata = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
        if failure is Failure.DENIED:
            message, hint = f"AWS refused {api} ({code})", f"allow the IAM action {iam_action(api)}"
        elif failure is Failure.REFUSED:
            said = response.get("Error", {}).get("Message") if isinstance(response, dict) else None
            message, hint = f"AWS refused {api}: {code}: {detail(Exception(said or error))}", ""
        else:
            explained = explain(error, api, self._connection.place)
            message, hint = explained.message, explained.hint
        return CallError(message, code=code, failure=failure, request_id=str(metadata.get("RequestId", "")), hint=hint)


def failure_of(error: BaseException) -> Failure:
    """Tell what a failed call means for the account."""
    response = getattr(error, "response", None)
    code = code_of(error)
    if not isinstance(response, dict):
        return Failure.REFUSED if code in NEVER_SENT else Failure.UNANSWERED
    if code in THROTTLED:
        return Failure.THROTTLED
    if code in DENIED:
        return Failure.DENIED
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    return Failure.UNANSWERED if status >= SERVER_FAULT else Failure.REFUSED


def _never_blindly(
    *,
    operation: Any,
    response: tuple[Any, Mapping[str, Any]] | None = None,
    caught_exception: Exception | None = None,
    **_: Any,
) -> None:
    """
    Keep botocore from repeating a change (its `needs-retry` event).

    Whoever made it waits, and reads first whether it was made where no answer tells.
    """
    from botocore.exceptions import ClientError

    if caught_exception is not None:
        raise caught_exception
    if response is not None and response[1].get("Error"):
        raise ClientError(dict(response[1]), operation.name)
