"""Polynomials of the functions for fused multiply-adds, by the names in ``coefficients.txt``."""

from __future__ import annotations

from pathlib import Path

from gridlane.passes.legalise.math.polynomials import Polynomial, polynomials

_KNOWN = polynomials(Path(__file__).with_suffix(".txt"))


def __getattr__(name: str) -> Polynomial:
    """A polynomial of the file."""
    if name not in _KNOWN:
        raise AttributeError(f"{__name__} has no polynomial {name}")
    return _KNOWN[name]
