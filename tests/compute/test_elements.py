# ruff: noqa: F821  # extents are names that annotations define
"""Variables that are copies of elements: the elements take their places where nothing differs."""

from __future__ import annotations

import numpy as np
from tests.compute.polybench import PROGRAMS

import gridlane
from gridlane.compute import Tensor, compute, f32, f64


def test_sums_in_a_copy():
    nest = PROGRAMS["ludcmp"].nest.nest
    assert nest.variables == ("w_3", "w_4")  # from b to y, and from y to x
    assert [each.name for each in nest.statements][:3] == ["S1", "S2", "S4"]


def test_other_accesses_to_the_element():
    """They see the element without the sums in the variable, so it stays one."""

    @compute
    def read(a: Tensor[f64, "N"], b: Tensor[f64, "N"]):
        for i in range(N):
            w = a[i]
            for k in range(N):
                w = w * 0.5 + a[k]
            b[i] = w
            a[i] = w

    @compute
    def moved(a: Tensor[f64, "N"], b: Tensor[f64, "N"]):
        for i in range(N):
            w = a[i]
            for k in range(i):
                w = w * 0.5 + a[k]
                b[k] = a[k + 1]
            a[i] = w

    for nest in (read, moved):
        assert nest.nest.variables == ("w",)
        a, b = np.arange(1.0, 9.0), np.zeros(8)
        values, wanted = (a.copy(), b.copy()), (a.copy(), b.copy())
        for i in range(8):
            w = wanted[0][i]
            for k in range(8 if nest is read else i):
                w = w * 0.5 + wanted[0][k]
                if nest is moved:
                    wanted[1][k] = wanted[0][k + 1]
            if nest is read:
                wanted[1][i] = w
            wanted[0][i] = w
        with gridlane.device("interp"):
            nest(*values)
        assert all((one == other).all() for one, other in zip(values, wanted, strict=True))


def test_a_condition_or_another_type_keeps_the_variable():
    @compute
    def tested(a: Tensor[f64, "N"], b: Tensor[f64, "N"]):
        for i in range(N):
            w = a[i]
            w += b[i]
            if b[i] > 0:
                a[i] = w

    @compute
    def wide(a: Tensor[f32, "N"], b: Tensor[f64, "N"]):
        for i in range(N):
            w = a[i]
            w += b[i]
            a[i] = w

    @compute
    def both(a: Tensor[f64, "N"], b: Tensor[f32, "N"], c: Tensor[f32, "N"]):
        for i in range(N):
            w = a[i]
            w += 1
            a[i] = w
        for i in range(N):
            w = b[i]
            w = w * b[i] + c[i]
            c[i] = w

    assert "w" in tested.nest.variables and wide.nest.variables == ("w",)
    assert both.nest.variables == ("w", "w_2")  # of the type of both
    a, b = np.arange(-2.0, 2.0), np.array([1.0, -1, 2, 0])
    with gridlane.device("interp"):
        tested(a, b)
    assert (a == [-1, -1, 2, 1]).all()
