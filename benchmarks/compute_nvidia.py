# ruff: noqa: F821, UP037  # extents are names that annotations define
"""Loop nests of ``@compute`` beside torch and beside gridlane's tile kernels, on an NVIDIA GPU.

    python benchmarks/compute_nvidia.py [--only CASE] [--rounds 9] [--device cpu --small] [--record]

Products, convolutions, attention, scans and sorts, each written as loops; products of tf32 are
those of float32 by tensor cores, which round factors, and products of f32 those without. All take
turns: a round is a short run of each, and a run is the median of calls in front of which the
GPU's second cache is emptied, by Triton's ``do_bench``, or by gridlane's where Triton is missing.
In front of each case the GPU computes it for a while, as its clock falls while it is busy. Ratios
are those of times: of the loops beside torch, and beside the function of gridlane.tiles.kernels
that a user would call by hand. Each result is compared with torch's, of the same types. With
``--small`` extents are small, any device of gridlane runs the loops without peers, and NumPy is the
reference.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import metadata
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

import gridlane
import results
from gridlane.compute import Hints, Tensor, bf16, compute, f16, f32, grid, i32
from gridlane.tiles import kernels, testing

Run = Callable[[], Any]
CORES = Hints(tensor_cores=True)
LOW = -math.inf


@compute(kernel="matmul", hints=CORES)
def product_f16(a: Tensor[f16, "M", "K"], b: Tensor[f16, "K", "N"], out: Tensor[f16, "M", "N"]):
    for i, j in grid(M, N):
        s = f32(0)
        for k in range(K):
            s += f32(a[i, k]) * f32(b[k, j])
        out[i, j] = s


@compute(kernel="matmul", hints=CORES)
def product_bf16(a: Tensor[bf16, "M", "K"], b: Tensor[bf16, "K", "N"], out: Tensor[bf16, "M", "N"]):
    for i, j in grid(M, N):
        s = f32(0)
        for k in range(K):
            s += f32(a[i, k]) * f32(b[k, j])
        out[i, j] = s


@compute(kernel="matmul", hints=CORES)
def product_f32(a: Tensor[f32, "M", "K"], b: Tensor[f32, "K", "N"], out: Tensor[f32, "M", "N"]):
    for i, j in grid(M, N):
        s = f32(0)
        for k in range(K):
            s += a[i, k] * b[k, j]
        out[i, j] = s


@compute(kernel="matmul")
def product_exact(a: Tensor[f32, "M", "K"], b: Tensor[f32, "K", "N"], out: Tensor[f32, "M", "N"]):
    for i, j in grid(M, N):
        s = 0.0
        for k in range(K):
            s += a[i, k] * b[k, j]
        out[i, j] = s


@compute(kernel="conv2d", hints=CORES)
def convolved(
    x: Tensor[bf16, "N", "C", "H", "W"], w: Tensor[bf16, "F", "C", 3, 3],
    out: Tensor[bf16, "N", "F", "H", "W"],
):  # fmt: skip
    for n, f, i, j in grid(N, F, H, W):
        s = f32(0)
        for c, r, q in grid(C, 3, 3):
            if 0 <= i + r - 1 < H and 0 <= j + q - 1 < W:
                s += f32(x[n, c, i + r - 1, j + q - 1]) * f32(w[f, c, r, q])
        out[n, f, i, j] = s


@compute(kernel="flash_attention", fastmath=True)
def attended(
    q: Tensor[bf16, "B", "H", "M", "D"], k: Tensor[bf16, "B", "H", "N", "D"],
    v: Tensor[bf16, "B", "H", "N", "E"], out: Tensor[bf16, "B", "H", "M", "E"], scale: float,
):  # fmt: skip
    for b, h, i in grid(B, H, M):
        most, total = LOW, 0.0
        for e in range(E):
            out[b, h, i, e] = 0.0
        for j in range(N):
            s = f32(0)
            for d in range(D):
                s += f32(q[b, h, i, d]) * f32(k[b, h, j, d])
            new = max(most, s * scale)
            old, p = math.exp(most - new), math.exp(s * scale - new)
            total = total * old + p
            for e in range(E):
                out[b, h, i, e] = out[b, h, i, e] * old + p * v[b, h, j, e]
            most = new
        for e in range(E):
            out[b, h, i, e] /= total


@compute(kernel="scan")
def summed(x: Tensor[i32, "N"], out: Tensor[i32, "N"]):
    total = 0
    for i in range(N):
        total += x[i]
        out[i] = total


@compute(kernel="sort")
def in_order(x: Tensor[i32, "N"], out: Tensor[i32, "N"]):
    for i in range(N):
        r = 0
        for j in range(N):
            if x[j] < x[i] or (x[j] == x[i] and j < i):
                r += 1
        out[r] = x[i]


class Case(NamedTuple):
    """What takes turns.

    Attributes:
        runs: ``loops``, ``tiles`` where the tile library has a function of it, and ``torch``.
        work: of a call, in operations, or in bytes that it reads and writes.
        unit: of the work in a second.
        out: the array of the loops' result.
        wanted: what it should be.
        near: the largest difference beside the largest result.
    """

    runs: dict[str, Run]
    work: float
    unit: str
    out: Any
    wanted: Callable[[], Any]
    near: float


class Arrays:
    """Random arrays: torch's on the GPU, or small ones of NumPy."""

    def __init__(self, small: bool) -> None:
        self.small, self.rng = small, np.random.default_rng(1)
        self.torch: Any = None
        if not small:
            import torch  # pyright: ignore[reportMissingImports]

            self.torch = torch
            torch.manual_seed(1)
            torch.backends.cudnn.benchmark = True

    def normal(self, shape: tuple[int, ...], name: str, last: bool = False) -> Any:
        """Numbers of the normal distribution; ``last``: with the channels last."""
        if self.torch is None:
            kind = getattr(ml_dtypes, name, None) or name
            return self.rng.standard_normal(shape).astype(kind)
        kind = getattr(self.torch, name)
        made = self.torch.randn(shape, device="cuda").to(kind)
        return made.to(memory_format=self.torch.channels_last) if last else made

    def whole(self, count: int) -> Any:
        """Integers of 32 bits."""
        if self.torch is None:
            return self.rng.integers(-99, 99, count).astype(np.int32)
        low, high = -(2**31), 2**31 - 1
        return self.torch.randint(low, high, (count,), device="cuda", dtype=self.torch.int32)

    def like(self, array: Any) -> Any:
        """A new array of the same shape, type and order of axes."""
        return np.empty_like(array) if self.torch is None else self.torch.empty_like(array)


