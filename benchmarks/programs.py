"""Time ten programs in CUDA C++ on the CPU device beside the same in C with OpenMP, and in OpenCL
where pyopencl finds PoCL.

    python benchmarks/programs.py [ROUNDS] [NAME ...]

Kernels alone: what a program works on lies in memory, and is set anew before each run, which is not
counted. All take turns on the same cores; a time is the least of the rounds, as others disturb a
machine. All must give equal results, floats within a stated distance.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

try:
    import pyopencl
except ImportError:
    pyopencl = None

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import results
from benchmarks.timing import machine

from gridlane import cuda
from gridlane.launch import current
from gridlane.launch.devices import get_device

FOLDER = Path(__file__).parent / "programs"
FLAGS = ("-O3", "-march=native", "-ffast-math", "-fopenmp", "-shared", "-fPIC")
BAR = 1.3
"""The geometric mean of the ratios to C may be this."""
Arrays = dict[str, np.ndarray]
i4, f4 = np.int32, np.float32


@dataclass(frozen=True)
class Program:
    """A program.

    Attributes:
        inputs: its arrays, by name, with their first values.
        device: runs the kernels on device arrays, by their names and those of the arrays.
        host: the arguments of the C function, in order: names of arrays, or integers.
        results: the arrays that both must agree on.
        close: how far floats may be apart, of the largest.
    """

    name: str
    inputs: Callable[[np.random.Generator], Arrays]
    device: Callable[[Callable[..., Any], dict[str, Any]], None]
    host: tuple[str | int, ...]
    results: tuple[str, ...]
    close: float = 0.0


def ceil(a: int, b: int) -> int:
    return -(-a // b)


N_CHAIN, N_COV, M_COV, N_FDTD, T_FDTD, SIDE = 384, 600, 480, 1000, 10, 6
N_NODES, N_POINTS, T_POINTS, N_ALIGN, WIDTH, N_ROWS, N_LU = (
    200_000,
    200_000,
    5,
    2048,
    1500,
    200_000,
    512,
)


def chain(kernel: Callable[..., Any], a: dict[str, Any]) -> None:
    product, grid = kernel("product"), (ceil(N_CHAIN, 32), ceil(N_CHAIN, 8))
    for names in ("abe", "cdf", "efg"):
        product(grid, (32, 8), (*(a[name] for name in names), i4(N_CHAIN)))


def covariance(kernel: Callable[..., Any], a: dict[str, Any]) -> None:
    n, m = i4(N_COV), i4(M_COV)
    kernel("mean_of")(ceil(M_COV, 128), 128, (a["data"], a["mean"], n, m))
    grid = ceil(M_COV, 32), ceil(N_COV, 8)
    kernel("center")(grid, (32, 8), (a["data"], a["mean"], a["centered"], n, m))
    grid = ceil(M_COV, 32), ceil(M_COV, 8)
    kernel("covariance")(grid, (32, 8), (a["centered"], a["out"], n, m))


def fdtd(kernel: Callable[..., Any], a: dict[str, Any]) -> None:
    grid, block, n = (ceil(N_FDTD, 256), N_FDTD), 256, i4(N_FDTD)
    step_y, step_x, step_h = kernel("step_y"), kernel("step_x"), kernel("step_h")
    for t in range(T_FDTD):
        step_y(grid, block, (a["ey"], a["hz"], f4(t), n, n))
        step_x(grid, block, (a["ex"], a["hz"], n, n))
        step_h(grid, block, (a["ex"], a["ey"], a["hz"], n, n))


def boxes(kernel: Callable[..., Any], a: dict[str, Any]) -> None:
    kernel("boxes")(SIDE**3, 96, (a["place"], a["charge"], a["force"], i4(SIDE)))


def search(kernel: Callable[..., Any], a: dict[str, Any]) -> None:
    expand, advance, n, grid = kernel("expand"), kernel("advance"), i4(N_NODES), ceil(N_NODES, 256)
    no = np.zeros(1, np.bool_)
    while True:
        a["again"].copy_to_device(no)
        front = a["frontier"], a["next"], a["visited"]
        expand(grid, 256, (a["first"], a["edges"], *front, a["cost"], n))
        advance(grid, 256, (*front, a["again"], n))
        if not a["again"].copy_to_host()[0]:
            return


def clusters(kernel: Callable[..., Any], a: dict[str, Any]) -> None:
    n = i4(N_POINTS)
    for _ in range(T_POINTS):
        kernel("assign")(ceil(N_POINTS, 256), 256, (a["turned"], a["centers"], a["member"], n))
        kernel("gather")(64, 256, (a["turned"], a["member"], a["sums"], a["counts"], n))
        kernel("move")(1, 128, (a["centers"], a["sums"], a["counts"]))


def alignment(kernel: Callable[..., Any], a: dict[str, Any]) -> None:
    diagonal, tiles = kernel("diagonal"), N_ALIGN // 32
    for number in range(2 * tiles - 1):
        first, last = max(0, number - tiles + 1), min(number, tiles - 1)
        scalars = i4(N_ALIGN), i4(10), i4(first), i4(number)
        diagonal(last - first + 1, 32, (a["score"], a["match"], *scalars))


def filtered(kernel: Callable[..., Any], a: dict[str, Any]) -> None:
    grid = ceil(WIDTH, 32), ceil(WIDTH, 8)
    kernel("filter")(grid, (32, 8), (a["picture"], a["out"], i4(WIDTH), i4(WIDTH)))


def sparse(kernel: Callable[..., Any], a: dict[str, Any]) -> None:
    each = (a[name] for name in ("first", "columns", "values", "x", "y"))
    kernel("sparse")(ceil(N_ROWS, 256), 256, (*each, i4(N_ROWS)))


def lu(kernel: Callable[..., Any], a: dict[str, Any]) -> None:
    n, tiles = i4(N_LU), N_LU // 32
    for k in range(tiles):
        left = tiles - 1 - k
        kernel("diagonal")(1, 32, (a["a"], n, i4(k)))
        if left:
            kernel("borders")(2 * left, 32, (a["a"], n, i4(k)))
            kernel("rest")((left, left), (32, 8), (a["a"], n, i4(k)))


def rows_of(rng: np.random.Generator, n: int, each: int) -> tuple[np.ndarray, np.ndarray]:
    """The first entries of rows, and the columns of their entries."""
    counts = rng.integers(0, 2 * each, n)
    first = np.concatenate([[0], counts.cumsum()]).astype(i4)
    return first, rng.integers(0, n, first[-1]).astype(i4)


def graph_inputs(rng: np.random.Generator) -> Arrays:
    first, edges = rows_of(rng, N_NODES, 6)
    marks = {name: np.zeros(N_NODES, np.bool_) for name in ("frontier", "next", "visited")}
    cost = np.full(N_NODES, -1, i4)
    marks["frontier"][0] = marks["visited"][0] = True
    cost[0] = 0
    return {"first": first, "edges": edges, **marks, "cost": cost, "again": np.zeros(1, np.bool_)}


def cluster_inputs(rng: np.random.Generator) -> Arrays:
    points = rng.integers(0, 1000, (N_POINTS, 8)).astype(f4)
    return {
        "points": points, "turned": np.ascontiguousarray(points.T), "centers": points[:16].copy(),
        "member": np.zeros(N_POINTS, i4), "sums": np.zeros(128, f4), "counts": np.zeros(16, i4),
    }  # fmt: skip


def alignment_inputs(rng: np.random.Generator) -> Arrays:
    score = np.zeros((N_ALIGN + 1, N_ALIGN + 1), i4)
    score[0] = score[:, 0] = -10 * np.arange(N_ALIGN + 1)
    return {"score": score, "match": rng.integers(-4, 11, (N_ALIGN, N_ALIGN)).astype(i4)}


def sparse_inputs(rng: np.random.Generator) -> Arrays:
    first, columns = rows_of(rng, N_ROWS, 16)
    return {
        "first": first, "columns": columns, "values": rng.random(len(columns), f4),
        "x": rng.random(N_ROWS, f4), "y": np.zeros(N_ROWS, f4),
    }  # fmt: skip


def box_inputs(rng: np.random.Generator) -> Arrays:
    count = SIDE**3 * 96
    place = rng.random((count, 4), f4)
    return {"place": place, "charge": rng.random(count, f4), "force": np.zeros((count, 4), f4)}


def squares(n: int, names: str) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: {name: rng.random((n, n), f4) for name in names}


PROGRAMS = (
    Program("chain", squares(N_CHAIN, "abcdefg"), chain, (*"abcdefg", N_CHAIN), ("g",), 1e-5),
    Program(
        "covariance",
        lambda rng: {"data": rng.random((N_COV, M_COV), f4), "mean": np.zeros(M_COV, f4),
                     "centered": np.zeros((N_COV, M_COV), f4), "out": np.zeros((M_COV, M_COV), f4)},
        covariance, ("data", "mean", "centered", "out", N_COV, M_COV), ("out",), 1e-4,
    ),
    Program(
        "fdtd", lambda rng: {name: rng.random((N_FDTD, N_FDTD), f4) for name in ("ex", "ey", "hz")},
        fdtd, ("ex", "ey", "hz", N_FDTD, N_FDTD, T_FDTD), ("ex", "ey", "hz"), 1e-5,
    ),
    Program("boxes", box_inputs, boxes, ("place", "charge", "force", SIDE), ("force",), 1e-4),
    Program("search", graph_inputs, search,
            ("first", "edges", "frontier", "next", "visited", "cost", N_NODES), ("cost",)),
    Program("clusters", cluster_inputs, clusters,
            ("points", "centers", "member", N_POINTS, T_POINTS), ("centers",), 1e-3),
    Program("alignment", alignment_inputs, alignment, ("score", "match", N_ALIGN, 10), ("score",)),
    Program(
        "filter",
        lambda rng: {"picture": rng.random((WIDTH, WIDTH), f4), "weights": rng.random(25, f4),
                     "out": np.zeros((WIDTH, WIDTH), f4)},
        filtered, ("picture", "weights", "out", WIDTH, WIDTH), ("out",), 1e-5,
    ),
    Program("sparse", sparse_inputs, sparse, ("first", "columns", "values", "x", "y", N_ROWS),
            ("y",), 1e-5),
    Program("lu", lambda rng: {"a": rng.random((N_LU, N_LU), f4) + N_LU * np.eye(N_LU, dtype=f4)},
            lu, ("a", N_LU), ("a",), 1e-4),
)  # fmt: skip


@dataclass
class Side:
    """One way to run a program: what sets its arrays, what runs it, what its results are."""

    reset: Callable[[], None]
    run: Callable[[], None]
    result: Callable[[str], np.ndarray]


def on_device(program: Program, inputs: Arrays) -> Side:
    """The CUDA C++ on the CPU device."""
    module = cuda.RawModule(path=FOLDER / f"{program.name}.cu", backend="clang")
    arrays = {name: cuda.to_device(value) for name, value in inputs.items()}
    if "weights" in inputs:
        module.get_global("weights").view(f4).copy_to_device(inputs["weights"])
    kernel = cache(module.get_function)

    def reset() -> None:
        for name, value in inputs.items():
            arrays[name].copy_to_device(value)
        cuda.synchronize()

    def run() -> None:
        program.device(kernel, arrays)
        cuda.synchronize()

    return Side(reset, run, lambda name: arrays[name].copy_to_host())


def in_c(program: Program, inputs: Arrays) -> Side:
    """The C with OpenMP."""
    folder = Path(tempfile.mkdtemp(prefix="gridlane-programs-"))
    library = folder / "program.so"
    source = FOLDER / f"{program.name}.c"
    subprocess.run(["gcc", *FLAGS, str(source), "-o", str(library), "-lm"], check=True)
    function = getattr(ctypes.CDLL(str(library)), program.name)
    arrays = {name: value.copy() for name, value in inputs.items()}
    arguments = [
        ctypes.c_int(each) if isinstance(each, int) else ctypes.c_void_p(arrays[each].ctypes.data)
        for each in program.host
    ]

    def reset() -> None:
        for name, value in inputs.items():
            arrays[name][...] = value

    return Side(reset, lambda: function(*arguments), lambda name: arrays[name])


class OpenClArray:
    """A buffer with the copies that programs call."""

    def __init__(self, queue: Any, value: np.ndarray) -> None:
        self.queue, self.host = queue, np.ascontiguousarray(value)
        flags = pyopencl.mem_flags
        self.buffer = pyopencl.Buffer(queue.context, flags.READ_WRITE, max(1, value.nbytes))

    def copy_to_device(self, value: np.ndarray) -> None:
        pyopencl.enqueue_copy(self.queue, self.buffer, np.ascontiguousarray(value))

    def copy_to_host(self) -> np.ndarray:
        made = np.empty_like(self.host)
        pyopencl.enqueue_copy(self.queue, made, self.buffer)
        return made


def in_opencl(program: Program, inputs: Arrays) -> Side:
    """The OpenCL by PoCL."""
    device = pocl()
    context = pyopencl.Context([device])
    queue = pyopencl.CommandQueue(context)
    text = (FOLDER / f"{program.name}.cl").read_text()
    built = pyopencl.Program(context, text).build(options=["-cl-fast-relaxed-math"])
    arrays = {name: OpenClArray(queue, value) for name, value in inputs.items()}
    last = (arrays["weights"],) if "weights" in inputs else ()

    @cache
    def kernel(name: str) -> Callable[..., None]:
        function = pyopencl.Kernel(built, name)

        def launch(grid: Any, block: Any, arguments: tuple[Any, ...]) -> None:
            grid = grid if isinstance(grid, tuple) else (grid,)
            block = block if isinstance(block, tuple) else (block,)
            block += (1,) * (len(grid) - len(block))
            sizes = tuple(a * b for a, b in zip(grid, block, strict=True))
            given = (getattr(each, "buffer", each) for each in (*arguments, *last))
            function(queue, sizes, block, *given)

        return launch

    def reset() -> None:
        for name, value in inputs.items():
            arrays[name].copy_to_device(value)
        queue.finish()

    def run() -> None:
        program.device(kernel, arrays)
        queue.finish()

    return Side(reset, run, lambda name: arrays[name].copy_to_host())


@cache
def pocl() -> Any:
    """PoCL's CPU, or None."""
    if pyopencl is None:
        return None
    platforms = [each for each in pyopencl.get_platforms() if "Portable" in each.name]
    return platforms[0].get_devices()[0] if platforms else None


