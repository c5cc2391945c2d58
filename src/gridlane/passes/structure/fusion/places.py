"""What pointers of a kernel may reach, and which values differ from thread to thread."""

from __future__ import annotations

from collections import defaultdict

from gridlane.ir.ops import grid, memory
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Function, Value, Var


class Places:
    """Facts of a kernel whose calls are inlined."""

    def __init__(self, kernel: Function) -> None:
        self.apart = {param.value for param in kernel.params if param.noalias}
        self._roots: dict[Value, Value | None] = {}
        self._indexed: dict[Value, bool] = {}
        self._writes: defaultdict[Var, list[Value]] = defaultdict(list)
        for op in kernel.body.walk():
            if isinstance(op, memory.WriteVar):
                self._writes[op.var].append(op.value)

    def root(self, pointer: Value) -> Value | None:
        """The parameter that a pointer is derived from; None if there is no such one."""
        if pointer not in self._roots:
            op = pointer.op
            if op is None:
                self._roots[pointer] = pointer
            elif isinstance(op, memory.Offset | memory.FieldPointer | memory.Recast):
                self._roots[pointer] = self.root(op.pointer)
            else:
                self._roots[pointer] = None
        return self._roots[pointer]

    def may_meet(self, one: Value, other: Value) -> bool:
        """Whether two pointers may reach the same bytes."""
        if one is other:
            return True
        spaces = {_space(one), _space(other)}
        if Space.GENERIC not in spaces and len(spaces) > 1:
            return False
        first, last = self.root(one), self.root(other)
        if first is None or last is None or first is last:
            return True
        return first not in self.apart and last not in self.apart

    def is_indexed(self, value: Value) -> bool:
        """Whether a value depends on the thread's index."""
        if value not in self._indexed:
            self._indexed[value] = False
            op = value.op
            if isinstance(op, grid.ThreadIdx):
                self._indexed[value] = True
            elif isinstance(op, memory.ReadVar):
                self._indexed[value] = any(map(self.is_indexed, self._writes[op.var]))
            elif op is not None:
                self._indexed[value] = any(map(self.is_indexed, op.operands()))
        return self._indexed[value]

    def loads_of(self, value: Value, carried: bool = True) -> set[memory.Load]:
        """The loads that a value depends on, not those of addresses.

        Args:
            carried: also by variables, of which a loop's first iteration has other values.
        """
        loads, seen, waiting = set[memory.Load](), set[Value](), [value]
        while waiting:
            each = waiting.pop()
            if each in seen or each.op is None:
                continue
            seen.add(each)
            if isinstance(each.op, memory.Load):
                loads.add(each.op)
            elif isinstance(each.op, memory.ReadVar):
                waiting += self._writes[each.op.var] if carried else []
            else:
                waiting += each.op.operands()
        return loads


def _space(value: Value) -> Space:
    assert isinstance(value.type, PointerType)
    return value.type.space
