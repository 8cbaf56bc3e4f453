"""`sgaudit explain` on the embedded AWS: which instances it reads, and what it says of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sgaudit.cli import main
from tests.moto.conftest import REGION, Topology

pytestmark = pytest.mark.moto


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments, "--region", REGION, "-f", "json", "--quiet"])


def ends(result: Result) -> tuple[str, str]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found["source"]["instance_id"], found["target"]["instance_id"]


def test_by_instance_ids(topology: Topology) -> None:
    """Two instance ids need no selection: they are what is read."""
    result = run(topology["train-0"], topology["train-1"], "--port", "29500")
    assert (result.exit_code, ends(result)) == (0, (topology["train-0"], topology["train-1"]))


def test_stopped(topology: Topology) -> None:
    """A stopped instance can be explained as well; the ACL of its subnet has no entry that allows anything."""
    result = run(topology["train-0"], topology["train-3"], "--port", "29500")
    assert result.exit_code == 1
    assert [item["code"] for item in json.loads(result.stdout)["blockers"]] == [
        "ACL_DENIES_IN",
        "ACL_DENIES_RETURN_OUT",
    ]


def test_by_names(topology: Topology) -> None:
    """Names are looked up among the selected members."""
    result = run("train-0", "train-1", "--port", "29500", "--tag", "cluster=train")
    assert ends(result) == (topology["train-0"], topology["train-1"])


def test_names_need_a_selection(topology: Topology) -> None:
    """Without a selection nobody knows where to look for a name."""
    result = run("train-0", topology["train-1"])
    assert result.exit_code == 2
    assert result.stderr == (
        "error: 'train-0' can't be looked up without knowing where\n"
        "hint: give instance ids, or say where to look, for example with --tag cluster=train or --all\n"
    )
