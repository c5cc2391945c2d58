"""How far apart in memory neighbouring threads access it.

A forward analysis of a kernel whose calls are inlined: by how much an address grows from a thread
to its neighbour along an axis of the block. It serves advice alone: like ``walks`` it assumes that
no integer wraps around and that an index keeps its sign.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from enum import Enum

from gridlane.analysis.walks import is_sign_bit
from gridlane.core.frozen import frozen
from gridlane.core.source import Loc
from gridlane.ir.builder import constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, atomic, grid, memory
from gridlane.ir.ops.grid import Axis
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Function, Value, Var


class Unsized(Enum):
    """A step that is no number of bytes.

    ``ROW``: the same for all threads, and known at the launch alone, as a row of an array.
    ``UNSEEN``: no write has been followed yet. ``MIXED``: it differs, or is unknown.
    """

    ROW = "row"
    UNSEEN = "unseen"
    MIXED = "mixed"


Step = int | Unsized
_FAR = 32
"""Bytes from thread to thread from which each access takes a sector of memory of its own."""


@frozen
class Strided:
    """An access of global memory whose threads are far apart along x.

    Attributes:
        loc: the access.
        what: "load", "store" or "atomic".
        step: bytes from a thread to its neighbour along x, or a row.
        swap: whether neighbours along y are side by side in memory.
    """

    loc: Loc
    what: str
    step: Step
    swap: bool


def strided(function: Function, along: Axis = Axis.X, other: Axis = Axis.Y) -> Iterator[Strided]:
    """The accesses of a kernel that take more of memory than they use.

    Args:
        along, other: in the place of x and y.
    """
    x, y = Steps(function, along), Steps(function, other)
    for op in function.body.walk():
        pointer = _accessed(op)
        if pointer is None:
            continue
        assert isinstance(pointer.type, PointerType)
        step = x.of(pointer)
        if step is Unsized.ROW or (isinstance(step, int) and abs(step) >= _FAR):
            size = pointer.type.element.size
            if isinstance(step, int) and abs(step) <= size:
                continue
            yield Strided(op.loc, _KINDS[type(op)], step, y.of(pointer) == size)


_KINDS: dict[type[Op], str] = {
    memory.Load: "load",
    memory.Store: "store",
    atomic.Atomic: "atomic",
    atomic.AtomicCas: "atomic",
}


def _accessed(op: Op) -> Value | None:
    """The pointer to global memory that an op accesses."""
    if not isinstance(op, memory.Load | memory.Store | atomic.Atomic | atomic.AtomicCas):
        return None
    type_ = op.pointer.type
    assert isinstance(type_, PointerType)
    return op.pointer if type_.space in (Space.GLOBAL, Space.GENERIC) else None


class Steps:
    """By how much values grow from a thread to its neighbour along an axis."""

    def __init__(self, function: Function, axis: Axis) -> None:
        self.axis = axis
        self.known: dict[Value, Step] = {}
        self.variables: dict[Var, Step] = dict.fromkeys(function.variables, Unsized.UNSEEN)
        writes: defaultdict[Var, list[Value]] = defaultdict(list)
        for op in function.body.walk():
            if isinstance(op, memory.WriteVar):
                writes[op.var].append(op.value)
        self._settle(writes)

    def _settle(self, writes: dict[Var, list[Value]]) -> None:
        """Follow variables until nothing changes; a step only ever becomes less known."""
        changed = True
        while changed:
            changed = False
            self.known.clear()
            for var, values in writes.items():
                step = self.variables.get(var, Unsized.UNSEEN)
                for value in values:
                    step = _joined(step, self.of(value))
                changed |= step != self.variables.get(var, Unsized.UNSEEN)
                self.variables[var] = step

    def of(self, value: Value) -> Step:
        """The step of a value, in bytes for a pointer."""
        step = self.known.get(value)
        if step is None:
            step = self.known[value] = self._find(value)
        return step

    def _find(self, value: Value) -> Step:
        op = value.op
        if op is None:
            return 0  # a parameter
        if isinstance(op, memory.ReadVar):
            return self.variables.get(op.var, Unsized.MIXED)
        if isinstance(op, grid.ThreadIdx):
            return int(op.axis is self.axis)
        if isinstance(op, grid.GridQuery):
            return 0
        if isinstance(op, arith.And) and is_sign_bit(op):
            return 0
        steps = [self.of(operand) for operand in op.operands()]
        if Unsized.UNSEEN in steps:
            return Unsized.UNSEEN
        if isinstance(op, arith.Select) and steps[0] != 0:
            steps = [0, steps[1], steps[1]]  # as of an index that counts from the end
        if all(step == 0 for step in steps):
            is_known = steps and (op.pure or isinstance(op, memory.Load))
            return 0 if is_known or isinstance(op, _UNIFORM) else Unsized.MIXED
        return _combined(op, steps)


def _joined(one: Step, other: Step) -> Step:
    if one is Unsized.UNSEEN or other is Unsized.UNSEEN:
        return other if one is Unsized.UNSEEN else one
    return one if one == other else Unsized.MIXED


def _combined(op: Op, steps: list[Step]) -> Step:
    """What an op makes of the steps of its operands, of which one is not 0."""
    if Unsized.MIXED in steps:
        return Unsized.MIXED
    if isinstance(op, _SAME):
        return steps[0]
    if isinstance(op, arith.Select):
        return _joined(steps[1], steps[2])
    if isinstance(op, arith.Add):
        return _sum(steps[0], steps[1])
    if isinstance(op, arith.Sub):
        return _sum(steps[0], _times(steps[1], -1))
    if isinstance(op, memory.Offset):
        assert isinstance(op.pointer.type, PointerType)
        return _sum(steps[0], _times(steps[1], op.pointer.type.element.size))
    if isinstance(op, arith.Mul):
        if steps[0] != 0 and steps[1] != 0:
            return Unsized.MIXED
        factor = constant(op.lhs if steps[1] != 0 else op.rhs)
        return _times(steps[1] if steps[1] != 0 else steps[0], factor)
    if isinstance(op, arith.Shl):
        amount = constant(op.amount)
        if not isinstance(amount, int) or not 0 <= amount < 64 or steps[1] != 0:
            return Unsized.MIXED
        return _times(steps[0], 1 << amount)
    return Unsized.MIXED


_UNIFORM = (arith.Const, memory.GlobalAddress, memory.DynamicShared, memory.LocalArray)
_SAME = (
    arith.Cast,
    arith.Bitcast,
    memory.Recast,
    memory.Address,
    memory.FromAddress,
    memory.FieldPointer,
)


def _sum(one: Step, other: Step) -> Step:
    if isinstance(one, int) and isinstance(other, int):
        return one + other
    return Unsized.ROW  # a row and some elements are far apart as well


def _times(step: Step, factor: object) -> Step:
    """A step by a factor that all threads share."""
    if isinstance(step, int) and isinstance(factor, int):
        return step * factor
    return 0 if step == 0 or factor == 0 else Unsized.ROW
