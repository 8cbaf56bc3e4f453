"""The door to policies: `load` one by name or path, or see which ones ship."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.policy.source import find, shipped, shipped_text

if TYPE_CHECKING:
    from sgaudit.policy.model import Policy

__all__ = ["DEFAULT", "load", "shipped", "shipped_text"]

DEFAULT = "pytorch-gloo"
"""The policy that applies when none is named."""


def load(name_or_path: str) -> Policy:
    """
    Read a policy with all that it extends: a shipped one by name, else a file.

    Raises:
        PolicyError: there is none, or its file is wrong; the message has a line for each mistake.
    """
    # NOTE: pydantic and YAML cost a tenth of a second, which only who reads a policy should pay.
    from sgaudit.policy.parse import parse

    return parse(find(name_or_path))
