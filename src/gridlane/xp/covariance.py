"""Covariances and correlations of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.xp import dtypes, manipulation, products
from gridlane.xp.arrays import Array
from gridlane.xp.functions import clip, function
from gridlane.xp.linalg import diagonal
from gridlane.xp.numpy_names import atleast_2d
from gridlane.xp.operands import of_array
from gridlane.xp.reductions.statistics import mean


@of_array
def cov(
    m: Array,
    /,
    y: Array | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    *,
    dtype: Any = None,
) -> Array:
    """The covariances of variables, each of them a row.

    Args:
        y: further variables.
        rowvar: False for variables that are columns.
        bias: whether to divide by the number of observations, not by one less.
        ddof: what to divide by is so much less than the number of observations.
    """
    if ddof is not None and int(ddof) != ddof:
        raise ValueError("ddof must be integer")
    if m.ndim > 2 or (y is not None and y.ndim > 2):
        raise ValueError("m and y have at most two dimensions")
    parts = [_rows(each, rowvar) for each in (m, y) if each is not None]
    kind = dtypes.result_type(*parts, np.float64) if dtype is None else dtype
    x = manipulation.concat([each.astype(kind, copy=False) for each in parts])
    fewer = (0 if bias else 1) if ddof is None else int(ddof)
    deviations = x - mean(x, axis=1, keepdims=True)
    divisor = max(x.shape[1] - fewer, 0)
    scale = 1.0 / divisor if divisor else float("inf")  # as NumPy, which divides by 0
    return (products.matmul(deviations, function("conj")(deviations).mT) * scale).squeeze()


def _rows(m: Array, rowvar: bool) -> Array:
    """The variables as rows. A vector is one variable."""
    rows = atleast_2d(m)
    return rows if rowvar or m.ndim < 2 else rows.mT


@of_array
def corrcoef(
    x: Array, /, y: Array | None = None, rowvar: bool = True, *, dtype: Any = None
) -> Array:
    """The coefficients of correlation of variables; see ``cov``. Rounding leaves none above 1."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    deviations = function("sqrt")(function("real")(diagonal(c)))
    c = c / deviations[:, None] / deviations[None, :]
    if c.dtype.kind != "c":
        return clip(c, -1, 1)
    return clip(function("real")(c), -1, 1) + clip(function("imag")(c), -1, 1) * 1j
