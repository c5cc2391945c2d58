# ruff: noqa: F821  # extents are names that annotations define
"""What loop nests refuse: at the decorator, and at the call."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from gridlane.compute import Dim, Tensor, compute, f32, f64, grid
from gridlane.core.errors import (
    ArgumentError,
    ConstantError,
    NameLookupError,
    TypingError,
    UnsupportedError,
)


@compute
def added(x: Tensor[f32, "N"], y: Tensor[f32, "N"], out: Tensor[f32, "N"]):
    for i in grid(N):
        out[i] = x[i] + y[i]


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((zeros(3), zeros(4), zeros(3)), "N is 3 in x and 4 in y"),
        ((zeros(3), zeros(3, 3), zeros(3)), r"y is Tensor\[f32, N\], and the array has the shape"),
        ((zeros(3), zeros(3, dtype=np.float64), zeros(3)), "the array has elements f64"),
        ((zeros(3), zeros(3)), "has 3 arguments, and 2 are given"),
        ((zeros(0), zeros(0), zeros(0)), "N is 0 in x; it must be at least 1"),
    ],
)
def test_arrays_of_another_shape(arrays, message):
    with pytest.raises(ArgumentError, match=message):
        added(*arrays)


def test_bounds_of_extents():
    @compute
    def bounded(x: Tensor[f32, Dim("N", 2, 5)], y: Tensor[f32, 4]):
        for i in grid(2):
            x[i] = y[i]

    bounded(zeros(5), zeros(4))
    with pytest.raises(ArgumentError, match="N is 6 in x; it must be at least 2, at most 5"):
        bounded(zeros(6), zeros(4))
    with pytest.raises(ArgumentError, match="the array has 3 along axis 0"):
        bounded(zeros(5), zeros(3))


def test_arrays_that_overlap():
    z = zeros(20)
    with pytest.raises(ArgumentError, match="x and out share memory"):
        added(z[:10], zeros(10), z[5:15])
    with pytest.raises(ArgumentError, match="out is written, and has elements that share memory"):
        added(zeros(10), zeros(10), np.broadcast_to(zeros(1), 10))
    added(z[:10], z[:10], z[10:])
    added(z[::2], z[::2], zeros(10))


def test_an_index_beyond_an_array():
    @compute
    def shifted(x: Tensor[f64, "N"], out: Tensor[f64, "N"], by: int):
        for i in range(N):
            out[i] = x[i + by]

    shifted(np.zeros(4), np.zeros(4), 0)
    with pytest.raises(ArgumentError, match=r"x has 4 elements along axis 0, .* index 4") as caught:
        shifted(np.zeros(4), np.zeros(4), 1)
    assert "out[i] = x[i + by]" in str(caught.value)
    with pytest.raises(ArgumentError, match="reach index -1"):
        shifted(np.zeros(4), np.zeros(4), -1)


def refused(function, error, message):
    with pytest.raises(error, match=message) as caught:
        compute(function)
    assert caught.value.loc.line > 0
    return caught.value


def test_other_statements():
    def looping(x: Tensor[f64, "N"]):
        while x[0] > 0:
            x[0] = x[0] - 1

    def returning(x: Tensor[f64, "N"]):
        for i in range(N):
            return

    refused(looping, UnsupportedError, "no `while`")
    refused(returning, UnsupportedError, "no `return`")


def test_bounds_that_are_not_affine():
    def squared(x: Tensor[f64, "N"]):
        for i in range(N * N):
            x[i] = 0.0

    def stepped(x: Tensor[f64, "N"]):
        for i in range(0, N, N):
            x[i] = 0.0

    refused(squared, UnsupportedError, r"not affine in the loops and extents: N \* N")
    refused(stepped, ConstantError, "a step is a constant")


def test_several_targets():
    @compute
    def swapped(x: Tensor[f64, "N"], y: Tensor[f64, "N"]):
        for i in range(N):
            x[i], y[i] = y[i], x[i]

    @compute
    def rotated(x: Tensor[f64, "N"], p: Tensor[f64, 3]):
        for i in range(N):
            p[0], p[1], p[2] = p[1], p[2], p[0]
            x[i] = p[0]

    @compute
    def fibonacci(x: Tensor[f64, "N"]):
        a = 0
        b = 1
        for i in range(N):
            x[i] = a
            a, b = b, a + b

    def uneven(x: Tensor[f64, "N"]):
        for i in range(N):
            a, b = x[i], 1.0, 2.0

    @compute
    def both(x: Tensor[f64, "N"], y: Tensor[f64, "N"]):
        for i in range(N):
            a, b = 2.0 * x[i], x[i] + 1.0
            x[i], y[i] = b, a * b

    one, other, three = np.arange(3.0), np.full(3, 7.0), np.array([1.0, 2.0, 3.0])
    swapped(one, other)
    assert one.tolist() == [7.0] * 3 and other.tolist() == [0.0, 1.0, 2.0]
    rotated(one, three)
    assert one.tolist() == [2.0, 3.0, 1.0] and three.tolist() == [1.0, 2.0, 3.0]
    turns = np.zeros(9)
    fibonacci(turns)
    assert turns.tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21]
    refused(uneven, TypingError, "2 targets for 3 values")
    x, y = np.arange(4.0), np.zeros(4)
    both(x, y)
    assert (x == np.arange(4) + 1).all()
    assert (y == 2 * np.arange(4) * x).all()


def test_names():
    def unknown(x: Tensor[f64, "N"]):
        for i in range(N):
            x[i] = nothing

    def of_another_rank(x: Tensor[f64, "N"]):
        for i in range(N):
            x[i, 0] = 0.0

    def early(x: Tensor[f64, "N"]):
        for i in range(N):
            if i > 2:
                s = x[i]
            x[i] = s

    refused(unknown, NameLookupError, "nothing is no argument")
    refused(of_another_rank, TypingError, "x has 1 axes, and 2 indices")
    with pytest.raises(TypingError, match="s may be read before it is assigned to"):
        compute(early)(np.zeros(9))


def test_types_of_arguments():
    def bare(x, y: Tensor[f64, "N"]):
        for i in range(N):
            y[i] = x

    refused(bare, TypingError, "x has the type Tensor")
    with pytest.raises(ArgumentError, match="an extent is at least 1"):
        Tensor[f32, 0]
    with pytest.raises(ArgumentError, match="no name of Python's"):
        Tensor[f32, "2n"]
    with pytest.raises(ArgumentError, match="the dtype of a Tensor"):
        Tensor["M", "N"]
    with pytest.raises(ArgumentError, match="a workgroup has"):
        compute(workgroup=(0,))(added.function)


def test_what_to_install_without_isl():
    text = "import sys; sys.modules['islpy'] = None; import gridlane.compute"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode and "pip install 'gridlane[compute]'" in done.stderr


def test_an_array_that_may_not_be_written():
    out = zeros(4)
    out.flags.writeable = False
    with pytest.raises(ArgumentError, match="out is written, and the array is read-only"):
        added(zeros(4), zeros(4), out)
