"""What the documents list is what the code has."""

from __future__ import annotations

import json
import re
from pathlib import Path

from sgaudit import errors
from sgaudit.aws.operations import OPERATIONS
from sgaudit.rules.audit import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE

DOCS = Path(__file__).parents[2] / "docs"
RESERVED_CODES = {5, 6}
"""Those of applying a plan."""


def table(name: str, heading: str) -> list[str]:
    """Give the first cells of the table below a heading, without their quotes."""
    text = (DOCS / name).read_text(encoding="utf-8").partition(f"{heading}\n")[2]
    rows = re.findall(r"^\| ([^|]+) \|", text.partition("\n## ")[0], re.MULTILINE)
    return [row.strip("`") for row in rows[1:]]


def blocks(name: str) -> list[str]:
    return re.findall(r"```json\n(.*?)```", (DOCS / name).read_text(encoding="utf-8"), re.DOTALL)


def actions(policy: str) -> list[str]:
    found = json.loads(policy)["Statement"][0]["Action"]
    return [found] if isinstance(found, str) else found


def test_reading_policy_allows_what_is_called() -> None:
    """The policy for scanning allows every EC2 operation that sgaudit calls, and no other."""
    called = sorted(item.action for item in OPERATIONS.values() if item.service == "ec2")
    assert actions(blocks("iam.md")[0]) == called


def test_role_policy_allows_the_role() -> None:
    """The policy for reading another account allows to assume its role, and nothing else."""
    assert actions(blocks("iam.md")[1]) == [OPERATIONS["AssumeRole"].action]


def test_every_action_is_explained() -> None:
    """Each operation that sgaudit can call has its row: when it is read, and what is lost without it."""
    assert sorted(table("iam.md", "## What each one is for")) == sorted(item.action for item in OPERATIONS.values())


def test_every_exit_code_is_explained() -> None:
    """Each exit code that sgaudit can leave with has its row, in order."""
    kinds = [item for item in vars(errors).values() if isinstance(item, type) and issubclass(item, errors.SgauditError)]
    codes = {kind.exit_code for kind in kinds} | {EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE} | RESERVED_CODES
    assert table("exit-codes.md", "# Exit codes") == [str(code) for code in sorted(codes)]
