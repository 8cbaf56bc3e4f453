"""
The process that starts the ranks of a PyTorch job: it imports torch once and forks a rank for each namespace.

Like the twin's own process it takes requests as lines of JSON and answers each with one.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from tests.packets.dialogue import answer_all
from tests.packets.kernel import die_with_parent, settle

POLL = 0.02
LINGER = 1.0
"""Seconds for which rank 0 stays, whose store the others still ask when it has finished."""
GRACE = 0.5
"""Seconds that the other ranks have left when one has failed: the last lines of a job that is lost anyway."""


def gloo(rank: int, world: int, store: str, seconds: float) -> str:
    """Make a Gloo process group and sum one number of each rank."""
    import torch
    from torch import distributed

    wait = timedelta(seconds=seconds)
    distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=world, timeout=wait)
    number = torch.tensor([rank + 1.0])
    distributed.all_reduce(number)
    distributed.barrier()
    distributed.destroy_process_group()
    return f"sum {number.item():.0f}"


def rpc(rank: int, world: int, store: str, seconds: float) -> str:
    """Make an RPC group over TensorPipe and call the next rank."""
    from torch.distributed import rpc as remote

    options = remote.TensorPipeRpcBackendOptions(
        init_method=store, rpc_timeout=seconds, _transports=["uv"], _channels=["basic"]
    )
    remote.init_rpc(f"rank{rank}", rank=rank, world_size=world, rpc_backend_options=options)
    found = [remote.rpc_sync(f"rank{other}", sum, args=([rank, other],)) for other in range(world) if other != rank]
    remote.shutdown()
    if rank == 0:
        time.sleep(LINGER)
    return f"sum {sum(found)}"


def torchrun(rank: int, world: int, store: str, seconds: float) -> str:
    """Run a node's agent, which meets the others at the store's host and starts a worker."""
    from torch.distributed import run as launcher

    host = urlsplit(store).hostname
    limits = ",".join(f"{name}={seconds:.0f}" for name in ("timeout", "read_timeout", "join_timeout"))
    limits += ",last_call_timeout=1"
    arguments = [f"--nnodes={world}", "--nproc-per-node=1", "--max-restarts=0", "--rdzv-backend=c10d"]
    arguments += [f"--rdzv-endpoint={host}:29400", "--rdzv-id=twin", f"--rdzv-conf={limits}", "--monitor-interval=0.1"]
    launcher.main([*arguments, "--module", "tests.packets.worker", str(seconds)])
    return "worker done"


JOBS: Mapping[str, Callable[[int, int, str, float], str]] = {"gloo": gloo, "rpc": rpc, "torchrun": torchrun}


def fork(
    job: str, place: tuple[Sequence[Any], Mapping[str, str]], rank: int, world: int, about: tuple[str, float]
) -> Any:
    """Start one rank; give its process and the file that it writes to."""
    machine, environment = place
    output = tempfile.TemporaryFile()  # noqa: SIM115  # the parent reads it when the rank has ended
    process = os.fork()
    if process:
        return process, output
    try:
        die_with_parent()
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        os.setsid()
        settle(*machine)
        os.environ.update(environment)
        os.write(1, JOBS[job](rank, world, *about).encode())
        os._exit(0)
    except BaseException:  # noqa: BLE001  # whatever ends a rank is told
        os.write(1, traceback.format_exc().encode())
        os._exit(1)


def wait_for(processes: Sequence[int], seconds: float) -> list[int | None]:
    """Wait until all have ended, one has failed, or time is up; end the rest. Give the exit codes, None for those."""
    codes: dict[int, int] = {}
    end = time.monotonic() + seconds
    while len(codes) < len(processes) and time.monotonic() < end:
        for process in set(processes) - set(codes):
            done, status = os.waitpid(process, os.WNOHANG)
            if done:
                codes[process] = os.waitstatus_to_exitcode(status)
                if codes[process]:
                    end = min(end, time.monotonic() + GRACE)
        time.sleep(POLL)
    for process in set(processes) - set(codes):
        os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
    return [codes.get(process) for process in processes]


def run(request: Mapping[str, Any]) -> list[Any]:
    """Run one job."""
    places = request["places"]
    about = (request["store"], request["seconds"])
    started = [fork(request["job"], place, rank, len(places), about) for rank, place in enumerate(places)]
    codes = wait_for([process for process, _ in started], request["patience"])
    found: list[Any] = []
    for code, (_, output) in zip(codes, started, strict=True):
        output.seek(0)
        found.append([code, output.read().decode(errors="replace")])
        output.close()
    return found


def main() -> None:
    """Answer until the input ends."""
    die_with_parent()
    warnings.simplefilter("ignore")
    for name in ("torch.distributed.rpc", "torch.distributed.run"):
        import_module(name)
    answer_all(run)


if __name__ == "__main__":
    main()
