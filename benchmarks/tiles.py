"""Tile programs on this machine's processor beside NumPy and torch.

    python benchmarks/tiles.py [--only CASE] [--rounds 7] [--small] [--record]

All take turns in this process: a round is the median of five runs of each, and the ratios are
medians over rounds of gridlane's time by the peer's in the same round. In front of these is a
pause, in which the threads of others fall asleep, and a run that wakes its own. Each result is
compared with NumPy's. torch takes part where it is installed. The first runs compile and are not
counted. ``launches`` is 200 launches with three arrays and a number, beside as many of
``cuda.jit``; the cases behind it have no argument, and 19 (five arrays, nine numbers and five
constants) with arrays of the device, of NumPy and of torch, and with a function as grid. Products
of 16 bits and of bytes are those of the library, beside torch's; bytes are ``torch._int_mm``'s.
``loops`` are those of a loop nest, ``compute(kernel="matmul", fastmath=True)``.
"""

# ruff: noqa: F821, UP037  # extents are names that annotations define

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
from collections.abc import Callable
from functools import partial
from importlib import metadata
from typing import Any

import ml_dtypes
import numpy as np
from rich.console import Console
from rich.table import Table

import results
from arrays import Run, disagreeing, ratio
from gridlane import cuda, tiles
from gridlane.compute import Tensor, compute, f32, grid
from gridlane.tiles import kernels
from tile_programs import add, attention, layer_norm, product, softmax
from timing import machine, milliseconds

tl = tiles.language
PEERS = ("numpy", "torch", "cuda.jit")
LAUNCHES, RUNS = 200, 5


@tiles.jit
def nothing():
    pass


@tiles.jit
def nineteen(
    a, b, c, d, e, f, g, h, i, j, k, m, n, o,
    P: tl.constexpr, Q: tl.constexpr, R: tl.constexpr, S: tl.constexpr, T: tl.constexpr,
):  # fmt: skip
    pass


@cuda.jit
def nothing_by_threads():
    pass


@cuda.jit
def nineteen_by_threads(a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t):
    pass


@cuda.jit
def add_by_threads(x, y, out, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = x[i] + y[i]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", metavar="CASE")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--small", action="store_true", help="an eighth of each extent")
    results.option(parser)
    args = parser.parse_args()
    table = Table(title=f"milliseconds, and ratios of pairs; {machine()}")
    for column in ("case", "gridlane", *PEERS, *[f"/ {each}" for each in PEERS]):
        table.add_column(column, justify="left" if column == "case" else "right")
    wrong: list[str] = []
    for name, make in cases(8 if args.small else 1).items():
        if args.only and name not in args.only:
            continue
        runs = make()
        if "numpy" in runs:
            wrong += [f"{name} by {who}" for who in disagreeing(runs)]
        rows: dict[str, list[float]] = {who: [] for who in runs}
        for _ in range(args.rounds):
            for who, run in runs.items():
                rows[who].append(statistics.median(milliseconds(run, RUNS)))
        times = {who: statistics.median(each) for who, each in rows.items()}
        others = [who for who in runs if who != "gridlane"]
        ratios = {who: ratio(rows["gridlane"], rows[who]) for who in others}
        for who, value in times.items():
            results.add(name, who, value, "ms")
        for who, value in ratios.items():
            results.add(name, f"gridlane/{who}", value, "ratio")
        shown = [times.get(who) for who in ("gridlane", *PEERS)] + [ratios.get(p) for p in PEERS]
        table.add_row(name, *["-" if value is None else f"{value:.3f}" for value in shown])
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    peers = {"torch": metadata.version("torch")} if importlib.util.find_spec("torch") else {}
    results.write("tiles", args.record, versions=peers)
    if wrong:
        sys.exit("wrong results: " + ", ".join(wrong))


