"""What commands do with their options: read, select, resolve, write."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from sgaudit import files
from sgaudit import selection as selecting
from sgaudit import snapshot as snapshots
from sgaudit.cli import configuration
from sgaudit.errors import UsageError
from sgaudit.model import Family
from sgaudit.ports import ALL, CLIENT_PORTS, NONE, PortSet
from sgaudit.report.terminal import Style
from sgaudit.selection import Interfaces, Selection, TagFilter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sgaudit.iac.values import Reading
    from sgaudit.model import Member, Snapshot
    from sgaudit.policy.model import Policy, Requirements
    from sgaudit.rules.audit import Audit
    from sgaudit.rules.suppress import Accepted

DEFAULT_POLICY = "pytorch-gloo"
CLIENT_PORTS_PARAMETER = "client_ports"


@dataclass(frozen=True, slots=True)
class Source:
    """Where to read from."""

    snapshot_path: str
    """A file or folder that is read instead of AWS, of whatever kind."""
    terraform_plan: str
    cloudformation: str
    template_parameters: tuple[str, ...]
    profile: str
    region: str
    role_arn: str
    external_id: str
    endpoint_url: str

    @classmethod
    def take(cls, options: dict[str, Any]) -> Source:
        """
        Take its options out of those of a command.

        Raises:
            UsageError: several of them name a file, or parameters have no template.
        """
        found = {name: options.pop(name, "") for name in cls.__slots__}
        files = [name for name in ("snapshot_path", "terraform_plan", "cloudformation") if found[name]]
        if len(files) > 1:
            raise UsageError(
                "--snapshot, --terraform-plan and --cloudformation don't go together", hint="leave all but one out"
            )
        found["template_parameters"] = tuple(found["template_parameters"])
        if found["template_parameters"] and not found["cloudformation"]:
            raise UsageError("--parameter needs a template", hint="name it with --cloudformation FILE")
        found["snapshot_path"] = found[files[0]] if files else ""
        return cls(**found)

    def _read(self, *, quiet: bool) -> Reading:
        """Read a plan or a template, and say what of it is not known."""
        from sgaudit import iac

        if self.terraform_plan:
            reading = iac.read_terraform(self.terraform_plan)
        else:
            parameters = _pairs("--parameter", self.template_parameters)
            reading = iac.read_cloudformation(self.cloudformation, parameters)
        for note in () if quiet else reading.notes:
            click.echo(f"note: {note}", err=True)
        return reading

    def saved(self, *, quiet: bool) -> Snapshot:
        """Read the file that is named instead of AWS."""
        if not (self.terraform_plan or self.cloudformation):
            return snapshots.load(self.snapshot_path)
        from sgaudit import iac

        return iac.snapshot_of(self._read(quiet=quiet), self.snapshot_path)

    def saved_document(self, *, quiet: bool) -> dict[str, Any]:
        """Read the same as one JSON object."""
        if self.terraform_plan or self.cloudformation:
            return self._read(quiet=quiet).document
        return snapshots.read_document(self.snapshot_path)

    def load(self, selection: Selection, *, quiet: bool, whole_vpc: bool = False, rule_ids: bool = False) -> Snapshot:
        """Read the saved snapshot, or AWS."""
        if self.snapshot_path:
            return self.saved(quiet=quiet)
        document = self.collect(selection, quiet=quiet, whole_vpc=whole_vpc, rule_ids=rule_ids)
        return snapshots.parse(document, source=self.described(document))

    def collect(
        self, selection: Selection, *, quiet: bool, whole_vpc: bool = False, rule_ids: bool = False
    ) -> dict[str, Any]:
        """Read AWS."""
        from sgaudit.aws.collect import collect
        from sgaudit.aws.progress import SILENT, TerminalProgress
        from sgaudit.aws.session import AwsOptions, connect

        connection = connect(
            AwsOptions(
                profile=self.profile,
                region=self.region,
                role_arn=self.role_arn,
                external_id=self.external_id,
                endpoint_url=self.endpoint_url,
            )
        )
        progress = SILENT if quiet else TerminalProgress(sys.stderr)
        try:
            return collect(connection, selection, progress=progress, whole_vpc=whole_vpc, rule_ids=rule_ids)
        finally:
            progress.close()

    @staticmethod
    def described(document: Mapping[str, Any]) -> str:
        """Say which account and Region a document is about."""
        return f"account {document.get('AccountId') or 'unknown'} in {document.get('Region') or 'an unknown Region'}"


def take_selection(options: dict[str, Any]) -> Selection:
    """
    Take the selection out of the options of a command.

    Raises:
        UsageError: nothing is selected, or a value can't be read.
    """
    configuration.strongest_criteria(options)
    return Selection(
        tags=tuple(TagFilter.parse(text) for text in options.pop("tags")),
        instance_ids=options.pop("instance_ids"),
        vpc_ids=options.pop("vpc_ids"),
        security_groups=options.pop("security_groups"),
        everything=options.pop("everything"),
        include_stopped=options.pop("include_stopped"),
        interfaces=Interfaces(options.pop("interfaces")),
        family=Family(options.pop("family")),
    )


def port_option(name: str, text: str, default: PortSet) -> PortSet:
    """
    Read an option that holds ports.

    Raises:
        UsageError: it holds something else.
    """
    if not text:
        return default
    try:
        return PortSet.parse(text)
    except ValueError as error:
        raise UsageError(f"{name}: {error}", hint=f"for example {name} 32768-60999") from error


def traffic_option(name: str, text: str, protocol: str) -> PortSet:
    """
    Read an option that holds ports, or for ICMP types and codes.

    Raises:
        UsageError: it can't be read, or the protocol has neither.
    """
    if not text:
        return ALL
    if protocol == "all":
        raise UsageError(f"{name} goes with no --protocol all", hint="all traffic is every protocol on every port")
    if protocol in ("tcp", "udp"):
        return port_option(name, text, ALL)
    found = NONE
    for part in text.split(","):
        found |= _messages(name, part.strip())
    return found


def _messages(name: str, text: str) -> PortSet:
    kind, slash, code = text.partition("/")
    if not (kind.isdecimal() and int(kind) < 256 and (not slash or (code.isdecimal() and int(code) < 256))):
        raise UsageError(
            f"{name} {text!r} is not an ICMP type or TYPE/CODE", hint=f"for example {name} 8 or {name} 3/4"
        )
    first = int(kind) * 256
    return PortSet.single(first + int(code)) if slash else PortSet.single(first, first + 255)


def client_ports(options: dict[str, Any]) -> PortSet:
    """Read `--client-ports`, and leave it in the options for the policies."""
    return port_option("--client-ports", options["client_ports"], CLIENT_PORTS)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a command's options ask of a cluster."""

    names: tuple[str, ...]
    policies: tuple[Policy, ...]
    parameters: dict[str, str]
    head: str
    client_ports: PortSet

    @classmethod
    def take(cls, options: dict[str, Any]) -> Asked:
        """
        Take policies and their settings out of the options of a command.

        Raises:
            PolicyError: a policy is wrong or missing.
            UsageError: a setting is.
        """
        from sgaudit.policy.load import load

        ports = client_ports(options)
        names = tuple(options.pop("policies")) or (DEFAULT_POLICY,)
        policies = tuple(load(name) for name in names)
        return cls(names, policies, _settings(options, policies), options.pop("head"), ports)

    def resolve(self, members: Sequence[Member]) -> Requirements:
        """
        Resolve it for some members.

        Raises:
            UsageError: a setting or the head is wrong.
        """
        from sgaudit.policy.resolve import resolve

        return resolve(self.policies, members, settings=self.parameters, head=self.head or None)

    def to_json(self) -> dict[str, Any]:
        """Give it as the `settings` of a plan; files are named so that they are found from any folder."""
        names = [str(Path(name).resolve()) if Path(name).is_file() else name for name in self.names]
        return {
            "policies": names,
            "parameters": dict(self.parameters),
            "head": self.head,
            "client_ports": str(self.client_ports),
        }


