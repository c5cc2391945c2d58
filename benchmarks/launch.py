"""The fixed costs: a cached launch of a small kernel, importing gridlane, and a first compile.

The launch is of a kernel with three arrays and an integer, on the CPU device or --device, until it
returns to Python; a peer's call is timed in the same way, in a process of its own. Then the same
kernel, a tile program, a loop nest and ten launches over gridlane's arrays, NumPy's where the
device takes these in place, and torch's tensors where torch is installed; ten launches, and none,
in ``fused()``. Medians.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import results

SIZE = 32
BATCH = 200  # launches in a row; then the device may catch up, untimed
PEERS = ("warp", "numba")
HERE = Path(__file__).parent

IMPORT = """
import numpy, time
start = time.perf_counter()
{statement}
print((time.perf_counter() - start) * 1e3)
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--processes", type=int, default=7, help="fresh processes for each median")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--calls-only", action="store_true", help="the repeated calls alone")
    parser.add_argument("--peers-only", action="store_true", help="leave gridlane out")
    parser.add_argument("--peer-python", default=sys.executable, metavar="PATH")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the numbers here as well")
    results.option(parser)
    parser.add_argument("--one", help=argparse.SUPPRESS)  # how the peers' processes are started
    args = parser.parse_args()
    if args.one:
        print("us:", microseconds(peer_launch(args.one), lambda: None, args.batches))
        return

    os.environ["GRIDLANE_DEVICE"] = args.device  # before gridlane is imported
    numbers: dict[str, float | None] = {}

    def report(name: str, unit: str, value: float | None) -> None:
        numbers[f"{name}, {unit}"] = value
        if value is not None:
            is_split = name.startswith(("launch", "call", "ten launches"))
            case, _, who = name.rpartition(", ") if is_split else (name, "", "")
            results.add(case, who or "gridlane", value, unit)
        text = "-" if value is None else f"{value:.2f} {unit}"
        print(f"{name:<52}{text:>12}", flush=True)

    if not args.peers_only:
        launch, finish = our_launch()
        if not args.calls_only:
            report("launch, gridlane", "us", microseconds(launch, finish, args.batches))
            waited = microseconds(lambda: (launch(), finish()), finish, args.batches)
            report("launch and synchronize, gridlane", "us", waited)
        for name, call in our_calls().items():
            report(name, "us", microseconds(call, finish, args.batches))
    for peer in () if args.calls_only else PEERS:
        report(f"launch, {peer}", "us", peer_microseconds(peer, args))
    if not (args.peers_only or args.calls_only):
        for statement in ("import gridlane", "from gridlane import cuda"):
            times = [
                fresh(["-c", IMPORT.format(statement=statement)]) for _ in range(args.processes)
            ]
            report(f"{statement}, beyond numpy", "ms", statistics.median(t[0] for t in times))
        times = [fresh([str(HERE / "first_compile.py")]) for _ in range(args.processes)]
        first, second = (statistics.median(column) for column in zip(*times, strict=True))
        report("first launch of a process, 30-line kernel, no cache", "ms", first)
        report("first launch of another 30-line kernel", "ms", second)
        times = [fresh([str(HERE / "first_compile.py"), "--ptx"]) for _ in range(args.processes)]
        first, second = (statistics.median(column) for column in zip(*times, strict=True))
        report("first compile of a process to PTX, of the processor", "ms", first)
        report("first compile of another to PTX, of the processor", "ms", second)
    results.write("launch", args.record, args.device)
    if args.json:
        args.json.write_text(json.dumps(numbers, indent=1) + "\n")


def microseconds(launch: Callable, finish: Callable, batches: int) -> float:
    """The median cost of a call over all batches; `finish` empties the queue in between."""
    for _ in range(10):
        launch()
    finish()
    costs = []
    for _ in range(batches):
        start = time.perf_counter()
        for _ in range(BATCH):
            launch()
        costs.append((time.perf_counter() - start) / BATCH * 1e6)
        finish()
    return statistics.median(costs)


def our_launch() -> tuple[Callable, Callable]:
    import numpy as np

    from gridlane import cuda

    @cuda.jit
    def tiny(a, b, c, n):
        i = cuda.grid(1)
        if i < n:
            c[i] = a[i] + b[i]

    a, b, c = (cuda.to_device(np.ones(SIZE, np.float32)) for _ in range(3))
    configured = tiny[1, SIZE]
    return lambda: configured(a, b, c, SIZE), cuda.synchronize


def our_calls() -> dict[str, Callable[[], object]]:
    """Repeated calls over arrays of each kind, by name."""
    import numpy as np

    from gridlane import cuda, tiles
    from gridlane.compute import compute, fused, grid
    from gridlane.core.generated_text import function_of
    from gridlane.launch import current

    tl = tiles.language

    @cuda.jit
    def tiny(a, b, c, n):
        i = cuda.grid(1)
        if i < n:
            c[i] = a[i] + b[i]

    text = f"""
def program(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(c + i, tl.load(a + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)

def nest(a: Tensor[f32, {SIZE}], b: Tensor[f32, {SIZE}], c: Tensor[f32, {SIZE}], n: int):
    for i in grid({SIZE}):
        c[i] = a[i] + b[i] + n
"""
    names = {"tl": tl, "grid": grid, **vars(importlib.import_module("gridlane.compute"))}
    program = tiles.jit(function_of(text, "program", names))[(1,)]
    nest = compute(function_of(text, "nest", names))
    configured = tiny[1, SIZE]
    host = [np.ones(SIZE, np.float32) for _ in range(3)]
    arrays: dict[str, list[Any]] = {"gridlane's arrays": [cuda.to_device(x) for x in host]}
    if current.device().host_visible:
        arrays["NumPy's arrays"] = host
    if importlib.util.find_spec("torch") is not None:
        import torch

        where = "cuda" if current.kind() == "cuda" else "cpu"
        if (where == "cpu" and current.device().host_visible) or torch.cuda.is_available():
            arrays["torch's tensors"] = [torch.ones(SIZE, device=where) for _ in range(3)]
    calls: dict[str, Callable[[], object]] = {}
    for of, given in arrays.items():
        calls[f"call of a kernel, {of}"] = partial(configured, *given, SIZE)
        calls[f"call of a tile program, {of}"] = partial(program, *given, SIZE, BLOCK=SIZE)
        calls[f"call of a loop nest, {of}"] = partial(nest, *given, 3)

    def ten() -> None:
        for _ in range(10):
            configured(*arrays["gridlane's arrays"], SIZE)

    def ten_in_a_block() -> None:
        with fused():
            ten()

    def none_in_a_block() -> None:
        with fused():
            pass

    calls["ten launches, gridlane's arrays"] = ten
    calls["ten launches in fused(), gridlane's arrays"] = ten_in_a_block
    return {**calls, "a block of fused() without launches": none_in_a_block}


def peer_launch(peer: str) -> Callable:
    return importlib.import_module(f"peers_{peer}").launcher(SIZE)


def peer_microseconds(peer: str, args: argparse.Namespace) -> float | None:
    """None where the peer is not installed."""
    command = [args.peer_python, __file__, "--one", peer, "--batches", str(args.batches)]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("us:")]
    return float(lines[-1].removeprefix("us:")) if lines else None


def fresh(arguments: list[str]) -> list[float]:
    """Run Python in a new process without the compile cache; the numbers that it prints."""
    environment = {**os.environ, "GRIDLANE_CACHE": "0"}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return [float(word) for word in done.stdout.split()]


if __name__ == "__main__":
    main()
