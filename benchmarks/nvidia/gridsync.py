"""The time of a barrier of the whole grid: many in a launch, less a launch without."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.cli.gpu_bench.timing import timed
from gridlane.launch.devices import get_device

THREADS = 256
BARRIERS = 2000


@cuda.jit
def meet(counts, barriers):
    """Each barrier lets the threads see what their neighbours in the next block counted."""
    group = cuda.cg.this_grid()
    i = cuda.grid(1)
    for n in range(barriers):
        counts[n % 2, i] = counts[(n + 1) % 2, (i + cuda.blockDim.x) % counts.shape[1]] + 1
        group.sync()


def section() -> list[dict[str, Any]]:
    """A block a multiprocessor; prints microseconds a barrier."""
    blocks = get_device("cuda").limits.multiprocessors
    counts = cuda.to_device(np.zeros((2, blocks * THREADS), np.int32))
    meet[blocks, THREADS](counts, BARRIERS)
    seen = counts.copy_to_host()[(BARRIERS + 1) % 2]
    right = bool((seen == BARRIERS).all())
    many, none = (timed(lambda n=n: meet[blocks, THREADS](counts, n)) for n in (BARRIERS, 0))
    each = (many - none) * 1e3 / BARRIERS
    print(
        f"{blocks} blocks of {THREADS}: {each:.2f} us a barrier, "
        f"{'all counts right' if right else 'WRONG COUNTS'}",
        flush=True,
    )
    return [{"blocks": blocks, "threads": THREADS, "us": each, "right": right}]
