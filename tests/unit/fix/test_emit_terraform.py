"""The Terraform form gives the plan's change, evaluates nothing, and is laid out as Terraform does."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgaudit.errors import UsageError
from sgaudit.fix.emit.terraform import quoted, render
from sgaudit.fix.plan import Call, Plan
from tests.unit.fix.emit_readers import (
    HOSTILE,
    PLANS,
    ROOT,
    changes,
    hostile,
    operation,
    planned,
    read_terraform,
    unquoted,
)
from tests.unit.fix.plans import plan as bare_plan

pytestmark = pytest.mark.slow

TERRAFORM = shutil.which("terraform")
PAIR = re.compile(r'\s*("(?:[^"\\]|\\.)*"|\w+)\s+= (?!\{)')
STRINGS = [HOSTILE.replace("\x00", ""), "$${a}", "$$${a}", "%%{b}", "$", "${", "%{", "\\${a}", "${~ a ~}", '"', ""]


def terraform(folder: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "CHECKPOINT_DISABLE": "1"}
    return subprocess.run(
        [str(TERRAFORM), *arguments],
        cwd=folder,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def laid_out(text: str) -> str:
    """Lay out anew: two spaces a level, the equals signs of neighboring lines in one column, nothing trailing."""
    lines: list[str] = []
    run: list[tuple[str, str]] = []
    depth = 0

    def flush() -> None:
        width = max((len(key) for key, _ in run), default=0)
        lines.extend(f"{'  ' * depth}{key.ljust(width)} = {value}" for key, value in run)
        run.clear()

    for line in map(str.strip, text.splitlines()):
        if pair := PAIR.match(line):
            run.append((pair[1], line[pair.end() :]))
            continue
        flush()
        depth -= line == "}"
        lines.append(f"{'  ' * depth}{line}".rstrip())
        depth += line.endswith("{") and not line.startswith("#")
    flush()
    return "\n".join(lines) + "\n"


def written(plan: Plan) -> str:
    return "".join(render(plan))


@pytest.mark.parametrize("name", PLANS)
def test_reads_back_as_the_plan(name: str) -> None:
    """Each form read back gives the change that the plan makes, whatever the strategy."""
    assert read_terraform(written(planned(name))) == changes(planned(name))


def test_hostile_text_is_read_back() -> None:
    """Text that holds anything is text: python-hcl2 finds nothing to evaluate, and gives it back as it was."""
    plan = hostile(attach=True)
    assert read_terraform(written(plan)) == changes(plan)


@pytest.mark.parametrize("name", [*PLANS, "hostile"])
def test_layout(name: str) -> None:
    """It is laid out by Terraform's rules; where Terraform is installed, `terraform fmt` has nothing to change."""
    text = written(hostile(attach=True) if name == "hostile" else planned(name))
    assert laid_out(text) == text
    if TERRAFORM is not None:
        done = terraform(ROOT, "fmt", "-check", "-diff", "-", stdin=text)
        assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


@pytest.mark.parametrize("text", ["a = 1\nbc = 2\n", "a {\nb = 1\n}\n", "a  = 1\n", "a = 1 \n"])
def test_layout_is_judged(text: str) -> None:
    """The judge of layouts sees what is out of line, deep or trailing."""
    assert laid_out(text) != text


def test_strings_are_what_terraform_reads(tmp_path: Path) -> None:
    """A reader gets the very text, in which nothing is evaluated; where Terraform is installed, so does Terraform."""
    assert [unquoted(quoted(text)) for text in STRINGS] == STRINGS
    if TERRAFORM is not None:
        lines = [f'output "s{number}" {{\n  value = {quoted(text)}\n}}\n' for number, text in enumerate(STRINGS)]
        (tmp_path / "main.tf").write_text("".join(lines), encoding="utf-8")
        done = terraform(tmp_path, "apply", "-auto-approve", "-input=false", "-no-color")
        assert done.returncode == 0, done.stderr
        found = json.loads(terraform(tmp_path, "output", "-json").stdout)
        assert [found[f"s{number}"]["value"] for number in range(len(STRINGS))] == STRINGS


@given(st.text())
def test_any_string(text: str) -> None:
    """Whatever a text is, a reader gets it back, and nothing in it is evaluated."""
    assert unquoted(quoted(text)) == text


def test_says_where_it_belongs() -> None:
    """Of a group that Terraform owns it says that this belongs into the owner's configuration."""
    plan = planned("self")
    first = replace(plan.operations[0], unsafe_because="Terraform owns it and may take the change back")
    group_id = first.call.params["GroupId"]
    text = written(replace(plan, operations=(first,)))
    assert f"# {group_id} belongs to Terraform: put this into the configuration that manages it" in text
    assert "belongs to Terraform" not in written(plan)


def test_two_runs_side_by_side() -> None:
    """No name of one run is a name of another."""
    one, other = written(planned("peers")), written(replace(planned("peers"), run="20261202t000000-def456"))
    names = [{line for line in text.splitlines() if line.startswith(("resource", "data"))} for text in (one, other)]
    assert names[0]
    assert not names[0] & names[1]


def test_refuses_what_it_did_not_make() -> None:
    """A configuration can't say that something else goes away, and the refusal names the operation."""
    params = {"GroupId": "sg-a", "SecurityGroupRuleIds": ["sgr-1"]}
    with pytest.raises(UsageError) as caught:
        written(bare_plan(operation(1, "RevokeSecurityGroupIngress", params)))
    assert (caught.value.message, caught.value.hint) == (
        "--emit terraform can't write op-1: RevokeSecurityGroupIngress changes what terraform did not make",
        "use --emit aws-cli, or let sgaudit fix do it",
    )


def test_refuses_to_take_away_groups() -> None:
    """Groups that an interface loses are not written as if it kept them."""
    params = {"NetworkInterfaceId": "eni-1", "Groups": ["sg-b"]}
    back = Call("ModifyNetworkInterfaceAttribute", {"NetworkInterfaceId": "eni-1", "Groups": ["sg-a"]})
    with pytest.raises(UsageError, match="it takes groups from an interface"):
        written(bare_plan(operation(1, "ModifyNetworkInterfaceAttribute", params, back)))


def test_refuses_a_group_that_keeps_its_egress() -> None:
    """The provider takes a new group's egress away, so a plan that keeps it is refused."""
    with pytest.raises(UsageError, match="take away the egress permissions that the plan keeps"):
        written(replace(hostile(attach=False), operations=hostile(attach=False).operations[:1]))


def test_nothing_to_do() -> None:
    """A plan without operations is a configuration without resources."""
    assert read_terraform(written(bare_plan())) == []
