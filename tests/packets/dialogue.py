"""How a process of the laboratory is talked to: requests as lines of JSON, and a line for each answer."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from typing import Any


def answer_all(handle: Callable[[Any], Any]) -> None:
    """Answer each request on the standard input until it ends; what fails is told, for the one who asked to raise."""
    for line in sys.stdin:
        try:
            answer = {"answer": handle(json.loads(line))}
        except Exception:  # noqa: BLE001  # the test that asked raises it
            answer = {"error": traceback.format_exc()}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
