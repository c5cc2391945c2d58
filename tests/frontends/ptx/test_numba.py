"""Kernels in Python by numba-cuda's PTX do what plain Python does, and what frontends/python does.

numba-cuda and libnvvm compile without a GPU. Nothing of frontends/python takes part in the random
kernels; tests/peers/corpus has more of both, for ``pytest tests/peers --ptx``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import pytest
from tests.peers.numba_ptx import launched
from tests.peers.numba_values import compare, kernels
from tests.property import python_oracle
from tests.property.python_kernels import BLOCK, GRID
from tests.property.test_python_kernels import program_of

SEEDS = range(1000, 1006)

_COMPILE = """
import json, linecache, math, sys
from types import SimpleNamespace
import numba, numba.cuda
import numpy as np
from tests.property.test_python_kernels import program_of

# Without a GPU, device functions are for the generation of the kernel.
device = SimpleNamespace(compute_capability=(8, 0))
numba.cuda.dispatcher.get_current_device = lambda: device
made = []
for seed in map(int, sys.argv[1:]):
    program = program_of(seed, "cpu")
    text = program.source.replace("@cuda.jit(OPTIONS)\\ndef k", "def k")
    name = f"kernel {seed}"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    namespace = {"cuda": numba.cuda, "np": np, "math": math}
    exec(compile(text, name, "exec"), namespace)
    types = tuple(numba.typeof(array) for array in program.arrays(seed))
    made += numba.cuda.compile_ptx(namespace["k"], types, device=False, cc=(8, 0))[:1]
print(json.dumps(made))
"""


@cache
def ptx_of(seeds: Sequence[int]) -> dict[int, str]:
    """numba-cuda's PTX of kernels, from a process in which nothing else is called numba. It takes
    3 s to begin."""
    pytest.importorskip("numba_cuda")
    command = [sys.executable, "-c", _COMPILE, *map(str, seeds)]
    root = Path(__file__).parents[3]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return dict(zip(seeds, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_kernel_by_numba(seed):
    check_random_kernel(seed, ptx_of(SEEDS)[seed])


def check_random_kernel(seed: int, ptx: str) -> None:
    """Compare numba's PTX of a random kernel with plain Python."""
    program = program_of(seed, "cpu")
    wanted = program.arrays(seed)
    python_oracle.run(program.source, wanted, GRID, BLOCK)
    for device in ("interp", "cpu"):
        arrays = program.arrays(seed)
        launched(device, ptx, arrays, GRID, BLOCK)
        for got, want in zip(arrays, wanted, strict=True):
            assert (got.view(f"u{got.itemsize}") == want.view(f"u{want.itemsize}")).all(), (
                f"{device}\n{program.source}"
            )


@pytest.fixture(scope="module")
def numba() -> Iterator[Executor]:
    """Where numba-cuda compiles."""
    pytest.importorskip("numba_cuda")
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        yield process


@pytest.mark.parametrize("number", [3, 200, 400])
def test_expressions_by_numba(numba, number):
    """numba's PTX and frontends/python give the same results of a kernel of expressions."""
    found = compare(numba, kernels()[number : number + 1])
    assert not found.wrong, "\n".join(found.wrong)
    assert found.points
