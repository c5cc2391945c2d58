"""Products of matrices by tile kernels."""

from __future__ import annotations

from itertools import pairwise
from math import erf

import ml_dtypes
import numpy as np
import pytest
from tests.devices import DEVICES
from tests.tiles.kernels import exact

import gridlane
from gridlane import cuda
from gridlane.core.errors import ArgumentError
from gridlane.tiles import kernels

SHADERS = [each for each in DEVICES if each not in ("cpu", "cuda")]
NARROW = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]


def product(a, b) -> np.ndarray:
    return exact.wide(a) @ exact.wide(b)


@pytest.mark.parametrize("dtype", exact.FLOATS)
def test_dtypes(device, rng, dtype):
    a, b = (rng.standard_normal(each).astype(dtype) for each in ((17, 70), (70, 33)))
    got = kernels.matmul(a, b)
    assert got.dtype == a.dtype
    exact.close(got, product(a, b), 32)
    exact.close(kernels.matmul(a, b, out_dtype="float32"), product(a, b), 32)


@pytest.mark.parametrize("extents", [(1, 1, 1), (1, 129, 17), (127, 1, 129), (129, 65, 127)])
def test_extents(device, rng, extents):
    m, n, k = extents
    a, b = (rng.standard_normal(each).astype(np.float32) for each in ((m, k), (k, n)))
    exact.close(kernels.matmul(a, b), product(a, b), 32)


def test_transposed_and_strided_factors(device, rng):
    plain = rng.standard_normal((2, 20, 20)).astype(np.float32)
    one, other = plain
    for a, b in (
        (one.T, other),
        (one, other.T),
        (one.T, other.T),
        (one[::-1], other[:, ::-1]),
        (one[:, ::2], other[:10, ::2]),
    ):
        exact.close(kernels.matmul(a, b), product(a, b), 32)
    out = np.zeros((20, 40), np.float32).T[::2]
    assert kernels.matmul(plain[0], plain[1], out) is out
    exact.close(out, product(plain[0], plain[1]), 32)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((17,), (17,)),
        ((17,), (2, 17, 3)),
        ((2, 3, 17), (17,)),
        ((3, 2, 17), (17, 5)),
        ((2, 1, 4, 17), (3, 17, 5)),
        ((2, 1, 3, 4, 7), (1, 4, 1, 7, 5)),
        ((0, 4, 7), (7, 5)),
        ((4, 0), (0, 5)),
        ((4, 7), (7, 0)),
    ],
)
def test_batches_broadcast(device, rng, one, other):
    a, b = rng.standard_normal(one), rng.standard_normal(other)
    exact.close(kernels.matmul(a, b), np.asarray(a @ b), 32)
    if a.ndim > 1 and b.ndim > 1:
        turned = np.swapaxes(np.ascontiguousarray(np.swapaxes(a, -1, -2)), -1, -2)
        exact.close(kernels.matmul(turned, b), a @ b, 32)


def test_integers(device, rng):
    a, b = rng.integers(-128, 128, (2, 17, 40), dtype=np.int8)
    got = kernels.matmul(a, b.T)
    assert got.dtype == np.int32
    assert (got == a.astype(int) @ b.T.astype(int)).all()


