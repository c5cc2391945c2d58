"""Record what numba-cuda answers on an NVIDIA GPU: ``python -m tests.peers.record_values``.

Every fact whose result is a scalar is run twice, over results that were filled with other bytes
before: what differs then was never stored, since numba leaves it undefined.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import re
import tempfile
from pathlib import Path

import numpy as np
from tests.peers.facts import ERROR, Kinds, result_types
from tests.peers.values import BLOCK, TYPES, VALUES_FILE, grid

CHUNK = 24
"""Expressions of one kernel, where none of them may raise."""

RAISES = re.compile(
    r"/|%|divmod|\*\*|mod|remainder|divide|pow|reciprocal|log|sqrt|gamma|atanh|acos|asin|cmath"
)
"""Expressions whose kernel may end a thread early, so that each has a kernel of its own."""

SKIPPED = re.compile(r"range\(a|range\(1, a|shfl|str\(|is None|== None|\bis\b|factorial|isqrt|fp16")
RESULTS = {*TYPES, "float16", "complex64", "complex128"}

Item = tuple[str, str]
"""An expression and the type of its result."""


def kernel_source(items: list[Item], count: int) -> str:
    """A kernel of some expressions, with an array for each one's results."""
    names = ["A", "B"][:count]
    results = [f"o{n}" for n in range(len(items))]
    lines = ["from numba import cuda", "import cmath, math", "import numpy as np", "@cuda.jit"]
    lines += [f"def k({', '.join(names + results)}):", "    i_ = cuda.grid(1)"]
    lines += ["    if i_ < A.size:", *[f"        {name.lower()} = {name}[i_]" for name in names]]
    for n, (expression, _) in enumerate(items):
        parts = [re.sub(r"\b([xi])\b", rf"\1_{n}", part) for part in expression.split("; ")]
        lines += [f"        {part}" for part in parts[:-1]] + [f"        o{n}[i_] = {parts[-1]}"]
    return "\n".join(lines) + "\n"


def answers(work: tuple[Kinds, list[Item]]) -> list[tuple[str, Kinds, str, bytes]]:
    """The bits of each expression's results, then whether each was stored; half the expressions at
    a time where a kernel does not compile."""
    kinds, items = work
    arrays = grid(kinds)
    runs = [[np.zeros(arrays[0].size, result) for _, result in items] for _ in range(2)]
    for results, fill in zip(runs, (0xA5, 0x5A)):
        for array in results:
            array.view(np.uint8)[:] = fill & 1 if array.dtype == bool else fill
    try:
        kernel = _kernel(kernel_source(items, len(kinds)))
        for results in runs:
            kernel[-(-arrays[0].size // BLOCK), BLOCK](*arrays, *results)
    except Exception:
        if len(items) == 1:
            return [(items[0][0], kinds, ERROR, b"")]
        half = len(items) // 2
        return answers((kinds, items[:half])) + answers((kinds, items[half:]))
    found = []
    for (expression, result), one, two in zip(items, *runs):
        same = (one.view(np.uint8) == two.view(np.uint8)).reshape(one.size, -1).all(axis=1)
        found.append((expression, kinds, result, one.tobytes() + np.packbits(same).tobytes()))
    return found


def _kernel(text: str):
    """The kernel of a source text, from a file: numba reads the source."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel_of_values.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.k


def work() -> list[tuple[Kinds, list[Item]]]:
    """The kernels to run."""
    items: dict[Kinds, list[Item]] = {}
    for expression, row in result_types().items():
        for kinds, result in row.items():
            if kinds and result in RESULTS and all(kind in TYPES for kind in kinds):
                if not SKIPPED.search(expression):
                    items.setdefault(kinds, []).append((expression, result))
    found = []
    for kinds, some in items.items():
        quiet = [item for item in some if not RAISES.search(item[0])]
        found += [(kinds, quiet[n : n + CHUNK]) for n in range(0, len(quiet), CHUNK)]
        found += [(kinds, [item]) for item in some if RAISES.search(item[0])]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    index: dict[str, dict[str, tuple[str, int, int]]] = {}
    data = bytearray()
    context = multiprocessing.get_context("spawn")
    with context.Pool(parser.parse_args().jobs, maxtasksperchild=40) as pool:
        for rows in pool.imap(answers, work()):
            for expression, kinds, result, raw in rows:
                index.setdefault(expression, {})[",".join(kinds)] = (result, len(data), len(raw))
                data += raw
    stored = np.frombuffer(bytes(data), np.uint8)
    np.savez_compressed(VALUES_FILE, data=stored, index=np.array(json.dumps(index)))


if __name__ == "__main__":
    main()
