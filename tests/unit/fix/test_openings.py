"""What a plan opens beside what is required, to the pair."""

from __future__ import annotations

import pytest

from sgaudit.errors import InternalError
from sgaudit.fix import openings
from sgaudit.fix.plan import Call, Extra, Operation, Plan, Safety, Strategy
from sgaudit.fix.population import Population
from sgaudit.ports import ALL
from tests.builders import Raw, acl, entry, group, node, row, snapshot
from tests.unit.fix.scenes import WHOLE, planned, stranger
from tests.unit.rules.scene import scan

TWO = [node("a", "10.0.0.5"), node("b", "10.0.0.6")]
US = "members with sg-a"
THEM = "interfaces outside the cluster with sg-a"


def lines(made: Plan) -> list[tuple[str, str, str, str, int, bool]]:
    return [(it.source, it.target, it.protocol, it.ports, it.pairs, it.outside) for it in made.extra]


def test_strangers_in_the_group_are_let_in_and_reached() -> None:
    """Each direction is a line of its own, what concerns the most pairs first."""
    document = snapshot([*TWO, stranger("c", "10.0.0.7"), stranger("d", "10.0.0.8")], [group()], **WHOLE)

    assert lines(planned(document, strategy=Strategy.SELF)) == [
        (THEM, US, "tcp", "all", 4, True),
        (US, THEM, "tcp", "all", 4, True),
        (THEM, THEM, "tcp", "all", 2, True),
    ]


def test_what_was_open_is_no_opening() -> None:
    """A stranger that got in on some ports gains the others."""
    rows = [row("tcp", 0, 1023, cidr=["10.0.0.0/24"])]
    document = snapshot([*TWO, stranger("c", "10.0.0.7")], [group(ingress=rows)], **WHOLE)

    assert lines(planned(document, strategy=Strategy.SELF)) == [
        (THEM, US, "tcp", "1024-65535", 2, True),
        (US, THEM, "tcp", "1024-65535", 2, True),
    ]


def test_a_group_as_peer_opens_the_other_family_too() -> None:
    """Judged over IPv4, the permission lets IPv6 pass as well: for strangers that is declared, for members required."""
    nodes = [
        node("a", "10.0.0.5", ipv6=["2001:db8::5"]),
        node("b", "10.0.0.6", ipv6=["2001:db8::6"]),
        stranger("c", ipv6=["2001:db8::7"]),
    ]
    document = snapshot(nodes, [group()], **WHOLE)

    assert [
        (f"{THEM}, over IPv6", f"{US}, over IPv6", "tcp", "all", 2, True),
        (f"{US}, over IPv6", f"{THEM}, over IPv6", "tcp", "all", 2, True),
    ] == lines(planned(document, strategy=Strategy.SELF))


def test_an_entry_for_answers_opens_every_port_behind_it() -> None:
    """With the way back comes all that nothing but the way back had stopped."""
    entries = [entry(100, "allow", egress=False), entry(100, "allow", egress=True, protocol="6", ports=(0, 1023))]
    document = snapshot(
        [node("a", "10.0.0.5"), node("b", "10.0.1.5", subnet="subnet-2")],
        [group(ingress=[row("tcp", 0, 65535, groups=["sg-a"])])],
        acls=[acl("acl-1", entries, subnets=["subnet-2"])],
        **WHOLE,
    )

    assert lines(planned(document, "pytorch-gloo")) == [(US, US, "tcp", "0-29499,29501-32767,61000-65535", 1, False)]


def pair(ingress: list[Raw]) -> Raw:
    return snapshot([*TWO, stranger("c", "10.0.0.7")], [group(ingress=ingress)], **WHOLE)


def test_closing_is_a_fault_unless_it_is_meant() -> None:
    """What was open and is not any more stops the plan; a change that means to close tells what."""
    before = scan(pair([row("tcp", 22, cidr=["10.0.0.7/32"])]), "tcp-full-mesh").context
    after = scan(pair([]), "tcp-full-mesh").snapshot
    population = Population(before)

    with pytest.raises(InternalError, match="the plan would close tcp 22 from i-c"):
        openings.extras(population, after, [("tcp", ALL)], ())

    assert openings.extras(population, after, [("tcp", ALL)], (), closing=True) == ()
    assert (Extra(THEM.replace("interfaces outside the cluster", "members"), US, "tcp", "22", 2, outside=False),) == (
        openings.closures(population, after, [("tcp", ALL)], ())
    )


@pytest.mark.parametrize(
    ("cidr", "said"),
    [
        ("10.0.0.5/32", []),
        ("10.0.0.4/30", ["addresses in 10.0.0.4/30 that no known interface has"]),
    ],
)
def test_addresses_that_nobody_has_yet_are_named(cidr: str, said: list[str]) -> None:
    """A block is wider than who is in it; one that members fill is not."""
    rows = [{"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": cidr}]}]
    call = Call("AuthorizeSecurityGroupIngress", {"GroupId": "sg-a", "IpPermissions": rows})
    population = Population(scan(pair([]), "tcp-full-mesh").context)
    found = openings.unheld(population, [Operation("op-1", call, "", (), Safety.SAFE, "", None)])

    assert said == [item.source for item in found]
    assert [("carriers of sg-a", "tcp", "22", 0, True)] * len(said) == [
        (item.target, item.protocol, item.ports, item.pairs, item.outside) for item in found
    ]
