"""Terraform plans and states: what their resources come to, and what stays unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sgaudit import iac
from tests.unit.iac.plans import LAUNCHED, NEW, Plan, acl, cluster, group, network, nodes, ref, value
from tests.unit.iac.reach import judged, of_plan, verdicts

if TYPE_CHECKING:
    from collections.abc import Callable

Raw = dict[str, Any]
ALL = "0-65535"
MAYBE = f"?{ALL}"
SELF = {"ip_protocol": "-1", "from_port": None, "to_port": None}


def row(**fields: Any) -> Raw:
    """Give a row as it stands inside an aws_security_group."""
    return {
        "cidr_blocks": [],
        "description": "",
        "from_port": 0,
        "ipv6_cidr_blocks": [],
        "prefix_list_ids": [],
        "protocol": "-1",
        "security_groups": [],
        "self": False,
        "to_port": 0,
        **fields,
    }


def empty_group(
    plan: Plan, name: str, ingress: list[Raw] | None = None, marks: Any = None, expression: Any = None, **more: Any
) -> None:
    """Add a group that lets everything out, and in what its blocks say."""
    values: Raw = {"name": name, "egress": [row(cidr_blocks=["0.0.0.0/0"])]}
    expressions: Raw = {"vpc_id": ref("aws_vpc.ml.id"), "egress": value(values["egress"])}
    if ingress is not None:
        values["ingress"] = ingress
        expressions["ingress"] = expression or value(ingress)
    unknown = NEW | {"vpc_id": True, "ingress": ingress is None if marks is None else marks}
    plan.add("aws_security_group", name, values, unknown, expressions, **more)


def node(plan: Plan, name: str, subnet: int = 0, groups: Raw | None = None, address: str = "", **settings: Any) -> None:
    """Add an instance that carries what an expression says."""
    values: Raw = {"instance_type": "m7i.large", "tags": {"Name": name}}
    unknown = dict(LAUNCHED)
    expressions: Raw = {"subnet_id": ref(f"aws_subnet.private[{subnet}].id")}
    if groups is not None:
        expressions["vpc_security_group_ids"] = groups
    if address:
        values["private_ip"] = address
        unknown.pop("private_ip")
    for key, given in settings.items():
        values[key] = given
        unknown.pop(key, None)
        expressions[key] = value(given)
    plan.add("aws_instance", name, values, unknown, expressions)


def pair(plan: Plan, group: str = "g", *, apart: bool = False, known: bool = False) -> None:
    """Add two nodes that carry a group."""
    for number, name in enumerate("ab"):
        address = f"10.20.{1 + number * apart}.{20 + number}" if known else ""
        node(plan, name, number * apart, ref(f"aws_security_group.{group}.id"), address)


def rule(plan: Plan, name: str, group: str = "g", *, expressions: Raw | None = None, **values: Any) -> None:
    """Add a separate ingress rule."""
    plan.add(
        "aws_vpc_security_group_ingress_rule",
        name,
        {**SELF, **values},
        NEW | {"security_group_id": True, **dict.fromkeys(expressions or {}, True)},
        {"security_group_id": ref(f"aws_security_group.{group}.id"), **(expressions or {})},
    )


def by_wide_block(plan: Plan) -> None:
    empty_group(plan, "g", [row(cidr_blocks=["10.20.0.0/16"])])
    pair(plan)


def by_whole_subnet(plan: Plan) -> None:
    empty_group(plan, "g", [row(cidr_blocks=["10.20.1.0/24"])])
    pair(plan)


def by_part_of_subnet(plan: Plan) -> None:
    empty_group(plan, "g", [row(cidr_blocks=["10.20.1.0/25"])])
    pair(plan)


def by_part_with_addresses(plan: Plan) -> None:
    empty_group(plan, "g", [row(cidr_blocks=["10.20.1.0/25"])])
    pair(plan, known=True)


def by_other_subnet(plan: Plan) -> None:
    empty_group(plan, "g", [row(cidr_blocks=["10.20.2.0/25"])])
    pair(plan)


def by_self(plan: Plan) -> None:
    empty_group(plan, "g", [row(self=True)])
    pair(plan)


def by_inline_reference(plan: Plan) -> None:
    """Add a block that names another group of the plan, whose id nobody knows yet."""
    empty_group(plan, "peers")
    block = row()
    block.pop("security_groups")
    expression = [{"security_groups": ref("aws_security_group.peers.id"), "protocol": value("-1")}]
    empty_group(plan, "g", [block], [{"security_groups": True}], expression)
    node(plan, "a", 0, ref("aws_security_group.g.id"))
    node(plan, "b", 0, ref("aws_security_group.peers.id"))


def by_unknown_blocks(plan: Plan) -> None:
    empty_group(plan, "g", [], True, {"references": ["local.rules"]})
    plan.resources[""][-1]["values"].pop("ingress")
    pair(plan)


def by_separate_rule(plan: Plan) -> None:
    empty_group(plan, "g")
    rule(plan, "all", expressions={"referenced_security_group_id": ref("aws_security_group.g.id")})
    pair(plan)


def by_old_rule(plan: Plan) -> None:
    empty_group(plan, "g")
    plan.add(
        "aws_security_group_rule",
        "all",
        {"type": "ingress", "protocol": "all", "from_port": 0, "to_port": 0, "self": None},
        NEW | {"security_group_id": True, "source_security_group_id": True},
        {
            "security_group_id": ref("aws_security_group.g.id"),
            "source_security_group_id": ref("aws_security_group.g.id"),
        },
    )
    pair(plan)


def by_prefix_list(plan: Plan) -> None:
    plan.add("aws_ec2_managed_prefix_list", "l", {"entry": [{"cidr": "10.20.0.0/16"}]}, NEW, {"entry": value([])})
    empty_group(plan, "g")
    rule(plan, "all", expressions={"prefix_list_id": ref("aws_ec2_managed_prefix_list.l.id")})
    pair(plan)


def by_foreign_list(plan: Plan) -> None:
    empty_group(plan, "g")
    rule(plan, "all", prefix_list_id="pl-12345678")
    pair(plan)


def without_egress(plan: Plan) -> None:
    plan.add(
        "aws_security_group",
        "g",
        {"name": "g", "ingress": [row(cidr_blocks=["0.0.0.0/0"])]},
        NEW | {"vpc_id": True, "egress": True},
        {"vpc_id": ref("aws_vpc.ml.id"), "ingress": value([])},
    )
    pair(plan)


def literal_group(plan: Plan) -> None:
    node(plan, "a", vpc_security_group_ids=["sg-0123456789abcdef0"])
    node(plan, "b", vpc_security_group_ids=["sg-0123456789abcdef0"])


def no_group(plan: Plan) -> None:
    node(plan, "a")
    node(plan, "b", 1)


def default_group_by_name(plan: Plan) -> None:
    node(plan, "a", 0, ref("aws_vpc.ml.default_security_group_id"))
    node(plan, "b", 1)


def closed_default_group(plan: Plan) -> None:
    plan.add("aws_default_security_group", "d", {}, NEW | {"vpc_id": True}, {"vpc_id": ref("aws_vpc.ml.id")})
    no_group(plan)


def chosen_group(plan: Plan) -> None:
    by_self(plan)
    plan.configured[""]["aws_instance", "a"]["vpc_security_group_ids"] = {
        "references": ["var.wide", "aws_security_group.g.id", "aws_security_group.g"]
    }


def one_of_two_groups(plan: Plan) -> None:
    by_self(plan)
    empty_group(plan, "other")
    plan.configured[""]["aws_instance", "a"]["vpc_security_group_ids"] = {
        "references": [*ref("local.groups")["references"], *ref("aws_security_group.g.id")["references"]]
    }


def guarded(plan: Plan) -> None:
    by_wide_block(plan)
    plan.resources[""] = [one for one in plan.resources[""] if one["type"] != "aws_instance"]
    pair(plan, apart=True)
    acl(plan)


def closed_default_acl(plan: Plan) -> None:
    empty_group(plan, "g", [row(cidr_blocks=["0.0.0.0/0"])])
    pair(plan, apart=True)
    plan.add(
        "aws_default_network_acl",
        "d",
        {},
        NEW | {"default_network_acl_id": True, "subnet_ids": True},
        {"default_network_acl_id": ref("aws_vpc.ml.default_network_acl_id")},
    )


def separate_acl(plan: Plan, subnet: Raw | None = None, low: int | None = 0) -> None:
    empty_group(plan, "g", [row(cidr_blocks=["0.0.0.0/0"])])
    pair(plan, apart=True)
    plan.add(
        "aws_network_acl",
        "n",
        {},
        NEW | {"ingress": True, "egress": True, "subnet_ids": True, "vpc_id": True},
        {"vpc_id": ref("aws_vpc.ml.id")},
    )
    for egress in (False, True):
        entry = {"rule_number": 1, "rule_action": "allow", "protocol": "6", "cidr_block": "10.20.0.0/16"}
        unknown = NEW | {"network_acl_id": True}
        if low is None:
            unknown["from_port"] = True
        plan.add(
            "aws_network_acl_rule",
            f"all-{egress}",
            {**entry, "egress": egress, "from_port": low, "to_port": 65535},
            unknown,
            {"network_acl_id": ref("aws_network_acl.n.id"), "from_port": {"references": ["local.low"]}},
        )
    plan.add(
        "aws_network_acl_association",
        "n",
        {},
        NEW | {"network_acl_id": True, "subnet_id": True},
        {"network_acl_id": ref("aws_network_acl.n.id"), "subnet_id": subnet or ref("aws_subnet.private[1].id")},
    )


def unknown_entry(plan: Plan) -> None:
    separate_acl(plan, low=None)


def somewhere_associated(plan: Plan) -> None:
    separate_acl(plan, {"references": ["local.subnet"]})


def through_a_middlebox(plan: Plan) -> None:
    empty_group(plan, "g", [row(cidr_blocks=["0.0.0.0/0"])])
    pair(plan, apart=True)
    plan.add("aws_route_table", "t", {}, NEW | {"vpc_id": True, "route": True}, {"vpc_id": ref("aws_vpc.ml.id")})
    plan.add(
        "aws_route",
        "r",
        {"destination_cidr_block": "10.20.2.0/24", "network_interface_id": "eni-1"},
        NEW | {"route_table_id": True},
        {
            "route_table_id": ref("aws_route_table.t.id"),
            "network_interface_id": value("eni-1"),
            "destination_cidr_block": value("10.20.2.0/24"),
        },
    )
    plan.add(
        "aws_route_table_association",
        "a",
        {},
        NEW | {"route_table_id": True, "subnet_id": True},
        {"route_table_id": ref("aws_route_table.t.id"), "subnet_id": ref("aws_subnet.private[0].id")},
    )


OPEN, SHUT, DOUBT = {"a b": ALL, "b a": ALL}, {"a b": "", "b a": ""}, {"a b": MAYBE, "b a": MAYBE}


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (by_wide_block, OPEN),
        (by_whole_subnet, OPEN),
        (by_part_of_subnet, DOUBT),
        (by_part_with_addresses, OPEN),
        (by_other_subnet, SHUT),
        (by_self, OPEN),
        (by_inline_reference, {"a b": "", "b a": ALL}),
        (by_unknown_blocks, DOUBT),
        (by_separate_rule, OPEN),
        (by_old_rule, OPEN),
        (by_prefix_list, OPEN),
        (by_foreign_list, DOUBT),
        (without_egress, SHUT),
        (literal_group, DOUBT),
        (no_group, OPEN),
        (default_group_by_name, OPEN),
        (closed_default_group, SHUT),
        (chosen_group, DOUBT),
        (one_of_two_groups, DOUBT),
        (guarded, {"a b": "", "b a": "0-32767"}),
        (closed_default_acl, SHUT),
        (separate_acl, OPEN),
        (unknown_entry, DOUBT),
        (somewhere_associated, DOUBT),
        (through_a_middlebox, DOUBT),
    ],
)
def test_two_nodes(build: Callable[[Plan], None], expected: dict[str, str]) -> None:
    """What the plan makes of two nodes: open, shut, or unknown where it does not tell."""
    plan = Plan()
    network(plan)
    build(plan)
    assert judged(plan.build()) == expected


@pytest.mark.parametrize(
    ("size", "references", "subnets"),
    [
        (2, ["aws_subnet.private", "count.index"], ["aws_subnet.private[0]", "aws_subnet.private[1]"]),
        (2, ["aws_subnet.private[1].id", "aws_subnet.private[1]", "aws_subnet.private"], ["aws_subnet.private[1]"] * 2),
        (4, ["aws_subnet.private", "count.index"], [""] * 4),
        (2, ["aws_subnet.private", "each.value.subnet", "each.value"], ["", ""]),
        (1, ["data.aws_subnet.there.id", "data.aws_subnet.there"], [""]),
    ],
)
def test_counted(size: int, references: list[str], subnets: list[str]) -> None:
    """An index by count.index means the same index where both are counted alike; anything else is not guessed."""
    plan = Plan()
    network(plan)
    for index in range(size):
        plan.add("aws_instance", "n", {}, LAUNCHED, {"subnet_id": {"references": references}}, index=index)
    document = of_plan(plan.build()).document
    found = [one["Instances"][0].get("SubnetId", "") for one in document["Reservations"]]
    assert found == subnets
    assert len(document["NetworkInterfaces"]) == sum(map(bool, subnets))


@pytest.mark.parametrize(
    ("groups", "marks", "carried"),
    [
        ([None, "sg-1"], [True, False], ["sg-1", "aws_security_group.g"]),
        ([None, None], [True, True], ["aws_security_group.g", "aws_security_group.h"]),
        ([None], [True], None),
    ],
)
def test_partly_known_list(groups: list[str | None], marks: list[bool], carried: list[str] | None) -> None:
    """In a list whose length is known, more names than places are a choice that nobody can tell."""
    plan = Plan()
    network(plan)
    names = ["aws_security_group.g.id", "aws_security_group.h.id"][: 1 if "sg-1" in groups else 2]
    for name in "gh":
        empty_group(plan, name)
    values = {"vpc_security_group_ids": groups, "subnet_id": "subnet-1"}
    unknown = LAUNCHED | {"vpc_security_group_ids": marks, "subnet_id": False}
    expressions = {"vpc_security_group_ids": ref(*names), "subnet_id": value("subnet-1")}
    plan.add("aws_instance", "n", values, unknown, expressions)
    (interface,) = of_plan(plan.build()).document["NetworkInterfaces"]
    found = [one["GroupId"] for one in interface["Groups"]] if "Groups" in interface else None
    assert found == carried


def test_modules() -> None:
    """References go out through a module's outputs and in through its variables, instance by instance."""
    plan = Plan()
    network(plan)
    plan.calls["groups"] = {"vpc": ref("aws_vpc.ml.id")}
    plan.outputs["ids"] = {"references": ["aws_security_group.g"]}
    for index in range(2):
        plan.add(
            "aws_security_group",
            "g",
            {"name": f"g{index}", "ingress": [row(self=True)], "egress": [row(cidr_blocks=["0.0.0.0/0"])]},
            NEW | {"vpc_id": True},
            {"vpc_id": ref("var.vpc"), "ingress": value([]), "egress": value([])},
            index=index,
            module='module.groups["x"]',
        )
    for name, index in (("a", 0), ("b", 0), ("c", 1)):
        head = f'module.groups["x"].ids[{index}]'
        node(plan, name, 0, {"references": [head, 'module.groups["x"].ids', "module.groups"]})
    content = plan.build()
    groups = of_plan(content).document["SecurityGroups"]
    assert [one["VpcId"] for one in groups] == ["aws_vpc.ml"] * 3
    assert judged(content) == {"a b": ALL, "b a": ALL, "a c": "", "c a": "", "b c": "", "c b": ""}


