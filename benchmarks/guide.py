"""The figures of docs/speed.md: one program in two or more ways of writing it.

    python benchmarks/guide.py                            # on the CPU
    GRIDLANE_DEVICE=cuda python benchmarks/guide.py

Each group prints the least milliseconds of each of its ways, which take turns, and their ratio to
the first: the least, since other work on the machine only adds. Every way's result is compared with
the first's.
"""

from __future__ import annotations

import argparse
import datetime
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import results
from gridlane import cuda
from gridlane.core.config import config
from gridlane.cuda import float32, int32
from timing import machine, milliseconds

N = 1 << 20
SIDE = 1 << 10
BINS = 256
Ways = dict[str, Callable[[], object]]


@dataclass(frozen=True, slots=True)
class Group:
    """Ways to do one thing. ``results`` are the arrays that they write, which agree."""

    title: str
    ways: Mapping[str, Callable[[], object]]
    results: tuple[Any, ...]


def launches(size: int, threads: int = 256) -> int:
    return (size + threads - 1) // threads


# --- floats ---------------------------------------------------------------------------------------


def polynomial(x, out):
    i = cuda.grid(1)
    if i < out.size:
        y = x[i]
        for _ in range(64):
            y = 0.5 * y * y + 0.25 * y + 0.125
        out[i] = y


def floats() -> Group:
    single = cuda.to_device(np.linspace(0, 1, N, dtype=np.float32))
    outs = [cuda.device_array(N, np.float32) for _ in range(2)]
    kernels = {
        'floats="float32"': cuda.jit(floats="float32")(polynomial),
        "literals as they are: float64": cuda.jit(polynomial),
    }
    ways = {
        name: lambda kernel=kernel, out=out: kernel[launches(N), 256](single, out)
        for (name, kernel), out in zip(kernels.items(), outs, strict=True)
    }
    return Group("Floats: 64 polynomials, 2^20 threads", ways, tuple(outs))


# --- fastmath -------------------------------------------------------------------------------------


