"""f64 as a pair of f32; ops without a formula on pairs use the exact bits. Arithmetic is lowered to
calls of library functions (``pair_functions``).

Memory has no pairs: an f64 in an array is refused by name. After ``compute_in_pairs`` the bits of
binary64 are u64, as ``exact`` leaves them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from gridlane.core.dtypes import DType, b1, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from gridlane.core.errors import TargetError
from gridlane.ir.expressions import Expression, Writer
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, atomic, control, math, memory, warp
from gridlane.ir.types import Type
from gridlane.ir.values import Module, Value
from gridlane.passes.legalise.fp64 import pair_rounding, pairs
from gridlane.passes.legalise.fp64.exact import (
    ARITHMETIC,
    Exact,
    computed,
    from_scalar,
    saturated,
    to_scalar,
)
from gridlane.passes.legalise.fp64.functions import called, called_for_several
from gridlane.passes.legalise.fp64.pair_functions import called as called_pair
from gridlane.passes.legalise.fp64.pair_functions import called_for
from gridlane.passes.legalise.fp64.shared import IN_MEMORY, OverBits, needs_f32
from gridlane.passes.legalise.int64 import holds
from gridlane.passes.legalise.math import FUNCTIONS, function_for
from gridlane.passes.legalise.math.doubled import Pair
from gridlane.passes.legalise.representation import Parts, Rule


def compute_in_pairs(module: Module) -> None:
    """Replace the f64 of every function by pairs of f32.

    Raises:
        TargetError: an f64 in memory, or a constant out of f32's range.
    """
    _Pairs(module).run()
    Exact(module).run()  # the functions that use the exact bits


COMPUTED = tuple(op for op in FUNCTIONS if op is not math.Nextafter)
"""Functions computed in binary64, as the next number of a pair differs."""


class _Pairs(OverBits):
    MODE = "emulate"
    LACK = (
        "fp64='emulate' computes in pairs of float32, which have no such op; set "
        "GRIDLANE_FP64=exact, or use cuda.jit(fp64='exact')"
    )

    def forms(self, type_: Type) -> tuple[Type, ...] | None:
        return (f32, f32) if type_ is f64 else None

    def in_words(self, element: Type) -> bool:
        return holds(element, lambda part: part is f64)

    def local_array(self, op: memory.LocalArray | memory.GlobalAddress) -> Sequence[Parts]:
        raise TargetError(
            f"an array of float64: the target has none, and fp64='emulate' keeps none in memory; "
            f"{IN_MEMORY}",
            op.loc,
        )

    def pair(self, value: Value) -> Pair:
        """The pair of an f64 operand."""
        return Pair(*self.expressions(value))

    def bits(self, value: Value) -> Expression:
        pair = self.pair(value)
        return called(self.writer, "from.pair", _bits_of_pair, pair.hi, pair.lo)

    def held(self, bits: Expression) -> Parts:
        hi, lo = called_for_several(self.writer, "to.pair", _pair_of_bits, bits)
        return hi.value, lo.value

    # ---- on pairs

    def const(self, op: arith.Const) -> Sequence[Parts]:
        number = self.fitting(op)
        hi = needs_f32(number)
        lo = number - hi if abs(hi) < float("inf") else 0.0
        return [tuple([self.writer.const(part, f32).value for part in (hi, lo)])]

    def in_pairs(self, op: Op) -> Sequence[Parts]:
        operands = [self.pair(value) for value in op.operands()]
        return [values(called_pair(self.writer, op.name, FORMULAS[type(op)], *operands))]

    def subtract(self, op: arith.Sub) -> Sequence[Parts]:
        """The sum with the negated operand, so that one function does for both."""
        total = called_pair(self.writer, "add", pairs.add, self.pair(op.lhs), -self.pair(op.rhs))
        return [values(total)]

    def neg(self, op: arith.Neg) -> Sequence[Parts]:
        return [values(-self.pair(op.value))]

    def compare(self, op: arith.Compare) -> Sequence[Parts]:
        a, b = self.pair(op.lhs), self.pair(op.rhs)
        if isinstance(op, arith.Gt | arith.Ge):
            a, b = b, a
        w, equal = self.writer, pairs.equal(self.writer, a, b)
        if isinstance(op, arith.Eq | arith.Ne):
            return [((equal if isinstance(op, arith.Eq) else ~equal).value,)]
        is_below = pairs.below(w, a, b)
        return [((is_below | equal if isinstance(op, arith.Le | arith.Ge) else is_below).value,)]

    def cast(self, op: arith.Cast) -> Sequence[Parts]:
        source, to = op.value.type, op.type
        if source is f64 and to is f64:
            return [self.of(op.value)]
        if source is f64 and to.is_integer:
            wide = i64 if to.is_signed else u64
            formula = partial(pair_rounding.to_integer, to=wide)
            integer = called_for(self.writer, f"to.{wide}", formula, self.pair(op.value))
            return [(saturated(integer, to).value,)]
        if source is f64 and to in (f32, b1):
            (hi, _) = self.expressions(op.value)
            return [(hi.cast(to).value,)]
        (value,) = self.expressions(op.value) if source is not f64 else (None,)
        if value is None:
            return self.cast_over_bits(op)
        if value.dtype in (i64, u64):
            name = f"from.{value.dtype}"
            return [values(called_pair(self.writer, name, pairs.from_wide, value))]
        if value.dtype in WORDS:
            return [values(pairs.from_integer(self.writer, value.cast(WORDS[value.dtype])))]
        return [values(pairs.alone(self.writer, value.cast(f32)))]

    # ---- on exact bits

    def over_bits(self, op: Op) -> Sequence[Parts]:
        """Apply a function of binary64 to the bits of pairs."""
        operands = [
            self.bits(value) if value.type is f64 else self.writer.wrap(value)
            for value in op.operands()
        ]
        if type(op) in ARITHMETIC:
            return [self.held(computed(self.writer, type(op), *operands))]
        function = function_for(self.module, type(op), f64)
        results = self.builder.emit(
            control.Call(
                function.name,
                tuple([operand.value for operand in operands]),
                tuple([u64 if type_ is f64 else type_ for type_ in function.results]),
            )
        ).results
        wrap = self.writer.wrap
        return [
            self.held(wrap(new)) if old.type is f64 else (new,)
            for old, new in zip(op.results, results, strict=True)
        ]

    def shuffle(self, op: warp.Shuffle) -> Sequence[Parts]:
        rest = (op.mask, op.lane, op.width)
        mask, lane, width = (self.one(value) for value in rest)
        results = [
            self.builder.emit(warp.Shuffle(op.mode, mask, part, lane, width)).results
            for part in self.of(op.value)
        ]
        return [(results[0][0], results[1][0]), (results[0][1],)]

    RULES: ClassVar[dict[type[Op], Rule]] = {
        **dict.fromkeys(COMPUTED, over_bits),
        math.Round: over_bits,
        **dict.fromkeys((arith.Add, arith.Mul, arith.Div, arith.Fma, math.Sqrt), in_pairs),
        **dict.fromkeys((arith.Min, arith.Max, arith.Abs, math.Copysign), in_pairs),
        **dict.fromkeys((math.Floor, math.Ceil, math.Trunc, math.Rint), in_pairs),
        arith.Sub: subtract,
        **dict.fromkeys((arith.Eq, arith.Ne, arith.Lt, arith.Le, arith.Gt, arith.Ge), compare),
        arith.Neg: neg,
        arith.Const: const,
        arith.Cast: cast,
        arith.Bitcast: OverBits.bitcast,
        control.Print: OverBits.print_,
        warp.Shuffle: shuffle,
        memory.LocalArray: local_array,
        memory.GlobalAddress: local_array,
        **dict.fromkeys(
            (memory.Load, memory.Store, atomic.Atomic, atomic.AtomicCas), OverBits.refuse
        ),
    }


def _bits_of_pair(w: Writer, hi: Expression, lo: Expression) -> Expression:
    first, second = (from_scalar(w, part) for part in (hi, lo))
    # An infinity has no second part, nor has a zero, whose sign the sum would lose.
    return w.select(lo.equals(0.0), first, computed(w, arith.Add, first, second))


def _pair_of_bits(w: Writer, bits: Expression) -> tuple[Expression, Expression]:
    hi = to_scalar(w, bits, f32)
    rest = to_scalar(w, computed(w, arith.Sub, bits, from_scalar(w, hi)), f32)
    whole = abs(hi) < float("inf")
    return hi, w.select(whole, rest, w.const(0.0, f32))


WORDS: dict[DType, DType] = {
    **dict.fromkeys((i8, i16, i32), i32),
    **dict.fromkeys((b1, u8, u16, u32), u32),
}
"""Integers that 32 bits hold, with the type that holds each."""

FORMULAS: dict[type[Op], Callable[..., Pair]] = {
    arith.Add: pairs.add,
    arith.Mul: pairs.multiply,
    arith.Div: pairs.divide,
    arith.Fma: pairs.multiply_add,
    math.Sqrt: pairs.square_root,
    arith.Min: pairs.smaller,
    arith.Max: pairs.larger,
    arith.Abs: pairs.magnitude,
    math.Copysign: pairs.with_sign,
    math.Floor: pair_rounding.floor,
    math.Ceil: pair_rounding.ceil,
    math.Trunc: pair_rounding.trunc,
    math.Rint: pair_rounding.nearest_even,
}


def values(pair: Pair) -> Parts:
    """Both parts as values."""
    return pair.hi.value, pair.lo.value
