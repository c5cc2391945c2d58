"""Reductions, scans, sorts and fused chains of gridlane.xp beside NumPy, and others that are here.

    python benchmarks/arrays.py [--only CASE] [--rounds 11] [--least] [--small] [--record]

All take turns in this process: a round is a run of each, and the ratios are medians over rounds of
gridlane's time by NumPy's, or the peer's, in the same round. With ``--least`` times are the least
of the rounds, and ratios are of these, as on a machine with other work. Each result is compared
with NumPy's. numexpr, numba (parallel) and torch take part where they are installed. Arrays are in
memory; a run ends when the result is.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import results
from gridlane import xp
from timing import machine

Run = Callable[[], Any]
PEERS = ("numpy", "numexpr", "numba", "torch")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", metavar="CASE")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--least", action="store_true", help="the least of the rounds, no median")
    parser.add_argument("--small", action="store_true", help="a hundredth of the elements")
    results.option(parser)
    args = parser.parse_args()
    installed = [each for each in PEERS if importlib.util.find_spec(each)]
    table = Table(title=f"milliseconds, and ratios of pairs; {machine()}")
    for column in ("case", "gridlane", *installed, *[f"/ {each}" for each in installed]):
        table.add_column(column, justify="left" if column == "case" else "right")
    wrong = []
    for name, make in cases(10**5 if args.small else 10**7).items():
        if args.only and name not in args.only:
            continue
        runs = {who: run for who, run in make().items() if who == "gridlane" or who in installed}
        wrong += [f"{name} by {who}" for who in disagreeing(runs)]
        rows = measured(runs, args.rounds)
        times = {
            who: min(each) if args.least else statistics.median(each) for who, each in rows.items()
        }
        for who in runs:
            results.add(name, who, times[who], "ms")
        others = [who for who in runs if who != "gridlane"]
        if args.least:
            ratios = {who: times["gridlane"] / times[who] for who in others}
        else:
            ratios = {who: ratio(rows["gridlane"], rows[who]) for who in others}
        for who, value in ratios.items():
            results.add(name, f"gridlane/{who}", value, "ratio")
        shown = [times.get(who) for who in ("gridlane", *installed)]
        shown += [ratios.get(who) for who in installed]
        cells = ["-" if value is None else f"{value:.2f}" for value in shown]
        table.add_row(name, *cells)
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    results.write("arrays", args.record)
    if wrong:
        sys.exit("wrong results: " + ", ".join(wrong))


def ratio(ours: list[float], theirs: list[float]) -> float:
    """The median of the ratios of rounds."""
    return statistics.median([a / b for a, b in zip(ours, theirs, strict=True)])


def measured(runs: dict[str, Run], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each in each round."""
    times: dict[str, list[float]] = {who: [] for who in runs}
    for _ in range(rounds):
        for who, run in runs.items():
            start = time.perf_counter()
            run()
            times[who].append((time.perf_counter() - start) * 1e3)
    return times


def disagreeing(runs: dict[str, Run]) -> list[str]:
    """Whose results are not NumPy's. The first runs compile."""
    expected = np.asarray(runs["numpy"](), np.float64)
    scale = np.max(np.abs(expected)) or 1
    return [
        who
        for who, run in runs.items()
        if not np.allclose(np.asarray(run(), np.float64) / scale, expected / scale, atol=1e-4)
    ]


