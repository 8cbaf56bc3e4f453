"""The configuration file: what it says, and each kind of mistake with its place."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from sgaudit.config.file import HINT, OPTIONS, PARTS, SELECTION, SUPPRESSION, TOP, load, parse
from sgaudit.config.model import Config, Parameter, Suppression
from sgaudit.errors import PolicyError

RULES = ("no-route", "mesh-path-blocked")
START = "schema_version: 1\n"
DOCS = Path(__file__).parents[3] / "docs" / "config.md"
EMPTY = "is empty; leave the key out or give it a value"
KEYS = "schema_version, selection, policies, parameters, head, client_ports, fail_on, select, ignore, suppressions"

FULL = """\
schema_version: 1
selection:
  tags: [cluster=train, "role=a,b"]
  instance_ids: i-1
  vpc_ids: [vpc-1]
  security_groups: [sg-1, sg-2]
  include_stopped: true
  interfaces: all
  family: ipv6
policies: [efa, ./ours.yaml]
parameters: {master_port: 29501, peers: [10.0.0.0/8, sg-1]}
head: train-0
client_ports: 1024-65535
fail_on: warning
select: [no-route, mesh-path-blocked]
ignore: no-route
suppressions:
  - rule: no-route
    scope: [rtb-1, sg-0abc*]
    reason: The route comes next week.
    owner: network team
    expires: 2027-01-31
  - {rule: "*", scope: i-1, reason: a test machine}
