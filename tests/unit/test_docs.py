"""
What the documents say is what the code does.

Every command in a `console` block is run on the examples, and the output below it is the real one; a line `[...]`
stands for lines that are left out. SGAUDIT_GOLDEN=write renews all blocks without such a line. Every other command
in a document must exist, with each option that it is given.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import jsonschema
import pytest
from click.testing import CliRunner

from sgaudit import errors
from sgaudit.aws.change import CHANGES
from sgaudit.aws.operations import OPERATIONS
from sgaudit.cli import COMMANDS, EXIT_FAULT, EXIT_INTERRUPTED, EXIT_USAGE, main
from sgaudit.fix.emit import EMITTERS
from sgaudit.fix.plan import Strategy
from sgaudit.rules.audit import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
WRITE = os.environ.get("SGAUDIT_GOLDEN") == "write"
CUT = "[...]"
VARIABLES = {"--debug": "SGAUDIT_DEBUG"}
"""Options whose variable is read before options are."""
CODES = {0, 1, 2, 4}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
DOCUMENTS = sorted([*DOCS.glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"])
IDS = [path.name for path in DOCUMENTS]
EVERY_TEXT = sorted([*DOCUMENTS, *(DOCS / "schemas").glob("*.json"), *(ROOT / "examples").glob("**/*.md")])
SCHEMAS = sorted(path.stem for path in (DOCS / "schemas").glob("*.json"))

every_document = pytest.mark.parametrize("path", DOCUMENTS, ids=IDS)


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def table(name: str, heading: str) -> list[str]:
    """Give the first cells of the table below a heading, without their quotes."""
    text = text_of(name).partition(f"{heading}\n")[2]
    rows = re.findall(r"^\| ([^|]+) \|", text.partition("\n## ")[0], re.MULTILINE)
    return [row.strip("`") for row in rows[1:]]


def blocks(name: str) -> list[str]:
    return [body for kind, body in FENCE.findall(text_of(name)) if kind == "json"]


def actions(policy: str) -> list[str]:
    found = json.loads(policy)["Statement"][0]["Action"]
    return [found] if isinstance(found, str) else found


class TestIam:
    """docs/iam.md and docs/applying.md."""

    def test_reading_policy_allows_what_is_called(self) -> None:
        """The policy for scanning allows every EC2 operation that sgaudit reads with, and no other."""
        called = sorted(item.action for item in OPERATIONS.values() if item.service == "ec2")
        assert actions(blocks("iam.md")[0]) == called

    def test_changing_policy_allows_what_is_called(self) -> None:
        """The policy for applying allows every change that sgaudit can make, tags included, and no other."""
        assert actions(blocks("iam.md")[1]) == sorted([*(f"ec2:{name}" for name in CHANGES), "ec2:CreateTags"])

    def test_role_policy_allows_the_role(self) -> None:
        """The policy for reading another account allows to assume its role, and nothing else."""
        assert actions(blocks("iam.md")[2]) == [OPERATIONS["AssumeRole"].action]

    def test_every_action_is_explained(self) -> None:
        """Each operation that sgaudit reads with has its row: when it is read, and what is lost without it."""
        assert sorted(table("iam.md", "## What each one is for")) == sorted(item.action for item in OPERATIONS.values())

    def test_every_change_is_explained(self) -> None:
        """Each change has its row: which operation of a plan, or its undoing, it is for."""
        assert sorted(table("iam.md", "## What each change is for")) == sorted(
            [*(f"ec2:{name}" for name in CHANGES), "ec2:CreateTags"]
        )

    def test_applying_names_every_change(self) -> None:
        """The table of what apply and rollback need has all of them."""
        section = text_of("applying.md").partition("## IAM actions\n")[2].partition("\n## ")[0]
        named = set(re.findall(r"`ec2:(\w+)`", section))
        assert named == {*CHANGES, "CreateTags", "DescribeSecurityGroupRules", "DescribeNetworkInterfaces"}


def test_every_exit_code_is_explained() -> None:
    """Each exit code that sgaudit can leave with has its row, in order."""
    kinds = [item for item in vars(errors).values() if isinstance(item, type) and issubclass(item, errors.SgauditError)]
    codes = {kind.exit_code for kind in kinds} | {EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE, EXIT_USAGE, EXIT_FAULT}
    assert table("exit-codes.md", "# Exit codes") == [str(code) for code in sorted(codes)]


def test_every_command_has_its_exit_codes() -> None:
    """The table of exit codes by command has each command, and interrupts are told of."""
    assert table("exit-codes.md", "## By command") == list(COMMANDS)
    assert str(EXIT_INTERRUPTED) in text_of("exit-codes.md")


def test_every_strategy_and_emitter_is_explained() -> None:
    """docs/fix.md has a row for each strategy, in the order of preference, and for each form of `--emit`."""
    assert table("fix.md", "## Strategies") == [str(item) for item in Strategy if item is not Strategy.NONE]
    assert sorted(table("fix.md", "## For other tools: `--emit`")) == sorted(EMITTERS)


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_named(name: str) -> None:
    """docs/output.md links to each schema, and the example of its kind fits it."""
    assert f"](schemas/{name}.json)" in text_of("output.md")


def test_examples_fit_their_schemas() -> None:
    """Each whole JSON object in docs/output.md and docs/config.md fits the schema of its kind."""
    found = set()
    for kind, body in [*FENCE.findall(text_of("output.md")), *FENCE.findall(text_of("config.md"))]:
        document = body if kind == "json" else body.partition("\n")[2] if kind == "console" else ""
        if document.startswith("{") and CUT not in document:
            read = json.loads(document.replace("RUN", "20261201t093000-abcdef").replace("NOW", "2026-12-01T09:30:00Z"))
            schema = json.loads((DOCS / "schemas" / f"{read['kind']}.json").read_text(encoding="utf-8"))
            jsonschema.Draft202012Validator(schema).validate(read)
            found.add(read["kind"])
    assert sorted(found) == SCHEMAS


# Commands


def steady(text: str) -> str:
    """Put words in the place of what differs from run to run."""
    text = re.sub(r"\d{8}t\d{6}-[0-9a-f]{6}", "RUN", text)
    text = re.sub(r"\d{8}t\d{6}_[0-9a-f]{6}", "RUN", text)
    return re.sub(r'("created": "|planned at )\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|\+00:00)', r"\1NOW", text)


def told(block: str) -> Iterator[tuple[str, str]]:
    """Give the commands of a console block, each with the output that stands below it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        head, _, rest = part.partition("\n")
        yield head, rest.strip("\n")