def products(arrays: Arrays, extent: int, name: str, loops: Any) -> Case:
    a, b = (arrays.normal((extent, extent), name) for _ in range(2))
    out, other, torch = arrays.like(a), arrays.like(a), arrays.torch
    runs: dict[str, Run] = {"loops": lambda: loops(a, b, out)}
    precision = "ieee" if loops is product_exact else "tf32"
    runs["tiles"] = lambda: kernels.matmul(a, b, other, precision=precision)
    if torch is not None:
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        runs["torch"] = partial(torch.matmul, a, b, out=arrays.like(a))
    wanted = (lambda: torch.matmul(a, b)) if torch is not None else lambda: wide(a) @ wide(b)
    return Case(runs, 2.0 * extent**3, "TFLOP/s", out, wanted, 1e-2)


def convolutions(arrays: Arrays, shape: tuple[int, int, int, int], last: bool) -> Case:
    images, channels, filters, size = shape
    x = arrays.normal((images, channels, size, size), "bfloat16", last)
    w = arrays.normal((filters, channels, 3, 3), "bfloat16", last)
    out, other = (arrays.normal((images, filters, size, size), "bfloat16", last) for _ in range(2))
    runs: dict[str, Run] = {"loops": lambda: convolved(x, w, out)}
    runs["tiles"] = lambda: kernels.convolution(x, w, None, other, padding=1)
    if arrays.torch is not None:
        of_torch = partial(arrays.torch.nn.functional.conv2d, x, w, padding=1)
        runs["torch"] = of_torch
        wanted: Callable[[], Any] = of_torch
    else:
        wanted = partial(_convolved, x, w)
    work = 2.0 * images * filters * size * size * channels * 9
    return Case(runs, work, "TFLOP/s", out, wanted, 1e-2)


