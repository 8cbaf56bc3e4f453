"""`sgaudit completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from sgaudit.cli import COMPLETION_VARIABLE, main
from sgaudit.rules.audit import EXIT_CLEAN

SHELLS = ("bash", "zsh", "fish")


@click.command(name="completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks.")
def command(shell: str) -> int:
    """
    Print what makes a shell complete commands, options and their values.

    For bash put this into ~/.bashrc, for zsh likewise into ~/.zshrc: eval "$(sgaudit completion bash)".
    For fish: sgaudit completion fish > ~/.config/fish/completions/sgaudit.fish

    Exit codes: 0 printed, 2 no such shell.
    """
    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(main, {}, "sgaudit", COMPLETION_VARIABLE).source())
    return EXIT_CLEAN
