"""f64 held as its bits in a u64; functions of the module compute on them, bit for bit."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import ClassVar

from gridlane.core.dtypes import DType, b1, bf16, f16, f32, f64, i64, u64
from gridlane.ir.expressions import Expression, Writer
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, atomic, control, math, memory, warp
from gridlane.ir.types import Type
from gridlane.ir.values import Module, Value
from gridlane.passes.legalise.atomics import swap_until_done
from gridlane.passes.legalise.fp64 import arithmetic, conversion
from gridlane.passes.legalise.fp64.bits import SIGN, is_nan, is_zero, magnitude, order
from gridlane.passes.legalise.fp64.functions import Formula, called
from gridlane.passes.legalise.int64 import holds
from gridlane.passes.legalise.math import legalize_math
from gridlane.passes.legalise.representation import Parts, Representation, Rule, again

FormulaOfTwo = Callable[[Writer, Expression, Expression], Expression]

ARITHMETIC: dict[type[Op], Formula] = {
    arith.Add: arithmetic.add,
    arith.Mul: arithmetic.multiply,
    arith.Div: arithmetic.divide,
    arith.Fma: arithmetic.multiply_add,
    math.Sqrt: arithmetic.square_root,
    math.Trunc: arithmetic.truncate,
    math.Floor: arithmetic.floor,
    math.Ceil: arithmetic.ceil,
    math.Rint: arithmetic.nearest_even,
    math.Round: arithmetic.nearest_away,
}
"""Ops that are functions of the bits; each is written once per module."""


def keep_others(op: type[Op], dtype: DType) -> bool:
    """Whether to keep a mathematical function; those of f64 are expanded into arithmetic."""
    return dtype is not f64


def compute_exactly(module: Module) -> None:
    """Replace the f64 of every function by its bits."""
    legalize_math(module, keep_others)
    Exact(module).run()


def computed(w: Writer, op: type[Op], *operands: Expression) -> Expression:
    """Compute an op of ``ARITHMETIC`` on bits; a difference by the function that adds."""
    if op is arith.Sub:
        return computed(w, arith.Add, operands[0], operands[1] ^ SIGN)
    return called(w, op.name, ARITHMETIC[op], *operands)


def below(w: Writer, a: Expression, b: Expression) -> Expression:
    """a < b."""
    ordered = ~(is_nan(a) | is_nan(b))
    return ordered & (order(w, a) < order(w, b)) & ~(is_zero(a) & is_zero(b))


def equal(w: Writer, a: Expression, b: Expression) -> Expression:
    """a == b."""
    same = a.equals(b) & ~is_nan(a)
    return same | (is_zero(a) & is_zero(b))


def smaller(w: Writer, a: Expression, b: Expression) -> Expression:
    """The smaller; a number wins over NaN, and -0 is below +0."""
    first = (order(w, a) <= order(w, b)) | is_nan(b)
    return w.select(first & ~is_nan(a), a, b)


def larger(w: Writer, a: Expression, b: Expression) -> Expression:
    """The larger; a number wins over NaN, and +0 is above -0."""
    first = (order(w, a) >= order(w, b)) | is_nan(b)
    return w.select(first & ~is_nan(a), a, b)


def bits_of(number: float) -> int:
    """The bits of a float as binary64."""
    return struct.unpack("<Q", struct.pack("<d", number))[0]


def from_scalar(w: Writer, x: Expression) -> Expression:
    """The bits of the value of any scalar but f64, with one rounding."""
    if x.dtype.is_float:
        return called(w, "from.f32", conversion.from_f32, x.cast(f32))
    if x.dtype.is_signed:
        return called(w, "from.i64", conversion.from_signed, x.cast(i64))
    return called(w, "from.u64", conversion.from_unsigned, x.cast(u64))


def to_scalar(w: Writer, x: Expression, to: DType) -> Expression:
    """The value of bits as any scalar but f64, with one rounding."""
    if to is b1:
        return ~is_zero(x)
    if to is f32:
        return called(w, "to.f32", conversion.to_f32, x)
    if to in (f16, bf16):
        return called(w, "to.odd.f32", conversion.to_odd_f32, x).cast(to)
    wide = i64 if to.is_signed else u64

    def formula(w: Writer, x: Expression) -> Expression:
        return conversion.to_integer(w, x, wide)

    return saturated(called(w, f"to.{wide}", formula, x), to)


def saturated(integer: Expression, to: DType) -> Expression:
    """An integer of 64 bits as one of the same sign, or the nearest end."""
    if to.bits < 64:
        integer = integer.most(to.min).least(to.max) if to.is_signed else integer.least(to.max)
    return integer.cast(to)


class Exact(Representation):
    """Holds a value of f64 in a u64."""

    LACK = "there is no such op on the bits of f64"

    def forms(self, type_: Type) -> tuple[Type, ...] | None:
        return (u64,) if type_ is f64 else None

    def in_words(self, element: Type) -> bool:
        return holds(element, lambda part: part is f64)

    def entered(self, param: Value) -> Parts:
        return (self.builder.bitcast(param, u64),)

    def const(self, op: arith.Const) -> Sequence[Parts]:
        return [(self.writer.const(bits_of(float(op.value)), u64).value,)]

    def function_of_bits(self, op: Op) -> Sequence[Parts]:
        operands = [self.expressions(value)[0] for value in op.operands()]
        return [(computed(self.writer, type(op), *operands).value,)]

    def pick(self, op: arith.Min | arith.Max) -> Sequence[Parts]:
        a, b = self.expressions(op.lhs)[0], self.expressions(op.rhs)[0]
        choose = smaller if isinstance(op, arith.Min) else larger
        return [(choose(self.writer, a, b).value,)]

    def compare(self, op: arith.Compare) -> Sequence[Parts]:
        a, b = self.expressions(op.lhs)[0], self.expressions(op.rhs)[0]
        return [(COMPARISONS[type(op)](self.writer, a, b).value,)]

    def neg(self, op: arith.Neg) -> Sequence[Parts]:
        return [((self.expressions(op.value)[0] ^ SIGN).value,)]

    def abs_(self, op: arith.Abs) -> Sequence[Parts]:
        return [(magnitude(self.expressions(op.value)[0]).value,)]

    def copysign(self, op: math.Copysign) -> Sequence[Parts]:
        a, b = self.expressions(op.lhs)[0], self.expressions(op.rhs)[0]
        return [((magnitude(a) | (b & SIGN)).value,)]

    def cast(self, op: arith.Cast) -> Sequence[Parts]:
        (value,) = self.expressions(op.value)
        if op.value.type is op.type:
            return [(value.value,)]
        if op.type is f64:
            return [(from_scalar(self.writer, value).value,)]
        return [(to_scalar(self.writer, value, op.type).value,)]

    def bitcast(self, op: arith.Bitcast) -> Sequence[Parts]:
        to = u64 if op.type is f64 else op.type
        return [(self.builder.bitcast(self.one(op.value), to),)]

    # ---- memory and lanes

    def at(self, pointer_: Value) -> Value:
        """The address of an f64's bits."""
        return self.builder.recast(self.one(pointer_), memory.pointer_beside(pointer_, u64))

    def load(self, op: memory.Load) -> Sequence[Parts]:
        return [(self.builder.load(self.at(op.pointer), op.volatile),)]

    def store(self, op: memory.Store) -> Sequence[Parts]:
        self.builder.store(self.at(op.pointer), self.one(op.value), op.volatile)
        return []

    def print_(self, op: control.Print) -> Sequence[Parts]:
        printed = [
            self.builder.bitcast(self.one(value), f64) if value.type is f64 else value
            for value in op.arguments
        ]
        self.builder.emit(op.of(tuple(printed)))
        return []

    def update(self, op: atomic.Atomic) -> Sequence[Parts]:
        address, (value,) = self.at(op.pointer), self.expressions(op.value)
        if op.kind is atomic.AtomicKind.EXCHANGE:
            update_op = atomic.Atomic(op.kind, address, value.value, op.order, op.scope)
            return [self.builder.emit(update_op).results]
        wrap = self.writer.wrap

        def change(old: Value) -> Value:
            return stored(self.writer, op.kind, wrap(old), value).value

        return [(swap_until_done(self.builder, address, change, op.order, op.scope),)]

    def again(self, op: Op) -> Sequence[Parts]:
        """Repeat the op on the bits."""
        operands = [self.one(value) for value in op.operands()]
        if isinstance(op, atomic.AtomicCas):
            operands[0] = self.at(op.pointer)
        return [(result,) for result in again(self, op, *operands)]

    RULES: ClassVar[dict[type[Op], Rule]] = {
        arith.Const: const,
        **dict.fromkeys((*ARITHMETIC, arith.Sub), function_of_bits),
        **dict.fromkeys((arith.Min, arith.Max), pick),
        **dict.fromkeys((arith.Eq, arith.Ne, arith.Lt, arith.Le, arith.Gt, arith.Ge), compare),
        arith.Neg: neg,
        arith.Abs: abs_,
        math.Copysign: copysign,
        arith.Cast: cast,
        arith.Bitcast: bitcast,
        memory.Load: load,
        memory.Store: store,
        control.Print: print_,
        atomic.Atomic: update,
        **dict.fromkeys((atomic.AtomicCas, warp.Shuffle, warp.MatchAny, warp.MatchAll), again),
    }


