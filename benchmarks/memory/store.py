"""Blocks into a store and out of it, beside plain writes and reads of files of the same size.

    python benchmarks/memory/store.py [--folder DIR] [--mebibytes 256] [--rounds 5] [--record]

Blocks have 2 MiB. All ways take turns: a round is each way's puts of all blocks with a flush, then
its gets; ratios are medians over rounds of the store's time by the plain file's, which is one file,
written with ``write`` and ``fdatasync``, and read with ``readinto``. Reads come from the system's
cache of files, so they measure the store and not the disk. ``direct`` is a plain file with
O_DIRECT, whose reads come from the disk.
"""

from __future__ import annotations

import argparse
import mmap
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

import results
from gridlane.memory.tiers import BlockStore
from timing import machine

BLOCK = 2 << 20


class Way(Protocol):
    """A way to keep blocks."""

    def write(self, blocks: list[np.ndarray]) -> None: ...

    def read(self, into: np.ndarray, count: int) -> None: ...

    def close(self) -> None: ...


class Plain:
    """One file."""

    def __init__(self, folder: Path, flags: int = 0) -> None:
        flags |= os.O_RDWR | os.O_CREAT
        self.file = os.open(folder / "plain", flags, 0o600)

    def write(self, blocks: list[np.ndarray]) -> None:
        for n, each in enumerate(blocks):
            assert os.pwrite(self.file, each, n * BLOCK) == BLOCK
        os.fdatasync(self.file)

    def read(self, into: np.ndarray, count: int) -> None:
        for n in range(count):
            assert os.preadv(self.file, [into], n * BLOCK) == BLOCK

    def close(self) -> None:
        os.close(self.file)


class Stored:
    """A store."""

    def __init__(self, folder: Path, codec: str) -> None:
        self.store = BlockStore(folder, codec)

    def write(self, blocks: list[np.ndarray]) -> None:
        for n, each in enumerate(blocks):
            self.store.put(str(n), each)
        self.store.flush()

    def read(self, into: np.ndarray, count: int) -> None:
        for n in range(count):
            self.store.read(str(n), into)

    def close(self) -> None:
        self.store.close()


WAYS: dict[str, Any] = {
    "plain": Plain,
    "direct": lambda folder: Plain(folder, os.O_DIRECT),
    "raw": lambda folder: Stored(folder, "raw"),
    "lz4": lambda folder: Stored(folder, "lz4"),
    "zstd": lambda folder: Stored(folder, "zstd"),
}


def blocks_of(kind: str, count: int) -> list[np.ndarray]:
    """Different blocks, in memory that O_DIRECT takes."""
    choose = np.random.default_rng(1)
    blocks = []
    for n in range(count):
        block = np.frombuffer(mmap.mmap(-1, BLOCK), np.float32)
        if kind == "noise":
            block.view(np.uint8)[:] = choose.integers(0, 256, BLOCK, np.uint8)
        else:  # a field with a little noise, as of a simulation
            wave = np.sin(np.arange(block.size, dtype=np.float32) * 1e-4 + n)
            block[:] = np.round(wave + choose.standard_normal(block.size) * 1e-3, 3)
        blocks.append(block)
    return blocks


def seconds(run: Any) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="on the disk to measure")
    parser.add_argument("--mebibytes", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    results.option(parser)
    args = parser.parse_args()
    count = max(1, (args.mebibytes << 20) // BLOCK)
    table = Table(title=f"{count} blocks of 2 MiB, MB/s, and time by that of a file; {machine()}")
    for column in ("blocks", "way", "write", "/ plain", "read", "/ plain", "stored"):
        table.add_column(column, justify="left" if column in ("blocks", "way") else "right")
    for kind in ("noise", "field"):
        measure(kind, count, args, table)
    Console(width=None if sys.stdout.isatty() else 110).print(table)
    results.write("memory_store", args.record)


def measure(kind: str, count: int, args: argparse.Namespace, table: Table) -> None:
    """Time all ways with blocks of a kind.

    Raises:
        SystemExit: a way does not read what it wrote.
    """
    blocks, times = blocks_of(kind, count), {}
    into = np.frombuffer(mmap.mmap(-1, BLOCK), np.float32)
    stored = dict.fromkeys(WAYS, 1.0)
    for _ in range(args.rounds):
        for name, make in WAYS.items():
            folder = Path(tempfile.mkdtemp(dir=args.folder))
            way = make(folder)
            written = seconds(lambda way=way: way.write(blocks))
            read = seconds(lambda way=way: way.read(into, count))
            if not np.array_equal(into.view(np.uint8), blocks[-1].view(np.uint8)):
                sys.exit(f"{name} reads other bytes")
            if isinstance(way, Stored):
                stored[name] = way.store.statistics().stored / (count * BLOCK)
            way.close()
            shutil.rmtree(folder)
            times.setdefault(name, []).append((written, read))
    for name, rows in times.items():
        cells = [kind, name]
        for at, action in enumerate(("write", "read")):
            speed = count * BLOCK / 1e6 / statistics.median(row[at] for row in rows)
            ratio = statistics.median(
                row[at] / plain[at] for row, plain in zip(rows, times["plain"])
            )
            case = f"{action}, {kind}"
            results.add(case, name, speed, "MB/s")
            if name != "plain":
                results.add(case, f"{name}/plain", ratio, "ratio")
            cells += [f"{speed:.0f}", f"{ratio:.2f}"]
        results.add(f"stored, {kind}", name, stored[name], "of the bytes")
        table.add_row(*cells, f"{stored[name]:.2f}")


if __name__ == "__main__":
    main()
