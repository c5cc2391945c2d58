"""The operands on which the operations are tried, and the measure of their errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
from tests.effort import NIGHTLY
from tests.xp.formulas import FORMULAS
from tests.xp.references import errors, special, wider

from gridlane.xp.operations.loops import BFLOAT16
from gridlane.xp.operations.record import Operation

COUNT = 500
DTYPES = [*map(np.dtype, "?bBhHiIlLefdFD"), BFLOAT16]


Named = TypeVar("Named")


def of_today(rows: Sequence[Named], device: str, name: Callable[[Named], str]) -> list[Named]:
    """The rows that are tried on a device: by day a quarter of them where kernels are compiled."""
    if NIGHTLY or device == "interp":
        return list(rows)
    return [each for each in rows if crc32(f"{name(each)} {device}".encode()) % 4 == 0]


def operands_of(
    row: Operation, dtype: np.dtype[Any], count: int = COUNT
) -> tuple[np.ndarray, ...] | None:
    """Operands of a dtype, where the row has a loop that keeps it."""
    kinds = (dtype,) * row.arity
    if row.name == "ldexp":
        kinds = (dtype, np.dtype(np.int32))
    elif row.name == "where":
        kinds = (np.dtype(bool), dtype, dtype)
    try:
        loop = row.types(kinds)
    except TypeError:
        return None
    if loop.inputs != kinds:
        return None
    if row.name in DOMAINS and dtype.kind not in "biu":
        return tuple(
            [tame(dtype, *limits, place, count) for place, limits in enumerate(DOMAINS[row.name])]
        )
    if row.name in FORMULAS and row.arity > 1 and dtype.kind not in "biuc":
        return tuple([tame(dtype, -9, 9, place, count) for place in range(row.arity)])
    arrays = [wild(kind, place, count) for place, kind in enumerate(kinds)]
    if row.name in ("power", "modular_power") and dtype.kind in "iu":
        arrays[1] = small_powers(dtype, count)
    return tuple(arrays)


ANY, UNIT, ABOVE = (-9, 9), (0, 1), (0.01, 9)
DOMAINS = {
    "celu": (ANY, ABOVE),
    "binary_cross_entropy": (UNIT, UNIT),
    "exponential_pdf": (ANY, ABOVE),
    "exponential_cdf": (ANY, ABOVE),
    "normal_pdf": (ANY, ANY, ABOVE),
    "uniform_pdf": (ANY, (-9, 0), ABOVE),
    "gamma_correct": (UNIT, ABOVE),
    "boxcox": (ABOVE, ANY),
    "inv_boxcox": (ABOVE, ABOVE),
    "tukey_transform": (ABOVE, ANY),
    "poisson_loss": (ABOVE, ABOVE),
    "mix": (ANY, ANY, UNIT),
    "bezier_quadratic": (ANY, ANY, ANY, UNIT),
    "bezier_cubic": (ANY, ANY, ANY, ANY, UNIT),
}
"""The ranges of operands of which the bounds hold. Those of formulas without a row have no extreme
numbers, with which the steps of the formula may overflow."""


@cache
def tame(dtype: np.dtype[Any], low: float, high: float, place: int, count: int) -> np.ndarray:
    """Numbers of a range, multiples of 1/8 among them, its ends and NaN."""
    generator = np.random.default_rng(place)
    eighths = np.clip(np.rint(generator.uniform(low, high, count) * 8) / 8, low, high)
    plain = generator.uniform(low, high, count)
    edges = generator.choice([low, high, max(low, 0.0), min(high, 1.0), np.nan], count)
    return np.choose(generator.integers(0, 5, count) // 2, [eighths, plain, edges]).astype(dtype)


@cache
def wild(dtype: np.dtype[Any], place: int, count: int) -> np.ndarray:
    """Numbers of every magnitude; the same object for each use, which is one array of a device."""
    return special(dtype, count, 10 + place)


@cache
def small_powers(dtype: np.dtype[Any], count: int) -> np.ndarray:
    """Exponents of integers."""
    return np.abs(wild(dtype, 1, count) // 2) % 99


def measured(
    row: Operation, operands: tuple[np.ndarray, ...], got: np.ndarray, exact: np.ndarray
) -> tuple[np.ndarray, float]:
    """The errors of float or complex results, and the row's bound."""
    scale = None
    if row.bound is not None and row.bound.of_operands:
        scale = np.nanmax([np.abs(wider(each)) for each in operands], axis=0)
    elif row.bound is not None and row.bound.least:
        scale = np.full(len(got), row.bound.least)
    error = errors(got, exact, scale)
    if operands[-1].dtype.kind == "c":
        usual = np.isfinite(error) & typical(operands)
        # Each part is rounded to nearest by 0.5 ulp at most.
        return np.where(usual, error, 0.0), row.complex_bound or 0.7072
    bound = 0.5001 if row.bound is None else getattr(row.bound, got.dtype.name)
    zeros = (got == 0) & (exact == 0) & (np.signbit(got) != np.signbit(exact))
    if row.name not in (*FORMULAS, "maximum", "minimum", "fmax", "fmin", "clip"):
        error = np.where(zeros, np.inf, error)
    return error, bound


def typical(operands: tuple[np.ndarray, ...]) -> np.ndarray:
    """Where complex operands are in the range of the stated bound."""
    sizes = [np.abs(each) for each in operands]
    return np.all([(size < 20) & (size > 0.05) for size in sizes], axis=0)