def template(plan: Plan, **version: Any) -> None:
    """Add a launch template, and an Auto Scaling group of three over both subnets."""
    empty_group(plan, "g", [row(self=True)])
    plan.add(
        "aws_launch_template",
        "t",
        {
            "name": "t",
            "instance_type": "p5.48xlarge",
            "tag_specifications": [{"resource_type": "instance", "tags": {"cluster": "train"}}],
        },
        NEW | {"vpc_security_group_ids": True, "latest_version": True, "default_version": True},
        {"vpc_security_group_ids": ref("aws_security_group.g.id")},
    )
    plan.add(
        "aws_autoscaling_group",
        "w",
        {
            "desired_capacity": 3,
            "min_size": 1,
            "launch_template": [version],
            "tag": [{"key": "Name", "value": "w", "propagate_at_launch": True}],
        },
        NEW | {"vpc_zone_identifier": True, "launch_template": [{"id": True, "name": True}]},
        {
            "desired_capacity": value(3),
            "vpc_zone_identifier": {"references": ["aws_subnet.private"]},
            "launch_template": [{"id": ref("aws_launch_template.t.id"), "version": value(version.get("version"))}],
        },
    )


@pytest.mark.parametrize(("version", "known"), [("$Latest", True), ("$Default", True), ("1", True), ("7", False)])
def test_scaling_group(version: str, known: bool) -> None:
    """A group of N is N instances over its subnets, with what its template says if that is its version."""
    plan = Plan()
    network(plan)
    template(plan, version=version)
    document = of_plan(plan.build()).document
    instances = [one["Instances"][0] for one in document["Reservations"]]
    assert [one["InstanceId"] for one in instances] == [f"aws_autoscaling_group.w.instances[{i}]" for i in range(3)]
    assert [one["SubnetId"] for one in instances] == [f"aws_subnet.private[{i}]" for i in (0, 1, 0)]
    if not known:
        assert document["NetworkInterfaces"] == []
        return
    tags = [{"Key": "cluster", "Value": "train"}, {"Key": "Name", "Value": "w"}]
    assert [one["Tags"] for one in instances] == [tags] * 3
    groups = [one["Groups"] for one in document["NetworkInterfaces"]]
    assert groups == [[{"GroupId": "aws_security_group.g"}]] * 3


