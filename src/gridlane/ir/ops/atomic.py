"""Atomic read-modify-write, with order and scope."""

from __future__ import annotations

from enum import Enum

from gridlane.core.dtypes import DType, u64
from gridlane.ir.op import Op, Scope, operation
from gridlane.ir.ops.grid import MemoryOrder, MemoryScope
from gridlane.ir.ops.memory import element_of
from gridlane.ir.types import Space, Type
from gridlane.ir.values import Value


class AtomicKind(Enum):
    """How the stored value follows from the old value and the operand.

    ADD, SUB, AND, OR, XOR, EXCHANGE as named. MIN and MAX store the operand where it is smaller
    (larger): a NaN in memory stays and a NaN operand is ignored. NANMIN and NANMAX take a NaN as
    missing, as ``min`` and ``max`` do. INC: old >= operand ? 0 : old + 1. DEC: old == 0 or old >
    operand ? operand : old - 1.
    """

    ADD = "add"
    SUB = "sub"
    AND = "and"
    OR = "or"
    XOR = "xor"
    EXCHANGE = "exchange"
    MIN = "min"
    MAX = "max"
    NANMIN = "nanmin"
    NANMAX = "nanmax"
    INC = "inc"
    DEC = "dec"


INTEGER_ONLY = frozenset(
    {AtomicKind.AND, AtomicKind.OR, AtomicKind.XOR, AtomicKind.INC, AtomicKind.DEC}
)


@operation("atomic")
class Atomic(Op):
    """Read-modify-write of one scalar; the result is the old value. INC and DEC take unsigned
    integers; AND, OR, XOR integers; the rest integers and floats."""

    kind: AtomicKind
    pointer: Value
    value: Value
    order: MemoryOrder = MemoryOrder.RELAXED
    scope: MemoryScope = MemoryScope.DEVICE
    produces = ("value",)

    def check(self, scope: Scope) -> None:
        check_atomic(self, self.pointer, self.value)
        type_ = self.value.type
        assert isinstance(type_, DType)
        check_kind(self, self.kind, type_)


@operation("atomic_cas")
class AtomicCas(Op):
    """Store ``desired`` where memory holds ``expected``, compared bitwise; the result is the old
    value."""

    pointer: Value
    expected: Value
    desired: Value
    order: MemoryOrder = MemoryOrder.RELAXED
    scope: MemoryScope = MemoryScope.DEVICE
    produces = ("desired",)

    def check(self, scope: Scope) -> None:
        check_atomic(self, self.pointer, self.desired)
        self.require(self.expected.type == self.desired.type, "operand types differ")


@operation("atomic_cas_pair")
class AtomicCasPair(Op):
    """Compare and swap of 16 bytes: two u64, of which the first has the lower address. Store the
    ``desired`` pair where memory holds the ``expected`` one, in one step; the results are the old
    pair. The address is a multiple of 16, or what happens is undefined."""

    pointer: Value
    expected_low: Value
    expected_high: Value
    desired_low: Value
    desired_high: Value
    order: MemoryOrder = MemoryOrder.RELAXED
    scope: MemoryScope = MemoryScope.DEVICE
    produces = (u64, u64)

    def check(self, scope: Scope) -> None:
        for value in (self.expected_low, self.expected_high, self.desired_low, self.desired_high):
            check_atomic(self, self.pointer, value)
        self.require(self.desired_low.type is u64, "the words are u64")


def check_atomic(op: Op, pointer: Value, value: Value) -> None:
    """The operand is a scalar of the pointer's element type, in memory that threads share."""
    element = element_of(op, pointer)
    op.require(element == value.type, f"{value.type} against {pointer.type}")
    check_element(op, element)
    space = pointer.type.space  # type: ignore[union-attr]  # element_of has checked it
    op.require(space is not Space.CONSTANT, "constant memory is not written")


def check_element(op: Op, element: Type) -> None:
    """There are atomics on this type."""
    plain = isinstance(element, DType) and not element.is_bool
    op.require(plain, f"no atomics on {element}")


def check_kind(op: Op, kind: AtomicKind, element: DType) -> None:
    """A kind takes scalars of this type."""
    if kind in INTEGER_ONLY:
        op.require(element.is_integer, f"{kind.value} takes integers, not {element}")
    if kind in (AtomicKind.INC, AtomicKind.DEC):
        op.require(not element.is_signed, f"{kind.value} takes unsigned, not {element}")
