"""Replaces 64-bit indices by their low 32 bits, for devices whose pointers are 32-bit offsets in
one buffer: an address there is a sum modulo 2**32, so the high bits do not matter."""

from __future__ import annotations

from collections import defaultdict

from gridlane.core.dtypes import DType, i32
from gridlane.ir.op import REGISTRY, Op
from gridlane.ir.ops import arith, memory
from gridlane.ir.values import Function, Module, Region, Value
from gridlane.passes.optimise.promote import drop_dead

MODULAR = tuple(cls for cls in REGISTRY.values() if cls.modular)
"""Ops whose results' low bits depend on the low bits of their operands alone."""


def index_words(module: Module) -> None:
    """Narrow the index of every ``offset`` to at most 32 bits, and drop dead ops."""
    for function in module.functions.values():
        _Indices(function).rewrite()
        drop_dead(function.body)


class _Indices:
    """Rewrites one function. The low word of a value is inserted right after the value."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.low: dict[Value, Value] = {}
        self.behind: dict[Op, list[Op]] = defaultdict(list)
        self.first: list[Op] = []

    def rewrite(self) -> None:
        for op in list(self.function.body.walk()):
            if isinstance(op, memory.Offset) and _is_wide(op.index):
                op.index = self.word(op.index)
        self.insert(self.function.body)
        self.function.body.ops[:0] = self.first

    def insert(self, region: Region) -> None:
        """Insert the new ops after the values that they replace, in the order of their creation."""
        ops: list[Op] = []
        for op in region.ops:
            for inner in op.regions():
                self.insert(inner)
            ops += [op, *self.behind.get(op, ())]
        region.ops = ops

    def word(self, value: Value) -> Value:
        """The low word of an integer, as i32."""
        if value not in self.low:
            self.low[value] = self._made(value)
        return self.low[value]

    def _made(self, value: Value) -> Value:
        op = value.op
        if value.type is i32:
            return value
        if isinstance(op, arith.Const):
            assert isinstance(op.value, int)
            return self._placed(value, arith.Const(i32.wrap(op.value), i32))
        if isinstance(op, arith.Cast) and _is_integer(op.value):
            return self.word(op.value)  # narrower: sign- or zero-extended by its type
        if isinstance(op, MODULAR) and _is_wide(value):
            words = [self.word(operand) for operand in op.operands()]
            return self._placed(value, type(op)(*words))  # type: ignore[arg-type]  # of operands
        if isinstance(op, arith.Select) and _is_wide(value):
            sides = self.word(op.on_true), self.word(op.on_false)
            return self._placed(value, arith.Select(op.condition, *sides))
        return self._cut(value)

    def _cut(self, value: Value) -> Value:
        return self._placed(value, arith.Cast(value, i32))

    def _placed(self, value: Value, new_op: Op) -> Value:
        """Put an op after the value that it replaces."""
        if value.op is None:
            self.first.append(new_op)
        else:
            new_op.loc = value.op.loc
            self.behind[value.op].append(new_op)
        return new_op.results[0]


def _is_integer(value: Value) -> bool:
    return isinstance(value.type, DType) and value.type.is_integer


def _is_wide(value: Value) -> bool:
    return isinstance(value.type, DType) and value.type.bits == 64
