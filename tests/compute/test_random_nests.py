"""Random nests: by devices, by one thread in order, and by CPython."""

from __future__ import annotations

import linecache
from types import FunctionType

import numpy as np
import pytest
from tests.compute.gpu_kernels import run_ways
from tests.compute.random_nests import SIZE, TENSORS, random_text
from tests.effort import NIGHTLY

import gridlane
from gridlane.compute import Tensor, compute, i64

SEEDS = [*range(400)] if NIGHTLY else [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17]
"""isl takes a quarter of a minute for the schedules of 5 and 11."""


def function_of(text: str, seed: int) -> FunctionType:
    file = f"<nest {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"Tensor": Tensor, "i64": i64, "N": SIZE}
    exec(compile(text, file, "exec"), scope)
    return scope["nest"]


def arrays(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 97, (SIZE,) * rank) for rank in TENSORS.values()]


@pytest.mark.parametrize("part", range(8))
def test_they_compute_what_python_does(part):
    for seed in SEEDS[part::8]:
        text = random_text(seed)
        nest = function_of(text, seed)
        wanted, made, plain = arrays(seed), arrays(seed), arrays(seed)
        nest(*wanted, 5)
        del nest.__globals__["N"]
        computed = compute(nest)
        with gridlane.device("cpu"):
            computed(*made, 5)
            computed.plain(*plain, 5)
        for name, one, other, third in zip(TENSORS, wanted, made, plain, strict=True):
            assert (one == third).all(), f"in order: seed {seed}: {name}\n{text}"
            assert (one == other).all(), f"seed {seed}: {name}\n{text}\n{computed.explain()}"


@pytest.mark.parametrize("seed", SEEDS if NIGHTLY else [1, 3, 6])
def test_kernels_of_gpus(seed):
    text = random_text(seed)
    nest = function_of(text, seed)
    wanted = arrays(seed)
    nest(*wanted, 5)
    del nest.__globals__["N"]
    for made, how in run_ways(compute(nest), lambda: (*arrays(seed), 5)):
        for name, one, other in zip(TENSORS, wanted, made, strict=False):
            assert (one == other).all(), f"{how}: seed {seed}: {name}\n{text}"
