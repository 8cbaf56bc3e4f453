"""What the configuration file says, put below the environment and the command line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from sgaudit.config.model import Config
from sgaudit.errors import PolicyError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sgaudit.policy.model import Policy

KEY = "sgaudit.configuration"
VARIABLE = "SGAUDIT_CONFIG"
CRITERIA = ("tags", "instance_ids", "vpc_ids", "security_groups", "everything")
"""The options that pick members."""
STRENGTH = (
    ParameterSource.COMMANDLINE,
    ParameterSource.ENVIRONMENT,
    ParameterSource.DEFAULT_MAP,
    ParameterSource.DEFAULT,
)
"""Who says something, the strongest first; the configuration file is click's default map."""


def read(ctx: click.Context, _: click.Parameter, path: str | None) -> None:
    """Read the file before the other options are looked at, and make it their default."""
    if ctx.resilient_parsing:
        return
    config = _load(path)
    ctx.meta[KEY] = config
    ctx.default_map = {**(ctx.default_map or {}), **config.options}


def _load(path: str | None) -> Config:
    from sgaudit.config import file

    # What is there but is no file is read all the same: to be skipped in silence it would have to be absent.
    if path is None and VARIABLE not in os.environ and os.path.lexists(file.NAME):
        path = file.NAME
    if not path:
        return Config()
    from sgaudit.rules import RULES

    return file.load(path, tuple(rule.id for rule in RULES))


def current() -> Config:
    """Give the configuration of the command that runs."""
    ctx = click.get_current_context(silent=True)
    config = ctx.meta.get(KEY) if ctx else None
    return config if isinstance(config, Config) else Config()


def strongest_criteria(options: dict[str, Any]) -> None:
    """Keep only the strongest source's ways of picking members: two would have to hold both."""
    said = {name: _strength(name) for name in CRITERIA if options[name]}
    for name, strength in said.items():
        if strength > min(said.values()):
            options[name] = False if name == "everything" else ()


def parameters(policies: Sequence[Policy]) -> dict[str, str]:
    """
    Give the file's parameters for some policies.

    Raises:
        PolicyError: a value does not fit, or none of the policies has the parameter. Policies that were
            named elsewhere than in the file need not have all that it sets.
    """
    from sgaudit.policy.settings import Settings

    config = current()
    known = {parameter.name for policy in policies for parameter in policy.parameters}
    named_elsewhere = _strength("policies") < STRENGTH.index(ParameterSource.DEFAULT_MAP)
    found: dict[str, str] = {}
    mistakes: list[str] = []
    for name, parameter in config.parameters.items():
        if name not in known and named_elsewhere:
            continue
        try:
            Settings.read(policies, {name: parameter.value})
        except UsageError as error:
            mistakes.append(f"{parameter.at}: parameters.{error.message.removeprefix('--set ')}")
            continue
        found[name] = parameter.value
    if mistakes:
        names = ", ".join(sorted(known)) or "none"
        raise PolicyError("\n".join(mistakes), hint=f"parameters of these policies: {names}")
    return found


def _strength(name: str) -> int:
    source = click.get_current_context().get_parameter_source(name)
    return STRENGTH.index(source) if source in STRENGTH else len(STRENGTH)
