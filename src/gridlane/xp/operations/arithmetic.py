"""Sums, products, quotients, powers, signs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gridlane.core.dtypes import b1
from gridlane.ir.complexes import arithmetic as complexes
from gridlane.ir.expressions import Expression, Writer
from gridlane.ir.ops import arith, math
from gridlane.xp.operations.loops import loops_of, numbers
from gridlane.xp.operations.record import Bound, Complex, Operand, Operation
from gridlane.xp.operations.writing import (
    binary,
    from_pair,
    is_infinite,
    is_nan,
    number,
    of_numpy,
    on_pairs,
    pair,
    quiet_nan,
    real,
    signed,
    split,
    unary,
    widened,
)

ARITHMETIC = "Arithmetic"


def _add(w: Writer, a: Expression, b: Expression) -> Expression:
    return a | b if a.dtype is b1 else a + b


def _subtract(w: Writer, a: Expression, b: Expression) -> Expression:
    return a - b


def _multiply(w: Writer, a: Expression, b: Expression) -> Expression:
    return a & b if a.dtype is b1 else a * b


def _negative(w: Writer, a: Operand) -> Operand:
    return Complex(-a.real, -a.imag) if isinstance(a, Complex) else -a


def _identity(w: Writer, a: Operand) -> Operand:
    return a


def _absolute(w: Writer, a: Operand) -> Operand:
    if isinstance(a, Complex):
        return w.wrap(complexes.magnitude(w.builder, pair(a)))
    return abs(a) if a.dtype.is_float or a.dtype.is_signed else a


# ---- quotients


def divide_complex(w: Writer, a: Complex, b: Complex) -> Complex:
    """By Smith's method; by 0, each part by +0, as NumPy does."""
    quotient = from_pair(w, complexes.divide(w.builder, pair(a), pair(b)))
    at_zero = abs(b.real).equals(0.0) & abs(b.imag).equals(0.0)
    zero = number(b.real, 0.0)
    return Complex(
        w.select(at_zero, a.real / zero, quotient.real),
        w.select(at_zero, a.imag / zero, quotient.imag),
    )


def _integer_quotient(w: Writer, a: Expression, b: Expression) -> tuple[Expression, Expression]:
    """The quotient that is rounded down, and its remainder; both are 0 by 0."""
    zero = number(a, 0)
    by_zero = b.equals(0)
    divisor = w.select(by_zero, number(a, 1), b)
    quotient, rest = a / divisor, a % divisor
    if a.dtype.is_signed:
        # The quotient of the least integer by -1 wraps to itself, and the remainder is 0.
        rest = w.select(divisor.equals(-1), zero, rest)
        below = rest.differs(0) & ((rest ^ divisor) < 0)
        quotient = w.select(below, quotient - 1, quotient)
        rest = w.select(below, rest + divisor, rest)
    return w.select(by_zero, zero, quotient), w.select(by_zero, zero, rest)


def _float_quotient(w: Writer, a: Expression, b: Expression) -> tuple[Expression, Expression]:
    """Python's and NumPy's divmod of floats."""
    rest = binary(arith.Rem, a, b)
    quotient = (a - rest) / b
    off = rest.differs(0.0) & ((b < 0.0) ^ (rest < 0.0))
    quotient = w.select(off, quotient - 1.0, quotient)
    floor = unary(math.Floor, quotient)
    floor = w.select(quotient - floor > 0.5, floor + 1.0, floor)
    floor = w.select(quotient.equals(0.0), signed(0.0, a / b), floor)
    by_zero = b.equals(0.0)
    exact = w.select(rest.equals(0.0), signed(0.0, b), rest)
    rest = w.select(off, rest + b, exact)
    return w.select(by_zero, a / b, floor), w.select(by_zero, quiet_nan(a), rest)


_wide_quotient = widened(_float_quotient)


def _divmod(w: Writer, a: Expression, b: Expression) -> tuple[Expression, Expression]:
    return _wide_quotient(w, a, b) if a.dtype.is_float else _integer_quotient(w, a, b)


def _floor_divide(w: Writer, a: Expression, b: Expression) -> Expression:
    """Of infinities the floor of the quotient, as the array API standard has it."""
    quotient = _divmod(w, a, b)[0]
    if not a.dtype.is_float:
        return quotient
    infinite = is_infinite(w, a) | is_infinite(w, b)
    return w.select(infinite, unary(math.Floor, a / b), quotient)


def _fmod(w: Writer, a: Expression, b: Expression) -> Expression:
    if a.dtype.is_float:
        return binary(arith.Rem, a, b)
    by_zero = b.equals(0)
    if a.dtype.is_signed:
        by_zero = by_zero | b.equals(-1)
    return w.select(by_zero, number(a, 0), a % w.select(by_zero, number(a, 1), b))


def _reciprocal(w: Writer, a: Operand) -> Operand:
    if isinstance(a, Complex):
        return _reciprocal_complex(w, a)
    if a.dtype.is_float:
        return 1.0 / a
    at_zero = a.equals(0)
    return w.select(at_zero, number(a, 0), number(a, 1) / w.select(at_zero, number(a, 1), a))


