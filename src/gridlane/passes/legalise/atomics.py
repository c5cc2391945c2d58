"""Expands the atomics that a target lacks into compare-and-swap loops.

Atomics on memory of one thread become plain accesses. Other atomics on 32 bits become loops that
retry the swap until no other thread intervened. Those on 64 bits need a swap of 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

from gridlane.core.dtypes import DType
from gridlane.core.errors import TargetError
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, atomic, memory
from gridlane.ir.ops.grid import MemoryOrder, MemoryScope
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Module, Value
from gridlane.passes.legalise.representation import Parts, Representation, Rule, scalar

Kind = atomic.AtomicKind

Keep: TypeAlias = Callable[[Kind | None, DType], bool]
"""Whether a target supports an atomic on a type; None is the compare-and-swap."""


def integers_of_32_bits(kind: Kind | None, dtype: DType) -> bool:
    """Whether WGSL, GLSL and MSL support an atomic on a type."""
    return dtype.is_integer and dtype.bits == 32 and kind not in CONDITIONAL


CONDITIONAL = frozenset((Kind.INC, Kind.DEC, Kind.NANMIN, Kind.NANMAX))
"""Atomics of CUDA alone, and those that integers have under another name."""


def legalize_atomics(module: Module, keep: Keep = integers_of_32_bits) -> None:
    """Replace the atomics that ``keep`` rejects.

    Raises:
        TargetError: an atomic of 64 bits on a target without such a swap, or one of 8 or 16 bits.
    """
    _Loops(module, keep).run()


class _Loops(Representation):
    def __init__(self, module: Module, keep: Keep) -> None:
        super().__init__(module)
        self.has = keep

    def forms(self, type_: object) -> None:
        return None

    def concerns(self, op: Op) -> bool:
        if not isinstance(op, atomic.Atomic | atomic.AtomicCas):
            return False
        if memory.space_of(op.pointer) is Space.LOCAL:
            return True
        kind = op.kind if isinstance(op, atomic.Atomic) else None
        return not self.has(kind, scalar(op.result))

    def update(self, op: atomic.Atomic) -> Sequence[Parts]:
        b, address, value = self.builder, self.one(op.pointer), self.one(op.value)
        if memory.space_of(address) is Space.LOCAL:
            old = b.load(address)
            b.store(address, stored(b, op.kind, old, value))
            return [(old,)]
        alias = ALIASES.get(op.kind) if scalar(value).is_integer else None
        if alias is not None and self.has(alias, scalar(value)):
            return [b.emit(atomic.Atomic(alias, address, value, op.order, op.scope)).results]
        own, bits = scalar(value), self.word(op)
        address = b.recast(address, memory.pointer_beside(address, bits))
        if op.kind is Kind.EXCHANGE and self.has(op.kind, bits):
            raw = b.bitcast(value, bits)
            old_bits = b.value(atomic.Atomic(op.kind, address, raw, op.order, op.scope))
        else:

            def change(old: Value) -> Value:
                return b.bitcast(stored(b, op.kind, b.bitcast(old, own), value), bits)

            old_bits = swap_until_done(b, address, change, op.order, op.scope)
        return [(b.bitcast(old_bits, own),)]

    def cas(self, op: atomic.AtomicCas) -> Sequence[Parts]:
        b, address = self.builder, self.one(op.pointer)
        own = scalar(op.desired)
        bits = own.unsigned
        expected, desired = (b.bitcast(self.one(v), bits) for v in (op.expected, op.desired))
        address = b.recast(address, memory.pointer_beside(address, bits))
        if memory.space_of(address) is Space.LOCAL:
            old = b.load(address)
            b.store(address, b.select(b.eq(old, expected), desired, old))
        else:
            self.word(op)
            old = b.value(atomic.AtomicCas(address, expected, desired, op.order, op.scope))
        return [(b.bitcast(old, own),)]

    def word(self, op: atomic.Atomic | atomic.AtomicCas) -> DType:
        """The integer type that is swapped for a type."""
        own = scalar(op.result)
        if not self.has(None, own.unsigned):
            raise TargetError(
                f"the target has no atomics of {own.bits} bits, which {op.name} on {own} needs; "
                "use an array of 32-bit elements",
                op.loc,
            )
        return own.unsigned

    RULES: ClassVar[dict[type[Op], Rule]] = {atomic.Atomic: update, atomic.AtomicCas: cas}


ALIASES = {Kind.NANMIN: Kind.MIN, Kind.NANMAX: Kind.MAX}
"""The equivalent kinds on integers."""


def swap_until_done(
    b: Builder,
    address: Value,
    change: Callable[[Value], Value],
    order: MemoryOrder = MemoryOrder.RELAXED,
    scope: MemoryScope = MemoryScope.DEVICE,
) -> Value:
    """Replace an unsigned integer in memory by ``change`` of it atomically, and return the old
    value. The first load is a guess, which the first swap may correct."""
    guess = b.variable("seen", scalar_at(address))
    b.write(guess, b.load(address, volatile=True))
    with b.loop():
        old = b.read(guess)
        current = b.value(atomic.AtomicCas(address, old, change(old), order, scope))
        b.write(guess, current)
        b.break_if(b.eq(current, old))
    return b.read(guess)


def scalar_at(address: Value) -> DType:
    """The scalar that a pointer points to."""
    assert isinstance(address.type, PointerType) and isinstance(address.type.element, DType)
    return address.type.element


_BINARY: dict[Kind, type[Op]] = {
    Kind.ADD: arith.Add,
    Kind.SUB: arith.Sub,
    Kind.AND: arith.And,
    Kind.OR: arith.Or,
    Kind.XOR: arith.Xor,
    Kind.NANMIN: arith.Min,
    Kind.NANMAX: arith.Max,
}


def stored(b: Builder, kind: Kind, old: Value, operand: Value) -> Value:
    """The value that an atomic stores, from the old value and the operand."""
    if kind in _BINARY:
        return b.binary(_BINARY[kind], old, operand)
    if kind is Kind.EXCHANGE:
        return operand
    if kind is Kind.MIN:
        return b.select(b.lt(operand, old), operand, old)
    if kind is Kind.MAX:
        return b.select(b.lt(old, operand), operand, old)
    zero, one = b.const(0, old.type), b.const(1, old.type)
    if kind is Kind.INC:
        return b.select(b.lt(old, operand), b.add(old, one), zero)
    wraps = b.or_(b.eq(old, zero), b.lt(operand, old))
    return b.select(wraps, operand, b.sub(old, one))
