"""Find the f32 whose bits LLVM may learn from a comparison of integers.

Behind ``if (bits == 1)`` LLVM knows the bits and their number, also that of a copy in memory, and
of a number that other integers determine, as in ``bits - 1 == 0``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from gridlane.core.dtypes import DType, b1, f32
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, memory
from gridlane.ir.types import PointerType
from gridlane.ir.values import Value


def compared_bits(ops: Sequence[Op]) -> set[Value]:
    """The f32 of a kernel's ops whose bits are linked with a compared integer: by ops on bits and
    integers, by variables, and by memory that one pointer leads to."""
    links = _Links()
    for op in ops:
        links.note(op)
    return {value for value in links.floats if links.find(value) in links.compared()}


class _Links:
    """Groups of values, variables and memory: LLVM may know one member's bits from another's."""

    def __init__(self) -> None:
        self._of: dict[Hashable, Hashable] = {}
        self._asked: list[Value] = []
        self.floats: list[Value] = []

    def find(self, one: Hashable) -> Hashable:
        """The representative of a value's group."""
        while one in self._of:
            one = self._of[one]
        return one

    def compared(self) -> set[Hashable]:
        """The groups with a compared integer."""
        return {self.find(value) for value in self._asked}

    def note(self, op: Op) -> None:
        """Link what an op has to do with."""
        self.floats += [value for value in op.results if value.type is f32]
        if isinstance(op, arith.Compare):
            self._asked += [v for v in op.operands() if _has_bits(v) and v.type is not f32]
        elif isinstance(op, memory.WriteVar | memory.ReadVar):
            value = op.value if isinstance(op, memory.WriteVar) else op.results[0]
            self._link(value, op.var)
        elif isinstance(op, memory.Load | memory.Store):
            value = op.value if isinstance(op, memory.Store) else op.results[0]
            self._link(value, ("memory", _root(op.pointer)))
        elif op.pure and not isinstance(op, arith.Const):
            self._join(op)

    def _join(self, op: Op) -> None:
        """Link the results of an op on bits with its operands; ops without any by what they are."""
        operands = [value for value in op.operands() if _has_bits(value)]
        moves = isinstance(op, arith.Bitcast | arith.Select | memory.Part | memory.Pack)
        for result in op.results:
            if result.type is f32 and not moves:
                continue
            if not operands:
                self._link(result, type(op))
            for value in operands:
                if value.type is not f32 or moves:
                    self._link(result, value)

    def _link(self, value: Value, other: Hashable) -> None:
        if not _has_bits(value) or (isinstance(other, Value) and _is_constant(other)):
            return
        if _is_constant(value):
            return
        first, second = self.find(value), self.find(other)
        if first != second:
            self._of[first] = second


def _is_constant(value: Value) -> bool:
    return isinstance(value.op, arith.Const)


def _has_bits(value: Value) -> bool:
    return not isinstance(value.type, DType) or value.type is not b1


def _root(pointer: Value) -> Value:
    """What a pointer is derived from."""
    while pointer.op is not None:
        base = next(
            (each for each in pointer.op.operands() if isinstance(each.type, PointerType)), None
        )
        if base is None:
            return pointer
        pointer = base
    return pointer
