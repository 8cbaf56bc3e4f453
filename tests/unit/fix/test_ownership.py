"""Whose resources are, by what tooling writes on them."""

from __future__ import annotations

from typing import Any

import pytest

from sgaudit.model import Interface
from sgaudit.rules.ownership import group_owner, interface_owner, owner
from sgaudit.snapshot import parse
from tests.builders import group, interface, node, snapshot


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("aws:cloudformation:stack-id", "arn", "CloudFormation"),
        ("aws:fms:policy-id", "p", "Firewall Manager"),
        ("FMManaged", "true", "Firewall Manager"),
        ("parallelcluster:version", "3", "AWS ParallelCluster"),
        ("aws:eks:cluster-name", "c", "Amazon EKS"),
        ("eks:nodegroup-name", "n", "Amazon EKS"),
        ("kubernetes.io/cluster/c", "owned", "Kubernetes"),
        ("elbv2.k8s.aws/cluster", "c", "the AWS Load Balancer Controller"),
        ("sagemaker:domain-arn", "a", "Amazon SageMaker"),
        ("aws:elasticmapreduce:job-flow-id", "j", "Amazon EMR"),
        ("Terraform", "true", "Terraform"),
        ("terraform-workspace", "prod", "Terraform"),
        ("aws-cdk:bucket", "b", "the AWS CDK"),
        ("ManagedBy", "Terraform", "Terraform"),
        ("managed-by", "opentofu", "OpenTofu"),
        ("Managed By", "pulumi", "Pulumi"),
        ("managed_by", "a person", ""),
        ("Name", "terraform", ""),
        ("team", "eks", ""),
        ("cluster", "train", ""),
    ],
)
def test_tags_tell_who_owns_a_resource(key: str, value: str, expected: str) -> None:
    """The keys that tooling writes, and what people write under ManagedBy; a name is no claim."""
    assert expected == owner({"cluster": "train", key: value})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("eks-cluster-sg-train-12345", "Amazon EKS"),
        ("FMManagedSecurityGroup-1", "Firewall Manager"),
        ("ElasticMapReduce-slave", "Amazon EMR"),
        ("awseb-e-1-stack", "Elastic Beanstalk"),
        ("d-1234567890_controllers", "AWS Directory Service"),
        ("train", ""),
        ("my-eks-cluster-sg-", ""),
    ],
)
def test_names_tell_which_service_made_a_group(name: str, expected: str) -> None:
    """Services name their groups by a fixed beginning."""
    found = parse(snapshot([node("a", "10.0.0.5")], [group(name=name)])).security_groups

    assert found is not None
    assert expected == group_owner(found["sg-a"])


def test_tags_come_before_names() -> None:
    """A tag says more than a name."""
    raw = {**group(name="eks-cluster-sg-x"), "Tags": [{"Key": "aws:cloudformation:stack-name", "Value": "s"}]}
    found = parse(snapshot([node("a", "10.0.0.5")], [raw])).security_groups

    assert found is not None
    assert group_owner(found["sg-a"]) == "CloudFormation"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, ""),
        ({"RequesterManaged": True}, "an AWS service"),
        ({"TagSet": [{"Key": "eks:eni:owner", "Value": "x"}]}, "Amazon EKS"),
    ],
)
def test_interfaces_of_services_are_theirs(more: dict[str, Any], expected: str) -> None:
    """A service's interface is not ours to change; neither is one that tooling tagged."""
    raw = interface("a", "10.0.0.5", **more)
    found: Interface = parse({"NetworkInterfaces": [raw], "Reservations": []}).interfaces["eni-a"]

    assert expected == interface_owner(found)
