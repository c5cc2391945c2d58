"""Times of a step of a 3-D wave on a lattice, and of the same in CUDA C++.

    python benchmarks/actors/lattice.py --device cuda --fdtd ./fdtd

``--fdtd`` is a program that prints its own table: nvcc -O3 -arch=sm_90a -std=c++17 fdtd.cu.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[2]))
from benchmarks import results

from gridlane import actors
from gridlane.cuda import float32

REPEATS = 5


@actors.lattice(fields={"u": float32, "v": float32}, neighbours=6)
def wave(ctx, u, v, c):
    around = u[0, 0, 1] + u[0, 0, -1] + u[0, 1, 0] + u[0, -1, 0] + u[1, 0, 0] + u[-1, 0, 0]
    return 2 * u[0, 0, 0] - v[0, 0, 0] + c * (around - 6 * u[0, 0, 0]), u[0, 0, 0]


def step_us(runtime, size: int, mode: str, steps: int) -> tuple[float, str]:
    """Microseconds of a step, the median of some runs; how the lattice stepped."""
    ref = runtime.lattice(wave, (size,) * 3, args=(0.1,), boundary="fixed", mode=mode)
    u = np.zeros((size,) * 3, np.float32)
    u[size // 2, size // 2, size // 2] = 1
    ref.write(u=u, v=u)
    ref.activate()
    ref.step(steps)
    ref.wait()
    times: list[float] = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        ref.step(steps)
        ref.wait()
        times.append((time.perf_counter() - start) / steps * 1e6)
    told = ref.mode if ref.blocks is None else f"{ref.mode}, blocks {ref.blocks}"
    ref.terminate()
    return statistics.median(times), told


def wait_us(runtime, size: int) -> float:
    """Microseconds of one step that is waited for, the median."""
    ref = runtime.lattice(wave, (size,) * 3, args=(0.1,))
    ref.activate()
    ref.step(100)
    ref.wait()
    times: list[float] = []
    for _ in range(1000):
        start = time.perf_counter()
        ref.step(1)
        ref.wait()
        times.append((time.perf_counter() - start) * 1e6)
    ref.terminate()
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--fdtd", help="the program in CUDA C++")
    results.option(parser)
    args = parser.parse_args()
    with actors.Runtime(device=args.device) as runtime:
        facts = runtime.device.describe()
        print(f"3-D wave, 7 points, float32, {facts.get('name', args.device)}: us a step")
        for size in args.sizes:
            steps = max(10, 2_000_000_000 // size**3 // (1 if args.device == "cuda" else 200))
            for mode in ("auto", "launches"):
                us, told = step_us(runtime, size, mode, min(steps, 5000))
                cells = size**3 / us / 1e3
                results.add(f"{size}^3, a step", mode, us, "us")
                print(f"{size:4}^3  {mode:9} {us:9.2f} us  {cells:8.2f} Gcells/s  ({told})")
                if told == "launches":
                    break
        waited = wait_us(runtime, args.sizes[0])
        results.add(f"{args.sizes[0]}^3, a step", "and a wait", waited, "us")
        print(f"one step of {args.sizes[0]}^3 and wait {waited:.1f} us")
    if args.fdtd:
        done = subprocess.run([args.fdtd], capture_output=True, text=True, check=True)
        print(done.stdout, end="")
    results.write(f"actors_lattice_{args.device}", args.record, args.device)


if __name__ == "__main__":
    main()
