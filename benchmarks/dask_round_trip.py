"""What a kernel's way through Dask costs after its first: its pickle and back, and a task with it
on a worker of ``gridlane.distributed.local(1)``, beside a task of the same kind without a kernel.

    python benchmarks/dask_round_trip.py [--rounds 300] [--record]

Needs dask and distributed. Medians; the tasks take turns, so that a slow phase meets them all.
"""

from __future__ import annotations

import argparse
import pickle
import statistics
import time
from collections.abc import Callable

import dask
import distributed
import numpy as np

import results
from gridlane import cuda
from gridlane.distributed import local

SIZE = 512


@cuda.jit
def scaled(x, by):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= by


def by_kernel(kernel, array):
    """A task that launches."""
    kernel[2, 256](array, 2.0)
    return array


def by_numpy(factor, array):
    """A task without a kernel."""
    array *= factor
    return array


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=300)
    results.option(parser)
    args = parser.parse_args()
    host = np.ones(SIZE)
    on_device = cuda.to_device(host)
    with local(1) as client:

        def task(*call: object) -> Callable[[], object]:
            return lambda: client.submit(*call, pure=False).result()

        ways: dict[str, Callable[[], object]] = {
            "a kernel's pickle and back": lambda: pickle.loads(pickle.dumps(scaled)),
            "a task of NumPy": task(by_numpy, 2.0, host),
            "a task with a kernel, NumPy's array": task(by_kernel, scaled, host),
            "a task with a kernel, a device array": task(by_kernel, scaled, on_device),
        }
        firsts = {name: _milliseconds(way) for name, way in ways.items()}
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(args.rounds):
            for name, way in ways.items():
                times[name].append(_milliseconds(way))
    for name, each in times.items():
        low, median, high = statistics.quantiles(each, n=4)
        print(f"{name:<40}{median:8.3f} ms   quartiles {low:.3f} to {high:.3f}")
        print(f"{'':<40}{firsts[name]:8.3f} ms   the first")
        for of, value in ("median", median), ("first quartile", low), ("third quartile", high):
            results.add(name, of, value, "ms")
    versions = {"dask": dask.__version__, "distributed": distributed.__version__}
    results.write("dask", args.record, "cpu", versions)


def _milliseconds(way: Callable[[], object]) -> float:
    start = time.perf_counter()
    way()
    return (time.perf_counter() - start) * 1e3


if __name__ == "__main__":
    main()
