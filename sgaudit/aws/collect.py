"""
Reading from AWS just what verdicts need, as one snapshot document.

What is read, and why so:

- Instances, by the selection, filtered by EC2. Each answer embeds the instance's interfaces with
  groups, addresses, prefixes, type and time-outs: all that a verdict needs of them. So
  DescribeNetworkInterfaces is asked only where it tells more: who carries a group that the selection
  names, and who else is in the members' VPCs (`whole_vpc`). Otherwise there is no `NetworkInterfaces`.
- The groups that those interfaces carry, and those that these name as peers, to tell their names and
  whether they exist.
- Subnets of those interfaces; all network ACLs, route tables and peering connections of their VPCs,
  since a default ACL or a main table serves whatever has none of its own.
- Prefix lists that the carried groups and the routes name, but not the entries of those behind
  gateway endpoints: they hold addresses of AWS services.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sgaudit.aws.failures import explain
from sgaudit.aws.members import Found, MembersUnknown, find, with_managed
from sgaudit.aws.progress import SILENT, Progress
from sgaudit.aws.reader import Answer, Reader, requests
from sgaudit.heap import collector_at_rest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sgaudit.aws.session import Connection
    from sgaudit.selection import Selection

Raw = dict[str, Any]


def collect(
    connection: Connection,
    selection: Selection,
    *,
    progress: Progress = SILENT,
    whole_vpc: bool = False,
    rule_ids: bool = False,
) -> dict[str, Any]:
    """
    Read the selected instances and all that decides what passes between them.

    A read that AWS refuses, or that fails, is listed under `Denied` and doesn't end the run: its key is
    left out of the document, or holds the part that came, where a part misleads nobody. When no instance
    in a wanted state matches, `Reservations` holds at most matching ones in other states, and nothing
    else is read.

    Args:
        connection: from `sgaudit.aws.session.connect`.
        selection: which instances.
        progress: is told what has been read.
        whole_vpc: read every interface of the members' VPCs, and the groups that those carry.
        rule_ids: read the ids of the permissions as well.

    Raises:
        CollectError: the members can't be known, since the very first read failed.
    """
    started = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    with collector_at_rest(), Reader(connection, progress) as reader:
        try:
            found = find(reader, selection)
        except MembersUnknown as unknown:
            raise explain(unknown.error, unknown.operation, connection.place) from unknown.error
        network = _network(reader, found, whole_vpc=whole_vpc, rule_ids=rule_ids) if found.live else {}
        owner = next((str(item["OwnerId"]) for item in found.reservations if item.get("OwnerId")), "")
        return {
            "AccountId": owner or connection.account_id(),
            "Region": connection.place.region,
            "CollectedAt": started,
            "Reservations": found.reservations,
            **network,
            "Denied": dict(sorted(reader.denied.items())),
        }


def _network(reader: Reader, found: Found, *, whole_vpc: bool, rule_ids: bool) -> Raw:
    own = list(_embedded(found.reservations))
    vpc_ids = _distinct(item.get("VpcId") for item in [*own, *_instances(found.reservations)])
    subnets = requests("subnet-id", _distinct(item.get("SubnetId") for item in own))
    by_vpc = requests("vpc-id", vpc_ids)
    pending = {
        "Subnets": reader.start("DescribeSubnets", by_vpc if whole_vpc else subnets),
        "Vpcs": reader.start("DescribeVpcs", by_vpc),
        "NetworkAcls": reader.start("DescribeNetworkAcls", by_vpc),
        "RouteTables": reader.start("DescribeRouteTables", by_vpc),
        "VpcPeeringConnections": reader.start(
            "DescribeVpcPeeringConnections",
            [
                *requests("requester-vpc-info.vpc-id", vpc_ids),
                *requests("accepter-vpc-info.vpc-id", vpc_ids),
            ],
        ),
    }
    document: Raw = {}
    described = _described(reader, found, own, by_vpc if whole_vpc else [])
    if described is not None:
        _keep(document, "NetworkInterfaces", described)
        if whole_vpc and not described.error:
            document["WholeVpcs"] = sorted(vpc_ids)
    interfaces = [*own, *(described.items if described else ())]
    carried = _distinct(group.get("GroupId") for item in interfaces for group in item.get("Groups") or ())
    rules = reader.start("DescribeSecurityGroupRules", requests("group-id", carried)) if rule_ids else None
    groups = reader.read("DescribeSecurityGroups", requests("group-id", carried))
    named = reader.start("DescribeSecurityGroups", requests("group-id", _peers(groups.items, carried)))
    answers = {key: item.answer() for key, item in pending.items()}
    lists = _prefix_lists(reader, groups.items, answers["RouteTables"].items)
    named_groups = named.answer()
    _keep(document, "SecurityGroups", Answer(groups.items + named_groups.items, groups.error))
    _keep(document, "Subnets", answers["Subnets"])
    _keep(document, "Vpcs", answers["Vpcs"])
    _keep_whole(document, "NetworkAcls", answers["NetworkAcls"])
    _keep_whole(document, "RouteTables", answers["RouteTables"])
    _keep_whole(document, "VpcPeeringConnections", _once(answers["VpcPeeringConnections"]))
    if rules is not None:
        _keep(document, "SecurityGroupRules", rules.answer())
    return {**document, **lists}


def _keep(document: Raw, key: str, answer: Answer) -> None:
    """Keep a part as well: whoever asks for an id that isn't in it learns that it was not read."""
    if answer.items or not answer.error:
        document[key] = answer.items


