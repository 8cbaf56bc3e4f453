"""
The twin itself, by networks whose outcome was worked out by hand: a twin that is wrong is worse than none.

Whoever is asked listens on TCP and UDP; what is compared is who gets an answer.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.builders import (
    ANYWHERE,
    EVERYTHING,
    Raw,
    acl,
    allow_all,
    entry,
    group,
    instance,
    interface,
    node,
    peering,
    route,
    row,
    snapshot,
    table,
)
from tests.packets import kernel, probes, twin, world
from tests.packets.lab import ROOT, Lab
from tests.packets.probes import Probe
from tests.packets.world import World

QUIET = 0.5
TWIN = (kernel, probes, twin, world)
MADE_FROM = {"__future__", "collections", "contextlib", "ctypes", "dataclasses", "functools", "ipaddress", "itertools"}
MADE_FROM |= {
    "os",
    "pathlib",
    "select",
    "shutil",
    "signal",
    "socket",
    "struct",
    "subprocess",
    "tempfile",
    "tests",
    "time",
    "typing",
}


def imported(path: str) -> set[str]:
    """Collect the modules that a module imports."""
    found: set[str] = set()
    for statement in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        if isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom):
            found.add(statement.module or "")
    return found


def test_twin_shares_nothing_with_what_it_checks() -> None:
    """The twin imports neither sgaudit nor the brute-force judge: an error there can't be an error here."""
    modules = set().union(*(imported(str(module.__file__)) for module in TWIN))

    assert {name.partition(".")[0] for name in modules} <= MADE_FROM
    assert {name for name in modules if name.startswith("tests")} == {
        "tests.packets.kernel",
        "tests.packets.twin",
        "tests.packets.world",
    }


def addresses(document: Raw) -> dict[str, tuple[str, str]]:
    """Give the interface id and the IPv4 address of each node, by the letter in its name."""
    found = {}
    for reservation in document["Reservations"]:
        for made in reservation["Instances"]:
            for raw in made["NetworkInterfaces"]:
                address = raw.get("PrivateIpAddress") or raw["Ipv6Addresses"][0]["Ipv6Address"]
                found[raw["NetworkInterfaceId"].removeprefix("eni-")] = (raw["NetworkInterfaceId"], address)
    return found


def reached(lab: Lab, document: Raw, questions: str) -> str:
    """Ask, as in `a>b:tcp/80<40000`, and give those that got an answer."""
    ends = addresses(document)
    asked = []
    for question in questions.split():
        pair, _, rest = question.partition(":")
        source, target = pair.split(">")
        traffic, _, client = rest.partition("<")
        protocol, port = traffic.split("/")
        asked.append(Probe(*ends[source], *ends[target], protocol, int(port), int(client or 41000)))
    lab.build(document, [name for name, _ in ends.values()])
    answers = lab.probe(asked, QUIET)
    return " ".join(question for question, answer in zip(questions.split(), answers, strict=True) if answer)


def two(ingress: Raw | None, egress: Raw = EVERYTHING, *, subnet: str = "subnet-1", **more: Any) -> Raw:
    """Give nodes a (group sg-a, which dials) and b (group sg-b, which has the rows)."""
    return snapshot(
        [
            node("a", "10.0.0.10", groups=["sg-a"]),
            node("b", "10.0.0.20" if subnet == "subnet-1" else "10.0.1.20", groups=["sg-b"], subnet=subnet),
        ],
        groups=[group("sg-a", egress=[egress]), group("sg-b", ingress=[ingress] if ingress else [])],
        **more,
    )


@pytest.mark.parametrize(
    ("ingress", "egress", "answered"),
    [
        (None, EVERYTHING, ""),
        (EVERYTHING, EVERYTHING, "a>b:tcp/79 a>b:tcp/80 a>b:tcp/82 a>b:udp/80"),
        (row("tcp", 80, 81, cidr=[ANYWHERE]), EVERYTHING, "a>b:tcp/80"),
        (row("6", 80, 82, cidr=["10.0.0.10/31"]), EVERYTHING, "a>b:tcp/80 a>b:tcp/82"),
        (row("udp", 0, 65535, cidr=["10.0.0.99/24"]), EVERYTHING, "a>b:udp/80"),
        (row("icmp", -1, -1, cidr=[ANYWHERE]), EVERYTHING, ""),
        (row("tcp", 0, 65535, cidr=["10.0.0.11/32"]), EVERYTHING, ""),
        (row("tcp", 80, groups=["sg-a"]), EVERYTHING, "a>b:tcp/80"),
        (row("tcp", 80, groups=["sg-b"]), EVERYTHING, ""),
        (row("-1", groups=[{"GroupId": "sg-a", "PeeringStatus": "deleted"}]), EVERYTHING, ""),
        (EVERYTHING, row("tcp", 79, 80, cidr=[ANYWHERE]), "a>b:tcp/79 a>b:tcp/80"),
        (EVERYTHING, row("tcp", 0, 65535, groups=["sg-b"]), "a>b:tcp/79 a>b:tcp/80 a>b:tcp/82"),
        (EVERYTHING, row("tcp", 0, 65535, groups=["sg-a"]), ""),
    ],
)
def test_groups(lab: Lab, ingress: Raw | None, egress: Raw, answered: str) -> None:
    """The source's egress and the target's ingress decide; the answer needs no rule, the other direction does."""
    asked = "a>b:tcp/79 a>b:tcp/80 a>b:tcp/82 a>b:udp/80 b>a:tcp/80"

    assert reached(lab, two(ingress, egress), asked) == answered


