"""Measure what checks of accesses cost on the CPU: kernels with and without, in turn.

    python benchmarks/checks.py [--rounds N]

Times are the processor's for one thread, in milliseconds, the least of the rounds; those of both
kinds of code are taken in turn in one process. ``first`` is the first launch, which compiles.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import date
from functools import partial
from typing import Any

import numpy as np

os.environ |= {"GRIDLANE_CACHE": "0", "GRIDLANE_THREADS": "1"}

import gridlane
import results
from gridlane import cuda
from gridlane.core.config import config

TILE, SIDE, COUNT, PLANE = 16, 512, 1 << 22, 1024
Launch = Callable[[], Any]

CPP = """
extern "C" __global__ void saxpy(float a, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
extern "C" __global__ void product(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[16][16], b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        a[ty][tx] = A[y * n + k + tx];
        b[ty][tx] = B[(k + ty) * n + x];
        __syncthreads();
        for (int j = 0; j < 16; j++)
            sum += a[ty][j] * b[j][tx];
        __syncthreads();
    }
    C[y * n + x] = sum;
}
extern "C" __global__ void stencil(const float *a, float *b, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && x < n - 1 && y > 0 && y < n - 1)
        b[y * n + x] = .25f * (a[(y - 1) * n + x] + a[(y + 1) * n + x] + a[y * n + x - 1] +
                               a[y * n + x + 1]);
}
extern "C" __global__ void gather(const float *a, const int *at, float *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        b[i] = a[at[i]];
}
extern "C" __global__ void rows(float **rows, float *sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += rows[i][k];
    sums[i] = sum;
}
extern "C" __global__ void small(float *x) { x[threadIdx.x] += 1; }
"""


def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


def product(A, B, C):
    a = cuda.shared.array((TILE, TILE), np.float32)
    b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    total = np.float32(0)
    for k in range(0, A.shape[1], TILE):
        a[ty, tx] = A[y, k + tx]
        b[ty, tx] = B[k + ty, x]
        cuda.syncthreads()
        for j in range(TILE):
            total += a[ty, j] * b[j, tx]
        cuda.syncthreads()
    C[y, x] = total


def stencil(a, b):
    x, y = cuda.grid(2)
    if 0 < x < a.shape[1] - 1 and 0 < y < a.shape[0] - 1:
        b[y, x] = np.float32(0.25) * (a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1])


def gather(a, at, b):
    i = cuda.grid(1)
    if i < at.size:
        b[i] = a[at[i]]


def small(x):
    x[cuda.threadIdx.x] += 1


class Data:
    """The arrays."""

    def __init__(self) -> None:
        random = np.random.default_rng(1)

        def floats(*shape: int) -> Any:
            return cuda.to_device(random.random(shape, np.float32))

        self.x, self.y = floats(COUNT), floats(COUNT)
        self.A, self.B, self.C = floats(SIDE, SIDE), floats(SIDE, SIDE), floats(SIDE, SIDE)
        self.a, self.b = floats(PLANE, PLANE), floats(PLANE, PLANE)
        self.out = floats(COUNT // 4)
        self.at = cuda.to_device(random.integers(0, COUNT, COUNT // 4).astype(np.int32))
        self.parts = [floats(256) for _ in range(1024)]
        starts = [part.__cuda_array_interface__["data"][0] for part in self.parts]
        self.rows = cuda.to_device(np.array(starts, np.uint64))
        self.sums = floats(1024)


def python(data: Data) -> dict[str, Launch]:
    """The launches of kernels in Python."""
    made = {each.__name__: cuda.jit(each) for each in (saxpy, product, stencil, gather, small)}
    blocks, threads = (SIDE // TILE,) * 2, (TILE, TILE)
    return {
        "saxpy": lambda: made["saxpy"][COUNT // 256, 256](np.float32(2), data.x, data.y),
        "product": lambda: made["product"][blocks, threads](data.A, data.B, data.C),
        "stencil": lambda: made["stencil"][(PLANE // 32, PLANE // 8), (32, 8)](data.a, data.b),
        "gather": lambda: made["gather"][COUNT // 1024, 256](data.x, data.at, data.out),
        "small": lambda: made["small"][1, 32](data.sums),
    }


def cpp(data: Data) -> dict[str, Launch]:
    """The launches of kernels in CUDA C++."""
    module, n, two = cuda.RawModule(code=CPP), np.int32, np.float32(2)
    tile, blocks = (TILE, TILE), (SIDE // TILE,) * 2
    plane = (PLANE // 32, PLANE // 8), (32, 8)
    line, many = ((COUNT // 256,), (256,)), ((COUNT // 1024,), (256,))
    launches = {
        "saxpy": (*line, (two, data.x, data.y, n(COUNT))),
        "product": (blocks, tile, (data.A, data.B, data.C, n(SIDE))),
        "stencil": (*plane, (data.a, data.b, n(PLANE))),
        "gather": (*many, (data.x, data.at, data.out, n(COUNT // 4))),
        "rows": ((4,), (256,), (data.rows, data.sums, n(256))),
        "small": ((1,), (32,), (data.sums,)),
    }
    return {name: partial(module.get_function(name), *given) for name, given in launches.items()}


@contextmanager
def checking(wanted: bool) -> Generator[None]:
    """Kernels that are made within have checks, or none."""
    os.environ["GRIDLANE_CHECK"] = "1" if wanted else "0"
    config.cache_clear()
    yield


def taken(launch: Launch) -> float:
    """Milliseconds that this thread computes for a launch, to its end."""
    begin = time.thread_time()
    launch()
    cuda.synchronize()
    return (time.thread_time() - begin) * 1e3


def measure(make: Callable[[Data], dict[str, Launch]], data: Data, rounds: int) -> None:
    """Print a line for each kernel of a language."""
    ways: list[dict[str, Launch]] = []
    firsts: list[dict[str, float]] = []
    for wanted in (False, True):
        with checking(wanted):
            ways.append(make(data))
            firsts.append({name: taken(launch) for name, launch in ways[-1].items()})
    for name in ways[0]:
        best = [float("inf")] * 2
        for _ in range(rounds):
            for way, launches in enumerate(ways):
                with checking(bool(way)):
                    best[way] = min(best[way], taken(launches[name]))
        plain, checked = best
        first = "  ".join(f"{each[name]:6.0f}" for each in firsts)
        label = f"{make.__name__} {name}"
        results.add(label, "plain", plain, "ms")
        results.add(label, "checked", checked, "ms")
        results.add(label, "checked/plain", checked / plain, "ratio")
        for way, each in zip(("plain", "checked"), firsts, strict=True):
            results.add(label, f"first launch, {way}", each[name], "ms")
        print(f"{label:16} {plain:9.3f} {checked:9.3f} {checked / plain:6.2f}   {first}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    results.option(parser)
    args = parser.parse_args()
    processor = gridlane.__version__, platform.machine(), os.cpu_count()
    print(f"{date.today()}, {processor[2]} cores, {processor[1]}, gridlane {processor[0]}")
    print(f"{'':16} {'plain':>9} {'checked':>9} {'ratio':>6}   {'first':>6}  {'checked':>7}")
    with gridlane.device("cpu"):
        data = Data()
        for make in (python, cpp):
            measure(make, data, args.rounds)
    results.write("checks", args.record)


if __name__ == "__main__":
    main()
