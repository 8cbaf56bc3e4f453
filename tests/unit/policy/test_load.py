"""Finding policies, by name and by path, and policies that extend one another."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sgaudit.errors import PolicyError
from sgaudit.policy.load import DEFAULT, load, shipped, shipped_text
from sgaudit.policy.source import LARGEST
from tests.unit.policy.cluster import SSH, START

POLICIES = Path(__file__).parents[3] / "policies"


def test_shipped() -> None:
    """The policies that ship are the YAML files of the folder, sorted, the default among them."""
    assert list(shipped()) == sorted(path.stem for path in POLICIES.glob("*.yaml"))
    assert DEFAULT in shipped()


def test_shipped_text() -> None:
    """The text of a shipped policy is its file's."""
    assert shipped_text(DEFAULT) == (POLICIES / f"{DEFAULT}.yaml").read_text(encoding="utf-8")


def test_by_path(tmp_path: Path) -> None:
    """A file is read by its path; a byte order mark is no part of it."""
    path = tmp_path / "mine.yml"
    path.write_text(f"\ufeff{START}{SSH}", encoding="utf-8")

    found = load(str(path))

    assert (found.name, found.path, [need.id for need in found.needs]) == ("mine", str(path), ["ssh"])


def test_a_name_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shipped name is never taken for a file or folder of that name in the working folder."""
    (tmp_path / "efa").mkdir()
    monkeypatch.chdir(tmp_path)

    assert load("efa").name == "efa"


@pytest.mark.parametrize(
    ("name", "message", "near"),
    [
        ("pytorch-glo", "no policy is called 'pytorch-glo'", "did you mean pytorch-gloo? "),
        ("PyTorch-Gloo", "no policy is called 'PyTorch-Gloo'", "did you mean pytorch-gloo? "),
        ("zzz", "no policy is called 'zzz'", ""),
        ("", "no policy is called ''", ""),
        ("sparc.yaml", "sparc.yaml: no such file", "did you mean spark? "),
        ("no/where.yaml", "no/where.yaml: no such file", ""),
    ],
)
def test_not_found(name: str, message: str, near: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What can't be found names the policies that ship, the nearest first."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PolicyError) as caught:
        load(name)

    assert (caught.value.message, caught.value.hint) == (
        message,
        f"{near}shipped policies: {', '.join(shipped())}; or a path to a .yaml file",
    )


def test_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder, bytes that are no text, and a file that is far too large each give one line."""
    monkeypatch.chdir(tmp_path)
    Path("folder.yaml").mkdir()
    Path("bytes.yaml").write_bytes(b"name: \xff\n")
    Path("large.yaml").write_text("#" * (LARGEST + 1), encoding="utf-8")
    found = []
    for name in ("folder.yaml", "bytes.yaml", "large.yaml", "nul\0.yaml"):
        with pytest.raises(PolicyError) as caught:
            load(name)
        found.append(caught.value.message)

    assert found == [
        "folder.yaml: can't be read: is a directory",
        "bytes.yaml: not UTF-8 text (byte 6)",
        f"large.yaml: {LARGEST + 1} bytes are too many for a policy",
        "'nul\\x00.yaml': can't be read: embedded null byte",
    ]


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(START.replace("mine", path.stem) + text, encoding="utf-8")
    return str(path)


def test_extends(tmp_path: Path) -> None:
    """A policy has what it extends in its place, and its own of the same name instead."""
    write(
        tmp_path,
        "parents/base.yaml",
        """parameters: {p: {kind: port, default: 1}, q: {kind: port, default: 2}}
roles: {worker: {tag: worker}}
peers: {store: {at: sg-1}}
needs:
  - {id: a, from: member, to: member, ports: "${p}", why: x, source: y}
  - {id: b, from: worker, to: store, ports: "${q}", why: x, source: y}
constraints:
  - {kind: same_vpc, why: x, source: y}
exposure:
  - {id: out, ports: 1, why: x, source: y}
""",
    )
    child = write(
        tmp_path,
        "child.yaml",
        """extends: [parents/base.yaml, pytorch-gloo]
parameters: {q: {kind: range, default: 3-4}}
roles: {worker: {subnet: subnet-1}}
needs:
  - {id: c, from: worker, to: store, ports: "${q}", why: x, source: y}
  - {id: a, from: member, to: member, ports: "${p}", severity: note, why: z, source: y}
constraints:
  - {kind: same_vpc, severity: note, why: z, source: y}
exposure:
  - {id: out, ports: 2, why: x, source: y}
""",
    )
    found = load(child)

    assert found.name == "child"
    assert [(need.id, need.why) for need in found.needs][:2] == [("a", "z"), ("b", "x")]
    assert [need.id for need in found.needs][2:] == ["gloo-mesh", "master-port", "c"]
    assert [(item.name, item.default) for item in found.parameters] == [
        ("p", "1"),
        ("q", "3-4"),
        ("client_ports", "32768-60999"),
        ("master_port", "29500"),
    ]
    assert next((role.name, role.tags, role.subnet_ids) for role in found.roles) == ("worker", (), ("subnet-1",))
    assert next((str(item.kind), str(item.severity)) for item in found.constraints) == ("same_vpc", "note")
    assert next((item.id, str(item.ports)) for item in found.exposures) == ("out", "2")
    assert [peer.name for peer in found.peers] == ["store"]


def test_a_diamond_is_no_circle(tmp_path: Path) -> None:
    """Two policies may extend the same one."""
    write(tmp_path, "base.yaml", SSH)
    write(tmp_path, "left.yaml", "extends: base.yaml\n")
    write(tmp_path, "right.yaml", "extends: [./base.yaml]\n")

    assert [need.id for need in load(write(tmp_path, "top.yaml", "extends: [left.yaml, right.yaml]\n")).needs] == [
        "ssh"
    ]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"a.yaml": "extends: b.yaml\n", "b.yaml": "extends: [efa, sub/../a.yaml]\n", "sub/x.yaml": ""},
            "{0}/b.yaml:4:16: extends: goes in a circle: {0}/a.yaml -> {0}/b.yaml -> {0}/sub/../a.yaml",
        ),
        ({"a.yaml": "extends: a.yaml\n"}, "{0}/a.yaml:4:10: extends: goes in a circle: {0}/a.yaml -> {0}/a.yaml"),
        (
            {"a.yaml": "extends: b.yaml\n", "b.yaml": "extends: none.yaml\n"},
            "{0}/b.yaml:4:10: extends: {0}/none.yaml: no such file",
        ),
        (
            {"a.yaml": "extends: b.yaml\n", "b.yaml": "needs: 3\n"},
            "{0}/b.yaml:4:8: needs: 3 where a list is expected",
        ),
    ],
)
def test_wrong_chain(tmp_path: Path, files: dict[str, str], message: str) -> None:
    """A circle names its links; a mistake in what is extended is told with the place where it stands."""
    for name, text in files.items():
        write(tmp_path, name, text)
    with pytest.raises(PolicyError) as caught:
        load(str(tmp_path / "a.yaml"))

    assert caught.value.message == message.format(tmp_path)


@pytest.mark.install
def test_nothing_heavy_before_a_policy_is_read() -> None:
    """The modules that a command line imports load neither YAML nor pydantic."""
    script = (
        "import sys, sgaudit.policy.load, sgaudit.policy.resolve, sgaudit.policy.describe; "
        "sgaudit.policy.load.shipped(); print(sorted({'yaml', 'pydantic'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert run.stdout == "[]\n"
