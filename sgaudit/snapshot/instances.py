"""Instances and network interfaces, which EC2 describes twice: by themselves, and within their instance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sgaudit.model import Cidr, Family, Instance, Interface, Subnet
from sgaudit.snapshot.fields import (
    EMPTY,
    FieldError,
    Object,
    Step,
    Within,
    cidr,
    differs,
    each,
    flag,
    inner,
    inner_text,
    ipv4,
    ipv6,
    missing,
    objects,
    required,
    tags,
    text,
    whole,
)
from sgaudit.snapshot.groups import Names

Place = tuple[Step, ...]
"""The steps to a value, the outermost first."""
GroupRef = tuple[str, str]
"""The id and the name of a group, of which one may be empty."""

TERMINATED = "terminated"


class Draft(NamedTuple):
    """
    An instance before its interfaces are known.

    A named tuple, because it is made five times as fast as a frozen dataclass.
    """

    instance_id: str
    state: str
    instance_type: str
    vpc_id: str
    subnet_id: str
    availability_zone: str
    owner_id: str
    tags: dict[str, str]
    groups: list[GroupRef]
    """Those of its primary interface."""
    embedded: list[Object]
    """Its interfaces as they stand within it."""
    place: Place

    @property
    def own(self) -> tuple[object, ...]:
        """What is said of the instance itself."""
        return self[:8]


class Sighting(NamedTuple):
    """A network interface as it was found: by itself, within its instance, or both."""

    interface_id: str
    listed: Object
    embedded: Object
    draft: Draft | None
    """The instance that it stands within."""
    place: Place
    """Of the interface by itself, else of the one within the instance."""
    inside: Place = ()
    """Of the one within the instance."""


@dataclass(frozen=True, slots=True)
class Context:
    """What the reading of an interface looks up."""

    names: Names
    subnets: Mapping[str, Subnet]
    drafts: Mapping[str, Draft] = field(default_factory=dict)


def read(
    document: Mapping[str, Any], names: Names, subnets: Mapping[str, Subnet]
) -> tuple[dict[str, Instance], dict[str, Interface]]:
    """Read `Reservations` and `NetworkInterfaces`: what the one lacks is taken from the other."""
    drafts = _drafts(document)
    table: dict[str, Draft] = {}
    for draft in drafts:
        known = table.setdefault(draft.instance_id, draft)
        if known is not draft and known.own != draft.own:
            raise differs(draft.instance_id, draft.place, known.place)
    context = Context(names, subnets, table)
    interfaces: dict[str, Interface] = {}
    places: dict[str, Place] = {}
    for sighting in _sightings(document, drafts):
        interface = _located(sighting, context)
        first = interfaces.setdefault(sighting.interface_id, interface)
        if first is interface:
            places[sighting.interface_id] = sighting.place
        elif first != interface:
            raise differs(sighting.interface_id, sighting.place, places[sighting.interface_id])
    return _instances(table, interfaces), interfaces


def _drafts(document: Mapping[str, Any]) -> list[Draft]:
    drafts: list[Draft] = []
    for number, reservation in enumerate(objects(document, "Reservations")):
        with Within("Reservations", number):
            owner_id = text(reservation, "OwnerId")
            for index, item in enumerate(objects(reservation, "Instances")):
                place = ("Reservations", number, "Instances", index)
                with Within("Instances", index):
                    drafts.append(_draft(item, owner_id, place))
    return drafts


def _draft(item: Object, owner_id: str, place: Place) -> Draft:
    return Draft(
        instance_id=required(item, "InstanceId"),
        state=inner_text(item, "State", "Name"),
        instance_type=text(item, "InstanceType"),
        vpc_id=text(item, "VpcId"),
        subnet_id=text(item, "SubnetId"),
        availability_zone=inner_text(item, "Placement", "AvailabilityZone"),
        owner_id=owner_id,
        tags=tags(item),
        groups=each(item, "SecurityGroups", _group),
        embedded=objects(item, "NetworkInterfaces"),
        place=place,
    )


def _sightings(document: Mapping[str, Any], drafts: list[Draft]) -> list[Sighting]:
    inside: list[Sighting] = []
    for draft in drafts:
        if draft.state == TERMINATED:
            # AWS lists none here; the embedded AWS (moto) does.
            continue
        for index, item in enumerate(draft.embedded):
            place = (*draft.place, "NetworkInterfaces", index)
            with Within(*place):
                interface_id = required(item, "NetworkInterfaceId")
            inside.append(Sighting(interface_id, EMPTY, item, draft, place, place))
    within: dict[str, Sighting] = {}
    for one in inside:
        within.setdefault(one.interface_id, one)
    out: list[Sighting] = []
    for index, item in enumerate(objects(document, "NetworkInterfaces")):
        place = ("NetworkInterfaces", index)
        with Within("NetworkInterfaces", index):
            interface_id = required(item, "NetworkInterfaceId")
        twin = within.get(interface_id)
        if twin is None:
            out.append(Sighting(interface_id, item, EMPTY, None, place))
        else:
            out.append(Sighting(interface_id, item, twin.embedded, twin.draft, place, twin.place))
    listed = {one.interface_id for one in out}
    out.extend(one for one in inside if one.interface_id not in listed)
    return out


def _located(sighting: Sighting, context: Context) -> Interface:
    try:
        return _interface(_merged(sighting.listed, sighting.embedded), sighting, context)
    except FieldError as fault:
        raise fault.inside(*reversed(_place(sighting, fault.steps))) from None


def _place(sighting: Sighting, steps: list[Step]) -> Place:
    """Tell which of the two descriptions a wrong field is from."""
    value: object = sighting.listed
    for step in reversed(steps[-2:]):
        value = value.get(step) if isinstance(value, dict) else value
    return sighting.place if value is not None or not sighting.inside else sighting.inside


def _merged(listed: Object, embedded: Object) -> Object:
    """Join the two descriptions of an interface field by field; what it says by itself counts more."""
    if not embedded:
        return listed
    if not listed:
        return embedded
    merged = _over(listed, embedded)
    attachment, other = listed.get("Attachment"), embedded.get("Attachment")
    if isinstance(attachment, dict) and isinstance(other, dict):
        merged["Attachment"] = _over(attachment, other)
    return merged


def _over(upper: Object, lower: Object) -> Object:
    if None not in upper.values():
        return {**lower, **upper}
    return {**lower, **{key: value for key, value in upper.items() if value is not None}}


def _interface(item: Object, sighting: Sighting, context: Context) -> Interface:
    instance_id, device_index, network_card_index = _attachment(item)
    if not instance_id and sighting.draft is not None:
        instance_id = sighting.draft.instance_id
    draft = context.drafts.get(instance_id)
    primary = draft if device_index == 0 and network_card_index == 0 else None
    subnet_id = text(item, "SubnetId") or (primary.subnet_id if primary else "")
    if not subnet_id:
        raise missing("SubnetId")
    subnet = context.subnets.get(subnet_id)
    vpc_id = text(item, "VpcId") or (subnet.vpc_id if subnet else draft.vpc_id if draft else "")
    if not vpc_id:
        raise missing("VpcId")
    return Interface(
        interface_id=sighting.interface_id,
        instance_id=instance_id,
        vpc_id=vpc_id,
        subnet_id=subnet_id,
        availability_zone=text(item, "AvailabilityZone")
        or (subnet.availability_zone if subnet else draft.availability_zone if draft else ""),
        interface_type=text(item, "InterfaceType", "interface"),
        device_index=device_index,
        network_card_index=network_card_index,
        groups=_groups(item, vpc_id, primary, context.names),
        ipv4=_ipv4(item),
        ipv6=_ipv6(item),
        prefixes=_prefixes(item),
        public_ip=_public_ip(item),
        status=text(item, "Status"),
        description=text(item, "Description"),
        owner_id=text(item, "OwnerId") or (draft.owner_id if draft else ""),
        requester_managed=_managed(item),
        source_dest_check=flag(item, "SourceDestCheck", default=True),
        tcp_established_timeout=_timeout(item),
        tags=tags(item, "TagSet") or tags(item),
    )


def _attachment(item: Object) -> tuple[str, int | None, int]:
    attachment = inner(item, "Attachment")
    with Within("Attachment"):
        card = whole(attachment, "NetworkCardIndex")
        return text(attachment, "InstanceId"), whole(attachment, "DeviceIndex"), card or 0


def _managed(item: Object) -> bool:
    if item.get("Operator") is not None:
        operator = inner(item, "Operator")
        with Within("Operator"):
            if flag(operator, "Managed"):
                return True
    return flag(item, "RequesterManaged")


def _timeout(item: Object) -> int | None:
    key = "ConnectionTrackingConfiguration"
    if item.get(key) is None:
        return None
    tracking = inner(item, key)
    with Within(key):
        return whole(tracking, "TcpEstablishedTimeout")


def _groups(item: Object, vpc_id: str, primary: Draft | None, names: Names) -> tuple[str, ...] | None:
    """Tell the groups by id; None as soon as one of them can't be told."""
    if item.get("Groups") is not None:
        groups = each(item, "Groups", _group)
    elif primary is not None and primary.groups:
        groups = primary.groups
    else:
        return None
    found = [group_id or names.get((vpc_id, name)) for group_id, name in groups]
    known = [group_id for group_id in found if group_id]
    return tuple(dict.fromkeys(known)) if len(known) == len(found) else None