def _reciprocal_complex(w: Writer, a: Complex) -> Complex:
    """By Smith's method, as NumPy."""
    flip = abs(a.real) < abs(a.imag)
    large, small = w.select(flip, a.imag, a.real), w.select(flip, a.real, a.imag)
    ratio = small / large
    scale = large + small * ratio
    one = number(large, 1.0)
    return Complex(
        w.select(flip, ratio, one) / scale, w.select(flip, number(large, -1.0), -ratio) / scale
    )


# ---- signs, extremes, divisors


def _square(w: Writer, a: Operand) -> Operand:
    if isinstance(a, Complex):
        return from_pair(w, complexes.multiply(w.builder, pair(a), pair(a)))
    return a * a


def _sign(w: Writer, a: Operand) -> Operand:
    if isinstance(a, Complex):
        return _direction(w, a)
    zero, one = number(a, 0), number(a, 1)
    positive = w.select(a > zero, one, zero)
    if not (a.dtype.is_float or a.dtype.is_signed):
        return positive
    sign = w.select(a < zero, number(a, -1), positive)
    return w.select(a.is_nan(), a, sign) if a.dtype.is_float else sign


def _direction(w: Writer, a: Complex) -> Complex:
    """z / |z|, or 0. A part that alone is infinite determines it."""
    size = w.wrap(complexes.magnitude(w.builder, pair(a)))
    tiny = size < number(size, float(np.finfo(size.dtype.numpy).tiny))
    up = w.select(tiny, number(size, 2.0**54), number(size, 1.0))
    half = w.select(is_infinite(w, size), number(size, 0.5), up)
    parts = [each * half for each in a]
    scaled = binary(math.Hypot, parts[0], parts[1])
    normal = [each / scaled for each in parts]
    real_inf, imag_inf = is_infinite(w, a.real), is_infinite(w, a.imag)
    lone = [
        w.select(mine, signed(1.0, each), signed(0.0, each))
        for mine, each in ((real_inf, a.real), (imag_inf, a.imag))
    ]
    bad = is_nan(w, a) | (real_inf & imag_inf)
    at_zero, some_inf = size.equals(0.0), real_inf ^ imag_inf
    nan, zero = quiet_nan(size), number(size, 0.0)
    results = [
        w.select(bad, nan, w.select(at_zero, zero, w.select(some_inf, edge, usual)))
        for edge, usual in zip(lone, normal, strict=True)
    ]
    return Complex(*results)


def _less(w: Writer, a: Complex, b: Complex) -> Expression:
    """NumPy's order of complex numbers: by the real parts, then by the imaginary ones."""
    tie = a.real.equals(b.real) & (a.imag < b.imag)
    return ((a.real < b.real) & ~is_nan(w, a) & ~is_nan(w, b)) | tie


def _extreme(largest: bool, numbers_win: bool) -> Callable[..., Operand]:
    """The larger or smaller operand. NaN wins, or numbers do."""
    op = arith.Max if largest else arith.Min

    def on_complex(w: Writer, a: Complex, b: Complex) -> Operand:
        first = _less(w, b, a) if largest else _less(w, a, b)
        first = first | (a.real.equals(b.real) & a.imag.equals(b.imag))
        special, other = is_nan(w, a), is_nan(w, b)
        first = (first | other) & ~special if numbers_win else special | (first & ~other)
        if numbers_win:
            first = first | (special & other)
        return Complex(w.select(first, a.real, b.real), w.select(first, a.imag, b.imag))

    def on_real(w: Writer, a: Expression, b: Expression) -> Operand:
        if a.dtype is b1:
            return a | b if largest else a & b
        result = binary(op, a, b)
        if numbers_win or not a.dtype.is_float:
            return result
        return w.select(a.is_nan(), a, w.select(b.is_nan(), b, result))

    return split(on_real, on_complex)


_maximum, _minimum = _extreme(True, False), _extreme(False, False)


def _clip(w: Writer, a: Operand, b: Operand, c: Operand) -> Operand:
    return _minimum(w, _maximum(w, a, b), c)


def _gcd(w: Writer, a: Expression, b: Expression) -> Expression:
    """Euclid's loop, on magnitudes as unsigned integers."""
    kind = a.dtype.unsigned
    sizes = [(abs(each) if each.dtype.is_signed else each).cast(kind) for each in (a, b)]
    first, second = w.variable("gcd", sizes[0]), w.variable("rest", sizes[1])
    with w.builder.loop():
        rest = second.get()
        w.builder.break_if(rest.equals(0).value)
        previous = first.get()
        first.set(rest)
        second.set(previous % rest)
    return first.get().cast(a.dtype)


def _lcm(w: Writer, a: Expression, b: Expression) -> Expression:
    common = _gcd(w, a, b)
    at_zero = common.equals(0)
    kind = a.dtype.unsigned
    sizes = [(abs(each) if each.dtype.is_signed else each).cast(kind) for each in (a, b)]
    divisor = w.select(at_zero, number(common, 1), common).cast(kind)
    return (sizes[0] / divisor * sizes[1]).cast(a.dtype)


