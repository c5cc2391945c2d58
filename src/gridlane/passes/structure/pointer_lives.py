"""Which local arrays the pointers of a function may point into, and which pointers are live where a
local array is made."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable
from dataclasses import field

from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.ops import control, memory
from gridlane.ir.types import PointerType
from gridlane.ir.values import Function, Region, Value, Var

Holder = Value | Var
"""What holds a pointer."""

_NONE: frozenset[Op] = frozenset()


def root_holder(holder: Holder, known: Container[Value] = ()) -> Holder:
    """The holder of the pointer that a value is made of by arithmetic, into the same array; at the
    latest one that is ``known``."""
    while isinstance(holder, Value) and holder not in known:
        if not isinstance(holder.op, memory.Offset | memory.FieldPointer | memory.Recast):
            return holder
        holder = holder.op.pointer
    return holder


class Origins:
    """The arrays that each pointer of a function may point into: those of its own ops
    ``local_array``, and those that calls of the functions ``returning`` make."""

    def __init__(self, function: Function, returning: Collection[str]) -> None:
        self._found: dict[Holder, frozenset[Op]] = {}
        ops = list(function.body.walk())
        before = -1
        while before != self._size():
            before = self._size()
            for op in ops:
                self._visit(op, returning)

    def of(self, holder: Holder) -> frozenset[Op]:
        """The ops that make the arrays."""
        return self._found.get(holder, _NONE)

    @property
    def holders(self) -> Collection[Holder]:
        """The pointers into arrays, in a fixed order."""
        return self._found.keys()

    def is_kept(self, op: Op) -> bool:
        """Whether a variable may point into an array."""
        return any(op in found for held, found in self._found.items() if isinstance(held, Var))

    def _size(self) -> int:
        return sum(len(found) for found in self._found.values())

    def _visit(self, op: Op, returning: Collection[str]) -> None:
        if isinstance(op, memory.WriteVar):
            self._add(op.var, self.of(op.value))
            return
        pointers = [value for value in op.results if isinstance(value.type, PointerType)]
        if not pointers:
            return
        arrays = self.of(op.var) if isinstance(op, memory.ReadVar) else _NONE
        if isinstance(op, memory.LocalArray) or (
            isinstance(op, control.Call) and op.callee in returning
        ):
            arrays = frozenset((op,))
        for value in op.operands():
            arrays |= self.of(value)
        for value in pointers:
            self._add(value, arrays)

    def _add(self, holder: Holder, arrays: frozenset[Op]) -> None:
        if arrays:
            self._found[holder] = self.of(holder) | arrays


def live_at(function: Function, ops: Iterable[Op], origins: Origins) -> dict[Op, frozenset[Holder]]:
    """The pointers into arrays that each of some ops finds live: defined before it runs, and read
    after."""
    lives = _Lives({op: _NOBODY for op in ops}, frozenset(origins.holders))
    lives.region(function.body, _NOBODY, _Exits())
    return lives.found


_NOBODY: frozenset[Holder] = frozenset()


@frozen
class _Exits:
    """What is live where jumps lead to."""

    broken: frozenset[Holder] = _NOBODY
    continued: frozenset[Holder] = _NOBODY
    left: dict[int, frozenset[Holder]] = field(default_factory=dict[int, frozenset[Holder]])


class _Lives:
    def __init__(self, found: dict[Op, frozenset[Holder]], holders: frozenset[Holder]) -> None:
        self.found, self.holders = found, holders

    def region(self, region: Region, after: frozenset[Holder], exits: _Exits) -> frozenset[Holder]:
        """What is live at the start of a region, from what is live behind it."""
        live = after
        for op in reversed(region.ops):
            live = self._before(op, live, exits)
        return live

    def _before(self, op: Op, live: frozenset[Holder], exits: _Exits) -> frozenset[Holder]:
        if op.terminator:
            live = self._target(op, exits)
        elif isinstance(op, control.If):
            live = self.region(op.then, live, exits) | self.region(op.orelse, live, exits)
        elif isinstance(op, control.ScopeOp):
            left = exits.left | {0: live, op.label: live}
            live = self.region(op.body, live, _Exits(exits.broken, exits.continued, left))
        elif isinstance(op, control.Loop):
            live = self._loop(op, live, exits)
        live = live.difference(op.results)
        if op in self.found:
            self.found[op] |= live
        if isinstance(op, memory.WriteVar):
            live -= {op.var}
        elif isinstance(op, memory.ReadVar):
            live |= self.holders.intersection((op.var,))
        return live | self.holders.intersection(op.operands())

    def _loop(self, op: control.Loop, after: frozenset[Holder], exits: _Exits) -> frozenset[Holder]:
        head = _NOBODY
        while True:
            step = self.region(op.step, head, exits)
            reached = self.region(op.body, step, _Exits(after, step, exits.left))
            if reached <= head:
                return head
            head |= reached

    @staticmethod
    def _target(op: Op, exits: _Exits) -> frozenset[Holder]:
        """What is live where a terminator leads to."""
        if isinstance(op, control.Break):
            return exits.broken
        if isinstance(op, control.Continue):
            return exits.continued
        return exits.left[op.target] if isinstance(op, control.Leave) else _NOBODY
