"""The JSON of `terraform show -json` for small stacks, in the shape in which Terraform 1.x writes it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

Raw = dict[str, Any]


def ref(*names: str) -> Raw:
    """The references of an expression: each name with its beginnings, longest first."""
    return {"references": [beginning for name in names for beginning in beginnings(name)]}


def beginnings(name: str) -> list[str]:
    """A name, and what Terraform writes after it: the same without attributes, then without its key."""
    found = [name]
    if name.startswith(("each.", "count.")):
        return found
    while found[-1].count(".") > (2 if name.startswith("data.") else 1):
        found.append(found[-1].rpartition(".")[0])
        if found[-1].endswith("]"):
            found.append(found[-1].rpartition("[")[0])
    return found


def value(of: Any) -> Raw:
    return {"constant_value": of}


@dataclass
class Plan:
    """A plan in the making."""

    resources: dict[str, list[Raw]] = field(default_factory=dict)
    changes: list[Raw] = field(default_factory=list)
    configured: dict[str, dict[tuple[str, str], Raw]] = field(default_factory=dict)
    calls: dict[str, dict[str, Raw]] = field(default_factory=dict)
    outputs: dict[str, Raw] = field(default_factory=dict)

    def add(
        self,
        type_: str,
        name: str,
        values: Raw | None = None,
        unknown: Raw | None = None,
        expressions: Raw | None = None,
        *,
        index: int | str | None = None,
        module: str = "",
        before: Raw | None = None,
        actions: tuple[str, ...] = ("create",),
    ) -> str:
        key = "" if index is None else f"[{json.dumps(index)}]"
        address = f"{module}.{type_}.{name}{key}".lstrip(".")
        item: Raw = {
            "address": address,
            "mode": "managed",
            "type": type_,
            "name": name,
            "provider_name": "registry.terraform.io/hashicorp/aws",
            "schema_version": 1,
        }
        if index is not None:
            item["index"] = index
        after = values or {}
        if "delete" not in actions or "create" in actions:
            self.resources.setdefault(module, []).append({**item, "values": after, "sensitive_values": {}})
        marks = unknown or ({"id": True, "arn": True} if "create" in actions else {})
        change = {"actions": list(actions), "before": before, "after": after, "after_unknown": marks}
        if module:
            item["module_address"] = module
        self.changes.append({**item, "change": change})
        config = module.partition("[")[0]
        self.configured.setdefault(config, {})[type_, name] = expressions or {}
        return address

    def _module(self, config: str) -> Raw:
        out: Raw = {
            "resources": [
                {"address": f"{kind}.{name}", "mode": "managed", "type": kind, "name": name, "expressions": found}
                for (kind, name), found in self.configured.get(config, {}).items()
            ]
        }
        if not config:
            out["module_calls"] = {
                name: {"source": f"./{name}", "expressions": found, "module": self._module(f"module.{name}")}
                for name, found in self.calls.items()
            }
        else:
            out["outputs"] = {name: {"expression": found} for name, found in self.outputs.items()}
        return out

    def build(self) -> Raw:
        root: Raw = {"resources": self.resources.get("", [])}
        children = [{"address": module, "resources": items} for module, items in self.resources.items() if module]
        if children:
            root["child_modules"] = children
        return {
            "format_version": "1.2",
            "terraform_version": "1.11.4",
            "planned_values": {"root_module": root},
            "resource_changes": self.changes,
            "configuration": {
                "provider_config": {
                    "aws": {"name": "aws", "expressions": {"region": value("us-east-1")}},
                },
                "root_module": self._module(""),
            },
        }


NEW = {"id": True, "arn": True, "owner_id": True, "tags_all": {}}
LAUNCHED = NEW | {
    "private_ip": True,
    "primary_network_interface_id": True,
    "ipv6_addresses": True,
    "public_ip": True,
    "secondary_private_ips": True,
    "security_groups": True,
    "network_interface": True,
    "vpc_security_group_ids": True,
    "subnet_id": True,
    "root_block_device": True,
}


def network(plan: Plan) -> None:
    """One VPC with two subnets, by `count`."""
    plan.add(
        "aws_vpc",
        "ml",
        {"cidr_block": "10.20.0.0/16", "tags": {"Name": "ml"}},
        NEW | {"default_security_group_id": True, "default_network_acl_id": True, "main_route_table_id": True},
        {"cidr_block": value("10.20.0.0/16")},
    )
    for number, zone in enumerate("ab"):
        plan.add(
            "aws_subnet",
            "private",
            {"cidr_block": f"10.20.{number + 1}.0/24", "availability_zone": f"us-east-1{zone}", "tags": {}},
            NEW | {"vpc_id": True},
            {"vpc_id": ref("aws_vpc.ml.id"), "cidr_block": {"references": ["count.index"]}},
            index=number,
        )


def group(plan: Plan, name: str = "train", *, port: int = 29500, last: int | None = None) -> None:
    """A group that admits itself on one port, or on a range of them."""
    plan.add(
        "aws_security_group",
        name,
        {
            "name": name,
            "description": "Managed by Terraform",
            "egress": [
                {
                    "cidr_blocks": ["0.0.0.0/0"],
                    "description": "",
                    "from_port": 0,
                    "ipv6_cidr_blocks": [],
                    "prefix_list_ids": [],
                    "protocol": "-1",
                    "security_groups": [],
                    "self": False,
                    "to_port": 0,
                }
            ],
            "tags": {},
        },
        NEW | {"vpc_id": True, "ingress": True, "egress": [{}]},
        {"vpc_id": ref("aws_vpc.ml.id"), "egress": [{"protocol": value("-1"), "cidr_blocks": value(["0.0.0.0/0"])}]},
    )
    plan.add(
        "aws_vpc_security_group_ingress_rule",
        f"{name}_self",
        {"ip_protocol": "tcp", "from_port": port, "to_port": last or port, "cidr_ipv4": None},
        NEW | {"security_group_id": True, "referenced_security_group_id": True, "security_group_rule_id": True},
        {
            "security_group_id": ref(f"aws_security_group.{name}.id"),
            "referenced_security_group_id": ref(f"aws_security_group.{name}.id"),
        },
    )


def acl(plan: Plan) -> None:
    """An ACL around the second subnet that lets everything in, and out only what has a fixed port."""
    rows = [
        (100, False, "10.20.0.0/16", 0, 65535),
        (100, True, "0.0.0.0/0", 443, 443),
        (110, True, "10.20.0.0/16", 0, 32767),
    ]
    blocks: dict[bool, list[Raw]] = {False: [], True: []}
    for number, egress, block, low, high in rows:
        blocks[egress].append(
            {
                "action": "allow",
                "cidr_block": block,
                "from_port": low,
                "icmp_code": 0,
                "icmp_type": 0,
                "ipv6_cidr_block": "",
                "protocol": "tcp",
                "rule_no": number,
                "to_port": high,
            }
        )
    plan.add(
        "aws_network_acl",
        "b",
        {"ingress": blocks[False], "egress": blocks[True], "tags": {}},
        NEW | {"vpc_id": True, "subnet_ids": True},
        {
            "vpc_id": ref("aws_vpc.ml.id"),
            "subnet_ids": ref("aws_subnet.private[1].id"),
            "ingress": value(blocks[False]),
            "egress": value(blocks[True]),
        },
    )


def nodes(plan: Plan, *, known: bool = True) -> None:
    """Two nodes in each subnet, by `for_each`-like names; with or without addresses of their own."""
    for number in range(4):
        subnet = number // 2
        values: Raw = {
            "instance_type": "c7i.8xlarge",
            "tags": {"Name": f"train-{number}", "cluster": "train"},
        }
        unknown = dict(LAUNCHED)
        expressions = {
            "subnet_id": ref(f"aws_subnet.private[{subnet}].id"),
            "vpc_security_group_ids": ref("aws_security_group.train.id"),
        }
        if known:
            values["private_ip"] = f"10.20.{subnet + 1}.{11 + number}"
            unknown.pop("private_ip")
            expressions["private_ip"] = value(values["private_ip"])
        plan.add("aws_instance", f"node{number}", values, unknown, expressions)


def cluster(*, known: bool = True, last: int | None = None, guarded: bool = True) -> Plan:
    """The cluster with the classic fault, or without it when the ports up to `last` are open."""
    plan = Plan()
    network(plan)
    group(plan, last=last, port=29500 if last is None else 1024)
    if guarded:
        acl(plan)
    nodes(plan, known=known)
    return plan
