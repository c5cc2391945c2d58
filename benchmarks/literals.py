"""A kernel whose literals make it float64: how large it is, and how long until it runs.

    python benchmarks/literals.py [--repeats N] [--compile]

Groups of six lines: a multiplication by a literal, an index modulo a length, a floor, a square
root, a loop over a range and a conditional. ``compile_times.py`` compiles these kernels as well.
The first table has the kilobytes of code, for any launch and for compact ones (core/compact.py).
The second has the seconds from a launch to its result on devices without float64, the compile and
the driver's own compiler included, all caches off; the least of N fresh processes, in which another
kernel ran before. The third has the processor's seconds of compiling for the CPU, and to PTX; its
last kernel has ten times the lines of the one before. ``large_kernels.py`` runs such kernels.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FunctionType

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))  # tests import this file as benchmarks.literals

from benchmarks import results

from gridlane import compiler, cuda
from gridlane.core.compact import ANY, Variant
from gridlane.core.options import KernelOptions, Target
from gridlane.cuda import float32
from gridlane.launch.devices import get_device

GROUPS = (2, 5, 16)
COMPILED_GROUPS = (5, 16, 166)
"""30, 100 and 1,000 lines."""
MOST_TIMES = 12
"""The bar for the CPU, from 100 to 1,000 lines."""
DEVICES = ("webgpu", "opengl", "vulkan")
BLOCK = (64, 1, 1)
TARGETS = {
    "wgsl": Target("webgpu", block=BLOCK),
    "glsl": Target("opengl", block=BLOCK),
    "msl": Target("metal"),
    "spirv": Target("vulkan"),
}
TYPES = (float32[::1], float32[::1])
_FOLDER = tempfile.TemporaryDirectory()
"""Where the kernels are files, until the process ends."""


def source(groups: int) -> str:
    """The text of the kernel.

    >>> len(source(5).split("def ")[1].splitlines())
    34
    """
    lines = ["import math", "from gridlane import cuda", "def literals(a, b):"]
    lines += ["    i = cuda.grid(1)", "    x = a[i % a.size] * 1.5"]
    for n in range(groups):
        lines += [
            f"    x = x * {1.1 + n / 8} + 0.25",
            f"    y = b[(i + {n}) % b.size] * {0.5 + n / 16}",
            f"    x = x + math.floor(y * {3.3 + n})",
            "    x = math.sqrt(x * x + y)",
            f"    for j in range({3 + n}): x += b[(i + j) % b.size] * 0.01",
            f"    if x > {10.5 + n}: x -= {5.5 + n}",
        ]
    return "\n".join((*lines, "    if i < a.size: a[i] = x", ""))


def kernel(groups: int) -> FunctionType:
    """The kernel."""
    return loaded(source(groups), f"literals{groups}")


def loaded(text: str, name: str) -> FunctionType:
    """A kernel's function, from a file of its own, as its source has to be found."""
    path = Path(_FOLDER.name) / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.literals


def code(groups: int, target: Target) -> bytes:
    """The kernel's code."""
    module = compiler.translate(kernel(groups), TYPES, KernelOptions())
    return compiler.generate(module, target).code


def compile_seconds(groups: int, target: Target) -> float:
    """Of the processor, to compile."""
    start = time.process_time()
    code(groups, target)
    return time.process_time() - start


def seconds(groups: int) -> float:
    """From a launch on this process's device to its result."""
    made = cuda.jit(kernel(groups))
    a = cuda.to_device(np.linspace(1, 50, 256, dtype=np.float32))
    b = cuda.to_device(np.linspace(0.5, 3, 77, dtype=np.float32))
    start = time.perf_counter()
    made[4, BLOCK](a, b)
    a.copy_to_host()
    return time.perf_counter() - start


def in_this_process() -> None:
    """Print the seconds of each kernel; another one has opened the device."""

    @cuda.jit
    def doubled(a):
        a[cuda.threadIdx.x] *= np.float32(2)

    array = cuda.to_device(np.ones(64, np.float32))
    doubled[1, 64](array)
    array.copy_to_host()
    print(*(seconds(groups) for groups in GROUPS))


def in_fresh_process(device: str) -> list[float]:
    """What ``in_this_process`` measures on a device."""
    environment = os.environ | {
        "GRIDLANE_DEVICE": device,
        "GRIDLANE_CACHE": "0",
        "MESA_SHADER_CACHE_DISABLE": "true",
    }
    words = [sys.executable, __file__, "--here"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--compile", action="store_true", help="the last table alone")
    parser.add_argument("--here", action="store_true", help="seconds, on GRIDLANE_DEVICE")
    results.option(parser)
    args = parser.parse_args()
    if args.here:
        in_this_process()
        return
    from benchmarks.timing import machine

    print(f"{datetime.date.today()}, {machine()}")
    if args.compile:
        print_compile_times(args.repeats)
        results.write("literals", args.record)
        return
    print(f"{'kB':<24}" + "".join(f"{6 * groups + 4:>4} lines" for groups in GROUPS))
    for name, target in TARGETS.items():
        for label, variant in (("", ANY), (", compact", Variant(compact=True))):
            sizes = [len(code(g, target_for(target, variant))) / 1000 for g in GROUPS]
            note(name + label, GROUPS, sizes, "kB")
            print(f"{name + label:<24}" + "".join(f"{size:>10.1f}" for size in sizes), flush=True)
    print(f"{'seconds':<24}")
    for device in DEVICES:
        runs = [in_fresh_process(device) for _ in range(args.repeats)]
        least = [min(times) for times in zip(*runs, strict=True)]
        note(device, GROUPS, least, "s")
        print(f"{device:<24}" + "".join(f"{best:>10.2f}" for best in least), flush=True)
    print_compile_times(args.repeats)
    results.write("literals", args.record)


def note(of: str, groups: tuple[int, ...], values: list[float], unit: str) -> None:
    """Note a line of a table."""
    for number, value in zip(groups, values, strict=True):
        results.add(f"{6 * number + 4} lines", of, value, unit)


def print_compile_times(repeats: int) -> None:
    """Print the last table."""
    lines = "".join(f"{6 * groups + 4:>4} lines" for groups in COMPILED_GROUPS)
    print(f"{'compile':<24}{lines}")
    for target in (get_device("cpu").target(BLOCK), Target("cuda")):
        compile_seconds(2, target)
        runs = [[compile_seconds(g, target) for g in COMPILED_GROUPS] for _ in range(repeats)]
        least = [min(times) for times in zip(*runs, strict=True)]
        note(f"compile, {target.name}", COMPILED_GROUPS, least, "s")
        times = least[-1] / least[-2]
        bar = f", bar {MOST_TIMES}" if target.name == "cpu" else ""
        cells = "".join(f"{best:>10.2f}" for best in least)
        print(f"{target.name:<24}{cells}  {times:.1f} times{bar}", flush=True)


def target_for(target: Target, variant: Variant) -> Target:
    """The target for a kind of launches."""
    return Target(target.name, block=target.block, variant=variant)


if __name__ == "__main__":
    main()
