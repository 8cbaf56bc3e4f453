"""The entries that let paths through network ACLs: numbers, blocks, quota."""

from __future__ import annotations

import pytest

from tests.builders import ANYWHERE, Raw, acl, allow_all, entry, group, node, pair_of, row, snapshot
from tests.unit.fix.scenes import MESH, WHOLE, calls, planned

MESHED = group(ingress=[row(groups=["sg-a"])])
OUT = entry(100, "allow", egress=True)
CREATE = "CreateNetworkAclEntry"


def guarded(*entries: Raw, **more: Raw) -> Raw:
    """Give two members in two subnets, the second one behind an ACL of these entries."""
    return snapshot(
        pair_of({}, more.get("b", {})), [MESHED], acls=[acl("acl-1", entries, subnets=["subnet-2"])], **WHOLE
    )


def deny(number: int, ports: tuple[int, int] = (0, 65535), cidr: str = ANYWHERE, *, egress: bool = False) -> Raw:
    return entry(number, "deny", egress=egress, protocol="6", ports=ports, cidr=cidr)


ALLOW = entry(100, "allow", egress=False)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([deny(90, (29500, 29500)), ALLOW, OUT], ["89 in 6 29500-29500 10.0.0.0/24"]),
        ([OUT], ["32766 in 6 0-65535 10.0.0.0/24"]),
        (
            [deny(90, (29500, 29500)), entry(89, "allow", egress=False, cidr="10.9.0.0/16"), ALLOW, OUT],
            ["88 in 6 29500-29500 10.0.0.0/24"],
        ),
        (
            [deny(90, (22, 22)), deny(80, (29500, 29500)), ALLOW, OUT],
            ["78 in 6 22-22 10.0.0.0/24", "79 in 6 29500-29500 10.0.0.0/24"],
        ),
        ([deny(90, (22, 22), "10.0.0.0/30"), ALLOW, OUT], ["89 in 6 22-22 10.0.0.0/24"]),
        ([deny(90, (22, 22), "10.9.0.0/16"), ALLOW, OUT], []),
        (
            [ALLOW, entry(100, "allow", egress=True, protocol="6", ports=(0, 40000))],
            ["32766 out 6 40001-65535 10.0.0.0/24"],
        ),
    ],
    ids=["before-the-deny", "no-entry-at-all", "number-taken", "two-denies", "deny-of-a-part", "no-matter", "way-back"],
)
def test_entries_get_free_numbers_before_the_one_that_denies(entries: list[Raw], expected: list[str]) -> None:
    """An entry allows what is missing for the other subnet, at the highest number that comes in time."""
    document = guarded(*entries, b={"address": "10.0.1.5"})
    if "10.0.0.0/30" in str(entries):
        document = snapshot(
            [node("a", "10.0.0.2"), node("b", "10.0.1.5", subnet="subnet-2")],
            [MESHED],
            acls=[acl("acl-1", entries, subnets=["subnet-2"])],
            **WHOLE,
        )

    assert [(CREATE, "acl-1", [text]) for text in expected] == calls(planned(document))


def test_blocks_that_touch_are_joined() -> None:
    """Two subnets side by side that need the same take one entry."""
    document = snapshot(
        [node("a", "10.0.0.5"), node("b", "10.0.1.5", subnet="subnet-2"), _third()],
        [MESHED],
        acls=[acl("acl-1", [OUT], subnets=["subnet-5"])],
        Subnets=[
            {
                "SubnetId": f"subnet-{number}",
                "VpcId": "vpc-1",
                "CidrBlock": f"10.0.{block}.0/24",
                "AvailabilityZone": "us-east-1a",
            }
            for number, block in ((1, 0), (2, 1), (5, 2))
        ],
        **WHOLE,
    )

    assert calls(planned(document)) == [(CREATE, "acl-1", ["32766 in 6 0-65535 10.0.0.0/23"])]


def _third() -> Raw:
    raw = node("c", "10.0.2.5", subnet="subnet-1")
    raw["SubnetId"] = raw["NetworkInterfaces"][0]["SubnetId"] = "subnet-5"
    return raw


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        (
            [deny(1, (29500, 29500)), ALLOW, OUT],
            "no number is free in acl-1 before the entry that denies; renumber its entries",
        ),
        (
            [*(entry(n, "allow", egress=False, cidr=f"10.9.{n}.0/24") for n in range(1, 19)), deny(90, (22, 22)), OUT],
            (
                "acl-1 has 20 of 20 ingress entries (the default quota) and would need 1 more; join entries, or ask "
                "for a higher quota (L-2AEEBF1A)"
            ),
        ),
        (
            [
                *(entry(n, "allow", egress=False, cidr=f"10.9.{n}.0/24") for n in range(1, 17)),
                deny(98, (22, 22)),
                deny(99, (24, 24)),
                ALLOW,
                OUT,
            ],
            (
                "acl-1 has 20 of 20 ingress entries (the default quota) and would need 2 more; join entries, or ask "
                "for a higher quota (L-2AEEBF1A)"
            ),
        ),
    ],
    ids=["no-number", "19-entries", "19-entries-and-two-more"],
)
def test_what_no_entry_can_do_is_said(entries: list[Raw], reason: str) -> None:
    """Where numbers or entries run out the plan leaves the ACL as it is, and says what a person can do."""
    made = planned(guarded(*entries))

    assert made.operations == ()
    assert {("acl-blocks-path", reason)} <= {(item.rule, item.reason) for item in made.unfixable}
    assert {reason} == {item.reason for item in made.unfixable}
    assert made.before == made.after


def test_one_more_entry_fits_beside_eighteen() -> None:
    """Nineteen entries and the default deny are the quota: the last one is used, and shown."""
    entries = [*(entry(n, "allow", egress=False, cidr=f"10.9.{n}.0/24") for n in range(1, 19)), OUT]
    (made,) = planned(guarded(*entries)).operations

    assert made.quota == {"name": "ingress entries of a network ACL", "before": 19, "after": 20, "limit": 20}


def test_everything_is_never_allowed() -> None:
    """What an entry allows is TCP from the cluster's subnet, whatever is denied: never all protocols from anywhere."""
    params = [item.call.params for item in planned(guarded(deny(5), *allow_all())).operations]

    assert params == [
        {
            "NetworkAclId": "acl-1",
            "RuleNumber": 4,
            "Egress": False,
            "Protocol": "6",
            "RuleAction": "allow",
            "CidrBlock": "10.0.0.0/24",
            "PortRange": {"From": 0, "To": 65535},
        }
    ]


def test_all_traffic_takes_an_entry_for_all_protocols() -> None:
    """Only where the policy itself asks for all protocols does the entry."""
    assert calls(planned(guarded(deny(5), *allow_all()), "all-traffic-mesh")) == [
        (CREATE, "acl-1", ["4 in -1  10.0.0.0/24"])
    ]


def test_changes_of_an_acl_are_unsafe() -> None:
    """An ACL guards more than the cluster."""
    (made,) = planned(guarded(OUT), MESH).operations

    assert (
        str(made.safety),
        made.unsafe_because,
    ) == ("unsafe", "a network ACL guards everything in its subnets, of which it has 1")


def test_a_quota_that_was_raised_is_taken_for_raised() -> None:
    """More entries than the default allows are there already: up to forty there may be."""
    entries = [*(entry(n, "allow", egress=False, cidr=f"10.9.{n}.0/24") for n in range(1, 26)), OUT]

    assert calls(planned(guarded(*entries))) == [(CREATE, "acl-1", ["32766 in 6 0-65535 10.0.0.0/24"])]
