"""Who holds which role."""

from __future__ import annotations

import pytest

from sgaudit.policy.roles import holders
from tests.unit.policy.cluster import SSH, ids, member, policy

MEMBERS = [
    member("a", tags={"Role": "head"}, groups=("sg-a", "sg-b")),
    member("b", tags={"Role": "worker"}, groups=("sg-b",), subnet="subnet-2"),
    member("c", tags={"Role": "worker"}, groups=("sg-c",)),
]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("tag: Role=head", "a"),
        ("tag: Role=w*", "bc"),
        ("tag: 'Role=head,worker'", "abc"),
        ("tag: [Role=worker, Name=c]", "c"),
        ("tag: Nothing", ""),
        ("instance_id: i-a", "a"),
        ("instance_id: [i-a, i-c]", "ac"),
        ("security_group: sg-b", "ab"),
        ("security_group: [sg-a, sg-c]", "ac"),
        ("subnet: subnet-2", "b"),
        ("tag: Role=worker, security_group: sg-b", "b"),
        ("tag: Role=head, subnet: subnet-2", ""),
        ("default: true", "abc"),
        ("tag: Role=head, default: true", "abc"),
    ],
)
def test_selectors(selector: str, names: str) -> None:
    """All kinds of a role must hold; of ids any does, of tags all must."""
    found = holders(policy(f"roles: {{one: {{{selector}}}}}\n{SSH}"), MEMBERS, None)

    assert found.by_role["one"] == ids(*names)


def test_several_roles_and_the_default() -> None:
    """A member may hold several roles; the default falls to those whom no other role picks."""
    mine = policy(
        "roles:\n  one: {tag: Role=head}\n  other: {security_group: sg-b}\n  rest: {default: true}\n" + SSH,
    )
    found = holders(mine, MEMBERS, None)

    assert found.by_role == {
        "one": ids("a"),
        "other": ids("a", "b"),
        "rest": ids("c"),
        "head": ids("a", "b", "c"),
        "member": ids("a", "b", "c"),
    }


def test_the_head_is_no_default() -> None:
    """A known head leaves the default to the others; an unknown one is everybody."""
    mine = policy("roles: {compute: {default: true}}\n" + SSH)

    known, unknown = holders(mine, MEMBERS, "i-a"), holders(mine, MEMBERS, None)

    assert (known.by_role["head"], known.by_role["compute"]) == (ids("a"), ids("b", "c"))
    assert (unknown.by_role["head"], unknown.by_role["compute"]) == (ids("a", "b", "c"), ids("a", "b", "c"))
    assert (known.known_heads, unknown.known_heads) == (ids("a"), frozenset())


@pytest.mark.parametrize("selector", ["default: true", "tag: Role=worker", "tag: Role=worker, default: true"])
def test_the_option_outranks_the_policy(selector: str) -> None:
    """With `--head` nobody else is the head, whatever the policy says of it."""
    found = holders(policy(f"roles: {{head: {{{selector}}}}}\n{SSH}"), MEMBERS, "i-a")

    assert (found.by_role["head"], found.known_heads) == (ids("a"), ids("a"))


@pytest.mark.parametrize("unread", [member("d", groups=None), member("d", interfaces=False)])
def test_groups_that_were_not_read(unread: object) -> None:
    """Who may hold a role counts as holding it, and as holding the default too: nothing is left out of sight."""
    mine = policy("roles:\n  one: {security_group: sg-a}\n  rest: {default: true}\n" + SSH)
    found = holders(mine, [*MEMBERS, unread], None)  # type: ignore[list-item]  # a member, as parametrized

    assert (found.by_role["one"], found.by_role["rest"]) == (ids("a", "d"), ids("b", "c", "d"))