def test_fewer_than_subnets() -> None:
    """Which subnet an instance is in is not known when there are more subnets than instances."""
    plan = Plan()
    network(plan)
    template(plan, version="$Latest")
    plan.resources[""][-1]["values"]["desired_capacity"] = 1
    reading = of_plan(plan.build())
    assert reading.document["NetworkInterfaces"] == []
    assert any("AWS chooses" in note for note in reading.notes)


def test_interfaces_apart() -> None:
    """An instance can have interfaces that are resources, and groups that are attached to them."""
    plan = Plan()
    network(plan)
    empty_group(plan, "g", [row(self=True)])
    for name in "ab":
        plan.add(
            "aws_network_interface",
            name,
            {"private_ips": [f"10.20.1.{ord(name)}"]},
            NEW | {"subnet_id": True, "security_groups": True},
            {"subnet_id": ref("aws_subnet.private[0].id"), "private_ips": value([])},
        )
        plan.add(
            "aws_instance",
            name,
            {"tags": {"Name": name}, "network_interface": [{"device_index": 0, "network_card_index": 0}]},
            LAUNCHED | {"network_interface": [{"network_interface_id": True}]},
            {"network_interface": [{"network_interface_id": ref(f"aws_network_interface.{name}.id")}]},
        )
        plan.add(
            "aws_network_interface_sg_attachment",
            name,
            {},
            NEW | {"network_interface_id": True, "security_group_id": True},
            {
                "network_interface_id": ref(f"aws_network_interface.{name}.id"),
                "security_group_id": ref("aws_security_group.g.id"),
            },
        )
    content = plan.build()
    interfaces = of_plan(content).document["NetworkInterfaces"]
    carried = [{"GroupId": "aws_vpc.ml.default_security_group_id"}, {"GroupId": "aws_security_group.g"}]
    assert [one["Groups"] for one in interfaces] == [carried] * 2
    assert judged(content) == OPEN


