"""Arithmetic on the bits of binary64; each function rounds once, as IEEE 754 requires."""

from __future__ import annotations

from gridlane.core.dtypes import i32, u32, u64
from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.fp64.bits import (
    BIAS,
    FRACTION,
    HIDDEN,
    INFINITE,
    NAN,
    NEVER,
    SIGN,
    Number,
    field,
    is_infinite,
    is_nan,
    is_zero,
    magnitude,
    put_together,
    shifted_out,
    unpacked,
)
from gridlane.passes.legalise.fp64.functions import called_for_several

Pair = tuple[Expression, Expression]
"""128 bits: (upper half, lower half)."""

_ROOM = 10
"""Places by which the significands of a sum are shifted left, leaving one bit for the carry."""


def add(w: Writer, a: Expression, b: Expression) -> Expression:
    """a + b."""
    swap = magnitude(a) < magnitude(b)
    a, b = w.select(swap, b, a), w.select(swap, a, b)
    ea, eb = field(a).most(1), field(b).most(1)
    ma, mb = _moved_up(w, a), shifted_out(w, _moved_up(w, b), ea - eb)
    opposite = ((a ^ b) & SIGN).differs(0)
    m = w.select(opposite, ma - mb, ma + mb)
    sign = w.select(opposite & m.equals(0), w.const(0, u64), a & SIGN)
    result = put_together(w, Number(sign, ea + 1, m))
    result = w.select(is_infinite(a), a, result)
    undefined = is_nan(a) | is_nan(b) | (is_infinite(a) & is_infinite(b) & opposite)
    return w.select(undefined, w.const(NAN, u64), result)


def _moved_up(w: Writer, x: Expression) -> Expression:
    size = magnitude(x)
    return w.select(size < HIDDEN, size, (size & (HIDDEN - 1)) | HIDDEN) << _ROOM


def multiply(w: Writer, a: Expression, b: Expression) -> Expression:
    """a * b."""
    x, y = unpacked(w, a), unpacked(w, b)
    sign = x.sign ^ y.sign
    high, low = _product(w, x, y)
    m = high | low.differs(0).cast(u64)
    result = put_together(w, Number(sign, x.exponent + y.exponent - (BIAS - 1), m))
    infinite = is_infinite(a) | is_infinite(b)
    result = w.select(infinite, sign | INFINITE, result)
    undefined = is_nan(a) | is_nan(b) | (infinite & (is_zero(a) | is_zero(b)))
    return w.select(undefined, w.const(NAN, u64), result)


def _product(w: Writer, x: Number, y: Number) -> Pair:
    """The product of the significands."""
    high, low = called_for_several(w, "product", _multiplied, x.significand, y.significand)
    return high, low


def _multiplied(w: Writer, a: Expression, b: Expression) -> Pair:
    return a.high_product(b), a * b


_QUOTIENT_BITS = 57


def divide(w: Writer, a: Expression, b: Expression) -> Expression:
    """a / b, a bit of the quotient per iteration."""
    x, y = unpacked(w, a), unpacked(w, b)
    sign = x.sign ^ y.sign
    divisor = y.significand >> 11
    rest = w.variable("rest", x.significand >> 11)
    quotient = w.variable("quotient", w.const(0, u64))
    turn = w.variable("turn", w.const(0, i32))
    with w.builder.loop() as loop:
        w.builder.break_if((turn.get() >= _QUOTIENT_BITS).value)
        now = rest.get()
        fits = now >= divisor
        rest.set(w.select(fits, now - divisor, now) << 1)
        quotient.set((quotient.get() << 1) | fits.cast(u64))
        with w.builder.inside(loop.step):
            turn.set(turn.get() + 1)
    m = quotient.get() | rest.get().differs(0).cast(u64)
    exponent = x.exponent - y.exponent + (BIAS + 64 - _QUOTIENT_BITS)
    result = put_together(w, Number(sign, exponent, m))
    result = w.select(is_zero(a) | is_infinite(b), sign, result)
    result = w.select(is_infinite(a) | is_zero(b), sign | INFINITE, result)
    both = (is_infinite(a) & is_infinite(b)) | (is_zero(a) & is_zero(b))
    return w.select(is_nan(a) | is_nan(b) | both, w.const(NAN, u64), result)


