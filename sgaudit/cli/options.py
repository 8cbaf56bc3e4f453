"""Options that commands share."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sgaudit.cli import complete
from sgaudit.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def option(*names: str, **attributes: Any) -> Callable[[F], F]:
    """Declare an option that can also be set by `SGAUDIT_<NAME>`."""
    long = next(name for name in names if name.startswith("--")).split("/")[0]
    variable = "SGAUDIT_" + long.removeprefix("--").replace("-", "_").upper()
    return click.option(*names, envvar=variable, show_envvar=True, **attributes)


def stack(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Make one decorator of several, in the order in which help lists them."""
    return lambda function: reduce(lambda done, decorator: decorator(done), reversed(decorators), function)


aws_options: Callable[[Callable[..., Any]], Callable[..., Any]] = stack(
    option("--profile", default="", metavar="NAME", help="AWS profile."),
    option("--region", default="", metavar="REGION", help="AWS Region."),
    option("--role-arn", default="", metavar="ARN", help="Role to assume."),
    option("--external-id", default="", metavar="ID", help="External id for the role."),
    option("--endpoint-url", default="", metavar="URL", help="Where the EC2 API answers."),
)

source_options: Callable[[Callable[..., Any]], Callable[..., Any]] = stack(
    option(
        "--snapshot",
        "snapshot_path",
        default="",
        metavar="PATH",
        shell_complete=complete.files,
        help="Read a saved snapshot, a folder of AWS CLI answers, or - for standard input, instead of AWS.",
    ),
    option(
        "--terraform-plan",
        default="",
        metavar="FILE",
        help="Read a Terraform plan or state (terraform show -json) instead of AWS.",
    ),
    option("--cloudformation", default="", metavar="FILE", help="Read a CloudFormation template instead of AWS."),
    option(
        "--parameter",
        "template_parameters",
        multiple=True,
        metavar="NAME=VALUE",
        help="Set a parameter of the template; repeat for several.",
    ),
    aws_options,
)


def _configure(ctx: click.Context, parameter: click.Parameter, path: str | None) -> None:
    # Reading it needs more than `--help` should wait for.
    from sgaudit.cli import configuration

    configuration.read(ctx, parameter, path)


config_option = option(
    "--config",
    default=None,
    metavar="FILE",
    shell_complete=complete.files,
    is_eager=True,
    expose_value=False,
    callback=_configure,
    help="Configuration file; an empty name for none.  [default: sgaudit.yaml, if there is one]",
)
"""Every command with options that the file may set has it; it must be read before them."""

selection_options: Callable[[Callable[..., Any]], Callable[..., Any]] = stack(
    config_option,
    option(
        "--tag",
        "tags",
        multiple=True,
        metavar="KEY=VALUE",
        shell_complete=complete.tags,
        help="Members have this tag: KEY=A,B means either, KEY alone any value, * and ? match. Repeat for and.",
    ),
    option(
        "--instance-id",
        "instance_ids",
        multiple=True,
        metavar="ID",
        shell_complete=complete.instances,
        help="Members by id.",
    ),
    option(
        "--vpc-id",
        "vpc_ids",
        multiple=True,
        metavar="ID",
        shell_complete=complete.vpcs,
        help="Members in this VPC.",
    ),
    option(
        "--security-group",
        "security_groups",
        multiple=True,
        metavar="ID",
        shell_complete=complete.security_groups,
        help="Members that carry this group.",
    ),
    option("--all", "everything", is_flag=True, help="Every instance is a member."),
    option("--include-stopped", is_flag=True, help="Count stopped instances as well."),
    option(
        "--interfaces",
        type=click.Choice(["primary", "all"]),
        default="primary",
        show_default=True,
        help="Which interfaces of a member are judged.",
    ),
    option(
        "--family",
        type=click.Choice(["ipv4", "ipv6"]),
        default="ipv4",
        show_default=True,
        help="Which addresses members dial.",
    ),
)

client_ports_option = option(
    "--client-ports",
    default="",
    metavar="RANGE",
    help="Ports from which members dial (net.ipv4.ip_local_port_range).  [default: 32768-60999]",
)

policy_options: Callable[[Callable[..., Any]], Callable[..., Any]] = stack(
    option(
        "--policy",
        "policies",
        multiple=True,
        metavar="NAME|FILE",
        shell_complete=complete.policies,
        help="What the cluster needs; repeat to ask for several.  [default: pytorch-gloo]",
    ),
    option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a parameter of the policies."),
    option("--master-port", default="", metavar="PORT", help="Short for --set master_port=PORT."),
    option("--head", default="", metavar="INSTANCE", help="Id or name of the head (rank 0)."),
    client_ports_option,
)

fail_on_option = option(
    "--fail-on",
    type=click.Choice([str(severity) for severity in Severity]),
    default=str(Severity.ERROR),
    show_default=True,
    help="Exit with 1 when a finding is at least this grave.",
)

rule_options: Callable[[Callable[..., Any]], Callable[..., Any]] = stack(
    option(
        "--select",
        multiple=True,
        metavar="RULE",
        shell_complete=complete.rules,
        help="Look for this only; repeat for several.  [default: all]",
    ),
    option(
        "--ignore",
        multiple=True,
        metavar="RULE",
        shell_complete=complete.rules,
        help="Do not look for this; repeat for several.",
    ),
    option(
        "--baseline",
        default="",
        metavar="FILE",
        shell_complete=complete.files,
        help="Suppress the findings that this file knows.",
    ),
    option("--write-baseline", default="", metavar="FILE", help="Save the findings as a baseline."),
)


def pass_on(ctx: click.Context, options: dict[str, Any]) -> None:
    """Hand the options that were given before a subcommand to it; its own come first."""
    given = {name for name in options if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE}
    ctx.default_map = {str(ctx.invoked_subcommand): {name: options[name] for name in given}}


shown_options: Callable[[Callable[..., Any]], Callable[..., Any]] = stack(
    option("--no-color", is_flag=True, help="Never use colors; NO_COLOR does the same."),
    option("--quiet", "-q", is_flag=True, help="No progress and no notes."),
    click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks."),
)


def output_options(*formats: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare `--format` and where the result goes."""
    return stack(
        option(
            "-f",
            "--format",
            "format_",
            type=click.Choice(formats),
            default=formats[0],
            show_default=True,
            help="How to write the result.",
        ),
        option(
            "-o",
            "--output",
            default="-",
            metavar="FILE",
            shell_complete=complete.files,
            help="Write to a file instead of standard output.",
        ),
        shown_options,
    )


def outputs_options(*formats: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the same for a command that can write several results at once."""
    return stack(
        option(
            "-f",
            "--format",
            "formats",
            type=click.Choice(formats),
            multiple=True,
            help="How to write the result; repeat for several, each with its --output.  "
            f"[default: what FILE's name says, else {formats[0]}]",
        ),
        option(
            "-o",
            "--output",
            "outputs",
            type=click.Path(),
            multiple=True,
            metavar="FILE",
            help="Write to a file instead of standard output.",
        ),
        option("--verbose", "-v", is_flag=True, help="Say what is done, and how long it takes."),
        shown_options,
    )
