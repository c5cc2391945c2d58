"""Random nests of sums and transposed reads: CPython's results, by each kernel of devices."""

from __future__ import annotations

import builtins
import linecache
import random

import numpy as np
import pytest
from tests.compute.gpu_kernels import run_ways
from tests.compute.shared_nests import random_text
from tests.effort import NIGHTLY

import gridlane
from gridlane.compute import Compute, Tensor, compute, i64

COUNT = 300 if NIGHTLY else 12
SIZES = [(1, 1), (3, 35), (33, 5), (2, 70), (40, 40), (5, 3), (70, 3), (3, 290), (64, 33)]
"""Extents M and N; 290 elements are more than the lanes of a block."""


def case(seed: int) -> tuple[Compute, str, tuple[int, int, int]]:
    """A nest, its text, and M, N and q."""
    text, rng = random_text(seed), random.Random(seed)
    file = f"<shared nest {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"Tensor": Tensor, "i64": i64}
    exec(compile_text(text, file), scope)
    return compute(scope["nest"]), text, (*rng.choice(SIZES), rng.randint(0, 3))


def compile_text(text: str, file: str):
    return builtins.compile(text, file, "exec")


def arrays(seed: int, sizes: tuple[int, int, int]) -> tuple:
    rng, (m, n, q) = np.random.default_rng(seed), sizes
    shapes = (m, n), (n, m), (m, n), m, n
    return *[rng.integers(-9, 9, shape) for shape in shapes], q


def in_python(nest: Compute, arguments: tuple) -> None:
    scope = nest.function.__globals__
    scope |= {"M": arguments[0].shape[0], "N": arguments[0].shape[1]}
    with np.errstate(over="ignore"):
        nest.function(*arguments)
    del scope["M"], scope["N"]


@pytest.mark.parametrize("part", range(4))
def test_they_compute_what_python_does(part: int) -> None:
    ways = 0
    for seed in range(part, COUNT, 4):
        nest, text, sizes = case(seed)
        wanted = arrays(seed, sizes)
        in_python(nest, wanted)

        def require(made: tuple, how: str, at=(seed, sizes, text), wanted=wanted) -> None:
            for one, other in zip(wanted, made, strict=True):
                assert np.array_equal(one, other), f"{how}: seed {at[0]}, {at[1]}\n{at[2]}"

        with gridlane.device("cpu"):
            for run, how in ((nest, "cpu"), (nest.plain, "in order")):
                made = arrays(seed, sizes)
                run(*made)
                require(made, how)
        for made, how in run_ways(nest, lambda at=(seed, sizes): arrays(*at)):
            require(made, how)
            ways += 1
    assert ways > COUNT // 4
