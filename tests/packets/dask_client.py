"""A client of a Dask scheduler: lets each worker use what another has made, and fetches from the workers itself."""

from __future__ import annotations

import sys

from tests.packets.kernel import die_with_parent


def main(scheduler: str, workers: str, seconds: str) -> None:
    """Run the job."""
    die_with_parent()
    from distributed import Client

    with Client(scheduler, timeout=seconds) as client:
        client.wait_for_workers(int(workers), timeout=float(seconds))
        places = sorted(client.scheduler_info(n_workers=-1)["workers"])
        made = [client.submit(len, place, workers=[place], pure=False) for place in places]
        turned = [*made[1:], *made[:1]]
        used = [
            client.submit(max, [one], workers=[place], pure=False) for one, place in zip(turned, places, strict=True)
        ]
        found = client.gather(used, direct=True)
        print(f"made {len(found)}", flush=True)  # noqa: T201  # the test reads it


if __name__ == "__main__":
    main(*sys.argv[1:])
