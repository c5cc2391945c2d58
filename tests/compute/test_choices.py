# ruff: noqa: F821  # extents are names that annotations define
"""Orders that measurements of nests beside PolyBench's have shown to be the faster ones."""

from __future__ import annotations

import numpy as np

import gridlane
from gridlane.compute import Compute, Tensor, compute, f64


def emitted(nest: Compute):
    with gridlane.device("cpu"):
        return nest.emitted


def test_columns_that_depend_on_the_row_before_are_lanes():
    """No strips: their loops would write other elements each time."""

    @compute
    def summed(a: Tensor[f64, "M", "N"]):
        for i in range(1, M):
            for j in range(N):
                a[i, j] += a[i - 1, j]

    chosen = emitted(summed)
    assert not chosen.order.strips and not any(each.is_walk for each in chosen.kernels)
    a = np.arange(35.0).reshape(5, 7)
    wanted = np.cumsum(a, axis=0)
    with gridlane.device("cpu"):
        summed(a)
    assert (a == wanted).all()


def test_sums_of_columns_are_strips():
    @compute
    def columns(a: Tensor[f64, "M", "N"], s: Tensor[f64, "N"]):
        for i in range(M):
            for j in range(N):
                s[j] += a[i, j]

    chosen = emitted(columns)
    assert chosen.order.strips and all(each.is_walk for each in chosen.kernels)
    a, s = np.arange(35.0).reshape(5, 7), np.zeros(7)
    with gridlane.device("cpu"):
        columns(a, s)
    assert (s == a.sum(0)).all()


def test_lanes_store_neighbours_and_load_others():
    @compute
    def transposed(a: Tensor[f64, "M", "N"], b: Tensor[f64, "N", "M"]):
        for i in range(M):
            for j in range(N):
                b[j, i] = a[i, j]

    (kernel,) = emitted(transposed).kernels
    assert kernel.loops == ("i", "j")
    a, b = np.arange(35.0).reshape(5, 7), np.zeros((7, 5))
    with gridlane.device("cpu"):
        transposed(a, b)
    assert (b == a.T).all()
