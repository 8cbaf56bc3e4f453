"""What torchrun starts on each node: it sums one number of each rank over Gloo."""

from __future__ import annotations

import sys
import warnings
from datetime import timedelta

from tests.packets.kernel import die_with_parent

warnings.simplefilter("ignore")


def main(seconds: str) -> None:
    """Run the job."""
    die_with_parent()
    import torch
    from torch import distributed

    distributed.init_process_group("gloo", timeout=timedelta(seconds=float(seconds)))
    number = torch.tensor([distributed.get_rank() + 1.0])
    distributed.all_reduce(number)
    distributed.barrier()
    distributed.destroy_process_group()
    print(f"sum {number.item():.0f}", flush=True)  # noqa: T201  # the test reads it


if __name__ == "__main__":
    main(sys.argv[1])
