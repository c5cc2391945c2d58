"""What a launch costs whose arrays are CuPy's or PyTorch's, on an NVIDIA GPU, beside our own.

Each is a launch of a kernel with three arrays and an integer, until it returns to Python, and, for
CuPy, that of its own kernel object. Medians of many batches, the cases in turns, so that a clock
that changes is every case's.

    GRIDLANE_DEVICE=cuda python benchmarks/foreign_arrays.py [--json OUT]

Needs a GPU; libraries that are not installed are left out, by name.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import results
from gridlane import cuda
from gridlane.core.config import config

SIZE = 256
BATCH = 200
Case = tuple[str, Callable[[], object]]


@cuda.jit
def add(a, b, c, n):
    i = cuda.grid(1)
    if i < n:
        c[i] = a[i] + b[i]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batches", type=int, default=50)
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the numbers here as well")
    results.option(parser)
    args = parser.parse_args()
    if config().device.partition(":")[0] != "cuda":
        raise SystemExit("set GRIDLANE_DEVICE=cuda")
    found = list(cases())
    costs: dict[str, list[float]] = {name: [] for name, _ in found}
    for _, launch in found:
        for _ in range(20):
            launch()
    for _ in range(args.batches):
        for name, launch in found:
            cuda.synchronize()
            start = time.perf_counter()
            for _ in range(BATCH):
                launch()
            costs[name].append((time.perf_counter() - start) / BATCH * 1e6)
    numbers = {name: statistics.median(each) for name, each in costs.items()}
    for name, value in numbers.items():
        spread = statistics.quantiles(costs[name], n=4)
        print(f"{name:<56}{value:8.2f} us   quartiles {spread[0]:.2f} to {spread[2]:.2f}")
        results.add(name, "median", value, "us")
        results.add(name, "first quartile", spread[0], "us")
        results.add(name, "third quartile", spread[2], "us")
    results.write("foreign_arrays", args.record, "cuda")
    if args.json:
        args.json.write_text(json.dumps(numbers, indent=1) + "\n")


def cases() -> Iterator[Case]:
    """Names with launches; each library's result is checked once."""
    ours = [cuda.to_device(np.ones(SIZE, np.float32)) for _ in range(3)]
    yield "gridlane's arrays", launcher(ours)
    yield "numpy's arrays, copied", launcher([np.ones(SIZE, np.float32) for _ in range(3)])
    # Many live arrays: what is looked up by address must not take longer for it.
    kept = [cuda.device_array(16, np.float32) for _ in range(20_000)]
    cupy = module("cupy")
    if cupy is not None:
        arrays = [cupy.ones(SIZE, cupy.float32) for _ in range(3)]
        yield "CuPy's arrays", launcher(arrays, lambda: float(arrays[2][5]))
        yield "CuPy's arrays, 20,000 arrays of gridlane alive", holding(kept, launcher(arrays))
        kernel = cupy.RawKernel(
            'extern "C" __global__ void add(const float* a, const float* b, float* c, int n)'
            "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }",
            "add",
        )
        number = np.int32(SIZE)
        yield "CuPy's arrays, CuPy's own kernel", lambda: kernel((1,), (SIZE,), (*arrays, number))
        yield "CuPy's interface alone", lambda: arrays[0].__cuda_array_interface__
    torch = module("torch")
    if torch is not None and torch.cuda.is_available():
        tensors = [torch.ones(SIZE, device="cuda") for _ in range(3)]
        yield "PyTorch's tensors", launcher(tensors, lambda: float(tensors[2][5]))
        yield "PyTorch's tensors, 20,000 arrays alive", holding(kept, launcher(tensors))
        yield "PyTorch's own a.add(b, out=c)", lambda: torch.add(*tensors[:2], out=tensors[2])
        yield "PyTorch's interface alone", lambda: tensors[0].__cuda_array_interface__
        yield "cuda.from_dlpack of a tensor", lambda: cuda.from_dlpack(tensors[0])
        yield "torch.from_dlpack of our array", lambda: torch.from_dlpack(ours[0])


def launcher(arrays: list, read: Callable[[], float] | None = None) -> Callable[[], object]:
    """A launch of the kernel, once its result was right."""
    configured = add[1, SIZE]
    configured(*arrays, SIZE)
    cuda.synchronize()
    if read is not None and read() != 2:
        raise SystemExit(f"the result with {type(arrays[0])} is wrong: {read()}")
    return lambda: configured(*arrays, SIZE)


def holding(kept: object, launch: Callable[[], object]) -> Callable[[], object]:
    """The same launch; the arrays live as long as it."""
    return lambda _kept=kept: launch()


def module(name: str):
    """A library, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(f"{name} is left out: {error}")
        return None


if __name__ == "__main__":
    main()
