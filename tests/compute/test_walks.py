# ruff: noqa: F821  # extents are names that annotations define
"""Threads that walk along memory on processors: their loops are vectors."""

from __future__ import annotations

import numpy as np
import pytest

import gridlane
from gridlane.compute import Compute, Tensor, compute, f32, f64, i64


def by_rows(a: Tensor[f64, "M", "N"], x: Tensor[f64, "N"], y: Tensor[f64, "M"]):
    for i in range(M):
        for j in range(N):
            y[i] += a[i, j] * x[j]


def smoothed(a: Tensor[f32, "N", "N"], b: Tensor[f32, "N", "N"], times: int):
    for _t in range(times):
        for i in range(N):
            for j in range(1, N - 1):
                b[i, j] = a[i, j - 1] + a[i, j] + a[i, j + 1]
        for i in range(N):
            for j in range(1, N - 1):
                a[i, j] = b[i, j - 1] + b[i, j] + b[i, j + 1]


def forward(l: Tensor[f64, "N", "N"], x: Tensor[f64, "N"]):
    for i in range(N):
        for j in range(i):
            x[i] -= l[i, j] * x[j]


def walks(nest: Compute) -> list[bool]:
    with gridlane.device("cpu"):
        return [each.is_walk for each in nest.emitted.kernels]


def test_sums_are_vectors_only_where_their_order_is_free():
    free, strict = compute(fastmath=True)(by_rows), compute(by_rows)
    assert walks(free) == [True] and walks(strict) == [False]
    rng = np.random.default_rng(3)
    a, x = rng.random((77, 1003)), rng.random(1003)
    for nest in (free, strict):
        y, plain = np.ones(77), np.ones(77)
        with gridlane.device("cpu"):
            nest(a, x, y)
            compute(by_rows).plain(a, x, plain)
        np.testing.assert_allclose(y, a @ x + 1.0, 1e-12)
        assert nest is free or np.allclose(y, plain, 1e-15, 0)


def test_a_workgroup_is_of_lanes():
    nest = compute(fastmath=True, workgroup=(32,))(by_rows)
    assert walks(nest) == [False]


def test_rows_are_those_of_plain_loops():
    nest = compute(smoothed)
    assert all(walks(nest))
    a = np.random.default_rng(4).random((4099, 71)).astype(np.float32)[:4099]
    a = np.ascontiguousarray(np.resize(a, (301, 301)))
    values, plain = (a, a * 2), (a.copy(), a * 2)
    with gridlane.device("cpu"):
        nest(*values, 3)
        nest.plain(*plain, 3)
    assert all((one == other).all() for one, other in zip(values, plain, strict=True))
    assert np.isfinite(values[0]).all() and (values[0] != np.resize(a * 0, a.shape)).any()


def test_other_elements_of_the_array_of_a_sum():
    """The sum stays in a register: no x[j] is x[i]."""
    nest = compute(fastmath=True)(forward)
    with gridlane.device("cpu"):
        assert "c_x_0 = (c_x_0 - " in nest.explain()
        l, x = np.random.default_rng(5).random((130, 130)) / 130, np.ones(130)
        nest(l, x)
    np.testing.assert_allclose(x, np.linalg.solve(np.tril(l, -1) + np.eye(130), np.ones(130)), 1e-9)


def test_another_element_that_may_be_that_of_the_sum_is_read_from_memory():
    def moving(x: Tensor[i64, "N"], y: Tensor[i64, "N"]):
        for i in range(N):
            for j in range(i + 1):
                x[i] += x[j] + y[j]

    nest = compute(moving)
    x, y = np.arange(30), np.arange(30)[::-1].copy()
    wanted = x.copy()
    for i in range(30):
        for j in range(i + 1):
            wanted[i] += wanted[j] + y[j]
    with gridlane.device("cpu"):
        nest(x, y)
    assert (x == wanted).all()


@pytest.mark.parametrize("first", [-1, 2])
def test_indices_of_data_count_from_the_end(first):
    def chained(index: Tensor[i64, "N"], x: Tensor[f64, "N"], total: Tensor[f64, 1]):
        for i in range(N):
            total[0] = total[0] * 0.5 + x[index[i]]

    nest = compute(chained)
    index, x, total = np.full(70, first), np.arange(70.0), np.zeros(1)
    with gridlane.device("cpu"):
        nest(index, x, total)
    assert total[0] == pytest.approx(2 * x[first])


def test_loops_of_kernels_of_one_lane_are_vectors():
    @gridlane.cuda.jit
    def doubled(x, y, n):
        for k in range(n):
            y[k] = x[k] + x[k]

    with gridlane.device("cpu"):
        x, y = np.arange(101.0), np.zeros(101)
        doubled[1, 1](x, y, 100)
        doubled[1, 1](x, x, 100)  # the same memory
    assert (y[:100] == 2 * np.arange(100)).all() and y[100] == 0
    assert (x[:100] == y[:100]).all()
