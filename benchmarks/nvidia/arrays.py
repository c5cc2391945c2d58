"""Arrays on an NVIDIA GPU beside CuPy, torch and torch.compile, in one run.

    python -m benchmarks.nvidia.arrays [--only CASE ...] [--record]

A time is the median over runs of one call, of calls that follow each other and one wait at the end.
A peer that is not installed, or that lacks a case, is left out by name.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks import results

os.environ.setdefault("GRIDLANE_DEVICE", "cuda")
SIDE = 8192
Case = Callable[[Any, Any, Any], Any]
"""Computes with a namespace (``xp``, ``cupy``, ``torch``) on a matrix x, and one y or a vector."""


def _sigmoid(xp: Any, x: Any) -> Any:
    own = getattr(xp, "sigmoid", None)
    return own(x) if own is not None else 1 / (1 + xp.exp(-x))


def chain(xp: Any, x: Any, y: Any) -> Any:
    """An elementwise chain of two operands."""
    return xp.tanh(x * 1.702 + y) * _sigmoid(xp, y) + xp.sqrt(abs(x) + 1)


def softmax(xp: Any, x: Any, y: Any) -> Any:
    """The softmax of each row, written out."""
    largest = xp.amax(x, 1, True) if xp.__name__ == "torch" else xp.max(x, axis=1, keepdims=True)
    power = xp.exp(x - largest)
    total = power.sum(1, True) if xp.__name__ == "torch" else xp.sum(power, axis=1, keepdims=True)
    return power / total


def layer_norm(xp: Any, x: Any, y: Any) -> Any:
    """Each row less its mean, by its standard deviation."""
    middle = xp.mean(x, 1, keepdims=True)
    apart = x - middle
    return apart / xp.sqrt(xp.mean(apart * apart, 1, keepdims=True) + 1e-5)


def gelu_sum(xp: Any, x: Any, y: Any) -> Any:
    """The sum of gelu, by tanh."""
    return xp.sum(0.5 * x * (1 + xp.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))))


def _sorted(xp: Any, x: Any, y: Any) -> Any:
    found = xp.sort(y)
    return found[0] if isinstance(found, tuple) else found  # torch's has the places too


def _histogram(xp: Any, x: Any, y: Any) -> Any:
    if xp.__name__ == "torch":
        return xp.histc(x, 256, -5.0, 5.0)
    return xp.histogram(x, 256, (-5.0, 5.0))[0]


def _unique(xp: Any, x: Any, y: Any) -> Any:
    return xp.unique(y)


def _top(xp: Any, x: Any, y: Any) -> Any:
    if xp.__name__ == "torch":
        return xp.topk(x, 100)[0]
    if xp.__name__ == "cupy":
        return xp.sort(xp.partition(x, -100)[-100:])
    return xp.top_k(x, 100).values


MATRICES: dict[str, Case] = {
    "copy": lambda xp, x, y: x + 0,
    "chain": chain,
    "gelu_sum": gelu_sum,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "sum": lambda xp, x, y: xp.sum(x),
    "sum of rows": lambda xp, x, y: xp.sum(x, 1),
    "sum of columns": lambda xp, x, y: xp.sum(x, 0),
    "argmax": lambda xp, x, y: xp.argmax(x),
}
VECTORS: dict[str, Case] = {
    "sum of 2^28": lambda xp, x, y: xp.sum(x),
    "cumsum of 2^28": lambda xp, x, y: xp.cumsum(x, 0),
    "cumsum of 2^28 int32": lambda xp, x, y: xp.cumsum(y, 0, dtype=xp.int32),
    "sort of 2^28 int32": _sorted,
    "argsort of 2^28 int32": lambda xp, x, y: xp.argsort(y),
    "histogram of 2^28": _histogram,
    "unique of 2^28 int32": _unique,
    "top 100 of 2^28": _top,
}
CASES = MATRICES | VECTORS
"""Of two float32 matrices, and of a float32 and an int32 vector."""


def timed(call: Callable[[], Any], wait: Callable[[], Any], calls: int = 20) -> float:
    """Milliseconds of a call."""
    for _ in range(3):
        result = call()
    wait()
    times: list[float] = []
    for _ in range(7):
        begin = time.perf_counter()
        for _ in range(calls):
            result = call()
        wait()
        times.append((time.perf_counter() - begin) / calls * 1e3)
    del result
    return statistics.median(times)


def ours(x: np.ndarray, y: np.ndarray) -> tuple[Callable[[Case], Callable[[], Any]], Any]:
    """gridlane's calls, computed at once, and the wait for them."""
    from gridlane import xp
    from gridlane.launch.devices import get_device

    device = get_device("cuda")
    a, b = xp.asarray(x, device="cuda"), xp.asarray(y, device="cuda")
    return lambda case: lambda: case(xp, a, b).leaf(), device.synchronize