"""


def read(text: str) -> Config:
    return parse(text, "f.yaml", RULES)


def test_everything() -> None:
    """Every key is read; what stands for options comes by the names that commands use."""
    assert read(FULL) == Config(
        file="f.yaml",
        options={
            "tags": ("cluster=train", "role=a,b"),
            "instance_ids": ("i-1",),
            "vpc_ids": ("vpc-1",),
            "security_groups": ("sg-1", "sg-2"),
            "include_stopped": True,
            "interfaces": "all",
            "family": "ipv6",
            "policies": ("efa", "./ours.yaml"),
            "head": "train-0",
            "client_ports": "1024-65535",
            "fail_on": "warning",
            "select": ("no-route", "mesh-path-blocked"),
            "ignore": ("no-route",),
        },
        parameters={
            "master_port": Parameter("29501", "f.yaml:11:27"),
            "peers": Parameter("10.0.0.0/8,sg-1", "f.yaml:11:41"),
        },
        suppressions=(
            Suppression(
                rule="no-route",
                scope=("rtb-1", "sg-0abc*"),
                reason="The route comes next week.",
                owner="network team",
                expires=date(2027, 1, 31),
                at="f.yaml:18",
            ),
            Suppression(rule="*", scope=("i-1",), reason="a test machine", at="f.yaml:23"),
        ),
    )


def test_little() -> None:
    """A file need not say anything but its version; what is left out sets no option."""
    assert read(START) == Config("f.yaml")
    assert read(f"{START}selection: {{all: false}}\n").options == {"everything": False}


def test_policies_beside_the_file(tmp_path: Path) -> None:
    """The path of a policy begins at the configuration file; a shipped name stays one."""
    path = tmp_path / "c.yaml"
    path.write_text(f"{START}policies: [efa, ours.yaml, sub/x.yml, /etc/y.yaml]\n")
    assert load(str(path), RULES).options["policies"] == (
        "efa",
        str(tmp_path / "ours.yaml"),
        str(tmp_path / "sub" / "x.yml"),
        "/etc/y.yaml",
    )


def suppression(**keys: str) -> str:
    """Give a file with one suppression in its line 3; an empty text leaves a key out."""
    entries = {"rule": "no-route", "scope": "x", "reason": "r", **keys}
    return f"{START}suppressions:\n  - {{{', '.join(f'{key}: {item}' for key, item in entries.items() if item)}}}\n"


MISTAKES = [
    ("", "1:1: the file is empty"),
    ("# nothing\n", "1:1: the file is empty"),
    ("- 1\n", f"1:1: a list where a mapping with {KEYS} is expected"),
    ("a: [1\n", "2:1: not valid YAML: while parsing a flow sequence, did not find expected ',' or ']'"),
    ("schema_version: 2\nother: 1\n", "1:17: schema_version: version 2 is unknown; this sgaudit reads 1"),
    ("schema_version: true\n", "1:17: schema_version: version true is unknown; this sgaudit reads 1"),
    ("fail_on: error\n", "1:1: schema_version: missing: 1"),
    # keys
    (f"{START}polices: efa\n", f"2:1: polices: unknown key (did you mean policies?); allowed here: {KEYS}"),
    (f"{START}zzz: 1\n", f"2:1: zzz: unknown key; allowed here: {KEYS}"),
    (
        f"{START}selection: {{tag: a=b}}\n",
        f"2:13: selection.tag: unknown key (did you mean tags?); allowed here: {', '.join(SELECTION)}",
    ),
    (
        suppression(expire="2027-01-01"),
        f"3:43: suppressions[0].expire: unknown key (did you mean expires?); allowed here: {', '.join(SUPPRESSION)}",
    ),
    (f"{START}head: a\nhead: b\n", "3:1: head: stands twice; the first is in line 2"),
    # values
    (f"{START}head:\n", f"2:6: head: {EMPTY}"),
    (f"{START}head: 3\n", "2:7: head: 3 where text is expected"),
    (f"{START}head: ' '\n", f"2:7: head: {EMPTY}"),
    (f"{START}selection: 3\n", "2:12: selection: 3 where a mapping is expected"),
    (f"{START}selection:\n", f"2:11: selection: {EMPTY}"),
    (f"{START}selection: {{tags: '=b'}}\n", "2:19: selection.tags: '=b' is not KEY=VALUE, KEY=VALUE,VALUE or KEY"),
    (f"{START}selection: {{tags: []}}\n", f"2:19: selection.tags: {EMPTY}"),
    (f"{START}selection: {{vpc_ids: [a, {{}}]}}\n", "2:26: selection.vpc_ids[1]: a mapping where text is expected"),
    (
        f"{START}selection: {{all: yes}}\n",
        "2:18: selection.all: 'yes' where true or false is expected",
    ),
    (f"{START}selection: {{all: true, tags: a}}\n", "2:13: selection.all: goes with no other way to pick instances"),
    (
        f"{START}selection: {{interfaces: primry}}\n",
        "2:25: selection.interfaces: 'primry' is not allowed (did you mean primary?); allowed here: primary, all",
    ),
    (
        f"{START}selection: {{family: 4}}\n",
        "2:21: selection.family: 4 is not allowed; allowed here: ipv4, ipv6",
    ),
    (
        f"{START}fail_on: critical\n",
        "2:10: fail_on: 'critical' is not allowed; allowed here: note, warning, error",
    ),
    (f"{START}parameters: [a]\n", "2:13: parameters: a list where a mapping is expected"),
    (
        f"{START}parameters: {{a: true}}\n",
        "2:17: parameters.a: true is not a value; write a port, a range or an address, or a list of them",
    ),
    (f"{START}parameters:\n  a:\n", f"3:5: parameters.a: {EMPTY}"),
    (f"{START}client_ports: 70000\n", "2:15: client_ports: 70000 is not within 0-65535, or its ends are swapped"),
    (f"{START}client_ports: abc\n", "2:15: client_ports: 'abc' is not a port or a range such as 1024-65535"),
    (f"{START}select: no-rout\n", "2:9: select: 'no-rout' is not the id of a rule (did you mean no-route?)"),
    (f"{START}ignore: [x]\n", "2:10: ignore[0]: 'x' is not the id of a rule"),
    # suppressions
    (f"{START}suppressions: {{}}\n", "2:15: suppressions: a mapping where a list is expected"),
    (f"{START}suppressions: [x]\n", "2:16: suppressions[0]: 'x' where a mapping is expected"),
    (suppression(reason=""), "3:5: suppressions[0].reason: missing: why the finding is accepted"),
    (suppression(reason="''"), f"3:40: suppressions[0].reason: {EMPTY}"),
    (
        suppression(scope=""),
        "3:5: suppressions[0].scope: missing: ids of resources (* and ? match), fingerprints, or a list of them",
    ),
    (suppression(rule=""), "3:5: suppressions[0].rule: missing: the id of a rule, or * for every rule"),
    (
        suppression(rule="no-rote"),
        "3:12: suppressions[0].rule: 'no-rote' is not the id of a rule, or * (did you mean no-route?)",
    ),
    (
        suppression(rule='"*"', scope='"*"'),
        "3:24: suppressions[0].scope: suppresses every finding there is; name a rule or a resource",
    ),
    (
        suppression(rule='"*"', scope='[x, "?*"]'),
        "3:24: suppressions[0].scope: suppresses every finding there is; name a rule or a resource",
    ),
    (suppression(expires="tomorrow"), "3:52: suppressions[0].expires: 'tomorrow' is not a day such as 2027-01-31"),
    (suppression(expires="2027-02-30"), "3:52: suppressions[0].expires: '2027-02-30' is not a day such as 2027-01-31"),
    (suppression(expires="20270131"), "3:52: suppressions[0].expires: 20270131 is not a day such as 2027-01-31"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_mistake(text: str, message: str) -> None:
    """A mistake is named with file, line, column and key, and what is allowed there."""
    with pytest.raises(PolicyError) as caught:
        read(text)
    assert (caught.value.message, caught.value.hint) == (f"f.yaml:{message}", HINT)


def test_all_mistakes_at_once() -> None:
    """One error tells all mistakes, in the order of the file."""
    with pytest.raises(PolicyError) as caught:
        read(f"{START}fail_on: bad\nnope: 1\nsuppressions:\n  - {{rule: x, scope: y}}\n")
    assert [line.partition(": ")[0] for line in caught.value.message.splitlines()] == [
        "f.yaml:2:10",
        "f.yaml:3:1",
        "f.yaml:5:5",
        "f.yaml:5:12",
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "no such file"),
        (b"\xff\xfe", "not UTF-8 text (byte 0)"),
        (b"a" * 1_000_001, "too large for a configuration file"),
    ],
)
def test_unreadable(tmp_path: Path, content: bytes | None, reason: str) -> None:
    """A file that can't be read is an error with its name."""
    path = tmp_path / "c.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PolicyError) as caught:
        load(str(path), RULES)
    assert caught.value.message == f"{path}: {reason}"


