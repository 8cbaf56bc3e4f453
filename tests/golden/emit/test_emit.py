"""Whole written forms of plans, beside this file; SGAUDIT_GOLDEN=write writes them anew."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from sgaudit.fix.emit import EMITTERS
from tests.unit.fix.emit_readers import planned

HERE = Path(__file__).resolve().parent
ENDINGS = {"aws-cli": "sh", "terraform": "tf", "cloudformation": "yaml", "json": "json"}
CASES = [
    ("aws-cli", "peers"),
    ("aws-cli", "cluster-group"),
    ("aws-cli", "acl"),
    ("terraform", "peers"),
    ("terraform", "cluster-group"),
    ("terraform", "prefix-list"),
    ("cloudformation", "peers"),
    ("cloudformation", "acl"),
    ("cloudformation", "prefix-list"),
    ("json", "peers"),
    ("json", "cluster-group"),
    ("json", "efa"),
]
"""Form and plan."""


@pytest.mark.parametrize(("form", "name"), CASES)
def test_whole_form(form: str, name: str) -> None:
    """The form is the expected one to the letter."""
    found = "".join(EMITTERS[form](replace(planned(name), tool_version="1")))
    path = HERE / f"{name}.{ENDINGS[form]}"
    if os.environ.get("SGAUDIT_GOLDEN") == "write":
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


def test_every_form_is_shown() -> None:
    """No form is without an example."""
    assert {form for form, _ in CASES} == set(EMITTERS)
