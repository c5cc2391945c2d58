"""Errors of accesses name the array, the index and the shape."""

import numpy as np
import pytest

import gridlane
from gridlane import cuda
from gridlane.core.errors import KernelError


@cuda.jit
def line(x, n):
    x[cuda.grid(1) + n] = 1.0


@cuda.jit
def pair(pairs, n):
    pairs[1][cuda.grid(1) + n] += 1.0


@cuda.jit
def plane(grid, n):
    grid[cuda.grid(1), n] = 1.0


def message(kernel, *args):
    with gridlane.device("interp"), pytest.raises(KernelError) as error:
        kernel[1, 10](*args)
        cuda.synchronize()
    return str(error.value).partition("\n")[0]


def test_an_array_of_one_axis():
    x = np.zeros(100, np.float32)
    assert "the array is x, of shape (100,), and the index 100 (at" in message(line, x, 95)


def test_a_view_with_strides_and_a_tuple():
    x, y = np.zeros(10, np.float32), np.zeros(60, np.float32)[::3]
    told = message(pair, (x, y), 15)
    assert "of shape (20,), and the index 20 (at" in told and "pairs" in told


def test_an_array_of_two_axes():
    told = message(plane, np.zeros((10, 10), np.float32), 95)
    assert "the array is grid, of shape (10, 10) (at" in told