_ROOT_BITS = 56


def square_root(w: Writer, a: Expression) -> Expression:
    """The square root, one bit per iteration from two of the operand (digit by digit)."""
    x = unpacked(w, a)
    power = x.exponent - BIAS
    odd = (power & 1).equals(1)
    # 54 bits below the top, or 53 of them, so that the remaining exponent is even.
    waiting = w.variable("waiting", w.select(odd, x.significand, x.significand >> 1))
    rest, root = w.variable("rest", w.const(0, u64)), w.variable("root", w.const(0, u64))
    turn = w.variable("turn", w.const(0, i32))
    with w.builder.loop() as loop:
        w.builder.break_if((turn.get() >= _ROOT_BITS).value)
        now = (rest.get() << 2) | (waiting.get() >> 62)
        waiting.set(waiting.get() << 2)
        trial = (root.get() << 2) | 1
        fits = now >= trial
        rest.set(w.select(fits, now - trial, now))
        root.set((root.get() << 1) | fits.cast(u64))
        with w.builder.inside(loop.step):
            turn.set(turn.get() + 1)
    m = root.get() | rest.get().differs(0).cast(u64)
    exponent = (power >> 1) + (BIAS + 64 - _ROOT_BITS)
    result = put_together(w, Number(w.const(0, u64), exponent, m))
    result = w.select(is_zero(a) | a.equals(INFINITE), a, result)
    negative = (a & SIGN).differs(0) & ~is_zero(a)
    return w.select(is_nan(a) | negative, w.const(NAN, u64), result)


# ---- fused multiply-add, in 128 bits


def multiply_add(w: Writer, a: Expression, b: Expression, c: Expression) -> Expression:
    """a * b + c, rounded once."""
    x, y, z = (unpacked(w, value) for value in (a, b, c))
    sign = x.sign ^ y.sign
    high, low = _product(w, x, y)
    product = (high >> 1, (low >> 1) | (high << 63))  # its last bits are 0
    addend = (z.significand >> 2, w.const(0, u64))
    e = _product_exponent(w, x, y)
    apart = e - z.exponent
    product = _moved_right(w, product, (-apart).most(0))
    addend = _moved_right(w, addend, apart.most(0))
    opposite = (sign ^ z.sign).differs(0)
    m, turned = _sum(w, product, addend, opposite)
    zero = (m[0] | m[1]).equals(0)
    final = w.select(turned, z.sign, sign)
    final = w.select(zero & opposite, w.const(0, u64), final)
    result = _put_pair_together(w, final, e.most(z.exponent), m)
    return _fused_special(w, (a, b, c), sign, opposite, result)


def _product_exponent(w: Writer, x: Number, y: Number) -> Expression:
    zero = x.significand.equals(0) | y.significand.equals(0)
    return w.select(zero, w.const(NEVER, i32), x.exponent + y.exponent - BIAS)


def _moved_right(w: Writer, m: Pair, by: Expression) -> Pair:
    """A pair shifted right; the last bit records the lost bits, as in ``shifted_out``."""
    high, low = called_for_several(w, "shift.out", _shifted_pair_out, *m, by)
    return high, low


def _shifted_pair_out(w: Writer, high: Expression, low: Expression, by: Expression) -> Pair:
    amount = by.least(128).reread(u32)
    beyond = amount - 64
    # A shift by 64 or more gives 0, and so does one by a difference that wraps.
    moved = (low >> amount) | (high << (w.const(64, u32) - amount)) | (high >> beyond)
    lost = (moved << amount).differs(low)
    lost = lost | ((amount >= 64) & (moved << beyond).differs(high))
    return high >> amount, moved | lost.cast(u64)


def _sum(w: Writer, a: Pair, b: Pair, opposite: Expression) -> tuple[Pair, Expression]:
    """(a + b, or |a - b| if they have opposite signs; whether b was the larger then)."""
    total = a[1] + b[1]
    added = (a[0] + b[0] + (total < a[1]).cast(u64), total)
    turned = opposite & ((a[0] < b[0]) | (a[0].equals(b[0]) & (a[1] < b[1])))
    a, b = (
        (w.select(turned, b[0], a[0]), w.select(turned, b[1], a[1])),
        (w.select(turned, a[0], b[0]), w.select(turned, a[1], b[1])),
    )
    taken = (a[0] - b[0] - (a[1] < b[1]).cast(u64), a[1] - b[1])
    magnitude = (w.select(opposite, taken[0], added[0]), w.select(opposite, taken[1], added[1]))
    return magnitude, turned


