"""Arithmetic of integers modulo a number, exact at every width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.core.dtypes import u64
from gridlane.ir.expressions import Expression, Writer
from gridlane.xp.operations.loops import integers
from gridlane.xp.operations.record import Operation
from gridlane.xp.operations.writing import number, refuse

MODULAR = "Modular arithmetic"

Sizes = tuple[Expression, Expression, Expression]


def _size(x: Expression) -> Expression:
    """The magnitude as an unsigned integer."""
    return (abs(x) if x.dtype.is_signed else x).cast(x.dtype.unsigned)


def _rest(w: Writer, x: Expression, modulus: Expression) -> Expression:
    """x modulo a positive unsigned integer, from 0."""
    rest = _size(x) % modulus
    if not x.dtype.is_signed:
        return rest
    return w.select((x < 0) & rest.differs(0), modulus - rest, rest)


def _sum(w: Writer, x: Expression, y: Expression, modulus: Expression) -> Expression:
    """x + y modulo a number above both, without overflow."""
    left = modulus - y
    return w.select(x >= left, x - left, x + y)


def _product(w: Writer, x: Expression, y: Expression, modulus: Expression) -> Expression:
    """x * y modulo a number above both: at 64 bits by doubling."""
    kind = x.dtype
    if kind is not u64:
        return (x.cast(u64) * y.cast(u64) % modulus.cast(u64)).cast(kind)
    b = w.builder
    total = w.variable("product", w.const(0, kind))
    term, count = w.variable("term", x), w.variable("count", y)
    with b.loop():
        left = count.get()
        b.break_if(left.equals(0).value)
        with w.when((left & 1).differs(0)):
            total.set(_sum(w, total.get(), term.get(), modulus))
        term.set(_sum(w, term.get(), term.get(), modulus))
        count.set(left >> 1)
    return total.get()


def _modular(
    compute: Callable[[Writer, Expression, Expression, Expression], Expression],
) -> Callable[..., Expression]:
    """With the sign of the modulus, as Python's %; 0 for the modulus 0."""

    def build(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
        size = _size(c)
        none = size.equals(0)
        modulus = w.select(none, number(size, 1), size)
        rest = compute(w, _rest(w, a, modulus), _rest(w, b, modulus), modulus)
        return _with_sign(w, rest, c, modulus)

    return build


def _with_sign(w: Writer, rest: Expression, c: Expression, modulus: Expression) -> Expression:
    """A remainder as one with the sign of the modulus c."""
    if c.dtype.is_signed:
        rest = w.select((c < 0) & rest.differs(0), rest - modulus, rest)
    return rest.cast(c.dtype)


def _difference(w: Writer, x: Expression, y: Expression, modulus: Expression) -> Expression:
    return w.select(x >= y, x - y, x + (modulus - y))


def _power(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
    if b.dtype.is_signed:
        refuse(w, b < 0, "ValueError", "modular_power: the exponent is negative")
    size = _size(c)
    modulus = w.select(size.equals(0), number(size, 1), size)
    result = w.variable("power", number(modulus, 1) % modulus)
    square = w.variable("square", _rest(w, a, modulus))
    rest = w.variable("exponent", b.cast(b.dtype.unsigned))
    with w.builder.loop():
        left = rest.get()
        w.builder.break_if(left.equals(0).value)
        with w.when((left & 1).differs(0)):
            result.set(_product(w, result.get(), square.get(), modulus))
        square.set(_product(w, square.get(), square.get(), modulus))
        rest.set(left >> 1)
    return _with_sign(w, result.get(), c, modulus)


def _row(name: str, build: Any, summary: str, special: str = "") -> Operation:
    full = f"modular_{name}"
    edges = "the sign of c, as Python's %; 0 where c is 0" + special
    return Operation(full, 3, build, integers(full), summary, MODULAR, special=edges)


ROWS = (
    _row("add", _modular(_sum), "(a + b) modulo c, without overflow"),
    _row("subtract", _modular(_difference), "(a - b) modulo c, without overflow"),
    _row("multiply", _modular(_product), "(a * b) modulo c, without overflow"),
    _row(
        "power",
        _power,
        "a**b modulo c, without overflow",
        "; ValueError is raised for a negative b",
    ),
)