def lists(*out: Raw, into: tuple[Raw, ...] | None = None) -> dict[str, Any]:
    """Give subnet-2 an ACL with these entries for what leaves it, and everything or these let in."""
    inward = into if into is not None else [item for item in allow_all() if not item["Egress"]]
    return {
        "acls": [acl("acl-1", allow_all(), subnets=["subnet-1"]), acl("acl-2", [*out, *inward], subnets=["subnet-2"])]
    }


OUT = entry(100, "allow", egress=True)
NO_OUT = entry(100, "allow", egress=True, protocol="6", ports=(443, 443))
SOME_BACK = entry(100, "allow", egress=True, protocol="6", ports=(32768, 50000))
ALLOW_80 = entry(300, "allow", egress=False, protocol="6", ports=(80, 80))
DENY_LOW = entry(200, "deny", egress=False, protocol="6", ports=(0, 100))
DENY_LATE = {**DENY_LOW, "RuleNumber": 400}


@pytest.mark.parametrize(
    ("more", "answered"),
    [
        (lists(OUT), "a>b:tcp/80<40000 a>b:tcp/80<60000 a>b:udp/80<40000"),
        (lists(NO_OUT), ""),
        (lists(SOME_BACK), "a>b:tcp/80<40000"),
        (lists(OUT, into=(ALLOW_80,)), "a>b:tcp/80<40000 a>b:tcp/80<60000"),
        (lists(OUT, into=(ALLOW_80, DENY_LOW)), ""),
        (lists(OUT, into=(DENY_LATE, ALLOW_80)), "a>b:tcp/80<40000 a>b:tcp/80<60000"),
        (lists(OUT, into=()), ""),
    ],
)
def test_lists(lab: Lab, more: dict[str, Any], answered: str) -> None:
    """An ACL sees each packet anew, the answers too; its entries are asked by number, and the first decides."""
    document = two(EVERYTHING, subnet="subnet-2", **more)

    assert reached(lab, document, "a>b:tcp/80<40000 a>b:tcp/80<60000 a>b:udp/80<40000") == answered


def test_no_list_inside_a_subnet(lab: Lab) -> None:
    """The ACL of a subnet that lets nothing through does not part its neighbours."""
    document = two(EVERYTHING, acls=[acl("acl-1", [], subnets=["subnet-1"])])

    assert reached(lab, document, "a>b:tcp/80 a>b:udp/80") == "a>b:tcp/80 a>b:udp/80"


ACROSS = [route("10.2.0.0/16", VpcPeeringConnectionId="pcx-1")]
BACK = [route("10.0.0.0/16", VpcPeeringConnectionId="pcx-1")]
NOWHERE = [route("10.2.0.0/16", VpcPeeringConnectionId="pcx-1", state="blackhole")]


@pytest.mark.parametrize(
    ("status", "there", "back", "answered"),
    [
        ("active", ACROSS, BACK, "a>b:tcp/80 a>b:udp/80"),
        ("deleted", ACROSS, BACK, ""),
        ("active", ACROSS, [], ""),
        ("active", [], BACK, ""),
        ("active", NOWHERE, BACK, ""),
        ("active", [*ACROSS, route("10.2.0.0/24", GatewayId="igw-1", state="blackhole")], BACK, ""),
    ],
)
def test_routes(lab: Lab, status: str, there: list[Raw], back: list[Raw], answered: str) -> None:
    """Between VPCs the longest prefix of both subnets' tables must lead over an active peering connection."""
    document = snapshot(
        [node("a", "10.0.0.10", groups=["sg-a"]), node("b", "10.2.0.20", groups=["sg-b"], subnet="subnet-3")],
        groups=[group("sg-a"), group("sg-b", ingress=[EVERYTHING], vpc="vpc-2")],
        tables=[table("rtb-1", there), table("rtb-3", back, vpc="vpc-2")],
        VpcPeeringConnections=[peering("pcx-1", "vpc-1", "vpc-2", status=status)],
    )

    assert reached(lab, document, "a>b:tcp/80 a>b:udp/80") == answered


