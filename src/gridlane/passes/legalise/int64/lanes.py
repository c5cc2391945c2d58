"""Reductions of 64-bit values over the lanes of a warp, as two words.

Participating lanes name the same mask, as CUDA requires.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType, i32, i64, u32
from gridlane.ir.expressions import Expression, Writer
from gridlane.ir.ops import warp
from gridlane.ir.values import Value
from gridlane.passes.legalise.int64.wide import Wide, low_word

Kind = warp.WarpReduction

_LIMB = 16
"""Bits that are summed at once: the sum over 32 lanes stays below 2**32."""


def reduce(w: Writer, kind: Kind, mask: Value, x: Wide, own: DType) -> Wide:
    """Reduce i64 or u64 values over the lanes of a warp."""
    if kind is Kind.ADD:
        return _sum(w, mask, x)
    if kind in (Kind.MIN, Kind.MAX):
        return _extreme(w, kind, mask, x, own)
    return Wide(_of_words(w, kind, mask, x.lo), _of_words(w, kind, mask, x.hi))


def _of_words(w: Writer, kind: Kind, mask: Value, x: Expression) -> Expression:
    return w.wrap(w.builder.value(warp.WarpReduce(kind, mask, x.value)))


def _sum(w: Writer, mask: Value, x: Wide) -> Wide:
    total = low_word(w.const(0, u32))
    for place in range(0, 64, _LIMB):
        limb = (x >> w.const(place, u32)).lo & (1 << _LIMB) - 1
        part = low_word(_of_words(w, Kind.ADD, mask, limb))
        total = total + (part << w.const(place, u32))
    return total


def _extreme(w: Writer, kind: Kind, mask: Value, x: Wide, own: DType) -> Wide:
    """Reduce the high words first, then the low words of the lanes whose high word won."""
    high = x.hi.reread(i32) if own is i64 else x.hi
    best = _of_words(w, kind, mask, high)
    last = u32.max if kind is Kind.MIN else 0
    low = w.select(high.equals(best), x.lo, last)
    return Wide(_of_words(w, kind, mask, low), best.reread(u32))
