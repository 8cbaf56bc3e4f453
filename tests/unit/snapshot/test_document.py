"""Files, folders and standard input: what is merged, what is refused, and what is written back."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from sgaudit.errors import SnapshotError
from sgaudit.snapshot import load, parse, read_document, save
from tests.unit.snapshot.documents import OWNER, Raw, acl_answer, eni, error_of, everything, group, instance

INSTANCES = instance(eni())


def write(folder: Path, files: dict[str, Any]) -> None:
    """Write answers below a folder; bytes as they are, all else as JSON."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


def refusal(path: Path | str) -> tuple[str, str]:
    """Give message and hint with which a path is refused; the folder above it is left out."""
    with pytest.raises(SnapshotError) as caught:
        load(str(path))
    folder = str(Path(path).parent) + os.sep
    return caught.value.message.replace(folder, ""), caught.value.hint


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    """A file gives what its JSON gives, under its own name; every key of it is in the document."""
    write(tmp_path, {"net.json": everything()})
    path = str(tmp_path / "net.json")

    assert load(path) == parse(everything(), source=path)
    assert load(path).document == {}
    assert load(path, keep_document=True).document == everything()
    assert read_document(path) == everything()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    """Every encoding of JSON is read: PowerShell writes UTF-16 with a byte order mark."""
    document = group(Description="für alle \U0001f600")
    write(tmp_path, {"net.json": json.dumps(document, ensure_ascii=False).encode(encoding)})

    assert read_document(str(tmp_path / "net.json")) == document


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash is standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(everything()).encode())))

    assert load("-") == parse(everything(), source="standard input")


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        (None, "standard input: closed"),
        (io.TextIOWrapper(io.BytesIO(b" \n")), "standard input: empty"),
        (io.TextIOWrapper(io.BytesIO(b"[1]")), "standard input: expected an object, got a list"),
        (io.TextIOWrapper(io.BytesIO(b"{")), "standard input: not a JSON snapshot: cut short: line 1, column 2: "),
    ],
)
def test_refused_standard_input(monkeypatch: pytest.MonkeyPatch, stdin: Any, message: str) -> None:
    """What is wrong with standard input is said of standard input."""
    monkeypatch.setattr(sys, "stdin", stdin)

    assert refusal("-")[0].startswith(message)


