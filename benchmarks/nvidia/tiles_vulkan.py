"""A product of float16 as a tile program, through Vulkan and through CUDA, on one GPU.

    python -m benchmarks.nvidia.tiles_vulkan [--sizes 8192,4096,1024] [--rounds 2] [--record]

Vulkan computes it by cooperative matrices, CUDA by the instructions of warpgroups. Each device has
a process of its own, and they take turns; each has the tiles that are the fastest there. The data
are random. Times are the host's, of as many launches as take 0.3 s, with one wait behind them: the
median of three. Some rows of each result are compared with NumPy's.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from statistics import median

import numpy as np
from benchmarks import results

from gridlane.tiles import jit
from gridlane.tiles import language as tl

DEVICES = "cuda", "vulkan"
SIZES = 8192, 4096, 1024
ROWS = 64
"""Of a result that are compared."""

Tiles = tuple[int, int, int, int, int]

TILES: dict[str, dict[int, Tiles]] = {
    "cuda": {8192: (128, 256, 64, 8, 4), 4096: (128, 256, 64, 8, 4), 1024: (64, 128, 64, 4, 4)},
    "vulkan": {8192: (128, 128, 64, 4, 2), 4096: (128, 128, 64, 4, 2), 1024: (64, 128, 32, 4, 2)},
}
"""Rows, columns, the inner extent, warps and stages, by the size of matrices."""

OTHERS: Tiles = (32, 32, 32, 4, 2)


@jit
def product(a, b, c, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr):
    """Of matrices of n rows and columns, which tiles divide."""
    program, down, across = tl.program_id(0), tl.cdiv(n, M), tl.cdiv(n, N)
    group = program // (GROUP * across)
    high = min(down - group * GROUP, GROUP)
    row = group * GROUP + program % (GROUP * across) % high
    column = program % (GROUP * across) // high
    i, j, s = row * M + tl.arange(0, M), column * N + tl.arange(0, N), tl.arange(0, K)
    left, right = a + i[:, None] * n + s[None, :], b + s[:, None] * n + j[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, n, K):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += K
        right += K * n
    tl.store(c + i[:, None] * n + j[None, :], total.to(tl.float16))


def measure(device: str, sizes: list[int]) -> None:
    """What the process of one device does: prints a JSON pair of a size and its TFLOP/s."""
    rng = np.random.default_rng(0)
    for size in sizes:
        tiles = TILES.get(device, {}).get(size, OTHERS)
        print(json.dumps([size, speed(device, size, tiles, rng)]), flush=True)


def speed(device: str, size: int, tiles: Tiles, rng: np.random.Generator) -> float:
    """The TFLOP/s of a product, whose result is right."""
    from gridlane import cuda

    m, n, k, warps, stages = tiles
    x, y = (rng.standard_normal((size, size), np.float32).astype(np.float16) for _ in "xy")
    a, b, c = (cuda.to_device(each) for each in (x, y, np.zeros_like(x)))
    launch = product[(size // m * (size // n),)]

    def run(count: int) -> float:
        begin = time.perf_counter()
        for _ in range(count):
            launch(a, b, c, size, M=m, N=n, K=k, GROUP=8, num_warps=warps, num_stages=stages)
        cuda.synchronize()
        return (time.perf_counter() - begin) / count

    run(2)
    count = max(3, int(0.3 / run(3)))
    seconds = median([run(count) for _ in range(3)])
    want = x[:ROWS].astype(np.float32) @ y.astype(np.float32)
    apart = np.abs(c.copy_to_host()[:ROWS] - want).max() / np.abs(want).max()
    if not apart < 2e-3:
        raise SystemExit(f"{device}, {size}: the result is wrong by {apart:.1e}")
    return 2e-12 * size**3 / seconds


def of_process(device: str, sizes: str) -> dict[int, float]:
    """The TFLOP/s of a device by size, which a process of its own measures."""
    command = [sys.executable, "-m", "benchmarks.nvidia.tiles_vulkan", "--child", device]
    environment = {**os.environ, "GRIDLANE_DEVICE": device}
    done = subprocess.run(
        [*command, "--sizes", sizes],
        env=environment, cwd=results.ROOT, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{device}: {done.stderr[-4000:]}")
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))


def main() -> None:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--devices", default=",".join(DEVICES), help="the second is compared")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    results.option(parser)
    args = parser.parse_args()
    sizes = [*map(int, args.sizes.split(","))]
    if args.child:
        measure(args.child, sizes)
        return
    first, second = args.devices.split(",")
    rounds = [
        (of_process(first, args.sizes), of_process(second, args.sizes)) for _ in range(args.rounds)
    ]
    print(f"{'':8}{first:>10}{second:>10}  TFLOP/s")
    for size in sizes:
        theirs, ours = (median(each[side][size] for each in rounds) for side in (0, 1))
        ratio = median(each[0][size] / each[1][size] for each in rounds)
        print(f"{size:<8}{theirs:10.1f}{ours:10.1f}  {ours / theirs:.2f} of {first}")
        case = f"product of float16, {size}"
        results.add(case, first, theirs, "TFLOP/s")
        results.add(case, second, ours, "TFLOP/s")
        results.add(case, f"{second}/{first}", ratio, "ratio")
    results.write("nvidia_tiles_vulkan", args.record, first)


if __name__ == "__main__":
    main()
