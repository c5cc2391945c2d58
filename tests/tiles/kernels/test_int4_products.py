"""Products with weights of 4 bits."""

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
from gridlane.tiles.kernels import int4_products

SHADERS = [each for each in DEVICES if each not in ("cpu", "cuda")]


def case(rng, extents, groups, dtype=np.float32, most=16):
    """A product's arguments, and its exact result."""
    m, n, k = extents
    a = rng.standard_normal((m, k)).astype(dtype)
    numbers, zeros = rng.integers(0, 16, (n, k)), rng.integers(0, most, (n, groups))
    weights = (numbers[:, ::2] | numbers[:, 1::2] << 4).astype(np.uint8)
    scales = rng.uniform(0.5, 2, (n, groups)).astype(np.float32)
    size = k // groups
    wide = (numbers - np.repeat(zeros, size, 1)) * np.repeat(exact.wide(scales), size, 1)
    return (a, weights, scales, zeros.astype(np.uint8)), exact.wide(a) @ wide.T


@pytest.mark.parametrize("dtype", exact.FLOATS)
@pytest.mark.parametrize("rows", [1, 3])
def test_dtypes(device, rng, dtype, rows):
    args, wanted = case(rng, (rows, 21, 192), 2, dtype, 256)
    got = kernels.int4_matmul(*args)
    assert got.dtype == dtype
    exact.close(got, wanted, 64)


@pytest.mark.parametrize(
    ("extents", "groups"),
    [((1, 1, 32), 1), ((2, 130, 480), 3), ((70, 70, 96), 3), ((17, 40, 2048), 16)],
)
def test_extents(device, rng, extents, groups):
    args, wanted = case(rng, extents, groups)
    exact.close(kernels.int4_matmul(*args), wanted, 128)
    a, weights, scales, _ = args
    plain = kernels.int4_matmul(a, weights, scales)
    none = kernels.int4_matmul(a, weights, scales, np.zeros_like(args[3]))
    exact.close(plain, exact.wide(none), 64)


@pytest.mark.parametrize("dtype", exact.FLOATS[:3])
def test_words_of_eight_numbers(device, rng, monkeypatch, dtype):
    """As GPUs read columns, of parts with one step as well."""
    monkeypatch.setattr(int4_products, "_has_words", lambda packed, step: True)
    args, wanted = case(rng, (2, 128, 640), 5, dtype, 256)
    for parts in (1, 2, 5):
        exact.close(kernels.int4_matmul(*args, split_k=parts), wanted, 256)
    args, wanted = case(rng, (1, 16, 96), 3, dtype)
    exact.close(kernels.int4_matmul(*args), wanted, 64)


@pytest.mark.parametrize("rows", [1, 5])
def test_parts_epilogues_and_views(device, rng, rows):
    (a, weights, scales, zeros), wanted = case(rng, (rows, 24, 256), 4)
    bias = rng.standard_normal(24).astype(np.float32)
    views = [np.asfortranarray(each) for each in (a, weights, scales, zeros)]
    out = np.zeros((24, rows), np.float32).T
    for parts in (1, 3, 99):
        got = kernels.int4_matmul(*views, out, bias=bias, activation="relu", split_k=parts)
        assert got is out
        exact.close(out, np.maximum(wanted + bias, 0), 128)
        exact.close(kernels.int4_matmul(*views, split_k=parts), wanted, 128)


def test_scales_of_as_dtype(device, rng):
    (a, weights, scales, zeros), _ = case(rng, (1, 8, 64), 2, ml_dtypes.bfloat16)
    rounded = scales.astype(ml_dtypes.bfloat16)
    one = kernels.int4_matmul(a, weights, rounded, zeros)
    other = kernels.int4_matmul(a, weights, rounded.astype(np.float32), zeros)
    assert (one == other).all()


def test_empty_arrays(device):
    weights, scales = np.zeros((5, 0), np.uint8), np.zeros((5, 0), np.float32)
    assert (kernels.int4_matmul(np.ones((3, 0), np.float32), weights, scales) == 0).all()
    args, _ = case(np.random.default_rng(1), (0, 5, 32), 1)
    assert kernels.int4_matmul(*args).shape == (0, 5)


def test_errors_name_the_argument(rng):
    (a, weights, scales, zeros), _ = case(rng, (4, 5, 96), 3)
    for call, text in (
        (lambda: kernels.int4_matmul(a[:, :95], weights, scales), "its columns must be even"),
        (lambda: kernels.int4_matmul(a, weights[:, 1:], scales), "weights .* shape must be"),
        (lambda: kernels.int4_matmul(a, weights.astype(int), scales), "weights is int64"),
        (lambda: kernels.int4_matmul(a, weights, scales[:4]), "scales .* shape must be"),
        (lambda: kernels.int4_matmul(a, weights, scales[:, :2]), "in groups of a multiple of 32"),
        (lambda: kernels.int4_matmul(a, weights, scales[:, :0]), "in groups of a multiple of 32"),
        (lambda: kernels.int4_matmul(a, weights, scales, zeros[:, 1:]), "zeros .* shape must be"),
        (lambda: kernels.int4_matmul(a, weights, scales, activation="x"), "activation is 'x'"),
        (lambda: kernels.int4_matmul(a, weights, scales, split_k=0), "split_k is 0"),
        (lambda: kernels.int4_matmul(a, weights, scales, bias=scales[0]), "bias .* shape must"),
    ):
        with pytest.raises(ArgumentError, match=text):
            call()


@pytest.mark.parametrize("name", SHADERS)
@pytest.mark.parametrize("rows", [1, 5])
def test_shaders(rng, name, rows):
    args, wanted = case(rng, (rows, 12, 64), 2)
    with gridlane.device(name):
        got = kernels.int4_matmul(*args)
    exact.close(got, wanted, 64)


def test_arrays_of_the_device(device, rng):
    args, wanted = case(rng, (1, 12, 64), 2)
    got = kernels.int4_matmul(*[cuda.to_device(each) for each in args])
    exact.close(got.copy_to_host(), wanted, 64)
