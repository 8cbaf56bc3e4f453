"""`sgaudit demo`."""

from __future__ import annotations

import click

from sgaudit.cli import main


@click.command(name="demo")
@click.option("--keep", is_flag=True, help="Leave the embedded AWS up until Ctrl-C, to play with.")
@click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks.")
def command(*, keep: bool) -> int:
    """
    Build a broken eight-node cluster on an embedded AWS and run the real commands on it.

    Needs the extra: pip install "sgaudit[demo]". Nothing leaves this machine.
    """
    from sgaudit.demo.show import demo

    def run(arguments: list[str]) -> int:
        code = main.main(arguments, standalone_mode=False)
        return code if isinstance(code, int) else 0

    return demo(run, click.echo, keep=keep)
