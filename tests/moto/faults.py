"""Answers of AWS that the embedded one never gives: refusals and throttling."""

from __future__ import annotations

from collections import Counter
from io import BytesIO
from typing import TYPE_CHECKING, Any

from botocore.awsrequest import AWSResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BODY = (
    '<?xml version="1.0" encoding="UTF-8"?><Response><Errors><Error><Code>{code}</Code>'
    "<Message>{message}</Message></Error></Errors><RequestID>0</RequestID></Response>"
)


class Body(BytesIO):
    """What botocore reads an answer from."""

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()


class Faults:
    """Makes calls of one client fail, and counts what is sent."""

    def __init__(self, client: Any) -> None:
        self._events = client.meta.events
        self._registered: list[tuple[str, Callable[..., Any]]] = []
        self.sent: Counter[str] = Counter()
        """Operation to attempts, the failed ones among them."""
        self._register("request-created.ec2", self._count)

    def close(self) -> None:
        """Leave the client as it was."""
        for event, handler in self._registered:
            self._events.unregister(event, handler)

    def _count(self, *, operation_name: str, **_: Any) -> None:
        self.sent[operation_name] += 1

    def _register(self, event: str, handler: Callable[..., Any]) -> None:
        self._events.register_first(event, handler)
        self._registered.append((event, handler))

    def answer(self, operation: str, code: str, *, status: int = 403, times: int | None = None) -> None:
        """Answer an operation (`*` for all) with an error, for ever or the first times."""
        left = [times]

        def fail(*, request: Any, **_: Any) -> AWSResponse | None:
            if left[0] == 0:
                return None
            if left[0] is not None:
                left[0] -= 1
            body = BODY.format(code=code, message=f"{code} was injected")
            return AWSResponse(request.url, status, {}, Body(body.encode()))

        self._register(_event(operation), fail)

    def breaks(self, operation: str, error: Exception) -> None:
        """Let an operation end in an exception of the transport."""

        def fail(**_: Any) -> None:
            raise error

        self._register(_event(operation), fail)


def _event(operation: str) -> str:
    return "before-send.ec2" if operation == "*" else f"before-send.ec2.{operation}"
