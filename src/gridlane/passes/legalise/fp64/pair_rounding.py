"""The rounding of pairs to integral numbers, and to integers.

A pair may carry more than the 53 bits of binary64, so rounding starts from the binary64 that is
nearest to the pair: 1 - 2**-60 is 1 there, and its floor is 1.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType, f32, i64, u32
from gridlane.ir.expressions import Expression, Writer
from gridlane.ir.op import Op
from gridlane.ir.ops import math
from gridlane.passes.legalise.fp64 import pairs
from gridlane.passes.legalise.math.doubled import Pair, choose, quick_sum

_FRACTION = (1 << 23) - 1
_EXPONENT = 0x7F800000


def floor(w: Writer, a: Pair) -> Pair:
    """The largest integral number that is not above a."""
    return _integral(w, a, math.Floor)


def ceil(w: Writer, a: Pair) -> Pair:
    """The least integral number that is not below a."""
    return _integral(w, a, math.Ceil)


def trunc(w: Writer, a: Pair) -> Pair:
    """The integral number next to a towards zero."""
    down, up = _integral(w, a, math.Floor), _integral(w, a, math.Ceil)
    return choose(pairs.is_negative(a), up, down)


def nearest_even(w: Writer, a: Pair) -> Pair:
    """The nearest integral number, of two the even one."""
    rest = _low_part(w, a)
    down, up = _applied(w, math.Floor, a.hi), _applied(w, math.Ceil, a.hi)
    aside = w.select(rest < 0.0, down, w.select(rest > 0.0, up, a.hi.rint()))
    between = (a.hi - down).equals(0.5)
    return _joined(w, a, w.select(between, aside, a.hi.rint()), rest.rint())


def to_integer(w: Writer, a: Pair, to: DType) -> Expression:
    """Towards zero, saturating; 0 for NaN. ``to`` has 64 bits."""
    whole = trunc(w, a)
    most, least = 2.0 ** (to.bits - to.is_signed), float(to.min)
    first, rest = whole.hi.cast(to), whole.lo.cast(i64).reread(to)
    # The first part may be one more than the largest integer, where it saturates.
    under_top = whole.hi.equals(most) & (whole.lo < 0.0)
    above = (whole.hi > least) | (whole.hi.equals(least) & (whole.lo > 0.0))
    rest = w.select(under_top, rest + 1, w.select(above & (whole.hi < most), rest, 0))
    return first + rest


def _integral(w: Writer, a: Pair, op: type[Op]) -> Pair:
    return _joined(w, a, _applied(w, op, a.hi), _applied(w, op, _low_part(w, a)))


def _applied(w: Writer, op: type[Op], x: Expression) -> Expression:
    return w.wrap(w.builder.unary(op, x.value))


def _joined(w: Writer, a: Pair, first: Expression, second: Expression) -> Pair:
    """``first`` is that of the first part, and the result unless the first part is integral;
    ``second`` is that of the second. The first part is the nearest f32, so no integral number lies
    between it and the sum. A zero keeps the sign of a, and NaN counts for no second part."""
    result = quick_sum(first, second)
    result = Pair(w.with_sign(result.hi, a.hi), result.lo)
    both = first.equals(a.hi) & (abs(second) > 0.0)
    return choose(both, result, pairs.alone(w, first))


def _low_part(w: Writer, a: Pair) -> Expression:
    """The second part, rounded as that of a binary64 is: what is below 2**-52 of the first part's
    power of two is gone. Below a power of two numbers lie twice as close. That of an
    infinity becomes NaN."""
    bits = a.hi.reread(u32)
    least = (bits & _EXPONENT).reread(f32) * 2.0**-29
    closer = (bits & _FRACTION).equals(0) & (pairs.is_negative(a) ^ w.is_negative(a.lo))
    least = w.select(closer, least * 0.5, least)
    # The sum lies between this and twice this, where f32 has the last place of binary64.
    moved = w.with_sign(least, a.lo)
    return w.select(abs(a.lo) < least, (a.lo + moved) - moved, a.lo)