def existing(plan: Plan, kind: str, name: str, values: Raw, expressions: Raw | None = None, **more: Any) -> None:
    plan.add(kind, name, values, {}, expressions, actions=("no-op",), before=values, **more)


@pytest.mark.parametrize(("removed", "expected"), [(True, SHUT), (False, OPEN)])
def test_a_rule_is_taken_away(removed: bool, expected: dict[str, str]) -> None:
    """A group that exists has the rules that AWS shows, but those that the plan removes."""
    plan = Plan()
    network(plan)
    block = row(protocol="tcp", from_port=0, to_port=65535, security_groups=["sg-1"])
    group = {"id": "sg-1", "name": "g", "vpc_id": "aws_vpc.ml", "ingress": [block]}
    existing(plan, "aws_security_group", "g", {**group, "egress": [row(cidr_blocks=["0.0.0.0/0"])]})
    gone = {
        "security_group_id": "sg-1",
        "ip_protocol": "tcp",
        "from_port": 0,
        "to_port": 65535,
        "referenced_security_group_id": "sg-1",
    }
    if removed:
        plan.add("aws_vpc_security_group_ingress_rule", "r", {}, {}, before=gone, actions=("delete",))
    for name in "ab":
        node(plan, name, vpc_security_group_ids=["sg-1"])
    assert judged(plan.build()) == expected


