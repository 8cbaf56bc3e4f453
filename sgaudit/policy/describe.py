"""A policy in words, with its sources."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from sgaudit.policy.model import (
    EVERYBODY,
    HEAD,
    Constraint,
    ConstraintKind,
    Exposure,
    Need,
    Parameter,
    Policy,
    PortSpec,
    Protocol,
    Role,
    Topology,
)
from sgaudit.ports import ALL

WIDTH = 100
PROTOCOLS = {
    Protocol.TCP: "TCP",
    Protocol.UDP: "UDP",
    Protocol.ICMP: "ICMP",
    Protocol.ICMPV6: "ICMPv6",
    Protocol.ALL: "every protocol and port",
    Protocol.EFA: "EFA (all-protocol permissions with a security group as peer, ingress and egress)",
}
HOLDS = {
    ConstraintKind.SAME_VPC: "are in one VPC",
    ConstraintKind.SAME_AVAILABILITY_ZONE: "are in one availability zone",
    ConstraintKind.SAME_ADDRESS_FAMILY: "have addresses of the family that is judged",
    ConstraintKind.SAME_MTU_CLASS: "reach one another over links with the same MTU",
    ConstraintKind.SEPARATE_INSTANCE_TYPES: "of one of these types have no member of another beside them",
    ConstraintKind.EVERY_GROUP_ADMITS_EFA: "carry only groups that admit all traffic from and to themselves",
}


def describe(policy: Policy) -> str:
    """Explain a policy: what it is for, what it asks and why, where that is written, what it can't promise."""
    sections = (
        ("", _head(policy)),
        ("Roles", [line for role in _roles(policy) for line in _item(role)]),
        ("Parameters (--set NAME=VALUE)", [line for item in policy.parameters for line in _item(_parameter(item))]),
        (
            "Outside the cluster",
            [
                line
                for peer in policy.peers
                for line in _item(f"{peer.name}: {peer.description or peer.at}; at {peer.at}")
            ],
        ),
        ("What must be open", [line for need in policy.needs for line in _need(need, policy)]),
        ("What must hold", [line for item in policy.constraints for line in _constraint(item)]),
        ("What must not be open", [line for item in policy.exposures for line in _exposure(item, policy)]),
        ("Notes", [line for note in policy.notes for line in _item(note)]),
    )
    blocks = ["\n".join([title, *lines] if title else lines) for title, lines in sections if lines]
    return "\n\n".join(blocks) + "\n"


def sentence(need: Need, policy: Policy) -> str:
    """Say who dials whom on what."""
    source, target = _who(need.source, policy), _who(need.target, policy)
    if need.topology is Topology.MESH:
        names = source if need.source == need.target else f"{source} and {target}"
        who = f"{names} all dial one another"
    elif need.topology is Topology.DUPLEX:
        who = f"{source} and {target} dial one another"
    else:
        one = need.source == HEAD or need.source in {peer.name for peer in policy.peers}
        who = f"{source} dial{'s' if one else ''} {target}"
    return f"{who} on {_traffic(need.protocol, need.ports, policy)}"


def _who(name: str, policy: Policy) -> str:
    if name == EVERYBODY:
        return "members"
    if name == HEAD:
        return "the head"
    return f"the peer {name}" if name in {peer.name for peer in policy.peers} else f"{name} members"


def _traffic(protocol: Protocol, ports: PortSpec, policy: Policy) -> str:
    if not protocol.has_ports:
        return PROTOCOLS[protocol]
    return f"{PROTOCOLS[protocol]} {_ports(ports, policy)}"


def _ports(ports: PortSpec, policy: Policy) -> str:
    if ports.fixed == ALL:
        return "all ports"
    defaults = {item.name: item.default for item in policy.parameters}
    parts = [str(ports.fixed).replace(",", ", ")] if ports.fixed else []
    parts += [f"{name} ({defaults[name] or 'not set'})" for name in ports.parameters]
    return ", ".join(parts)


def _head(policy: Policy) -> list[str]:
    lines = textwrap.wrap(f"{policy.name}: {policy.summary}", WIDTH)
    for title, values in (("For", policy.frameworks), ("Extends", policy.extends)):
        if values:
            lines += textwrap.wrap(f"{title}: {'; '.join(values)}", WIDTH, subsequent_indent="  ")
    return lines


def _roles(policy: Policy) -> Iterator[str]:
    declared = {role.name: role for role in policy.roles}
    used = {name for need in policy.needs for name in (need.source, need.target)}
    if HEAD in used and HEAD not in declared:
        declared[HEAD] = Role(HEAD)
    for role in declared.values():
        selectors = [f"tag {tag}" for tag in role.tags]
        for word, ids in (
            ("instance", role.instance_ids),
            ("security group", role.security_groups),
            ("subnet", role.subnet_ids),
        ):
            if ids:
                selectors.append(f"{word} {' or '.join(ids)}")
        known = [" and ".join(selectors)] if selectors else []
        if role.default:
            known.append("every member that no other role picks")
        if role.name == HEAD:
            known.append("--head INSTANCE; while none is known, every member counts as one")
        yield f"{role.name}: " + "; ".join([*([role.description] if role.description else []), *known])


def _parameter(item: Parameter) -> str:
    default = f"default {item.default}" if item.default is not None else "not set; what uses it is skipped"
    return f"{item.name} ({item.kind}, {default})" + (f": {item.description}" if item.description else "")


def _need(need: Need, policy: Policy) -> Iterator[str]:
    yield from _item(f"{need.id} ({need.severity}): {sentence(need, policy)}")
    yield from _detail("Why", need.why)
    if need.ip_ordered:
        yield from _detail("Order", "one connection a pair, dialled by the side with the higher address")
    if need.pin:
        yield from _detail("Fewer ports", need.pin)
    yield from _detail("Source", "; ".join(need.references))


def _constraint(item: Constraint) -> Iterator[str]:
    whom = "members" if item.roles == (EVERYBODY,) else f"{' and '.join(item.roles)} members"
    types = f" ({', '.join(item.instance_types)})" if item.instance_types else ""
    yield from _item(f"{item.kind} ({item.severity}): {whom} {HOLDS[item.kind]}{types}")
    yield from _detail("Why", item.why)
    yield from _detail("Source", "; ".join(item.references))


def _exposure(item: Exposure, policy: Policy) -> Iterator[str]:
    ports = "the ports of all needs" if item.ports is None else _traffic(item.protocol, item.ports, policy)
    text = f"{item.id} ({item.severity}): {ports}, from {str(item.sources).replace(',', ', ')}"
    spared = [str(spec).replace(",", ", ") for spec in (item.except_ports, item.except_sources)]
    named = [f"{word} {spec}" for word, spec in zip(("port", "from"), spared, strict=True) if spec]
    if named:
        text += f"; except {' and '.join(named)}"
    yield from _item(text)
    yield from _detail("Why", item.why)
    yield from _detail("Source", "; ".join(item.references))


def _item(text: str) -> Iterable[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")


def _detail(title: str, text: str) -> Iterable[str]:
    return textwrap.wrap(f"{title}: {text}", WIDTH, initial_indent="    ", subsequent_indent="      ")