def requirements(options: dict[str, Any], members: Sequence[Member]) -> Requirements:
    """
    Load the policies that a command's options name, and resolve them for some members.

    Raises:
        PolicyError: a policy is wrong or missing.
        UsageError: a setting or the head is.
    """
    return Asked.take(options).resolve(members)


def _settings(options: dict[str, Any], policies: Sequence[Policy]) -> dict[str, str]:
    settings = configuration.parameters(policies)
    known = {parameter.name for policy in policies for parameter in policy.parameters}
    ports = options.pop("client_ports")
    if ports and CLIENT_PORTS_PARAMETER in known:
        # Listeners on port 0 get their port from the same range that the kernel dials from.
        settings[CLIENT_PORTS_PARAMETER] = ports
    if port := options.pop("master_port"):
        settings["master_port"] = port
    settings |= _pairs("--set", options.pop("settings"), "for example --set master_port=29501")
    return settings


def _pairs(option: str, texts: Iterable[str], hint: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {text!r}: expected NAME=VALUE", hint=hint or f"for example {option} Vpc=vpc-1")
        found[name] = value
    return found


def take_accepted(options: dict[str, Any]) -> Accepted:
    """
    Take what is accepted: the suppressions of the configuration and the baseline.

    Raises:
        PolicyError: the baseline can't be read.
        UsageError: a baseline is to be written to standard output, where the result goes.
    """
    from sgaudit.config import baseline
    from sgaudit.rules.suppress import Accepted

    if options["write_baseline"] == "-":
        raise UsageError("--write-baseline -: the result is written there", hint="name a file")
    path = options.pop("baseline")
    return Accepted(configuration.current().suppressions, baseline.load(path) if path else None)


def write_baseline(path: str, result: Audit) -> None:
    """
    Save the findings as a baseline, if a file is named.

    Raises:
        UsageError: it can't be written.
    """
    from sgaudit.config import baseline
    from sgaudit.rules.suppress import known

    if path:
        created = datetime.now(UTC).isoformat(timespec="seconds")
        write_file("--write-baseline", path, [baseline.render(known(result.findings), created)])


def members(snapshot: Snapshot, selection: Selection) -> tuple[Member, ...]:
    """Pick the members."""
    return selecting.select(snapshot, selection)


@dataclass(frozen=True, slots=True)
class Output:
    """Where the result goes, and how it may look there."""

    path: str
    no_color: bool
    quiet: bool

    @classmethod
    def take(cls, options: dict[str, Any]) -> Output:
        """Take its options out of those of a command."""
        return cls(options.pop("output"), options.pop("no_color"), options.pop("quiet"))

    @property
    def style(self) -> Style:
        """How to write for people."""
        stream = sys.stdout
        terminal = self.path == "-" and stream.isatty()
        columns = shutil.get_terminal_size((100, 24)).columns if terminal or "COLUMNS" in os.environ else 100
        return Style(
            width=columns,
            color=terminal and not self.no_color and not os.environ.get("NO_COLOR"),
            unicode=terminal and _can_show(stream),
        )

    def write(self, pieces: Iterable[str]) -> None:
        """
        Write the result, to a file only when it is complete.

        Raises:
            UsageError: the file can't be written.
        """
        if self.path == "-":
            for piece in pieces:
                click.echo(piece, nl=False)
        else:
            write_file("--output", self.path, pieces)

    def note(self, text: str) -> None:
        """Say something beside the result."""
        if not self.quiet:
            click.echo(text, err=True)


def distinct_files(named: Iterable[tuple[str, str]]) -> None:
    """
    See that no two options write to the same file: the later result would take the earlier one's place.

    Args:
        named: options and the files that they name; `-` and nothing are no files.

    Raises:
        UsageError: two do.
    """
    known: dict[str, str] = {}
    for option, path in named:
        if path in ("", "-"):
            continue
        place = os.path.realpath(path)
        if place in known and (Path(place).is_file() or not Path(place).exists()):
            raise UsageError(f"{option} and {known[place]} both name {path}", hint="name two files")
        known[place] = option


def write_file(option: str, path: str, pieces: Iterable[str]) -> None:
    """
    Write a file only when it is complete.

    Raises:
        UsageError: it can't be written; the message names the option that named it.
    """
    try:
        files.write(path, pieces)
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}", hint="name a file in a writable folder") from error


def _can_show(stream: TextIO) -> bool:
    try:
        "\u00b7\u2717→".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
