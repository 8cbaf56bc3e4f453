"""Each kind of mistake in a policy file, and the whole text that its author reads."""

from __future__ import annotations

import pytest

from sgaudit.errors import PolicyError
from sgaudit.policy.parse import parse
from sgaudit.policy.source import Source, shipped
from tests.unit.policy.cluster import SSH, START

TOP = (
    "schema_version, name, summary, frameworks, notes, extends, roles, parameters, peers, needs, constraints, exposure"
)
NEED = "id, from, to, protocol, ports, topology, severity, why, source, pin, ip_ordered"
KINDS = (
    "same_vpc, same_availability_zone, same_address_family, same_mtu_class, separate_instance_types, "
    "every_group_admits_efa"
)
PORT = "a port, a range such as 1024-65535, all or ${parameter}"
NAME = "is not a name: a lower-case letter, then lower-case letters, digits, - and _"
EMPTY = "is empty; leave the key out or give it a value"
HINT = "`sgaudit policies schema` prints all that may stand in a policy"


def need(**keys: str) -> str:
    """Give a policy with one need in its line 5; an empty text leaves a key out."""
    usual = {"id": "a", "from": "member", "to": "member", "ports": "22", "why": "x", "source": "y"}
    entries = ", ".join(f"{key}: {value}" for key, value in {**usual, **keys}.items() if value)
    return f"{START}needs:\n  - {{{entries}}}\n"