@pytest.mark.parametrize("dtypes", [(NARROW[0], NARROW[0]), (NARROW[0], NARROW[1])])
def test_narrow_floats_with_scales(device, rng, dtypes):
    a, b = (rng.standard_normal((19, 19)).astype(each) for each in dtypes)
    rows, columns = rng.uniform(0.5, 2, (2, 19)).astype(np.float32)
    expected = product(a, b) * rows[:, None] * columns
    got = kernels.matmul(a, b, scale_a=rows, scale_b=columns)
    assert got.dtype == np.float32
    exact.close(got, expected, 32)
    one = np.array(0.5, np.float32)
    got = kernels.matmul(a, b, scale_a=one, out_dtype="bfloat16")
    exact.close(got, product(a, b) / 2, 32)
    got = kernels.matmul(a, b, scale_b=one, out_dtype=np.dtype(dtypes[0]).name)
    assert (exact.wide(got) == (product(a, b) / 2).astype(np.float32).astype(dtypes[0])).all()


ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * (1 + np.vectorize(erf)(x / np.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_epilogues(device, rng, name):
    a, b, residual = rng.standard_normal((3, 2, 9, 9))
    bias = rng.standard_normal(18)[::2]
    expected = ACTIVATIONS[name](a @ b + bias) + residual
    options = {"bias": bias, "activation": name, "residual": residual}
    exact.close(kernels.matmul(a, b, **options), expected, 32)
    if name == "gelu":
        a, b = np.repeat(a, 9, 2) / 3, np.repeat(b, 9, 1) / 3
        exact.close(kernels.matmul(a, b, **options, split_k=2), expected, 64)
    assert kernels.matmul(a, b, residual, **options) is residual
    exact.close(residual, expected, 32)


def test_split_and_persistent(device, rng):
    a = rng.standard_normal((3, 70, 300)).astype(np.float16)
    b = rng.standard_normal((300, 66)).astype(np.float16)
    scale = rng.uniform(0.5, 2, 70).astype(np.float32)
    expected = product(a, b) * scale[:, None]
    for parts in (1, 2, 100):
        got = kernels.matmul(a, b, split_k=parts, persistent=parts != 1, scale_a=scale)
        exact.close(got, expected, 32)
    ones = np.ones((17, 900), np.int8)
    assert (kernels.matmul(ones, ones.T, split_k=3) == 900).all()


def test_nan_and_infinity_stay_in_their_rows(device):
    a = np.ones((3, 17), np.float32)
    a[1, 16], a[2, 0] = np.nan, np.inf
    got = kernels.matmul(a, np.ones((17, 5), np.float32), activation="relu")
    assert (got[0] == 17).all() and np.isnan(got[1]).all() and (got[2] == np.inf).all()


@pytest.mark.parametrize("sizes", [[7, 0, 20, 3], [50, 0, 0, 0], [0, 0, 0, 0], [30, 90, 5, -2]])
def test_groups(device, rng, sizes):
    a, b = rng.standard_normal((50, 20)), rng.standard_normal((4, 20, 33))
    expected, begin = np.zeros((50, 33)), 0
    for matrix, size in zip(b, sizes, strict=True):
        expected[begin : begin + max(size, 0)] = a[begin : begin + max(size, 0)] @ matrix
        begin += max(size, 0)
    got = kernels.grouped_matmul(a, b, np.array(sizes))
    exact.close(got, expected, 32)
    turned = np.ascontiguousarray(b.transpose(0, 2, 1)).transpose(0, 2, 1)
    out = np.ones((33, 50)).T
    assert kernels.grouped_matmul(a, turned, np.array(sizes, np.int32), out) is out
    exact.close(out, expected, 32)


def test_errors_name_the_argument():
    a = np.zeros((2, 3), np.float32)
    b, sizes = np.zeros((2, 3, 4), np.float32), np.zeros(2, int)
    for call, text in (
        (lambda: kernels.matmul(a, a), "a's columns must be b's rows"),
        (lambda: kernels.matmul(a, a.T.astype(float)), "b is float64 .* one dtype"),
        (lambda: kernels.matmul(a[0, 0], a), "must be an array|must have dimensions"),
        (lambda: kernels.matmul(np.stack([a] * 3), b), "do not broadcast"),
        (lambda: kernels.matmul(a, a.T, np.zeros((3, 2), np.float32)), "out .* shape must be"),
        (lambda: kernels.matmul(a, a.T, activation="elu"), "activation is 'elu'"),
        (lambda: kernels.matmul(a, a.T, bias=a[0]), "bias .* shape must be"),
        (lambda: kernels.matmul(a, a.T, residual=a), "residual .* shape must be"),
        (lambda: kernels.matmul(a, a.T, scale_a=a[0].astype(float)), "scale_a is float64"),
        (lambda: kernels.matmul(a, a.T, split_k=0), "split_k is 0"),
        (lambda: kernels.matmul(a, a.T, out_dtype="int32"), "out_dtype is int32"),
        (lambda: kernels.matmul(a > 0, a.T > 0), "a is bool"),
        (lambda: kernels.grouped_matmul(a, b, sizes[:1]), "sizes .* shape must be"),
        (lambda: kernels.grouped_matmul(a, b[:, :2], sizes), "a's columns must be b's rows"),
        (lambda: kernels.grouped_matmul(a, b[:0], sizes[:0]), "must have groups"),
    ):
        with pytest.raises(ArgumentError, match=text):
            call()


@pytest.mark.parametrize("name", SHADERS)
def test_products_on_shaders(rng, name):
    a, b = (rng.standard_normal(each).astype(np.float32) for each in ((2, 40, 35), (35, 33)))
    bias = np.ones(33, np.float32)
    with gridlane.device(name):
        got = kernels.matmul(a, b, bias=bias, activation="relu")
    exact.close(got, np.maximum(product(a, b) + bias, 0), 32)


def test_arrays_of_the_device(device, rng):
    a, b = rng.standard_normal((2, 3, 17, 17)).astype(np.float32)
    there = cuda.to_device(a), cuda.to_device(b)
    got = kernels.matmul(*there, split_k=2)
    exact.close(got.copy_to_host(), product(a, b), 32)
    exact.close(kernels.matmul(there[0], there[1][0].T).copy_to_host(), product(a, b[0].T), 32)


@pytest.mark.parametrize("dtype", exact.FLOATS)
def test_gradients_of_groups(device, rng, dtype):
    sizes = np.array([5, 0, 70, 3, 100], np.int32)  # more than there are rows
    a, grad = (rng.standard_normal((90, each)).astype(dtype) for each in (17, 33))
    got = kernels.grouped_weight_gradient(a, grad, sizes)
    assert got.dtype == dtype
    ends = np.minimum(np.cumsum([0, *sizes]), 90)
    wanted = [product(a[i:j].T, grad[i:j]) for i, j in pairwise(ends)]
    exact.close(got, np.stack(wanted), 256)
    turned = [np.ascontiguousarray(each.T).T for each in (a, grad)]
    out = np.zeros((5, 33, 17), dtype).transpose(0, 2, 1)
    assert kernels.grouped_weight_gradient(*turned, sizes.astype(np.int64)[::1], out) is out
    exact.close(out, np.stack(wanted), 256)


def test_gradients_of_groups_without_rows(device):
    none = kernels.grouped_weight_gradient(
        np.ones((0, 3)), np.ones((0, 4)), np.array([0, 2])
    )  # fmt: skip
    assert none.shape == (2, 3, 4) and (none == 0).all()
    a = np.ones((4, 3))
    assert kernels.grouped_weight_gradient(a, a, np.zeros(0, int)).shape == (0, 3, 3)
    assert (kernels.grouped_weight_gradient(a, a, np.array([-2, 3])) == [[[0]], [[3]]]).all()
    for call, text in (
        (lambda: kernels.grouped_weight_gradient(a, a[:3], np.array([1])), "grad .* shape must"),
        (lambda: kernels.grouped_weight_gradient(a, a.astype("f4"), np.array([1])), "one dtype"),
        (lambda: kernels.grouped_weight_gradient(a, a, np.array([1.0])), "sizes is float64"),
    ):
        with pytest.raises(ArgumentError, match=text):
            call()
