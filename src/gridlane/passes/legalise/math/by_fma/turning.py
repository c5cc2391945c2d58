"""Rounding to an integral float by an addition, which leaves the integer in the sum's bits."""

from __future__ import annotations

from gridlane.core.frozen import frozen
from gridlane.ir.expressions import Expression, Writer


@frozen
class Rounded:
    """An integral float of few bits.

    Attributes:
        value: the float.
        bits: the bits of the float plus ``magic``: its integer, in the low bits.
    """

    value: Expression
    bits: Expression


def _magic(w: Writer) -> float:
    return 1.5 * 2.0**w.form.fraction


def nearest(w: Writer, x: Expression, factor: float = 1.0) -> Rounded:
    """The integer that is nearest to x * factor, if it is less than 2**(precision - 2)."""
    magic = _magic(w)
    total = x + magic if factor == 1.0 else w.fma(x, w.real(factor), magic)
    return Rounded(total - magic, w.bits(total))


def power_of_two(w: Writer, n: Rounded) -> Expression:
    """2**n, in the normal range."""
    one = w.form.bias << w.form.fraction
    return w.from_bits((n.bits << w.form.fraction) + one)


def scaled(w: Writer, x: Expression, n: Rounded) -> Expression:
    """x * 2**n, rounded once when x is between 1/4 and 4; n is within twice the range of
    exponents."""
    form = w.form
    # The bits of the magic number below those that the shift by its fraction keeps are 0.
    magic = (form.bias + form.fraction << form.fraction) + (1 << (form.fraction - 1))
    both = n.bits.reread(form.unsigned) - (magic - 2 * form.bias)
    half = both >> 1
    first, second = half << form.fraction, (both - half) << form.fraction
    return x * first.reread(form.dtype) * second.reread(form.dtype)