def test_a_folder(tmp_path: Path) -> None:
    """A folder is no configuration file."""
    with pytest.raises(PolicyError, match=re.escape(f"{tmp_path}: can't be read: is a directory")):
        load(str(tmp_path), RULES)


def described(heading: str) -> list[str]:
    text = DOCS.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([a-z_]+)` \|", text, re.MULTILINE)


def test_the_page_describes_every_key() -> None:
    """docs/config.md has a row for each key, in the order in which errors list them."""
    assert {"": described("Keys"), "selection": described("Keys of selection")} == {
        "": [*TOP],
        "selection": [*SELECTION],
    }
    assert described("Keys of a suppression") == [*SUPPRESSION]
    assert set(PARTS) == {"", "selection", "suppressions"}


def test_options_are_keys() -> None:
    """What stands for an option is a key of the top or of the selection."""
    own = {"schema_version", "selection", "parameters", "suppressions"}
    assert {*TOP, *SELECTION} - own == {*OPTIONS}


def test_the_example_of_the_page_is_right() -> None:
    """The file that docs/config.md shows is read without a mistake."""
    text = re.findall(r"```yaml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert len(text) == 1
    config = parse(text[0], "sgaudit.yaml", ("open-to-world", "dead-acl-entry"))
    assert config.options["tags"] == ("cluster=train",)
    assert [item.label for item in config.suppressions] == ["open-to-world for sg-0abc*"]