def test_state() -> None:
    """A state needs no configuration: everything in it is known."""
    items: list[Raw] = []

    def add(kind: str, name: str, /, **values: Any) -> None:
        address = f"{kind}.{name}"
        items.append({"address": address, "mode": "managed", "type": kind, "name": name, "values": values})

    made = {"default_security_group_id": "sg-d", "default_network_acl_id": "acl-d", "main_route_table_id": "rtb-d"}
    add("aws_vpc", "v", id="vpc-1", cidr_block="10.0.0.0/16", **made)
    add("aws_subnet", "s", id="subnet-1", vpc_id="vpc-1", cidr_block="10.0.1.0/24", availability_zone="eu-west-1a")
    add("aws_subnet", "t", id="subnet-2", vpc_id="vpc-1", cidr_block="10.0.2.0/24", availability_zone="eu-west-1b")
    everywhere = [row(cidr_blocks=["0.0.0.0/0"])]
    add("aws_security_group", "g", id="sg-1", name="g", vpc_id="vpc-1", ingress=everywhere, egress=everywhere)
    entry = {"rule_no": 100, "action": "allow", "protocol": "-1", "cidr_block": "10.0.1.0/25"}
    deny = {
        "rule_no": 90,
        "action": "deny",
        "protocol": "6",
        "cidr_block": "10.0.1.8/32",
        "from_port": 22,
        "to_port": 22,
    }
    add(
        "aws_network_acl",
        "n",
        id="acl-1",
        vpc_id="vpc-1",
        subnet_ids=["subnet-2"],
        ingress=[entry, deny],
        egress=[entry],
    )
    for name, subnet, address in (("a", "subnet-1", "10.0.1.8"), ("b", "subnet-2", "10.0.2.9")):
        add(
            "aws_instance",
            name,
            id=f"i-{name}",
            primary_network_interface_id=f"eni-{name}",
            subnet_id=subnet,
            private_ip=address,
            instance_state="running",
            vpc_security_group_ids=["sg-1"],
            tags={"Name": name},
        )
    content = {"format_version": "1.0", "terraform_version": "1.11.4", "values": {"root_module": {"resources": items}}}
    assert judged(content) == {"a b": "0-21,23-65535", "b a": ALL}


