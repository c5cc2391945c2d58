"""The programs of benchmarks/simulator.py, in a process of its own: ``cuda`` is numba's simulator
or gridlane's device ``cpu``, as the first argument says.

Prints a line of JSON for each program: the seconds of its first run and of its shortest one, on the
clock and of the processor.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
Run = Callable[[], np.ndarray]


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).random(shape, np.float32)


def stumpy_stump() -> Run:
    """The matrix profile of a series, z-normalised: stumpy's gpu_stump."""
    stumpy = importlib.import_module("stumpy")
    series = _random(140).astype(np.float64)
    return lambda: stumpy.gpu_stump(series, 16)[:, 0].astype(np.float64)


def stumpy_aamp() -> Run:
    """The same without normalisation: stumpy's gpu_aamp."""
    stumpy = importlib.import_module("stumpy")
    series = _random(140).astype(np.float64)
    return lambda: stumpy.gpu_aamp(series, 16)[:, 0].astype(np.float64)


def xrspatial_slope() -> Run:
    """The slope of a terrain: xarray-spatial's kernel."""
    slope = importlib.import_module("xrspatial.slope")
    terrain, cell = _random(128, 128), np.ones(1, np.float32)

    def run() -> np.ndarray:
        out = np.zeros_like(terrain)
        slope._run_gpu[(8, 8), (16, 16)](terrain, cell, cell, out)
        return out

    return run


def matmul() -> Run:
    """A product of matrices by tiles in shared memory: examples/matmul.py."""
    example = importlib.import_module("matmul")
    a, b = _random(64, 64), _random(64, 64)

    def run() -> np.ndarray:
        out = np.zeros_like(a)
        example.matmul[(4, 4), (16, 16)](a, b, out)
        return out

    return run


def mandelbrot() -> Run:
    """Escape times: examples/mandelbrot.py."""
    example = importlib.import_module("mandelbrot")

    def run() -> np.ndarray:
        counts = np.zeros((64, 96), np.int32)
        edge = np.float32(-2.0), np.float32(-1.2), np.float32(0.035)
        example.mandelbrot[(6, 4), (16, 16)](counts, *edge, 100)
        return counts

    return run


def game_of_life() -> Run:
    """Two generations of a board, with tiles in shared memory: examples/game_of_life.py."""
    example = importlib.import_module("game_of_life")
    board = (_random(64, 64) < 0.3).astype(np.uint8)

    def run() -> np.ndarray:
        one, two = np.zeros_like(board), np.zeros_like(board)
        example.generation[(4, 4), (16, 16)](board, one)
        example.generation[(4, 4), (16, 16)](one, two)
        return two

    return run


def reduction() -> Run:
    """Sums of blocks by trees with barriers: examples/reduction.py."""
    example = importlib.import_module("reduction")
    values = np.floor(_random(1 << 15) * 100)

    def run() -> np.ndarray:
        sums = np.zeros(example.BLOCKS, np.float32)
        example.block_sums[example.BLOCKS, example.THREADS](values, sums)
        return sums

    return run


PROGRAMS: dict[str, Callable[[], Run]] = {
    program.__name__: program
    for program in (
        *(stumpy_stump, stumpy_aamp, xrspatial_slope),
        *(matmul, mandelbrot, game_of_life, reduction),
    )
}


def measured(program: Callable[[], Run], repeats: int, result: Path) -> dict[str, object]:
    """The times of a program, whose result goes to a file."""
    try:
        run = program()
    except ImportError as error:
        return {"error": str(error)}
    clock, processor = list[float](), list[float]()
    values = np.empty(0)
    for _ in range(repeats):
        start, began = time.perf_counter(), time.process_time()
        values = run()
        clock.append(time.perf_counter() - start)
        processor.append(time.process_time() - began)
    np.save(result, values)
    return {
        "clock": {"first": clock[0], "best": min(clock)},
        "processor": {"first": processor[0], "best": min(processor)},
    }


def main() -> None:
    way, folder, repeats, *names = sys.argv[1:]
    if way == "simulator":
        os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    else:
        importlib.import_module("gridlane.cuda").install_as_numba()
    sys.path.insert(0, str(ROOT / "examples"))
    for name in names:
        found = measured(PROGRAMS[name], int(repeats), Path(folder, f"{name}.npy"))
        print(json.dumps({"program": name, **found}), flush=True)


if __name__ == "__main__":
    main()
