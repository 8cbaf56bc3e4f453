"""Terraform's instances, network interfaces, launch templates and Auto Scaling groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sgaudit.iac.launch import Card, Launch, default_groups, launch, spread
from sgaudit.iac.references import KINDS_OF_GROUP, KINDS_OF_INTERFACE, KINDS_OF_SUBNET
from sgaudit.iac.stack import Interface
from sgaudit.iac.values import UNKNOWN, Id, Ids, Unknown

if TYPE_CHECKING:
    from sgaudit.iac.plan import Block, Plan, Resource
    from sgaudit.iac.references import Resolver
    from sgaudit.iac.stack import Stack

TEMPLATE = "aws_launch_template"


@dataclass(slots=True)
class Reader:
    """What the reading of instances looks up."""

    plan: Plan
    resolver: Resolver
    stack: Stack


def add(plan: Plan, resolver: Resolver, stack: Stack) -> None:
    """Add the interfaces, the instances and what is attached to them afterwards."""
    reader = Reader(plan, resolver, stack)
    for one in plan.of_type("aws_network_interface"):
        _interface(reader, one)
    for one in plan.of_type("aws_instance"):
        _instance(reader, one)
    for one in plan.of_type("aws_autoscaling_group"):
        _scaling_group(reader, one)
    for one in plan.of_type("aws_network_interface_attachment"):
        _attach(
            reader,
            resolver.one(one.block, "network_interface_id", *KINDS_OF_INTERFACE),
            resolver.one(one.block, "instance_id", "aws_instance"),
            one.block,
            one.address,
        )
    for one in plan.of_type("aws_network_interface_sg_attachment"):
        interface_id = resolver.one(one.block, "network_interface_id", *KINDS_OF_INTERFACE)
        group_id = resolver.one(one.block, "security_group_id", *KINDS_OF_GROUP)
        stack.carry(interface_id, group_id, one.address)


def _interface(reader: Reader, one: Resource) -> None:
    block, interface_id = one.block, str(reader.resolver.id_of(one))
    subnet_id = reader.resolver.one(block, "subnet_id", *KINDS_OF_SUBNET)
    if isinstance(subnet_id, Unknown):
        reader.stack.note(one.address, "its subnet is not known")
        return
    reader.stack.interfaces[interface_id] = Interface(
        interface_id=interface_id,
        subnet_id=subnet_id,
        groups=_groups(reader, block, "security_groups", subnet_id, one.address),
        ipv4=_addresses(block, "private_ips"),
        ipv6=_ipv6(reader, block, subnet_id),
        kind=block.text("interface_type") or "interface",
    )
    reader.stack.places[interface_id] = one.address
    attachments = block.blocks("attachment")
    if block.configured("attachment") and not isinstance(attachments, Unknown):
        for item in attachments:
            instance = reader.resolver.one(item, "instance", "aws_instance")
            _attach(reader, interface_id, instance, item, one.address)


def _groups(reader: Reader, block: Block, name: str, subnet_id: str, place: str) -> Ids:
    """Tell the groups of an interface: those given, else the default group of its VPC."""
    if block.configured(name) or not block.is_unknown(name):
        found = reader.resolver.many(block, name, *KINDS_OF_GROUP)
        if isinstance(found, Unknown):
            reader.stack.note(place, f"{name} is not known")
        return found if isinstance(found, Unknown) or found else default_groups(reader.stack, subnet_id)
    return default_groups(reader.stack, subnet_id)


def _addresses(block: Block, name: str) -> tuple[str, ...] | None:
    """Give the addresses in an attribute that holds one or a list; None when AWS will pick them."""
    value = block.get(name)
    if isinstance(value, Unknown) or not value:
        return None
    return (value,) if isinstance(value, str) else tuple(block.texts(name))  # type: ignore[arg-type]


def _ipv6(reader: Reader, block: Block, subnet_id: str) -> tuple[str, ...] | None:
    value = block.get("ipv6_addresses")
    if isinstance(value, list) and value:
        return tuple(block.texts("ipv6_addresses"))  # type: ignore[arg-type]
    subnet = reader.stack.subnets.get(subnet_id)
    asked = block.configured("ipv6_addresses") or block.configured("ipv6_address_count")
    # A state knows all addresses, and so does a plan where nothing is to come.
    will = asked or bool(subnet and subnet.ipv6_on_launch)
    return None if isinstance(value, Unknown) and will else ()


def _instance(reader: Reader, one: Resource) -> None:
    block, resolver = one.block, reader.resolver
    instance_id = str(resolver.id_of(one))
    template = _template(reader, block, one.address)
    subnet_id: Id = resolver.one(block, "subnet_id", *KINDS_OF_SUBNET)
    if block.left_open("subnet_id"):
        subnet_id = template.cards[0].subnet_id if template and template.cards else UNKNOWN
    own = _own_interfaces(reader, one)
    settings = Launch(
        tags=block.tags(),
        instance_type=block.text("instance_type") or (template.instance_type if template else ""),
        state=block.text("instance_state") or "running",
    )
    if own is None:
        card = _primary(reader, block, template, subnet_id, one)
        settings = Launch(settings.tags, settings.instance_type, (card,), settings.state)
        if template and len(template.cards) > 1:
            settings = Launch(settings.tags, settings.instance_type, (card, *template.cards[1:]), settings.state)
    for interface_id, _ in own or ():
        interface = reader.stack.interfaces.get(interface_id) if isinstance(interface_id, str) else None
        subnet_id = interface.subnet_id if interface and isinstance(subnet_id, Unknown) else subnet_id
    launch(reader.stack, instance_id, one.address, settings, subnet_id)
    for interface_id, item in own or ():
        _attach(reader, interface_id, instance_id, item, one.address)


def _primary(reader: Reader, block: Block, template: Launch | None, subnet_id: Id, one: Resource) -> Card:
    groups: Ids | None = None
    unset = block.left_open("vpc_security_group_ids")
    if block.configured("security_groups") and unset:
        reader.stack.note(one.address, "groups by name are not read")
        groups = UNKNOWN
    elif unset and template is not None:
        groups = template.cards[0].groups if template.cards else UNKNOWN
    elif isinstance(subnet_id, str):
        groups = _groups(reader, block, "vpc_security_group_ids", subnet_id, one.address)
    interface_id = reader.resolver.attribute(one, "primary_network_interface_id")
    ipv4 = _addresses(block, "private_ip")
    secondary = _addresses(block, "secondary_private_ips") or ()
    return Card(
        interface_id=str(interface_id),
        groups=groups,
        subnet_id=subnet_id,
        ipv4=(*ipv4, *secondary) if ipv4 else None,
        ipv6=_ipv6(reader, block, str(subnet_id)),
        public_ip=block.text("public_ip"),
    )


def _own_interfaces(reader: Reader, one: Resource) -> list[tuple[Id, Block]] | None:
    """Tell the interfaces that an instance is given; None when AWS makes its primary one."""
    block, found = one.block, []
    for name in ("network_interface", "primary_network_interface"):
        if not block.configured(name):
            continue
        blocks = block.blocks(name)
        if isinstance(blocks, Unknown):
            reader.stack.note(one.address, f"{name} is not known")
            return []
        found += [(reader.resolver.one(item, "network_interface_id", *KINDS_OF_INTERFACE), item) for item in blocks]
    if one.expressions is None and found:
        # A state lists the primary interface of every instance here: it is the instance's own unless it has a resource.
        found = [item for item in found if item[0] in reader.stack.interfaces]
    return found or None


def _attach(reader: Reader, interface_id: Id, instance_id: Id, block: Block, place: str) -> None:
    interface = reader.stack.interfaces.get(interface_id) if isinstance(interface_id, str) else None
    if interface is None or isinstance(instance_id, Unknown):
        reader.stack.note(place, "it is not known what this attaches to what")
        return
    index, card = (block.number(name) for name in ("device_index", "network_card_index"))
    interface.instance_id = instance_id
    interface.device_index = index if isinstance(index, int) else 0
    interface.card_index = card if isinstance(card, int) else 0


def _template(reader: Reader, block: Block, place: str) -> Launch | None:
    """Read the launch template that a block names, as far as its version is the one in the file."""
    blocks = block.blocks("launch_template") if block.configured("launch_template") else []
    if not isinstance(blocks, Unknown) and not blocks:
        return None
    found = _named_template(reader, blocks[0]) if not isinstance(blocks, Unknown) else None
    if found is None:
        reader.stack.note(place, "its launch template, or the version of it, is not in the file")
        return Launch()
    return found


def _named_template(reader: Reader, block: Block) -> Launch | None:
    by_long_name = "launch_template_id" in block.values or block.configured("launch_template_id")
    key = "launch_template_id" if by_long_name else "id"
    template_id = reader.resolver.one(block, key, TEMPLATE)
    name = "launch_template_name" if key == "launch_template_id" else "name"
    for one in reader.plan.of_type(TEMPLATE):
        same_name = not block.is_unknown(name) and block.text(name) and block.text(name) == one.block.text("name")
        if template_id == reader.resolver.id_of(one) or same_name:
            return _read_template(reader, one) if _is_current(block.get("version"), one) else None
    return None


def _is_current(version: Any, one: Resource) -> bool:
    """Tell whether a version is the one that the file shows."""
    if isinstance(version, Unknown):
        # What is known after apply is the version that the apply makes.
        return True
    latest = one.block.get("latest_version")
    if version == "$Latest":
        return True
    if version in ("$Default", "", None):
        follows = one.block.get("update_default_version") is True
        return one.created or follows or (not one.changed and one.block.get("default_version") == latest)
    return version == "1" if one.created else not one.changed and str(latest) == str(version)


def _read_template(reader: Reader, one: Resource) -> Launch:
    block = one.block
    interfaces = block.blocks("network_interfaces")
    groups: Ids | None = None
    if block.configured("vpc_security_group_ids"):
        groups = reader.resolver.many(block, "vpc_security_group_ids", *KINDS_OF_GROUP)
    elif block.configured("security_group_names"):
        groups = UNKNOWN
    cards: list[Card] = []
    if isinstance(interfaces, Unknown):
        cards.append(Card(groups=UNKNOWN, subnet_id=""))
    else:
        cards += [_card(reader, item, groups) for item in interfaces]
    tags: dict[str, str] = {}
    specifications = block.blocks("tag_specifications")
    for item in () if isinstance(specifications, Unknown) else specifications:
        if item.text("resource_type") == "instance":
            tags |= item.tags()
    return Launch(tags, block.text("instance_type"), tuple(cards) or (Card(groups=groups, subnet_id=""),))


def _card(reader: Reader, item: Block, groups: Ids | None) -> Card:
    if item.configured("network_interface_id"):
        return Card(groups=UNKNOWN, subnet_id=UNKNOWN)
    if (item.configured("security_groups") and item.expressions) or item.values.get("security_groups"):
        groups = reader.resolver.many(item, "security_groups", *KINDS_OF_GROUP)
    index, card = (item.number(name) for name in ("device_index", "network_card_index"))
    return Card(
        groups=groups,
        subnet_id=reader.resolver.one(item, "subnet_id", *KINDS_OF_SUBNET),
        device_index=index if isinstance(index, int) else 0,
        card_index=card if isinstance(card, int) else 0,
        kind=item.text("interface_type") or "interface",
    )


def _scaling_group(reader: Reader, one: Resource) -> None:
    block = one.block
    template = _template(reader, block, one.address)
    mixed = block.blocks("mixed_instances_policy") if block.configured("mixed_instances_policy") else []
    if not isinstance(mixed, Unknown) and mixed:
        template = _mixed(reader, mixed[0])
    if template is None:
        reader.stack.note(one.address, "launch configurations are not read: its instances are unknown")
        template = Launch()
    tags = dict(template.tags)
    labels = block.blocks("tag")
    for item in () if isinstance(labels, Unknown) else labels:
        if item.get("propagate_at_launch") in (True, "true"):
            tags[item.text("key")] = item.text("value")
    subnets = reader.resolver.many(block, "vpc_zone_identifier", *KINDS_OF_SUBNET)
    size = block.number("desired_capacity") if block.get("desired_capacity") is not None else block.number("min_size")
    if not block.configured("desired_capacity") and isinstance(size, Unknown):
        size = block.number("min_size")
    settings = Launch(tags, template.instance_type, template.cards)
    spread(reader.stack, one.address, settings, subnets, size)


def _mixed(reader: Reader, policy: Block) -> Launch | None:
    outer = policy.blocks("launch_template")
    if isinstance(outer, Unknown) or not outer:
        return None
    overrides = outer[0].blocks("override")
    if isinstance(overrides, Unknown) or any(item.values.get("launch_template_specification") for item in overrides):
        return None
    inner = outer[0].blocks("launch_template_specification")
    return _named_template(reader, inner[0]) if not isinstance(inner, Unknown) and inner else None