def consoles(path: Path) -> list[str]:
    return [body for kind, body in FENCE.findall(path.read_text(encoding="utf-8")) if kind == "console"]


SHOWING = [path for path in sorted(DOCS.glob("*.md")) if consoles(path)]


def output_of(command: str) -> str:
    words = shlex.split(command)
    if words[0] == "cat":
        return steady(Path(words[1]).read_text(encoding="utf-8")).strip("\n")
    result = CliRunner().invoke(main, words[1:])
    assert result.exit_code in CODES, result.output
    return "\n".join(line.rstrip() for line in steady(result.output).splitlines())


def matches(shown: str, real: str) -> bool:
    """Tell whether an output is as shown, apart from the lines that are left out."""
    parts = [part.strip("\n") for part in re.split(rf"^{re.escape(CUT)}$", shown, flags=re.MULTILINE)]
    rest = f"\n{real}\n"
    for number, part in enumerate(parts):
        piece = f"\n{part}\n" if part else "\n"
        at = 0 if number == 0 and rest.startswith(piece) else -1 if number == 0 else rest.find(piece)
        if number == len(parts) - 1 and number and rest.endswith(piece):
            at = len(rest) - len(piece)
        if at < 0:
            return False
        rest = rest[at + len(piece) - 1 :]
    return rest == "\n" or not parts[-1]


@pytest.fixture
def _playground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.usefixtures("_playground")
@pytest.mark.parametrize("path", SHOWING, ids=[path.name for path in SHOWING])
def test_output_is_real(path: Path) -> None:
    """Each command of a console block gives what stands below it."""
    text = path.read_text(encoding="utf-8")
    for block in consoles(path):
        shown = list(told(block))
        real = [(command, output_of(command)) for command, _ in shown]
        if WRITE and CUT not in block:
            new = "".join(f"$ {command}\n{output}\n" if output else f"$ {command}\n" for command, output in real)
            text = text.replace(f"```console\n{block}```", f"```console\n{new}```")
            path.write_text(text, encoding="utf-8")
        elif CUT in block:
            assert [matches(wanted, output) for (_, wanted), (_, output) in zip(shown, real, strict=True)] == [True], (
                real
            )
        else:
            assert real == shown


def test_something_is_shown() -> None:
    """The pages about fixing and about JSON show real output."""
    assert {"fix.md", "output.md"} <= {path.name for path in SHOWING}


@pytest.mark.parametrize(
    ("shown", "real", "same"),
    [
        ("a\n[...]\nd", "a\nb\nc\nd", True),
        ("a\n[...]", "a\nb", True),
        ("[...]\nb", "a\nb", True),
        ("a\n[...]\nb\n[...]\nc", "a\nx\nb\ny\nc", True),
        ("a\n[...]\nd", "a\nb\nc\nd\ne", False),
        ("b\n[...]\nd", "a\nb\nc\nd", False),
        ("a\n[...]\nx\n[...]", "a\nb\nc", False),
    ],
)
def test_what_is_left_out(shown: str, real: str, same: bool) -> None:
    """Lines may be missing where the document says so, and nowhere else."""
    assert matches(shown, real) is same


