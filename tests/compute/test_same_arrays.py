# ruff: noqa: F821  # extents are names that annotations define
"""One array for two arguments: the loops mean what they mean in Python, on every device."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane.compute import Compute, Tensor, compute, f32, grid, i32, i64

EVERY = ["interp", *DEVICES]


@compute
def copied(a: Tensor[i64, "N"], b: Tensor[i64, "N"]):
    for i in range(N):
        w = a[i]
        for k in range(N):
            w += b[k]
        a[i] = w


@compute
def exchanged(a: Tensor[i64, "N"], b: Tensor[i64, "N"], c: Tensor[i64, "N"]):
    for i in range(N):
        a[i], b[i] = b[i], c[i]


@compute
def looked_up(a: Tensor[i64, "N"], b: Tensor[i64, "N"], t: Tensor[i64, "N"]):
    for i in range(N):
        a[i] = b[t[i]] + 1


@compute
def summed(a: Tensor[i64, "N"], b: Tensor[i64, "N"]):
    for k in range(N):
        a[3] += b[k]


@compute
def moved(a: Tensor[i64, "N", "N"], b: Tensor[i64, "N", "N"]):
    for i, j in grid(N, N):
        if j < i:
            a[i, j] = b[j, i] + 1


def run_exchanged(run, x):
    run(x, x[::-1].copy(), x)


CASES = {
    "copied": (copied, lambda run, x: run(x, x)),
    "exchanged": (exchanged, run_exchanged),
    "looked up": (looked_up, lambda run, x: run(x, x, np.array([0, 0, 1, 2, 3, 4, 5]))),
    "summed": (summed, lambda run, x: run(x, x)),
}


def in_python(nest: Compute):
    function = nest.function

    def run(*arrays):
        function.__globals__["N"] = arrays[0].shape[0]
        try:
            function(*arrays)
        finally:
            del function.__globals__["N"]

    return run


@pytest.mark.parametrize("device", EVERY)
@pytest.mark.parametrize("name", CASES)
def test_one_array_twice_is_what_python_computes(name: str, device: str) -> None:
    nest, call = CASES[name]
    wanted, made, plain = (np.arange(7) for _ in range(3))
    call(in_python(nest), wanted)
    with gridlane.device(device):
        call(nest, made)
        call(nest.plain, plain)
    assert made.tolist() == wanted.tolist()
    assert plain.tolist() == wanted.tolist()


@pytest.mark.parametrize("device", EVERY)
def test_one_square_twice(device: str) -> None:
    start = np.arange(81).reshape(9, 9)
    wanted, made = start.copy(), start.copy()
    wanted[np.tril_indices(9, -1)] = wanted.T[np.tril_indices(9, -1)] + 1
    with gridlane.device(device):
        moved(made, made)
    assert (made == wanted).all()


@compute
def of_two_types(a: Tensor[f32, "N"], b: Tensor[i32, "N"]):
    for i in range(1, N):
        a[i] = b[i - 1] + 1


@pytest.mark.parametrize("device", EVERY)
def test_a_view_of_another_type_is_the_same_array(device: str) -> None:
    wanted, made = np.zeros(6, np.float32), np.zeros(6, np.float32)
    for i in range(1, 6):
        wanted[i] = wanted.view(np.int32)[i - 1] + 1
    with gridlane.device(device):
        of_two_types(made, made.view(np.int32))
    assert made.tobytes() == wanted.tobytes()


def test_a_schedule_by_hand_is_checked_again_for_one_array() -> None:
    @compute
    def nest(a: Tensor[i64, "N"], b: Tensor[i64, "N"]):
        for i in range(1, N):
            a[i] = b[i - 1] + 1

    scheduled = nest.schedule("i", threads=("i",))
    x, y = np.zeros(6, np.int64), np.zeros(6, np.int64)
    scheduled(y, x)
    assert y.tolist() == [0, 1, 1, 1, 1, 1]
    with pytest.raises(gridlane.core.errors.UnsupportedError, match="would run both at once"):
        scheduled(x, x)