def cupys(x: np.ndarray, y: np.ndarray) -> tuple[Callable[[Case], Callable[[], Any]], Any]:
    """CuPy's calls."""
    import cupy

    a, b = cupy.asarray(x), cupy.asarray(y)
    return lambda case: lambda: case(cupy, a, b), cupy.cuda.Device().synchronize


def torchs(x: np.ndarray, y: np.ndarray) -> tuple[Callable[[Case], Callable[[], Any]], Any]:
    """torch's calls."""
    import torch

    a, b = torch.from_numpy(x).cuda(), torch.from_numpy(y).cuda()
    return lambda case: lambda: case(torch, a, b), torch.cuda.synchronize


def compiled(x: np.ndarray, y: np.ndarray) -> tuple[Callable[[Case], Callable[[], Any]], Any]:
    """The calls of torch.compile."""
    import torch

    a, b = torch.from_numpy(x).cuda(), torch.from_numpy(y).cuda()

    def prepared(case: Case) -> Callable[[], Any]:
        torch.compiler.reset()  # after eight functions of one line it compiles no more
        function = torch.compile(lambda p, q: case(torch, p, q))
        return lambda: function(a, b)

    return prepared, torch.cuda.synchronize


PEERS = {"gridlane": ours, "cupy": cupys, "torch": torchs, "torch.compile": compiled}


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[*CASES], choices=CASES, metavar="CASE")
    results.option(parser)
    chosen = parser.parse_args()
    generator = np.random.default_rng(1)
    print(f"{'case':20}" + "".join(f"{name:>15}" for name in PEERS) + "   ms")
    for cases in MATRICES, VECTORS:
        measured = [case for case in chosen.only if case in cases]
        if not measured:
            continue
        if cases is MATRICES:
            x, y = (generator.standard_normal((SIDE, SIDE), np.float32) for _ in range(2))
        else:
            x = generator.standard_normal(1 << 28, np.float32)
            y = generator.integers(-(1 << 31), 1 << 31, 1 << 28, np.int32)
        measure(measured, x, y)
    results.write("nvidia_arrays", chosen.record, "cuda", versions())


def versions() -> dict[str, str]:
    """Those of the peers that are installed."""
    from importlib.metadata import PackageNotFoundError, version

    found: dict[str, str] = {}
    for name in ("cupy-cuda13x", "cupy-cuda12x", "cupy", "torch", "triton"):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def measure(cases: list[str], x: np.ndarray, y: np.ndarray) -> None:
    """Print a line for each case."""
    sides: dict[str, Any] = {}
    for name, peer in PEERS.items():
        try:
            sides[name] = peer(x, y)
        except ImportError as error:
            print(f"{name} is not installed: {error}")
    for case in cases:
        line = f"{case:20}"
        for name, (prepared, wait) in sides.items():
            try:
                took = timed(prepared(CASES[case]), wait, 3 if "sort" in case else 20)
            except Exception as error:
                line += f"{type(error).__name__[:14]:>15}"
                continue
            results.add(case, name, took, "ms")
            line += f"{took:15.4f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
