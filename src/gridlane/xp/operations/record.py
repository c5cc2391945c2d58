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


@frozen
class Operation:
    """An operation on the elements of arrays.

    Attributes:
        name: its name in ``gridlane.xp``, or its alias there.
        arity: the number of operands.
        build: writes it for one element.
        types: the dtypes for those of the operands.
    """

    name: str
    arity: int
    build: Build
    types: Types


def loops_of(ufunc: np.ufunc) -> Types:
    """The loops of a ufunc of NumPy's, with NumPy 2's promotion of Python's numbers.

    >>> loops_of(np.add)((np.dtype("i1"), float))
    Loop(inputs=(dtype('float64'), dtype('float64')), outputs=(dtype('float64'),))
    """

    def types(operands: tuple[Any, ...]) -> Loop:
        resolved = ufunc.resolve_dtypes((*operands, *[None] * ufunc.nout))
        return Loop(resolved[: ufunc.nin], resolved[ufunc.nin :])

    return types
