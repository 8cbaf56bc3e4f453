"""Every rule has its file, its test and its section, and says all that a reader needs."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from sgaudit.errors import InternalError, UsageError
from sgaudit.rules import RULES, check
from sgaudit.rules.choose import choose, find
from sgaudit.rules.context import Context
from sgaudit.rules.docs import examples_by_rule, render
from sgaudit.rules.finding import Rule
from tests.builders import group, node, snapshot
from tests.unit.rules.scene import scan

ROOT = Path(__file__).resolve().parents[3]
IDS = [rule.id for rule in RULES]
MODULES = sorted(rule.id.replace("-", "_") for rule in RULES)
PAGE = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")

every_rule = pytest.mark.parametrize("rule", RULES, ids=IDS)


def rule_modules() -> list[str]:
    """Name the modules of the room that declare a rule."""
    paths = sorted((ROOT / "sgaudit" / "rules").glob("*.py"))
    return [path.stem for path in paths if re.search(r"^RULE = ", path.read_text(encoding="utf-8"), re.MULTILINE)]


def test_one_file_a_rule() -> None:
    """The list holds the rule of each file that has one, under the file's name, once."""
    assert rule_modules() == MODULES
    assert len(set(IDS)) == len(IDS)


def test_one_test_file_a_rule() -> None:
    """Each rule has a test file of its name."""
    there = {path.stem.removeprefix("test_") for path in (ROOT / "tests" / "unit" / "rules").glob("test_*.py")}
    assert sorted(set(MODULES) - there) == []


def test_the_page_is_as_the_rules_say() -> None:
    """docs/rules.md is what `python -m sgaudit.rules.docs` writes today."""
    assert render(RULES, examples_by_rule()) == PAGE


def test_one_section_a_rule() -> None:
    """The page has a section for each rule, and the table at its top links to each."""
    assert re.findall(r"^## (.*)$", PAGE, re.MULTILINE) == IDS
    assert sorted(re.findall(r"^\| \[([a-z0-9-]+)\]\(#\1\) \|", PAGE, re.MULTILINE)) == sorted(IDS)


def test_links_lead_somewhere() -> None:
    """Every example that the page links to is there, and promises a finding of the rule."""
    links = re.findall(r"\]\(\.\./(examples/[a-z0-9-]+/README\.md)\)", PAGE)
    assert [link for link in links if not (ROOT / link).is_file()] == []
    assert sorted(set(examples_by_rule()) - set(IDS)) == []


@every_rule
def test_metadata(rule: Rule) -> None:
    """Each rule has a title without a full stop, sentences for why and what to do, and sources without addresses."""
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.id)
    assert re.fullmatch(r"[A-Z].*[^.]", rule.title)
    assert re.fullmatch(r"(?s)[A-Z].*\.", rule.why)
    assert re.fullmatch(r"(?s)[A-Z].*\.", rule.remedy)
    assert rule.sources
    assert all(source and "://" not in source for source in rule.sources)


@every_rule
def test_module(rule: Rule) -> None:
    """The module of a rule says in its docstring what it is about."""
    import importlib

    module = importlib.import_module(f"sgaudit.rules.{rule.id.replace('-', '_')}")
    assert isinstance(module, ModuleType)
    assert module.RULE is rule
    assert re.fullmatch(r"(?s)[A-Z].*\.\n?", (module.__doc__ or "").strip())


@pytest.mark.parametrize(
    ("select", "ignore", "expected"),
    [
        ([], [], IDS),
        (["no-route"], [], ["no-route"]),
        (["no-route", "mesh-path-blocked", "no-route"], [], ["mesh-path-blocked", "no-route"]),
        ([], ["no-route"], [item for item in IDS if item != "no-route"]),
        (["no-route", "no-address"], ["no-route"], ["no-address"]),
    ],
)
def test_choose(select: list[str], ignore: list[str], expected: list[str]) -> None:
    """Selected rules are asked, or all, without those ignored, in the order of the list."""
    assert [rule.id for rule in choose(select, ignore)] == expected


@pytest.mark.parametrize(
    ("select", "ignore", "message"),
    [
        (["no-rout"], [], "--select 'no-rout': no rule has this id (did you mean no-route?)"),
        ([], ["x\n"], "--ignore 'x\\n': no rule has this id"),
        (["no-route"], ["no-route"], "--select and --ignore leave no rule to ask"),
        ([], IDS, "--select and --ignore leave no rule to ask"),
    ],
)
def test_choose_refuses(select: list[str], ignore: list[str], message: str) -> None:
    """An unknown id is an error with the nearest one, and so is a choice of nothing."""
    with pytest.raises(UsageError) as caught:
        choose(select, ignore)
    assert caught.value.message == message


def test_find() -> None:
    """A rule is found by its id."""
    assert [find(rule.id) for rule in RULES] == [*RULES]


def crash(_: Context) -> list[object]:
    raise ZeroDivisionError("by design")


def crash_late(context: Context) -> object:
    yield from check(context)
    raise ZeroDivisionError("by design")


@pytest.mark.parametrize("broken", [crash, crash_late])
def test_a_rule_that_crashes(broken: object) -> None:
    """A rule that crashes, at once or after some findings, is a fault of ours with its name, never a pass."""
    context = scan(snapshot([node("a", "10.0.0.4"), node("b", "10.0.0.5")], [group()])).context
    rule = Rule("breaks", "It breaks", RULES[0].severity, "Why.", "What.", ("nowhere",), broken)  # type: ignore[arg-type]
    with pytest.raises(InternalError) as caught:
        check(context, [*RULES, rule])
    assert caught.value.message == "the rule breaks failed: ZeroDivisionError: by design"
    assert caught.value.exit_code == 70
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
