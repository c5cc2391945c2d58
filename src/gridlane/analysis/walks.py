"""Loops that walk along memory: by how much an iteration moves the addresses of loads."""

from __future__ import annotations

from gridlane.core.dtypes import DType
from gridlane.ir.builder import constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.types import PointerType
from gridlane.ir.values import Value, Var

LINE = 64
"""Bytes of a cache line."""


def walks(loop: control.Loop) -> bool:
    """Whether a load of a loop, or of one in it, moves along a cache line from one iteration to the
    next, by a constant distance. The estimate is for choices of code alone: it takes integers of
    fewer bits than an address not to wrap around, an index to keep its sign, and a select, as of
    indices that count from the end, to choose its first side."""
    inner = [op for op in loop.body.walk() if isinstance(op, control.Loop)]
    return any(_Steps(each).walk() for each in (loop, *inner))


def is_sign_bit(op: arith.And) -> bool:
    """Whether an op selects the highest bit alone, by the mask on its right."""
    type_ = op.lhs.type
    if not isinstance(type_, DType) or not type_.is_integer:
        return False
    return constant(op.rhs) in (1 << type_.bits - 1, -1 << type_.bits - 1)


class _Steps:
    """What an iteration of a loop adds to values."""

    def __init__(self, loop: control.Loop) -> None:
        self.ops = [op for region in loop.regions() for op in region.walk()]
        self.inside = set(self.ops)
        self.known: dict[Value, int | None] = {}
        self.variables: dict[Var, int | None] = {}
        for op in self.ops:
            if isinstance(op, memory.WriteVar):
                added, before = _added(op.value, op.var), self.variables.get(op.var, 0)
                if added is None or before is None:
                    self.variables[op.var] = None
                else:
                    self.variables[op.var] = before + added

    def walk(self) -> bool:
        """Whether a load moves along a line."""
        steps = [self.of(op.pointer) for op in self.ops if isinstance(op, memory.Load)]
        return any(step and abs(step) < LINE for step in steps)

    def of(self, value: Value) -> int | None:
        """What an iteration adds to a value, in bytes for a pointer; None if that is unknown."""
        if value not in self.known:
            self.known[value] = None
            self.known[value] = self._find(value)
        return self.known[value]

    def _find(self, value: Value) -> int | None:
        op = value.op
        if op is None or op not in self.inside:
            return 0
        if isinstance(op, memory.ReadVar):
            return self.variables.get(op.var, 0)
        if isinstance(op, arith.Select):
            return self.of(op.on_true)
        if isinstance(op, arith.And) and is_sign_bit(op):
            return 0
        steps = [self.of(operand) for operand in op.operands()]
        known = [step for step in steps if step is not None]
        if len(known) < len(steps) or not op.pure:
            return None
        return _combined(op, known) if any(known) else 0


def _combined(op: Op, steps: list[int]) -> int | None:
    """What an op makes of the steps of its operands."""
    if isinstance(op, arith.Add):
        return steps[0] + steps[1]
    if isinstance(op, arith.Sub):
        return steps[0] - steps[1]
    if isinstance(op, memory.Offset):
        assert isinstance(op.pointer.type, PointerType)
        return steps[0] + steps[1] * op.pointer.type.element.size
    if isinstance(op, arith.Mul):
        factor = constant(op.rhs)
        return steps[0] * factor if type(factor) is int else None
    if isinstance(op, arith.Shl):
        amount = constant(op.amount)
        return steps[0] << amount if type(amount) is int and 0 <= amount < 16 else None
    return steps[0] if isinstance(op, _SAME) else None


_SAME = (
    arith.Cast,
    arith.Bitcast,
    memory.Recast,
    memory.Address,
    memory.FromAddress,
    memory.FieldPointer,
)


def _added(value: Value, var: Var) -> int | None:
    """The constant that a value is more than a variable; None if it is none."""
    op = value.op
    if isinstance(op, memory.ReadVar):
        return 0 if op.var is var else None
    if isinstance(op, _SAME):
        return _added(next(op.operands()), var)
    if isinstance(op, arith.Add | arith.Sub):
        amount, before = _amount(op.rhs), _added(op.lhs, var)
        sign = -1 if isinstance(op, arith.Sub) else 1
        return before + sign * amount if before is not None and type(amount) is int else None
    if isinstance(op, memory.Offset):
        assert isinstance(op.pointer.type, PointerType)
        amount, before = _amount(op.index), _added(op.pointer, var)
        size = op.pointer.type.element.size
        return before + amount * size if before is not None and type(amount) is int else None
    return None


def _amount(value: Value) -> object:
    """A constant, or the first of those that a condition selects."""
    op = value.op
    if isinstance(op, _SAME):
        return _amount(next(op.operands()))
    return _amount(op.on_true) if isinstance(op, arith.Select) else constant(value)
