"""CloudFormation's instances, network interfaces, launch templates and Auto Scaling groups."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sgaudit.iac.launch import Card, Launch, default_groups, launch, spread
from sgaudit.iac.stack import Interface
from sgaudit.iac.values import UNKNOWN, Id, Ids, Unknown

if TYPE_CHECKING:
    from sgaudit.iac.properties import Made, One, Properties
    from sgaudit.iac.stack import Stack

TEMPLATE = "AWS::EC2::LaunchTemplate"
CURRENT = ("", "1", "$Latest", "$Default")
"""Versions of a launch template that are what a new stack makes; so is one that only the stack tells."""


def add(made: Made) -> None:
    """Add the interfaces, the instances and what is attached to them afterwards."""
    stack = made.stack
    for one in made.sure("AWS::EC2::NetworkInterface"):
        _interface(one, stack)
    for one in made.of_type("AWS::EC2::Instance"):
        _instance(one, made)
    for one in made.of_type("AWS::AutoScaling::AutoScalingGroup"):
        _scaling_group(one, made)
    for one in made.of_type("AWS::EC2::NetworkInterfaceAttachment"):
        if one.sure:
            properties = one.properties
            _attach(stack, properties.one("NetworkInterfaceId"), properties.one("InstanceId"), properties)
        else:
            stack.interfaces.pop(str(one.properties.one("NetworkInterfaceId")), None)


def _interface(one: One, stack: Stack) -> None:
    properties, subnet_id = one.properties, one.properties.one("SubnetId")
    if isinstance(subnet_id, Unknown):
        stack.note(one.place, "its subnet is not known")
        return
    groups = properties.many("GroupSet")
    stack.interfaces[one.name] = Interface(
        interface_id=one.name,
        subnet_id=subnet_id,
        groups=groups if isinstance(groups, Unknown) or groups else default_groups(stack, subnet_id),
        ipv4=_ipv4(properties),
        ipv6=_ipv6(properties, subnet_id, stack),
        kind=properties.text("InterfaceType") or "interface",
    )
    stack.places[one.name] = one.place


def _ipv4(properties: Properties) -> tuple[str, ...] | None:
    own, items = properties.text("PrivateIpAddress"), properties.items("PrivateIpAddresses")
    listed = [] if isinstance(items, Unknown) else items
    ordered = sorted(listed, key=lambda item: item.flag("Primary") is not True)
    found = [text for text in (own, *(item.text("PrivateIpAddress") for item in ordered)) if text]
    has_primary = own or any(item.flag("Primary") is True for item in listed)
    return tuple(dict.fromkeys(found)) if found and has_primary else None


def _ipv6(properties: Properties, subnet_id: str, stack: Stack) -> tuple[str, ...] | None:
    items = properties.items("Ipv6Addresses")
    subnet = stack.subnets.get(subnet_id)
    if not isinstance(items, Unknown) and items:
        found = tuple(item.text("Ipv6Address") for item in items)
        return found if all(found) else None
    asked = isinstance(items, Unknown) or properties.get("Ipv6AddressCount") not in (None, 0, "0")
    return None if asked or (subnet is not None and subnet.ipv6_on_launch) else ()


def _instance(one: One, made: Made) -> None:
    properties, stack = one.properties, made.stack
    template = _template(properties, made, one.place) if properties.values.get("LaunchTemplate") else None
    settings = Launch(
        {**(template.tags if template else {}), **properties.tags()},
        properties.text("InstanceType") or (template.instance_type if template else ""),
    )
    subnet_id: Id = properties.one("SubnetId")
    interfaces = properties.items("NetworkInterfaces")
    attached: list[Properties] = []
    cards: list[Card] = []
    if isinstance(interfaces, Unknown) or not one.sure:
        stack.note(one.place, "its interfaces are not known")
    elif interfaces:
        attached = [item for item in interfaces if item.get("NetworkInterfaceId") is not None]
        own = [item for item in interfaces if item.get("NetworkInterfaceId") is None]
        cards = [_card(item, "GroupSet", None, stack, subnet_id) for item in own]
        first = next((card.subnet_id for card in cards if card.subnet_id), "")
        subnet_id = subnet_id or first or _subnet_of(stack, attached)
    else:
        base = template.cards[0] if template and template.cards else None
        if template is None or base is not None:
            subnet_id = subnet_id or (base.subnet_id if base else UNKNOWN) or UNKNOWN
            cards = [_primary(properties, base, subnet_id, stack), *(template.cards[1:] if template else ())]
    launch(stack, one.name, one.place, replace(settings, cards=tuple(cards)), subnet_id or UNKNOWN)
    for item in attached:
        _attach(stack, item.one("NetworkInterfaceId"), one.name, item)


def _subnet_of(stack: Stack, attached: list[Properties]) -> Id:
    for item in attached:
        interface = stack.interfaces.get(str(item.one("NetworkInterfaceId")))
        if interface is not None:
            return interface.subnet_id
    return UNKNOWN


def _primary(properties: Properties, base: Card | None, subnet_id: Id, stack: Stack) -> Card:
    groups: Ids | None = properties.many("SecurityGroupIds") or None
    if groups is None and base is not None:
        groups = base.groups
    if properties.get("SecurityGroups") is not None:
        stack.note(properties.place, "groups by name are not read")
        groups = UNKNOWN
    return Card(
        groups=groups,
        subnet_id=subnet_id,
        ipv4=_ipv4(properties),
        ipv6=_ipv6(properties, str(subnet_id), stack),
        kind=base.kind if base else "interface",
    )


def _card(item: Properties, name: str, groups: Ids | None, stack: Stack, subnet_id: Id) -> Card:
    own: Ids = item.many(name)
    index, card = item.number("DeviceIndex"), item.number("NetworkCardIndex")
    where = item.one("SubnetId") or subnet_id
    return Card(
        groups=own or groups,
        subnet_id=where,
        device_index=index if isinstance(index, int) else 0,
        card_index=card if isinstance(card, int) else 0,
        kind=item.text("InterfaceType") or "interface",
        ipv4=_ipv4(item),
        ipv6=_ipv6(item, str(where), stack),
    )


def _attach(stack: Stack, interface_id: Id, instance_id: Id, item: Properties) -> None:
    interface = stack.interfaces.get(interface_id) if isinstance(interface_id, str) else None
    if interface is None or isinstance(instance_id, Unknown):
        stack.note(item.place, "it is not known what this attaches to what")
        return
    index, card = item.number("DeviceIndex"), item.number("NetworkCardIndex")
    interface.instance_id = instance_id
    interface.device_index = index if isinstance(index, int) else 0
    interface.card_index = card if isinstance(card, int) else 0


def _template(properties: Properties, made: Made, place: str, name: str = "LaunchTemplate") -> Launch:
    """Read the launch template that some properties name, if it is in the file."""
    named = properties.inner(name)
    if not isinstance(named, Unknown):
        template_id, template_name = named.one("LaunchTemplateId"), named.text("LaunchTemplateName")
        current = isinstance(named.get("Version"), Unknown) or named.text("Version") in CURRENT
        for one in made.sure(TEMPLATE):
            same_name = template_name and one.properties.text("LaunchTemplateName") == template_name
            if current and (one.name == template_id or same_name):
                return _read_template(one, made.stack)
    made.stack.note(place, "its launch template, or the version of it, is not in the file")
    return Launch()


def _read_template(one: One, stack: Stack) -> Launch:
    data = one.properties.inner("LaunchTemplateData")
    if isinstance(data, Unknown):
        return Launch()
    interfaces, specifications = data.items("NetworkInterfaces"), data.items("TagSpecifications")
    tags: dict[str, str] = {}
    for item in () if isinstance(specifications, Unknown) else specifications:
        if item.text("ResourceType") == "instance":
            tags |= item.tags()
    groups: Ids | None = data.many("SecurityGroupIds") or None
    if data.get("SecurityGroups") is not None:
        groups = UNKNOWN
    if isinstance(interfaces, Unknown) or any(item.get("NetworkInterfaceId") is not None for item in interfaces):
        return Launch(tags, data.text("InstanceType"))
    cards = tuple(_card(item, "Groups", groups, stack, "") for item in interfaces)
    return Launch(tags, data.text("InstanceType"), cards or (Card(groups=groups, subnet_id=""),))


def _scaling_group(one: One, made: Made) -> None:
    properties = one.properties
    if properties.values.get("MixedInstancesPolicy"):
        policy = properties.inner("MixedInstancesPolicy")
        outer = policy if isinstance(policy, Unknown) else policy.inner("LaunchTemplate")
        overrides = UNKNOWN if isinstance(outer, Unknown) else outer.items("Overrides")
        plain = not isinstance(overrides, Unknown) and not any(
            item.get("LaunchTemplateSpecification") is not None for item in overrides
        )
        template = Launch()
        if plain and not isinstance(outer, Unknown):
            template = _template(outer, made, one.place, "LaunchTemplateSpecification")
    else:
        template = _template(properties, made, one.place)
    settings = replace(template, tags={**template.tags, **properties.tags(launched=True)})
    size = properties.number("DesiredCapacity")
    if size is None:
        size = properties.number("MinSize")
    spread(made.stack, one.place, settings, properties.many("VPCZoneIdentifier"), size if one.sure else UNKNOWN)
