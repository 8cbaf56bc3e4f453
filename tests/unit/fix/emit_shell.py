"""A shell with an `aws` on its PATH that asks an EC2 in memory; it loads little, since every call loads it."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Raw = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]
PACKAGES = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
STUB = """#!{python} -IS
import sys
sys.path[:0] = [{root!r}, *{packages!r}]
from tests.unit.fix.emit_shell import aws
sys.exit(aws(sys.argv[1:], {folder!r}))
"""


class Recorder:
    """Something that says yes to every request and keeps it."""

    def __init__(self) -> None:
        self.log: list[tuple[str, Raw]] = []

    def read(self, api: str, _: Raw) -> Sequence[Raw]:
        """Know of one interface and one prefix list."""
        if api == "DescribeNetworkInterfaces":
            return [{"NetworkInterfaceId": "eni-1", "Groups": [{"GroupId": "sg-a"}]}]
        lists = [{"PrefixListId": "pl-new", "State": "create-complete", "Tags": []}]
        return lists if api == "DescribeManagedPrefixLists" else []

    def change(self, api: str, params: Raw) -> Raw:
        """Make up ids."""
        self.log.append((api, params))
        return {"GroupId": "sg-new", "PrefixList": {"PrefixListId": "pl-new"}}


class Shell:
    """Runs scripts with an `aws` on the PATH that asks an EC2 in memory."""

    def __init__(self, folder: Path, script: str, ec2: Any) -> None:
        self._folder = folder
        self._script = folder / "fix.sh"
        self._script.write_text(script, encoding="utf-8")
        (folder / "bin").mkdir()
        stub = folder / "bin" / "aws"
        stub.write_text(
            STUB.format(python=sys.executable, root=str(ROOT), packages=PACKAGES, folder=str(folder)), encoding="utf-8"
        )
        stub.chmod(0o755)
        self.ec2 = ec2

    @property
    def ec2(self) -> Any:
        """What the account is now."""
        return pickle.loads((self._folder / "ec2").read_bytes())  # noqa: S301 - the test wrote it

    @ec2.setter
    def ec2(self, ec2: Any) -> None:
        (self._folder / "ec2").write_bytes(pickle.dumps(ec2))

    @property
    def calls(self) -> list[list[str]]:
        """The arguments of every call of `aws`, in order."""
        log = self._folder / "calls"
        return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        path = f"{self._folder / 'bin'}:/usr/bin:/bin"
        return subprocess.run(
            ["bash", str(self._script), *arguments],
            cwd=self._folder,
            env={"PATH": path, "SGAUDIT_WAIT": "0", **environment},
            capture_output=True,
            text=True,
            check=False,
        )


def aws(arguments: list[str], folder: str) -> int:
    """Be the AWS CLI: record the call, carry it out, and print what `--query` and `--output text` ask for."""
    where = Path(folder)
    with (where / "calls").open("a", encoding="utf-8") as log:
        log.write(json.dumps(arguments) + "\n")
    service, verb, *rest = arguments
    options = dict(zip(rest[::2], rest[1::2], strict=False))
    if service == "sts":
        sys.stdout.write(os.environ.get("STUB_ACCOUNT", "111122223333") + "\n")
        return 0
    if service == "configure" or verb == "wait":
        return int(service == "configure")
    api = "".join(part.capitalize() for part in verb.split("-"))
    ec2 = pickle.loads((where / "ec2").read_bytes())  # noqa: S301 - the test wrote it
    params = json.loads(options["--cli-input-json"])
    try:
        answer = _answer(ec2, api, params)
    except Exception as error:  # noqa: BLE001 - whatever EC2 answers is printed as the AWS CLI does
        code = getattr(error, "code", type(error).__name__)
        sys.stderr.write(f"\nAn error occurred ({code}) when calling the {api} operation: {error}\n")
        return 254
    (where / "ec2").write_bytes(pickle.dumps(ec2))
    if "--query" in options:
        import jmespath  # type: ignore[import-untyped]

        answer = jmespath.search(options["--query"], answer)
    sys.stdout.write(_text(answer) + "\n")
    return 0


def _answer(ec2: Any, api: str, params: Raw) -> Raw:
    if not api.startswith("Describe"):
        return dict(ec2.change(api, params))
    mine = [item for item in params.get("Filters", ()) if item["Name"].startswith("tag:") or "acl" in item["Name"]]
    known = {key: value for key, value in params.items() if key != "Filters"}
    known["Filters"] = [item for item in params.get("Filters", ()) if item not in mine]
    found = ec2.read(api, known)
    for wanted in mine:
        found = [item for item in found if _fits(item, wanted)]
    return {api.removeprefix("Describe").replace("Managed", ""): list(found)}


def _fits(item: Raw, wanted: Raw) -> bool:
    if wanted["Name"] == "network-acl-id":
        return item["NetworkAclId"] in wanted["Values"]
    name = wanted["Name"].removeprefix("tag:")
    return any(tag["Key"] == name and tag["Value"] in wanted["Values"] for tag in item.get("Tags", ()))


def _text(value: Any) -> str:
    """Write as `--output text` does."""
    if isinstance(value, list):
        return "\t".join(_text(item) for item in value)
    return str(value)
