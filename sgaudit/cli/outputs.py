"""Several results of one run: which format goes where."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import click

from sgaudit.cli.run import Output
from sgaudit.errors import UsageError
from sgaudit.report import formats
from sgaudit.report.terminal import Style
from sgaudit.report.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sgaudit.report.formats import Format
    from sgaudit.rules.audit import Audit
    from sgaudit.severity import Severity

STANDARD = "-"
SAFE = Style(unicode=True).safe
GIVEN = "sgaudit.given"
FORMAT, OUTPUT = "formats", "outputs"


class OrderedCommand(click.Command):
    """A command that remembers in which order `-f` and `-o` were given: click keeps one list for each."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as ever, and remember the order."""
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        ctx.meta[GIVEN] = [parameter.name for parameter in order if parameter.name in (FORMAT, OUTPUT)]
        return super().parse_args(ctx, args)


class Steps:
    """Says on standard error what has been done, and how long it took, where that is wanted."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._since = time.perf_counter()

    def done(self, text: str) -> None:
        """End a step, and begin the next one."""
        now = time.perf_counter()
        if self._shown:
            click.echo(f"{SAFE(text)} in {now - self._since:.2f} s", err=True)
        self._since = now


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where each format goes, and how it may look there."""

    targets: tuple[tuple[Format, Output], ...]
    quiet: bool
    verbose: bool = False

    @classmethod
    def take(cls, options: dict[str, Any]) -> Outputs:
        """
        Take its options out of those of a command.

        Raises:
            UsageError: two results would go to the same place, or a file's name says nothing that is known.
        """
        names, files = options.pop(FORMAT), options.pop(OUTPUT)
        no_color, quiet, verbose = options.pop("no_color"), options.pop("quiet"), options.pop("verbose")
        given = click.get_current_context().meta.get(GIVEN, [])
        targets = [
            (_format(name, file), Output(file or STANDARD, no_color, quiet))
            for name, file in pairs(given, names, files)
        ]
        _refuse_twice(output.path for _, output in targets)
        return cls(tuple(targets), quiet, verbose)

    @property
    def style(self) -> Style:
        """How to write for people."""
        return self.targets[0][1].style

    @property
    def shown(self) -> bool:
        """Whether a result goes to standard output."""
        return any(output.path == STANDARD for _, output in self.targets)

    def steps(self) -> Steps:
        """Begin to tell what is done."""
        return Steps(shown=self.verbose and not self.quiet)

    def write(self, audit: Audit, fail_on: Severity) -> None:
        """
        Write every result.

        Raises:
            UsageError: a file can't be written, or a format can't tell this scan.
        """
        for format_, output in self.targets:
            told = Told(audit, output.style, fail_on)
            output.write(format_.render(told))
            if format_.name == "github":
                _summarize(told)

    def note(self, text: str) -> None:
        """Say something beside the results."""
        self.targets[0][1].note(text)


def pairs(given: Sequence[str], names: Sequence[str], files: Sequence[str]) -> list[tuple[str | None, str | None]]:
    """
    Tell which format goes to which file; None for what is left open.

    A format goes with the file after it, or, when the first of all is a file and the last a format, with the one
    before it. What comes from the environment goes in order.
    """
    if given.count(FORMAT) != len(names) or given.count(OUTPUT) != len(files) or not given:
        return list(zip_longest(names, files)) or [(None, None)]
    backward = given[0] == OUTPUT and given[-1] == FORMAT
    first, second = (OUTPUT, FORMAT) if backward else (FORMAT, OUTPUT)
    values = {FORMAT: list(names), OUTPUT: list(files)}
    found: list[dict[str, str]] = []
    for kind in given:
        value = values[kind].pop(0)
        if kind == second and found and first in found[-1] and second not in found[-1]:
            found[-1][second] = value
        else:
            found.append({kind: value})
    return [(item.get(FORMAT), item.get(OUTPUT)) for item in found]


def _format(name: str | None, file: str | None) -> Format:
    if name is not None:
        return formats.BY_NAME[name]
    if file is None or not os.path.splitext(file)[1]:  # noqa: PTH122 - the name is all that counts
        return formats.DEFAULT
    format_ = formats.by_ending(file)
    if format_ is None:
        known = ", ".join(ending for item in formats.FORMATS for ending in item.endings)
        raise UsageError(
            f"--output {file}: its name does not say in which format", hint=f"add -f, or end it in {known}"
        )
    return format_


def _refuse_twice(paths: Iterable[str]) -> None:
    seen: set[str] = set()
    for path in paths:
        if path in seen:
            where = "standard output" if path == STANDARD else path
            raise UsageError(f"two results would go to {where}", hint="give each --format its own --output")
        seen.add(path)


def _summarize(told: Told) -> None:
    """Append the summary that GitHub shows for a step, where there is a step."""
    from sgaudit.report import github, markdown

    path = os.environ.get(github.SUMMARY_VARIABLE)
    if not path:
        return
    try:
        with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123 - appended to what other steps wrote
            file.writelines(markdown.render(told))
    except OSError as error:
        raise UsageError(f"{github.SUMMARY_VARIABLE}={path}: {error.strerror}", hint="unset the variable") from error
