"""What memory compiled kernels leave behind in a process, and which part of the compiler does.

    python benchmarks/compile_memory.py [--kernels N | --many N]

Each kernel has 60 branches of its own, is compiled for the CPU without the disk cache, launched
once and dropped. After the first 100 LLVM runs in a helper process (codegen/llvm/apart.py); the
second row is the same without it. The third row ends before LLVM: translation alone. The last runs
LLVM's pass pipeline alone on a module of 450 instructions, in a context of its own, with its pass
manager and builder closed. With ``--many`` so many
kernels of one branch are compiled, launched and dropped, and the growth since the first 200 is
printed after each thousand. Resident memory is read after a garbage collection and malloc_trim.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import linecache
import os
from collections.abc import Callable
from typing import Any

os.environ["GRIDLANE_DEVICE"] = "cpu"
os.environ["GRIDLANE_CACHE"] = "0"

import llvmlite.binding as llvm
import numpy as np

import results
from gridlane import cuda
from gridlane.codegen.llvm import apart, machine
from gridlane.core import argtypes
from gridlane.core.options import KernelOptions
from gridlane.frontends.python.translation import translate

WARM = 5


def resident() -> float:
    """Resident memory in MiB."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def defined(number: int) -> Any:
    """A kernel with literals of its own."""
    lines: list[str] = []
    for n in range(60):
        lines.append(f"    if o[i] > {number * 1000 + n}.5:")
        lines.append(f"        o[i] = o[i] * {number}.25 + {n + number * 77}")
    text = "\n".join(("@cuda.jit", "def k(o):", "    i = cuda.grid(1)", *lines, ""))
    name = f"<kernel {number}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    space: dict[str, Any] = {"cuda": cuda}
    exec(compile(text, name, "exec"), space)
    return space["k"]


def launched(number: int) -> None:
    """Compile and launch a kernel."""
    defined(number)[2, 32](np.zeros(64))
    del linecache.cache[f"<kernel {number}>"]


def translated(number: int) -> None:
    """Translate a kernel."""
    translate(defined(number).py_func, (argtypes.float64[::1],), KernelOptions())
    del linecache.cache[f"<kernel {number}>"]


def optimised(number: int) -> None:
    """Run LLVM's pipeline on a module."""
    body = "\n".join(
        f"  %a{n} = fmul double %x, {n + 2.0:e}\n  %b{n} = fadd double %a{n}, %x\n"
        f"  store volatile double %b{n}, ptr %p"
        for n in range(150)
    )
    text = f"define void @f{number}(ptr %p, double %x) {{\n{body}\n  ret void\n}}"
    target = machine.target_machine(llvm.get_process_triple(), llvm.get_host_cpu_name(), "", 2)
    module = llvm.parse_assembly(text, llvm.create_context())
    builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=2))
    passes = builder.getModulePassManager()
    passes.run(module, builder)
    for each in (passes, builder, module):
        each.close()


def one_of_many(number: int) -> None:
    """Compile and launch a small kernel with literals of its own, and look at its result."""
    text = (
        "@cuda.jit\ndef k(o):\n    i = cuda.grid(1)\n"
        f"    if i < o.size and o[i] > {number}.5:\n        o[i] = o[i] * {number}.25 + {number}\n"
        f"    else:\n        o[i] = {number}\n"
    )
    name = f"<one of many {number}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    space: dict[str, Any] = {"cuda": cuda}
    exec(compile(text, name, "exec"), space)
    out = np.zeros(32, np.float32)
    space["k"][1, 32](out)
    assert (out == np.float32(number)).all()
    del linecache.cache[name]


def many(count: int) -> None:
    """Print the growth of many different kernels."""
    first = 200
    for number in range(first):
        one_of_many(number)
    before = resident()
    for number in range(1, count + 1):
        one_of_many(first + number)
        if number % 1000 == 0 or number == count:
            grown = resident() - before
            results.add(f"{number} small kernels", "in all", grown, "MiB")
            print(f"{number} kernels: {grown:.1f} MiB", flush=True)


def growth(step: Callable[[int], None], start: int, kernels: int) -> float:
    """MiB that each of some steps leaves behind."""
    for number in range(start, start + WARM):
        step(number)
    before = resident()
    for number in range(start + WARM, start + WARM + kernels):
        step(number)
    return (resident() - before) / kernels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=int, default=60)
    parser.add_argument("--many", type=int)
    results.option(parser)
    given = parser.parse_args()
    if given.many:
        many(given.many)
        results.write("compile_memory", given.record)
        return
    kernels = given.kernels
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    rows = (
        ("compiled, LLVM apart", launched, 0),
        ("compiled", launched, 1 << 30),
        ("translated", translated, 0),
        ("LLVM", optimised, 0),
    )
    start = 0
    for name, step, apart.FIRST in rows:
        grown = growth(step, start, kernels)
        results.add(name, "each kernel", grown, "MiB")
        print(f"{name}: {grown:.3f} MiB each, {kernels} kernels")
        start += kernels + WARM
    results.write("compile_memory", given.record)


if __name__ == "__main__":
    main()