def distance(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(16):
            dx = x[i] - x[k]
            dy = y[i] - y[k]
            total += float32(1) / math.sqrt(dx * dx + dy * dy + float32(0.01))
        out[i] = total


def fastmath() -> Group:
    rng = np.random.default_rng(3)
    x, y = (cuda.to_device(rng.random(N, dtype=np.float32)) for _ in range(2))
    outs = [cuda.device_array(N, np.float32) for _ in range(2)]
    kernels = {"exact": cuda.jit(distance), "fastmath=True": cuda.jit(fastmath=True)(distance)}
    ways = {
        name: lambda kernel=kernel, out=out: kernel[launches(N), 256](x, y, out)
        for (name, kernel), out in zip(kernels.items(), outs, strict=True)
    }
    return Group("fastmath: 16 reciprocal square roots, 2^20 threads", ways, tuple(outs))


def sines(x, out):
    i = cuda.grid(1)
    if i < out.size:
        y = x[i]
        for _ in range(8):
            y = math.sin(y) + float32(0.25)
        out[i] = y


def functions() -> Group:
    x = cuda.to_device(np.linspace(0, 1, N, dtype=np.float32))
    outs = [cuda.device_array(N, np.float32) for _ in range(2)]
    kernels = {"exact": cuda.jit(sines), "fastmath=True": cuda.jit(fastmath=True)(sines)}
    ways = {
        name: lambda kernel=kernel, out=out: kernel[launches(N), 256](x, out)
        for (name, kernel), out in zip(kernels.items(), outs, strict=True)
    }
    return Group("fastmath: 8 sines, 2^20 threads", ways, tuple(outs))


# --- layouts --------------------------------------------------------------------------------------


@cuda.jit
def along_rows(a, out):
    x, y = cuda.grid(2)
    if x < a.shape[1] and y < a.shape[0]:
        out[y, x] = a[y, x] * float32(2)


@cuda.jit
def along_columns(a, out):
    y, x = cuda.grid(2)
    if x < a.shape[1] and y < a.shape[0]:
        out[y, x] = a[y, x] * float32(2)


def layouts() -> Group:
    a = cuda.to_device(np.random.default_rng(1).random((SIDE, SIDE), dtype=np.float32))
    first, second = (cuda.device_array((SIDE, SIDE), np.float32) for _ in range(2))
    grid, block = (SIDE // 32, SIDE // 8), (32, 8)
    ways = {
        "neighbours read neighbours: a[y, x]": lambda: along_rows[grid, block](a, first),
        "x and y the other way round": lambda: along_columns[grid, block](a, second),
    }
    return Group("Order of memory: 1024 x 1024, float32", ways, (first, second))


POINT = np.dtype([("x", np.float32), ("y", np.float32), ("z", np.float32), ("mass", np.float32)])


@cuda.jit
def move_records(points):
    i = cuda.grid(1)
    if i < points.size:
        points[i]["x"] = points[i]["x"] * float32(0.5) + float32(1)


@cuda.jit
def move_field(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = x[i] * float32(0.5) + float32(1)


def records() -> Group:
    start = np.random.default_rng(2).random(N, dtype=np.float32)
    points = np.zeros(N, POINT)
    points["x"] = start
    records, fields = cuda.to_device(points), cuda.to_device(start)
    ways = {
        "an array for each field": lambda: move_field[launches(N), 256](fields),
        "an array of records": lambda: move_records[launches(N), 256](records),
    }
    return Group("Records: one of four fields, 2^20 of them", ways, ())


# --- blocks ---------------------------------------------------------------------------------------


@cuda.jit
def scale(a, out):
    i = cuda.grid(1)
    if i < a.size:
        out[i] = a[i] * float32(3)


@cuda.jit
def scale_strided(a, out):
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        out[i] = a[i] * float32(3)


def blocks() -> Group:
    a = cuda.to_device(np.random.default_rng(1).random(N, dtype=np.float32))
    sizes = (256, 32, 64, 128, 512, 1024)
    outs = [cuda.device_array(N, np.float32) for _ in range(len(sizes) + 2)]
    ways: Ways = {
        f"{size} threads": lambda size=size, out=out: scale[launches(N, size), size](a, out)
        for size, out in zip(sizes, outs, strict=False)
    }
    ways["33 threads: a warp of one thread"] = lambda: scale[launches(N, 33), 33](a, outs[-2])
    ways["grid-stride loop, 64 blocks of 256"] = lambda: scale_strided[64, 256](a, outs[-1])
    return Group("Threads of a block: one multiplication, 2^20 threads", ways, tuple(outs))


@cuda.jit(fastmath=True)
def sum_of_roots(x, out):
    """out: a number for each thread."""
    total = float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y = x[i]
        for _ in range(32):
            y = math.sqrt(y + float32(1))
        total += y
    out[cuda.grid(1)] = total


def occupancy() -> Group:
    x = cuda.to_device(np.random.default_rng(1).random(N, dtype=np.float32))
    grids = (64, 1, 2, 8)
    outs = {blocks: cuda.device_array(blocks * 256, np.float32) for blocks in grids}
    ways: Ways = {
        f"blocks: {blocks}": lambda blocks=blocks: sum_of_roots[blocks, 256](x, outs[blocks])
        for blocks in grids
    }
    return Group("Number of blocks: 2^25 square roots by blocks of 256 threads", ways, ())


# --- atomics --------------------------------------------------------------------------------------


@cuda.jit
def count_global(values, bins):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(bins, values[i], 1)


@cuda.jit
def count_shared(values, bins):
    mine = cuda.shared.array(BINS, int32)
    mine[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(mine, values[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(bins, cuda.threadIdx.x, mine[cuda.threadIdx.x])


def atomics() -> Group:
    values = cuda.to_device(np.random.default_rng(5).integers(0, BINS, N, dtype=np.int32))
    first, second = (cuda.to_device(np.zeros(BINS, np.int32)) for _ in range(2))
    ways = {
        "in shared memory, then once a block": lambda: count_shared[64, BINS](values, first),
        "in global memory": lambda: count_global[launches(N), 256](values, second),
    }
    return Group("Atomics: a histogram of 2^20 values, 256 bins", ways, ())


# --- divergence -----------------------------------------------------------------------------------


@cuda.jit
def steps(limits, out):
    i = cuda.grid(1)
    if i < out.size:
        y = float32(i)
        for _ in range(limits[i]):
            y = y * float32(0.5) + float32(1)
        out[i] = y


def divergence() -> Group:
    shuffled = np.random.default_rng(9).integers(0, 256, N, dtype=np.int32)
    ordered = cuda.to_device(np.sort(shuffled))
    mixed = cuda.to_device(shuffled)
    outs = [cuda.device_array(N, np.float32) for _ in range(2)]
    ways = {
        "neighbours take as many steps": lambda: steps[launches(N), 256](ordered, outs[0]),
        "neighbours differ": lambda: steps[launches(N), 256](mixed, outs[1]),
    }
    return Group("Divergence: 0 to 255 steps, the same in all", ways, ())


# --- copies and launches --------------------------------------------------------------------------


def copies() -> Group:
    host = np.random.default_rng(1).random(N, dtype=np.float32)
    there, out = cuda.to_device(host), cuda.device_array(N, np.float32)
    result = np.empty(N, np.float32)
    ways = {
        "arrays on the device": lambda: scale[launches(N), 256](there, out),
        "numpy's arrays": lambda: scale[launches(N), 256](host, result),
        "numpy's, cuda.In and cuda.Out": lambda: scale[launches(N), 256](
            cuda.In(host), cuda.Out(result)
        ),
    }
    return Group("Copies: one multiplication, 2^20 numbers", ways, (out, result))


def many() -> Group:
    a = cuda.to_device(np.random.default_rng(1).random(N, dtype=np.float32))
    out, parts = cuda.device_array(N, np.float32), cuda.device_array(N, np.float32)
    pieces = [slice(k * 1024, (k + 1) * 1024) for k in range(1024)]
    views = [(a[piece], parts[piece]) for piece in pieces]

    def in_parts() -> None:
        for view, target in views:
            scale[4, 256](view, target)

    ways = {"one launch": lambda: scale[launches(N), 256](a, out), "1,024 launches": in_parts}
    return Group("Launches: 2^20 numbers at once and in parts", ways, (out, parts))


GROUPS = (
    floats,
    fastmath,
    functions,
    layouts,
    records,
    blocks,
    occupancy,
    atomics,
    divergence,
    copies,
    many,
)


def measure(group: Group, rounds: int) -> None:
    for way in group.ways.values():
        way()
    cuda.synchronize()
    host = [
        each.copy_to_host() if hasattr(each, "copy_to_host") else each for each in group.results
    ]
    for other in host[1:]:
        np.testing.assert_allclose(other, host[0], rtol=1e-3, atol=1e-5)

    def waited(way: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            way()
            cuda.synchronize()

        return run

    runs = {name: waited(way) for name, way in group.ways.items()}
    turns = [{name: min(milliseconds(run, 3)) for name, run in runs.items()} for _ in range(rounds)]
    times = {name: min(turn[name] for turn in turns) for name in runs}
    first = next(iter(times.values()))
    print(f"\n{group.title}")
    for name, time in times.items():
        results.add(group.title, name, time, "ms")
        print(f"  {name:40} {time:9.3f} ms {time / first:7.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", help="the name of one group")
    results.option(parser)
    args = parser.parse_args()
    name = cuda.get_current_device().name
    shown = name.decode() if isinstance(name, bytes) else str(name)
    print(f"{datetime.date.today()}, {shown}; host {machine()}")
    for group in GROUPS:
        if args.only in (None, group.__name__):
            measure(group(), args.rounds)
    results.write("guide", args.record, config().device)


if __name__ == "__main__":
    main()
