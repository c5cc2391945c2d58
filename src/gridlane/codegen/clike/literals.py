"""Exact float constants as text."""

from __future__ import annotations

import numpy as np

from gridlane.core.dtypes import DType, f32

LARGEST = float(np.finfo(np.float32).max)


def decimal(value: float) -> str | None:
    """A finite normal f32 as a decimal that any parser rounds back to it; else None.

    The fewest digits that distinguish it from other f32, if a parser that goes through a double
    gets it right as well; else 17 digits, which distinguish all doubles.

    >>> decimal(0.10000000149011612), decimal(1.0), decimal(float("inf"))
    ('0.1', '1.0', None)
    >>> decimal(LARGEST)
    '3.4028234663852886e+38'
    """
    if value and not 2.0**-126 <= abs(value) < 2.0**128:
        return None
    if value != value:
        return None
    text = str(np.float32(value))
    # Tint refuses numbers above the largest f32, which its fewest digits are.
    if np.float32(float(text)) != np.float32(value) or abs(float(text)) > LARGEST:
        text = f"{value:.17g}"
    return text if "." in text or "e" in text else f"{text}.0"


def pattern(value: float, dtype: DType) -> int:
    """The bits of a float."""
    return int(np.array(value, dtype.numpy).view(f"u{dtype.size}"))


def float_literal(value: float, convert: str, suffix: str) -> str:
    """An f32: a decimal where that is exact, else its bits in a call of ``convert``."""
    text = decimal(value)
    return f"{text}{suffix}" if text else f"{convert}({pattern(value, f32):#x}u)"