def test_unreadable_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A standard input that can't be read is refused with the system's reason."""
    with (tmp_path / "out").open("w") as write_only:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.FileIO(write_only.fileno(), "r", closefd=False)))

        assert refusal("-")[0] == "standard input: can't be read: Bad file descriptor"


CONTENTS: list[tuple[bytes, str]] = [
    (b"", "net.json: empty"),
    (b" \r\n\t", "net.json: empty"),
    (b"[]", "net.json: expected an object, got a list"),
    (b'"Reservations"', 'net.json: expected an object, got "Reservations"'),
    (b"null", "net.json: expected an object, got null"),
    (b"NaN", "net.json: expected an object, got NaN"),
    (b"{}", "net.json: no instances in it: expected EC2 Describe answers such as Reservations"),
    (
        b'{"name": "x", "version": 1}',
        "net.json: no instances in it: expected EC2 Describe answers such as Reservations",
    ),
    (
        b'{\n  "Reservations": [\n    {"OwnerId": "1"',
        "net.json: not a JSON snapshot: cut short: line 3, column 20: Expecting ',' delimiter",
    ),
    (
        b'{\n  "Reservations": [\n    {"Owne',
        "net.json: not a JSON snapshot: cut short: line 3, column 6: Unterminated string starting at",
    ),
    (
        b'{"Reservations": [],\n "Region": us-east-1}\n',
        "net.json: not a JSON snapshot: line 2, column 12: Expecting value",
    ),
    (b'{"Reservations": []} {}', "net.json: not a JSON snapshot: line 1, column 22: Extra data"),
    (b"Reservations:\n- OwnerId: 1\n", "net.json: not a JSON snapshot: line 1, column 1: Expecting value"),
    (b"\x89PNG\r\n\x1a\n\xff\xfe\xfd", "net.json: not a JSON snapshot: no text in UTF-8, UTF-16 or UTF-32"),
    (b"\x00\x01\x02\x03\x04\x05", "net.json: not a JSON snapshot: line 1, column 1: Expecting value"),
    (b"[" * 200_000, "net.json: not a JSON snapshot: nested too deep"),
    (b'{"a":' * 200_000, "net.json: not a JSON snapshot: nested too deep"),
    (b'{"Reservations": ' + b"1" * 5000 + b"}", "net.json: not a JSON snapshot: a number in it is too long"),
    (b"\x1b[31m", "net.json: not a JSON snapshot: line 1, column 1: Expecting value"),
    (b"nonsense " * 11_000_000, "net.json: not a JSON snapshot: line 1, column 1: Expecting value"),
    (b'{"Reservations": {}}', "net.json: Reservations: expected a list, got an object"),
    (b'{"Reservations": "' + b"x" * 1000 + b'"}', f'net.json: Reservations: expected a list, got "{"x" * 56}...'),
    (b'{"Denied": []}', "net.json: Denied: expected an object, got a list"),
    (b'{"Denied": {"DescribeVpcs": 403}}', "net.json: Denied.DescribeVpcs: expected text, got 403"),
    (b'{"AccountId": 111122223333}', "net.json: AccountId: expected text, got 111122223333"),
    (b'{"Account": 5, "Arn": "a"}', "net.json: Account: expected text, got 5"),
    (
        b'{"Entries": [{"Cidr": "10.0.0.0/8"}]}',
        "net.json: Entries: the answer doesn't say whose entries these are",
    ),
]


@pytest.mark.parametrize(("content", "message"), CONTENTS, ids=range(len(CONTENTS)))
def test_refused_files(tmp_path: Path, content: bytes, message: str) -> None:
    """A file that is no snapshot is refused in one line, with a hint."""
    write(tmp_path, {"net.json": content})
    found, hint = refusal(tmp_path / "net.json")

    assert found == message
    assert hint
    assert "\n" not in found + hint


@pytest.mark.parametrize("document", [[], "x", None, 5])
def test_refused_documents(document: Any) -> None:
    """`parse` refuses what is no object as a file would be."""
    assert error_of(document).startswith("net.json: expected an object, got ")


def test_a_missing_file(tmp_path: Path) -> None:
    """A file that isn't there is refused with its name; control characters in it are shown, not sent."""
    assert refusal(tmp_path / "no.json")[0] == "no.json: can't be read: No such file or directory"
    assert refusal(tmp_path / "\x1b[2J.json")[0] == "\\x1b[2J.json: can't be read: No such file or directory"
    assert refusal("a\x00b")[0] == "a\\x00b: can't be read: embedded null byte"


NOBODY = 65534