def test_peering() -> None:
    """Two VPCs of one plan reach each other over a connection that is accepted by itself, where routes lead."""
    plan = Plan()
    made = {"default_security_group_id": True, "default_network_acl_id": True, "main_route_table_id": True}
    for name, block in (("a", "10.1.0.0/16"), ("b", "10.2.0.0/16")):
        other = {"a": "10.2.0.0/16", "b": "10.1.0.0/16"}[name]
        plan.add("aws_vpc", name, {"cidr_block": block}, NEW | made, {})
        plan.add(
            "aws_subnet", name, {"cidr_block": block}, NEW | {"vpc_id": True}, {"vpc_id": ref(f"aws_vpc.{name}.id")}
        )
        plan.add(
            "aws_security_group",
            name,
            {"ingress": [row(cidr_blocks=["10.0.0.0/8"])], "egress": [row(cidr_blocks=["0.0.0.0/0"])]},
            NEW | {"vpc_id": True},
            {"vpc_id": ref(f"aws_vpc.{name}.id"), "ingress": value([]), "egress": value([])},
        )
        plan.add(
            "aws_route",
            name,
            {"destination_cidr_block": other},
            NEW | {"route_table_id": True, "vpc_peering_connection_id": True},
            {
                "route_table_id": ref(f"aws_vpc.{name}.main_route_table_id"),
                "vpc_peering_connection_id": ref("aws_vpc_peering_connection.p.id"),
            },
        )
        plan.add(
            "aws_instance",
            name,
            {"tags": {"Name": name}},
            LAUNCHED,
            {
                "subnet_id": ref(f"aws_subnet.{name}.id"),
                "vpc_security_group_ids": ref(f"aws_security_group.{name}.id"),
            },
        )
    plan.add(
        "aws_vpc_peering_connection",
        "p",
        {"auto_accept": True},
        NEW | {"vpc_id": True, "peer_vpc_id": True},
        {"vpc_id": ref("aws_vpc.a.id"), "peer_vpc_id": ref("aws_vpc.b.id")},
    )
    content = plan.build()
    assert judged(content) == OPEN
    content["planned_values"]["root_module"]["resources"][-1]["values"]["auto_accept"] = None
    assert judged(content) == DOUBT


