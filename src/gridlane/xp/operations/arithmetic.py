"""Sums, differences, products and comparisons."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gridlane.core.dtypes import b1
from gridlane.ir.expressions import Expression, Writer
from gridlane.xp.operations.record import Complex, Operand, Operation, loops_of


def _add(w: Writer, a: Operand, b: Operand) -> Operand:
    if isinstance(a, Complex) and isinstance(b, Complex):
        return Complex(a.real + b.real, a.imag + b.imag)
    assert isinstance(a, Expression) and isinstance(b, Expression)
    return a | b if a.dtype is b1 else a + b


def _subtract(w: Writer, a: Operand, b: Operand) -> Operand:
    if isinstance(a, Complex) and isinstance(b, Complex):
        return Complex(a.real - b.real, a.imag - b.imag)
    assert isinstance(a, Expression) and isinstance(b, Expression)
    return a - b


def _multiply(w: Writer, a: Operand, b: Operand) -> Operand:
    if isinstance(a, Complex) and isinstance(b, Complex):
        return Complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)
    assert isinstance(a, Expression) and isinstance(b, Expression)
    return a & b if a.dtype is b1 else a * b


def _negative(w: Writer, a: Operand) -> Operand:
    return Complex(-a.real, -a.imag) if isinstance(a, Complex) else -a


def _identity(w: Writer, a: Operand) -> Operand:
    return a


BINARY: dict[str, Callable[[Writer, Operand, Operand], Operand]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
}
UNARY: dict[str, Callable[[Writer, Operand], Operand]] = {
    "negative": _negative,
    "positive": _identity,
}

ROWS = tuple(
    Operation(name, arity, build, loops_of(getattr(np, name)))
    for arity, table in ((2, BINARY), (1, UNARY))
    for name, build in table.items()
)
