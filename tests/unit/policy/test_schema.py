"""The JSON Schema of policy files, and that it and the loader agree."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
import yaml

from sgaudit.policy.load import shipped, shipped_text
from sgaudit.policy.schema import CLOSED_SETS, json_schema, schema_text
from tests.unit.policy.cluster import SSH, START
from tests.unit.policy.test_mistakes import need

POLICIES = Path(__file__).parents[3] / "policies"


def valid(text: str) -> bool:
    document: Any = yaml.safe_load(text)
    return jsonschema.Draft202012Validator(json_schema()).is_valid(document)


def test_the_shipped_schema_is_current() -> None:
    """The schema beside the policies is what the classes give; `python -m sgaudit.policy.schema` writes it."""
    assert (POLICIES / "schema.json").read_text(encoding="utf-8") == schema_text()


@pytest.mark.install
def test_the_module_prints_it() -> None:
    """`python -m sgaudit.policy.schema` prints the schema."""
    run = subprocess.run([sys.executable, "-m", "sgaudit.policy.schema"], capture_output=True, text=True, check=True)

    assert json.loads(run.stdout) == json_schema()


def test_it_is_a_schema() -> None:
    """The schema is a valid one of its draft."""
    jsonschema.Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("name", shipped())
def test_shipped_policies_fit(name: str) -> None:
    """Every policy that ships fits the schema, as an editor would judge it."""
    assert valid(shipped_text(name))


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        (START + SSH, True),
        (need(ports="[22, 1024-65535, all, '${p}', '1,2-3']"), True),
        (START + SSH + "extends: efa\nnotes: [a, b]\n", True),
        (START + "exposure:\n  - {id: a, ports: policy, why: x, source: y}\n", True),
        (START.replace("1", "2") + SSH, False),
        (START + SSH + "nedes: []\n", False),
        (START + SSH + "roles:\n", False),
        (need(why=""), False),
        (need(protocol="tpc"), False),
        (need(ports="70000"), False),
        (need(ports="'010'"), False),
        (need(ports="x"), False),
        (need(ports="[]"), False),
        (need(id="A"), False),
        (need(ip_ordered="'yes'"), False),
        (START + SSH + "parameters: {p: {kind: prt}}\n", False),
        (START + "exposure:\n  - {id: a, ports: x, why: x, source: y}\n", False),
    ],
)
def test_what_fits(text: str, fits: bool) -> None:
    """The schema tells right from wrong wherever it can without knowing names."""
    assert valid(text) is fits


@pytest.mark.parametrize(("kinds", "words"), CLOSED_SETS)
def test_closed_sets(kinds: Any, words: Any) -> None:
    """The words that a file may use are those that the model knows."""
    assert sorted(map(str, kinds)) == sorted(get_args(words))
