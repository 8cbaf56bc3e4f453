"""Doubt about peers outside the cluster is reported, and makes a scan incomplete."""

from __future__ import annotations

import pytest

from sgaudit.rules.external_not_visible import RULE
from sgaudit.severity import Severity
from tests.builders import Raw, group, pair_of, route, row, snapshot, table
from tests.unit.rules.scene import SELF
from tests.unit.rules.test_external_path_blocked import judged

EVERYTHING = group(ingress=SELF)
BY_BLOCK = group(egress=[*SELF, row("tcp", 2049, cidr=["10.0.0.0/16"])])


def test_what_is_said() -> None:
    """A finding says what is not known about which members and which peer, and how to make it known."""
    result = judged(snapshot(pair_of({}, {}), [BY_BLOCK]), "efs", mount_target="sg-mt")
    (finding,) = result.findings
    assert (finding.rule, finding.severity, finding.pairs) == (RULE.id, Severity.ERROR, 2)
    assert finding.title == "not visible whether tcp 2049 passes between members and mount-target"
    assert finding.message == (
        "All 2 members and mount-target behind sg-mt, tcp 2049: sg-a admits some addresses, and which ones the peer "
        "has is not in the snapshot."
    )
    assert finding.remedy == (
        "Admit the peer's group itself, or add the peer's interfaces (DescribeNetworkInterfaces) to the snapshot."
    )
    assert (result.status, result.exit_code(Severity.ERROR)) == ("incomplete", 4)


TRANSIT = table("rtb-1", [route("10.9.0.0/16", TransitGatewayId="tgw-1")])
DOUBTS = {
    "transit gateway": (
        snapshot(pair_of({}, {}), [EVERYTHING], tables=[TRANSIT]),
        "10.9.0.0/24",
        ["the routes of their subnet (rtb-1) lead to where sgaudit can't see"],
    ),
    "route tables": (
        snapshot(pair_of({}, {}), [EVERYTHING], without=["RouteTables"]),
        "10.9.0.0/24",
        [
            "the route table of subnet-1 could not be read",
            "the route table of subnet-2 could not be read",
        ],
    ),
    "groups": (
        snapshot(pair_of({}, {}), [], without=["SecurityGroups"]),
        "10.0.1.0/24",
        ["sg-a could not be read"],
    ),
    "prefix list": (
        snapshot(pair_of({}, {}), [group(egress=[*SELF, row("tcp", 2049, lists=["pl-1"])])]),
        "10.0.1.0/24",
        ["what sg-a admits depends on a prefix list or an interface that could not be read"],
    ),
    "nothing": (snapshot(pair_of({}, {}), [EVERYTHING]), "10.0.1.0/24", []),
}


@pytest.mark.parametrize("case", DOUBTS)
def test_doubts(case: str) -> None:
    """Each kind of thing that was not read, or can't be, is named."""
    document, peer, expected = DOUBTS[case]
    result = judged(document, "efs", mount_target=peer)
    said = [item.message.rpartition(": ")[2].rstrip(".") for item in result.findings if item.rule == RULE.id]
    assert sorted(said) == expected
    assert result.incomplete is bool(expected)


def test_surely_closed_is_not_doubtful() -> None:
    """Where one filter surely stops all members, doubt about another is not worth a finding."""
    document: Raw = snapshot(pair_of({}, {}), [group(egress=SELF)], tables=[TRANSIT])
    result = judged(document, "efs", mount_target="10.9.0.0/24")
    assert [item.rule for item in result.findings] == ["external-path-blocked"]
    assert result.status == "fail"