def test_ipv6(lab: Lab) -> None:
    """IPv6 rows decide about IPv6 packets, across subnets and within one."""
    document = snapshot(
        [
            node("a", groups=["sg-a"], ipv6=["2001:db8::a"]),
            node("b", groups=["sg-b"], ipv6=["2001:db8::b"]),
            node("c", groups=["sg-b"], ipv6=["2001:db8:0:1::c"], subnet="subnet-2"),
        ],
        groups=[
            group("sg-a", ingress=[row("tcp", 80, cidr=[ANYWHERE])]),
            group("sg-b", ingress=[row("tcp", 80, cidr6=["2001:db8::/120"]), row("udp", 80, groups=["sg-a"])]),
        ],
    )

    assert reached(lab, document, "a>b:tcp/80 a>c:tcp/80 a>c:udp/80 c>b:tcp/80 b>a:tcp/80") == (
        "a>b:tcp/80 a>c:tcp/80 a>c:udp/80"
    )


def test_second_addresses_count_as_their_group(lab: Lab) -> None:
    """A group as peer is every private address of those who carry it."""
    listed = [{"PrivateIpAddress": item, "Primary": item.endswith("10")} for item in ("10.0.0.11", "10.0.0.10")]
    document = snapshot(
        [
            instance(interface("a", groups=["sg-a"]) | {"PrivateIpAddresses": listed}),
            node("b", "10.0.0.20", groups=["sg-b"]),
        ],
        groups=[group("sg-a"), group("sg-b", ingress=[row("tcp", 80, groups=["sg-a"])])],
    )
    lab.build(document, ["eni-a", "eni-b"])

    answers = lab.probe(
        [Probe("eni-a", source, "eni-b", "10.0.0.20", "tcp", 80, 41000) for source in ("10.0.0.10", "10.0.0.11")],
        QUIET,
    )

    assert answers == [True, True]


def test_filters_are_written_out() -> None:
    """The whole ruleset of a host and of a router, for a look at what the kernel is given."""
    document = two(
        row("tcp", 80, 81, cidr=["10.0.0.99/24"], groups=["sg-a"]), subnet="subnet-2", **lists(NO_OUT, into=(DENY_LOW,))
    )
    made = World(document, ["eni-a", "eni-b"])

    assert made.host_filter(made.hosts[1]).splitlines() == [
        "table inet twin {",
        "chain input {",
        "type filter hook input priority 0; policy drop;",
        'iifname "lo" accept',
        "icmpv6 type { 133, 134, 135, 136 } accept",
        "ct state established,related accept",
        "ip saddr 10.0.0.0/24 meta l4proto 6 th dport 80-81 accept",
        "ip saddr { 10.0.0.10 } meta l4proto 6 th dport 80-81 accept",
        "}",
        "chain output {",
        "type filter hook output priority 0; policy drop;",
        'oifname "lo" accept',
        "icmpv6 type { 133, 134, 135, 136 } accept",
        "ct state established,related accept",
        "meta nfproto ipv4 accept",
        "meta nfproto ipv6 accept",
        "}",
        "}",
    ]
    assert made.router_filter(made.routers[0]).splitlines() == [
        "table inet twin {",
        "chain untracked { type filter hook prerouting priority -300; notrack; }",
        "chain out0 {",
        "meta nfproto ipv4 return",
        "meta nfproto ipv6 return",
        "drop",
        "}",
        "chain in0 {",
        "meta nfproto ipv4 return",
        "meta nfproto ipv6 return",
        "drop",
        "}",
        "chain out1 {",
        "meta nfproto ipv4 meta l4proto 6 th dport 443 return",
        "drop",
        "}",
        "chain in1 {",
        "meta nfproto ipv4 meta l4proto 6 th dport 0-100 drop",
        "drop",
        "}",
        "chain forward {",
        "type filter hook forward priority 0; policy accept;",
        'iifname "br0" jump out0',
        'iifname "br1" jump out1',
        'oifname "br0" jump in0',
        'oifname "br1" jump in1',
        "}",
        "}",
    ]


def devices() -> set[str]:
    """List this machine's own network devices."""
    listed = subprocess.run([kernel.IP, "-json", "link"], check=True, capture_output=True, text=True).stdout
    return {item["ifname"] for item in json.loads(listed)}


@pytest.mark.usefixtures("lab")
def test_nothing_is_left_behind() -> None:
    """A test that dies with its twin leaves no device, no namespace by name and no process behind."""
    before = devices(), subprocess.run([kernel.IP, "netns"], check=True, capture_output=True).stdout
    program = (
        "import os, json, sys\n"
        "from tests.packets.lab import Lab\n"
        "lab = Lab()\n"
        "lab.build(json.load(sys.stdin), ['eni-a', 'eni-b'])\n"
        "print(lab._process.pid, flush=True)\n"
        "os._exit(9)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(two(None)),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )

    assert (done.returncode, done.stderr) == (9, "")
    assert (devices(), subprocess.run([kernel.IP, "netns"], check=True, capture_output=True).stdout) == before
    assert gone(int(done.stdout))


def gone(process: int) -> bool:
    """Tell whether a process has ended, or is about to be cleared away."""
    state = Path(f"/proc/{process}/stat")
    for _ in range(200):
        try:
            if state.read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        subprocess.run(["sleep", "0.02"], check=True)
    return False
