"""Whose a resource is: what other tooling made is that tooling's to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgaudit.rules import words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgaudit.model import Interface, SecurityGroup
    from sgaudit.rules.context import Context

OWNERS_BY_TAG = (
    ("aws:cloudformation:", "CloudFormation"),
    ("aws:fms:", "Firewall Manager"),
    ("FMManaged", "Firewall Manager"),
    ("parallelcluster:", "AWS ParallelCluster"),
    ("aws:eks:", "Amazon EKS"),
    ("eks:", "Amazon EKS"),
    ("kubernetes.io/cluster/", "Kubernetes"),
    ("elbv2.k8s.aws/", "the AWS Load Balancer Controller"),
    ("sagemaker:", "Amazon SageMaker"),
    ("aws:batch", "AWS Batch"),
    ("elasticbeanstalk:", "Elastic Beanstalk"),
    ("aws:elasticmapreduce:", "Amazon EMR"),
    ("aws:autoscaling:", "Auto Scaling"),
    ("terraform", "Terraform"),
    ("Terraform", "Terraform"),
    ("tf:", "Terraform"),
    ("pulumi:", "Pulumi"),
    ("aws-cdk:", "the AWS CDK"),
)
"""How the keys of tags begin that tooling writes, and whose they are."""
OWNER_VALUES = {
    "terraform": "Terraform",
    "opentofu": "OpenTofu",
    "pulumi": "Pulumi",
    "cloudformation": "CloudFormation",
}
"""What people write into tags such as ManagedBy."""
OWNER_KEYS = frozenset({"managedby", "managed-by", "managed_by", "provisioner", "createdby", "created-by", "iac"})
OWNERS_BY_NAME = (
    ("eks-cluster-sg-", "Amazon EKS"),
    ("FMManagedSecurityGroup", "Firewall Manager"),
    ("ElasticMapReduce-", "Amazon EMR"),
    ("awseb-", "Elastic Beanstalk"),
    ("d-", "AWS Directory Service"),
)
"""How the names of groups begin that services make."""
DEFAULT_GROUP = "default"


def owner(tags: Mapping[str, str]) -> str:
    """Tell which tooling owns a resource by its tags; empty when none is known to."""
    for key, value in tags.items():
        for prefix, name in OWNERS_BY_TAG:
            if key.startswith(prefix):
                return name
        if key.lower().replace(" ", "") in OWNER_KEYS and value.lower() in OWNER_VALUES:
            return OWNER_VALUES[value.lower()]
    return ""


def group_owner(group: SecurityGroup) -> str:
    """Tell which tooling owns a security group."""
    known = owner(group.tags)
    if known:
        return known
    return next((name for prefix, name in OWNERS_BY_NAME if group.name.startswith(prefix)), "")


def interface_owner(interface: Interface) -> str:
    """Tell which service owns an interface."""
    return "an AWS service" if interface.requester_managed else owner(interface.tags)


def unsafe_to_widen(context: Context, group_id: str) -> str:
    """Say why a permission added to a group is not safe, in one line; empty when it is."""
    group = (context.snapshot.security_groups or {})[group_id]
    reasons = []
    if group.name == DEFAULT_GROUP:
        reasons.append("it is the VPC's default group, which everything gets that names no other")
    if group_owner(group):
        reasons.append(f"{group_owner(group)} owns it and may take the change back")
    strangers = context.strangers.get(group_id, 0)
    if strangers:
        verb = words.verb(strangers, "carries", "carry")
        reasons.append(f"{words.number(strangers, 'interface')} outside the cluster {verb} it as well")
    elif group.vpc_id not in context.snapshot.whole_vpcs:
        reasons.append("whether interfaces outside the cluster carry it was not read")
    return "; ".join(reasons)
