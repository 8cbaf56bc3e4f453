"""What docs/policies.md says is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sgaudit.errors import PolicyError
from sgaudit.policy.load import load, shipped
from sgaudit.policy.model import ConstraintKind, ParameterKind, Topology
from sgaudit.policy.parse import parse
from sgaudit.policy.schema import PARTS
from sgaudit.policy.source import Source

DOCS = (Path(__file__).parents[3] / "docs" / "policies.md").read_text(encoding="utf-8")
EXAMPLE = DOCS.partition("```yaml\n")[2].partition("```")[0]


def rows(heading: str) -> list[list[str]]:
    """Give the cells of the first table below a heading."""
    section = DOCS.partition(f"\n{heading}\n")[2]
    table = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)
    assert table is not None
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[0].splitlines()[2:]]


@pytest.mark.parametrize("part", PARTS)
def test_keys(part: str) -> None:
    """The reference has each key of each part, whether it must be there, and what it means."""
    heading = f"### `{part}`" if part else "### The file"
    assert rows(heading) == [
        [f"`{info.alias or name}`", "yes" if info.is_required() else "no", info.description]
        for name, info in PARTS[part].model_fields.items()
    ]


def test_the_list_of_policies() -> None:
    """The list names each shipped policy with its summary."""
    assert rows("## The policies that ship") == [[f"`{name}`", load(name).summary] for name in shipped()]


@pytest.mark.parametrize(
    ("heading", "kinds"),
    [("## Needs", Topology), ("## Parameters", ParameterKind), ("## Constraints", ConstraintKind)],
)
def test_closed_sets(heading: str, kinds: type[Topology | ParameterKind | ConstraintKind]) -> None:
    """Each word of a closed set is explained."""
    assert sorted(row[0] for row in rows(heading)) == sorted(f"`{kind}`" for kind in kinds)


def test_the_example() -> None:
    """The example is a right policy, and replaces the need that it says it replaces."""
    policy = parse(Source(EXAMPLE, "our-stack.yaml", None, ("our-stack.yaml",)))

    assert [(need.id, need.target) for need in policy.needs] == [
        ("gloo-mesh", "member"),
        ("master-port", "server"),
        ("parameters", "server"),
        ("files", "store"),
    ]


def test_the_mistakes() -> None:
    """The mistakes that are shown are what the example gives when it is spoilt so."""
    shown = re.findall(r"^our-stack\.yaml:.*$", DOCS, re.MULTILINE)
    spoilt = EXAMPLE.replace("${store}", "${stor}").replace(
        "    to: server\n", "    protocol: tpc\n    to: server\n", 1
    )
    with pytest.raises(PolicyError) as caught:
        parse(Source(spoilt, "our-stack.yaml", None, ("our-stack.yaml",)))

    assert caught.value.message.splitlines() == shown
