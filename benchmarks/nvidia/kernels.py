"""Times of the kernels on the device's clock, ours beside NVRTC's, and whether results agree."""

from __future__ import annotations

import math
from statistics import median
from typing import Any

import numpy as np
from benchmarks.nvidia.cases import Case, cases
from benchmarks.nvidia.theirs import FAST, SOURCES

from gridlane import cuda
from gridlane.cli.gpu_bench.timing import timed


def compare(case: Case) -> dict[str, Any]:
    """Time a case on both sides, in turns."""
    import cupy

    mine = [cuda.to_device(array) for array in case.arrays]
    theirs = [cupy.asarray(array) for array in case.arrays]
    options = ("--use_fast_math",) if case.name in FAST else ()
    raw = cupy.RawKernel(SOURCES[case.name], case.name, options=options)
    block = case.block if isinstance(case.block, tuple) else (case.block,)
    grid = case.grid if isinstance(case.grid, tuple) else (case.grid,)
    scalars = tuple(np.int32(x) if isinstance(x, int) else x for x in case.scalars)

    def ours() -> None:
        case.kernel[case.grid, case.block](*mine, *case.scalars)

    def nvrtc() -> None:
        raw(grid, block, (*theirs, *scalars))

    def reset() -> None:
        for number in case.outputs:
            mine[number].copy_to_device(case.arrays[number])
            theirs[number][...] = cupy.asarray(case.arrays[number])

    reset()
    ours()
    nvrtc()
    cuda.synchronize()
    worst = 0.0
    for number in case.outputs:
        a, b = mine[number].copy_to_host(), cupy.asnumpy(theirs[number])
        if case.name == "nbody":
            a, b = a[:, :3], b[:, :3]
        scale = np.abs(b.astype(np.float64)).mean() + 1e-30
        worst = max(worst, float(np.abs(a.astype(np.float64) - b).mean() / scale))
    rounds = [(timed(ours), timed(nvrtc)) for _ in range(3)]
    fast, slow = median(x for x, _ in rounds), median(y for _, y in rounds)
    amount, unit = case.work
    return {
        "kernel": case.name,
        "ours_ms": fast,
        "nvrtc_ms": slow,
        "ratio": fast / slow,
        "rate": f"{amount / fast * 1e3:.4g} {unit}/s",
        "nvrtc_rate": f"{amount / slow * 1e3:.4g} {unit}/s",
        "difference": worst,
        "agrees": worst <= case.tolerance,
    }


def section(only: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """All kernels; each prints its line."""
    rows = []
    for name, make in cases().items():
        if only and name not in only:
            continue
        row = compare(make())
        rows.append(row)
        print(
            f"{name:13} ours {row['ours_ms']:9.4f} ms {row['rate']:>16}   NVRTC "
            f"{row['nvrtc_ms']:9.4f} ms {row['nvrtc_rate']:>16}   ratio {row['ratio']:.3f}   "
            f"{'agree' if row['agrees'] else 'DIFFER'} ({row['difference']:.1e})",
            flush=True,
        )
    mean = math.exp(sum(math.log(row["ratio"]) for row in rows) / len(rows))
    print(f"geometric mean of the ratios: {mean:.3f}", flush=True)
    return rows