@contextmanager
def not_root() -> Iterator[None]:
    """Do without the rights of root, whom no file system refuses."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize(
    ("locked", "mode", "named"),
    [
        ("answers/net.json", 0o000, "answers/net.json"),
        ("answers/deep", 0o000, "answers/deep"),
        ("answers", 0o000, "answers"),
        (".", 0o000, "answers"),
    ],
)
def test_what_may_not_be_read(locked: str, mode: int, named: str) -> None:
    """A file or folder that its owner locked is refused, not passed over."""
    with TemporaryDirectory() as home:
        Path(home).chmod(0o755)
        write(Path(home), {"answers/net.json": everything(), "answers/deep/more.json": {"Vpcs": []}})
        (Path(home) / locked).chmod(mode)
        with not_root():
            found, _ = refusal(Path(home) / "answers")
        (Path(home) / locked).chmod(0o700)

    assert found.removeprefix(home + os.sep) == f"{named}: can't be read: Permission denied"


def test_a_link_to_itself(tmp_path: Path) -> None:
    """A file that leads nowhere is refused, alone and in a folder."""
    path = tmp_path / "answers" / "net.json"
    path.parent.mkdir()
    path.symlink_to(path)

    assert refusal(path)[0] == "net.json: can't be read: Too many levels of symbolic links"
    assert refusal(path.parent)[0] == "answers/net.json: can't be read: Too many levels of symbolic links"


def test_a_folder_of_answers(tmp_path: Path) -> None:
    """Every *.json of a folder, at any depth, is one answer; together they are the snapshot."""
    whole = everything()
    entries = whole.pop("PrefixListEntries")
    lists = whole.pop("ManagedPrefixLists")
    del whole["AccountId"], whole["Denied"], whole["Region"], whole["CollectedAt"]
    folder = tmp_path / "answers"
    write(folder, {f"deep/er/{key}.json": {key: value} for key, value in whole.items()})
    write(
        folder,
        {
            "who.json": {"UserId": "AID", "Account": OWNER, "Arn": f"arn:aws:iam::{OWNER}:user/x"},
            "lists.json": {"PrefixLists": lists},
            "entries-of-pl-1.json": {"Entries": entries["pl-1"]},
            "notes.txt": b"no answer",
            "README.json.bak": b"{",
        },
    )

    assert read_document(str(folder)) == {
        **whole,
        "AccountId": OWNER,
        "PrefixLists": lists,
        "PrefixListEntries": entries,
    }
    snapshot = load(str(folder))
    expected = parse({**everything(), "Denied": {}, "CollectedAt": ""}, source=str(folder))
    assert snapshot == expected


def test_lists_are_joined_and_the_rest_is_merged(tmp_path: Path) -> None:
    """Lists grow in the order of the files' names, objects by their keys; of two times the earlier counts."""
    write(
        tmp_path,
        {
            "c.json": {"Vpcs": [{"VpcId": "vpc-3"}], "Denied": {"DescribeSubnets": "B"}, "CollectedAt": "2026-01-01"},
            "a.json": {"Vpcs": [{"VpcId": "vpc-1"}], "PrefixListEntries": {"pl-1": []}, "CollectedAt": "2026-01-02"},
            "b.json": {"Vpcs": [{"VpcId": "vpc-2"}], "Region": "us-east-1", "Meta": {"a": 1}, "Odd": [1]},
            "d.json": {
                "Vpcs": None,
                "PrefixListEntries": {"pl-1": [], "pl-2": []},
                "Denied": {"DescribeSubnets": "A", "DescribeVpcs": "C"},
                "Region": "us-east-1",
                "Meta": {"b": 1},
                "Odd": [2],
            },
        },
    )

    assert read_document(str(tmp_path)) == {
        "Vpcs": [{"VpcId": "vpc-1"}, {"VpcId": "vpc-2"}, {"VpcId": "vpc-3"}],
        "PrefixListEntries": {"pl-1": [], "pl-2": []},
        "CollectedAt": "2026-01-01",
        "Region": "us-east-1",
        "Denied": {"DescribeSubnets": "B", "DescribeVpcs": "C"},
        "Meta": {"a": 1},
        "Odd": [1, 2],
    }


def test_entries_of_one_list_in_two_answers(tmp_path: Path) -> None:
    """Two answers about one prefix list are pages of one; a wrong entry is found in its own file."""
    write(
        tmp_path,
        {
            "pl-0a-1.json": {"Entries": [{"Cidr": "10.0.0.0/8"}]},
            "pl-0a-2.json": {"Entries": [{"Cidr": "10.0.0.0/8"}, {"Cidr": "10.1.0.0/16"}]},
        },
    )
    assert [str(one) for one in load(str(tmp_path)).prefix_lists["pl-0a"]] == ["10.0.0.0/8", "10.1.0.0/16"]

    write(tmp_path, {"pl-0a-2.json": {"Entries": [{"Cidr": "10.0.0.0/8"}, {"Cidr": "x"}]}})
    assert refusal(tmp_path)[0] == (
        f'{tmp_path.name}/pl-0a-2.json: Entries[1].Cidr: expected a CIDR block such as 10.0.0.0/8, got "x"'
    )