def _below(w: Writer, a: Expression, b: Expression) -> Expression:
    return called(w, "lt", below, a, b)


def _equal(w: Writer, a: Expression, b: Expression) -> Expression:
    return called(w, "eq", equal, a, b)


COMPARISONS: dict[type[Op], FormulaOfTwo] = {
    arith.Eq: _equal,
    arith.Ne: lambda w, a, b: ~_equal(w, a, b),
    arith.Lt: _below,
    arith.Le: lambda w, a, b: _below(w, a, b) | _equal(w, a, b),
    arith.Gt: lambda w, a, b: _below(w, b, a),
    arith.Ge: lambda w, a, b: _below(w, b, a) | _equal(w, a, b),
}

Kind = atomic.AtomicKind

_STORED: dict[Kind, FormulaOfTwo] = {
    Kind.ADD: lambda w, old, new: computed(w, arith.Add, old, new),
    Kind.SUB: lambda w, old, new: computed(w, arith.Sub, old, new),
    Kind.MIN: lambda w, old, new: w.select(below(w, new, old), new, old),
    Kind.MAX: lambda w, old, new: w.select(below(w, old, new), new, old),
    Kind.NANMIN: smaller,
    Kind.NANMAX: larger,
}


def stored(w: Writer, kind: Kind, old: Expression, new: Expression) -> Expression:
    """The bits that an atomic on f64 stores."""
    return _STORED[kind](w, old, new)