def _convolved(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    around = np.pad(wide(x), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(around, (3, 3), (2, 3))
    return np.einsum("nchwrq,fcrq->nfhw", windows, wide(w))


def attentions(arrays: Arrays, shape: tuple[int, int, int, int]) -> Case:
    batch, heads, places, width = shape
    q, k, v = (arrays.normal(shape, "bfloat16") for _ in range(3))
    out, other, scale = arrays.like(q), arrays.like(q), width**-0.5
    runs: dict[str, Run] = {"loops": lambda: attended(q, k, v, out, scale)}
    runs["tiles"] = lambda: kernels.attention(q, k, v, other, scale=scale)
    wanted: Callable[[], Any] = partial(_attended, q, k, v, scale)
    if arrays.torch is not None:
        wanted = partial(arrays.torch.nn.functional.scaled_dot_product_attention, q, k, v)
        runs["torch"] = wanted
    return Case(runs, 4.0 * batch * heads * places**2 * width, "TFLOP/s", out, wanted, 2e-2)


def _attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float) -> np.ndarray:
    scores = scale * (wide(q) @ np.swapaxes(wide(k), -1, -2))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ wide(v)


def lines(arrays: Arrays, bits: int, what: str) -> Case:
    x = arrays.whole(1 << bits)
    out, torch = arrays.like(x), arrays.torch
    loops: Any = summed if what == "scan" else in_order
    runs: dict[str, Run] = {"loops": lambda: loops(x, out)}
    if torch is None:
        wanted = (lambda: np.cumsum(x, dtype=np.int32)) if what == "scan" else lambda: np.sort(x)
        return Case(runs, 8.0 * x.size, "GB/s", out, wanted, 0)
    theirs = partial(torch.cumsum, x, 0, dtype=torch.int32) if what == "scan" else (
        lambda: torch.sort(x)[0]
    )  # fmt: skip
    runs["torch"] = theirs
    return Case(runs, 8.0 * x.numel(), "GB/s", out, theirs, 0)


def cases(arrays: Arrays) -> dict[str, Callable[[], Case]]:
    """All cases by name."""
    small, found = arrays.small, dict[str, Callable[[], Case]]()
    kinds = (
        ("f16", "float16", product_f16), ("bf16", "bfloat16", product_bf16),
        ("tf32", "float32", product_f32), ("f32", "float32", product_exact),
    )  # fmt: skip
    for extent in (128,) if small else (4096, 8192):
        for short, name, loops in kinds:
            found[f"matmul {short} {extent}"] = partial(products, arrays, extent, name, loops)
    shapes = ((32, 256, 256, 56), (32, 512, 512, 28), (16, 64, 64, 112), (64, 512, 512, 56))
    for shape in ((2, 16, 16, 8),) if small else shapes:
        for last in (False, True):
            name = f"conv 3x3 bf16 {'x'.join(map(str, shape))}{' channels last' if last else ''}"
            found[name] = partial(convolutions, arrays, shape, last)
    for shape in ((1, 2, 128, 64),) if small else ((4, 16, 4096, 128), (8, 32, 2048, 64)):
        found[f"attention bf16 {'x'.join(map(str, shape))}"] = partial(attentions, arrays, shape)
    for bits in (9,) if small else (20, 24, 28):
        for what in ("scan", "sort"):
            found[f"{what} int32 2^{bits}"] = partial(lines, arrays, bits, what)
    return found


def wide(array: Any) -> Any:
    """A result in float64."""
    if hasattr(array, "detach"):
        return array.detach().double()
    return np.asarray(array).astype(np.float64)


def is_right(case: Case) -> bool:
    """Whether the loops' result is near what it should be."""
    case.runs["loops"]()
    got, wanted = wide(case.out), wide(case.wanted())
    return float(abs(got - wanted).max()) <= case.near * max(float(abs(wanted).max()), 1.0)


_BUSY, _WARM, _SHORT = 0.5, 5, 25
"""Seconds of calls in front of a case, and milliseconds of those of a run, before and while it is
measured."""


def milliseconds(run: Run, small: bool) -> float:
    """The median of calls with a cold cache."""
    if small or not importlib.util.find_spec("triton"):
        return float(testing.do_bench(run, return_mode="median"))
    from triton.testing import do_bench  # pyright: ignore[reportMissingImports]

    return float(do_bench(run, warmup=_WARM, rep=_SHORT, return_mode="median"))


def keep_busy(case: Case, small: bool) -> None:
    """Run what takes turns until the GPU's clock is that of a long run."""
    for run in case.runs.values():
        run()
    end = time.perf_counter() + (0 if small else _BUSY)
    while time.perf_counter() < end:
        for run in case.runs.values():
            milliseconds(run, small)


def measure(name: str, case: Case, rounds: int, small: bool) -> None:
    """Print and note the figures of a case."""
    keep_busy(case, small)
    times = [
        {who: milliseconds(run, small) for who, run in case.runs.items()} for _ in range(rounds)
    ]
    scale = 1e9 if case.unit == "TFLOP/s" else 1e6
    parts: list[str] = []
    for who in case.runs:
        rate = case.work / statistics.median(each[who] for each in times) / scale
        results.add(name, who, rate, case.unit)
        parts.append(f"{who} {rate:.0f}")
    for who in case.runs:
        if who != "loops":
            ratio = statistics.median(each["loops"] / each[who] for each in times)
            results.add(name, f"loops / {who}", ratio, "ratio")
            parts.append(f"{ratio:.3f} of {who}'s time")
    print(f"{name}: {case.unit}: {', '.join(parts)}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", metavar="CASE", help="whose names begin so")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="small extents, and no peers")
    results.option(parser)
    given = parser.parse_args()
    wrong: list[str] = []
    with gridlane.device(given.device):
        arrays = Arrays(given.small)
        for name, make in cases(arrays).items():
            if given.only and not any(name.startswith(each) for each in given.only):
                continue
            case = make()
            if is_right(case):
                measure(name, case, given.rounds, given.small)
            else:
                wrong.append(name)
                print(f"{name}: WRONG", flush=True)
    peers = [each for each in ("torch", "triton") if not given.small and _has(each)]
    versions = {each: metadata.version(each) for each in peers}
    if not wrong:
        results.write("compute_nvidia", given.record, given.device, versions)
    return int(bool(wrong))


def _has(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


if __name__ == "__main__":
    sys.exit(main())
