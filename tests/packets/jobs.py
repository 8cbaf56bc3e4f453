"""The tests' side of PyTorch jobs on a twin, and what to do to a raw snapshot before one."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from click.testing import CliRunner

from sgaudit.cli import main
from sgaudit.ports import CLIENT_PORTS, PortSet
from sgaudit.reach.matrix import build
from sgaudit.selection import Selection, TagFilter, select
from sgaudit.snapshot import parse
from tests.apply_raw import apply_raw
from tests.packets.lab import ROOT, Ended, Lab, Peer

Raw = dict[str, Any]
ENOUGH, SHORT = 60.0, 6.0
"""
Time-outs of a process group in seconds: of one that must succeed, and of one that must fail.

The side that waits takes up to five times as long; nobody waits for that here.
"""
PATIENCE = 90.0
MASTER_PORT = 29500


def missing(name: str) -> str:
    """Say why a framework can't be tried; empty when it can."""
    if find_spec(name) is not None:
        return ""
    return f"{name} is not installed: pip install 'sgaudit[packets]' brings it"


class Ranks(Peer):
    """Starts jobs on a twin, one rank a host."""

    module = "tests.packets.ranks"

    environment = MappingProxyType({**os.environ, "OMP_NUM_THREADS": "1"})

    def run(
        self,
        lab: Lab,
        job: str,
        hosts: Sequence[tuple[str, str]],
        *,
        seconds: float = ENOUGH,
        patience: float = PATIENCE,
    ) -> list[Ended]:
        """
        Run a job.

        Args:
            lab: holds the twin.
            job: `gloo` or `rpc`.
            hosts: interface id and address of each rank's host, in the order of ranks.
            seconds: time-out of the group.
            patience: seconds after which what still runs is ended.
        """
        machines = lab.machines()
        settings = {"GLOO_SOCKET_IFNAME": "eth0", "TP_SOCKET_IFNAME": "eth0"}
        answers = self._ask(
            job=job,
            places=[(machines[interface], settings) for interface, _ in hosts],
            store=f"tcp://{hosts[0][1]}:{MASTER_PORT}",
            seconds=seconds,
            patience=patience,
        )
        return [Ended(*fields) for fields in answers]


def example(name: str) -> Raw:
    """Read the snapshot of an example."""
    path = ROOT / "examples" / name / "snapshot.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))


def instances(document: Mapping[str, Any]) -> list[Raw]:
    """List the running members, in the order of their addresses."""
    found = [item for reservation in document["Reservations"] for item in reservation["Instances"]]
    tagged = [item for item in found if {"Key": "cluster", "Value": "train"} in (item.get("Tags") or [])]
    return sorted(tagged, key=lambda item: number(item["PrivateIpAddress"]))


def number(address: str) -> tuple[int, ...]:
    """Order addresses as numbers."""
    return tuple(map(int, address.split(".")))


def name_of(instance: Mapping[str, Any]) -> str:
    """Give the tag Name."""
    return next(str(tag["Value"]) for tag in instance["Tags"] if tag["Key"] == "Name")


def hosts_of(document: Mapping[str, Any], head: str = "") -> list[tuple[str, str]]:
    """Give interface and address of each member, the head (by name) first."""
    ordered = sorted(instances(document), key=lambda item: name_of(item) != head)
    interfaces = [next(raw for raw in item["NetworkInterfaces"] if primary(raw)) for item in ordered]
    return [(raw["NetworkInterfaceId"], raw["PrivateIpAddress"]) for raw in interfaces]


def primary(raw: Mapping[str, Any]) -> bool:
    """Tell whether an interface is its instance's first."""
    return bool(raw["Attachment"]["DeviceIndex"] == 0)


def grown(document: Mapping[str, Any], size: int) -> Raw:
    """Give the cluster another size: the first members, or more like the last one."""
    made = copy.deepcopy(dict(document))
    reservation = made["Reservations"][0]
    members = instances(made)
    reservation["Instances"] = members[:size]
    made["Reservations"] = [reservation]
    made["NetworkInterfaces"] = [
        raw
        for raw in made["NetworkInterfaces"]
        if raw["Attachment"].get("InstanceId") in {item["InstanceId"] for item in members[:size]}
    ]
    known = {raw["NetworkInterfaceId"]: raw for raw in made["NetworkInterfaces"]}
    for extra in range(len(members), size):
        last = members[-1]
        old_interface = next(raw for raw in last["NetworkInterfaces"] if primary(raw))
        old_id, old_address = old_interface["NetworkInterfaceId"], old_interface["PrivateIpAddress"]
        address = old_address.rpartition(".")[0] + f".{240 + extra}"
        for listed, raw in ((reservation["Instances"], last), (made["NetworkInterfaces"], known[old_id])):
            text = json.dumps(raw).replace(last["InstanceId"], f"i-{extra:017x}").replace(old_id, f"eni-{extra:017x}")
            listed.append(json.loads(text.replace(f'"{old_address}"', f'"{address}"')))
    return made


def predicted(document: Mapping[str, Any], hosts: Sequence[tuple[str, str]]) -> bool:
    """Tell from the matrix whether a Gloo job can start: all reach the head, and of each pair the higher the lower."""
    read = parse(document)
    matrix = build(read, select(read, Selection(tags=(TagFilter.parse("cluster=train"),))))
    index = {node.interface.interface_id: node.index for node in matrix.nodes if node.interface}
    dials = [(source, hosts[0], PortSet.single(MASTER_PORT)) for source in hosts[1:]]
    dials += [(one, other, CLIENT_PORTS) for one in hosts for other in hosts if number(one[1]) > number(other[1])]
    return all(ports <= matrix.open_ports(index[source[0]], index[target[0]], "tcp") for source, target, ports in dials)


def rules_of(document: Mapping[str, Any], tmp_path: Path) -> list[str]:
    """Run `sgaudit scan` on a snapshot; give the rules of its findings."""
    path = tmp_path / "scanned.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    result = CliRunner().invoke(main, ["scan", "--snapshot", str(path), "--tag", "cluster=train", "-f", "json"])
    assert result.exit_code in (0, 1), result.output
    return sorted({finding["rule"] for finding in json.loads(result.stdout)["findings"]})


def fixed(document: Mapping[str, Any], tmp_path: Path, *options: str) -> tuple[Raw, Raw]:
    """Run `sgaudit fix` on a snapshot; give the plan and the snapshot after EC2 has carried it out."""
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    command = ["fix", "--snapshot", str(path), "--tag", "cluster=train", *options, "--emit", "json"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code in (0, 1, 4), result.output
    plan = dict(json.loads(result.stdout))
    return plan, apply_raw(document, plan["operations"])
