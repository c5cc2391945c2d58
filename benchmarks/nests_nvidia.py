# ruff: noqa: F821, UP037  # extents are names that annotations define
"""Loop nests that memory binds, beside kernels written by hand and torch, on an NVIDIA GPU.

    python benchmarks/nests_nvidia.py [--only CASE] [--rounds 3] [--device cpu --small] [--record]

Sums along rows and columns, triangular and weighted ones, transposes, outer products, histograms of
blocks and normalised rows, each written as loops. All of a case take turns: a round is a run of
each, and a run is ten calls between two events. The first calls compile and are not counted. Rates
are of the bytes that a program must read and write, once each; ``copy`` is that of a kernel by hand
that copies as many. Arrays are larger than caches. Each result is compared with torch's or NumPy's,
of binary64. With ``--small`` extents are small and no peers run, on any device of gridlane.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

import gridlane
import results
from gridlane import cuda
from gridlane.compute import Tensor, compute, f32, f64, grid, i32, parallel

Run = Callable[[], Any]
CALLS = 10


@compute(fastmath=True)
def rows_f32(a: Tensor[f32, "M", "N"], x: Tensor[f32, "N"], y: Tensor[f32, "M"]):
    for i in range(M):
        s = 0.0
        for j in range(N):
            s += a[i, j] * x[j]
        y[i] = s


@compute
def rows_i32(a: Tensor[i32, "M", "N"], x: Tensor[i32, "N"], y: Tensor[i32, "M"]):
    for i in range(M):
        s = 0
        for j in range(N):
            s += a[i, j] * x[j]
        y[i] = s


@compute(fastmath=True)
def columns_f32(a: Tensor[f32, "M", "N"], x: Tensor[f32, "M"], y: Tensor[f32, "N"]):
    for j in range(N):
        s = 0.0
        for i in range(M):
            s += a[i, j] * x[i]
        y[j] = s


@compute(fastmath=True)
def columns_f64(a: Tensor[f64, "M", "N"], y: Tensor[f64, "N"]):
    for j in range(N):
        y[j] = 0.0
        for i in range(M):
            y[j] += a[i, j]


@compute(fastmath=True)
def triangle(a: Tensor[f32, "N", "N"], x: Tensor[f32, "N"], y: Tensor[f32, "N"]):
    for i in range(N):
        s = 0.0
        for j in range(i + 1):
            s += a[i, j] * x[j]
        y[i] = s


@compute(fastmath=True)
def weighted(a: Tensor[f32, "M", "N"], b: Tensor[f32, "M", "N"], out: Tensor[f32, 1]):
    s = 0.0
    for i in range(M):
        for j in range(N):
            s += a[i, j] * b[i, j]
    out[0] = s


@compute
def transpose(a: Tensor[f32, "M", "N"], b: Tensor[f32, "N", "M"]):
    for i, j in grid(M, N):
        b[j, i] = a[i, j]


@compute
def axes(a: Tensor[f32, "K", "M", "N"], b: Tensor[f32, "N", "M", "K"]):
    for k, i, j in grid(K, M, N):
        b[j, i, k] = a[k, i, j]


@compute
def outer(x: Tensor[f32, "M"], y: Tensor[f32, "N"], b: Tensor[f32, "M", "N"]):
    for i, j in grid(M, N):
        b[i, j] = x[i] * y[j]


@compute
def histogram(x: Tensor[i32, "M", "N"], h: Tensor[i32, "M", 256]):
    for i in parallel(M):
        for j in range(N):
            h[i, x[i, j]] += 1


@compute(fastmath=True)
def normalised(a: Tensor[f32, "M", "N"], b: Tensor[f32, "M", "N"]):
    for i in range(M):
        s = 0.0
        for j in range(N):
            s += a[i, j]
        mean = s / N
        t = 0.0
        for j in range(N):
            t += (a[i, j] - mean) * (a[i, j] - mean)
        scale = 1.0 / math.sqrt(t / N + 1e-5)
        for j in range(N):
            b[i, j] = (a[i, j] - mean) * scale


@cuda.jit
def copied(a, b):
    i = cuda.grid(1)
    if i < a.shape[0]:
        b[i] = a[i]


@cuda.jit(fastmath=True)
def rows_by_hand(a, x, y):
    part = cuda.shared.array(8, np.float32)
    i, lane = cuda.blockIdx.x, cuda.threadIdx.x
    s = np.float32(0)
    for j in range(lane, a.shape[1], 256):
        s += a[i, j] * x[j]
    for step in (16, 8, 4, 2, 1):
        s += cuda.shfl_xor_sync(0xFFFFFFFF, s, step)
    if lane % 32 == 0:
        part[lane // 32] = s
    cuda.syncthreads()
    if lane == 0:
        for other in range(1, 8):
            s += part[other]
        y[i] = s


@cuda.jit
def transpose_by_hand(a, b):
    tile = cuda.shared.array((32, 33), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for row in range(0, 32, 8):
        if i + y + row < a.shape[0] and j + x < a.shape[1]:
            tile[y + row, x] = a[i + y + row, j + x]
    cuda.syncthreads()
    for row in range(0, 32, 8):
        if j + y + row < a.shape[1] and i + x < a.shape[0]:
            b[j + y + row, i + x] = tile[x, y + row]


class Case(NamedTuple):
    """Who computes a result, how to look at it, what is right, the bytes, and a bound of errors."""

    runs: dict[str, Run]
    got: Callable[[], Any]
    wanted: Callable[[], Any]
    nbytes: int
    error: float


def cases(small: bool) -> dict[str, Callable[[], Case]]:
    """The cases by name."""
    n = 200 if small else 8192
    if not small:
        import torch

    def random(*shape: int, kind: str = "float32") -> Any:
        if small:
            values = np.random.default_rng(1).random(shape)
            return (values * 250).astype(kind) if kind == "int32" else values.astype(kind)
        if kind == "int32":
            return torch.randint(0, 250, shape, dtype=torch.int32, device="cuda")
        return torch.rand(shape, dtype=getattr(torch, kind), device="cuda")

    def wide(array: Any) -> Any:
        return array.astype(np.float64) if small else array.double()

    def peer(run: Run) -> dict[str, Run]:
        return {} if small else {"torch": run}

    def flat(run: Run, a: Any, b: Any) -> dict[str, Run]:
        one, other = a.reshape(-1), b.reshape(-1)
        half = one[: len(one) // 2] if a is b else one
        to = one[len(one) // 2 :] if a is b else other
        return {"loops": run, "copy": lambda: copied[-(-len(half) // 256), 256](half, to)}

    def of_rows(nest: Any, kind: str) -> Case:
        a, x, y = random(n, n, kind=kind), random(n, kind=kind), random(n, kind=kind)
        scratch = a.copy() if small else a.clone()
        runs = flat(lambda: nest(a, x, y), scratch, scratch)
        if kind == "float32":
            runs["hand"] = lambda: rows_by_hand[n, 256](a, x, y)
            runs |= peer(lambda: torch.mv(a, x, out=y))
        error = 0.0 if kind == "int32" else 1e-5
        return Case(runs, lambda: y, lambda: wide(a) @ wide(x), a.nbytes, error)

    def of_columns() -> Case:
        a, x, y = random(n, n), random(n), random(n)
        scratch = a.copy() if small else a.clone()
        runs = flat(lambda: columns_f32(a, x, y), scratch, scratch)
        runs |= peer(lambda: torch.mv(a.T, x, out=y))
        return Case(runs, lambda: y, lambda: wide(a).T @ wide(x), a.nbytes, 1e-5)

    def of_wide_columns() -> Case:
        a, y = random(n, n, kind="float64"), random(n, kind="float64")
        scratch = a.copy() if small else a.clone()
        runs = flat(lambda: columns_f64(a, y), scratch, scratch)
        runs |= peer(lambda: torch.sum(a, 0, out=y))
        return Case(runs, lambda: y, lambda: a.sum(0), a.nbytes, 1e-12)

    def of_triangle() -> Case:
        a, x, y = random(n, n), random(n), random(n)
        runs: dict[str, Run] = {"loops": lambda: triangle(a, x, y)}
        runs |= peer(lambda: torch.mv(a.tril(), x, out=y))
        low = (lambda: np.tril(wide(a)) @ wide(x)) if small else (lambda: wide(a).tril() @ wide(x))
        return Case(runs, lambda: y, low, a.nbytes // 2, 1e-5)

    def of_weights() -> Case:
        a, b, out = random(n, n), random(n, n), random(1)
        runs: dict[str, Run] = {"loops": lambda: weighted(a, b, out)}
        runs |= peer(lambda: torch.dot(a.view(-1), b.view(-1)))
        return Case(
            runs, lambda: out, lambda: (wide(a) * wide(b)).sum().reshape(1), 2 * a.nbytes, 1e-4
        )

    def of_transposes() -> Case:
        a, b = random(n, n), random(n, n)
        runs = flat(lambda: transpose(a, b), a, b)
        blocks = -(-n // 32)
        runs["hand"] = lambda: transpose_by_hand[(blocks, blocks), (32, 8)](a, b)
        runs |= peer(lambda: b.copy_(a.T))
        return Case(runs, lambda: b, lambda: wide(a).T, 2 * a.nbytes, 0.0)

    def of_axes() -> Case:
        shape = (30, 40, 50) if small else (384, 400, 416)
        a, b = random(*shape), random(*reversed(shape))
        runs = flat(lambda: axes(a, b), a, b)
        runs |= peer(lambda: b.copy_(a.permute(2, 1, 0)))
        turned = (lambda: wide(a).transpose()) if small else (lambda: wide(a).permute(2, 1, 0))
        return Case(runs, lambda: b, turned, 2 * a.nbytes, 0.0)

    def of_outer() -> Case:
        x, y, b = random(n), random(n), random(n, n)
        runs: dict[str, Run] = {"loops": lambda: outer(x, y, b)}
        runs |= peer(lambda: torch.outer(x, y, out=b))
        return Case(runs, lambda: b, lambda: wide(x)[:, None] * wide(y)[None], b.nbytes, 1e-6)

    def of_histograms() -> Case:
        x, h = random(n, n, kind="int32"), random(n, 256, kind="int32")

        def run() -> None:
            h[:] = 0
            histogram(x, h)

        def counted() -> Any:
            if small:
                return np.stack([np.bincount(row, minlength=256) for row in x]).astype(np.float64)
            rows = torch.arange(n, device="cuda")[:, None] * 256 + x
            return torch.bincount(rows.view(-1), minlength=n * 256).view(n, 256).double()

        return Case({"loops": run}, lambda: h, counted, x.nbytes, 0.0)

    def of_norms() -> Case:
        a, b = random(n, n), random(n, n)
        runs = flat(lambda: normalised(a, b), a, b)
        runs |= peer(lambda: torch.nn.functional.layer_norm(a, (n,)))

        def right() -> Any:
            v = wide(a)
            centred = v - v.mean(1)[:, None]
            return centred / ((centred**2).mean(1)[:, None] + 1e-5) ** 0.5

        return Case(runs, lambda: b, right, 2 * a.nbytes, 1e-4)

    return {
        "rows f32": lambda: of_rows(rows_f32, "float32"),
        "rows i32": lambda: of_rows(rows_i32, "int32"),
        "columns f32": of_columns, "columns f64": of_wide_columns, "triangle f32": of_triangle,
        "weighted sum f32": of_weights, "transpose f32": of_transposes, "axes f32": of_axes,
        "outer f32": of_outer, "histograms i32": of_histograms, "normalised rows f32": of_norms,
    }  # fmt: skip


def is_right(case: Case) -> bool:
    """Whether the loops have the results of binary64, within a bound relative to the largest."""
    case.runs["loops"]()
    cuda.synchronize()
    wanted = case.wanted()
    got = case.got()
    got = got.astype(np.float64) if isinstance(got, np.ndarray) else got.double()
    return float(abs(got - wanted).max()) <= case.error * float(abs(wanted).max())


def seconds(run: Run, small: bool) -> float:
    """A call's time."""
    if small:
        start = time.perf_counter()
        run()
        cuda.synchronize()
        return time.perf_counter() - start
    import torch

    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    for _ in range(CALLS):
        run()
    last.record()
    last.synchronize()
    return first.elapsed_time(last) / CALLS / 1e3