def _pair_row(name: str, build: Any, on_complex: Any, **facts: Any) -> Operation:
    both = split(build, on_pairs(on_complex))
    return Operation(name, 2, both, loops_of(getattr(np, name)), section=ARITHMETIC, **facts)


_BY_ZERO = "integers: 0 by 0, where NumPy warns; floats: as Python's, NaN by 0"

_arithmetic = partial(of_numpy, ARITHMETIC)

ROWS = (
    _pair_row(
        "add",
        _add,
        complexes.add,
        summary="a + b; the logical or of bools",
        special="integers wrap",
        gradient=("g", "g"),
    ),
    _pair_row(
        "subtract",
        _subtract,
        complexes.subtract,
        summary="a - b; bools are refused",
        special="integers wrap",
        gradient=("g", "-g"),
    ),
    _pair_row(
        "multiply",
        _multiply,
        complexes.multiply,
        summary="a * b; the logical and of bools",
        special="integers wrap; complex: the schoolbook formula, NaN where infinity meets 0",
        gradient=("g * conj(b)", "g * conj(a)"),
        complex_bound=2,
    ),
    _arithmetic(
        "divide",
        split(lambda w, a, b: a / b, divide_complex),
        "a / b, of integers as float64",
        aliases=("true_divide",),
        special="floats: IEEE 754's; complex: by Smith's method",
        gradient=("g / conj(b)", "-g * conj(y / b)"),
        complex_bound=4,
    ),
    _arithmetic(
        "floor_divide",
        _floor_divide,
        "the quotient rounded down",
        special="integers: 0 by 0, where NumPy warns; the least integer by -1 wraps to itself; "
        "floats: infinite or NaN by 0; floor(a / b) where a or b is infinite, as the array API "
        "standard has it; NumPy has NaN for an infinite a, and -1 by infinities of the other sign",
        bound=Bound(1, 1, 1, 1),
    ),
    _arithmetic(
        "remainder",
        lambda w, a, b: _divmod(w, real(a), real(b))[1],
        "the remainder of floor_divide, with the sign of b, as Python's %",
        aliases=("mod",),
        special=_BY_ZERO,
        gradient=("g", "-g * floor_divide(a, b)"),
    ),
    _arithmetic(
        "divmod", _divmod, "floor_divide and remainder", special=_BY_ZERO, bound=Bound(1, 1, 1, 1)
    ),
    _arithmetic(
        "fmod",
        _fmod,
        "C's remainder, with the sign of a; exact",
        special="integers: 0 by 0; floats: NaN by 0 and for an infinite a",
        gradient=("g", "-g * trunc(a / b)"),
    ),
    _arithmetic(
        "reciprocal",
        _reciprocal,
        "1 / a; of integers rounded towards zero",
        special="integers: 0 of 0; floats: infinite at 0",
        gradient=("-g * conj(square(y))",),
        complex_bound=4,
    ),
    _arithmetic(
        "square",
        _square,
        "a * a",
        special="integers wrap",
        gradient=("2 * g * conj(a)",),
        complex_bound=2,
    ),
    _arithmetic(
        "negative", _negative, "-a; bools are refused", special="integers wrap", gradient=("-g",)
    ),
    _arithmetic("positive", _identity, "a; bools are refused", gradient=("g",)),
    _arithmetic(
        "abs",
        _absolute,
        "the magnitude",
        aliases=("absolute",),
        special="the least integer wraps to itself; complex: infinite if a part is",
        gradient=("g * sign(a)",),
        complex_bound=4,
    ),
    _arithmetic(
        "fabs", lambda w, a: abs(a), "the magnitude, as a float", gradient=("g * sign(a)",)
    ),
    _arithmetic(
        "sign",
        _sign,
        "-1, 0 or 1; of a complex number a / abs(a)",
        special="NaN of NaN; 0 of -0",
        complex_bound=4,
    ),
    *[
        _arithmetic(
            name,
            _extreme(largest, numbers_win),
            f"the {'larger' if largest else 'smaller'} of a and b",
            special=("a number beside NaN" if numbers_win else "NaN if a or b is NaN")
            + "; -0 is below 0; complex numbers are ordered by their parts",
            gradient=(f"g * (a {sign} b)", f"g * ~(a {sign} b)"),
        )
        for name, largest, numbers_win, sign in (
            ("maximum", True, False, ">="),
            ("minimum", False, False, "<="),
            ("fmax", True, True, ">="),
            ("fmin", False, True, "<="),
        )
    ],
    Operation(
        "clip",
        3,
        _clip,
        numbers(),
        "minimum(maximum(a, b), c)",
        ARITHMETIC,
        ("clamp",),
        special="NaN if an operand is NaN; c where b > c",
        gradient=(
            "g * ((a >= b) & (a <= c))",
            "g * ((a < b) & (b <= c))",
            "g * (maximum(a, b) > c)",
        ),
    ),
    _arithmetic(
        "gcd",
        _gcd,
        "the greatest common divisor of the magnitudes",
        special="that of a and 0 is abs(a)",
    ),
    _arithmetic(
        "lcm",
        _lcm,
        "the least common multiple of the magnitudes",
        special="0 if a or b is 0; integers wrap",
    ),
)
