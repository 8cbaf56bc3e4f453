"""Imports run one way, each library comes in by one door, and nothing loads what it does not need."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sgaudit import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]

LEVELS = {
    "errors": 0,
    "files": 0,
    "heap": 0,
    "ports": 0,
    "severity": 0,
    "model": 1,
    "selection": 2,
    "snapshot": 3,
    "policy": 3,
    "aws": 4,
    "config": 4,
    "iac": 4,
    "reach": 4,
    "rules": 5,
    "fix": 6,
    "report": 7,
    "demo": 7,
    "jobs": 7,
    "cli": 8,
    "__main__": 9,
}
"""A room may import from rooms with a lower number; the package's own `__init__` imports nothing."""

ALLOWED = {
    "aws": {"errors", "heap", "model", "selection", "snapshot"},
    "iac": {"errors", "heap", "model", "selection", "snapshot", "policy"},
    "reach": {"model", "ports"},
}
"""Rooms that may import less than their level says."""

LAZY = {"aws": ("sgaudit.cli", "sgaudit.demo", "sgaudit.jobs", "sgaudit.fix.apply")}
"""Rooms that are imported within functions only, and by whom."""

DOORS = {
    "boto3": ("sgaudit.aws",),
    "botocore": ("sgaudit.aws",),
    "click": ("sgaudit.cli",),
    "jinja2": ("sgaudit.report.html",),
    "markupsafe": ("sgaudit.report.html",),
    "moto": ("sgaudit.demo",),
    "pydantic": ("sgaudit.policy",),
    "pydantic_core": ("sgaudit.policy",),
    "tabulate": ("sgaudit.report",),
    "yaml": ("sgaudit.iac", "sgaudit.policy"),
}
"""The rooms by which a library comes in."""

ONE_MODULE = ("tabulate",)
"""Libraries that a single module imports."""

HEAVY = ("boto3", "botocore", "moto", "pydantic", "tabulate", "yaml")


@dataclass(frozen=True, slots=True)
class Import:
    """One import of one module by another; `eager` when it runs as the importing module is loaded."""

    importer: str
    target: str
    eager: bool

    @property
    def room(self) -> str:
        """The first name below `sgaudit` of the importing module; empty for the package itself."""
        return room_of(self.importer)


def room_of(module: str) -> str:
    return module.partition(".")[2].partition(".")[0]


