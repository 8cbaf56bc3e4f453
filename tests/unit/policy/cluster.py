"""Members and policies made by hand, plain unless told otherwise."""

from __future__ import annotations

from sgaudit.model import Instance, Interface, Member
from sgaudit.policy.model import Policy
from sgaudit.policy.parse import parse
from sgaudit.policy.source import Source

START = "schema_version: 1\nname: mine\nsummary: A test.\n"
SSH = "needs:\n  - {id: ssh, from: member, to: member, ports: 22, why: because, source: a page}\n"


def member(
    name: str,
    *,
    tags: dict[str, str] | None = None,
    groups: tuple[str, ...] | None = ("sg-a",),
    subnet: str = "subnet-1",
    interfaces: bool = True,
) -> Member:
    """Give the instance `i-NAME` with the Name tag NAME and one interface."""
    instance = Instance(
        instance_id=f"i-{name}",
        state="running",
        instance_type="p5.48xlarge",
        vpc_id="vpc-1",
        subnet_id=subnet,
        availability_zone="us-east-1a",
        interface_ids=(f"eni-{name}",),
        tags={"Name": name, **(tags or {})},
    )
    interface = Interface(
        interface_id=f"eni-{name}",
        instance_id=f"i-{name}",
        vpc_id="vpc-1",
        subnet_id=subnet,
        availability_zone="us-east-1a",
        interface_type="interface",
        device_index=0,
        network_card_index=0,
        groups=groups,
        ipv4=(),
        ipv6=(),
    )
    return Member(instance, (interface,) if interfaces else ())


def ids(*names: str) -> frozenset[str]:
    """Give the ids of members by name."""
    return frozenset(f"i-{name}" for name in names)


def policy(text: str, *, file: str = "f.yaml") -> Policy:
    """Read the text of a policy; it goes behind the keys that every policy has."""
    return parse(Source(START + text, file, None, (file,)))
