"""The arrays from which the pointers of a module are derived.

Each pointer is derived from arrays: of the kernel's arguments, of the kernel's own, or unknown
ones. A device function's parameters are derived from the arguments of its calls.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from gridlane.ir.ops import arith, control, memory
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Function, Module, Value, Var


class Root(NamedTuple):
    """An array from which a pointer may be derived: an op, a parameter or a symbol; None where it
    is any of a space."""

    source: object
    space: Space

    def may_be(self, other: Root) -> bool:
        if self.source is not None and other.source is not None:
            return self.source == other.source
        spaces = {self.space, other.space}
        return len(spaces) == 1 or Space.GENERIC in spaces


Roots = frozenset[Root]


class Sources:
    """The arrays from which the pointers of a module are derived.

    Args:
        arguments: the pointers of the kernel's arrays that are known.
    """

    def __init__(self, module: Module, arguments: Container[Value]) -> None:
        self._written: dict[Var, list[Value]] = {}
        self._passed: dict[Value, list[Value]] = {}
        self._arguments = arguments
        self._known: dict[Value, Roots] = {}
        for function in module.functions.values():
            for op in function.body.walk():
                if isinstance(op, memory.WriteVar):
                    self._written.setdefault(op.var, []).append(op.value)
                elif isinstance(op, control.Call):
                    self._call(module.functions[op.callee], op.arguments)

    def _call(self, callee: Function, args: tuple[Value, ...]) -> None:
        for param, value in zip(callee.params, args, strict=True):
            self._passed.setdefault(param.value, []).append(value)

    def of(self, pointer: Value) -> Roots:
        """The arrays from which a pointer may be derived."""
        if pointer not in self._known:
            roots: set[Root] = set()
            self._visit(pointer, roots, set())
            self._known[pointer] = frozenset(roots)
        return self._known[pointer]

    def _visit(self, value: Value, roots: set[Root], seen: set[Value]) -> None:
        while isinstance(value.op, memory.Offset | memory.FieldPointer | memory.Recast):
            value = value.op.pointer
        if value in seen:
            return
        seen.add(value)
        before = self._before(value)
        for each in before or ():
            self._visit(each, roots, seen)
        if before is None:
            kind = value.type
            space = kind.space if isinstance(kind, PointerType) else Space.GENERIC
            roots.add(Root(self._source(value), space))

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
        if isinstance(op, memory.LocalArray) or value in self._arguments:
            return value
        return None