def modules_below(root: Path) -> dict[str, Path]:
    found = {}
    for path in sorted((root / "sgaudit").rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def statements(node: ast.AST, *, eager: bool = True) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Yield the import statements below a node, and whether each runs as the module is loaded."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, eager
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from statements(child, eager=False)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for part in child.body:
                yield from statements(ast.Module([part], []), eager=False)
            for part in child.orelse:
                yield from statements(ast.Module([part], []), eager=eager)
        else:
            yield from statements(child, eager=eager)


def imports_below(root: Path) -> list[Import]:
    modules = modules_below(root)
    found = []
    for name, path in modules.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for statement, eager in statements(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(statement, ast.Import):
                targets = [alias.name for alias in statement.names]
            else:
                base = statement.module or ""
                if statement.level:
                    parent = package.split(".")[: len(package.split(".")) - statement.level + 1]
                    base = ".".join([*parent, *([base] if base else [])])
                inner = [f"{base}.{alias.name}" for alias in statement.names]
                targets = [item if item in modules else base for item in inner]
            found += [Import(name, target, eager) for target in dict.fromkeys(targets)]
    return found


def against_the_order(imports: list[Import]) -> Iterator[str]:
    for item in imports:
        if item.target.partition(".")[0] != "sgaudit":
            continue
        source, target = item.room, room_of(item.target)
        if source == target or not target:
            continue
        allowed = ALLOWED.get(source, {room for room, level in LEVELS.items() if level < LEVELS.get(source, 0)})
        lazily = target in LAZY and item.importer.startswith(LAZY[target])
        if target in LAZY and (item.eager or not lazily):
            importers = ", ".join(LAZY[target])
            yield f"{item.importer} imports {item.target}: only within functions, and only {importers}"
        elif target not in allowed and not lazily:
            yield f"{item.importer} imports {item.target}: against the order"


def without_a_room(root: Path) -> list[str]:
    return sorted({room_of(name) for name in modules_below(root)} - LEVELS.keys() - {""})


def through_a_wall(imports: list[Import]) -> Iterator[str]:
    importers: dict[str, set[str]] = {}
    for item in imports:
        library = item.target.partition(".")[0]
        if library == "sgaudit" or library in sys.stdlib_module_names:
            continue
        importers.setdefault(library, set()).add(item.importer)
        if library not in DOORS:
            yield f"{item.importer} imports {library}: a library without a door"
        elif not f"{item.importer}.".startswith(tuple(f"{door}." for door in DOORS[library])):
            yield f"{item.importer} imports {library}: only {', '.join(DOORS[library])}"
    for library in ONE_MODULE:
        if len(importers.get(library, ())) > 1:
            yield f"{library} is imported by {', '.join(sorted(importers[library]))}: one module is enough"


def circle(imports: list[Import]) -> list[str]:
    """Find a circle among the imports that run at load time; a package runs before what is in it."""
    graph: dict[str, set[str]] = {}
    for item in imports:
        if not item.eager or item.target.partition(".")[0] != "sgaudit":
            continue
        parts = item.target.split(".")
        loaded = {".".join(parts[:end]) for end in range(1, len(parts))}
        loaded = {name for name in loaded if not f"{item.importer}.".startswith(f"{name}.")}
        graph.setdefault(item.importer, set()).update(loaded | {item.target})
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    return imports_below(ROOT)


def test_every_room_has_a_level() -> None:
    """A new room of the package has its place in the order before anything imports it."""
    assert without_a_room(ROOT) == []


def test_the_order_holds(imports: list[Import]) -> None:
    """No module imports from a room above its own, nor from one that its own may not know."""
    assert list(against_the_order(imports)) == []


def test_no_circle(imports: list[Import]) -> None:
    """No module needs itself to be loaded."""
    assert circle(imports) == []


def test_libraries_come_in_by_their_doors(imports: list[Import]) -> None:
    """Each library is imported in its own room alone."""
    assert list(through_a_wall(imports)) == []


def test_the_package_itself_imports_nothing(imports: list[Import]) -> None:
    """`import sgaudit` costs nothing."""
    assert [item.target for item in imports if item.importer == "sgaudit"] == []


LAZILY = "only within functions, and only sgaudit.cli, sgaudit.demo, sgaudit.jobs, sgaudit.fix.apply"
CLIENT = "from sgaudit.aws.collect import collect"
LATER = f"def run():\n    {CLIENT}"

RIGHT: list[dict[str, str]] = [
    {"model.py": "from sgaudit.ports import PortSet"},
    {"model.py": "import ipaddress, json"},
    {"reach/matrix.py": "from sgaudit.model import Cidr\nfrom .classes import cut", "reach/classes.py": ""},
    {"cli/scan.py": LATER},
    {"jobs/run.py": LATER},
    {"fix/apply.py": LATER},
    {"cli/scan.py": f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {CLIENT}"},
    {"aws/session.py": "import boto3\nfrom botocore.config import Config"},
    {
        "reach/__init__.py": "from sgaudit.reach.matrix import build",
        "reach/matrix.py": "from sgaudit.reach import classes",
        "reach/classes.py": "",
    },
    {
        "rules/one.py": "from sgaudit.rules.two import x",
        "rules/two.py": "def f():\n    from sgaudit.rules.one import y",
    },
]
WRONG: list[tuple[dict[str, str], str]] = [
    ({"ports.py": "import sgaudit.model"}, "sgaudit.ports imports sgaudit.model: against the order"),
    (
        {"policy/load.py": "from sgaudit import snapshot", "snapshot.py": ""},
        "sgaudit.policy.load imports sgaudit.snapshot: against the order",
    ),
    (
        {"policy/load.py": "def f():\n    from ..reach.matrix import build", "reach/matrix.py": ""},
        "sgaudit.policy.load imports sgaudit.reach.matrix: against the order",
    ),
    (
        {"reach/matrix.py": "from sgaudit.errors import SgauditError"},
        "sgaudit.reach.matrix imports sgaudit.errors: against the order",
    ),
    (
        {"aws/collect.py": "from sgaudit.ports import PortSet"},
        "sgaudit.aws.collect imports sgaudit.ports: against the order",
    ),
    ({"cli/scan.py": CLIENT}, f"sgaudit.cli.scan imports sgaudit.aws.collect: {LAZILY}"),
    (
        {"cli/scan.py": f"class Scan:\n    {CLIENT}"},
        f"sgaudit.cli.scan imports sgaudit.aws.collect: {LAZILY}",
    ),
    ({"rules/mesh.py": LATER}, f"sgaudit.rules.mesh imports sgaudit.aws.collect: {LAZILY}"),
    ({"fix/plan.py": LATER}, f"sgaudit.fix.plan imports sgaudit.aws.collect: {LAZILY}"),
    ({"snapshot.py": "import boto3"}, "sgaudit.snapshot imports boto3: only sgaudit.aws"),
    ({"rules/mesh.py": "import click"}, "sgaudit.rules.mesh imports click: only sgaudit.cli"),
    ({"model.py": "import numpy"}, "sgaudit.model imports numpy: a library without a door"),
    (
        {"report/table.py": "import tabulate", "report/grid.py": "from tabulate import tabulate"},
        "tabulate is imported by sgaudit.report.grid, sgaudit.report.table: one module is enough",
    ),
    ({"cloud.py": ""}, "no level: cloud"),
    (
        {
            "reach/__init__.py": "from sgaudit.reach.matrix import build",
            "reach/matrix.py": "from sgaudit.reach import other",
        },
        "circle: sgaudit.reach, sgaudit.reach.matrix",
    ),
    (
        {
            "rules/one.py": "from sgaudit.rules.two import x",
            "rules/two.py": "from sgaudit.rules.one import y",
        },
        "circle: sgaudit.rules.one, sgaudit.rules.two",
    ),
]


@pytest.mark.parametrize(
    ("files", "complaints"),
    [*((files, []) for files in RIGHT), *((files, [complaint]) for files, complaint in WRONG)],
)
def test_what_is_wrong_is_found(tmp_path: Path, files: dict[str, str], complaints: list[str]) -> None:
    """The walk finds each kind of import that runs the wrong way, and nothing in right ones."""
    for name, text in {"__init__.py": "", **files}.items():
        path = tmp_path / "sgaudit" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    imports = imports_below(tmp_path)
    found = [*against_the_order(imports), *through_a_wall(imports)]
    found += [f"no level: {room}" for room in without_a_room(tmp_path)]
    if loop := circle(imports):
        found.append(f"circle: {', '.join(sorted(set(loop)))}")

    assert found == complaints


LOADED = "import json, sys; print(json.dumps(sorted(set(sys.modules) & set({names!r}))))"
RUN = """
import atexit, json, sys

def tell():
    with open({report!r}, "w", encoding="utf-8") as file:
        json.dump(sorted(set(sys.modules) & set({names!r})), file)

atexit.register(tell)
sys.argv = ["sgaudit", *{arguments!r}]
from sgaudit.cli import main
main()
"""


def modules_after(arguments: list[str], report: Path) -> list[str]:
    """Run the command line in a fresh interpreter and tell which heavy modules it had loaded at its end."""
    script = RUN.format(report=str(report), names=HEAVY, arguments=arguments)
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "Traceback" not in run.stderr, run.stderr
    assert run.returncode in (0, 1), run.stderr
    found: list[str] = json.loads(report.read_text(encoding="utf-8"))
    return found


@pytest.mark.install
def test_import_is_light() -> None:
    """`import sgaudit` loads none of the libraries."""
    script = f"import sgaudit; {LOADED.format(names=('click', *HEAVY))}"
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == []


@pytest.mark.install
def test_version_is_light(tmp_path: Path) -> None:
    """`sgaudit --version` loads nothing but click."""
    assert modules_after(["--version"], tmp_path / "modules.json") == []


@pytest.mark.install
@pytest.mark.parametrize("command", ["scan", "matrix"])
def test_a_snapshot_needs_no_aws(tmp_path: Path, example: Path, command: str) -> None:
    """A run on a snapshot loads neither the AWS library nor the embedded AWS."""
    loaded = modules_after([command, "--snapshot", str(example), "--all"], tmp_path / "modules.json")
    assert {"boto3", "botocore", "moto"} & set(loaded) == set()


@pytest.mark.install
def test_the_package_runs_as_a_module() -> None:
    """`python -m sgaudit --version` says the version."""
    run = subprocess.run(
        [sys.executable, "-m", "sgaudit", "--version"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert __version__ in run.stdout
