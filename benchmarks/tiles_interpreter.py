"""Tile programs on this machine's processor beside Triton's interpreter.

    python benchmarks/tiles_interpreter.py PYTHON [--record]

PYTHON is the interpreter of an environment with Triton and PyTorch, which runs the same programs
with TRITON_INTERPRET=1. Each side has a process of its own and runs three times (gridlane fifteen
times) after a first run; the smallest time counts. The results are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import results
import tile_programs
from gridlane import tiles
from timing import machine

ROUNDS = 15


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("python", help="of an environment with Triton")
    results.option(parser)
    args = parser.parse_args()
    table = Table(title=f"milliseconds; {machine()}")
    for column in ("case", "gridlane", "interpreter", "interpreter / gridlane"):
        table.add_column(column, justify="left" if column == "case" else "right")
    made = cases(np.random.default_rng(1))
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, (grid, result, values) in made.items():
            np.savez(folder / f"{name}.npz", grid=grid, result=result, **values)
        theirs = interpreted(args.python, folder)
        for name, (grid, result, values) in made.items():
            ours = measured(name, grid, values)
            if not np.allclose(values[result], np.load(folder / f"{name}.npy"), 1e-4, 1e-5):
                wrong.append(name)
            results.add(name, "gridlane", ours, "ms")
            results.add(name, "interpreter", theirs[name], "ms")
            results.add(name, "interpreter/gridlane", theirs[name] / ours, "ratio")
            row = f"{ours:.3f}", f"{theirs[name]:.1f}", f"{theirs[name] / ours:.0f}"
            table.add_row(name, *row)
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    results.write("tiles_interpreter", args.record, versions={"triton": version(args.python)})
    if wrong:
        sys.exit("wrong results: " + ", ".join(wrong))


Case = tuple[tuple[int, ...], str, dict[str, Any]]
"""The grid, the parameter that has the result, and the arguments."""


def cases(rng: np.random.Generator) -> dict[str, Case]:
    """Each case by the name of its program."""
    x, y = rng.random((2, 512, 1024), dtype=np.float32)
    a, b = rng.random((2, 512, 512), dtype=np.float32)
    q, k, v = rng.random((3, 4, 256, 64), dtype=np.float32)
    scale, shift = rng.random((2, 1024), dtype=np.float32)
    row = {"columns": 1024, "BLOCK": 1024}
    sides = {"m": 512, "n": 512, "k": 512, "M": 128, "N": 128, "K": 64}
    heads = {"length": 256, "scale": 0.125, "WIDTH": 64, "M": 64, "N": 64}
    given: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
        "add": ((512,), {"x": x, "y": y, "n": x.size, "BLOCK": 1024}),
        "softmax": ((512,), {"x": x, **row}),
        "layer_norm": ((512,), {"x": x, "scale": scale, "shift": shift, **row}),
        "product": ((4, 4), {"a": a, "b": b, "c": np.zeros_like(a), **sides}),
        "attention": ((4, 4), {"q": q, "k": k, "v": v, "out": np.zeros_like(q), **heads}),
    }
    made: dict[str, Case] = {}
    for name, (grid, values) in given.items():
        if "x" in values:
            values["out"] = np.zeros_like(x)
        made[name] = grid, "c" if name == "product" else "out", values
    return made


def measured(name: str, grid: tuple[int, ...], values: dict[str, Any]) -> float:
    """Milliseconds of a case by gridlane."""
    program, times = getattr(tile_programs, name), list[float]()
    assert isinstance(program, tiles.JITFunction)
    program[grid](**values)
    for _ in range(ROUNDS):
        start = time.perf_counter()
        program[grid](**values)
        times.append((time.perf_counter() - start) * 1e3)
    return min(times)


def interpreted(python: str, folder: Path) -> dict[str, float]:
    """Milliseconds of each case by Triton's interpreter."""
    script = Path(__file__).with_name("tiles_interpreted.py")
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [python, script, folder], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["case"]: row["ms"] for row in rows}


def version(python: str) -> str:
    """The version of Triton."""
    text = "import triton; print(triton.__version__)"
    done = subprocess.run([python, "-c", text], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    main()