def cases(part: int) -> dict[str, Callable[[], dict[str, Run]]]:
    """Each case: the function that makes the runs of gridlane and of its peers."""
    side, rng = 1024 // part, np.random.default_rng(1)
    made: dict[str, Callable[[], dict[str, Run]]] = {
        "add": lambda: adds(rng, (1 << 22) // part),
        "softmax": lambda: softmaxes(rng, 4 * side, side),
        "layer norm": lambda: layer_norms(rng, 4 * side, side),
        "attention": lambda: attentions(rng, 8, side, 64),
        "launches": launches,
        **{f"launches, {name}": partial(launches_of, name) for name in LAUNCHED},
    }
    for extent in (side, 2 * side, 4 * side):
        made[f"product {extent}"] = partial(products, rng, extent, by_tiles)
        made[f"product {extent}, loops"] = partial(products, rng, extent, product_of_loops)
    for dtype in ("bfloat16", "float16", "int8"):
        for extent in (side, 2 * side):
            made[f"product {extent}, {dtype}"] = partial(narrow_products, rng, extent, dtype)
    return made


def with_torch(runs: dict[str, Run], make: Callable[[Any], Run]) -> dict[str, Run]:
    """The runs with torch's, where it is installed."""
    if importlib.util.find_spec("torch"):
        import torch  # pyright: ignore[reportMissingImports]

        run = make(torch)
        runs["torch"] = lambda: run().numpy()
    return runs


def adds(rng: np.random.Generator, count: int) -> dict[str, Run]:
    x, out, other = rng.random(count, dtype=np.float32), *np.zeros((2, count), np.float32)

    def run() -> np.ndarray:
        add[(tiles.cdiv(count, 1024),)](x, x, out, count, BLOCK=1024)
        return out

    runs: dict[str, Run] = {"gridlane": run, "numpy": lambda: np.add(x, x, out=other)}
    return with_torch(runs, lambda torch: partial(torch.add, *[torch.from_numpy(x)] * 2))


def softmaxes(rng: np.random.Generator, rows: int, columns: int) -> dict[str, Run]:
    x, out = rng.random((rows, columns), dtype=np.float32), np.zeros((rows, columns), np.float32)

    def run() -> np.ndarray:
        softmax[(rows,)](x, out, columns, BLOCK=tiles.next_power_of_2(columns))
        return out

    def by_numpy() -> np.ndarray:
        powers = x - x.max(1, keepdims=True)
        np.exp(powers, out=powers)
        powers /= powers.sum(1, keepdims=True)
        return powers

    runs: dict[str, Run] = {"gridlane": run, "numpy": by_numpy}
    return with_torch(runs, lambda torch: partial(torch.softmax, torch.from_numpy(x), 1))


def layer_norms(rng: np.random.Generator, rows: int, columns: int) -> dict[str, Run]:
    x, out = rng.random((rows, columns), dtype=np.float32), np.zeros((rows, columns), np.float32)
    scale, shift = rng.random((2, columns), dtype=np.float32)

    def run() -> np.ndarray:
        block = tiles.next_power_of_2(columns)
        layer_norm[(rows,)](x, scale, shift, out, columns, BLOCK=block)
        return out

    def by_numpy() -> np.ndarray:
        centred = x - x.mean(1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(1, keepdims=True) + np.float32(1e-5))
        return centred / spread * scale + shift

    def by_torch(torch: Any) -> Run:
        t, w, b = map(torch.from_numpy, (x, scale, shift))
        return lambda: torch.nn.functional.layer_norm(t, (columns,), w, b)

    return with_torch({"gridlane": run, "numpy": by_numpy}, by_torch)


def by_tiles(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """The product by the tile program of the tests."""
    side = len(out)
    block = 512 if side > 2048 else 256, 256, 128
    grid = tiles.cdiv(side, block[0]), tiles.cdiv(side, block[1])
    product[grid](a, b, out, side, side, side, *block)


@compute(kernel="matmul", fastmath=True)
def product_of_loops(
    a: Tensor[f32, "M", "K"], b: Tensor[f32, "K", "N"], out: Tensor[f32, "M", "N"]
):
    for i, j in grid(M, N):
        s = 0.0
        for k in range(K):
            s += a[i, k] * b[k, j]
        out[i, j] = s


def products(
    rng: np.random.Generator, side: int, multiply: Callable[..., object]
) -> dict[str, Run]:
    a, b = rng.random((2, side, side), dtype=np.float32)
    c, other = np.zeros((2, side, side), np.float32)

    def run() -> np.ndarray:
        multiply(a, b, c)
        return c

    def by_torch(torch: Any) -> Run:
        s, t = torch.from_numpy(a), torch.from_numpy(b)
        return lambda: s @ t

    return with_torch({"gridlane": run, "numpy": lambda: np.matmul(a, b, out=other)}, by_torch)


def narrow_products(rng: np.random.Generator, side: int, dtype: str) -> dict[str, Run]:
    """Products in float32 or int32, of small integers or of numbers from 0 to 1."""
    numbers = (
        rng.integers(-9, 9, (2, side, side)) if dtype == "int8" else rng.random((2, side, side))
    )
    a, b = numbers.astype(getattr(ml_dtypes, dtype, dtype))
    expected = a.astype(np.float32) @ b.astype(np.float32)
    runs: dict[str, Run] = {"gridlane": lambda: kernels.matmul(a, b)}
    distance = np.abs(runs["gridlane"]().astype(np.float32) - expected).max()
    if distance > np.abs(expected).max() * 2.0**-8:  # half a unit in the last place of bfloat16
        sys.exit(f"wrong product of {dtype}: {distance}")
    if importlib.util.find_spec("torch"):
        import torch  # pyright: ignore[reportMissingImports]

        of_torch = getattr(torch, dtype)
        s, t = (torch.from_numpy(each.astype(np.float32)).to(of_torch) for each in (a, b))
        multiply = torch._int_mm if dtype == "int8" else torch.matmul  # pyright: ignore[reportPrivateUsage]
        runs["torch"] = lambda: multiply(s, t)
    return runs


def attentions(rng: np.random.Generator, heads: int, length: int, width: int) -> dict[str, Run]:
    q, k, v = rng.standard_normal((3, heads, length, width)).astype(np.float32)
    out, scale = np.zeros_like(q), width**-0.5

    def run() -> np.ndarray:
        grid = length // 64, heads
        attention[grid](q, k, v, out, length, scale, WIDTH=width, M=64, N=64)
        return out

    def by_numpy() -> np.ndarray:
        scores = q @ k.transpose(0, 2, 1) * np.float32(scale)
        powers = np.exp(scores - scores.max(2, keepdims=True))
        return powers / powers.sum(2, keepdims=True) @ v

    def by_torch(torch: Any) -> Run:
        parts = [torch.from_numpy(each) for each in (q, k, v)]
        return lambda: torch.nn.functional.scaled_dot_product_attention(*parts)

    return with_torch({"gridlane": run, "numpy": by_numpy}, by_torch)


def launches() -> dict[str, Run]:
    """Launches with arrays on the device, many in a run."""
    x, out = cuda.to_device(np.ones(4, np.float32)), cuda.device_array(4, np.float32)

    def run() -> None:
        for _ in range(LAUNCHES):
            add[(1,)](x, x, out, 4, BLOCK=4)

    def by_threads() -> None:
        for _ in range(LAUNCHES):
            add_by_threads[1, 32](x, x, out, 4)

    return {"gridlane": run, "cuda.jit": by_threads}


LAUNCHED = ("no argument", "19", "19 of NumPy", "19 of torch", "19, a function as grid")
NUMBERS = (*range(2, 11),)


def launches_of(name: str) -> dict[str, Run]:
    """Launches of programs that do nothing."""
    arrays: list[Any] = [np.ones(64, np.float32) for _ in range(5)]
    if name == "19 of torch":
        if not importlib.util.find_spec("torch"):
            return {"gridlane": lambda: None}
        import torch  # pyright: ignore[reportMissingImports]

        arrays = [torch.ones(64) for _ in range(5)]
    elif name != "19 of NumPy":
        arrays = [cuda.to_device(each) for each in arrays]
    own = [cuda.to_device(np.ones(64, np.float32)) for _ in range(5)]
    compared = arrays if name == "19 of NumPy" else own

    def run() -> None:
        if name == "no argument":
            for _ in range(LAUNCHES):
                nothing[(1,)]()
        elif name == "19, a function as grid":
            for _ in range(LAUNCHES):
                nineteen[lambda given: (given["P"],)](*arrays, *NUMBERS, P=1, Q=2, R=3, S=4, T=5)
        else:
            for _ in range(LAUNCHES):
                nineteen[(1,)](*arrays, *NUMBERS, P=1, Q=2, R=3, S=4, T=5)

    def by_threads() -> None:
        for _ in range(LAUNCHES):
            if name == "no argument":
                nothing_by_threads[1, 1]()
            else:
                nineteen_by_threads[1, 1](*compared, *NUMBERS, 1, 2, 3, 4, 5)

    return {"gridlane": run, "cuda.jit": by_threads}


if __name__ == "__main__":
    main()
