"""Histograms and counts by atomic additions, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import xp
from gridlane.xp.sorting.binning import levels_of

DTYPES = [np.float32, np.float64, np.float16, np.int32, np.uint8, np.int64, np.uint32]
BINS = [
    7,
    [-3, 0, 0, 1.5, 40],
    [0.1, 0.2, 0.30000000000000004],
    np.linspace(-10, 10, 300),
    [0.0, np.inf],
    [-np.inf, 1],
    [5.0],
]


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("dtype", DTYPES)
def test_histogram(device, dtype):
    generator = np.random.default_rng(1)
    x = (generator.standard_normal(300) * 50).astype(np.int8).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[:30] = generator.choice([0.1, 0.2, 0.3, 1.5, 40, np.nextafter(np.float32(0.2), 1)], 30)
    for bins in BINS if device == "cpu" else BINS[:3]:
        counts, edges = np.histogram(x, bins)
        result = xp.histogram(xp.asarray(x, device=device), bins)
        assert np.array_equal(np.asarray(result[0]), counts), bins
        assert np.asarray(result[0]).dtype == counts.dtype
        assert np.array_equal(np.asarray(result[1]), edges)


def test_nan_and_infinity_are_in_no_bin():
    x = np.array([np.nan, -1, 0, np.inf, 0.5, 1, -np.inf], np.float32)
    assert np.asarray(xp.histogram(xp.asarray(x), [-1, 0, 1])[0]).tolist() == [1, 3]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("count", "most"), [(1, 1), (1000, 10), (20_000, 3000), (70, 5000)])
def test_bincount(device, count, most):
    """Of bins in shared memory, and of more."""
    x = np.random.default_rng(most).integers(0, most, count)
    result = np.asarray(xp.bincount(xp.asarray(x, device=device), minlength=4))
    assert np.array_equal(result, np.bincount(x, minlength=4))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_levels_tell_what_edges_tell(dtype):
    generator = np.random.default_rng(2)
    edges = np.sort(generator.standard_normal(9) * 3)
    edges[4] = 2.0
    levels = levels_of(edges, np.dtype(dtype))
    near = np.concatenate([edges.astype(dtype), np.arange(-9, 9).astype(dtype)])
    if np.dtype(dtype).kind == "f":
        near = np.concatenate([near, *(np.nextafter(near, dtype(way)) for way in (-9, 9))])
    for level, edge in zip(levels[:-1], edges[:-1], strict=True):
        assert np.array_equal(near >= level, near >= edge)
    assert np.array_equal(near >= levels[-1], near > edges[-1])


def test_edges_beyond_the_type():
    x = np.array([1e38, 3e38, -1], np.float32)
    assert np.asarray(xp.histogram(xp.asarray(x), [0.0, 1e300])[0]).tolist() == [2]
    assert levels_of(np.array([0.0, np.inf]), np.dtype(np.float32)) is None
