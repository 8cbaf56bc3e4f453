"""Short time-outs of idle connections are found where connections are tracked."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.rules.idle_connections_cut import RULE
from tests.builders import ANYWHERE, group, node, row, snapshot
from tests.unit.rules.scene import SELF, found

Raw = dict[str, Any]

ANY = [row(cidr=[ANYWHERE])]


def scene(seconds: int | None, *, ingress: list[Raw] = SELF, egress: list[Raw] = ANY) -> Raw:
    more = {} if seconds is None else {"ConnectionTrackingConfiguration": {"TcpEstablishedTimeout": seconds}}
    members = [node("a", "10.0.0.4", **more), node("b", "10.0.0.5")]
    return snapshot(members, [group(ingress=ingress, egress=egress)])


def test_message() -> None:
    """The finding names the interface and the time."""
    (finding,) = found(RULE, scene(350))
    assert finding.message == (
        "1 interface of i-a forgets an established TCP connection after 350 idle seconds (TcpEstablishedTimeout). "
        "What is sent on it afterwards is dropped unless a permission admits it in that direction."
    )
    assert (finding.severity, finding.resource.id) == ("note", "eni-a")
    assert finding.evidence == {"seconds": 350, "interfaces": ["eni-a"]}


@pytest.mark.parametrize(("seconds", "count"), [(None, 0), (60, 1), (3599, 1), (3600, 0), (432000, 0)])
def test_times(seconds: int | None, count: int) -> None:
    """Only a time-out that is set, and below an hour, is found; the default depends on the instance type."""
    assert len(found(RULE, scene(seconds))) == count


@pytest.mark.parametrize(
    ("ingress", "egress", "count"),
    [
        pytest.param(ANY, ANY, 0, id="open to anywhere both ways: not tracked"),
        pytest.param([row("tcp", 0, 65535, cidr=[ANYWHERE])], ANY, 0, id="all TCP will do"),
        pytest.param([row("tcp", 1024, 65535, cidr=[ANYWHERE])], ANY, 1, id="not on all ports"),
        pytest.param(ANY, SELF, 1, id="not both ways"),
        pytest.param(SELF, ANY, 1, id="from the group alone"),
        pytest.param([row(cidr6=["::/0"])], ANY, 1, id="of the other family"),
    ],
)
def test_tracking(ingress: list[Raw], egress: list[Raw], count: int) -> None:
    """Flows that are open to anywhere both ways on all ports are not tracked, so nothing is forgotten."""
    assert len(found(RULE, scene(350, ingress=ingress, egress=egress))) == count


def test_groups_not_read() -> None:
    """Where the groups were not read, nobody knows whether connections are tracked."""
    document = scene(350)
    assert found(RULE, {key: value for key, value in document.items() if key != "SecurityGroups"}) == []