@pytest.mark.parametrize("name", ["entries.json", "pl-entries.json", "repl-1.json"])
def test_entries_of_nobody(tmp_path: Path, name: str) -> None:
    """Entries whose file doesn't name their list are refused, with what to do about it."""
    write(tmp_path, {name: {"Entries": []}})

    assert refusal(tmp_path / name) == (
        f"{name}: Entries: the answer doesn't say whose entries these are",
        "put the id of the prefix list into the file's name, such as pl-0123456789abcdef0.json",
    )


@pytest.mark.parametrize(
    ("answer", "denied"),
    [
        ({"Reservations": [], "NextToken": "abc"}, {"DescribeInstances": "Truncated"}),
        ({"PrefixLists": [], "NextToken": "abc"}, {"DescribeManagedPrefixLists": "Truncated"}),
        ({"Reservations": [], "NextToken": ""}, {}),
        ({"Reservations": [], "NextToken": None}, {}),
        ({"Vpcs": [], "NextToken": "a", "Denied": {"DescribeVpcs": "X"}}, {"DescribeVpcs": "Truncated"}),
        ({"Vpcs": [], "Denied": {"DescribeVpcs": "X"}, "NextToken": "a"}, {"DescribeVpcs": "X"}),
        ({"Vpcs": [], "PlacementGroups": [], "NextToken": "a"}, {"DescribeVpcs": "Truncated"}),
    ],
)
def test_a_truncated_answer(answer: Raw, denied: dict[str, str]) -> None:
    """An answer of which more pages exist is noted as one that was not read in full."""
    assert parse(answer).denied == denied


def test_a_truncated_list_of_entries(tmp_path: Path) -> None:
    """Entries of which more pages exist are noted too."""
    write(tmp_path, {"pl-1.json": {"Entries": [], "NextToken": "a"}})

    assert load(str(tmp_path)).denied == {"GetManagedPrefixListEntries": "Truncated"}


FOLDERS: list[tuple[dict[str, Any], str]] = [
    ({"notes.txt": b""}, "answers: the folder has no *.json in it"),
    ({"a.json": everything(), "b.json": [1, 2]}, "answers/b.json: expected an object, got a list"),
    (
        {"a.json": everything(), "sub/b.json": b'{"Vpcs": ['},
        "answers/sub/b.json: not a JSON snapshot: cut short: line 1, column 11: Expecting value",
    ),
    ({"a.json": everything(), "b.json": b""}, "answers/b.json: empty"),
    (
        {"a.json": {"name": 1}, "b.json": {"version": 2}},
        "answers: no instances in it: expected EC2 Describe answers such as Reservations",
    ),
    (
        {"a.json": {"AccountId": "1"}, "b.json": {"Account": "2", "Arn": "x"}},
        'answers/b.json: Account: "2" differs from answers/a.json: AccountId',
    ),
    (
        {"a.json": {"Region": "us-east-1"}, "b.json": {"Region": "us-east-2"}},
        'answers/b.json: Region: "us-east-2" differs from answers/a.json: Region',
    ),
    (
        {"a.json": {"PrefixListEntries": {"pl-1": []}}, "b.json": {"PrefixListEntries": {"pl-1": [{}]}}},
        "answers/b.json: PrefixListEntries.pl-1: a list differs from answers/a.json: PrefixListEntries.pl-1",
    ),
    (
        {"a.json": {"Vpcs": []}, "b.json": {"Vpcs": "vpc-1"}},
        'answers/b.json: Vpcs: expected a list, got "vpc-1"',
    ),
    (
        {"a.json": {"Vpcs": [{"VpcId": "a"}]}, "b.json": {"Vpcs": []}, "c.json": {"Vpcs": [{"VpcId": "c"}, {}]}},
        "answers/c.json: Vpcs[1].VpcId: missing",
    ),
    (
        {"a.json": {"Vpcs": [{"VpcId": "v"}]}, "b.json": {"Vpcs": [{"VpcId": "w"}, {"VpcId": "v", "OwnerId": "1"}]}},
        "answers/b.json: Vpcs[1]: v is described twice, and differently at answers/a.json: Vpcs[0]",
    ),
    (
        {"a.json": INSTANCES, "b.json": instance(eni(), InstanceType="p5.48xlarge")},
        (
            "answers/b.json: Reservations[0].Instances[0]: i-1 is described twice, and differently at "
            "answers/a.json: Reservations[0].Instances[0]"
        ),
    ),
    (
        {"a.json": INSTANCES, "b.json": {"NetworkInterfaces": [eni(Status=1)]}},
        "answers/b.json: NetworkInterfaces[0].Status: expected text, got 1",
    ),
    (
        {"a.json": acl_answer("acl-1", "subnet-1"), "b.json": acl_answer("acl-2", "subnet-1")},
        "answers/b.json: NetworkAcls[0]: subnet-1 has another network ACL at answers/a.json: NetworkAcls[0]",
    ),
    (
        {"a.json": {"Vpcs": []}, "b.json": {"Denied": {"DescribeSubnets": 1}}},
        "answers/b.json: Denied.DescribeSubnets: expected text, got 1",
    ),
]


