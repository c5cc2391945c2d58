# ruff: noqa: F821  # extents are names that annotations define
"""Strips of parallel loops on processors: they begin with lines of memory, wherever arrays lie."""

from __future__ import annotations

import numpy as np
import pytest

import gridlane
from gridlane import cuda
from gridlane.compute import Compute, Tensor, f32, f64
from gridlane.compute.choosing import SMALL
from gridlane.compute.programs import elements_behind_line


def columns(a: Tensor[f64, "M", "N"], q: Tensor[f64, "M"], r: Tensor[f64, "N"], times: int):
    for _ in range(times):
        for j in range(1, N):
            r[j] = 0.0
            for i in range(M):
                r[j] += q[i] * a[i, j]
            for i in range(M):
                a[i, j] -= q[i] * r[j]
        for i in range(M):
            q[i] += a[i, 0]


def sums(a: Tensor[f32, "M", "N"], shift: Tensor[f32, "N"]):
    for j in range(N):
        for i in range(M):
            shift[j] += a[i, j]


def placed(array: np.ndarray, behind: int, row: int) -> np.ndarray:
    """A copy of an array whose rows have bytes between them, some bytes behind a line's start."""
    size = array.itemsize
    step = array.shape[-1] * size + row
    memory = np.zeros(len(array) * step + 256, np.uint8)
    first = -memory.ctypes.data % 64 + behind
    own = np.ndarray(array.shape, array.dtype, memory, first, (step, size))
    own[:] = array
    return own


@pytest.mark.parametrize("behind", [0, 8, 16, 40, 56])
@pytest.mark.parametrize("n", [2, 63, 64, 65, 66, 200])
def test_results_do_not_depend_on_where_arrays_lie(behind, n):
    rng = np.random.default_rng(n)
    start = rng.integers(-3, 4, (9, n)).astype(float)
    q, r = rng.integers(-2, 3, 9).astype(float), np.zeros(n)
    nest = Compute(columns)
    plain = start.copy(), q.copy(), r.copy()
    with gridlane.device("interp"):
        nest.plain(*plain, 2)
    with gridlane.device("cpu"):
        program = nest._program({}, False)
        program.small = None
        assert program.emitted.order.shift and program.emitted.order.aligned == "a"
        for row in (-n * 8 % 64, 8):
            a = placed(start, behind, row)
            given = a, q.copy(), r.copy()
            for _ in range(3):
                a[:], given[1][:], given[2][:] = start, q, r
                nest(*given, 2)
                for one, other in zip(given, plain, strict=True):
                    assert np.array_equal(one, other)


def test_a_parameter_has_no_name_of_the_text():
    nest, rng = Compute(sums, fastmath=True), np.random.default_rng(1)
    with gridlane.device("cpu"):
        order = nest.emitted.order
        assert order.shift == "shift_" and order.aligned == "a"
        a = placed(rng.integers(-9, 9, (33, 300)).astype(np.float32), 20, 16)
        found = np.zeros(300, np.float32)
        nest(a, found)
    assert np.array_equal(found, a.sum(0))


def test_elements_behind_a_line():
    whole = np.zeros((4, 16))
    for behind in (0, 8, 24, 56):
        assert elements_behind_line(placed(whole, behind, 0)) == behind // 8
        assert elements_behind_line(placed(whole, behind, 8)) == 0
        assert elements_behind_line(placed(whole, behind, 0)[:, ::2]) == 0
    assert elements_behind_line(placed(whole, 20, 0)) == 0
    assert elements_behind_line(placed(whole.astype(np.float32), 20, 0)) == 5
    assert elements_behind_line(placed(whole, 24, 0)[:, 2:]) == 5
    assert elements_behind_line([[1.0]]) == 0
    with gridlane.device("cpu"):
        array = cuda.to_device(whole)
        assert elements_behind_line(array) == 0
        assert elements_behind_line(array[:, 3:]) == 3


def test_extents_beyond_those_of_one_thread():
    a = np.ones((2, SMALL + 9))
    q, r = np.full(2, 0.5), np.zeros(SMALL + 9)
    with gridlane.device("cpu"):
        Compute(columns)(a, q, r, 1)
    assert (r[1:] == 1.0).all() and (a[:, 1:] == 0.5).all() and (a[:, 0] == 1.0).all()
