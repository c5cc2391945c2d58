"""Splits atomics on 64-bit integers into two of 32 bits, for devices with 32-bit atomics alone.

The low word changes first, and its carry is added to the high word. So the sum is right when all
updates are done, but another thread may see one word without the other. An atomic is refused where
the kernel uses the old value, or where the order of updates matters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from gridlane.core.dtypes import DType, i32, u32, u64
from gridlane.core.errors import TargetError
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, atomic, memory
from gridlane.ir.rewriting import uses
from gridlane.ir.types import Space, Type
from gridlane.ir.values import Function, Module, Value
from gridlane.passes.legalise.atomics import stored
from gridlane.passes.legalise.representation import Parts, Representation, Rule, scalar

Kind = atomic.AtomicKind

WORD = 32
BY_WORDS = frozenset((Kind.ADD, Kind.SUB, Kind.AND, Kind.OR, Kind.XOR))


def halve_atomics(module: Module) -> None:
    """Replace the atomics on 64-bit integers, in every function.

    Raises:
        TargetError: an atomic whose words cannot be changed one after the other.
    """
    _Halves(module).run()


class _Halves(Representation):
    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.uses: Counter[Value] = Counter()

    def function(self, function: Function) -> None:
        self.uses = uses(function.body)
        super().function(function)

    def forms(self, type_: Type) -> None:
        return None

    def concerns(self, op: Op) -> bool:
        if not isinstance(op, atomic.Atomic | atomic.AtomicCas):
            return False
        own = scalar(op.result)
        return own.is_integer and own.bits == 2 * WORD

    def update(self, op: atomic.Atomic) -> Sequence[Parts]:
        b, address, value = self.builder, self.one(op.pointer), self.one(op.value)
        if memory.space_of(address) is Space.LOCAL:
            old = b.load(address)
            b.store(address, stored(b, op.kind, old, value))
            return [(old,)]
        if op.kind not in BY_WORDS:
            raise self.refused(op, f"{op.kind.value} of 64 bits")
        if self.uses[op.result]:
            raise self.refused(op, f"the old value of a 64-bit {op.kind.value}")
        own = scalar(value)
        if op.kind is Kind.SUB:
            value = b.unary(arith.Neg, b.bitcast(value, u64))
        self.change(op, address, b.bitcast(value, u64))
        return [(b.const(0, own),)]

    def change(self, op: atomic.Atomic, address: Value, value: Value) -> None:
        """Change both words at an address by the words of a u64."""
        b = self.builder
        kind = Kind.ADD if op.kind is Kind.SUB else op.kind
        words = b.recast(address, memory.pointer_beside(address, u32))
        low = b.cast(value, u32)
        high = b.cast(b.value(arith.Shr(value, b.const(WORD, u32))), u32)
        old = b.value(atomic.Atomic(kind, words, low, op.order, op.scope))
        if kind is Kind.ADD:
            high = b.add(high, b.cast(b.lt(b.add(old, low), low), u32))
        upper = b.offset(words, b.const(1, i32))
        b.emit(atomic.Atomic(kind, upper, high, op.order, op.scope))

    def swap(self, op: atomic.AtomicCas) -> Sequence[Parts]:
        b, address = self.builder, self.one(op.pointer)
        if memory.space_of(address) is not Space.LOCAL:
            raise self.refused(op, "a swap of 64 bits, which atomics on float64 are made of,")
        old = b.load(address)
        b.store(address, b.select(b.eq(old, self.one(op.expected)), self.one(op.desired), old))
        return [(old,)]

    def refused(self, op: Op, what: str) -> TargetError:
        own: DType = scalar(op.results[0])
        return TargetError(
            f"{op.name} on {own}: the target's atomics have 32 bits, and {what} cannot be made of "
            "two; use an array of 32-bit integers",
            op.loc,
        )

    RULES: ClassVar[dict[type[Op], Rule]] = {atomic.Atomic: update, atomic.AtomicCas: swap}
