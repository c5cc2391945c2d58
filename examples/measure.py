"""Time a kernel launch the way all examples do."""

from __future__ import annotations

import time
from collections.abc import Callable

from numba import cuda


def milliseconds(launch: Callable[[], object]) -> float:
    """Run `launch` twice and return the milliseconds that the second run took.

    The first run compiles. Launches return before the work is done, hence the synchronize.
    """
    launch()
    cuda.synchronize()
    start = time.perf_counter()
    launch()
    cuda.synchronize()
    return (time.perf_counter() - start) * 1e3
