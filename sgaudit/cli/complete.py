"""What shells offer for the values of options. Nothing is asked of AWS: a saved snapshot is read where one is named."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import TYPE_CHECKING

from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from sgaudit.errors import SgauditError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import click

    from sgaudit.model import Snapshot

STANDARD = "-"
MOST_VALUES = 30
"""Values of a tag up to which all are offered at once."""


def policies(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the policies that ship; and files, once none of them fits."""
    from sgaudit.policy.source import shipped

    return _fitting(shipped(), incomplete) or [CompletionItem(incomplete, type="file")]


def rules(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the ids of the rules, each with its title."""
    from sgaudit.rules import RULES

    return [CompletionItem(rule.id, help=rule.title) for rule in RULES if rule.id.startswith(incomplete)]


def files(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell offer files."""
    return [CompletionItem(incomplete, type="file")]


def tags(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the tags of the instances in the snapshot, as KEY=VALUE; of one with many values first the key."""
    snapshot = _snapshot(ctx)
    if snapshot is None:
        return []
    values: dict[str, set[str]] = defaultdict(set)
    for instance in snapshot.instances.values():
        for key, value in instance.tags.items():
            values[key].add(value)
    key, equals, _start = incomplete.partition("=")
    if not equals and any(len(found) > MOST_VALUES for name, found in values.items() if name.startswith(key)):
        return _fitting(values, key)
    return _fitting((f"{name}={value}" for name, found in values.items() for value in found), incomplete)


def instances(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the instances in the snapshot, each with its name."""
    snapshot = _snapshot(ctx)
    found = snapshot.instances.values() if snapshot else ()
    return [
        CompletionItem(item.instance_id, help=_line(item.name))
        for item in sorted(found, key=lambda item: item.instance_id)
        if item.instance_id.startswith(incomplete)
    ]


def vpcs(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the VPCs that instances in the snapshot are in."""
    snapshot = _snapshot(ctx)
    return _fitting({item.vpc_id for item in snapshot.instances.values()} if snapshot else (), incomplete)


def security_groups(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the security groups in the snapshot, each with its name."""
    snapshot = _snapshot(ctx)
    found = (snapshot.security_groups or {}) if snapshot else {}
    return [
        CompletionItem(group_id, help=_line(group.name))
        for group_id, group in sorted(found.items())
        if group_id.startswith(incomplete)
    ]


def _snapshot(ctx: click.Context) -> Snapshot | None:
    from sgaudit import snapshot

    path = ctx.params.get("snapshot_path")
    if not path or path == STANDARD:
        return None
    try:
        return snapshot.load(path)
    except (SgauditError, OSError):
        return None


def _fitting(texts: Iterable[str], incomplete: str) -> list[CompletionItem]:
    # A line end would be taken for the end of an offer.
    return [CompletionItem(text) for text in sorted(texts) if text.startswith(incomplete) and text == _line(text)]


def _line(text: str) -> str:
    from sgaudit.report.terminal import Style

    return Style(unicode=True).safe(text)


class Bash(BashComplete):
    """Bash's own words end at an equals sign, so those of `--tag KEY=VALUE` are put together again."""

    _before = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Read what stands on the line, up to the word that is completed."""
        words = os.environ["COMP_WORDS"].split("\n")[: int(os.environ["COMP_CWORD"]) + 1]
        whole: list[str] = []
        for word in words[1:]:
            if whole and (word == "=" or whole[-1].endswith("=")):
                whole[-1] += word
            else:
                whole.append(word)
        incomplete = whole.pop() if whole else ""
        if not incomplete.startswith("-"):
            self._before = incomplete[: incomplete.rfind("=") + 1]
        return whole, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """Give bash what it takes for the word: what stands behind the last equals sign."""
        return f"{item.type},{item.value.removeprefix(self._before)}"


def use() -> None:
    """Complete for bash in this way."""
    add_completion_class(Bash)
