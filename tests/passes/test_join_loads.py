"""Words beside each other in shared memory, loaded at once: the answer stays, and what may change
in between is loaded again."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import assert_same, run_on
from tests.passes.legalizing import copied

from gridlane import compiler, cuda
from gridlane.backends import backend
from gridlane.backends.record import Fact
from gridlane.compiler import pipeline
from gridlane.core.argtypes import float32, int32
from gridlane.core.features import Feature
from gridlane.core.options import KernelOptions
from gridlane.ir.ops import memory
from gridlane.ir.types import VectorType
from gridlane.ir.verifier import verify


def of_rows(out, a, n):
    tile = cuda.shared.array((32, 4), float32)
    t = cuda.threadIdx.x
    for c in range(4):
        tile[t, c] = a[4 * t + c]
    cuda.syncthreads()
    j = (t + n) % 32
    out[t] = tile[j, 0] * tile[j, 1] - tile[j, 3]


def not_from_the_start(out, a, n):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    for c in range(4):
        tile[4 * t + c] = a[4 * t + c]
    cuda.syncthreads()
    out[t] = tile[4 * t + 3] - tile[4 * t + 2] + tile[8 * (t // 2) + 5] * tile[8 * (t // 2) + 7]


def in_a_loop(out, a, n):
    tile = cuda.shared.array((32, 4), float32)
    t = cuda.threadIdx.x
    for c in range(4):
        tile[t, c] = a[4 * t + c]
    cuda.syncthreads()
    total = float32(0)
    for j in range(n):
        total += tile[j % 32, 1] * tile[j % 32, 2]
    out[t] = total


def changed_between(out, a, n):
    tile = cuda.shared.array((32, 4), float32)
    t = cuda.threadIdx.x
    tile[t, 0] = a[4 * t]
    tile[t, 1] = a[4 * t + 1]
    first = tile[t, 0]
    tile[t, 1] = a[4 * t + 2]
    out[t] = first + tile[t, 1]


def over_the_edge(out, a, n):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    for c in range(4):
        tile[4 * t + c] = a[4 * t + c]
    cuda.syncthreads()
    out[t] = tile[4 * (t // 2) + 3] + tile[4 * (t // 2) + 4] + tile[3 * t] * tile[3 * t + 1]


def joined(function):
    """The module before and after, and how many vectors are loaded."""
    before = compiler.translate(function, (float32[::1], float32[::1], int32), KernelOptions())
    after = copied(before)
    given = {Fact.OPTIMISED, Fact.COMPACT, Feature.SOFTWARE}
    pipeline.run(after, backend("vulkan"), given)
    verify(after)
    vectors = [
        op
        for op in after.kernel.body.walk()
        if isinstance(op, memory.Load) and isinstance(op.results[0].type, VectorType)
    ]
    return before, after, len(vectors)


@pytest.mark.parametrize(
    ("function", "vectors"),
    [(of_rows, 1), (not_from_the_start, 2), (in_a_loop, 1), (changed_between, 0)]
    + [(over_the_edge, 0)],
)
def test_the_answer_stays(function, vectors):
    before, after, found = joined(function)
    assert found == vectors
    a = np.random.default_rng(1).standard_normal(128).astype(np.float32)
    launch = (1, 1, 1), (32, 1, 1), [np.zeros(32, np.float32), a], (32, 4, 128, 4, 11)
    wanted, got = (run_on("interp", module, *launch) for module in (before, after))
    assert_same(got.arrays, wanted.arrays, ["out", "a"])
    assert wanted.arrays[0].any()
