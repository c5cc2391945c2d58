"""Holds 64-bit integers in pairs of u32, for targets whose integers have 32 bits.

After the pass no op computes with i64 or u64. They remain at the edges, where ``bitcast`` to and
from ``vec<u32, 2>`` (low word first) marks them for the code generator:

- a parameter of the kernel, or the result of ``address``, is the operand of a bitcast alone;
- the operand of ``from_address``, the index of ``offset`` and the operands of ``print`` may be the
  result of a bitcast. Where addresses have 32 bits, the low word of an index is enough.

Memory keeps its layout: an element of 64 bits is loaded and stored as two words, the low one
first, and arrays of the kernel's own are declared as words. Two threads that race for such an
element may each leave one of the words. Run ``split_aggregates`` first. Atomics of 64 bits are
refused, as they cannot be expanded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from gridlane.core.dtypes import DType, i32, i64, u32, u64
from gridlane.core.errors import TargetError
from gridlane.ir.expressions import Expression
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, atomic, control, memory, warp
from gridlane.ir.types import ArrayType, PointerType, StructType, Type, VectorType, vector
from gridlane.ir.values import Module, Value
from gridlane.passes.legalise.int64 import lanes
from gridlane.passes.legalise.int64.conversion import extended, from_float, to_scalar
from gridlane.passes.legalise.int64.division import divide, divide_signed
from gridlane.passes.legalise.int64.wide import (
    Wide,
    choose,
    constant,
    high_product,
    known,
    low_word,
    popcount,
    reverse,
    signed_high_product,
)
from gridlane.passes.legalise.representation import Parts, Representation, Rule, again, scalar

WORDS = vector(u32, 2)
"""The low and the high word of a 64-bit scalar at the edges."""


def legalize_int64(module: Module) -> None:
    """Replace the 64-bit integers of every function.

    Raises:
        TargetError: an atomic of 64 bits.
    """
    _Words(module).run()


def is_wide(type_: Type) -> bool:
    """Whether a type is an integer of 64 bits."""
    return type_ is i64 or type_ is u64


def holds(type_: Type, test: Callable[[Type], bool]) -> bool:
    """Whether memory of a type contains a scalar or pointer that satisfies ``test``."""
    if isinstance(type_, StructType):
        return any(holds(part, test) for part in type_.types)
    if isinstance(type_, ArrayType | VectorType):
        return holds(type_.element, test)
    return test(type_)


class _Words(Representation):
    LACK = "there is no such op on pairs of words"

    def forms(self, type_: Type) -> tuple[Type, ...] | None:
        return (u32, u32) if is_wide(type_) else None

    def in_words(self, element: Type) -> bool:
        return holds(element, lambda part: part in (i64, u64) or isinstance(part, PointerType))

    def entered(self, param: Value) -> Parts:
        return self.cut(param)

    def concerns(self, op: Op) -> bool:
        """Whether to rewrite an op; pointers in memory are 64-bit numbers as well."""
        if isinstance(op, memory.Load):
            return self.in_words(op.result.type)
        if isinstance(op, memory.Store):
            return self.in_words(op.value.type)
        return super().concerns(op)

    # ---- the edges

    def cut(self, value: Value) -> Parts:
        """Split a 64-bit scalar from an edge into words."""
        pair = self.builder.bitcast(value, WORDS)
        return tuple([self.builder.value(memory.Part(pair, n)) for n in range(2)])

    def joined(self, parts: Parts, type_: DType) -> Value:
        """Join words into a 64-bit scalar, for an op at an edge."""
        return self.builder.bitcast(self.builder.value(memory.Pack(parts, WORDS)), type_)

    def address(self, op: memory.Address) -> Sequence[Parts]:
        return [self.cut(self.builder.value(memory.Address(self.one(op.pointer))))]

    def from_address(self, op: memory.FromAddress) -> Sequence[Parts]:
        whole = self.joined(self.of(op.value), u64)
        return [(self.builder.value(memory.FromAddress(whole, op.type)),)]

    def offset(self, op: memory.Offset) -> Sequence[Parts]:
        source = op.index.op.value if isinstance(op.index.op, arith.Cast) else None
        if source is not None and source.type in INDICES:  # offset extends it by its type as well
            index = self.one(source)
        else:
            index = self.joined(self.of(op.index), scalar(op.index))
        return [(self.builder.offset(self.one(op.pointer), index),)]

    def print_(self, op: control.Print) -> Sequence[Parts]:
        printed = [
            self.joined(self.of(value), scalar(value)) if is_wide(value.type) else self.one(value)
            for value in op.arguments
        ]
        self.builder.emit(op.of(tuple(printed)))
        return []

    def load(self, op: memory.Load) -> Sequence[Parts]:
        places = self.places(op.pointer)
        words = tuple([self.builder.load(at, op.volatile) for at in places])
        type_ = op.result.type
        if isinstance(type_, PointerType):
            return [(self.builder.value(memory.FromAddress(self.joined(words, u64), type_)),)]
        return [words]

    def store(self, op: memory.Store) -> Sequence[Parts]:
        words = self.of(op.value)
        if isinstance(op.value.type, PointerType):
            words = self.cut(self.builder.value(memory.Address(self.one(op.value))))
        for address, word in zip(self.places(op.pointer), words, strict=True):
            self.builder.store(address, word, op.volatile)
        return []

    def places(self, pointer: Value) -> list[Value]:
        """The addresses of both words."""
        b = self.builder
        first = b.recast(self.one(pointer), memory.pointer_beside(pointer, u32))
        return [first, b.offset(first, b.const(1, i32))]

    # ---- arithmetic

    def wide(self, value: Value) -> Wide:
        """The words of a 64-bit operand."""
        return Wide(*self.expressions(value))

    def const(self, op: arith.Const) -> Sequence[Parts]:
        return [values(constant(self.writer, int(op.value)))]

    def binary(self, op: arith.Binary) -> Sequence[Parts]:
        return [values(BINARY[type(op)](self.wide(op.lhs), self.wide(op.rhs)))]

    def unary(self, op: arith.Unary) -> Sequence[Parts]:
        if isinstance(op, arith.Abs) and op.value.type is u64:
            return [self.of(op.value)]
        return [values(UNARY[type(op)](self.wide(op.value)))]

    def high(self, op: arith.MulHi) -> Sequence[Parts]:
        product = signed_high_product if op.lhs.type is i64 else high_product
        return [values(product(self.wide(op.lhs), self.wide(op.rhs)))]

    def division(self, op: arith.Div | arith.Rem) -> Sequence[Parts]:
        by = divide_signed if op.lhs.type is i64 else divide
        both_results = by(self.writer, self.wide(op.lhs), self.wide(op.rhs))
        return [values(both_results[isinstance(op, arith.Rem)])]

    def extreme(self, op: arith.Min | arith.Max) -> Sequence[Parts]:
        lhs, rhs = self.wide(op.lhs), self.wide(op.rhs)
        below = lhs.below(rhs, op.lhs.type is i64)
        if isinstance(op, arith.Max):
            below = ~below
        return [values(choose(below, lhs, rhs))]

    def shift(self, op: arith.Shl | arith.Shr) -> Sequence[Parts]:
        if isinstance(op.amount.op, arith.Const) and is_wide(op.value.type):
            # Read as unsigned, a negative amount is beyond the width.
            amount = int(op.amount.op.value) % (1 << scalar(op.amount).bits)
            return [values(self._shifted(op, min(amount, 64)))]
        by = self.amount(op.amount)
        if not is_wide(op.value.type):
            return [again(self, op, self.one(op.value), by.value)]
        value = self.wide(op.value)
        if isinstance(op, arith.Shl):
            return [values(value << by)]
        return [values(value.shift_with_sign(by) if op.value.type is i64 else value >> by)]

    def _shifted(self, op: arith.Shl | arith.Shr, amount: int) -> Wide:
        value = self.wide(op.value)
        if isinstance(op, arith.Shl):
            return value.left_by(amount)
        if op.value.type is i64:
            return value.right_with_sign_by(amount)
        return value.right_by(amount)

    def amount(self, value: Value) -> Expression:
        """The amount of a shift as a u32; an amount beyond a u32 is beyond every width."""
        if is_wide(value.type):
            whole = self.wide(value)
            if known(whole.hi) == 0:
                return whole.lo
            return self.writer.select(whole.hi.equals(0), whole.lo, u32.max)
        own = scalar(value).unsigned
        return self.expressions(value)[0].reread(own).cast(u32)

    def compare(self, op: arith.Compare) -> Sequence[Parts]:
        lhs, rhs = self.wide(op.lhs), self.wide(op.rhs)
        if isinstance(op, arith.Eq | arith.Ne):
            holds = lhs.equals(rhs)
        else:
            if isinstance(op, arith.Gt | arith.Le):
                lhs, rhs = rhs, lhs
            holds = lhs.below(rhs, op.lhs.type is i64)
        negated = isinstance(op, arith.Ne | arith.Le | arith.Ge)
        return [((~holds if negated else holds).value,)]

    def cast(self, op: arith.Cast) -> Sequence[Parts]:
        source = scalar(op.value)
        if is_wide(source) and is_wide(op.type):
            return [self.of(op.value)]
        if is_wide(source):
            return [(to_scalar(self.writer, self.wide(op.value), source, op.type).value,)]
        (value,) = self.expressions(op.value)
        if source.is_float:
            return [values(from_float(self.writer, value, op.type))]
        return [values(extended(value))]

    def bitcast(self, op: arith.Bitcast) -> Sequence[Parts]:
        """Cast bits to and from f64, through the same vector as at the edges."""
        if is_wide(op.value.type) and is_wide(op.type):
            return [self.of(op.value)]
        if is_wide(op.value.type):
            pair = self.builder.value(memory.Pack(self.of(op.value), WORDS))
            return [(self.builder.bitcast(pair, op.type),)]
        return [self.cut(self.one(op.value))]

    # ---- the lanes of a warp

    def shuffle(self, op: warp.Shuffle) -> Sequence[Parts]:
        rest = [self.one(value) for value in (op.mask, op.lane, op.width)]
        results = [
            self.builder.emit(warp.Shuffle(op.mode, rest[0], word, rest[1], rest[2])).results
            for word in self.of(op.value)
        ]
        return [(results[0][0], results[1][0]), (results[0][1],)]

    def match_any(self, op: warp.MatchAny) -> Sequence[Parts]:
        b = self.builder
        lo, hi = (b.value(warp.MatchAny(self.one(op.mask), word)) for word in self.of(op.value))
        return [(b.and_(lo, hi),)]

    def match_all(self, op: warp.MatchAll) -> Sequence[Parts]:
        b, mask = self.builder, self.one(op.mask)
        lo, hi = (b.emit(warp.MatchAll(mask, word)).results for word in self.of(op.value))
        return [(b.and_(lo[0], hi[0]),), (b.and_(lo[1], hi[1]),)]

    def reduce(self, op: warp.WarpReduce) -> Sequence[Parts]:
        value, own = self.wide(op.value), scalar(op.value)
        return [values(lanes.reduce(self.writer, op.kind, self.one(op.mask), value, own))]

    def refuse_atomic(self, op: atomic.Atomic | atomic.AtomicCas) -> Sequence[Parts]:
        raise TargetError(
            f"the target has no atomics on {op.results[0].type}: its integers have 32 bits; use "
            "an array of 32-bit integers",
            op.loc,
        )

    RULES: ClassVar[dict[type[Op], Rule]] = {
        memory.Address: address,
        memory.FromAddress: from_address,
        memory.Offset: offset,
        memory.Load: load,
        memory.Store: store,
        control.Print: print_,
        arith.Const: const,
        **dict.fromkeys((arith.Add, arith.Sub, arith.Mul, arith.And, arith.Or, arith.Xor), binary),
        **dict.fromkeys((arith.Div, arith.Rem), division),
        **dict.fromkeys((arith.Min, arith.Max), extreme),
        **dict.fromkeys((arith.Shl, arith.Shr), shift),
        **dict.fromkeys((arith.Eq, arith.Ne, arith.Lt, arith.Le, arith.Gt, arith.Ge), compare),
        **dict.fromkeys(
            (arith.Neg, arith.Abs, arith.Not, arith.Popcount, arith.Clz, arith.Brev), unary
        ),
        arith.MulHi: high,
        arith.Cast: cast,
        arith.Bitcast: bitcast,
        warp.Shuffle: shuffle,
        warp.MatchAny: match_any,
        warp.MatchAll: match_all,
        warp.WarpReduce: reduce,
        **dict.fromkeys((atomic.Atomic, atomic.AtomicCas), refuse_atomic),
    }


INDICES = (i32, u32)
"""Integers that index as well as their extension to 64 bits."""

BINARY: dict[type[Op], Callable[[Wide, Wide], Wide]] = {
    arith.Add: Wide.__add__,
    arith.Sub: Wide.__sub__,
    arith.Mul: Wide.__mul__,
    arith.And: Wide.__and__,
    arith.Or: Wide.__or__,
    arith.Xor: Wide.__xor__,
}

UNARY: dict[type[Op], Callable[[Wide], Wide]] = {
    arith.Neg: Wide.__neg__,
    arith.Abs: Wide.magnitude,
    arith.Not: Wide.__invert__,
    arith.Popcount: popcount,
    arith.Clz: lambda x: low_word(x.leading_zeros()),
    arith.Brev: reverse,
}


def values(x: Wide) -> Parts:
    """Both words as values."""
    return x.lo.value, x.hi.value
