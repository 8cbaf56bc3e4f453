"""Peers outside the cluster that are cut off are found, each filter by itself, at the end at which it is."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from sgaudit.errors import UsageError
from sgaudit.policy.load import load
from sgaudit.policy.resolve import resolve
from sgaudit.report import scan_json, scan_table
from sgaudit.report.terminal import Style
from sgaudit.rules.audit import Audit, audit
from sgaudit.rules.external_path_blocked import RULE
from sgaudit.rules.finding import Finding
from sgaudit.selection import Selection, select
from sgaudit.snapshot import parse
from tests.builders import Raw, acl, allow_all, entry, group, interface, node, pair_of, route, row, snapshot, table
from tests.unit.rules.scene import SELF

LUSTRE = [row("tcp", 988, groups=["sg-fs"]), row("tcp", 1018, 1023, groups=["sg-fs"])]
FROM_US = [row("tcp", 988, groups=["sg-a"]), row("tcp", 1018, 1023, groups=["sg-a"])]
FS = group("sg-fs", name="lustre", ingress=FROM_US, egress=FROM_US)


def judged(document: Raw, *policies: str, **settings: str) -> Audit:
    parsed, everything = parse(document), Selection(everything=True)
    members = select(parsed, everything)
    needs = resolve([load(name) for name in policies], members, settings=settings)
    return audit(parsed, everything, members, needs)


def found(result: Audit) -> list[Finding]:
    return [item for item in result.findings if item.rule == RULE.id]


def lustre(ingress: Sequence[Raw], egress: Sequence[Raw], *, fs: Raw = FS) -> Audit:
    groups = [group(name="train", ingress=[*SELF, *ingress], egress=[*SELF, *egress]), fs]
    return judged(snapshot(pair_of({}, {}), groups), "pytorch-gloo", "fsx-lustre", file_system="sg-fs")


def test_what_is_said() -> None:
    """A finding names the group, the ports, the peer and the members, and what to add where."""
    (finding,) = found(lustre([LUSTRE[0]], LUSTRE))
    assert finding.title == "train (sg-a) lets no tcp 1018-1023 in from file-system"
    assert finding.message == (
        "All 2 members behind train (sg-a): no ingress permission admits tcp 1018-1023 from file-system behind lustre "
        "(sg-fs); 2 members can't be dialled from there. Clients dial the file servers, and these dial the clients "
        "back. Of the peer only its group was read: no interface that carries it is in the snapshot."
    )
    assert finding.remedy == "Add to train (sg-a) an ingress permission for tcp 1018-1023 from lustre (sg-fs)."
    assert (finding.severity, finding.resource.type, finding.resource.id, finding.pairs) == (
        "error",
        "security-group",
        "sg-a",
        2,
    )
    assert finding.evidence == {
        "needs": ["lustre"],
        "policies": ["fsx-lustre"],
        "peer": "sg-fs",
        "peer_name": "file-system",
        "outbound": False,
        "place": "groups",
        "direction": "ingress",
        "protocol": "tcp",
        "missing": "1018-1023",
        "members": ["i-a", "i-b"],
        "security_groups": ["sg-a"],
        "subnets": [],
        "peer_side": "group",
    }


@pytest.mark.parametrize(
    ("ingress", "egress", "theirs", "expected"),
    [
        pytest.param(LUSTRE, LUSTRE, FS, [], id="all is there"),
        pytest.param(LUSTRE, [], FS, [("sg-a", "egress", "988,1018-1023")], id="no egress"),
        pytest.param([], LUSTRE, FS, [("sg-a", "ingress", "988,1018-1023")], id="no ingress"),
        pytest.param(
            LUSTRE,
            LUSTRE,
            group("sg-fs", ingress=FROM_US[:1], egress=FROM_US),
            [("sg-fs", "ingress", "1018-1023")],
            id="the file system's ingress",
        ),
        pytest.param(
            LUSTRE,
            LUSTRE,
            group("sg-fs", ingress=FROM_US, egress=[]),
            [("sg-fs", "egress", "988,1018-1023")],
            id="the file system's egress",
        ),
        pytest.param(LUSTRE, LUSTRE, group("sg-other"), [], id="a group that was not read has no side"),
    ],
)
def test_both_ends_and_both_ways(
    ingress: list[Raw], egress: list[Raw], theirs: Raw, expected: list[tuple[str, str, str]]
) -> None:
    """Each half of a path that lacks something is a finding of its own, about its own group."""
    result = lustre(ingress, egress, fs=theirs)
    assert [(item.resource.id, item.evidence["direction"], item.evidence["missing"]) for item in found(result)] == (
        expected
    )
    assert result.status == ("fail" if expected else "pass")


def test_acl_and_route() -> None:
    """An ACL that forgets the answers and a table without a route are named with their ids and the subnet."""
    document = snapshot(
        pair_of({}, {}),
        [group(ingress=[*SELF, row("tcp", 22, cidr=["203.0.113.9/32"])])],
        acls=[
            acl("acl-2", [*allow_all()[:2], entry(1, "allow", egress=True, cidr="10.0.0.0/16")], subnets=["subnet-2"])
        ],
        tables=[table("rtb-2", [route("0.0.0.0/0", NatGatewayId="nat-1", state="blackhole")])],
    )
    findings = found(judged(document, "admin-ssh", admin="203.0.113.9"))
    assert sorted((item.resource.id, item.pairs, item.title, item.remedy) for item in findings) == [
        (
            "acl-2",
            1,
            "acl-2 stops the answers to administrator",
            (
                "Add to acl-2 an egress entry that allows tcp 32768-60999 to 203.0.113.9, with a number below those "
                "that deny it."
            ),
        ),
        (
            "rtb-2",
            2,
            "no route between members and administrator",
            "Give rtb-2 an active route to administrator at 203.0.113.9.",
        ),
    ]


def test_no_public_address() -> None:
    """Whoever dials from the internet needs a public address to dial."""
    world = table("rtb-1", [route("0.0.0.0/0", GatewayId="igw-1")])
    groups = [group(ingress=[*SELF, row("tcp", 22, cidr=["203.0.113.9/32"])])]
    members = pair_of({"Association": {"PublicIp": "198.51.100.7"}}, {})
    (finding,) = found(judged(snapshot(members, groups, tables=[world]), "admin-ssh", admin="203.0.113.9"))
    assert finding.message == (
        "i-b: no public address, and between them and administrator at 203.0.113.9 is an internet gateway; 1 member "
        "can't be dialled from there. Administrators log in by SSH."
    )


def test_interfaces_of_the_peer() -> None:
    """The group of a mount target is named when it is the one that closes, for those members that it closes to."""
    mount = interface("mt", "10.0.1.200", groups=["sg-mt"], subnet="subnet-2")
    del mount["Attachment"]
    members = pair_of({}, {"groups": ["sg-b"]})
    groups = [group(), group("sg-b"), group("sg-mt", ingress=[row("tcp", 2049, groups=["sg-a"])])]
    document = snapshot(members, groups)
    document["NetworkInterfaces"].append(mount)
    for peer in ("sg-mt", "10.0.1.200"):
        (finding,) = found(judged(document, "efs", mount_target=peer))
        assert (finding.resource.id, finding.pairs) == ("sg-mt", 1)
        assert finding.remedy == (
            "Put sg-a, which sg-mt admits, on these interfaces; or add to sg-mt an ingress permission for tcp 2049 "
            "from sg-b."
        )


def test_fabric() -> None:
    """EFA traffic to a file system needs all protocols by group, and the finding says so."""
    everything = [row(groups=["sg-a", "sg-fs"])]
    members = [node("a", "10.0.0.5", InterfaceType="efa"), node("b", "10.0.0.6", InterfaceType="efa")]
    groups = [group(ingress=everything), group("sg-fs", ingress=everything, egress=everything)]
    (finding,) = found(judged(snapshot(members, groups), "fsx-lustre", efa_file_system="sg-fs"))
    assert finding.message == (
        "All 2 members behind sg-a: no egress permission for all protocols names the group of efa-file-system behind "
        "sg-fs; 2 members can't dial it. With EFA all traffic between the clients' group and the file system's must be "
        "admitted by group, both ways. Of the peer only its group was read: no interface that carries it is in the "
        "snapshot."
    )
    assert finding.remedy == "Add to sg-a an egress permission for all protocols to sg-fs."


PLAIN = [group(ingress=SELF), group("sg-fs", ingress=SELF, egress=SELF)]
OUTLIERS = {
    "no EFA interface": (
        snapshot([node("a", "10.0.0.5")], PLAIN),
        ("fsx-lustre", {"efa_file_system": "sg-fs"}),
        "members have no EFA interface",
        "Start these members with an EFA interface, or leave the need out.",
    ),
    "no address": (
        snapshot([node("a", ipv6=["2001:db8::5"])], PLAIN),
        ("efs", {"mount_target": "10.0.1.0/24"}),
        "members have no address of the family that is needed",
        "Give these members an address of the family, or name the peer by the other family.",
    ),
    "no group": (
        snapshot([node("a", "10.0.0.5", groups=[])], PLAIN),
        ("efs", {"mount_target": "10.0.1.0/24"}),
        "no security group lets no tcp 2049 out to mount-target",
        "Put a security group that admits tcp 2049 to 10.0.1.0/24 on these interfaces.",
    ),
    "internet gateway": (
        snapshot(
            [node("a", "10.0.0.5")], PLAIN, tables=[table("rtb-1", [route("198.51.100.0/24", GatewayId="igw-1")])]
        ),
        ("efs", {"mount_target": "198.51.100.9"}),
        "no public address on the way to mount-target",
        "Route by a NAT gateway, or give these members public addresses.",
    ),
}


@pytest.mark.parametrize("case", OUTLIERS)
def test_other_reasons(case: str) -> None:
    """What no permission can cure is said in its own words."""
    document, (policy, settings), title, remedy = OUTLIERS[case]
    first, *_ = found(judged(document, policy, **settings))
    assert (first.title, first.remedy) == (title, remedy)


def test_reports_count_members() -> None:
    """The requirements of both reports have a row for each direction; the summary counts pairs of members alone."""
    result = lustre(LUSTRE, [])
    document = json.loads("".join(scan_json.render(result)))
    rows = [item for item in document["requirements"] if item["policy"] == "fsx-lustre"]
    assert [
        (item["need"], item["pairs"], item["satisfied"], item["unsatisfied"], item["unknown"]) for item in rows
    ] == [
        ("lustre", 2, 0, 2, 0),
        ("lustre", 2, 2, 0, 0),
    ]
    assert (document["summary"]["pairs"], document["summary"]["open"], document["status"]) == (2, 2, "fail")

    lines = "".join(scan_table.render(result, Style(width=120, color=False, unicode=False))).splitlines()
    assert [line.split() for line in lines if line.startswith("fsx-lustre")] == [
        ["fsx-lustre", "lustre", "to", "file-system", "(sg-fs)", "tcp", "988,1018-1023", "2", "0", "2", "0"],
        ["fsx-lustre", "lustre", "from", "file-system", "(sg-fs)", "tcp", "988,1018-1023", "2", "2", "0", "0"],
    ]
    assert lines[-1] == "FAIL: 2 ordered pairs, 2 open; 2 of 4 paths with peers open; 1 error, 1 note"


def test_fingerprints_differ() -> None:
    """Findings about the same group in different directions are told apart."""
    findings = found(lustre([], []))
    assert len({item.fingerprint for item in findings}) == len(findings) == 2


def test_nothing_to_judge() -> None:
    """When every need was skipped, no verdict is given: the error names the parameters to set."""
    document = snapshot(pair_of({}, {}), [group(ingress=SELF)])
    with pytest.raises(UsageError) as caught:
        judged(document, "fsx-lustre")
    assert caught.value.message == (
        "nothing to judge: fsx-lustre lustre: the parameter file_system is not set (--set file_system=VALUE); "
        "fsx-lustre lustre-efa: the parameter efa_file_system is not set (--set efa_file_system=VALUE)"
    )
    assert caught.value.hint == "--set file_system=VALUE --set efa_file_system=VALUE"


@pytest.mark.parametrize("policies", [("fsx-lustre", "pytorch-gloo"), ("base-cluster",), ("admin-ssh",)])
def test_something_to_judge(policies: tuple[str, ...]) -> None:
    """Needs of another policy, a policy without needs, and an exposure of a policy's own are verdicts."""
    assert judged(snapshot(pair_of({}, {}), [group(ingress=SELF)]), *policies).status == "pass"