def _put_pair_together(w: Writer, sign: Expression, e: Expression, m: Pair) -> Expression:
    """The binary64 nearest to m / 2**125 * 2**(e - bias)."""
    high, low = m
    empty = high.equals(0)
    high, low = w.select(empty, low, high), w.select(empty, w.const(0, u64), low)
    e = e + 2 - w.select(empty, w.const(64, i32), 0)
    zeros = high.leading_zeros()
    carried = w.select(zeros.equals(0), w.const(0, u64), low >> (64 - zeros))
    top = (high << zeros) | carried | (low << zeros).differs(0).cast(u64)
    return put_together(w, Number(sign, e - zeros.cast(i32), top))


def _fused_special(
    w: Writer,
    operands: tuple[Expression, Expression, Expression],
    sign: Expression,
    opposite: Expression,
    computed: Expression,
) -> Expression:
    a, b, c = operands
    infinite = is_infinite(a) | is_infinite(b)
    computed = w.select(is_infinite(c), c, computed)
    computed = w.select(infinite, sign | INFINITE, computed)
    undefined = is_nan(a) | is_nan(b) | is_nan(c)
    undefined = undefined | (infinite & (is_zero(a) | is_zero(b)))
    undefined = undefined | (infinite & is_infinite(c) & opposite)
    return w.select(undefined, w.const(NAN, u64), computed)


# ---- rounding to integral values


def truncate(w: Writer, x: Expression) -> Expression:
    """Round towards zero."""
    return _integral(w, x, w.const(0, u64), w.const(0, u64))


def floor(w: Writer, x: Expression) -> Expression:
    """Round down."""
    return _directed(w, x, (x & SIGN).differs(0))


def ceil(w: Writer, x: Expression) -> Expression:
    """Round up."""
    return _directed(w, x, (x & SIGN).equals(0))


_ONE = BIAS << FRACTION


def _directed(w: Writer, x: Expression, away: Expression) -> Expression:
    """Round away from zero where ``away``, else towards it."""
    extra = w.select(away, _mask(w, x), w.const(0, u64))
    below_one = w.select(away & ~is_zero(x), w.const(_ONE, u64), 0)
    return _integral(w, x, extra, below_one)


def nearest_even(w: Writer, x: Expression) -> Expression:
    """Round to the nearest integer, ties to even."""
    mask = _mask(w, x)
    # From 1 to 2 the last integer bit is the exponent's last bit, set as the hidden bit is.
    last = (x >> (w.const(FRACTION, u64) - _places(x))) & 1
    half = (mask >> 1) + last
    above_half = magnitude(x) > _ONE - HIDDEN
    return _integral(w, x, half, w.select(above_half, w.const(_ONE, u64), 0))


def nearest_away(w: Writer, x: Expression) -> Expression:
    """Round to the nearest integer, ties away from zero."""
    half = (_mask(w, x) >> 1) + 1
    from_half = magnitude(x) >= _ONE - HIDDEN
    return _integral(w, x, half, w.select(from_half, w.const(_ONE, u64), 0))


def _places(x: Expression) -> Expression:
    """Bits of the fraction before the binary point, for numbers from 1 to 2**52."""
    return (magnitude(x) >> FRACTION) - BIAS


def _mask(w: Writer, x: Expression) -> Expression:
    """The mask of the bits after the binary point."""
    return w.const(HIDDEN - 1, u64) >> _places(x)


def _integral(w: Writer, x: Expression, extra: Expression, below_one: Expression) -> Expression:
    """x with ``extra`` added to its bits and the bits after the point cleared; ``below_one`` is
    the magnitude of the result for numbers below 1."""
    result = (x + extra) & ~_mask(w, x)
    result = w.select(magnitude(x) < _ONE, below_one | (x & SIGN), result)
    whole = magnitude(x) >= (BIAS + FRACTION) << FRACTION
    result = w.select(whole, x, result)
    return w.select(is_nan(x), w.const(NAN, u64), result)
