"""A row of the table of operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gridlane.core.frozen import frozen
from gridlane.ir.expressions import Expression


class Complex(NamedTuple):
    """A complex number of the code under construction."""

    real: Expression
    imag: Expression


Operand = Expression | Complex
Build = Callable[..., Operand | tuple[Operand, ...]]
"""Writes an operation's ops: ``build(writer, *operands)``. The operands have the input dtypes of
the loop, and the results must have its output dtypes; a ``Complex`` stands for a complex number."""


class Loop(NamedTuple):
    """The dtypes that an operation computes in, after NumPy's loops of a ufunc."""

    inputs: tuple[np.dtype[Any], ...]
    outputs: tuple[np.dtype[Any], ...]


Types = Callable[[tuple[Any, ...]], Loop]
"""The loop for operands of these types: dtypes, or ``bool``, ``int``, ``float`` and ``complex`` for
Python's numbers. It raises TypeError where there is none."""

Rewrite = Callable[..., tuple[str, tuple[Any, ...]] | None]
"""Another operation, with its operands, that computes the same where an operand is a number of
Python's: ``rewrite(*operands)``. An operand that is no number has a ``dtype``."""


class Bound(NamedTuple):
    """The largest error of each dtype's results, in units of their last place (ulp).

    The distance of neighbours at the exact result counts; at results below the least normal number,
    that of subnormal numbers.

    Attributes:
        of_operands: the ulp is that of the largest operand or result: the results near zero are
            differences.
        least: the least number whose ulp counts, where the results have zeros that no formula of
            floats is exact near.
    """

    float16: float
    bfloat16: float
    float32: float
    float64: float
    of_operands: bool = False
    least: float = 0


@frozen
class Operation:
    """An operation on the elements of arrays.

    Attributes:
        name: its name in ``gridlane.xp``.
        arity: the number of operands, which texts name a, b, c, d, e.
        build: writes it for one element.
        types: the dtypes for those of the operands.
        summary: what it computes.
        section: the part of the table, and of the page, where it is.
        aliases: its other names.
        special: the domain, and the results at its edges.
        bound: the largest error of floats; None if they are exact or correctly rounded.
        complex_bound: the largest error of complex numbers: the distance from the exact result in
            ulp of its magnitude, for operands of a magnitude from 0.05 to 20; 0 if both parts are
            exact or correctly rounded, or there are none.
        gradient: for each operand, the gradient for the gradient g of the result y, in Python with
            names of the table; () if there is none.
        rewrite: simplifies it for Python's numbers.
    """

    name: str
    arity: int
    build: Build
    types: Types
    summary: str = ""
    section: str = ""
    aliases: tuple[str, ...] = ()
    special: str = ""
    bound: Bound | None = None
    gradient: tuple[str, ...] = ()
    complex_bound: float = 0
    rewrite: Rewrite | None = None

    # Rows are few and live for good; they key tables on the path of a launch.
    __eq__ = object.__eq__
    __hash__ = object.__hash__
