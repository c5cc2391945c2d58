"""Time CUDA C++ from its source to a running kernel on the CPU, by clang with gridlane's headers.

    python benchmarks/cpp.py [ROUNDS]

Each row is a file: 100 lines with our headers, and the same with <iostream>. "to running" is the
time from the text to the result of a launch, with nothing of it in the cache, in a process that has
run another kernel; "cached" the same from the cache; "cached, first" that of a process's first
kernel, with the imports that it needs. Beside them stands clang's own time for the file. Times are
of the wall and of the processor, which other programs on the machine disturb less: the least of the
rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import results
from benchmarks.timing import machine

from gridlane.frontends.cuda_cpp import CppSource, choose

BARS = {"our headers": 0.6, "<iostream>": 1.2, "cached": 0.1}
"""Seconds from source to running."""
ROWS = "clang alone", "to running", "cached", "cached, first"

STEP = """
__global__ void step{n}(const float *x, float *y, int count, float dt)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float left = i > 0 ? x[i - 1] : x[i], right = i + 1 < count ? x[i + 1] : x[i];
    float change = left + right - 2.0f * x[i];
    for (int k = 0; k < {n}; k++)
        change = change * 0.5f + sinf(x[i] * dt) * {n}.0f;
    y[i] = x[i] + dt * change;
}}
"""
HEAD = """#include <cuda_runtime.h>
#include <cuda_fp16.h>
"""
MAIN = """
int main()
{
    float *x, *y;
    cudaMalloc(&x, 1000 * sizeof(float));
    cudaMalloc(&y, 1000 * sizeof(float));
    step1<<<8, 128>>>(x, y, 1000, 0.1f);
    return cudaDeviceSynchronize() != cudaSuccess;
}
"""
PROGRAM = """
import json, os, sys, time
import numpy as np
from gridlane import cuda
def run(code):
    x, y = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    wall, cpu = time.perf_counter(), sum(os.times()[:4])
    kernel = cuda.RawModule(code=code, name_expressions=["step1"], backend="clang")
    kernel.get_function("step1")(8, 128, (x, y, 1000, np.float32(0.1)))
    assert y[1] != 0
    return time.perf_counter() - wall, sum(os.times()[:4]) - cpu
if sys.argv[2] == "warm":
    run("__global__ void step1(float *, float *y, int, float) { y[1] = 1; }")
print(json.dumps(run(open(sys.argv[1]).read())))
"""


def sources() -> dict[str, str]:
    """The files by what they include."""
    body = "".join(STEP.format(n=n) for n in range(1, 8)) + MAIN
    made = {"our headers": HEAD + body, "<iostream>": "#include <iostream>\n" + HEAD + body}
    assert all(95 <= text.count("\n") <= 105 for text in made.values()), "100 lines"
    return made


def to_running(file: Path, cache: str, state: str = "warm") -> list[float]:
    """Wall and processor seconds in a process with this directory as its cache."""
    environment = {**os.environ, "GRIDLANE_CACHE_DIR": cache, "GRIDLANE_DEVICE": "cpu"}
    words = [sys.executable, "-c", PROGRAM, str(file), state]
    made = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    return json.loads(made.stdout)


def by_clang(code: str) -> list[float]:
    """Wall and processor seconds of the compiler alone."""
    compiler = choose("clang")
    wall, cpu = time.perf_counter(), sum(os.times()[2:4])
    compiler.compile(CppSource(code))
    return [time.perf_counter() - wall, sum(os.times()[2:4]) - cpu]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int, nargs="?", default=5)
    results.option(parser)
    args = parser.parse_args()
    print(f"{date.today()}, {machine()}, {choose('clang').identity().split()[:2]}")
    print(f"{'file':<14}{'':<20}{'wall s':>8}{'cpu s':>8}{'bar s':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, code in sources().items():
            file = Path(folder, "k.cu")
            file.write_text(code)
            rows: dict[str, list[list[float]]] = {name: [] for name in ROWS}
            for n in range(args.rounds):
                cache = str(Path(folder, f"cache{n}{len(name)}"))
                Path(cache).mkdir(mode=0o700)
                rows["clang alone"].append(by_clang(code))
                rows["to running"].append(to_running(file, cache))
                rows["cached"].append(to_running(file, cache))
                rows["cached, first"].append(to_running(file, cache, "fresh"))
            for what, times in rows.items():
                wall, cpu = (min(column) for column in zip(*times, strict=True))
                bar = BARS.get(what, BARS[name] if what == "to running" else "")
                print(f"{name:<14}{what:<20}{wall:>8.3f}{cpu:>8.3f}{bar!s:>8}")
                results.add(f"{name}, of the wall", what, wall, "s")
                results.add(f"{name}, of the processor", what, cpu, "s")
    results.write("cpp", args.record, versions={"clang": choose("clang").identity().split()[1]})


if __name__ == "__main__":
    main()
