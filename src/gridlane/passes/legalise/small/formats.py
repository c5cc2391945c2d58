"""Conversions between f32 and f16 or bf16, which are held as their bits in a u32.

All of them use integers, so they do not depend on a target's treatment of subnormals or of halves.
The payload of a NaN survives both conversions.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType, bf16, f32, i32, u32
from gridlane.ir.expressions import Expression, Writer

_SIGN = 0x80000000
_INFINITE = 0x7F800000
_FRACTION = 23
_STEP = 13
"""Bits by which f32's significand is longer than f16's."""


def narrowed(w: Writer, x: Expression, to: DType) -> Expression:
    """The 16 bits, in a u32, of the value of a type nearest to an f32, ties to even."""
    return _to_bf16(w, x) if to is bf16 else _to_f16(w, x)


def widened(w: Writer, bits: Expression, own: DType) -> Expression:
    """The f32 of 16 bits."""
    if own is bf16:
        return (bits << 16).reread(f32)
    m = bits & 0x7FFF
    small = (m.cast(f32) * 2.0**-24).reread(u32)
    large = (m << _STEP) + w.select(m >= 0x7C00, w.const(224 << _FRACTION, u32), 112 << _FRACTION)
    result = w.select(m < 0x400, small, large)
    return (result | ((bits & 0x8000) << 16)).reread(f32)


def rounded(w: Writer, x: Expression, to: DType) -> Expression:
    """An f32 rounded to the values of a type."""
    return widened(w, narrowed(w, x, to), to)


def _to_bf16(w: Writer, x: Expression) -> Expression:
    bits = x.reread(u32)
    upper = bits >> 16
    nearest = (bits + 0x7FFF + (upper & 1)) >> 16
    quiet = upper | w.select((upper & 0x7F).equals(0), w.const(0x40, u32), 0)
    return w.select((bits & ~_SIGN) > _INFINITE, quiet, nearest)


def _to_f16(w: Writer, x: Expression) -> Expression:
    bits = x.reread(u32)
    m = bits & ~_SIGN
    nearest = (m + 0xFFF + ((m >> _STEP) & 1)) >> _STEP
    normal = nearest - (112 << 10)
    # Below 2**-14 the last place is 2**-24, so the significand loses that many bits.
    significand = (m & ((1 << _FRACTION) - 1)) | (1 << _FRACTION)
    lost = w.const(126, u32) - (m >> _FRACTION)
    half = (w.const(1, u32) << (lost - 1)) - 1
    small = (significand + half + ((significand >> lost) & 1)) >> lost
    result = w.select(m < 0x38800000, small, normal.least(0x7C00))
    payload = (m >> _STEP) & 0x3FF
    quiet = (payload | w.select(payload.equals(0), w.const(0x200, u32), 0)) | 0x7C00
    result = w.select(m > _INFINITE, quiet, result)
    return result | ((bits >> 16) & 0x8000)


def sticky(w: Writer, x: Expression) -> Expression:
    """A 32-bit integer rounded to odd as an f32, so that it may be rounded again."""
    negative = x < 0 if x.dtype is i32 else None
    size = x.reread(u32) if negative is None else abs(x).reread(u32)
    low = (size & 0xFF).differs(0).cast(u32) << 8
    result = w.select(size < 1 << 24, size, (size & ~0xFF) | low).cast(f32)
    return result if negative is None else w.select(negative, -result, result)


def odd_from_f64(w: Writer, x: Expression) -> Expression:
    """An f64 rounded to odd as an f32."""
    result = x.cast(f32)
    back = result.cast(x.dtype)
    bits = result.reread(i32)
    beyond = abs(back) > abs(x)
    # A step on the bits of a float is a step away from zero.
    moved = (bits + w.select(beyond, w.const(-1, i32), 1)).reread(f32)
    inexact = (back < x) | (back > x)
    return w.select(inexact & (bits & 1).equals(0), moved, result)


def odd_fma(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
    """a * b + c of f16 or bf16 values as an f32 rounded to odd, subnormal results included."""
    (ma, ea), (mb, eb), (mc, ec) = (_taken_apart(w, x) for x in (a, b, c))
    product, exponent = ma * mb, ea + eb  # exact: 22 bits at the most
    # Further apart than 60 places, the smaller only makes the sum inexact.
    apart = ec - exponent
    shift = apart.most(-60).least(60)
    addend = mc * ((shift + 127) << _FRACTION).reread(f32)
    base = w.select(apart > 60, ec - 60, exponent)
    result = _placed(w, _sum_to_odd(w, product, addend), base)
    plain = a * b + c
    zero = a.equals(0.0) | b.equals(0.0)
    result = w.select(zero, plain, result)
    finite = (abs(a) < float("inf")) & (abs(b) < float("inf"))
    special = w.select(finite, c, plain)
    return w.select(finite & (abs(c) < float("inf")), result, special)


def _taken_apart(w: Writer, x: Expression) -> tuple[Expression, Expression]:
    """(m, e) of a finite x = m * 2**e, with m in [1, 2) or 0, with the sign of x."""
    bits = x.reread(u32)
    m = bits & ~_SIGN
    shift = m.leading_zeros() - 8
    small = m < 1 << _FRACTION
    fraction = w.select(small, m << shift, m) & ((1 << _FRACTION) - 1)
    e = w.select(small, w.const(1, u32) - shift, m >> _FRACTION).reread(i32) - 127
    one = (fraction | (127 << _FRACTION) | (bits & _SIGN)).reread(f32)
    zero = (bits & _SIGN).reread(f32)
    return w.select(m.equals(0), zero, one), w.select(m.equals(0), w.const(-1000, i32), e)


def _sum_to_odd(w: Writer, a: Expression, b: Expression) -> Expression:
    """The f32 sum rounded to odd, with the error by Knuth's two-sum."""
    total = a + b
    back = total - a
    error = (a - (total - back)) + (b - back)
    bits = total.reread(i32)
    away = ~((error > 0.0) ^ (total > 0.0))
    moved = (bits + w.select(away, w.const(1, i32), -1)).reread(f32)
    return w.select(error.differs(0.0) & (bits & 1).equals(0), moved, total)


def _placed(w: Writer, x: Expression, base: Expression) -> Expression:
    """x * 2**base; the last bit of a subnormal result is sticky."""
    bits = x.reread(u32)
    m = bits & ~_SIGN
    exponent = (m >> _FRACTION).reread(i32) + base
    fraction = m & ((1 << _FRACTION) - 1)
    normal = (exponent.reread(u32) << _FRACTION) | fraction
    gone = (w.const(1, i32) - exponent).reread(u32)
    whole = fraction | (1 << _FRACTION)
    kept = whole >> gone
    small = kept | (kept << gone).differs(whole).cast(u32)
    result = w.select(
        exponent <= 0, small, w.select(exponent >= 255, w.const(_INFINITE, u32), normal)
    )
    return w.select(m.equals(0), x, (result | (bits & _SIGN)).reread(f32))