@pytest.mark.parametrize(("files", "message"), FOLDERS, ids=range(len(FOLDERS)))
def test_refused_folders(tmp_path: Path, files: dict[str, Any], message: str) -> None:
    """The error names the file of a folder that is wrong, and the path within that file."""
    write(tmp_path / "answers", files)
    found, hint = refusal(tmp_path / "answers")

    assert found.replace(str(tmp_path) + os.sep, "") == message
    assert hint


def test_the_same_answer_twice(tmp_path: Path) -> None:
    """A folder that holds one answer twice says no more than one that holds it once."""
    write(tmp_path / "once", {"a.json": everything()})
    write(tmp_path / "twice", {"a.json": everything(), "b.json": everything()})

    once, twice = load(str(tmp_path / "once")), load(str(tmp_path / "twice"))
    assert {**vars(twice), "source": ""} == {**vars(once), "source": ""}


def test_reading_changes_nothing() -> None:
    """`parse` leaves the document as it was, and gives the same each time."""
    document = everything()

    assert parse(document) == parse(document)
    assert document == everything()


@pytest.mark.parametrize(
    ("document", "account", "region"),
    [
        ({**INSTANCES, "AccountId": "5", "Region": "mars"}, "5", "mars"),
        (INSTANCES, OWNER, "eu-west-1"),
        ({"NetworkInterfaces": [eni(OwnerId="7", AvailabilityZone="us-west-2-lax-1a")]}, "7", "us-west-2"),
        ({"NetworkInterfaces": [eni(AvailabilityZone="us-gov-east-1c")]}, "", "us-gov-east-1"),
        ({"NetworkInterfaces": [eni(AvailabilityZone="us-east-1-wl1-bos-wlz-1")]}, "", "us-east-1"),
        ({"NetworkInterfaces": [eni(AvailabilityZone="cloud nine")]}, "", ""),
        (group(OwnerId="8"), "8", ""),
        (
            {
                "Vpcs": [{"VpcId": "v", "OwnerId": "9"}],
                "Subnets": [{"SubnetId": "s", "VpcId": "v", "AvailabilityZone": "ap-southeast-4b"}],
            },
            "9",
            "ap-southeast-4",
        ),
        (
            {
                "Vpcs": [{"VpcId": "v", "OwnerId": "9"}, {"VpcId": "w", "OwnerId": "10"}],
                "Subnets": [
                    {"SubnetId": name, "VpcId": "v", "AvailabilityZone": zone}
                    for name, zone in (("s", "us-east-1a"), ("t", "us-east-2a"))
                ],
            },
            "",
            "",
        ),
        ({**INSTANCES, "Vpcs": [{"VpcId": "v", "OwnerId": "9"}]}, OWNER, "eu-west-1"),
    ],
)
def test_account_and_region(document: Raw, account: str, region: str) -> None:
    """Where they aren't given, the owner of the instances and the zones tell; two of them tell nothing."""
    snapshot = parse(document)

    assert (snapshot.account_id, snapshot.region) == (account, region)