def _group(item: Object) -> GroupRef:
    group_id = text(item, "GroupId")
    if group_id:
        return group_id, ""
    name = text(item, "GroupName")
    if not name:
        raise missing("GroupId")
    return "", name


def _public_ip(item: Object) -> str:
    """Read the public address: that of the primary private address, else of the first that has one."""
    own = _associated(item)
    if own:
        return own
    return next((found for found in each(item, "PrivateIpAddresses", _associated) if found), "")


def _associated(item: Object) -> str:
    association = inner(item, "Association")
    with Within("Association"):
        return ipv4(association, "PublicIp")


def _ipv4(item: Object) -> tuple[str, ...]:
    own = ipv4(item, "PrivateIpAddress")
    found = each(item, "PrivateIpAddresses", _private)
    if len(found) == 1 and found[0][0] == own and own:
        return (own,)
    marked = [address for address, primary in found if primary]
    return _addresses(*(marked or [own]), *(address for address, _ in found), own)


def _private(item: Object) -> tuple[str, bool]:
    return ipv4(item, "PrivateIpAddress"), flag(item, "Primary")


def _ipv6(item: Object) -> tuple[str, ...]:
    own = ipv6(item, "Ipv6Address")
    found = each(item, "Ipv6Addresses", _global)
    if not found and not own:
        return ()
    marked = [address for address, primary in found if primary]
    return _addresses(*marked, *(address for address, _ in found), own)