def measure(name: str, case: Case, rounds: int, small: bool) -> None:
    """Print and note the figures of a case."""
    for run in case.runs.values():
        run()
    cuda.synchronize()
    times = [{who: seconds(run, small) for who, run in case.runs.items()} for _ in range(rounds)]
    parts: list[str] = []
    for who in case.runs:
        rate = case.nbytes / statistics.median(each[who] for each in times) / 1e9
        results.add(name, who, rate, "GB/s")
        parts.append(f"{who} {rate:.0f}")
    for who in case.runs:
        if who != "loops":
            ratio = statistics.median(each["loops"] / each[who] for each in times)
            results.add(name, f"loops / {who}", ratio, "ratio")
            parts.append(f"{ratio:.3f} of {who}'s time")
    print(f"{name}: GB/s: {', '.join(parts)}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", metavar="CASE", help="whose names begin so")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="small extents, and no peers")
    results.option(parser)
    given = parser.parse_args()
    wrong: list[str] = []
    with gridlane.device(given.device):
        for name, make in cases(given.small).items():
            if given.only and not any(name.startswith(each) for each in given.only):
                continue
            case = make()
            if is_right(case):
                measure(name, case, given.rounds, given.small)
            else:
                wrong.append(name)
                print(f"{name}: WRONG", flush=True)
    if not wrong:
        versions = {} if given.small else {"torch": metadata.version("torch")}
        results.write("nests_nvidia", given.record, given.device, versions)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