def test_stand_ins() -> None:
    """Addresses that AWS will pick are stood in for within the subnet, past those that are given."""
    plan = Plan()
    network(plan)
    group(plan)
    nodes(plan, known=False)
    node(plan, "given", 0, ref("aws_security_group.train.id"), "10.20.1.4")
    reading = of_plan(plan.build())
    found = [one["PrivateIpAddresses"][0]["PrivateIpAddress"] for one in reading.document["NetworkInterfaces"]]
    assert found == ["10.20.1.5", "10.20.1.6", "10.20.2.4", "10.20.2.5", "10.20.1.4"]
    assert reading.notes == (
        "plan.json: 4 addresses are known only after the stack is made: the ones shown stand in for them",
    )


def test_literal_subnet() -> None:
    """In a subnet outside the plan neighbours are judged by their groups; nothing is known of ways beyond it."""
    plan = Plan()
    network(plan)
    empty_group(plan, "g", [row(self=True)])
    for name, subnet in (("a", "subnet-1"), ("b", "subnet-1"), ("c", "subnet-2")):
        node(plan, name, 0, ref("aws_security_group.g.id"), subnet_id=subnet)
    assert judged(plan.build()) == {
        "a b": ALL,
        "b a": ALL,
        "a c": MAYBE,
        "c a": MAYBE,
        "b c": MAYBE,
        "c b": MAYBE,
    }


@pytest.mark.parametrize(
    "references",
    [7, True, None, [7], ['aws_security_group.g["\\$"].id'], ["module.no.where"], ["var."], ["[0]", "..", "]"]],
)
def test_strange_references(references: Any) -> None:
    """What is no reference names nothing: the groups are unknown."""
    plan = Plan()
    network(plan)
    empty_group(plan, "g", [row(self=True)])
    for name in "ab":
        node(plan, name, 0, {"references": references})
    assert judged(plan.build()) == DOUBT


def test_notes_are_few() -> None:
    """What is to be said of many places is said once, and never more than fits a screen or two."""
    plan = Plan()
    network(plan)
    for index in range(3):
        plan.add("aws_instance", "n", {}, LAUNCHED, {"subnet_id": ref("local.subnet")}, index=index)
    assert of_plan(plan.build()).notes == ("aws_instance.n[0] and 2 more: its subnet is not known",)
    for index in range(99):
        plan.add(
            "aws_network_acl",
            "n",
            {},
            NEW | {"vpc_id": True, "ingress": True},
            {"ingress": ref("local.x")},
            index=index,
        )
    notes = of_plan(plan.build()).notes
    assert len(notes) == 51
    assert notes[-1] == "plan.json: 50 more notes"


def test_same_verdicts_twice() -> None:
    """Reading is a function of the file: ids and order are the same every time."""
    content = cluster().build()
    assert of_plan(content) == of_plan(content)
    snapshots = [iac.snapshot_of(of_plan(content), "plan.json") for _ in range(2)]
    assert verdicts(snapshots[0]) == verdicts(snapshots[1])