MISTAKES = [
    # not a policy at all
    ("", "1:1: the file is empty"),
    ("# nothing\n", "1:1: the file is empty"),
    ("- 1\n", "1:1: a list where a policy is expected: a mapping with schema_version, name, summary and needs"),
    ("hello\n", "1:1: 'hello' where a policy is expected: a mapping with schema_version, name, summary and needs"),
    ("a: b: c\n", "1:5: not valid YAML: mapping values are not allowed in this context"),
    ("a: [1, 2\n", "2:1: not valid YAML: while parsing a flow sequence, did not find expected ',' or ']'"),
    (START + "needs:\n\t- x\n", "5:1: not valid YAML: a tab where YAML allows spaces only"),
    ("a: \0\n", "1:1: not valid YAML: unacceptable character #x0000: control characters are not allowed"),
    ("a: &x 1\nb: *x\n", "2:4: b: the alias *x is not used in policies"),
    ("a: !!set {}\n", "1:4: a: the tag tag:yaml.org,2002:set is not used in policies"),
    ("? [a]\n: 1\n", "1:3: a key is a word here, not a list or a mapping"),
    ("[" * 50, "1:22: nested too deeply for a policy"),
    (START + SSH + "---\nname: second\n", "6:1: a second document begins here; a file holds one policy"),
    (START, "1:1: the policy asks for nothing; give it one of extends, needs, constraints, exposure"),
    # the version
    ("schema_version: 2\nother: [1]\n", "1:17: schema_version: version 2 is unknown; this sgaudit reads 1"),
    (
        f"schema_version: '1'\nname: mine\nsummary: A test.\n{SSH}",
        "1:17: schema_version: '1' is not allowed; allowed here: 1",
    ),
    (f"name: mine\nsummary: A test.\n{SSH}", "1:1: schema_version: missing: 1"),
    # keys
    (START + SSH + "nedes: []\n", f"6:1: nedes: unknown key (did you mean needs?); allowed here: {TOP}"),
    (START + SSH + "zzz: 1\n", f"6:1: zzz: unknown key; allowed here: {TOP}"),
    (START + SSH + '"a\\e[0m": 1\n', f"6:1: 'a\\x1b[0m': unknown key; allowed here: {TOP}"),
    (START + SSH + "name: again\n", "6:1: name: stands twice; the first is in line 2"),
    (need(prot="tcp"), f"5:69: needs[0].prot: unknown key (did you mean protocol?); allowed here: {NEED}"),
    (need(why=""), "5:5: needs[0].why: missing: what the traffic is, in words"),
    (
        need(id=""),
        "5:5: needs[0].id: missing: a name of its own; the same id in a policy that extends this one replaces the need",
    ),
    (
        START + "exposure:\n  - {id: a, except: {prts: 2}, why: x, source: y}\n",
        "5:22: exposure[0].except.prts: unknown key (did you mean ports?); allowed here: ports, cidrs",
    ),
    # values of the wrong kind
    (START + "needs: {a: 1}\n", "4:8: needs: a mapping where a list is expected"),
    (START + SSH + "roles: []\n", "6:8: roles: a list where a mapping is expected"),
    (START + "constraints: [3]\n", "4:15: constraints[0]: 3 where a mapping is expected"),
    (START + SSH + "frameworks: 3\n", "6:13: frameworks: 3 where text is expected"),
    (START + SSH + "roles:\n", f"6:7: roles: {EMPTY}"),
    (need(source="[]"), f"5:66: needs[0].source: {EMPTY}"),
    (need(why='""'), f"5:55: needs[0].why: {EMPTY}"),
    (need(ip_ordered="yes"), "5:81: needs[0].ip_ordered: 'yes' where true or false is expected"),
    # closed sets
    (
        need(protocol="tpc"),
        (
            "5:79: needs[0].protocol: 'tpc' is not allowed (did you mean tcp?); allowed here: tcp, udp, "
            "icmp, icmpv6, all, efa"
        ),
    ),
    (need(topology="ring"), "5:79: needs[0].topology: 'ring' is not allowed; allowed here: mesh, star, duplex"),
    (
        need(severity="warn"),
        "5:79: needs[0].severity: 'warn' is not allowed (did you mean warning?); allowed here: error, warning, note",
    ),
    (
        START + "constraints:\n  - {kind: same_vp, why: x, source: y}\n",
        f"5:12: constraints[0].kind: 'same_vp' is not allowed (did you mean same_vpc?); allowed here: {KINDS}",
    ),
    # ports, with what YAML 1.1 makes of them
    (need(ports="22:22"), f"5:46: needs[0].ports: '22:22' is not {PORT}"),
    (need(ports="010"), f"5:46: needs[0].ports: '010' is not {PORT}"),
    (need(ports="no"), f"5:46: needs[0].ports: 'no' is not {PORT}"),
    (need(ports="true"), f"5:46: needs[0].ports: true is not {PORT}"),
    (need(ports="0x16"), f"5:46: needs[0].ports: '0x16' is not {PORT}"),
    (need(ports="22.5"), f"5:46: needs[0].ports: '22.5' is not {PORT}"),
    (need(ports="1_000"), f"5:46: needs[0].ports: '1_000' is not {PORT}"),
    (need(ports="[22, 70000]"), "5:51: needs[0].ports[1]: 70000 is not within 0-65535, or its ends are swapped"),
    (need(ports="9-1"), "5:46: needs[0].ports: 9-1 is not within 0-65535, or its ends are swapped"),
    (need(ports="9" * 100), f"5:46: needs[0].ports: '{'9' * 55}...' is not {PORT}"),
    (need(ports="[]"), f"5:46: needs[0].ports: {EMPTY}"),
    (need(ports="{a: 1}"), f"5:46: needs[0].ports: a mapping is not {PORT}"),
    (need(ports=""), "5:5: needs[0]: tcp needs ports: a port, a range, all, ${parameter}, or a list of them"),
    (need(protocol="efa"), "5:39: needs[0].ports: efa has no ports; leave the key out"),
    # names
    (need(id="A b"), f"5:10: needs[0].id: 'A b' {NAME}"),
    (START + SSH + "roles:\n  Bad: {default: true}\n", f"7:3: roles.Bad: 'Bad' {NAME}"),
    (
        need(to="hed"),
        "5:31: needs[0].to: 'hed' is neither a role nor a peer (did you mean head?); declared: head, member",
    ),
    (
        START + "constraints:\n  - {kind: same_vpc, roles: [member, workr], why: x, source: y}\n",
        "5:38: constraints[0].roles[1]: no role is called 'workr'; declared: head, member",
    ),
    (
        START + SSH + "  - {id: ssh, from: member, to: member, ports: 23, why: x, source: y}\n",
        "6:10: needs[1].id: 'ssh' stands twice; the first is in line 5",
    ),
    # roles and peers
    (
        START + SSH + "roles:\n  worker: {description: works}\n",
        "7:11: roles.worker: says nothing about who it is; give it tag, instance_id, security_group, subnet or default",
    ),
    (
        START + SSH + "roles:\n  member: {default: true}\n",
        "7:3: roles.member: every member has this role; it can't be declared",
    ),
    (
        START + SSH + "roles:\n  worker: {tag: 'a='}\n",
        "7:17: roles.worker.tag: 'a=' is not KEY=VALUE, KEY=VALUE,VALUE or KEY",
    ),
    (
        START + SSH + "peers:\n  head: {at: sg-1}\n",
        "7:3: peers.head: is a role already; a peer needs a name of its own",
    ),
    (
        START + SSH + "peers:\n  fs: {at: 10.0.0.0/33}\n",
        (
            "7:12: peers.fs.at: '10.0.0.0/33' is not a CIDR block such as 10.0.0.0/16, a security group (sg-...) "
            "or a prefix list (pl-...)"
        ),
    ),
    (
        START + "peers:\n  one: {at: sg-1}\n  two: {at: sg-2}\n"
        "needs:\n  - {id: a, from: one, to: two, ports: 22, why: x, source: y}\n",
        "8:28: needs[0].to: both ends are outside the cluster; one must be a role",
    ),
    (
        START + "peers:\n  one: {at: sg-1}\n"
        "needs:\n  - {id: a, from: one, to: member, ports: 22, topology: mesh, why: x, source: y}\n",
        "7:57: needs[0].topology: a peer outside the cluster has no mesh; allowed here: star, duplex",
    ),
    (
        START + "peers:\n  one: {at: 10.0.0.0/8}\n"
        "needs:\n  - {id: a, from: one, to: member, protocol: efa, why: x, source: y}\n",
        "7:46: needs[0].protocol: efa is admitted by security group only, and the peer one has an address",
    ),
    # parameters
    (need(ports="'${port}'"), "5:46: needs[0].ports: no parameter is called port; declared: none"),
    (
        need(ports="${port}"),
        (
            "5:47: not valid YAML: while parsing a flow mapping, did not find expected ',' or '}' "
            "(within {} or [] a ${parameter} needs quotes)"
        ),
    ),
    (
        START + SSH + "parameters:\n  p: {kind: port, default: 1-2}\n",
        "7:28: parameters.p.default: '1-2' is not one port",
    ),
    (
        START + SSH + "parameters:\n  p: {kind: cidr, default: sg-1}\n",
        "7:28: parameters.p.default: 'sg-1' is not a CIDR block such as 10.0.0.0/16",
    ),
    (
        START + SSH + "parameters:\n  p: {kind: prt}\n",
        "7:13: parameters.p.kind: 'prt' is not allowed (did you mean port?); allowed here: port, range, cidr, peer",
    ),
    (
        START + SSH + "parameters:\n  p: {kind: port, default: true}\n",
        "7:28: parameters.p.default: true is not a value; write a port, a range or an address, or a list of them",
    ),
    (
        START
        + "parameters:\n  c: {kind: cidr}\nneeds:\n  - {id: a, from: member, to: member, ports: ['${c}'], why: x, "
        "source: y}\n",
        "7:47: needs[0].ports[0]: the parameter c holds a cidr; this place takes port or range",
    ),
    # keys that don't go together
    (need(ip_ordered="true", topology="star"), "5:81: needs[0].ip_ordered: goes with a tcp mesh between members only"),
    (
        START + "constraints:\n  - {kind: separate_instance_types, why: x, source: y}\n",
        "5:5: constraints[0]: separate_instance_types needs instance_types, such as [p4d.*]",
    ),
    (
        START + "constraints:\n  - {kind: same_vpc, instance_types: p4d.*, why: x, source: y}\n",
        "5:22: constraints[0].instance_types: goes with the kind separate_instance_types only",
    ),
    (
        START + "exposure:\n  - {id: a, protocol: tcp, why: x, source: y}\n",
        "5:13: exposure[0].protocol: goes with ports that are written out; those of the policy have theirs",
    ),
    (START + "exposure:\n  - {id: a, ports: [], why: x, source: y}\n", f"5:20: exposure[0].ports: {EMPTY}"),
    (
        START + "exposure:\n  - {id: a, from: sg-1, why: x, source: y}\n",
        "5:19: exposure[0].from: 'sg-1' is not a CIDR block such as 10.0.0.0/16",
    ),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_mistake(text: str, message: str) -> None:
    """A mistake is told in one line: file, line, column, the key, and what is allowed there."""
    with pytest.raises(PolicyError) as caught:
        parse(Source(text, "f.yaml", None, ("f.yaml",)))

    assert (caught.value.message, caught.value.hint) == (f"f.yaml:{message}", HINT)


def test_all_at_once() -> None:
    """Mistakes of every kind in one file are told together, in the order of the file."""
    text = f"""{START}sumary: again
needs:
  - {{id: a, from: member, to: workr, ports: 22:22, why: x, source: y}}
  - {{id: a, from: member, to: member, ports: '${{p}}', why: x}}
exposure:
name: twice
"""
    with pytest.raises(PolicyError) as caught:
        parse(Source(text, "dir/f.yaml", None, ("dir/f.yaml",)))

    assert caught.value.message.splitlines() == [
        f"dir/f.yaml:4:1: sumary: unknown key (did you mean summary?); allowed here: {TOP}",
        "dir/f.yaml:6:31: needs[0].to: 'workr' is neither a role nor a peer; declared: head, member",
        f"dir/f.yaml:6:45: needs[0].ports: '22:22' is not {PORT}",
        "dir/f.yaml:7:5: needs[1].source: missing: where that is written: a project's file, or the name of a page",
        "dir/f.yaml:7:10: needs[1].id: 'a' stands twice; the first is in line 6",
        "dir/f.yaml:7:46: needs[1].ports: no parameter is called p; declared: none",
        f"dir/f.yaml:8:10: exposure: {EMPTY}",
        "dir/f.yaml:9:1: name: stands twice; the first is in line 2",
    ]


def test_what_is_extended_and_lost() -> None:
    """A policy that can't be found is named where it is written, beside the file's other mistakes."""
    text = f"{START}extends: [pytorch-glo, nothing-like-it]\nzzz: 1\n"
    with pytest.raises(PolicyError) as caught:
        parse(Source(text, "f.yaml", None, ("f.yaml",)))

    assert caught.value.message.splitlines() == [
        "f.yaml:4:11: extends: no policy is called 'pytorch-glo'",
        "f.yaml:4:24: extends: no policy is called 'nothing-like-it'",
        f"f.yaml:5:1: zzz: unknown key; allowed here: {TOP}",
    ]
    assert caught.value.hint == (
        f"did you mean pytorch-gloo? shipped policies: {', '.join(shipped())}; or a path to a .yaml file"
    )
