"""Computes with integers of 8 and 16 bits in 32 bits, for compilers that lose their wrapping.

An integer is held sign- or zero-extended to 32 bits, as in ``legalize_small``. Memory, f16 and bf16
stay as they are: an op that only moves a small integer, or reinterprets it, takes it in its own
type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gridlane.core.dtypes import DType
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, warp
from gridlane.ir.types import Type
from gridlane.ir.values import Module, Value
from gridlane.passes.legalise.representation import GENERIC, Parts, Representation, Rule, scalar
from gridlane.passes.legalise.small import COMPUTED, HELD, SmallValues

INTEGERS = {own: held for own, held in HELD.items() if own.is_integer}
"""The type that holds each small integer type."""


def hold_small_integers(module: Module) -> None:
    """Replace the 8- and 16-bit values of arithmetic, in every function."""
    _Integers(module).run()


class _Integers(SmallValues):
    HELD: ClassVar[dict[DType, DType]] = INTEGERS

    def in_words(self, element: Type) -> bool:
        return Representation.in_words(self, element)

    def concerns(self, op: Op) -> bool:
        return Representation.concerns(self, op)

    def rule(self, op: Op) -> Rule:
        return _RULES.get(type(op)) or GENERIC.get(type(op)) or _Integers.native

    # ---- ops on the small types themselves

    def native(self, op: Op) -> Sequence[Parts]:
        """Keep the op, with its operands cast to their own types."""
        op.replace_operands(self.own)
        self.builder.region.ops.append(op)
        return [self.taken(result) for result in op.results]

    def own(self, value: Value) -> Value:
        """An operand in its own type."""
        if self.form(value.type) is None:
            return self.one(value)
        return self.builder.cast(self.one(value), scalar(value))

    def taken(self, result: Value) -> Parts:
        """The representation of a result."""
        form = self.form(result.type)
        if form is None:
            return (result,)
        (held,) = form
        assert isinstance(held, DType)
        return (self.builder.cast(result, held),)


_OWN = (arith.Bitcast, arith.Fma)
_RULES: dict[type[Op], Rule] = {
    **{op: SmallValues.RULES[op] for op in (*COMPUTED, arith.Const, arith.Cast) if op not in _OWN},
    arith.Select: Representation.select,
    warp.WarpReduce: SmallValues.plain,
}
"""Ops computed in 32 bits; the device does other ops itself."""
