"""Comparisons of whole arrays, on the host, where their result is."""

from __future__ import annotations

from typing import Any

import numpy as np


def array_equal(a1: Any, a2: Any, /, equal_nan: bool = False) -> bool:
    """Whether two arrays, of any device or the host, have one shape and equal elements.

    Args:
        equal_nan: whether NaN equals NaN.
    """
    return bool(np.array_equal(np.asarray(a1), np.asarray(a2), equal_nan))


def allclose(
    a: Any, b: Any, /, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether the elements of two arrays differ by at most ``atol + rtol * abs(b)``."""
    return bool(np.allclose(np.asarray(a), np.asarray(b), rtol, atol, equal_nan))
