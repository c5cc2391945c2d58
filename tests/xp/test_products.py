"""Products of vectors and matrices, beside NumPy's."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import xp
from gridlane.runtime.protocol import Device
from gridlane.xp import product_kernels
from gridlane.xp.groups import Group
from gridlane.xp.product_kernels import Tiles, tiles_of

SHAPES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((4, 5), (5, 6)),
    ((2, 1, 4, 5), (3, 5, 2)),
    ((2, 0), (0, 3)),
    ((7, 70), (70, 3)),
    ((5, 600), (600, 17)),
    ((2, 1, 6, 3), (1, 3, 3, 300)),
]


def numbers(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Numbers whose products and sums are exact in every dtype."""
    return np.random.default_rng(0).integers(0, 3, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "complex64"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_matrices_are_numpys(shapes: Any, dtype: str):
    one, other = (numbers(shape, dtype) for shape in shapes)
    expected, result = one @ other, xp.asarray(one) @ xp.asarray(other)
    assert result.dtype == expected.dtype
    assert np.array_equal(result, expected)


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_products_on_devices(device: str):
    for shapes in (((3, 40), (40, 5)), ((6, 300), (300, 20))):
        one, other = numbers(shapes[0], "f4"), numbers(shapes[1], "i2")
        result = xp.asarray(one, device=device) @ xp.asarray(other, device=device)
        assert np.array_equal(result, one @ other)
        transposed = xp.asarray(other, device=device).T @ xp.asarray(one.T, device=device)[:, ::-1]
        assert np.array_equal(transposed, other.T @ one.T[:, ::-1])


def test_small_floats_are_summed_in_float32():
    one = np.full((1, 4096), 0.3, np.float16)
    exact = float((one.astype(np.float64) @ one.T.astype(np.float64))[0, 0])
    assert float((xp.asarray(one) @ xp.asarray(one.T))[0, 0]) == np.float16(exact)


def test_sums_along_pairs_of_dimensions():
    one, other = numbers((3, 4, 5), "i4"), numbers((4, 5, 3), "f8")
    for axes in (0, 1, 2, ((0, 2), (2, 1)), ([1], [0]), ((), ())):
        own = other.transpose(1, 0, 2) if axes == 1 else other
        assert np.array_equal(
            xp.tensordot(xp.asarray(one), xp.asarray(own), axes=axes),
            np.tensordot(one, own, axes=axes),
        )
    left = one + 1j * numbers((3, 4, 5), "f8")[::-1]
    expected = (left.conj() * one).sum(axis=1)
    assert np.array_equal(xp.vecdot(xp.asarray(left), xp.asarray(one), axis=-2), expected)


@pytest.mark.parametrize(
    ("attempt", "kind", "text"),
    [
        (lambda x: x @ x, ValueError, "mismatch in its core dimension 0"),
        (lambda x: x @ x[0, 0], ValueError, "operand 1 does not have enough dimensions"),
        (lambda x: x @ np.ones((3, 2)), TypeError, r"copy it with xp\.asarray"),
        (lambda x: x @ 2, TypeError, "unsupported operand"),
        (lambda x: xp.tensordot(x, x, axes=1), ValueError, "shape-mismatch"),
        (lambda x: xp.tensordot(x, x, axes=3), ValueError, "no 3 common dimensions"),
        (lambda x: xp.vecdot(x, x[:, :2]), ValueError, "3 and 2 elements along axis -1"),
    ],
)
def test_what_does_not_fit(attempt: Any, kind: type[Exception], text: str):
    with pytest.raises(kind, match=text):
        attempt(xp.asarray(numbers((2, 3), "f4")))


def summed(one: np.ndarray, other: np.ndarray, dtype: Any) -> np.ndarray:
    """Products that are rounded and added in the documented order."""
    total = np.zeros((one.shape[0], other.shape[1]), dtype)
    one, other = one.astype(dtype), other.astype(dtype)
    for start in range(0, one.shape[1], 256):
        partial = np.zeros_like(total)
        for inner in range(start, min(start + 256, one.shape[1])):
            partial = partial + one[:, inner, None] * other[inner]
        total = total + partial
    return total


@pytest.mark.parametrize("kinds", ["f4 f4", "f8 f8", "f2 f2", "f4 f8", "f2 f4", "bf16 bf16"])
def test_large_products_are_added_in_their_order(kinds: str):
    first, second = [
        ml_dtypes.bfloat16 if kind == "bf16" else np.dtype(kind) for kind in kinds.split()
    ]
    random = np.random.default_rng(5)
    for rows, inner, columns in ((67, 300, 41), (130, 70, 257), (1100, 600, 20)):
        one = random.standard_normal((rows, inner)).astype(first)
        other = random.standard_normal((columns, inner)).astype(second)
        result = xp.asarray(one)[::-1] @ xp.asarray(other).T
        sums = np.float64 if "f8" in kinds else np.float32
        expected = summed(one[::-1], other.T, sums).astype(result.dtype)
        assert np.array_equal(np.asarray(result), expected), (rows, inner, columns)


def test_large_products_of_stacks():
    random = np.random.default_rng(6)
    one = random.standard_normal((2, 3, 65, 270)).astype("f4")
    other = random.standard_normal((3, 270, 33)).astype("f4")
    result = np.asarray(xp.asarray(one) @ xp.asarray(other))
    for place in np.ndindex(2, 3):
        expected = summed(one[place], other[place[1]], np.float32)
        assert np.array_equal(result[place], expected)


def test_tiles_are_for_large_products_of_floats_on_processors(monkeypatch: pytest.MonkeyPatch):
    chosen: list[Tiles | None] = []

    def noted(group: Group, device: Device) -> Tiles | None:
        chosen.append(tiles_of(group, device))
        return chosen[-1]

    monkeypatch.setattr(product_kernels, "tiles_of", noted)
    for device, dtype, side in (
        *(("cpu", "f4", 100), ("cpu", "f8", 500)),
        *(("cpu", "f4", 30), ("cpu", "i4", 100), ("cpu", "c8", 100), ("interp", "f4", 64)),
    ):
        matrix = xp.ones((side, side), dtype=np.dtype(dtype), device=device)
        np.asarray(matrix @ matrix)
    assert chosen == [Tiles(128, 128, 128, False), Tiles(128, 256, 256, False), *[None] * 4]