def _keep_whole(document: Raw, key: str, answer: Answer) -> None:
    """Keep nothing of a part: that a subnet is in no ACL or table of it would mean something."""
    if not answer.error:
        document[key] = answer.items


def _once(peerings: Answer) -> Answer:
    """Drop doubles: a connection between two VPCs of members is found from both of its sides."""
    by_id = {item["VpcPeeringConnectionId"]: item for item in peerings.items}
    return Answer(list(by_id.values()), peerings.error)


def _instances(reservations: Iterable[Raw]) -> Iterator[Raw]:
    for reservation in reservations:
        yield from reservation.get("Instances") or ()


def _embedded(reservations: Iterable[Raw]) -> Iterator[Raw]:
    for instance in _instances(reservations):
        yield from instance.get("NetworkInterfaces") or ()


def _described(reader: Reader, found: Found, own: Iterable[Raw], neighbourhood: Sequence[Raw]) -> Answer | None:
    """Give the members' interfaces of those read on the way, and every one of the VPCs if asked; else None."""
    if neighbourhood:
        calls = [with_managed(reader, "DescribeNetworkInterfaces", call) for call in neighbourhood]
        return reader.read("DescribeNetworkInterfaces", calls)
    if found.interfaces is None:
        return None
    ids = {item["NetworkInterfaceId"] for item in own}
    return Answer([item for item in found.interfaces if item["NetworkInterfaceId"] in ids])


def _distinct(values: Iterable[str | None]) -> list[str]:
    return sorted({value for value in values if value})


def _permissions(groups: Iterable[Raw]) -> Iterator[Raw]:
    for group in groups:
        yield from group.get("IpPermissions") or ()
        yield from group.get("IpPermissionsEgress") or ()


def _peers(groups: Sequence[Raw], carried: Sequence[str]) -> list[str]:
    """Name the groups that others refer to, but for those of other accounts, which EC2 does not show."""
    own = {group.get("OwnerId") for group in groups}
    named = _distinct(
        pair.get("GroupId")
        for permission in _permissions(groups)
        for pair in permission.get("UserIdGroupPairs") or ()
        if not pair.get("UserId") or pair["UserId"] in own
    )
    return [group_id for group_id in named if group_id not in set(carried)]


def _prefix_lists(reader: Reader, groups: Iterable[Raw], tables: Iterable[Raw]) -> Raw:
    needed = {
        str(item["PrefixListId"])
        for permission in _permissions(groups)
        for item in permission.get("PrefixListIds") or ()
        if item.get("PrefixListId")
    }
    behind_endpoints = set()
    for table in tables:
        for route in table.get("Routes") or ():
            prefix_list = route.get("DestinationPrefixListId")
            if prefix_list and str(route.get("GatewayId", "")).startswith("vpce-"):
                behind_endpoints.add(prefix_list)
            elif prefix_list:
                needed.add(prefix_list)
    described = reader.read("DescribeManagedPrefixLists", requests("prefix-list-id", sorted(needed | behind_endpoints)))
    # A customer's list behind an endpoint leads to a Gateway Load Balancer: its entries may cover members.
    needed |= {
        item["PrefixListId"]
        for item in described.items
        if item["PrefixListId"] in behind_endpoints and item.get("OwnerId") != "AWS"
    }
    entries = {name: reader.start("GetManagedPrefixListEntries", [{"PrefixListId": name}]) for name in sorted(needed)}
    document: Raw = {}
    _keep(document, "ManagedPrefixLists", described)
    answers = {name: item.answer() for name, item in entries.items()}
    document["PrefixListEntries"] = {name: item.items for name, item in answers.items() if not item.error}
    return document