def check(program: Program, sides: dict[str, Side]) -> None:
    """Compare the results of each with those of C.

    Raises:
        SystemExit: they differ.
    """
    for name in program.results:
        want = sides["C"].result(name).astype(np.float64)
        for label, side in sides.items():
            apart = np.abs(side.result(name).astype(np.float64) - want).max()
            if not apart <= program.close * np.abs(want).max():
                raise SystemExit(f"{program.name}: {name} of {label} is {apart} from that of C")


def measure(program: Program, rounds: int) -> dict[str, float]:
    """The least milliseconds of each side."""
    inputs = program.inputs(np.random.default_rng(3))
    makers: dict[str, Callable[[Program, Arrays], Side]] = {"gridlane": on_device, "C": in_c}
    if pocl() is not None:
        makers["OpenCL"] = in_opencl
    sides = {label: make(program, inputs) for label, make in makers.items()}
    times: dict[str, list[float]] = {label: [] for label in sides}
    for count in range(rounds + 1):
        for label, side in sides.items():
            side.reset()
            time.sleep(0.02)  # the other's threads spin for a while
            start = time.perf_counter()
            side.run()
            if count:
                times[label].append((time.perf_counter() - start) * 1e3)
        if not count:
            check(program, sides)
    return {label: min(each) for label, each in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int, nargs="?", default=15)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    results.option(parser)
    args = parser.parse_args()
    names = args.programs or [program.name for program in PROGRAMS]
    current.choose(get_device("cpu"))
    version = subprocess.run(
        ["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True
    )
    print(f"{date.today()}, {machine()}, gcc {version.stdout.strip()} {' '.join(FLAGS[:4])}")
    if pocl() is not None:
        print(f"{pocl().platform.version}, {pocl().name}, -cl-fast-relaxed-math")
    heads = "".join(f"{each:>12} {'ratio':>7}" for each in ("OpenMP C ms", "PoCL ms"))
    print(f"{'program':12} {'gridlane ms':>12} {heads}")
    ratios: dict[str, list[float]] = {"C": [], "OpenCL": []}
    for program in PROGRAMS:
        if program.name not in names:
            continue
        found = measure(program, args.rounds)
        row = f"{program.name:12} {found['gridlane']:12.2f} "
        for way, milliseconds in found.items():
            results.add(program.name, way, milliseconds, "ms")
        for label, each in ratios.items():
            if label in found:
                each.append(found["gridlane"] / found[label])
                results.add(program.name, f"gridlane/{label}", each[-1], "ratio")
                row += f"{found[label]:12.2f} {each[-1]:7.2f}"
        print(row, flush=True)
    for label, each in ratios.items():
        if each:
            mean = statistics.geometric_mean(each)
            results.add("geometric mean", f"gridlane/{label}", mean, "ratio")
    results.write("programs", args.record, versions={"gcc": version.stdout.strip()})
    mean = statistics.geometric_mean(ratios["C"])
    print(f"geometric mean to C {mean:.2f}, bar {BAR}: {'met' if mean <= BAR else 'missed'}")
    if ratios["OpenCL"]:
        mean = statistics.geometric_mean(ratios["OpenCL"])
        print(f"geometric mean to PoCL {mean:.2f}, bar 1: {'met' if mean < 1 else 'missed'}")


if __name__ == "__main__":
    main()
