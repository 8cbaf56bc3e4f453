"""
A network of Linux namespaces that treats packets as AWS treats those of a raw snapshot.

Each interface is a namespace with stateful chains. Each subnet is a bridge in the namespace of its VPC's router, so
that neighbours reach each other without it; the router asks the ACLs at its legs and a routing table a subnet.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

from tests.packets.kernel import Namespace, die_with_parent, ip_batch, nftables, settle, sysctl
from tests.packets.world import FIRST_TABLE, Host, Router, World, version_of

GATEWAYS = {4: "169.254.0.1", 6: "fe80::1"}
LEGS = {4: "169.254.1.{}", 6: "fe80::{}"}
ALONE = {4: "32 dev eth0", 6: "128 dev eth0 nodad"}
EVERYWHERE = {4: "0.0.0.0/0", 6: "::/0"}

HOST_SETTINGS = {
    "net/ipv6/conf/all/accept_dad": 0,
    "net/ipv6/conf/default/accept_dad": 0,
    "net/ipv6/conf/default/accept_ra": 0,
    "net/ipv4/ip_local_port_range": "32768\t60999",
    "net/ipv4/tcp_syn_retries": 1,
}
ROUTER_SETTINGS = {
    **HOST_SETTINGS,
    "net/ipv4/ip_forward": 1,
    "net/ipv6/conf/all/forwarding": 1,
    "net/ipv4/conf/all/rp_filter": 0,
    "net/ipv4/conf/default/rp_filter": 0,
    "net/ipv4/conf/all/send_redirects": 0,
    "net/ipv4/conf/default/send_redirects": 0,
    "net/bridge/bridge-nf-call-iptables": 0,
    "net/bridge/bridge-nf-call-ip6tables": 0,
}


class Twin:
    """The namespaces of a raw snapshot; a context manager that removes them."""

    def __init__(self, document: Mapping[str, Any], interfaces: Sequence[str]) -> None:
        self.world = World(document, interfaces)
        self.children: list[subprocess.Popen[str]] = []
        self.hosts: dict[str, Namespace] = {}
        self.routers: dict[str, Namespace] = {}
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End what runs inside, then let go of the namespaces."""
        for child in self.children:
            end(child)
        for namespace in (*self.hosts.values(), *self.routers.values()):
            namespace.close()
        self.children, self.hosts, self.routers = [], {}, {}

    def machine(self, interface: str) -> tuple[str, str, dict[str, str]]:
        """Give what makes a process one of a host's: the arguments of `kernel.settle`."""
        listed = [f"{item} {name_of(item)}" for host in self.world.hosts for item in host.addresses[:1]]
        files = {
            "/etc/hosts": "\n".join(["127.0.0.1 localhost", *listed, ""]),
            "/etc/resolv.conf": "options timeout:1 attempts:1\n",
        }
        host = self.world.everyone[interface]
        name = name_of(host.addresses[0]) if host.addresses else interface
        return self.hosts[interface].path, name, files

    def spawn(self, interface: str, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
        """Start a program on a host."""
        machine = self.machine(interface)

        def become() -> None:
            die_with_parent()
            settle(*machine)

        child = subprocess.Popen(
            command,
            env=dict(environment),
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=become,  # noqa: PLW1509  # no thread of this process holds a lock
            start_new_session=True,
        )
        self.children.append(child)
        return child

    def _make(self) -> None:
        for host in self.world.hosts:
            self.hosts[host.interface_id] = Namespace()
        for router in self.world.routers:
            self.routers[router.vpc_id] = Namespace()
        for router in self.world.routers:
            with self.routers[router.vpc_id].entered():
                configure(ROUTER_SETTINGS)
                ip_batch(self._links(router))
        for host in self.world.hosts:
            with self.hosts[host.interface_id].entered():
                configure(HOST_SETTINGS)
                ip_batch(self._host_lines(host))
                nftables(self.world.host_filter(host))
        for router in self.world.routers:
            with self.routers[router.vpc_id].entered():
                ip_batch(self._router_lines(router))
                for version in (4, 6):
                    ip_batch(self._rule_lines(router), f"-{version}")
                nftables(self.world.router_filter(router))

    def _links(self, router: Router) -> list[str]:
        lines = []
        for number, subnet in enumerate(router.subnets):
            lines.append(f"link add br{number} type bridge mcast_snooping 0 stp_state 0 forward_delay 0")
            for place, host in self._inside(subnet):
                there = self.hosts[host.interface_id].path
                lines.append(f"link add h{place} type veth peer name eth0 netns {there}")
                lines += [f"link set h{place} master br{number}", f"link set h{place} up"]
            lines.append(f"link set br{number} up")
        vpcs = [item.vpc_id for item in self.world.routers]
        mine = vpcs.index(router.vpc_id)
        for other in router.peers:
            theirs = vpcs.index(other)
            if theirs > mine:
                there = self.routers[other].path
                lines.append(f"link add pcx{theirs} type veth peer name pcx{mine} netns {there}")
        return lines

    def _inside(self, subnet: str) -> list[tuple[int, Host]]:
        return [(place, host) for place, host in enumerate(self.world.hosts) if host.subnet_id == subnet]

    def _host_lines(self, host: Host) -> list[str]:
        lines = ["link set lo up", "link set eth0 up"]
        lines += [f"addr add {item}/{ALONE[version_of(item)]}" for item in host.addresses]
        for _, other in self._inside(host.subnet_id):
            if other != host:
                lines += [f"route replace {item} dev eth0" for item in other.addresses]
        versions = {version_of(item) for item in host.addresses}
        return lines + [
            f"route add {EVERYWHERE[version]} via {GATEWAYS[version]} dev eth0 onlink" for version in sorted(versions)
        ]

    def _router_lines(self, router: Router) -> list[str]:
        lines = ["link set lo up"]
        vpcs = [item.vpc_id for item in self.world.routers]
        mine = vpcs.index(router.vpc_id)
        ways = {other: f"pcx{vpcs.index(other)}" for other in router.peers}
        for device in ways.values():
            lines.append(f"link set {device} up")
            lines.append(f"addr add {leg(4, mine)}/32 dev {device}")
            lines.append(f"addr add {leg(6, mine)}/64 dev {device} nodad")
        for number, subnet in enumerate(router.subnets):
            lines += [f"addr add {GATEWAYS[4]}/32 dev br{number}", f"addr add {GATEWAYS[6]}/64 dev br{number} nodad"]
            for _, host in self._inside(subnet):
                lines += [f"route replace {item} dev br{number}" for item in host.addresses]
            table = FIRST_TABLE + number
            for version in (4, 6):
                lines.append(f"route add blackhole {EVERYWHERE[version]} table {table} metric 9999")
            for block, target in self.world.routes(router, subnet):
                if target in ways:
                    via = leg(version_of(block), vpcs.index(target))
                    lines.append(f"route add {block} via {via} dev {ways[target]} onlink table {table}")
                else:
                    lines.append(f"route add {'throw' if target == 'local' else target} {block} table {table}")
        return lines + [f"route add blackhole {EVERYWHERE[version]} metric 9999" for version in (4, 6)]

    def _rule_lines(self, router: Router) -> list[str]:
        tables = [(number, FIRST_TABLE + number) for number in range(len(router.subnets))]
        return [f"rule add iif br{number} pref {table} lookup {table}" for number, table in tables]


def end(child: subprocess.Popen[str]) -> None:
    """End a program with all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def name_of(address: str) -> str:
    """Give the host name that EC2 makes of an address."""
    return "ip-" + address.replace(".", "-").replace(":", "-")


def leg(version: int, router: int) -> str:
    """Give the address of a router's legs towards the routers of other VPCs."""
    return LEGS[version].format(router + 11)


def configure(settings: Mapping[str, object], write: Callable[[str, object], None] = sysctl) -> None:
    """Set values of the namespace that this thread is in."""
    for name, value in settings.items():
        write(name, value)


def usable() -> str:
    """Say why this machine can't make twins; empty when it can."""
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    try:
        namespace = Namespace()
        with namespace.entered():
            ip_batch(["link add twin0 type veth peer name twin1", "link add twin2 type bridge"])
            nftables("table inet twin { chain input { type filter hook input priority 0; ct state new accept; }; }\n")
        namespace.close()
    except (OSError, RuntimeError) as error:
        first = str(error).partition("\n")[0]
        return f"this machine can't make network namespaces with nftables: {first}"
    return ""
