"""Products of matrices whose factors have scales of blocks."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tests.devices import DEVICES
from tests.tiles.kernels import exact

import gridlane
from gridlane import cuda
from gridlane.core.errors import ArgumentError
from gridlane.tiles import kernels
from gridlane.tiles.kernels import scaled_products

SHADERS = [each for each in DEVICES if each not in ("cpu", "cuda")]
NARROW = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]


def spread(scales, shape, block: int) -> np.ndarray:
    """A scale for each element."""
    for axis, extent in enumerate(shape):
        if scales.shape[axis] != extent:
            scales = np.repeat(scales, block, axis).take(range(extent), axis)
    return exact.wide(scales)


def case(rng, extents, dtypes, block, rows=True, columns=True):
    m, n, k = extents
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    inner = -(-k // block)
    one = rng.uniform(0.5, 2, (m if rows else -(-m // block), inner)).astype(np.float32)
    other = rng.uniform(0.5, 2, (inner, n if columns else -(-n // block))).astype(np.float32)
    a, b = a.astype(dtypes[0]), b.astype(dtypes[1])
    wanted = (exact.wide(a) * spread(one, (m, k), block)) @ (
        exact.wide(b) * spread(other, (k, n), block)
    )
    return (a, b, one, other), wanted


@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize("columns", [True, False])
def test_scales_of_rows_and_of_blocks(device, rng, rows, columns):
    args, wanted = case(rng, (70, 40, 100), (NARROW[0], NARROW[0]), 32, rows, columns)
    exact.close(kernels.scaled_matmul(*args, block=32, out_dtype="float32"), wanted, 64)


@pytest.mark.parametrize("dtypes", [NARROW, [np.float16] * 2, [ml_dtypes.bfloat16] * 2])
def test_dtypes(device, rng, dtypes):
    args, wanted = case(rng, (19, 33, 300), dtypes, 128, True, False)
    got = kernels.scaled_matmul(*args)
    assert got.dtype == ml_dtypes.bfloat16
    exact.close(got, wanted, 64)
    out = np.zeros((33, 19), np.float16).T
    assert kernels.scaled_matmul(*args, out, out_dtype="float16") is out
    exact.close(out, wanted, 64)


def test_parts_views_and_epilogues(device, rng):
    (a, b, one, other), wanted = case(rng, (17, 20, 90), (np.float32,) * 2, 16)
    bias = rng.standard_normal(20).astype(np.float32)
    turned = np.ascontiguousarray(b.T).T, np.ascontiguousarray(other.T).T
    options = {"block": 16, "out_dtype": "float32"}
    for parts in (1, 3, 50):
        got = kernels.scaled_matmul(
            a, turned[0], one, turned[1], bias=bias, activation="relu", split_k=parts, **options
        )
        exact.close(got, np.maximum(wanted + bias, 0), 64)
    got = kernels.scaled_matmul(a, b, one, other, activation="relu", **options)
    exact.close(got, np.maximum(wanted, 0), 64)


@pytest.mark.parametrize("extents", [(130, 140, 300), (3, 130, 1100)])
def test_descriptors(rng, monkeypatch, extents):
    """The programs of GPUs with tensor maps."""
    monkeypatch.setattr(scaled_products, "has_warpgroups", lambda: True)
    monkeypatch.setattr(scaled_products, "multiprocessors", lambda: 3)
    made = []
    forms = scaled_products._forms
    monkeypatch.setattr(scaled_products, "_forms", lambda *a: made.append(forms(*a)) or made[-1])
    m, n, k = extents
    k -= k % 16  # of rows that a tensor map describes
    (a, b, one, other), wanted = case(rng, (m, n, k), (NARROW[0],) * 2, 128)
    b = np.ascontiguousarray(b.T).T
    exact.close(kernels.scaled_matmul(a, b, one, other, out_dtype="float32"), wanted, 256)
    assert made[0] is not None
    exact.close(
        kernels.scaled_matmul(a, np.ascontiguousarray(b), one, other, out_dtype="float32"),
        wanted, 256,
    )  # fmt: skip
    assert made[1] is None


def test_empty_arrays(device):
    a, b = np.ones((4, 0), np.float32), np.ones((0, 5), np.float32)
    none = np.ones((4, 0), np.float32), np.ones((0, 5), np.float32)
    assert (kernels.scaled_matmul(a, b, *none, out_dtype="float32") == 0).all()


def test_errors_name_the_argument():
    a, s = np.zeros((4, 200), np.float32), np.zeros((4, 2), np.float32)
    for call, text in (
        (lambda: kernels.scaled_matmul(a, a, s, s), "a's columns must be b's rows"),
        (lambda: kernels.scaled_matmul(a, a.T, s[:, :1], s.T), "scale_a .* must be \\(4, 2\\)"),
        (lambda: kernels.scaled_matmul(a, a.T, s, s), "scale_b .* must be \\(2, 4\\)"),
        (lambda: kernels.scaled_matmul(a, a.T, s, s.T, block=96), "a power of two, of 16"),
        (lambda: kernels.scaled_matmul(a, a.T, s, s.T, activation="x"), "activation is 'x'"),
        (lambda: kernels.scaled_matmul(a, a.T, s, s.T, out_dtype="int8"), "out_dtype is int8"),
        (lambda: kernels.scaled_matmul(a, a.T, s, s.T, split_k=0), "split_k is 0"),
        (lambda: kernels.scaled_matmul(a, a.T, s, s.T, bias=s[:, 0][:3]), "bias .* shape must"),
        (lambda: kernels.scaled_matmul(a, a.T.astype("f2"), s, s.T), "must have one dtype"),
    ):
        with pytest.raises(ArgumentError, match=text):
            call()


@pytest.mark.parametrize("name", SHADERS)
def test_shaders(rng, name):
    args, wanted = case(rng, (19, 20, 70), (np.float32,) * 2, 32, False, True)
    with gridlane.device(name):
        got = kernels.scaled_matmul(*args, block=32, out_dtype="float32")
    exact.close(got, wanted, 64)


def test_arrays_of_the_device(device, rng):
    args, wanted = case(rng, (19, 20, 70), (np.float32,) * 2, 32)
    there = [cuda.to_device(each) for each in args]
    got = kernels.scaled_matmul(*there, block=32, out_dtype="float32")
    exact.close(got.copy_to_host(), wanted, 64)
