"""Computes with integers of 8 and 16 bits in 32 bits, and with f16 and bf16 in f32.

An integer is held sign- or zero-extended to 32 bits, a float as the f32 of its value; each op
rounds or wraps once. After the pass no op computes with smaller types. They remain at the edges,
for a code generator to read:

- a parameter of the kernel is the operand of a ``cast`` to 32 bits alone; one of f16 or bf16 is
  the operand of a ``bitcast`` to u16 whose result is the operand of such a cast;
- an f16 or bf16 operand of ``print`` is the result of a bitcast of a u16 cast from u32.

Memory keeps its layout and is accessed by words of 32 bits, as ``places`` says; a b1 in memory is
a byte. Addresses are reinterpreted as pairs of words, as in ``legalize_int64``, which runs before
this pass if it runs; ``split_aggregates`` runs before both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gridlane.core.dtypes import DType, b1, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from gridlane.ir.expressions import NARROW, Expression
from gridlane.ir.op import REGISTRY, Op
from gridlane.ir.ops import arith, atomic, control, math, memory, warp
from gridlane.ir.stages import ARITHMETIC, MATH
from gridlane.ir.types import PointerType, Type
from gridlane.ir.values import Module, Value
from gridlane.passes.legalise.atomics import stored
from gridlane.passes.legalise.int64 import WORDS, holds
from gridlane.passes.legalise.int64.conversion import to_odd
from gridlane.passes.legalise.int64.wide import Wide
from gridlane.passes.legalise.math import legalize_math
from gridlane.passes.legalise.representation import Parts, Representation, Rule, again, scalar
from gridlane.passes.legalise.small.formats import (
    narrowed,
    odd_fma,
    odd_from_f64,
    rounded,
    sticky,
    widened,
)
from gridlane.passes.legalise.small.packed_elements import Place, place

HELD: dict[DType, DType] = {i8: i32, i16: i32, u8: u32, u16: u32, **dict.fromkeys(NARROW, f32)}
"""The type that holds each small type."""

BY_RANGE = frozenset(("add_sat", "sub_sat", "flush"))
"""Ops whose results depend on the range of their type: expansions replace them before."""

COMPUTED = tuple(REGISTRY[name] for name in sorted((ARITHMETIC | MATH) - BY_RANGE))
"""Other ops whose results depend on their operands alone."""

UNROUNDED = frozenset((
    arith.Neg, arith.Abs, arith.Min, arith.Max, arith.Rem, arith.And, arith.Or, arith.Xor,
    arith.Shr, math.Floor, math.Ceil, math.Trunc, math.Rint, math.Round, math.Copysign,
    math.Frexp,
))  # fmt: skip
"""Ops whose float results are exact."""

UNWRAPPED = frozenset((arith.Rem, arith.Min, arith.Max, arith.And, arith.Or, arith.Xor, arith.Shr))
"""Ops whose integer results are in the range of the operands."""


def legalize_small(module: Module) -> None:
    """Replace the 8- and 16-bit values, and the accesses to them, in every function."""
    # The step to the next float depends on the type: it is written in 16-bit integers first.
    legalize_math(module, lambda op, dtype: not (op is math.Nextafter and dtype in NARROW))
    SmallValues(module).run()


class SmallValues(Representation):
    """Holds small values in 32-bit ones."""

    HELD: ClassVar[dict[DType, DType]] = HELD
    LACK = "there is no such op on values that are held in 32 bits; expand-ops replaces some before"

    def forms(self, type_: Type) -> tuple[Type, ...] | None:
        held = self.HELD.get(type_) if isinstance(type_, DType) else None
        return None if held is None else (held,)

    def in_words(self, element: Type) -> bool:
        return holds(element, lambda part: part is b1 or part in HELD)

    def concerns(self, op: Op) -> bool:
        """Whether to rewrite an op; a b1 is a byte in memory."""
        if isinstance(op, memory.Load | memory.Store):
            value = op.result if isinstance(op, memory.Load) else op.value
            return self.in_words(value.type)
        return super().concerns(op)

    # ---- the edges

    def entered(self, param: Value) -> Parts:
        own = scalar(param)
        if own.is_float:
            raw = self.builder.cast(self.builder.bitcast(param, u16), u32)
            return (widened(self.writer, self.writer.wrap(raw), own).value,)
        return (self.builder.cast(param, HELD[own]),)

    def print_(self, op: control.Print) -> Sequence[Parts]:
        printed: list[Value] = []
        for value in op.arguments:
            (printed_value,) = self.expressions(value)
            if value.type in NARROW:
                own = scalar(value)
                printed_value = narrowed(self.writer, printed_value, own).cast(u16).reread(own)
            printed.append(printed_value.value)
        self.builder.emit(op.of(tuple(printed)))
        return []

    def load(self, op: memory.Load) -> Sequence[Parts]:
        type_ = scalar(op.result)
        bits = self.place(op.pointer).load(op.volatile)
        if type_ is b1:
            return [(bits.differs(0).value,)]
        return [(self.held(bits, type_).value,)]

    def store(self, op: memory.Store) -> Sequence[Parts]:
        bits = self.bits(self.expressions(op.value)[0], scalar(op.value))
        self.place(op.pointer).store(bits, op.volatile)
        return []

    def place(self, pointer: Value) -> Place:
        """The place of an element in memory."""
        assert isinstance(pointer.type, PointerType)
        return place(self.writer, self.one(pointer), 8 * pointer.type.element.size)

    # ---- forms

    def held(self, bits: Expression, own: DType) -> Expression:
        """The representation of a value, from its bits in a u32."""
        if own.is_float:
            return widened(self.writer, bits, own)
        return self.wrapped(bits.reread(HELD[own]), own)

    def bits(self, value: Expression, own: DType) -> Expression:
        """The bits of a value in a u32, zero-extended; of a b1, its byte."""
        if own is b1:
            return value.cast(u32)
        if own.is_float:
            return narrowed(self.writer, value, own)
        return value.reread(u32) & own.unsigned.max

    def wrapped(self, value: Expression, own: DType) -> Expression:
        """An i32 or u32 wrapped to the range of a type."""
        if not own.is_signed:
            return value & own.max
        gone = 32 - own.bits
        return (value << gone) >> gone

    def fitted(self, value: Expression, own: DType) -> Expression:
        """The result of an op, rounded or wrapped to the type."""
        return rounded(self.writer, value, own) if own.is_float else self.wrapped(value, own)

    # ---- arithmetic

    def const(self, op: arith.Const) -> Sequence[Parts]:
        assert isinstance(op.type, DType)
        return [(self.writer.const(op.value, self.HELD[op.type]).value,)]

    def plain(self, op: Op) -> Sequence[Parts]:
        """Compute the op in 32 bits, and round or wrap each small result."""
        results = again(self, op, *[self.one(value) for value in op.operands()])
        own = op.results[0].type
        if not isinstance(own, DType) or own not in self.HELD:
            return [(result,) for result in results]
        if type(op) in (UNROUNDED if own.is_float else UNWRAPPED):
            return [(result,) for result in results]
        first = self.fitted(self.writer.wrap(results[0]), own)
        return [(first.value,), *[(result,) for result in results[1:]]]

    def fma(self, op: arith.Fma) -> Sequence[Parts]:
        a, b, c = (self.expressions(value)[0] for value in op.operands())
        fused = odd_fma(self.writer, a, b, c)
        return [(rounded(self.writer, fused, scalar(op.result)).value,)]

    def high(self, op: arith.MulHi) -> Sequence[Parts]:
        a, b = (self.expressions(value)[0] for value in op.operands())
        return [((a * b >> scalar(op.result).bits).value,)]

    def bitwise(self, op: arith.Unary) -> Sequence[Parts]:
        """Compute popcount, clz and brev on the type's own bits."""
        own = scalar(op.result)
        raw = self.bits(self.expressions(op.value)[0], own)
        number = self.writer.wrap(self.builder.unary(type(op), raw.value))
        if isinstance(op, arith.Clz):
            number = number - (32 - own.bits)
        if isinstance(op, arith.Brev):
            number = number >> (32 - own.bits)
        return [(self.held(number, own).value,)]

    def bitcast(self, op: arith.Bitcast) -> Sequence[Parts]:
        assert isinstance(op.type, DType)
        raw = self.bits(self.expressions(op.value)[0], scalar(op.value))
        return [(self.held(raw, op.type).value,)]

    # ---- conversion

    def cast(self, op: arith.Cast) -> Sequence[Parts]:
        source, to = scalar(op.value), op.type
        (value,) = self.expressions(op.value)
        if to not in self.HELD:
            return [(value.cast(to).value,)]
        if to.is_float:
            return [(rounded(self.writer, self.real(value, source, to), to).value,)]
        if source.is_float:
            converted = value.cast(HELD[to])  # saturates
            converted = (
                converted.most(to.min).least(to.max) if to.is_signed else converted.least(to.max)
            )
            return [(converted.value,)]
        return [(self.wrapped(value.cast(HELD[to]), to).value,)]

    def real(self, value: Expression, source: DType, to: DType) -> Expression:
        """An f32 that rounds to the same 16-bit float as the value."""
        w = self.writer
        if source is f64:
            return odd_from_f64(w, value)
        if source in (i32, u32):
            return sticky(w, value)
        if source in (i64, u64):
            pair = w.builder.bitcast(value.value, WORDS)
            words = [w.wrap(w.builder.value(memory.Part(pair, n))) for n in range(2)]
            return to_odd(w, Wide(*words), source)
        return value.cast(f32)

    # ---- atomics

    def update(self, op: atomic.Atomic) -> Sequence[Parts]:
        own, value = scalar(op.value), self.one(op.value)

        def new(bits: Expression) -> Expression:
            old = self.held(bits, own)
            result = self.writer.wrap(stored(self.builder, op.kind, old.value, value))
            if op.kind in (atomic.AtomicKind.ADD, atomic.AtomicKind.SUB):
                result = self.fitted(result, own)
            return self.bits(result, own)

        old = self.place(op.pointer).change(new, op.order, op.scope)
        return [(self.held(old, own).value,)]

    def cas(self, op: atomic.AtomicCas) -> Sequence[Parts]:
        own = scalar(op.desired)
        expected, desired = (
            self.bits(self.expressions(value)[0], own) for value in (op.expected, op.desired)
        )
        old = self.place(op.pointer).compare_and_swap(expected, desired, op)
        return [(self.held(old, own).value,)]

    # ---- the lanes of a warp

    def match(self, op: warp.MatchAny | warp.MatchAll) -> Sequence[Parts]:
        """Match lanes by the bits, which a NaN has as well."""
        raw = self.bits(self.expressions(op.value)[0], scalar(op.value))
        results = self.builder.emit(type(op)(self.one(op.mask), raw.value)).results
        return [(result,) for result in results]

    RULES: ClassVar[dict[type[Op], Rule]] = {
        **dict.fromkeys(COMPUTED, plain),
        arith.Const: const,
        arith.Fma: fma,
        arith.MulHi: high,
        **dict.fromkeys((arith.Popcount, arith.Clz, arith.Brev), bitwise),
        arith.Select: Representation.select,
        arith.Bitcast: bitcast,
        arith.Cast: cast,
        memory.Load: load,
        memory.Store: store,
        memory.Offset: plain,
        control.Print: print_,
        atomic.Atomic: update,
        atomic.AtomicCas: cas,
        warp.MatchAny: match,
        warp.MatchAll: match,
        **dict.fromkeys((warp.Shuffle, warp.WarpReduce), plain),
    }
