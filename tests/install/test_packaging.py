"""What is built holds everything that the tree holds, and works wherever and however it is installed."""

from __future__ import annotations

import configparser
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from sgaudit import __version__

pytestmark = pytest.mark.install

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist")
TOP = f"sgaudit-{__version__}"


def tree(folder: Path) -> set[str]:
    """List the files below a folder, but for what Python itself writes there."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path.as_posix() for path in paths if "__pycache__" not in path.parts}


def shipped() -> set[str]:
    """List what the tree says must be in a wheel."""
    policies = {
        f"sgaudit/policies/{name}" for name in tree(ROOT / "policies") if name.endswith((".json", ".py", ".yaml"))
    }
    return policies | {f"sgaudit/{name}" for name in tree(ROOT / "sgaudit")}


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command that must succeed, or find something (exit code 1); give its standard output."""
    done = subprocess.run(command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def pip(environment: Path, *arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--python", str(environment), "--quiet", *map(str, arguments)]
    subprocess.run(command, check=True)


def new_environment(folder: Path, *, with_libraries: bool) -> Path:
    """Make a virtual environment, empty or with the libraries (but not the sgaudit) of this one."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    if with_libraries:
        packages = Path(next((folder / "lib").glob("python*"))) / "site-packages"
        packages.joinpath("libraries.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean copy of the tree, in which building leaves its traces."""
    return Path(shutil.copytree(ROOT, tmp_path_factory.mktemp("tree") / "sgaudit", ignore=LEFT_OUT))


@pytest.fixture(scope="module")
def built(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, copy, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder, far from the tree."""
    return tmp_path_factory.mktemp("elsewhere")


@pytest.fixture(scope="module")
def expected(example: Path) -> str:
    """What the tree itself says about an example."""
    return scan(sys.executable, "-m", "sgaudit", cwd=ROOT, example=example)


def scan(*command: str | Path, cwd: Path, example: Path, **environment: str) -> str:
    arguments = ["scan", "--snapshot", str(example), "--tag", "cluster=train", "-f", "json"]
    return run(*command, *arguments, cwd=cwd, **environment)


def test_the_package_list_is_complete() -> None:
    """setup.cfg names every package of the tree, and the policies."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    packages = {path.parent.relative_to(ROOT) for path in (ROOT / "sgaudit").rglob("*.py")}

    assert config["options"]["packages"].split() == sorted(
        [*(".".join(package.parts) for package in packages), "sgaudit.policies"]
    )


def test_wheel_holds_the_tree(wheel: Path) -> None:
    """Every file of the package and every policy is in the wheel, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())

    information = {name for name in names if name.startswith(f"{TOP}.dist-info/")}
    assert names - information == shipped()
    assert f"{TOP}.dist-info/licenses/LICENSE" in information


def test_wheel_says_what_it_is(wheel: Path) -> None:
    """The metadata has name, version, licence and command; moto comes with extras alone."""
    with zipfile.ZipFile(wheel) as archive:
        metadata = Parser().parsestr(archive.read(f"{TOP}.dist-info/METADATA").decode())
        commands = archive.read(f"{TOP}.dist-info/entry_points.txt").decode()

    needed = [item for item in metadata.get_all("Requires-Dist", []) if "extra ==" not in item]
    assert (metadata["Name"], metadata["Version"]) == ("sgaudit", __version__)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert commands.split() == ["[console_scripts]", "sgaudit", "=", "sgaudit.cli:main"]
    assert [item for item in needed if item.startswith(("moto", "flask"))] == []


def test_sdist_holds_the_tree(built: Path) -> None:
    """The sdist has the tree's own shape: policies, examples, docs and tests at its top."""
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {member.name.removeprefix(f"{TOP}/") for member in archive if member.isfile()}

    folders = ("sgaudit", "policies", "examples", "docs", "tests", "benchmarks")
    single = {
        "setup.cfg",
        "pyproject.toml",
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
    }
    wanted = single | {f"{folder}/{name}" for folder in folders for name in tree(ROOT / folder)}
    assert sorted(wanted - names) == []


def test_installed_wheel(wheel: Path, elsewhere: Path, example: Path, expected: str, tmp_path: Path) -> None:
    """A wheel in a new environment, with its dependencies from the registry, works from anywhere."""
    environment = new_environment(tmp_path / "environment", with_libraries=False)
    pip(environment, "install", wheel)
    command = environment / "bin" / "sgaudit"

    assert __version__ in run(command, "--version", cwd=elsewhere)
    assert json.loads(expected)["kind"] == "scan"
    assert scan(command, cwd=elsewhere, example=example) == expected


@pytest.mark.parametrize("mode", ["lenient", "strict", "compat"])
def test_editable(mode: str, copy: Path, elsewhere: Path, example: Path, expected: str, tmp_path: Path) -> None:
    """An editable install of each kind finds the policies, from anywhere and from within the tree."""
    environment = new_environment(tmp_path / "environment", with_libraries=True)
    pip(
        environment, "install", "--no-deps", "--no-build-isolation",
        "--config-settings", f"editable_mode={mode}", "--editable", copy,
    )  # fmt: skip
    command = environment / "bin" / "sgaudit"

    assert scan(command, cwd=elsewhere, example=example) == expected
    assert scan(command, cwd=copy, example=example) == expected


def test_bare_tree(copy: Path, elsewhere: Path, example: Path, expected: str, tmp_path: Path) -> None:
    """A tree that is on the path, and installed nowhere, finds the policies."""
    python = new_environment(tmp_path / "environment", with_libraries=True) / "bin" / "python"

    assert scan(python, "-m", "sgaudit", cwd=copy, example=example) == expected
    assert scan(python, "-m", "sgaudit", cwd=elsewhere, example=example, PYTHONPATH=str(copy)) == expected
