"""What each kernel is run on: arrays, launch, and how results compare."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from benchmarks.nvidia import ours

from gridlane.cli.gpu_bench.cases import CASES, Case


def cases(scale: int = 1) -> dict[str, Callable[[], Case]]:
    """Makers of the cases; ``scale`` divides the sizes, for a machine without a GPU."""
    rng = np.random.default_rng(7)

    def floats(*shape: int) -> np.ndarray:
        return rng.random(shape, np.float32)

    def transpose() -> Case:
        n = max(64, 16384 // scale)
        arrays = [floats(n, n), np.zeros((n, n), np.float32)]
        grid, work = (n // 32, n // 32), (8.0 * n * n / 1e9, "GB")
        return Case("transpose", ours.transpose, grid, (32, 8), arrays, (n,), (1,), work, 0)

    def histogram() -> Case:
        n = (1 << 28) // scale
        arrays = [rng.integers(0, 256, n, np.uint8), np.zeros(256, np.uint32)]
        work = (n / 1e9, "GB")
        return Case("histogram", ours.histogram, 132 * 8, 256, arrays, (n,), (1,), work, 0)

    def blackscholes() -> Case:
        n = (1 << 26) // scale
        arrays = [floats(n) * 25 + 5, floats(n) * 99 + 1, floats(n) * 10 + np.float32(0.25)]
        arrays += [np.zeros(n, np.float32), np.zeros(n, np.float32)]
        scalars = (np.float32(0.02), np.float32(0.3), n)
        work = (20 * n / 1e9, "GB")
        grid = -(-n // 256)
        return Case("blackscholes", ours.blackscholes, grid, 256, arrays, scalars, (3, 4), work)

    def stencil() -> Case:
        n = max(64, 16384 // scale)
        arrays = [floats(n, n), np.zeros((n, n), np.float32)]
        grid, work = (n // 32, n // 8), (8.0 * n * n / 1e9, "GB")
        return Case("stencil", ours.stencil, grid, (32, 8), arrays, (n,), (1,), work, 1e-6)

    def scan() -> Case:
        n = (1 << 27) // scale
        grid = -(-n // 256)
        arrays = [floats(n), np.zeros(n, np.float32), np.zeros(grid, np.float32)]
        return Case("scan", ours.scan, grid, 256, arrays, (n,), (1, 2), (8 * n / 1e9, "GB"))

    def mandelbrot() -> Case:
        width, height = max(64, 7680 // scale), max(64, 4320 // scale)
        arrays = [np.zeros((height, width), np.int32)]
        grid = (-(-width // 32), -(-height // 8))
        scalars = (width, height, 500)
        work = (width * height / 1e9, "Gpixel")
        return Case("mandelbrot", ours.mandelbrot, grid, (32, 8), arrays, scalars, (0,), work, 2e-2)

    made = (transpose, histogram, blackscholes, stencil, scan, mandelbrot)
    return {
        **{name: partial(make, scale) for name, make in CASES.items()},
        **{function.__name__: function for function in made},
    }