def cases(count: int) -> dict[str, Callable[[], dict[str, Run]]]:
    """Each case: the function that makes the runs of gridlane and of its peers."""
    side = int(count**0.5)
    rng = np.random.default_rng(1)
    flat = rng.random(count, dtype=np.float32)
    square, integers = flat[: side * side].reshape(side, side), (flat * 1e6).astype(np.int32)
    few = count // 10

    def of(x: np.ndarray, ours: Callable[[Any], Any], numpys: Callable[[Any], Any]) -> Any:
        def make() -> dict[str, Run]:
            array = xp.asarray(x)

            def run() -> Any:
                result = ours(array)
                result.leaf()
                return result

            runs: dict[str, Run] = {"gridlane": run, "numpy": lambda: numpys(x)}
            return runs | torchs(x, ours)

        return make

    return {
        "sum": of(flat, xp.sum, np.sum),
        "sum, int32": of(integers, xp.sum, np.sum),
        "sum along rows": of(square, lambda x: xp.sum(x, axis=1), lambda x: x.sum(1)),
        "sum along columns": of(square, lambda x: xp.sum(x, axis=0), lambda x: x.sum(0)),
        "max": of(flat, xp.max, np.max),
        "argmax": of(flat, xp.argmax, np.argmax),
        "mean": of(flat, xp.mean, np.mean),
        "var": of(flat, xp.var, np.var),
        "cumulative sum": of(flat, xp.cumsum, np.cumsum),
        "cumulative sum, int32": of(
            integers,
            lambda x: xp.cumsum(x, dtype=np.int32),
            lambda x: np.cumsum(x, dtype=np.int32),
        ),
        "softmax along rows": of(square, xp.softmax, softmax),
        "sort": of(flat[:few], xp.sort, np.sort),
        "stable argsort": of(flat[:few], xp.argsort, lambda x: np.argsort(x, kind="stable")),
        "sum(x * y + 1)": lambda: sum_of_products(flat, flat[::-1].copy()),
        "chain": lambda: chain(flat, flat[::-1].copy()),
    }


def softmax(x: np.ndarray) -> np.ndarray:
    """NumPy's way of it."""
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def torchs(x: np.ndarray, ours: Callable[[Any], Any]) -> dict[str, Run]:
    """torch's function of the same name, where it has one."""
    name = getattr(ours, "__name__", "")
    if name not in ("sum", "argmax", "mean") or not importlib.util.find_spec("torch"):
        return {}
    import torch

    tensor = torch.from_numpy(x)
    return {"torch": lambda: getattr(torch, name)(tensor)}


def sum_of_products(x: np.ndarray, y: np.ndarray) -> dict[str, Run]:
    """A chain with a reduction at its end."""
    a, b = xp.asarray(x), xp.asarray(y)

    def ours() -> Any:
        result = xp.sum(a * b + 1)
        result.leaf()
        return result

    runs: dict[str, Run] = {"gridlane": ours, "numpy": lambda: np.sum(x * y + 1)}
    if importlib.util.find_spec("numexpr"):
        import numexpr

        runs["numexpr"] = lambda: numexpr.evaluate("sum(x * y + 1)", {"x": x, "y": y})
    if importlib.util.find_spec("numba"):
        total = numbas_sum()
        runs["numba"] = lambda: total(x, y)
    return runs


def numbas_sum() -> Callable[..., Any]:
    """The sum as a parallel loop."""
    import numba

    @numba.njit(parallel=True, fastmath=True)
    def total(x: Any, y: Any) -> Any:
        result = np.float32(0)
        for i in numba.prange(x.size):
            result += x[i] * y[i] + np.float32(1)
        return result

    return total


def chain(x: np.ndarray, y: np.ndarray) -> dict[str, Run]:
    """An elementwise expression of eight operations."""
    a, b = xp.asarray(x), xp.asarray(y)

    def ours() -> Any:
        sigmoid = 1 / (1 + xp.exp(-b))
        result = xp.tanh(a * 1.702 + b) * sigmoid + xp.sqrt(xp.abs(a) + 1)
        result.leaf()
        return result

    def numpys() -> Any:
        return np.tanh(x * 1.702 + y) * (1 / (1 + np.exp(-y))) + np.sqrt(np.abs(x) + 1)

    runs: dict[str, Run] = {"gridlane": ours, "numpy": numpys}
    if importlib.util.find_spec("numexpr"):
        import numexpr

        text = "tanh(x * 1.702 + y) * (1 / (1 + exp(-y))) + sqrt(abs(x) + 1)"
        runs["numexpr"] = lambda: numexpr.evaluate(text, {"x": x, "y": y})
    if importlib.util.find_spec("numba"):
        import numba

        f32 = np.float32

        def whole(x: Any, y: Any) -> Any:
            sigmoid = f32(1) / (f32(1) + np.exp(-y))
            return np.tanh(x * f32(1.702) + y) * sigmoid + np.sqrt(np.abs(x) + f32(1))

        compiled = numba.njit(parallel=True)(whole)
        runs["numba"] = lambda: compiled(x, y)
    return runs


if __name__ == "__main__":
    main()
