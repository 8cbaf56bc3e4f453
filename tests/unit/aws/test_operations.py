"""The table of operations agrees with botocore's model of AWS and with what the code calls."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import boto3
import pytest

import sgaudit.aws
from sgaudit.aws.operations import OPERATIONS, Operation, iam_action

SOURCES = sorted(Path(sgaudit.aws.__file__).parent.glob("*.py"))
TABLE = [pytest.param(item, id=item.name) for item in OPERATIONS.values()]


@pytest.fixture(scope="module")
def clients() -> dict[str, Any]:
    return {name: boto3.client(name, region_name="us-east-1") for name in ("ec2", "sts")}


@pytest.mark.parametrize("operation", TABLE)
def test_model(clients: dict[str, Any], operation: Operation) -> None:
    """Method, result and page size are those of the API."""
    client = clients[operation.service]
    model = client.meta.service_model.operation_model(operation.name)

    assert client.meta.method_to_api_mapping[operation.method] == operation.name
    if operation.service == "ec2":
        assert client.can_paginate(operation.method)
        assert model.output_shape.members[operation.result].type_name == "list"
        assert operation.page_size == model.input_shape.members["MaxResults"].metadata.get("max", 1000)


def test_nothing_else_is_called() -> None:
    """The operations that the code names are those of the table, and each of the table is used."""
    constants = {
        node.value
        for path in SOURCES
        if path.name != "operations.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    attributes = {
        node.attr
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }
    named = {value for value in constants if value.startswith(("Describe", "GetManaged", "AssumeRole"))}

    assert named == {item.name for item in OPERATIONS.values() if item.method not in attributes}
    assert {item.name for item in OPERATIONS.values() if item.method in attributes} == {"GetCallerIdentity"}


def test_actions() -> None:
    """The IAM action is named after the service and the operation, known or not."""
    assert {iam_action(name) for name in ("DescribeSubnets", "AssumeRole", "DescribeMoons")} == {
        "ec2:DescribeSubnets",
        "sts:AssumeRole",
        "ec2:DescribeMoons",
    }
