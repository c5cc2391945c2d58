"""Exact results of the operations, from NumPy and mpmath at a higher precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.xp.formulas import FORMULAS, FORMULAS_OF_BITS

from gridlane.xp.operations.loops import BFLOAT16
from gridlane.xp.operations.record import Operation

Reference = Callable[..., Any]


def special(dtype: np.dtype[Any], count: int, seed: int) -> np.ndarray:
    """Elements of a dtype: special ones, common ones, and ones of all magnitudes."""
    generator = np.random.default_rng(seed)
    if dtype.kind == "b":
        return generator.integers(0, 2, count).astype(bool)
    kinds = generator.integers(0, 3, count)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low, high = int(limits.min), int(limits.max)
        edges = np.array([0, 1, 2, 3, 7, high, high - 1, low, low + 1], dtype)
        everywhere = generator.integers(low, high, count, dtype=dtype, endpoint=True)
        small = generator.integers(max(low, -9), 9, count).astype(dtype)
        parts = [generator.choice(edges, count), everywhere, small]
        return np.choose(kinds, parts).astype(dtype)
    if dtype.kind == "c":
        result = np.empty(count, dtype)
        result.real = special(result.real.dtype, count, seed)
        result.imag = special(result.real.dtype, count, seed + 100)
        return result
    tiny, least, largest = limits_of(dtype)
    edges = [0.0, -0.0, 1, -1, 0.5, 2, 3, -2, -3, 1.5, 2.5, -0.5]
    edges += [np.inf, -np.inf, np.nan, tiny, least, -least, largest, -largest]
    scattered = generator.normal(0, 1, count) * 10.0 ** generator.uniform(-3, 3, count)
    parts = [generator.choice(edges, count), scattered, generator.uniform(-2, 2, count)]
    return np.choose(kinds, parts).astype(dtype)


def limits_of(dtype: np.dtype[Any]) -> tuple[float, float, float]:
    """The least normal number, the least number, the largest one."""
    if dtype == BFLOAT16:
        return 2.0**-126, 2.0**-133, float(np.float32(3.3895314e38))
    info = np.finfo(dtype)
    return float(info.tiny), float(info.smallest_subnormal), float(info.max)


def wider(array: Any) -> Any:
    """Elements at a precision that has no error beside theirs; integers as they are."""
    if not isinstance(array, np.ndarray):
        return array
    if array.dtype.kind == "c":
        return array.astype(np.clongdouble)
    if array.dtype.kind == "f" or array.dtype == BFLOAT16:
        return array.astype(np.longdouble)
    return array


def rounded(exact: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Exact results as elements of a dtype."""
    if dtype == BFLOAT16:
        exact = exact.astype(np.float32)
    return exact.astype(dtype)


def errors(got: np.ndarray, exact: np.ndarray, scale: np.ndarray | None = None) -> np.ndarray:
    """The errors of results in ulp; infinite where one alone is NaN or overflows.

    Args:
        scale: sizes whose ulp counts where they exceed the results; for complex results, sizes.
    """
    if got.dtype.kind == "c":
        return _complex_errors(got, exact)
    dtype = got.dtype
    tiny, least, _ = limits_of(dtype)
    got_, want = got.astype(np.longdouble), np.asarray(exact, np.longdouble)
    final = rounded(want, dtype).astype(np.longdouble)
    size = np.abs(want) if scale is None else np.maximum(np.abs(want), scale)
    size = np.where(np.isfinite(size), size, 1.0)
    step = np.exp2(np.floor(np.log2(np.maximum(size, tiny)))) * np.longdouble(least / tiny)
    distance = np.abs(got_ - want) / step
    plain = np.isfinite(got_) & np.isfinite(want)
    same = (got_ == final) | (np.isnan(got_) & np.isnan(want))
    # An exact result just below the limit may overflow.
    near = np.isinf(got_) & (np.abs(want) * (1 + 8 * np.longdouble(least / tiny)) >= _most(dtype))
    near &= np.sign(got_) == np.sign(want)
    return np.where(plain, distance, np.where(same | near, 0.0, np.inf)).astype(float)


def _most(dtype: np.dtype[Any]) -> np.longdouble:
    return np.longdouble(limits_of(dtype)[2])


def _complex_errors(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    part = got.real.dtype
    whole = np.isfinite(got) & np.isfinite(exact)
    with np.errstate(all="ignore"):
        size = np.where(whole, np.abs(exact), 0)
        difference = np.where(whole, np.abs(got.astype(np.clongdouble) - exact), 0)
    tiny, least, _ = limits_of(part)
    step = np.exp2(np.floor(np.log2(np.maximum(size, tiny)))) * np.longdouble(least / tiny)
    parts = [errors(got.real, exact.real), errors(got.imag, exact.imag)]
    return np.where(whole, difference / step, np.maximum(*parts)).astype(float)


def spacing(a: np.ndarray) -> np.ndarray:
    """The distance to the neighbour away from 0."""
    infinite = np.full(a.shape, np.inf).astype(a.dtype)
    step = np.nextafter(a, np.copysign(infinite, a)) - a
    return np.where(a == 0, np.abs(step), step)


def floor_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """NumPy's, and the array API standard's results for infinities."""
    if a.dtype.kind in "iu":
        return np.floor_divide(a, b)
    infinite = np.isinf(a) | np.isinf(b)
    return np.where(infinite, np.floor(a / b), np.floor_divide(a, b))


OWN: dict[str, Reference] = {
    "nextafter": np.nextafter,
    "spacing": spacing,
    "fract": lambda a: fract(a),
    **FORMULAS_OF_BITS,
}
"""Those that depend on the dtype."""
REFERENCES: dict[str, Reference] = {
    "round": lambda a: np.rint(a) if a.dtype.kind in "fc" else a,
    "float_power": np.power,
    "floor_divide": floor_divide,
    "angle": lambda a: np.where(np.isnan(a), np.nan, np.angle(a)),
    "real": np.real,
    "imag": np.imag,
    "clip": lambda a, b, c: np.minimum(np.maximum(a, b), c),
    "where": np.where,
    **FORMULAS,
}
"""Exact results of the operations that are no ufunc of NumPy's."""


def fract(a: np.ndarray) -> np.ndarray:
    """The part above floor(a); the largest number below 1 where it would be rounded to that."""
    rest = wider(a) - np.floor(wider(a))
    below = np.nextafter(np.ones_like(a), np.zeros_like(a)).astype(np.longdouble)
    return np.where(np.isinf(a), np.nan, np.minimum(rest, below))


def exactly(row: Operation, operands: tuple[Any, ...]) -> Any:
    """The exact results of a row."""
    if row.name in OWN:
        return OWN[row.name](*operands)
    return _reference(row)(*map(wider, operands))


def _reference(row: Operation) -> Reference:
    return REFERENCES[row.name] if row.name in REFERENCES else getattr(np, row.name)
