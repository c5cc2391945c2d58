"""f64 computed in f32. Arrays and parameters keep their layout and are converted on access."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gridlane.core.dtypes import f32, f64, u64
from gridlane.ir.expressions import Expression
from gridlane.ir.op import REGISTRY, Op
from gridlane.ir.ops import arith, atomic, control, memory, warp
from gridlane.ir.stages import ARITHMETIC, MATH
from gridlane.ir.types import Type
from gridlane.ir.values import Module, Value
from gridlane.passes.legalise.fp64.exact import from_scalar, to_scalar
from gridlane.passes.legalise.fp64.shared import OverBits
from gridlane.passes.legalise.int64 import holds
from gridlane.passes.legalise.representation import Parts, Representation, Rule, again


def compute_narrowly(module: Module) -> None:
    """Replace the f64 of every function by f32.

    Raises:
        TargetError: an atomic on f64, or a constant out of f32's range.
    """
    _Narrow(module).run()


class _Narrow(OverBits):
    MODE = "narrow"
    LACK = "fp64='narrow' computes in float32, which has no such op"

    def forms(self, type_: Type) -> tuple[Type, ...] | None:
        return (f32,) if type_ is f64 else None

    def in_words(self, element: Type) -> bool:
        return holds(element, lambda part: part is f64)

    def bits(self, value: Value) -> Expression:
        return from_scalar(self.writer, self.expressions(value)[0])

    def held(self, bits: Expression) -> Parts:
        return (to_scalar(self.writer, bits, f32).value,)

    def const(self, op: arith.Const) -> Sequence[Parts]:
        return [(self.writer.const(self.fitting(op), f32).value,)]

    def again(self, op: Op) -> Sequence[Parts]:
        """Repeat the op on f32."""
        operands = [self.one(value) for value in op.operands()]
        return [(result,) for result in again(self, op, *operands)]

    def cast(self, op: arith.Cast) -> Sequence[Parts]:
        to = f32 if op.type is f64 else op.type
        return [(self.expressions(op.value)[0].cast(to).value,)]

    def at(self, place: Value) -> Value:
        """The address of an f64's bits."""
        return self.builder.recast(self.one(place), memory.pointer_beside(place, u64))

    def load(self, op: memory.Load) -> Sequence[Parts]:
        raw = self.builder.load(self.at(op.pointer), op.volatile)
        return [self.held(self.writer.wrap(raw))]

    def store(self, op: memory.Store) -> Sequence[Parts]:
        self.builder.store(self.at(op.pointer), self.bits(op.value).value, op.volatile)
        return []

    RULES: ClassVar[dict[type[Op], Rule]] = {
        **dict.fromkeys([REGISTRY[name] for name in sorted(ARITHMETIC | MATH)], again),
        arith.Const: const,
        arith.Select: Representation.select,
        arith.Cast: cast,
        arith.Bitcast: OverBits.bitcast,
        memory.Load: load,
        memory.Store: store,
        control.Print: OverBits.print_,
        **dict.fromkeys((warp.Shuffle, warp.MatchAny, warp.MatchAll), again),
        **dict.fromkeys((atomic.Atomic, atomic.AtomicCas), OverBits.refuse),
    }
