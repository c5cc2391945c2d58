"""Whether anything in a module may change the arrays that an expression reads later.

Each pointer comes from arrays: of the kernel's arguments, which count as different, of the
kernel's own, or from some that are not known. A device function's parameters come from where its
calls take them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gridlane.core.source import Loc
from gridlane.frontends.python.operands import (
    ArrayExpression,
    Operand,
    OptionalOperand,
    Vector,
    arrays_in,
)
from gridlane.frontends.python.parts import taken_apart
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.unit import MemoryNeeded, Unit
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Function, Module, Value, Var

_QUIET = (
    *(memory.Load, memory.ReadVar, memory.WriteVar, memory.LocalArray),
    *(control.If, control.Loop, control.ScopeOp, control.Break, control.Continue, control.Leave),
    *(control.Return, control.Raise),
)
"""Ops that change no memory, besides the pure ones."""


def is_quiet(op: Op) -> bool:
    """Whether an op, with what is in it, changes no memory."""
    return (op.pure or isinstance(op, _QUIET)) and all(
        is_quiet(inner) for region in op.regions() for inner in region.ops
    )


def settle(t: Translator, expression: ArrayExpression) -> None:
    """Note that an expression is read here for the last time. Nothing has changed its operands
    where no op behind it writes memory."""
    made = t.unit.expressions.get(expression)
    if made is None or made.kept or made.region is not t.b.region:
        return
    made.settled = all(is_quiet(op) for op in made.region.ops[made.ops :])


def keep(t: Translator, operand: Operand) -> None:
    """Note that a variable has an operand: expressions in it may be read at any later time."""
    if not t.unit.expressions:
        return
    if isinstance(operand, ArrayExpression):
        made = t.unit.expressions.get(operand)
        if made is not None:
            made.kept, made.settled = True, False
        return
    if isinstance(operand, OptionalOperand):
        keep(t, operand.inner)
    apart = None if isinstance(operand, Vector) else taken_apart(operand)
    for each in apart[1] if apart else ():
        keep(t, each)


class _Root(NamedTuple):
    """An array that a pointer may come from: an op, a parameter or a symbol; None where it is any
    of a space."""

    source: object
    space: Space

    def may_be(self, other: _Root) -> bool:
        if self.source is not None and other.source is not None:
            return self.source == other.source
        spaces = {self.space, other.space}
        return len(spaces) == 1 or Space.GENERIC in spaces


_Roots = frozenset[_Root]


def require_unchanged(unit: Unit) -> None:
    """Prove of all expressions that are read later that their operands stay as they are.

    Raises:
        MemoryNeeded: what one reads may change, so it needs memory.
    """
    module = unit.module
    waiting = [
        (expression, made.function)
        for expression, made in unit.expressions.items()
        if not made.settled and module.functions.get(made.function.name) is made.function
    ]
    if not waiting:
        return
    roots = _Sources(module)
    writes = [*_writes(module, roots)]
    for expression, _ in waiting:
        read = {root for array in arrays_in(expression) for root in roots.of(array.pointer)}
        for where, written in writes:
            if any(root.may_be(other) for root in read for other in written):
                raise _error(expression, where)


def _error(expression: ArrayExpression, where: Loc) -> MemoryNeeded:
    told = (
        f"the result of np.{expression.function.__name__} is read later, and line {where.line} may "
        "change what it is made of before"
    )
    return MemoryNeeded(told, expression.place, expression.place)


def _writes(module: Module, roots: _Sources) -> Iterable[tuple[Loc, _Roots]]:
    """The places of ops that change memory, and where it may be."""
    for function in module.functions.values():
        for op in function.body.walk():
            if op.pure or isinstance(op, (*_QUIET, control.Call)):
                continue
            written = [each for each in op.operands() if isinstance(each.type, PointerType)]
            if isinstance(op, memory.Store):
                written = [op.pointer]
            for each in written:
                yield op.loc, roots.of(each)


class _Sources:
    """The arrays that the pointers of a module come from."""

    def __init__(self, module: Module) -> None:
        self._written: dict[Var, list[Value]] = {}
        self._passed: dict[Value, list[Value]] = {}
        self._own: set[Value] = set()
        self._known: dict[Value, _Roots] = {}
        for function in module.functions.values():
            if function.is_kernel:
                self._own |= {param.value for param in function.params}
            for op in function.body.walk():
                if isinstance(op, memory.WriteVar):
                    self._written.setdefault(op.var, []).append(op.value)
                elif isinstance(op, control.Call):
                    self._call(module.functions[op.callee], op.arguments)

    def _call(self, callee: Function, args: tuple[Value, ...]) -> None:
        for param, value in zip(callee.params, args, strict=True):
            self._passed.setdefault(param.value, []).append(value)

    def of(self, pointer: Value) -> _Roots:
        """The arrays that a pointer may come from."""
        if pointer not in self._known:
            found: set[_Root] = set()
            self._visit(pointer, found, set())
            self._known[pointer] = frozenset(found)
        return self._known[pointer]

    def _visit(self, value: Value, found: set[_Root], seen: set[Value]) -> None:
        while isinstance(value.op, memory.Offset | memory.FieldPointer | memory.Recast):
            value = value.op.pointer
        if value in seen:
            return
        seen.add(value)
        before = self._before(value)
        for each in before or ():
            self._visit(each, found, seen)
        if before is None:
            kind = value.type
            space = kind.space if isinstance(kind, PointerType) else Space.GENERIC
            found.add(_Root(self._source(value), space))

    def _before(self, value: Value) -> list[Value] | None:
        """The values that one is, one at a time; None where it has a source of its own."""
        op = value.op
        if isinstance(op, arith.Select):
            return [op.on_true, op.on_false]
        if isinstance(op, memory.ReadVar):
            return self._written.get(op.var, [])
        return None if op is not None else self._passed.get(value)

    def _source(self, value: Value) -> object:
        """The array that a pointer begins; None where it is unknown."""
        op = value.op
        if isinstance(op, memory.GlobalAddress):
            return op.symbol
        if isinstance(op, memory.DynamicShared):
            return memory.DynamicShared
        if isinstance(op, memory.LocalArray) or value in self._own:
            return value
        return None
