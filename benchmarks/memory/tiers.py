"""What a hit in a tiered array costs, and how fast blocks stream between host and disk.

    python benchmarks/memory/tiers.py [--folder DIR] [--mebibytes 256] [--rounds 5] [--record]

A hit is a pin of a block that is in its place, and its release: by ``Tiers``, and by a with block
of the array's. Each is the least of some rounds of many. The bar is 300 ns.
Streams go once through an array of four times the host's quota, in blocks of 1 MiB, with a raw
store; figures are medians over rounds, in MB/s (10^6 bytes). Files are in the system's cache.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import results
from gridlane.memory.tiers import BlockStore, TieredArray, Tiers, tiered
from timing import machine

MIB = 1 << 20
CALLS = 20000
BAR_NS = 300.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="where files go; a temporary one by default")
    parser.add_argument("--mebibytes", type=int, default=256, help="of the array")
    parser.add_argument("--rounds", type=int, default=5)
    results.option(parser)
    args = parser.parse_args()
    print(machine())
    hits(args.rounds)
    with (
        tempfile.TemporaryDirectory(dir=args.folder) as folder,
        BlockStore(folder, "raw", temporary=True) as store,
    ):
        tiers = Tiers(args.mebibytes * MIB // 4, disk=store)
        streams(tiered(args.mebibytes * MIB // 8, np.float64, tiers), args.rounds)
        tiers.close()
    results.write("memory_tiers", args.record)


def hits(rounds: int) -> None:
    """Print what hits cost."""
    tiers = Tiers("64MiB")
    array = tiered(MIB, np.float64, tiers)
    array[...] = 1
    shown = next(iter(array.blocks(prefetch=0)))
    row = array._row  # pyright: ignore[reportPrivateUsage]  # what with blocks use
    block = row.block(0)

    def pin() -> None:
        acquire, release = tiers.acquire, tiers.release
        for _ in range(CALLS):
            acquire(block)
            release(block)

    def write() -> None:
        acquire, release = tiers.acquire, tiers.release
        for _ in range(CALLS):
            acquire(block, True)
            release(block, True)

    def with_block() -> None:
        for _ in range(CALLS):
            with shown.on_host():
                pass

    ways = {"pin and release": pin, "pin for writing": write, "with block": with_block}
    for name, way in ways.items():
        took = min(timed(way) for _ in range(4 * rounds)) / CALLS * 1e9
        results.add("a hit", name, took, "ns")
        print(f"a hit, {name}: {took:.0f} ns{'' if took < BAR_NS else f', above {BAR_NS:g}'}")


def streams(array: TieredArray, rounds: int) -> None:
    """Print how fast an array is written and read."""
    data = np.random.default_rng(1).random(array.block_bytes // 8)

    def fill() -> None:
        for begin in range(0, array.size, data.size):
            array[begin : begin + data.size] = data

    def read() -> None:
        for block in array.blocks(prefetch=2):
            with block.on_host() as elements:
                assert elements[-1] == data[elements.size - 1]

    def update() -> None:
        for block in array.blocks(prefetch=2):
            with block.on_host(write=True) as elements:
                elements[0] = data[0]

    fill()
    for name, way in {"write": fill, "read": read, "read and write": update}.items():
        speed = array.nbytes / statistics.median(timed(way) for _ in range(rounds)) / 1e6
        results.add("host and disk", name, speed, "MB/s")
        print(f"host and disk, {name}: {speed:.0f} MB/s")


def timed(way: Callable[[], object]) -> float:
    """The seconds of a call."""
    start = time.perf_counter()
    way()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
