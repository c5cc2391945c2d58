"""Probe a device on this machine step by step: ``gridlane doctor`` starts one process for each.

Its ``main``, with a device in ``sys.argv``, prints a line of JSON after each step, and ends at the
first that fails. It is a process of its own, because a broken device may crash its process.
"""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.backends import backend
from gridlane.backends.record import Subnormals
from gridlane.cli.wording import described
from gridlane.core.argtypes import float32, int32
from gridlane.core.options import Target

STEPS = ("compiled", "available", "initialised", "executed", "verified")
THREADS, SIZE = 64, 100
BLOCK = (THREADS, 1, 1)
LAUNCHES = 2
"""The first goes through the compiler; on a GPU the next one goes through the C extension."""


@cuda.jit
def sample(values, out, total):
    """A little of each: shared memory, a barrier, divergence, math, an atomic, a partial block."""
    tile = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    x = np.float32(0)
    if i < values.size:
        x = values[i]
    tile[t] = x
    cuda.syncthreads()
    y = tile[THREADS - 1 - t]
    n = 0
    while n < t % 5:
        y += tile[n]
        n += 1
    if i < values.size:
        out[i] = y + math.sqrt(x)
        cuda.atomic.add(total, 0, n)


@cuda.jit
def halve(values, out):
    """A result that is subnormal."""
    out[0] = values[0] * np.float32(0.5)


def inputs() -> np.ndarray:
    """Squares of integers: every intermediate result is exact, in any order."""
    return (np.arange(SIZE, dtype=np.float32) % 30) ** 2


def expected() -> tuple[np.ndarray, int]:
    """The result of ``LAUNCHES`` of ``sample``, by numpy."""
    padded = np.zeros((-(-SIZE // THREADS), THREADS), np.float32)
    padded.flat[:SIZE] = inputs()
    steps = np.arange(THREADS) % 5
    before = np.concatenate([np.zeros((len(padded), 1)), padded.cumsum(axis=1)], axis=1)
    out = padded[:, ::-1] + before[:, steps] + np.sqrt(padded)
    total = int(np.resize(steps, padded.shape).flat[:SIZE].sum())
    return out.astype(np.float32).ravel()[:SIZE], LAUNCHES * total


class Probe:
    """The steps, in order; each returns its message, or raises."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.kind = device.partition(":")[0]
        self.got: tuple[np.ndarray, int] | None = None

    def compiled(self) -> str:
        """Compile the kernel to the device's code."""
        from gridlane import compiler

        types = (float32[::1], float32[::1], int32[::1])
        module = compiler.translate(sample.py_func, types, sample.options)
        block = BLOCK if backend(self.kind).shaped else None
        artifact = compiler.generate(module, Target(self.kind, block=block))
        return f"{len(artifact.code)} bytes of {artifact.format}"

    def available(self) -> str:
        """Load the driver with its libraries."""
        from gridlane.launch.devices import device_count, get_device

        count = device_count(self.kind)
        if not count:
            get_device(self.device)  # says why
        return f"{count} devices" if count > 1 else ""

    def initialised(self) -> str:
        """Open the device and allocate memory."""
        from gridlane.launch.devices import get_device

        device = get_device(self.device)
        device.allocate(256)
        return described(device.describe())

    def executed(self) -> str:
        """Launch the kernel and wait for its end."""
        out = cuda.device_array(SIZE, np.float32)
        total = cuda.to_device(np.zeros(1, np.int32))
        values, launch = cuda.to_device(inputs()), sample[-(-SIZE // THREADS), THREADS]
        start = time.perf_counter()
        launch(values, out, total)
        cuda.synchronize()
        took = time.perf_counter() - start
        for _ in range(LAUNCHES - 1):
            launch(values, out, total)
        self.got = out.copy_to_host(), int(total.copy_to_host()[0])
        return f"{took * 1e3:.0f} ms with compilation"

    def verified(self) -> str:
        """Compare the result with numpy's."""
        assert self.got is not None
        (out, total), (want, want_total) = self.got, expected()
        wrong = np.flatnonzero(out != want)
        if len(wrong):
            n = int(wrong[0])
            raise ArithmeticError(f"{len(wrong)} wrong elements; [{n}] is {out[n]}, not {want[n]}")
        if total != want_total:
            raise ArithmeticError(f"the atomic sum is {total}, not {want_total}")
        kept = backend(self.kind).subnormals is Subnormals.KEPT
        flushes = not kept and takes_subnormals_as_0()
        but = ", but subnormal float32 numbers are taken as 0" if flushes else ""
        return f"{SIZE} elements equal numpy's{but}"


def takes_subnormals_as_0() -> bool:
    """Whether the device flushes subnormals, as the languages of shaders allow."""
    least = np.full(1, np.finfo(np.float32).tiny)
    values, out = cuda.to_device(least), cuda.to_device(least)
    halve[1, 1](values, out)
    return not out.copy_to_host()[0]


def attempt(step: Callable[[], str]) -> dict[str, Any]:
    """Run a step; an exception of it is its result."""
    try:
        return {"ok": True, "detail": step()}
    except Exception as error:
        return {"ok": False, "detail": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Run the steps, and report after each."""
    probe = Probe(sys.argv[1])
    for name in STEPS:
        result = attempt(getattr(probe, name))
        print(json.dumps({"step": name, **result}), flush=True)
        if not result["ok"]:
            return


if __name__ == "__main__":
    main()