def lines_of(text: str) -> Iterator[str]:
    """Give every command of sgaudit in a text: lines of code blocks, and code within sentences."""
    joined = FENCE.sub(lambda found: found.group(0).replace("\\\n", " "), text)
    for _, body in FENCE.findall(joined):
        for line in body.splitlines():
            if found := re.match(r"(?:\$ )?(?:[A-Z_]+=\S+ )*(sgaudit .*)", line.strip()):
                yield found.group(1)
    for found in re.finditer(r"`(sgaudit [^`]+)`", FENCE.sub("", joined)):
        yield " ".join(found.group(1).split())


def faults(line: str) -> Iterator[str]:
    """Tell which words of a command sgaudit does not know."""
    words = shlex.split(line.partition(" | ")[0], comments=True)[1:]
    command: click.Command = main
    context = click.Context(main)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        if found is None:
            yield f"{line}: no command {words[0]}"
            return
        command = found
        words = words[1:]
    known = {name for item in command.params for name in (*item.opts, *item.secondary_opts)}
    known |= {"-h", "--help", *(["--version"] if command is main else [])}
    for word in words:
        if word.startswith("-") and word != "-" and word.partition("=")[0] not in known:
            yield f"{line}: no option {word}"


@every_document
def test_every_command_is_known(path: Path) -> None:
    """No document speaks of a command or an option that is not there."""
    found = [fault for line in lines_of(path.read_text(encoding="utf-8")) for fault in faults(line)]
    assert found == []


def test_faults_are_found() -> None:
    """The check sees commands and options that don't exist, wherever they stand."""
    text = "`sgaudit fly`\n```\n$ sgaudit scan --tga x=y\n```\n```\nsgaudit rules show a --nope | less\n```\n"
    assert [fault.rpartition(": ")[2] for line in lines_of(text) for fault in faults(line)] == [
        "no option --tga",
        "no option --nope",
        "no command fly",
    ]


# Commands and their options: docs/commands.md


def commands() -> dict[str, click.Command]:
    """Give every command by its words; groups as well, since they take options."""
    context = click.Context(main)
    found: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        found[name] = command
        if isinstance(command, click.Group):
            found |= {f"{name} {sub}": item for sub, item in command.commands.items()}
    return found


def section(heading: str) -> str:
    text = text_of("commands.md").partition(f"\n## {heading}\n")[2]
    return text.partition("\n## ")[0]


def documented(text: str) -> dict[str, str]:
    """Give the options of the tables in a text, each with its variable."""
    rows = re.findall(r"^\| `(-[^`]*)` \| ([^|]*) \|", text, re.MULTILINE)
    found = {}
    for names, variable in rows:
        long = next(word for word in re.split(r"[ ,]+", names) if word.startswith("--"))
        found[long] = variable.strip().strip("`")
    return found


def real_options(command: click.Command) -> dict[str, str]:
    found = {}
    for item in command.params:
        if isinstance(item, click.Option):
            long = next(name for name in item.opts if name.startswith("--"))
            found[long] = VARIABLES.get(long) or str(item.envvar or "")
    return found


@pytest.mark.parametrize("name", list(commands()))
def test_every_option_is_listed(name: str) -> None:
    """A command's section has, with the groups of options that it links to, exactly the command's options."""
    text = section(f"`sgaudit {name}`")
    groups = re.findall(r"\]\(#([a-z-]+-options)\)", text)
    listed = documented(text)
    for group in groups:
        listed |= documented(section(group.replace("-", " ").capitalize()))
    assert listed == real_options(commands()[name])


def test_every_command_is_listed() -> None:
    """docs/commands.md has a section for each command, in the order of `sgaudit --help`, and no other."""
    listed = re.findall(r"^## `sgaudit ([^`]+)`$", text_of("commands.md"), re.MULTILINE)
    assert listed == list(commands())


def test_design_names_every_command() -> None:
    """docs/design.md says of each command what it does with AWS."""
    assert table("design.md", "## Commands") == list(COMMANDS)


def test_design_names_every_room() -> None:
    """Each room of the package has its row."""
    rooms = {
        path.stem for path in (ROOT / "sgaudit").glob("*") if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert set(table("design.md", "## Rooms")) == rooms - {"__init__", "__main__", "policies", "py"}


# What no document may say

FORBIDDEN = re.compile(
    r"/work/|/tmp/brief|/home/(?!ec2-user|ubuntu|user)\w+|\bshared/(?:design|facts|style)|\bfacts/\w+\.md"
    r"|\bpypi\.org|pythonhosted|registry\.npmjs|proxy\.golang|index-url"
    r"|\bissues? #?\d|\b(?:first|second|third) wave\b|\bsub-?agents?\b|\blanguage model|\bTODO\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("path", EVERY_TEXT, ids=[str(path.relative_to(ROOT)) for path in EVERY_TEXT])
def test_says_nothing_of_how_it_was_made(path: Path) -> None:
    """Documents are about sgaudit: no path of a machine, no registry's host, nothing of how it was built."""
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if FORBIDDEN.search(line)] == []


@every_document
def test_links_lead_somewhere(path: Path) -> None:
    """Every link to a file of the repository leads to one, and to a heading that is there."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            broken.append(link)
    assert broken == []


def anchors(text: str) -> set[str]:
    """Give the anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