def _global(item: Object) -> tuple[str, bool]:
    return ipv6(item, "Ipv6Address"), flag(item, "IsPrimaryIpv6")


def _addresses(*found: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(address for address in found if address))


def _prefixes(item: Object) -> tuple[Cidr, ...]:
    return (
        *each(item, "Ipv4Prefixes", lambda one: cidr(one, "Ipv4Prefix", Family.IPV4)),
        *each(item, "Ipv6Prefixes", lambda one: cidr(one, "Ipv6Prefix", Family.IPV6)),
    )


def _instances(table: Mapping[str, Draft], interfaces: Mapping[str, Interface]) -> dict[str, Instance]:
    attached: dict[str, list[Interface]] = {}
    for interface in interfaces.values():
        attached.setdefault(interface.instance_id, []).append(interface)
    return {instance_id: _instance(draft, attached.get(instance_id, ())) for instance_id, draft in table.items()}


def _instance(draft: Draft, interfaces: Sequence[Interface]) -> Instance:
    if draft.state == TERMINATED:
        interfaces = ()
    elif len(interfaces) > 1:
        interfaces = sorted(interfaces, key=_order)
    return Instance(
        instance_id=draft.instance_id,
        state=draft.state,
        instance_type=draft.instance_type,
        vpc_id=draft.vpc_id,
        subnet_id=draft.subnet_id,
        availability_zone=draft.availability_zone,
        interface_ids=tuple([one.interface_id for one in interfaces]),
        owner_id=draft.owner_id,
        tags=draft.tags,
    )


def _order(interface: Interface) -> tuple[int, float, str]:
    index = interface.device_index
    return interface.network_card_index, float("inf") if index is None else index, interface.interface_id
