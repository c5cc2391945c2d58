"""Argument reduction modulo pi / 2, for arguments of any size.

Small arguments subtract n times pi / 2 in pieces (Cody and Waite). Large ones are multiplied by the
bits of 2 / pi that matter (Payne and Hanek 1983), in integers of the float's width.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType, f32, f64, i32, u32
from gridlane.core.frozen import frozen
from gridlane.ir.expressions import Expression, Writer
from gridlane.passes.legalise.math import coefficients as known
from gridlane.passes.legalise.math.doubled import Pair, constant, pieces, quick_sum, two_sum


@frozen
class _Plan:
    """The parameters of a type's reduction.

    Attributes:
        piece: significant bits of the first three pieces of pi / 2.
        limit: largest argument for which n times such a piece and the first difference are exact.
        words: words of 2 / pi to multiply; of their product, two bits count quarter turns, and
            enough bits are left when the fraction's leading ones cancel.
        exponent: least exponent of the significand, as an integer, of an argument beyond limit.
    """

    piece: int
    limit: float
    words: int
    exponent: int


_PLANS = {f32: _Plan(12, 4000.0, 3, -12), f64: _Plan(33, 1e6, 3, -34)}


def quarter_turns(w: Writer, x: Expression) -> tuple[Pair, Expression]:
    """(r, n): x = r + n pi / 2 with |r| at most slightly above pi / 4; n is an i32, right modulo 4.
    The result is arbitrary for infinity and NaN."""
    plan = _PLANS[w.form.dtype]
    return far_turns(w, x, *_subtracted(w, x, plan), plan.limit)


def far_turns(
    w: Writer, x: Expression, near: Pair, quarters: Expression, limit: float
) -> tuple[Pair, Expression]:
    """(r, n) as of ``quarter_turns``: the given ones up to a limit, which is at least the plan's,
    and by the bits of 2 / pi beyond it."""
    hi, lo = w.variable("angle", near.hi), w.variable("angle_low", near.lo)
    n = w.variable("turns", quarters)
    with w.when(abs(x) > limit):
        far, quarters = _multiplied(w, abs(x), _PLANS[w.form.dtype])
        negative = w.is_negative(x)
        hi.set(w.select(negative, -far.hi, far.hi))
        lo.set(w.select(negative, -far.lo, far.lo))
        n.set(w.select(negative, -quarters, quarters))
    return Pair(hi.get(), lo.get()), n.get()


def _subtracted(w: Writer, x: Expression, plan: _Plan) -> tuple[Pair, Expression]:
    """Reduce |x| up to the plan's limit, by subtraction."""
    first, second, third, rest = pieces(known.HALF_PI, *[plan.piece] * 3, w.form.precision)
    n = (x * float(1 / known.HALF_PI)).rint()
    r = two_sum(x - n * first, -(n * second))
    s = two_sum(r.hi, -(n * third))
    low = r.lo + (s.lo - n * rest)
    return quick_sum(s.hi, low), n.cast(i32)


def _multiplied(w: Writer, x: Expression, plan: _Plan) -> tuple[Pair, Expression]:
    """Reduce x above the plan's limit: the fraction of x times 2 / pi, in integers."""
    form = w.form
    unsigned, width = form.unsigned, form.dtype.bits
    bits = w.bits(x)
    significand = ((bits & ((1 << form.fraction) - 1)) | (1 << form.fraction)).reread(unsigned)
    exponent = (bits >> form.fraction) - (form.bias + form.fraction)
    window = _window(w, exponent.cast(i32), plan)
    product = _low_product(w, significand, window)
    quarters = (product[0] >> (width - 2)).cast(i32)
    # From here on the words are a signed fraction of a quarter turn, from -1/2 to 1/2.
    fraction = _shifted(w, product, w.const(2, u32), unsigned, plan.words)
    quarters = quarters + (fraction[0] >> (width - 1)).cast(i32)
    return _as_pair(w, fraction) * constant(w, known.HALF_PI), quarters


def _window(w: Writer, exponent: Expression, plan: _Plan) -> list[Expression]:
    """The bits of 2 / pi that, times 2**exponent, weigh 2 or less, most significant first."""
    width, unsigned = w.form.dtype.bits, w.form.unsigned
    last = w.form.bias - w.form.fraction
    # Bit k after the point, from 0, weighs 2**-(k + 1). Leading zeros keep indices from 0 on.
    zeros = -(-(2 - plan.exponent) // width)
    start = exponent - 2 + zeros * width
    count = (last - 2 + zeros * width) // width + 1 + plan.words
    shift = 1280 + zeros * width
    words: list[Expression] = []
    for index in range(count):
        shift_right = shift - (index + 1) * width
        words.append(w.const((known.TWO_BY_PI >> shift_right) & ((1 << width) - 1), unsigned))
    index, inside = start >> (5 if width == 32 else 6), start & (width - 1)
    wanted, zero = plan.words + 1, w.const(0, unsigned)
    for stage in reversed(range((count - wanted).bit_length())):
        step = 1 << stage
        chosen = (index & step).differs(0)
        needed = range(min(len(words), wanted + step - 1))
        ahead = [words[i + step] if i + step < len(words) else zero for i in needed]
        words = [w.select(chosen, ahead[i], words[i]) for i in needed]
    return _shifted(w, words, inside.reread(u32), unsigned, plan.words)


def _shifted(
    w: Writer, words: list[Expression], amount: Expression, unsigned: DType, count: int
) -> list[Expression]:
    """The first ``count`` words after a left shift by less than a word."""
    padded = [*words, w.const(0, unsigned)]
    # A right shift by the whole width gives 0, as a left shift by 0 bits needs.
    across = w.const(unsigned.bits, u32) - amount
    return [(padded[i] << amount) | (padded[i + 1] >> across) for i in range(count)]


def _low_product(w: Writer, factor: Expression, words: list[Expression]) -> list[Expression]:
    """The low product of words and a word, modulo the words' width; most significant first."""
    one, zero = w.const(1, factor.dtype), w.const(0, factor.dtype)
    expressions: list[Expression] = []
    carry = zero
    for word in reversed(words):
        low = word * factor
        total = low + carry
        carry = word.high_product(factor) + w.select(total < low, one, zero)
        expressions.append(total)
    return expressions[::-1]


def _as_pair(w: Writer, words: list[Expression]) -> Pair:
    """A signed fraction of three words as a pair: its first bits, and those behind them."""
    form = w.form
    unsigned, width = form.unsigned, form.dtype.bits
    ends = words[0].reread(form.whole) >> (width - 1)
    mask = ends.reread(unsigned)
    positive = [word ^ mask for word in words]  # less by the last bit, which is negligible
    zeros = positive[0].leading_zeros()
    first, second = _shifted(w, positive, zeros.cast(u32), unsigned, 2)
    dropped = width - form.precision
    upper = (first >> dropped).cast(form.dtype) * 2.0**-form.precision
    lower = (first << form.precision) | (second >> dropped)
    scale = w.power_of_two(-(zeros.cast(i32)))
    scale = w.select(ends < 0, -scale, scale)
    return Pair(upper, lower.cast(form.dtype) * 2.0 ** -(width + form.precision)).times(scale)
