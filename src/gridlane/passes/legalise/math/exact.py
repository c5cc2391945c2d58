"""Exact functions on the bits of floats: the remainder, ldexp, frexp, nextafter."""

from __future__ import annotations

import math

from gridlane.core.dtypes import i32
from gridlane.ir.expressions import Expression, Writer


def unpacked(w: Writer, x: Expression) -> tuple[Expression, Expression]:
    """(m, e) of a positive finite x = m * 2**e: m is an unsigned integer of the precision's bits,
    e an i32. For 0, m is 0."""
    form = w.form
    small = x < form.tiny
    bits = w.bits(w.select(small, x * 2.0**form.precision, x))
    hidden = w.select(x.equals(0.0), w.const(0, form.whole), 1 << form.fraction)
    m = (bits & ((1 << form.fraction) - 1)) | hidden
    e = (bits >> form.fraction).cast(i32) - w.select(small, form.precision, w.const(0, i32))
    return m.reread(form.unsigned), e - (form.bias + form.fraction)


def remainder(w: Writer, x: Expression, y: Expression) -> Expression:
    """C's fmod: long division of the significands, as many bits per iteration as fit above one."""
    form = w.form
    a, b = abs(x), abs(y)
    step = form.dtype.bits - form.precision
    (m, e), (divisor, least) = unpacked(w, a), unpacked(w, b)
    divisor = divisor.most(1)
    # Where a < b or an operand is special, there is nothing to divide.
    plain = (a >= b) & (a < math.inf) & (b > 0.0)
    rest = w.variable("rest", m % divisor)
    left = w.variable("left", w.select(plain, e - least, 0))
    with w.builder.loop():
        now = left.get()
        w.builder.break_if((now <= 0).value)
        shift = now.least(step)
        rest.set((rest.get() << shift) % divisor)
        left.set(now - shift)
    # rest * 2**least is a multiple of the least bit of b: both products are exact.
    half = least >> 1
    result = rest.get().cast(form.dtype) * w.power_of_two(half) * w.power_of_two(least - half)
    result = w.with_sign(w.select(plain, result, a), x)
    undefined = x.is_nan() | y.is_nan() | a.equals(math.inf) | b.equals(0.0)
    return w.select(undefined, math.nan, result)


def ldexp(w: Writer, x: Expression, exponent: Expression) -> Expression:
    """x * 2**exponent, rounded once: only the last product may round, as the others keep a result
    that will be subnormal well above the subnormal range."""
    bias, up = w.form.bias, w.form.precision
    lowest = 1 - bias + up
    result, left = x, exponent.most(-4 * bias).least(4 * bias)
    for _ in range(2):
        high, low = left > bias, left < 1 - bias
        factor = w.select(high, 2.0**bias, w.select(low, w.real(2.0**lowest), 1.0))
        result = result * factor
        left = left - w.select(high, bias, w.select(low, w.const(lowest, i32), 0))
    return result * w.power_of_two(left.most(1 - bias).least(bias))


def frexp(w: Writer, x: Expression) -> tuple[Expression, Expression]:
    """(fraction in [1/2, 1), exponent); (x, 0) for 0, infinity and NaN."""
    form = w.form
    size = abs(x)
    small = size < form.tiny
    bits = w.bits(w.select(small, x * 2.0**form.precision, x))
    field = ((bits & form.magnitude) >> form.fraction).cast(i32)
    e = field - (form.bias - 1) - w.select(small, form.precision, w.const(0, i32))
    keep = form.sign | ((1 << form.fraction) - 1)
    fraction = w.from_bits((bits & keep) | ((form.bias - 1) << form.fraction))
    plain = (size < math.inf) & x.differs(0.0)
    return w.select(plain, fraction, x), w.select(plain, e, 0)


def nextafter(w: Writer, x: Expression, y: Expression) -> Expression:
    """The next float towards another: one step on the integer of the bits."""
    form = w.form
    bits = w.bits(x)
    outwards = ~((x < y) ^ (x > 0.0))
    stepped = bits + w.select(outwards, w.const(1, form.whole), -1)
    least = (w.bits(y) & form.sign) | 1
    result = w.from_bits(w.select(x.equals(0.0), least, stepped))
    result = w.select(x.equals(y), y, result)
    return w.select(x.is_nan() | y.is_nan(), math.nan, result)