ABSENT = {
    "SecurityGroups": "security_groups",
    "NetworkAcls": "network_acls",
    "Subnets": "subnets",
    "Vpcs": "vpcs",
    "RouteTables": "route_tables",
    "VpcPeeringConnections": "peerings",
}


@pytest.mark.parametrize(("key", "name"), ABSENT.items())
def test_what_is_absent_was_not_read(key: str, name: str) -> None:
    """An absent or null key is not the same as an empty list."""
    document = everything()
    assert getattr(parse({**document, key: []}), name) == {}
    assert getattr(parse({**document, key: None}), name) is None

    del document[key]
    assert getattr(parse(document), name) is None


def test_save_and_read_back(tmp_path: Path) -> None:
    """What is saved reads back as it was, and is written the same whatever the order of its keys."""
    path = tmp_path / "net.json"
    save(everything(), str(path))
    first = path.read_bytes()
    save(dict(reversed(everything().items())), str(path))

    assert path.read_bytes() == first
    assert read_document(str(path)) == everything()
    assert list(tmp_path.iterdir()) == [path]


def test_the_form_of_a_saved_file(tmp_path: Path) -> None:
    """One item stands on a line, in ASCII; times are ISO 8601."""
    path = tmp_path / "net.json"
    document = {
        "Vpcs": [{"b": "ü", "a": datetime(2026, 1, 2, tzinfo=UTC)}, {}],
        "Denied": {},
        "Subnets": [],
        "AccountId": "1",
    }
    save(document, str(path))

    assert path.read_text("ascii") == (
        '{\n"AccountId": "1",\n"Denied": {},\n"Subnets": [],\n'
        '"Vpcs": [\n{"a":"2026-01-02T00:00:00+00:00","b":"\\u00fc"},\n{}\n]\n}\n'
    )
    save({}, str(path))
    assert path.read_text("ascii") == "{}\n"


def test_save_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    """A dash is standard output."""
    save(everything(), "-")

    assert json.loads(capsys.readouterr().out) == everything()


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    """A document that can't be written whole isn't written at all, and nothing is left beside the old one."""
    path = tmp_path / "net.json"
    save({"Vpcs": []}, str(path))
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(SnapshotError) as caught:
        save({"Subnets": [{}], "Vpcs": deep}, str(path))

    assert caught.value.message == f"{path}: can't be written: nested too deep"
    assert read_document(str(path)) == {"Vpcs": []}
    assert list(tmp_path.iterdir()) == [path]


def test_save_keeps_mode_and_link(tmp_path: Path) -> None:
    """A file that its owner alone may read stays so, and a link to it stays a link."""
    path, link = tmp_path / "net.json", tmp_path / "link.json"
    path.write_text("old")
    path.chmod(0o600)
    link.symlink_to(path)
    save({"Vpcs": []}, str(link))

    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_document(str(path)) == {"Vpcs": []}


def test_save_to_a_device() -> None:
    """A device is written to and stays what it is."""
    save(everything(), os.devnull)

    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no/net.json", "No such file or directory"),
        (".", "Is a directory"),
        ("n" * 300, "File name too long"),
        ("a\x00b", "embedded null byte"),
    ],
)
def test_refused_places(tmp_path: Path, name: str, reason: str) -> None:
    """A place that can't be written is refused with the system's reason."""
    with pytest.raises(SnapshotError) as caught:
        save({"Vpcs": []}, f"{tmp_path}/{name}")

    shown = name.replace("\x00", "\\x00")
    assert caught.value.message == f"{tmp_path}/{shown}: can't be written: {reason}"
    assert caught.value.hint == "name another file with -o"
