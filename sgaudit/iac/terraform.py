"""A Terraform plan or state as a stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgaudit.iac import terraform_groups, terraform_instances, terraform_network
from sgaudit.iac.document import finish
from sgaudit.iac.plan import Plan, read
from sgaudit.iac.references import Resolver
from sgaudit.iac.stack import Instance, Stack

if TYPE_CHECKING:
    from sgaudit.iac.values import Reading

LAUNCHERS = (
    "aws_spot_instance_request",
    "aws_spot_fleet_request",
    "aws_ec2_fleet",
    "aws_eks_node_group",
    "aws_emr_cluster",
    "aws_batch_compute_environment",
    "aws_default_subnet",
    "aws_default_vpc",
)
"""Resources that make instances, or the network that they are in, in a way that is not read."""


def reading(content: Any, file: str) -> Reading:
    """
    Turn the JSON of `terraform show -json` into a snapshot document.

    Raises:
        ContentError: it is no plan or state, or something in it is wrong.
    """
    plan = read(content)
    stack = Stack(file, region=_region(plan))
    resolver = Resolver(plan)
    terraform_network.add_vpcs(plan, resolver, stack)
    terraform_groups.add(plan, resolver, stack)
    terraform_network.add_filters(plan, resolver, stack)
    terraform_instances.add(plan, resolver, stack)
    for one in plan.of_type(*LAUNCHERS):
        stack.note(one.address, f"{one.type} is not read: what it makes is unknown")
        if one.type == "aws_spot_instance_request":
            stack.instances[one.address] = Instance(one.address, "", one.block.text("instance_type"), one.block.tags())
    return finish(stack)


def _region(plan: Plan) -> str:
    providers = plan.configuration.get("provider_config")
    aws = providers.get("aws") if isinstance(providers, dict) else None
    expressions = aws.get("expressions") if isinstance(aws, dict) else None
    region = expressions.get("region") if isinstance(expressions, dict) else None
    value = region.get("constant_value") if isinstance(region, dict) else None
    return value if isinstance(value, str) else ""
