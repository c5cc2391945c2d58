"""What compiling the examples' kernels costs, warm, for each shading language.

    python benchmarks/compile_times.py [--only EXAMPLE] [--repeats N] [--profile TARGET]

From the Python function to the code: translation, passes, code generation; no disk cache, and not
the driver's own compiler. "warm" is a kernel that was compiled before, as are the functions that it
needs for what the language lacks. "new" is one whose functions are new to the process: the first
that computes in float64, say. Medians of milliseconds of the processor, as machines are shared, and
the kilobytes of the code. Lines are the kernel's own with those of the device functions that it
calls, without blank lines, comments and docstrings. Arguments have the types of the examples, run
on the CPU first; blocks have 256 threads.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import cProfile
import datetime
import inspect
import io
import os
import platform
import pstats
import runpy
import statistics
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import literals
import results
from gridlane import compiler, cuda
from gridlane.codegen.clike import functions
from gridlane.core.artifact import Artifact
from gridlane.core.options import Target
from gridlane.cuda.kernels.dispatcher import Dispatcher
from timing import machine

EXAMPLES = Path(__file__).parents[1] / "examples"

ARGUMENTS = {
    "bitonic_sort": "--size 256",
    "blackscholes": "--options 256",
    "game_of_life": "--width 16 --height 16 --generations 1",
    "histogram": "--size 256",
    "laplace2d": "--size 16 --sweeps 1",
    "mandelbrot": "--width 16 --height 16 --iterations 4",
    "matmul": "--rows 16 --inner 16 --columns 16",
    "montecarlo_pi": "--threads 500 --points 200",
    "nbody": "--bodies 64 --steps 1",
    "nqueens": "--queens 5",
    "raytracer": "--width 16 --height 16 --samples 1",
    "reduction": "--size 256",
    "warp_scan": "--size 256",
}
"""The least that each example does. Tensor cores are NVIDIA's alone, so ``tensor_matmul`` lacks."""

TARGETS = {
    "spirv": Target("vulkan"),
    "wgsl": Target("webgpu", block=(256, 1, 1)),
    "glsl": Target("opengl", block=(256, 1, 1)),
    "msl": Target("metal"),
}


@dataclass(frozen=True)
class Row:
    """A kernel of an example, with its argument types."""

    example: str
    kernel: str
    dispatcher: Dispatcher
    types: tuple

    @property
    def lines(self) -> int:
        """Lines of the kernel and of what it calls."""
        return sum(map(lines_of, reached(self.dispatcher.py_func, set())))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=(*ARGUMENTS, "literals"), help="one example")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--profile", choices=TARGETS, help="show where the time goes instead")
    results.option(parser)
    args = parser.parse_args()
    names = [args.only] if args.only else [*ARGUMENTS, "literals"]
    rows = [row for name in names for row in kernels_of(name)]
    if args.profile:
        profile(rows, TARGETS[args.profile], args.repeats)
        return
    print(f"{datetime.date.today()}, {machine()}, Python {platform.python_version()}")
    print(f"{'':<30}{'':>5}" + "".join(f"{name:>13}      " for name in TARGETS))
    print(f"{'':<30}{'lines':>5}" + f"{'warm':>8}{'new':>6}{'KB':>5}" * len(TARGETS))
    for row in rows:
        name = f"{row.example}, {row.kernel}"
        cells = [shown(row, name, args.repeats) for name in TARGETS]
        print(f"{name:<30}{row.lines:>5}" + "".join(cells), flush=True)
        results.add(name, "source", row.lines, "lines")
    results.write("compile_times", args.record)


def shown(row: Row, language: str, repeats: int) -> str:
    """The cells of a kernel and a language."""
    target, case = TARGETS[language], f"{row.example}, {row.kernel}"
    size = len(compiled(row, target).code)
    warm = [milliseconds(row, target) for _ in range(repeats)]
    new = []
    for _ in range(repeats):
        functions.forget()
        new.append(milliseconds(row, target))
    results.add(case, f"{language}, warm", statistics.median(warm), "ms")
    results.add(case, f"{language}, new", statistics.median(new), "ms")
    results.add(case, f"{language}, code", size / 1024, "KiB")
    return f"{statistics.median(warm):>8.1f}{statistics.median(new):>6.0f}{size / 1024:>5.0f}"


def milliseconds(row: Row, target: Target) -> float:
    """What a compile takes of the processor."""
    start = time.process_time()
    compiled(row, target)
    return (time.process_time() - start) * 1e3


def compiled(row: Row, target: Target) -> Artifact:
    """The kernel's code, without a cache."""
    options = row.dispatcher.options
    return compiler.generate(
        compiler.translate(row.dispatcher.py_func, row.types, options), target, options
    )


def profile(rows: list[Row], target: Target, repeats: int) -> None:
    """The functions that take most of the time."""
    for row in rows:
        compiled(row, target)
    profiler = cProfile.Profile()
    with profiler:
        for _ in range(repeats):
            for row in rows:
                compiled(row, target)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(40)
    pstats.Stats(profiler).sort_stats("cumtime").print_stats(60)


def kernels_of(example: str) -> list[Row]:
    """Runs an example on the CPU, and gives the kernels that it launched. ``literals`` are those of
    literals.py."""
    if example == "literals":
        made = {f"{n} groups": cuda.jit(literals.kernel(n)) for n in literals.GROUPS}
        return [Row(example, name, kernel, literals.TYPES) for name, kernel in made.items()]
    with arguments([f"{example}.py", *ARGUMENTS[example].split()]):
        made = runpy.run_path(str(EXAMPLES / f"{example}.py"), run_name="__main__")
    return [
        Row(example, name, value, types)
        for name, value in made.items()
        if isinstance(value, Dispatcher) and not value.is_device_function
        for types in value.overloads
    ]


@contextlib.contextmanager
def arguments(words: list[str]) -> Iterator[None]:
    """Runs with other arguments of the command line, in silence."""
    before, sys.argv = sys.argv, words
    sys.path.insert(0, str(EXAMPLES))
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        sys.argv = before
        sys.path.remove(str(EXAMPLES))


def reached(function: object, seen: set) -> set:
    """The Python functions of a kernel: itself and the device functions that it names."""
    if function not in seen:
        seen.add(function)
        for name in function.__code__.co_names:
            other = function.__globals__.get(name)
            if isinstance(other, Dispatcher):
                reached(other.py_func, seen)
    return seen


def lines_of(function: object) -> int:
    """Lines that hold code, from ``def`` on."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    if ast.get_docstring(tree):
        tree.body = tree.body[1:]
    return 1 + ast.unparse(tree.body).count("\n") + 1


if __name__ == "__main__":
    os.environ["GRIDLANE_DEVICE"] = "cpu"
    cuda.install_as_numba(children=False)
    main()
