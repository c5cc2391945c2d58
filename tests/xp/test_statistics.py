"""Statistics and functions over an axis, against NumPy and their definitions in float64."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from tests.effort import NIGHTLY

from gridlane import xp
from gridlane.xp.operations import OVER_AN_AXIS


def close(got: Any, expected: Any, units: float = 8) -> None:
    """Compare dtypes and shapes, and elements to some units in the last place of the dtype."""
    host, expected = np.asarray(got), np.asarray(expected)
    assert (host.dtype, host.shape) == (expected.dtype, expected.shape)
    if expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(host, expected)
        return
    error = units * np.finfo(expected.dtype).eps
    np.testing.assert_allclose(host, expected, rtol=error, atol=error)


def with_nan(shape: tuple[int, ...]) -> np.ndarray:
    x = np.random.default_rng(5).integers(-4, 5, shape).astype(np.float64)
    x[x == 3] = np.nan
    x[1] = np.nan
    return x


@pytest.mark.parametrize(
    "name", ["sum", "prod", "mean", "var", "std", "min", "max", "cumsum", "cumprod"]
)
def test_reductions_without_nan(name: str) -> None:
    x = with_nan((7, 60))
    array = xp.asarray(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for axis in (0, 1, None) if NIGHTLY else (1,):
            ours, numpys = (getattr(each, f"nan{name}") for each in (xp, np))
            close(ours(array, axis=axis), numpys(x, axis=axis))
        if name == "sum":
            close(ours(xp.asarray([1, 2])), numpys(np.array([1, 2])))
        if name in ("var", "std"):
            close(ours(array, axis=1, ddof=1), numpys(x, axis=1, ddof=1))


def test_arguments_without_nan():
    x = with_nan((7, 60))
    array = xp.asarray(x)
    close(xp.nanargmax(array, axis=0), np.nanargmax(x, axis=0))
    close(np.nanargmin(array), np.nanargmin(x))
    with pytest.raises(ValueError, match="All-NaN slice"):
        xp.nanargmax(array, axis=1)


def test_averages_and_ranges():
    x, weights = np.arange(12.0).reshape(3, 4) ** 2, np.array([1.0, 0, 2])
    array = xp.asarray(x)
    close(xp.average(array, 0, xp.asarray(weights)), np.average(x, 0, weights))
    close(xp.average(array, weights=array), np.average(x, weights=x))
    close(np.ptp(array, axis=1), np.ptp(x, axis=1))
    with pytest.raises(ZeroDivisionError):
        xp.average(array, 1, xp.asarray(np.zeros(4)))


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_quantiles(dtype: Any) -> None:
    x = np.random.default_rng(5).integers(-99, 99, (5, 6, 40)).astype(dtype)
    if x.dtype.kind == "f":
        x[0, 0, 0] = np.nan
    array = xp.asarray(x)
    for axis in (None, (0, 2)):
        close(xp.median(array, axis=axis), np.median(x, axis=axis))
        close(
            xp.quantile(array, [0, 0.3, 1], axis=axis, keepdims=True),
            np.quantile(x, [0, 0.3, 1], axis=axis, keepdims=True),
        )
    for method in ("lower", "higher", "midpoint", "nearest"):
        got = xp.percentile(array, 37.5, axis=1, method=method)
        np.testing.assert_array_equal(got, np.percentile(x, 37.5, axis=1, method=method))
    close(xp.median(array[:, :5], axis=1), np.median(x[:, :5], axis=1))
    with pytest.raises(ValueError, match=r"range \[0, 100\]"):
        xp.percentile(array, 101)
    with pytest.raises(ValueError, match="no elements"):
        xp.median(array[:0], axis=0)


def test_counts():
    x = np.random.default_rng(5).integers(0, 9, 500)
    array = xp.asarray(x)
    close(xp.bincount(array), np.bincount(x))
    close(np.bincount(array, minlength=20), np.bincount(x, minlength=20))
    close(xp.bincount(array[:0]), np.bincount(x[:0]))
    with pytest.raises(ValueError, match="negative"):
        xp.bincount(array - 1)
    floats = (x / 7).astype(np.float32)
    for options in ({}, {"bins": 4, "range": (0.25, 1)}, {"bins": [0, 0.5, 1], "density": True}):
        for got, expected in zip(
            xp.histogram(xp.asarray(floats), **options),
            np.histogram(floats, **options),
            strict=True,
        ):
            np.testing.assert_array_equal(got, expected)
    edges = np.array([0.0, 0.5, 1])
    for right in (False, True):
        close(xp.digitize(xp.asarray(floats), edges, right), np.digitize(floats, edges, right))
        falling = xp.asarray(edges[::-1].copy())
        close(
            xp.digitize(xp.asarray(floats), falling, right), np.digitize(floats, edges[::-1], right)
        )
    with pytest.raises(ValueError, match="monotonic"):
        xp.digitize(array, [0, 2, 1])
    with pytest.raises(ValueError, match="not finite"):
        xp.histogram(xp.asarray([1.0, np.nan]))


# --- functions over an axis ---


def sized(x: np.ndarray, axis: int = -1, keepdims: bool = False) -> np.ndarray:
    return np.sqrt(np.sum(np.abs(x) ** 2, axis=axis, keepdims=keepdims))


def soft(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def simplex(row: np.ndarray) -> np.ndarray:
    falling = np.sort(row)[::-1]
    sums = np.cumsum(falling)
    count = np.sum(1 + np.arange(1, row.size + 1) * falling > sums)
    return np.maximum(row - (sums[count - 1] - 1) / count, 0)


def quantiles(x: np.ndarray, part: float) -> np.ndarray:
    return np.quantile(x, part, axis=-1, keepdims=True)


DEFINITIONS: dict[str, Any] = {
    "softmax": lambda x, y: soft(x),
    "log_softmax": lambda x, y: np.log(soft(x)),
    "sparsemax": lambda x, y: np.apply_along_axis(simplex, -1, x),
    "length": lambda x, y: sized(x),
    "normalize_vector": lambda x, y: x / sized(x, keepdims=True),
    "cosine_similarity": lambda x, y: np.sum(x * y, -1) / sized(x) / sized(y),
    "cosine_distance": lambda x, y: 1 - np.sum(x * y, -1) / sized(x) / sized(y),
    "distance_euclidean": lambda x, y: sized(x - y),
    "distance_manhattan": lambda x, y: np.sum(np.abs(x - y), -1),
    "distance_chebyshev": lambda x, y: np.max(np.abs(x - y), -1),
    "distance_minkowski": lambda x, y: np.sum(np.abs(x - y) ** 3, -1) ** (1 / 3),
    "iqr": lambda x, y: (quantiles(x, 0.75) - quantiles(x, 0.25))[..., 0],
    "mad": lambda x, y: np.median(np.abs(x - np.median(x, -1, keepdims=True)), -1),
    "winsorize": lambda x, y: np.clip(x, quantiles(x, 0.1), quantiles(x, 0.8)),
}
NUMBERS = {"distance_minkowski": (3,), "winsorize": (0.1, 0.2)}


def test_every_function_over_an_axis_is_there():
    names = {each.name for each in OVER_AN_AXIS}
    assert names == {*DEFINITIONS, "gumbel_softmax"}
    assert all(hasattr(xp, name) for name in names)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_functions_over_an_axis(name: str) -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, 3, 33)).astype(np.float32)
    operands = next(each.operands for each in OVER_AN_AXIS if each.name == name)
    arrays = [xp.asarray(each) for each, _ in zip((x, y), "xy", strict=True) if _ in operands]
    expected = DEFINITIONS[name](x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    got = getattr(xp, name)(*arrays, *NUMBERS.get(name, ()), axis=-1)
    close(got, expected, 32)
    if NIGHTLY or name == "softmax":
        arrays = [xp.asarray(np.ascontiguousarray(np.asarray(each).T)) for each in arrays]
        got = getattr(xp, name)(*arrays, *NUMBERS.get(name, ()), axis=0)
        close(got, expected.T, 32)


def test_no_overflow():
    big = np.full((2, 3), 1e30, np.float32)
    array = xp.asarray(big)
    close(xp.length(array), np.full(2, 1e30 * 3**0.5, np.float32))
    close(xp.distance_minkowski(array, -array, 3), np.full(2, 2e30 * 3 ** (1 / 3), np.float32))
    close(xp.softmax(array), np.full((2, 3), 1 / 3, np.float32))
    close(xp.logsumexp(array, axis=1), big[:, 0])
    assert np.asarray(xp.length(xp.asarray([np.inf, 1.0]))) == np.inf
    close(xp.normalize_vector(xp.asarray(np.zeros(3))), np.zeros(3))
    close(xp.logsumexp(xp.asarray([-np.inf, -np.inf])), np.float64(-np.inf))
    close(xp.logsumexp(xp.asarray([1000, 1000])), np.float64(1000 + np.log(2)))


def test_soft_maxima_with_noise():
    x = np.zeros((2, 500), np.float32)
    got = np.asarray(xp.gumbel_softmax(xp.asarray(x), 0.5, 7))
    np.testing.assert_allclose(got.sum(-1), 1, rtol=1e-5)
    assert np.unique(got).size > 900
    assert np.array_equal(got, xp.gumbel_softmax(xp.asarray(x), 0.5, 7))
    assert not np.array_equal(got, xp.gumbel_softmax(xp.asarray(x), 0.5, 8))
