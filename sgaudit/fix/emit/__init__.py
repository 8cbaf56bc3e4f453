"""A plan written out for other tools to carry out, or to keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sgaudit.fix.emit import aws_cli, cloudformation, json, terraform
from sgaudit.fix.plan import Plan

EMITTERS: Mapping[str, Callable[[Plan], Iterator[str]]] = {
    "aws-cli": aws_cli.render,
    "terraform": terraform.render,
    "cloudformation": cloudformation.render,
    "json": json.render,
}
"""Every form that `fix --emit` knows, and what writes it."""
