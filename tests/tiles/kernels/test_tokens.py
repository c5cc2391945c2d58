"""Kernels of tokens and their positions: embeddings and rotary embeddings."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.tiles.kernels import exact

import gridlane
from gridlane import cuda
from gridlane.core.errors import ArgumentError
from gridlane.tiles import kernels

SHADERS = [each for each in DEVICES if each not in ("cpu", "cuda")]


@pytest.mark.parametrize("dtype", exact.FLOATS)
def test_embedding(device, rng, dtype):
    table = rng.standard_normal((17, 130)).astype(dtype)
    indices = rng.integers(0, 17, (3, 5))
    assert (kernels.embedding(table, indices) == table[indices]).all()
    out = np.zeros((5, 3, 130), dtype)
    assert kernels.embedding(table, indices.T.astype(np.int32), out) is out
    assert (out == table[indices.T]).all()


def test_embedding_of_strided_tables(device, rng):
    table = rng.standard_normal((9, 7)).astype(np.float32).T[:, ::2]
    indices = np.arange(14)[::2] % 7
    assert (kernels.embedding(table, indices) == table[indices]).all()
    assert kernels.embedding(table, indices[:0]).shape == (0, 5)
    assert kernels.embedding(table, np.array(3)).shape == (5,)


def test_numbers_that_a_table_does_not_have(device):
    table, indices = np.ones((3, 2), np.float32), np.array([-1, 3, 2**32, 0])
    got = kernels.embedding(table, indices)
    assert np.isnan(got[:3]).all() and (got[3] == 1).all()
    summed = kernels.embedding_backward(got * 0 + 1, indices, 3)
    assert np.isnan(got[:3]).all()
    grad = np.ones((4, 2), np.float32)
    summed = kernels.embedding_backward(grad, indices, 3)
    assert (summed == [[1, 1], [0, 0], [0, 0]]).all()


@pytest.mark.parametrize("dtype", exact.FLOATS)
def test_gradients_of_embedding(device, rng, dtype):
    indices = rng.integers(0, 5, (2, 19))
    grad = rng.integers(-8, 8, (2, 19, 33)).astype(dtype)  # whose sums are exact in any order
    expected = np.zeros((5, 33))
    np.add.at(expected, indices, exact.wide(grad))
    got = kernels.embedding_backward(grad, indices, 5)
    assert got.dtype == grad.dtype
    assert (exact.wide(got) == expected).all()
    out = np.ones((5, 66), dtype)[:, ::2]
    assert kernels.embedding_backward(grad, indices, 5, out, padding_index=2) is out
    expected[2] = 0
    assert (exact.wide(out) == expected).all()


def angles(rng, count: int, half: int):
    turns = rng.uniform(-3, 3, (count, half))
    return np.cos(turns), np.sin(turns)


@pytest.mark.parametrize(
    ("dtype", "interleaved"), [*[(each, False) for each in exact.FLOATS], (np.float32, True)]
)
def test_rope(device, rng, dtype, interleaved):
    x = rng.standard_normal((2, 3, 17, 10)).astype(dtype)
    cos, sin = (each.astype(np.float32) for each in angles(rng, 20, 5))
    expected = exact.rope(x, cos[:17], sin[:17], interleaved)
    exact.close(kernels.rope(x, cos, sin, interleaved=interleaved), expected)
    assert kernels.rope(x, cos, sin, x, interleaved=interleaved) is x
    exact.close(x, expected)


def test_rope_of_positions_and_other_orders_of_axes(device, rng):
    x = rng.standard_normal((2, 5, 3, 12)).astype(np.float32).transpose(0, 2, 1, 3)
    cos, sin = angles(rng, 9, 6)
    positions = rng.integers(0, 9, (2, 5))
    c, s = (each[positions][:, None] for each in (cos, sin))
    exact.close(kernels.rope(x, cos, sin, positions=positions), exact.rope(x, c, s))
    back = kernels.rope(x, cos, sin, positions=positions, inverse=True)
    exact.close(back, exact.rope(x, c, -s))
    positions[1, 2] = 9
    positions[0, 0] = 2**32
    got = kernels.rope(x, cos, sin, positions=positions)
    assert np.isnan(got[1, :, 2]).all() and np.isnan(got[0, :, 0]).all()
    assert np.isnan(got).sum() == 2 * 3 * 12
    assert kernels.rope(x[:0], cos, sin).shape == (0, 3, 5, 12)


def test_errors_name_the_argument():
    x, cos = np.zeros((1, 1, 4, 6), np.float32), np.zeros((4, 3), np.float32)
    for call, text in (
        (lambda: kernels.rope(x[..., :5], cos, cos), "its width must be even"),
        (lambda: kernels.rope(x[0], cos, cos), "x .* must have 4 dimensions"),
        (lambda: kernels.rope(x, cos[:, :2], cos), "cos .* shape must be"),
        (lambda: kernels.rope(x, cos, cos[:2]), "sin .* shape must be"),
        (lambda: kernels.rope(x, cos[:3], cos[:3]), "less than 4 positions"),
        (lambda: kernels.rope(x, cos, cos, positions=np.zeros((1, 3), int)), "positions .* shape"),
        (lambda: kernels.embedding(cos[0], np.zeros(2, int)), "table .* must have 2 dimensions"),
        (lambda: kernels.embedding(cos, np.zeros(2)), "indices is float64"),
        (lambda: kernels.embedding_backward(cos, np.zeros(3, int), 4), "grad .* shape must be"),
    ):
        with pytest.raises(ArgumentError, match=text):
            call()


@pytest.mark.parametrize("name", SHADERS)
def test_tokens_on_shaders(rng, name):
    x = rng.standard_normal((1, 2, 5, 8)).astype(np.float32)
    cos, sin = (each.astype(np.float32) for each in angles(rng, 5, 4))
    table, indices = rng.standard_normal((9, 20)).astype(np.float32), np.array([3, 3, 8])
    with gridlane.device(name):
        exact.close(kernels.rope(x, cos, sin), exact.rope(x, cos, sin))
        assert (kernels.embedding(table, indices) == table[indices]).all()
        summed = kernels.embedding_backward(np.ones((3, 4), np.float32), indices, 9)
    assert (summed == (np.arange(9) == 3)[:, None] * 2 + (np.arange(9) == 8)[:, None]).all()


def test_arrays_of_the_device(device):
    table = cuda.to_device(np.arange(12, dtype=np.float32).reshape(4, 3))
    rows = kernels.embedding(table, np.array([2, 0]))
    assert (rows.copy_to_host() == [[6, 7, 8], [0, 1, 2]]).all()
    got = kernels.embedding_backward(rows, np.array([1, 1]), 2)
    assert (got.copy_to_host() == [[0, 0, 0], [6, 8, 10]]).all()
