"""What reading, compiling and loading PTX costs, against the bars.

    python benchmarks/ptx.py [--only WORD]

The processor's seconds, as machines are shared; the least of some runs. Each row is measured in a
process of its own, after it has imported gridlane, so that memory and first imports count as they
do for a user. The text is made by ptx_modules.py. ptx_speed.py measures the code that is made.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable

import ptx_modules
import results
from timing import machine

LINES = 10_000
KERNEL = "reached"


def module(lines: int = LINES) -> str:
    """A module that begins with a kernel of 1,000 instructions and 200 divergent branches."""
    return ptx_modules.module(lines, first=one(1000, 200))


def one(instructions: int, branches: int) -> str:
    return ptx_modules.one_kernel(KERNEL, instructions, branches, random.Random(1))


def least(run: Callable[[], object], repeats: int = 5) -> float:
    """The least seconds of the processor."""
    times: list[float] = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


# --- what a process measures


def index(lines: int = LINES) -> float:
    from gridlane.frontends.ptx import parse_ptx

    text = module(lines)
    return least(lambda: parse_ptx(text))


def whole(lines: int = LINES, repeats: int = 3) -> float:
    """The structured IR of every kernel."""
    text = module(lines)
    _all(ptx_modules.module(300))  # what is imported and made once
    return least(lambda: _all(text), repeats)


def _all(text: str) -> None:
    from gridlane.core.options import KernelOptions
    from gridlane.frontends.ptx import PtxSource, parse_ptx

    made = parse_ptx(text)
    modules = [PtxSource(made, name).translate((), KernelOptions()) for name in made.entries]
    assert len(modules) == len(made.entries)


def memory() -> float:
    """Megabytes that Python's objects take at the most, with the IR of all kernels held."""
    text = module()
    _all(ptx_modules.module(300))
    tracemalloc.start()
    _all(text)
    return tracemalloc.get_traced_memory()[1] / 2**20


def ten_times() -> float:
    """The structured IR of 100,000 lines."""
    return whole(10 * LINES, 1)


def small_kernel() -> float:
    """From text to the IR of one small kernel of 100,000 lines."""
    from gridlane.core.options import KernelOptions
    from gridlane.frontends.ptx import PtxSource, parse_ptx

    text = module(10 * LINES)
    made = parse_ptx(text)
    name = min(made.entries, key=lambda n: made.functions[n].end - made.functions[n].start)
    _all(ptx_modules.module(100))
    return least(lambda: PtxSource(parse_ptx(text), name).translate((), KernelOptions()), 3)


def launch(text: str) -> float:
    """The first launch from text on the CPU."""
    import numpy as np

    from gridlane import cuda

    x = np.linspace(0, 4, 400, dtype=np.float32)
    y, z = np.zeros_like(x), np.arange(400, dtype=np.int32)
    start = time.process_time()
    kernel = cuda.RawModule(code=text).get_function(KERNEL)
    kernel((2,), (128,), (x, y, z, 300))
    return time.process_time() - start


def launch_far(branches: int) -> float:
    """The first launch of a kernel whose branches go forward to anywhere."""
    import numpy as np

    from gridlane import cuda

    text = ptx_modules.far_branches(KERNEL, branches)
    x = cuda.to_device(np.arange(64, dtype=np.uint32))
    start = time.process_time()
    cuda.RawKernel(text, KERNEL)((1,), (64,), (x,))
    return time.process_time() - start


def launch_products(count: int) -> float:
    """The first launch of a kernel of many products of matrices."""
    import numpy as np

    from gridlane import cuda

    text = ptx_modules.products(KERNEL, count)
    a, b = (np.ones((32, 4 * count), np.float16) for _ in range(2))
    c = np.zeros((32, 32), np.float32)
    start = time.process_time()
    cuda.RawKernel(text, KERNEL)((1,), (32,), (a, b, c))
    made = time.process_time() - start
    assert (c == 4 * count).all()
    return made


ROWS: dict[str, tuple[str, Callable[[], float], float, str]] = {
    "index": ("index of 10,000 lines", index, 0.03, "s"),
    "whole": ("structured IR of all its kernels", whole, 0.6, "s"),
    "memory": ("peak memory above import", memory, 150, "MB"),
    "index100": ("index of 100,000 lines", lambda: index(10 * LINES), 0.3, "s"),
    "whole100": ("structured IR of all their kernels", ten_times, 6, "s"),
    "small": ("one small kernel of 100,000 lines", small_kernel, 0.5, "s"),
    "launch": (
        "first launch, 200 branches in 1,000 instructions",
        lambda: launch(module()),
        2,
        "s",
    ),
    "large": (
        "first launch, 8,000 instructions in 1,000 blocks",
        lambda: launch(ptx_modules.HEAD + one(8000, 420)),
        6,
        "s",
    ),
    "far": ("first launch, 600 branches to anywhere", lambda: launch_far(600), 4, "s"),
    "far3000": ("first launch, 3,000 branches to anywhere", lambda: launch_far(3000), 20, "s"),
    "products": ("first launch, 2,048 products by wmma", lambda: launch_products(2048), 6, "s"),
    "cached": ("first launch, from the cache", lambda: launch(module()), 0.2, "s"),
}
CACHED = "cached"
BYTECODE = tempfile.TemporaryDirectory()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=ROWS)
    parser.add_argument("--row", choices=ROWS, help=argparse.SUPPRESS)
    results.option(parser)
    args = parser.parse_args()
    if args.row:
        print(json.dumps(ROWS[args.row][1]()))
        return
    print(f"{datetime.date.today()}, {machine()}, seconds of the processor")
    for name in [args.only] if args.only else ROWS:
        title, _, bar, unit = ROWS[name]
        found = measured(name)
        results.add(title, "measured", found, unit)
        results.add(title, "bar", bar, unit)
        told = "met" if found <= bar else "missed"
        print(f"{title:<52}{found:>9.3f} {unit:<3} bar {bar:g}: {told}", flush=True)
    results.write("ptx", args.record)


def measured(name: str) -> float:
    """A row, by a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "GRIDLANE_DEVICE": "cpu", "PYTHONPYCACHEPREFIX": BYTECODE.name}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # Python's own code is compiled before
        env |= {"GRIDLANE_CACHE_DIR": folder} if name == CACHED else {"GRIDLANE_CACHE": "0"}
        command = [sys.executable, __file__, "--row", name]
        for _ in range(2):
            done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
        return float(json.loads(done.stdout))


if __name__ == "__main__":
    main()
