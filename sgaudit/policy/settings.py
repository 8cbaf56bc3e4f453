"""What the parameters of some policies come to, with what the user set."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sgaudit.errors import UsageError
from sgaudit.model import Peer
from sgaudit.policy.model import Parameter, ParameterValue, PeerSpec, Policy, PortSpec
from sgaudit.policy.values import parameter_value
from sgaudit.ports import PortSet


class NotSetError(Exception):
    """A parameter has neither a default nor a value; `name` is which."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True, slots=True)
class Settings:
    """The value of each parameter, by policy."""

    values: tuple[ParameterValue, ...]
    ports: Mapping[tuple[str, str], PortSet]
    peers: Mapping[tuple[str, str], tuple[Peer, ...]]

    @classmethod
    def read(cls, policies: Sequence[Policy], settings: Mapping[str, str]) -> Settings:
        """
        Read what the user set, and the defaults of the rest.

        Raises:
            UsageError: no policy has such a parameter, or a value does not fit its kind.
        """
        _check_names(policies, settings)
        values: list[ParameterValue] = []
        ports: dict[tuple[str, str], PortSet] = {}
        peers: dict[tuple[str, str], tuple[Peer, ...]] = {}
        for policy in policies:
            for parameter in policy.parameters:
                given = parameter.name in settings
                text = settings.get(parameter.name, parameter.default)
                shown = ""
                if text is not None:
                    value = _read(parameter, text)
                    if isinstance(value, PortSet):
                        ports[policy.name, parameter.name], shown = value, str(value)
                    else:
                        peers[policy.name, parameter.name], shown = value, ",".join(map(str, value))
                values.append(ParameterValue(policy.name, parameter.name, parameter.kind, shown, given))
        return cls(tuple(dict.fromkeys(values)), ports, peers)

    def port_set(self, policy: str, spec: PortSpec) -> PortSet:
        """
        Tell which ports a policy means.

        Raises:
            NotSetError: one of its parameters has no value.
        """
        found = spec.fixed
        for name in spec.parameters:
            if (policy, name) not in self.ports:
                raise NotSetError(name)
            found |= self.ports[policy, name]
        return found

    def peer_set(self, policy: str, spec: PeerSpec) -> tuple[Peer, ...]:
        """
        Tell which addresses and groups a policy means.

        Raises:
            NotSetError: one of its parameters has no value.
        """
        found = list(spec.fixed)
        for name in spec.parameters:
            if (policy, name) not in self.peers:
                raise NotSetError(name)
            found += self.peers[policy, name]
        return tuple(dict.fromkeys(found))


def _check_names(policies: Sequence[Policy], settings: Mapping[str, str]) -> None:
    known = sorted({parameter.name for policy in policies for parameter in policy.parameters})
    for name in settings:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
            names = ", ".join(policy.name for policy in policies)
            raise UsageError(
                f"--set {ascii(name)[1:-1]}: {names} {'has' if len(policies) == 1 else 'have'} no such parameter"
                + (f" (did you mean {near[0]}?)" if near else ""),
                hint=f"parameters: {', '.join(known)}" if known else "there are no parameters to set",
            )


def _read(parameter: Parameter, text: str) -> PortSet | tuple[Peer, ...]:
    try:
        return parameter_value(parameter.kind, text)
    except ValueError as error:
        about = f"; {parameter.name} is {parameter.description}" if parameter.description else ""
        raise UsageError(f"--set {parameter.name}: {error}", hint=f"it holds a {parameter.kind}{about}") from None
