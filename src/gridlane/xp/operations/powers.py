"""Powers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gridlane.core.dtypes import u32, u64
from gridlane.ir.complexes import arithmetic as complexes
from gridlane.ir.complexes.arithmetic import Pair
from gridlane.ir.expressions import Expression, Writer
from gridlane.ir.ops import math
from gridlane.xp.operations.arithmetic import ARITHMETIC, divide_complex
from gridlane.xp.operations.functions import FUNCTION
from gridlane.xp.operations.loops import promoted
from gridlane.xp.operations.record import Complex, Operand
from gridlane.xp.operations.writing import (
    binary,
    chosen,
    from_pair,
    number,
    of_numpy,
    pair,
    real,
    refuse,
)


def _power(w: Writer, a: Operand, b: Operand) -> Operand:
    if isinstance(a, Complex) and isinstance(b, Complex):
        return _complex_power(w, a, b)
    base, exponent = real(a), real(b)
    if base.dtype.is_float:
        return binary(math.Pow, base, exponent)
    if base.dtype.is_signed:
        refuse(w, exponent < 0, "ValueError", NEGATIVE_POWER)
    return _integer_power(w, base, exponent)


def _complex_power(w: Writer, a: Complex, b: Complex) -> Complex:
    """Integers below 100 by multiplication, as NumPy has it; others in polar form."""
    size = abs(b.real)
    by_products = b.imag.equals(0.0) & size.equals(size.trunc()) & (size < 100.0) & (size > 0.0)
    builder = w.builder
    count = w.variable("count", w.select(by_products, size, number(size, 0.0)).cast(u32))
    names = ("real", "imag", "square_real", "square_imag")
    starts = (number(size, 1.0), number(size, 0.0), *a)
    parts = [w.variable(name, start) for name, start in zip(names, starts, strict=True)]
    with builder.loop():
        left = count.get()
        builder.break_if(left.equals(0).value)
        square = Pair(parts[2].get().value, parts[3].get().value)
        with w.when((left & 1).differs(0)):
            total = Pair(parts[0].get().value, parts[1].get().value)
            for part, value in zip(parts, complexes.multiply(builder, total, square), strict=False):
                part.set(w.wrap(value))
        squared = complexes.multiply(builder, square, square)
        for part, value in zip(parts[2:], squared, strict=True):
            part.set(w.wrap(value))
        count.set(left >> 1)
    power = chosen(w, size.equals(1.0), a, Complex(parts[0].get(), parts[1].get()))
    assert isinstance(power, Complex)
    one = Complex(number(size, 1.0), number(size, 0.0))
    power = chosen(w, b.real < 0.0, divide_complex(w, one, power), power)
    polar = from_pair(w, complexes.power(builder, pair(a), pair(b)))
    result = chosen(w, by_products, power, polar)
    assert isinstance(result, Complex)
    return result


NEGATIVE_POWER = "Integers to negative integer powers are not allowed."


def _integer_power(w: Writer, base: Expression, exponent: Expression) -> Expression:
    """By squaring, modulo the width; an iteration for each bit of the exponent."""
    b = w.builder
    result = w.variable("power", number(base, 1))
    square, rest = w.variable("square", base), w.variable("rest", exponent.cast(u64))
    with b.loop():
        left = rest.get()
        b.break_if(left.equals(0).value)
        with w.when((left & 1).differs(0)):
            result.set(result.get() * square.get())
        square.set(square.get() * square.get())
        rest.set(left >> 1)
    return result.get()


def _simpler_power(a: Any, b: Any) -> tuple[str, tuple[Any, ...]] | None:
    """x ** 2 and x ** -1 by one operation; negative powers of integers are refused."""
    dtype = getattr(a, "dtype", None)
    if dtype is None or type(b) not in (int, float):
        return None
    is_integer = dtype.kind in "iub"
    if is_integer and isinstance(b, int) and np.iinfo(promoted((dtype, int))).min <= b < 0:
        raise ValueError(NEGATIVE_POWER)
    if b == 2 and dtype.kind != "b" and (isinstance(b, int) or not is_integer):
        return "square", (a,)
    return ("reciprocal", (a,)) if b == -1 and not is_integer else None


_arithmetic = partial(of_numpy, ARITHMETIC)

ROWS = (
    _arithmetic(
        "power",
        _power,
        "a to the power b",
        aliases=("pow",),
        special="integers wrap, and ValueError is raised for negative powers; floats: C's pow; "
        "complex: integer powers below 100 by products, others in polar form, with an error that "
        "grows as abs(b * log(a)) does",
        bound=FUNCTION,
        gradient=("g * b * power(a, b - 1)", "g * y * log(a)"),
        complex_bound=256,
        rewrite=_simpler_power,
    ),
    _arithmetic(
        "float_power",
        _power,
        "a to the power b, in float64",
        special="C's pow",
        bound=FUNCTION,
        complex_bound=256,
        gradient=("g * b * float_power(a, b - 1)", "g * y * log(a)"),
    ),
)
